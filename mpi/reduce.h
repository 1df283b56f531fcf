/* SPDX-License-Identifier: MIT */
/*
 * Reductions. A result y is linear in the operand x of a rank, number by number, once the operands
 * of the others are known: the adjoint of x is that of y times a factor, which the forward sweep
 * notes. Sums of adjoints over ranks are made in an order that does not depend on which rank is
 * first.
 */
#ifndef REEL_MPI_REDUCE_H
#define REEL_MPI_REDUCE_H

#include "check.h"

/*
 * Adds the message's buffer of each rank to that of `root`. The sum is a binomial tree of ranks,
 * seen from root. What the other ranks have afterwards is part of the sum.
 */
int reel_mpi_sum_to(struct reel_mpi_message *message, int root);

/*
 * The reverse of a Bcast, after the ranks have agreed on it: sums the adjoints, and sets all but
 * that of root to 0.
 */
int reel_mpi_reverse_bcast(struct reel_mpi_message *message, int root);

/* Returns the description of a Bcast that checked mode compares. */
struct reel_mpi_call reel_mpi_bcast_call(const struct reel_mpi_message *message, int root,
					 bool reverse);

/* The note of an operation, for each element. */
enum reel_mpi_factor {
	REEL_MPI_FACTOR_ONE,	/* a sum: nothing */
	REEL_MPI_FACTOR_BIT,	/* a minimum or maximum: whether the rank's operand is the result */
	REEL_MPI_FACTOR_NUMBER, /* a product: the product of the other operands */
	/* An operation of the program: the rank's operand, and the result of the ranks below. */
	REEL_MPI_FACTOR_OPERANDS,
};

/* Returns 0 or -ENOTSUP: nothing is known of the operation's adjoint for this type. */
int reel_mpi_factor_of(MPI_Op op, const struct reel_mpi_message *message,
		       enum reel_mpi_factor *factor);

/* A number from 1 on for an operation, the same on all ranks, and its name. */
uint32_t reel_mpi_operation_number(MPI_Op op);
const char *reel_mpi_operation_name(uint32_t number);

/* Returns true if two elements are equal, with the index that MINLOC and MAXLOC compare. */
bool reel_mpi_is_same(const struct reel_mpi_message *message, const char *a, const char *b);

/* Multiplies numbers of the message's type: to[i] *= by[i] for `count` elements. */
void reel_mpi_multiply(const struct reel_mpi_message *message, int count, void *to, const void *by);

/*
 * The chain of ranks, in scan.c. Notes the operand and what the ranks below have made of theirs; or
 * of a minimum, one bit: whether the operand is below the minimum of the ranks below.
 */
int reel_mpi_note_chain(struct reel_mpi_message *message, enum reel_mpi_factor factor, MPI_Op op,
			const char *operand);

/*
 * The reverse of Scan, or of Exscan, which is exclusive: adds to the message's buffer, and sets
 * result_bar to 0. `spare` has room for REEL_MPI_CHAIN_SPARE operands.
 */
enum { REEL_MPI_CHAIN_SPARE = 5 };
int reel_mpi_reverse_chain(struct reel_mpi_message *message, enum reel_mpi_factor factor, MPI_Op op,
			   bool exclusive, char *result_bar, char *spare);

/* Pushes numbers, and pops them. If they are lost they are NaN. */
void reel_mpi_push_numbers(const struct reel_mpi_message *message, const void *numbers);
void reel_mpi_pop_numbers(const struct reel_mpi_message *message, void *numbers);

#endif
