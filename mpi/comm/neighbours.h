/* SPDX-License-Identifier: MIT */
/*
 * The neighbours of a rank on a communicator with a topology, and which block of a neighbour comes
 * as which block here. Two ranks may be neighbours several times: on a ring of two ranks the left
 * neighbour is also the right one. Which of the blocks is which then differs between
 * implementations of MPI, and between calls of one implementation, so it is measured.
 */
#ifndef REEL_MPI_NEIGHBOURS_H
#define REEL_MPI_NEIGHBOURS_H

#include "attached.h"

/* Calls that send another block to each neighbour. */
enum reel_mpi_matching {
	REEL_MPI_MATCH_ALLTOALL,
	REEL_MPI_MATCH_ALLTOALLV,
	REEL_MPI_MATCH_ALLTOALLW,
	REEL_MPI_MATCH_IALLTOALL, /* I-forms may also differ */
	REEL_MPI_MATCH_IALLTOALLV,
	REEL_MPI_MATCH_IALLTOALLW,
	REEL_MPI_MATCHINGS
};

struct reel_mpi_neighbours {
	int sources, destinations;  /* numbers of neighbours on each side */
	int *source, *destination;  /* ranks, or MPI_PROC_NULL */
	/* For each call and source, the number of the block at the source. NULL: unknown. */
	int *block[REEL_MPI_MATCHINGS];
};

/* Finds the neighbours. Local. Returns 0; -EINVAL: there is no topology; -ENOMEM. */
int reel_mpi_find_neighbours(struct reel_mpi_attached *attached, const char *call,
			     const struct reel_mpi_neighbours **neighbours);

/* Measures block[matching], unless it is known. Collective. Returns 0, -ENOMEM or -EIO. */
int reel_mpi_match_neighbours(struct reel_mpi_attached *attached, const char *call,
			      enum reel_mpi_matching matching);

void reel_mpi_free_neighbours(struct reel_mpi_neighbours *neighbours);

#endif
