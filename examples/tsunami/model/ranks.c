/* SPDX-License-Identifier: MIT */
#include "ranks.h"

#include <stdlib.h>

#include <reel/mpi.h>

#include "common/report.h"
#include "stage.h"
#include "step.h"

enum { SOUTH, NORTH, SIDES };

/* The messages of an exchange: each has HALO_ROWS rows, packed; none leaves the basin. */
struct halo {
	MPI_Comm comm;
	int neighbour[SIDES];
	int values; /* doubles in a message */
	double *sent[SIDES], *received[SIDES];
	struct reel_mpi_request request[2 * SIDES];
};

/* There is one at most. */
static struct ranks all;
static struct halo border;

static void require(int error)
{
	if (error)
		fail("%s", reel_error_text(0));
}

/* ---- Strips ---- */

static struct rows rows_of_rank(const struct ranks *ranks, const struct grid *whole, int rank)
{
	return rows_of_part(whole->rows, rank, ranks->number);
}

/* The grid of a rank, in rows of the whole one. */
static struct rows with_halo(const struct ranks *ranks, const struct grid *whole, int rank)
{
	struct rows rows = rows_of_rank(ranks, whole, rank);

	return (struct rows){rank > 0 ? rows.first - HALO_ROWS : rows.first,
			     rank < ranks->number - 1 ? rows.last + HALO_ROWS : rows.last};
}

static struct grid grid_of_rows(const struct grid *whole, struct rows rows)
{
	struct grid grid = *whole;

	grid.rows = rows.last - rows.first;
	grid.metric += rows.first;
	grid.region.south = whole->region.south + rows.first * whole->spacing;
	grid.region.north = whole->region.south + rows.last * whole->spacing;
	return grid;
}

/* ---- Exchange ---- */

static void open_halo(const struct ranks *ranks, struct halo *halo, MPI_Comm comm)
{
	halo->comm = comm;
	halo->values = (int)(HALO_ROWS * row_values(&ranks->grid));
	halo->neighbour[SOUTH] = ranks->rank > 0 ? ranks->rank - 1 : MPI_PROC_NULL;
	halo->neighbour[NORTH] = ranks->rank < ranks->number - 1 ? ranks->rank + 1 : MPI_PROC_NULL;
	for (int side = 0; side < SIDES; side++) {
		halo->sent[side] = allocate((size_t)halo->values, sizeof(double));
		halo->received[side] = allocate((size_t)halo->values, sizeof(double));
		reel_mpi_recv_init(halo->received[side], halo->values, MPI_DOUBLE,
				   halo->neighbour[side], 0, comm, &halo->request[side]);
		reel_mpi_send_init(halo->sent[side], halo->values, MPI_DOUBLE,
				   halo->neighbour[side], 0, comm, &halo->request[SIDES + side]);
	}
}

static void free_halo(struct halo *halo)
{
	for (int side = 0; side < SIDES; side++) {
		free(halo->sent[side]);
		free(halo->received[side]);
	}
}

/* The own rows at the border on a side. */
static struct rows edge_of(const struct ranks *ranks, int side)
{
	struct rows own = ranks->own;

	return side == SOUTH ? (struct rows){own.first, own.first + HALO_ROWS}
			     : (struct rows){own.last - HALO_ROWS, own.last};
}

/* The rows beyond that border. */
static struct rows halo_of(const struct ranks *ranks, int side)
{
	return side == SOUTH ? (struct rows){0, ranks->own.first}
			     : (struct rows){ranks->own.last, ranks->grid.rows};
}

static void pack_edges(const struct ranks *ranks, const struct state *state, double *const *packed)
{
	for (int side = 0; side < SIDES; side++)
		if (ranks->halo->neighbour[side] != MPI_PROC_NULL)
			state_pack(&ranks->grid, state, edge_of(ranks, side), packed[side]);
}

static void unpack_halo(const struct ranks *ranks, struct state *state, double *const *packed)
{
	for (int side = 0; side < SIDES; side++)
		if (ranks->halo->neighbour[side] != MPI_PROC_NULL)
			state_unpack(&ranks->grid, state, halo_of(ranks, side), packed[side]);
}

/* Without a tape: the program names the requests itself, so a tape would note nothing. */
static void exchange(struct ranks *ranks, struct state *state)
{
	struct halo *halo = ranks->halo;

	pack_edges(ranks, state, halo->sent);
	for (int k = 0; k < 2 * SIDES; k++)
		require(reel_mpi_start(NULL, &halo->request[k]));
	require(reel_mpi_waitall(NULL, 2 * SIDES, halo->request, MPI_STATUSES_IGNORE));
	unpack_halo(ranks, state, halo->received);
}

/* The received values are added to -0: -0 + x is x, also where x is 0 or -0. */
static void clear_adjoints(struct halo *halo)
{
	for (int side = 0; side < SIDES; side++) {
		int values = halo->neighbour[side] == MPI_PROC_NULL ? 0 : halo->values;

		VECTOR_LOOP
		for (int k = 0; k < values; k++)
			halo->sent[side][k] = -0.0;
	}
}

