/* SPDX-License-Identifier: MIT */
/* The program's own operations, with their adjoints: a list of each communicator. */
#include "config.h"

#include "operation.h"

#include <errno.h>
#include <stdlib.h>

#include <reel/extend.h>

/* Finds an operation, or its place at the end of the list. Requires `attached->lock`. */
static struct reel_mpi_operation **place_of(struct reel_mpi_attached *attached, MPI_Op op)
{
	struct reel_mpi_operation **link = &attached->operations;

	REEL_ASSERT(reel_mpi_is_locked(attached));
	while (*link && (*link)->op != op)
		link = &(*link)->next;
	return link;
}

struct reel_mpi_operation *reel_mpi_find_operation(struct reel_mpi_attached *attached, MPI_Op op)
{
	struct reel_mpi_operation *operation;

	pthread_mutex_lock(&attached->lock);
	operation = *place_of(attached, op);
	REEL_ASSERT(!operation || operation->adjoint);
	pthread_mutex_unlock(&attached->lock);
	return operation;
}

/* A program may make and free operations for as long as the communicator lives. */
static void forget(struct reel_mpi_operation **place)
{
	struct reel_mpi_operation *operation = *place;

	if (!operation)
		return;
	*place = operation->next;
	free(operation);
}

void reel_mpi_free_operations(struct reel_mpi_attached *attached)
{
	while (attached->operations)
		forget(&attached->operations);
}

int reel_mpi_op_set_adjoint(MPI_Comm comm, MPI_Op op, reel_mpi_op_adjoint *adjoint, void *context)
{
	static const char call[] = "reel_mpi_op_set_adjoint";
	struct reel_mpi_attached *attached;
	struct reel_mpi_operation **place;
	int error = reel_mpi_find(comm, call, &attached);

	if (error)
		return error;
	if (op == MPI_OP_NULL)
		return reel_fail(-EINVAL, "%s: MPI_OP_NULL", call);
	pthread_mutex_lock(&attached->lock);
	place = place_of(attached, op);
	if (!adjoint)
		forget(place);
	else if (*place || (*place = calloc(1, sizeof **place)))
		**place = (struct reel_mpi_operation){(*place)->next, op, adjoint, context};
	else
		error = reel_fail(-ENOMEM, "%s: no memory", call);
	pthread_mutex_unlock(&attached->lock);
	return error;
}
