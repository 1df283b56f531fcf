/* SPDX-License-Identifier: MIT */
/*
 * The chain of ranks, of Scan, Exscan and Reduce by the program's operation. With S the result of
 * Scan, S of a rank is S of the rank below times x, for any operation "times". In the reverse sweep
 * adjoints go down from the last rank:
 *
 *	u = adjoint of S = message from the rank above, and y_bar of Scan
 *	x_bar += u * dS/dx;  to the rank below: u * dS/dS below, and y_bar of Exscan
 */
#include "config.h"

#include "scan.h"

#include <errno.h>
#include <string.h>

#include <reel/extend.h>

#include "comm/operation.h"
#include "message/transfer.h"
#include "message/wait.h"

enum { CHAIN_TAG = 2 };

/* `x` is overwritten. */
static void push_chain(struct reel_mpi_message *m, enum reel_mpi_factor factor, MPI_Op op,
		       const char *below, char *x)
{
	REEL_ASSERT(m->attached->rank > 0);
	if (factor != REEL_MPI_FACTOR_BIT) {
		reel_mpi_push_numbers(m, x);
		reel_mpi_push_numbers(m, below);
		return;
	}
	MPI_Reduce_local(below, x, m->count, m->type, op);
	for (size_t at = 0; at < reel_mpi_span(m, m->count); at += (size_t)m->layout->extent)
		reel_push_bool_at(m->tape, !reel_mpi_is_same(m->layout, x + at, below + at),
				  m->call_site);
}

int reel_mpi_note_chain(struct reel_mpi_message *m, enum reel_mpi_factor factor, MPI_Op op,
			const char *operand)
{
	size_t bytes = reel_mpi_span(m, m->count);
	struct reel_mpi_buffer *buffer = reel_mpi_take_buffer(m->attached, 2 * bytes);
	char *x, *below;
	int error;

	REEL_ASSERT(m->tape && factor != REEL_MPI_FACTOR_ONE);
	if (!buffer)
		return -ENOMEM;
	x = (char *)buffer->data;
	below = x + bytes;
	memcpy(x, operand, bytes);
	error = reel_mpi_await_all(m, MPI_Iexscan(x, below, m->count, m->type, op,
						  m->attached->sums, &buffer->request),
				   &buffer->request);
	if (!error && m->attached->rank > 0)
		push_chain(m, factor, op, below, x);
	reel_mpi_give_buffer(m->attached, buffer);
	return error;
}

/* Calls the program's adjoint. `spare` has room for two operands. */
static void divide_by_program(struct reel_mpi_message *m, MPI_Op op, const char *u, char *to_x,
			      char *to_below, char *spare)
{
	const struct reel_mpi_operation *operation = reel_mpi_find_operation(m->attached, op);
	char *below = spare, *x = spare + reel_mpi_span(m, m->count);

	REEL_ASSERT(operation);
	reel_mpi_pop_numbers(m, below);
	reel_mpi_pop_numbers(m, x);
	operation->adjoint(below, x, u, to_below, to_x, m->count, m->type, operation->context);
}

/*
 * Makes of u the adjoint of x, in `to_x`, and of S of the rank below, in `to_below`, which has room
 * for two operands behind it.
 */
static int divide(struct reel_mpi_message *m, enum reel_mpi_factor factor, MPI_Op op, const char *u,
		  char *to_x, char *to_below)
{
	size_t extent = (size_t)m->layout->extent;

	REEL_ASSERT(to_below == to_x + reel_mpi_span(m, m->count));
	memcpy(to_x, u, reel_mpi_span(m, m->count));
	memcpy(to_below, u, reel_mpi_span(m, m->count));
	if (m->attached->rank == 0 || factor == REEL_MPI_FACTOR_ONE)
		return 0;
	if (!m->tape)
		return reel_fail(-EINVAL, "%s: there is no tape", m->call);
	if (factor == REEL_MPI_FACTOR_NUMBER) {
		reel_mpi_pop_numbers(m, to_x);
		reel_mpi_multiply(m->layout, m->count, to_x, u);
		reel_mpi_pop_numbers(m, to_below);
		reel_mpi_multiply(m->layout, m->count, to_below, u);
	} else if (factor == REEL_MPI_FACTOR_OPERANDS) {
		divide_by_program(m, op, u, to_x, to_below, to_below + reel_mpi_span(m, m->count));
	} else {
		for (size_t at = reel_mpi_span(m, m->count); at > 0;) {
			at -= extent;
			memset((reel_pop_bool_at(m->tape, m->call_site) ? to_below : to_x) + at, 0,
			       extent);
		}
	}
	return reel_tape_error(m->tape);
}

int reel_mpi_reverse_chain(struct reel_mpi_message *m, enum reel_mpi_factor factor, MPI_Op op,
			   bool exclusive, char *result_bar, char *spare)
{
	size_t bytes = reel_mpi_span(m, m->count);
	char *u = spare, *to_x = u + bytes, *to_below = to_x + bytes;
	struct reel_mpi_message step = *m;
	int error = 0, own;

	step.through = m->attached->sums;
	step.tag = CHAIN_TAG;

	memset(u, 0, bytes);
	if (!exclusive)
		memcpy(u, result_bar, bytes);
	step.buffer = u;
	step.peer = m->attached->rank + 1;
	if (step.peer < m->attached->size)
		error = reel_mpi_add_adjoint(&step);
	own = divide(m, factor, op, u, to_x, to_below);
	error = error ? error : own;
	step.buffer = to_below;
	step.peer = m->attached->rank - 1;
	if (error)
		reel_mpi_layout_poison(m->layout, m->count, to_below);
	else if (exclusive && step.peer >= 0)
		reel_mpi_layout_add(m->layout, m->count, to_below, result_bar);
	if (step.peer >= 0) {
		own = reel_mpi_send_adjoint(&step);
		error = error ? error : own;
	}
	if (error) {
		reel_mpi_layout_poison(m->layout, m->count, m->buffer);
		return error;
	}
	/* The first rank has no result of Exscan: its buffer stays. */
	if (!exclusive || step.peer >= 0)
		reel_mpi_layout_zero(m->layout, m->count, result_bar);
	reel_mpi_layout_add(m->layout, m->count, m->buffer, to_x);
	return 0;
}