static void exchange_reverse(struct ranks *ranks, struct state *adjoint)
{
	struct halo *halo = ranks->halo;

	pack_edges(ranks, adjoint, halo->received);
	clear_adjoints(halo);
	require(reel_mpi_waitall_reverse(NULL, 2 * SIDES, halo->request, MPI_STATUSES_IGNORE));
	for (int k = 2 * SIDES; k-- > 0;)
		require(reel_mpi_start_reverse(NULL, &halo->request[k]));
	unpack_halo(ranks, adjoint, halo->sent);
}

static void cut(struct ranks *ranks, const struct grid *whole)
{
	struct rows here = with_halo(ranks, whole, ranks->rank);
	struct rows own = rows_of_rank(ranks, whole, ranks->rank);

	if (whole->rows < HALO_ROWS * ranks->number)
		fail("%d ranks are too many for %d rows, each has at least %d: start fewer, or "
		     "choose a finer --resolution", ranks->number, whole->rows, HALO_ROWS);
	ranks->grid = grid_of_rows(whole, here);
	ranks->first = here.first;
	ranks->own = (struct rows){own.first - here.first, own.last - here.first};
	for (int rank = 0; rank < ranks->number; rank++) {
		struct rows rows = with_halo(ranks, whole, rank);

		if (ranks->max_rows < rows.last - rows.first)
			ranks->max_rows = rows.last - rows.first;
	}
	ranks->whole_rows = whole->rows;
	open_halo(ranks, ranks->halo, MPI_COMM_WORLD);
}

/* ---- Copies ---- */

static struct halo *duplicate_halo(const struct ranks *ranks)
{
	struct halo *halo = allocate(1, sizeof(*halo));
	MPI_Comm comm;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	require(reel_mpi_attach(comm, 0));
	open_halo(ranks, halo, comm);
	return halo;
}

static struct ranks *open_copies(struct ranks *ranks, int *number)
{
	struct ranks *copies;

	MPI_Allreduce(MPI_IN_PLACE, number, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	copies = allocate((size_t)*number, sizeof(*copies));
	for (int k = 0; k < *number; k++) {
		copies[k] = *ranks;
		copies[k].halo = duplicate_halo(ranks);
	}
	return copies;
}

static void close_copies(struct ranks *copies, int number)
{
	for (int k = 0; k < number; k++) {
		struct halo *halo = copies[k].halo;

		MPI_Comm_free(&halo->comm);
		free_halo(halo);
		free(halo);
	}
	free(copies);
}

/* ---- Values of all ranks together ---- */

static int rank_of_row(const struct ranks *ranks, int row)
{
	int rank = 0;

	while (rows_of_part(ranks->whole_rows, rank, ranks->number).last <= row)
		rank++;
	return rank;
}

static double seed(struct ranks *ranks, int row)
{
	double J_bar;

	require(reel_mpi_seed(&J_bar, REEL_MPI_ON_ONE_RANK, rank_of_row(ranks, row),
			      MPI_COMM_WORLD));
	return J_bar;
}

static void share(struct ranks *ranks, int row, double *values, int count)
{
	MPI_Bcast(values, count, MPI_DOUBLE, rank_of_row(ranks, row), MPI_COMM_WORLD);
}

static void gather(struct ranks *ranks, const double *field, double *whole)
{
	int *counts = allocate((size_t)ranks->number, sizeof(int));
	int *places = allocate((size_t)ranks->number, sizeof(int));
	int stride = (int)ranks->grid.stride;

	for (int rank = 0; rank < ranks->number; rank++) {
		struct rows rows = rows_of_part(ranks->whole_rows, rank, ranks->number);

		counts[rank] = (rows.last - rows.first) * stride;
		places[rank] = (rows.first + 1) * stride;
	}
	require(reel_mpi_reverse_end(MPI_COMM_WORLD));
	MPI_Allgatherv(field + (ranks->own.first + 1) * stride, counts[ranks->rank], MPI_DOUBLE,
		       whole, counts, places, MPI_DOUBLE, MPI_COMM_WORLD);
	free(counts);
	free(places);
}

/* ---- From the beginning to the end ---- */

static void free_border(void)
{
	free_halo(&border);
}

struct ranks *ranks_begin(int *count, char ***arguments)
{
	const struct world *world = world_join(count, arguments);

	if (!world)
		return NULL;
	atexit(free_border);
	all = (struct ranks){
		.world = world, .rank = world->rank, .number = world->number,
		.cut = cut, .exchange = exchange, .exchange_reverse = exchange_reverse,
		.open_copies = open_copies, .close_copies = close_copies,
		.seed = seed, .share = share, .gather = gather, .halo = &border,
	};
	return &all;
}
