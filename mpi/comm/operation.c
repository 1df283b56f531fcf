/* SPDX-License-Identifier: MIT */
/* The program's own operations, with their adjoints: a list of each communicator. */
#include "config.h"

#include "operation.h"

#include <errno.h>
#include <stdlib.h>

#include <reel/extend.h>

struct reel_mpi_operation *reel_mpi_find_operation(struct reel_mpi_attached *attached, MPI_Op op)
{
	struct reel_mpi_operation *operation;

	pthread_mutex_lock(&attached->lock);
	operation = attached->operations;
	while (operation && operation->op != op)
		operation = operation->next;
	pthread_mutex_unlock(&attached->lock);
	return operation;
}

void reel_mpi_free_operations(struct reel_mpi_attached *attached)
{
	while (attached->operations) {
		struct reel_mpi_operation *operation = attached->operations;

		attached->operations = operation->next;
		free(operation);
	}
}

static void drop(struct reel_mpi_attached *attached, struct reel_mpi_operation *operation)
{
	struct reel_mpi_operation **link = &attached->operations;

	pthread_mutex_lock(&attached->lock);
	while (*link != operation)
		link = &(*link)->next;
	*link = operation->next;
	pthread_mutex_unlock(&attached->lock);
	free(operation);
}

int reel_mpi_op_set_adjoint(MPI_Comm comm, MPI_Op op, reel_mpi_op_adjoint *adjoint, void *context)
{
	static const char call[] = "reel_mpi_op_set_adjoint";
	struct reel_mpi_attached *attached;
	struct reel_mpi_operation *operation;
	int error = reel_mpi_find(comm, call, &attached);

	if (error)
		return error;
	if (op == MPI_OP_NULL)
		return reel_fail(-EINVAL, "%s: MPI_OP_NULL", call);
	operation = reel_mpi_find_operation(attached, op);
	if (operation)
		drop(attached, operation);
	if (!adjoint)
		return 0;
	operation = malloc(sizeof *operation);
	if (!operation)
		return reel_fail(-ENOMEM, "%s: no memory", call);
	pthread_mutex_lock(&attached->lock);
	*operation = (struct reel_mpi_operation){attached->operations, op, adjoint, context};
	attached->operations = operation;
	pthread_mutex_unlock(&attached->lock);
	return 0;
}
