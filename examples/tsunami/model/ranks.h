/* SPDX-License-Identifier: MIT */
/*
 * The ranks of MPI that share a basin. The rows of the grid are cut into strips, one for each rank.
 * The grid of a rank has its own rows, and beside them a halo: the nearest HALO_ROWS rows of each
 * neighbour.
 *
 *	whole grid   0 ...... first ................................. rows
 *	of a rank             0 .. own.first ...... own.last .. grid.rows
 *	                      |halo|       own rows        |halo|
 *
 * Each rank has the fields of the basin that do not change in a run for the whole grid, and all
 * others for its strip. A strip's field is a part of a field of the whole grid (place_here()).
 *
 * ranks.c is all that knows MPI. A program that is built without it has no ranks (no-ranks.c), nor
 * has one that was not started by mpirun: where a pointer to them is NULL all rows are here.
 */
#ifndef TSUNAMI_RANKS_H
#define TSUNAMI_RANKS_H

#include "common/world.h"
#include "shallow.h"

/* The rows beside a rank's own that the stages of an adjoint step read. */
#define HALO_ROWS 2

/*
 * The main thread of every rank calls all functions, in the same order; one thread at a time calls
 * the functions of a copy. They end the program if MPI fails.
 */
struct ranks {
	const struct world *world;
	int rank, number; /* as in world */
	struct grid grid; /* the rank's */
	int first;        /* row of the whole grid that is the first one of the rank's grid */
	struct rows own;  /* in rows of the rank's grid */
	int max_rows;     /* rows of the largest grid of a rank */
	int whole_rows;   /* rows of the whole grid */

	/* Cut the rows of a grid into strips. Ends the program if there are too few of them. */
	void (*cut)(struct ranks *ranks, const struct grid *whole);

	/* The rows of the neighbours come into the halo of a state. */
	void (*exchange)(struct ranks *ranks, struct state *state);

	/*
	 * The reverse of that, by the reverse of its messages. The stages of the adjoint gather: a
	 * rank calculates dJ/d(a row of its own) from the adjoints of all rows that have read it.
	 * So a message does not return terms of the receiver for the sender to add in an order that
	 * depends on the ranks. It returns the adjoint of the receiver's rows at the border, into
	 * the halo of the adjoint, and the sender calculates the terms.
	 */
	void (*exchange_reverse)(struct ranks *ranks, struct state *adjoint);

	/*
	 * Copies of the ranks, for threads that run steps at the same time: the exchanges of a copy
	 * do not meet others. *number becomes the largest number that a rank asks for.
	 */
	struct ranks *(*open_copies)(struct ranks *ranks, int *number);
	void (*close_copies)(struct ranks *copies, int number);

	/* J is a number of the rank that has this row of the whole grid: J_bar of this rank. */
	double (*seed)(struct ranks *ranks, int row);

	/* Copies the values of that rank to all. */
	void (*share)(struct ranks *ranks, int row, double *values, int count);

	/* The own rows of all ranks come into a field of the whole grid, on each rank. */
	void (*gather)(struct ranks *ranks, const double *field, double *whole);

	struct halo *halo;
};

/* The ranks that world_join() returns, or NULL. */
struct ranks *ranks_begin(int *count, char ***arguments);

/* The rows that this rank calculates. */
static inline struct rows own_rows(const struct model *model)
{
	return model->ranks ? model->ranks->own : (struct rows){0, model->grid->rows};
}

/* The place in a field of the whole grid at which the field of a rank's grid begins. */
static inline ptrdiff_t place_here(const struct ranks *ranks)
{
	return ranks ? ranks->first * ranks->grid.stride : 0;
}

static inline struct controls controls_here(const struct ranks *ranks,
					    const struct controls *whole)
{
	ptrdiff_t place = place_here(ranks);

	return (struct controls){whole->displacement + place, whole->depth + place};
}

/* The model on the rank's grid. */
static inline struct model model_here(struct ranks *ranks, const struct model *whole)
{
	ptrdiff_t place = place_here(ranks);
	struct model here = *whole;

	if (!ranks)
		return here;
	here.grid = &ranks->grid;
	here.wet += place;
	here.open_east += place;
	here.open_north += place;
	here.sponge += place;
	here.gauge_row -= ranks->first;
	here.ranks = ranks;
	return here;
}

/* Row of the whole grid that the gauge is in. */
static inline int gauge_row_of_all(const struct model *here)
{
	return here->gauge_row + (here->ranks ? here->ranks->first : 0);
}

/* A grid with the rows of the largest grid of a rank, for plans that suit all ranks. */
static inline struct grid largest_grid(const struct model *here)
{
	struct grid grid = *here->grid;

	if (here->ranks)
		grid.rows = here->ranks->max_rows;
	return grid;
}

#endif
