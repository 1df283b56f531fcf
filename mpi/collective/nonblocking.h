/* SPDX-License-Identifier: MIT */
/*
 * Collective calls that begin and end. Forward, the start calls MPI and makes a request of the
 * program; what the reverse needs of the operands is noted by the start, since other ranks cannot
 * be waited for there. In the reverse sweep the start does all: MPI demands that ranks start these
 * calls in one order, and not that they wait for them in one.
 */
#ifndef REEL_MPI_NONBLOCKING_H
#define REEL_MPI_NONBLOCKING_H

#include "message/message.h"

/* The blocks of a rank on one side of a call that moves blocks. */
struct reel_mpi_side {
	char *base;
	int count;
	const int *counts, *displacements; /* of Alltoallw, displacements are in bytes */
	MPI_Datatype type;
	const MPI_Datatype *types;
	const MPI_Aint *bytes; /* displacements of Neighbor_alltoallw, which has no others */
	bool in_blocks;
};

/* In collectives.c. `request` is NULL if the call waits. */
int reel_mpi_forward_move(reel_tape *tape, const char *site, enum reel_mpi_move kind,
			  const struct reel_mpi_side *sent, const struct reel_mpi_side *received,
			  int root, MPI_Comm comm, struct reel_mpi_request *request);
int reel_mpi_reverse_move(reel_tape *tape, const char *site, enum reel_mpi_move kind,
			  const struct reel_mpi_side *sent_bar,
			  const struct reel_mpi_side *received_bar, int root, MPI_Comm comm,
			  bool nonblocking);

/* Calls MPI's I-form. Returns MPI's code. */
int reel_mpi_start_move(enum reel_mpi_move kind, const struct reel_mpi_side *sent,
			const struct reel_mpi_side *received, int root, MPI_Comm comm,
			MPI_Request *request);

/* Makes the program's request of one that MPI has started, or leaves it null if `error`. */
int reel_mpi_make_request(struct reel_mpi_request *request, MPI_Request started, MPI_Comm comm,
			  const char *site, int error);

/* Returns 0, or -EINVAL: a request of the program has begun and not ended. */
int reel_mpi_check_unused(const struct reel_mpi_request *request, const char *call);

/*
 * Pops the operands that the start noted. Collective: if they are lost on a rank, all ranks fail,
 * or else the others would choose another minimum.
 */
int reel_mpi_pop_operands(struct reel_mpi_message *message, void *operands);

#endif
