/* SPDX-License-Identifier: MIT */
/*
 * Operations of reductions. A result y is linear in the operand x of a rank, number by number, once
 * the operands of the others are known: the adjoint of x is the adjoint of y times a factor, which
 * the forward sweep notes.
 */
#ifndef REEL_MPI_FACTOR_H
#define REEL_MPI_FACTOR_H

#include "attached.h"
#include "layout.h"

/* The note of an operation, for each element. */
enum reel_mpi_factor {
	REEL_MPI_FACTOR_ONE,	/* a sum: nothing */
	REEL_MPI_FACTOR_BIT,	/* a minimum or maximum: whether the rank's operand is the result */
	REEL_MPI_FACTOR_NUMBER, /* a product: the product of the other operands */
	/* An operation of the program: the rank's operand, and the result of the ranks below. */
	REEL_MPI_FACTOR_OPERANDS,
};

/* Returns 0 or -ENOTSUP: nothing is known of the operation's adjoint for this type. */
int reel_mpi_factor_of(struct reel_mpi_attached *attached, MPI_Op op,
		       const struct reel_mpi_layout *layout, const char *call,
		       enum reel_mpi_factor *factor);

/* A number from 1 on for an operation, the same on all ranks, and its name. */
uint32_t reel_mpi_operation_number(MPI_Op op);
const char *reel_mpi_operation_name(uint32_t number);

/* Returns true if two elements are equal, with the index that MINLOC and MAXLOC compare. */
bool reel_mpi_is_same(const struct reel_mpi_layout *layout, const char *a, const char *b);

/* Multiplies numbers of one type: to[i] *= by[i] for `count` elements. */
void reel_mpi_multiply(const struct reel_mpi_layout *layout, int count, void *to, const void *by);

#endif
