/* SPDX-License-Identifier: MIT */
/* An operation of the program on one communicator, and its adjoint. */
#ifndef REEL_MPI_OPERATION_H
#define REEL_MPI_OPERATION_H

#include "attached.h"

struct reel_mpi_operation {
	struct reel_mpi_operation *next;
	MPI_Op op;
	reel_mpi_op_adjoint *adjoint;
	void *context;
};

/* Returns NULL if the operation has no adjoint on the communicator. */
struct reel_mpi_operation *reel_mpi_find_operation(struct reel_mpi_attached *attached, MPI_Op op);

void reel_mpi_free_operations(struct reel_mpi_attached *attached);

#endif
