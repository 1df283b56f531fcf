/* SPDX-License-Identifier: MIT */
/* Exact sums over all ranks, and their adjoints, which are also exact sums. */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <math.h>

#include <reel/extend.h>
#include <reel/sum.h>

#include "message/agree.h"
#include "message/wait.h"

/* A sum is sent as integers, which MPI adds without rounding, in any order. */
enum { WORDS = sizeof(reel_sum) / sizeof(int64_t) };
REEL_STATIC_ASSERT(sizeof(reel_sum) == WORDS * sizeof(int64_t), "a sum is made of integers");

/* Opens a call, with a temporary for its sums. */
static int open_sum(struct reel_mpi_message *m, MPI_Comm comm, struct reel_mpi_buffer **buffer)
{
	int error = reel_mpi_open_message(m, comm);

	if (!error && m->count > INT_MAX / WORDS)
		error = reel_fail(-EOVERFLOW, "%s: %d sums; at most %d are sent at once", m->call,
				  m->count, INT_MAX / WORDS);
	if (error)
		return error;
	*buffer = reel_mpi_take_buffer(m->attached, (size_t)m->count * sizeof(reel_sum));
	return *buffer ? 0 : -ENOMEM;
}

/*
 * Adds up the sums in the temporary over all ranks, after these have agreed on the call. Sets
 * values[], and gives the temporary back.
 */
static int add_ranks(struct reel_mpi_message *m, struct reel_mpi_buffer *buffer, bool reverse,
		     double *values)
{
	struct reel_mpi_call call = reel_mpi_call_of(m, "reel_mpi_sum", 0, reverse);
	reel_sum *sums = (reel_sum *)(void *)buffer->data;
	int error = reel_mpi_agree_on_call(&call);

	REEL_ASSERT(m->count <= INT_MAX / WORDS);
	REEL_ASSERT(buffer->bytes >= (size_t)m->count * sizeof *sums);
	/* Digits of 32 bits: the sum of 2^31 of them fits into a word. */
	for (int i = 0; i < m->count; i++)
		reel_sum_carry(&sums[i]);
	if (!error)
		error = reel_mpi_await_all(m, MPI_Iallreduce(MPI_IN_PLACE, sums, m->count * WORDS,
							     MPI_INT64_T, MPI_SUM,
							     m->attached->sums, &buffer->request),
					   &buffer->request);
	for (int i = 0; i < m->count && !error; i++)
		values[i] = reel_sum_value(&sums[i]);
	reel_mpi_give_buffer(m->attached, buffer);
	return reverse ? error : reel_mpi_note_agreed(&call, error);
}

int reel_mpi_sum_at(reel_tape *tape, const char *call_site, const reel_sum *sums, double *values,
		    int count, MPI_Comm comm)
{
	struct reel_mpi_message m = {.call = "reel_mpi_sum", .call_site = call_site, .tape = tape,
				     .count = count, .type = MPI_DOUBLE, .forward = true};
	struct reel_mpi_buffer *buffer;
	int error = open_sum(&m, comm, &buffer);

	if (error)
		return reel_mpi_stick(tape, error);
	memcpy(buffer->data, sums, (size_t)count * sizeof *sums);
	return reel_mpi_stick(tape, add_ranks(&m, buffer, false, values));
}

int reel_mpi_sum_reverse_at(reel_tape *tape, const char *call_site, double *sums_bar,
			    double *values_bar, int count, MPI_Comm comm)
{
	struct reel_mpi_message m = {.call = "reel_mpi_sum_reverse", .call_site = call_site,
				     .tape = tape, .count = count, .type = MPI_DOUBLE};
	struct reel_mpi_buffer *buffer;
	int error = open_sum(&m, comm, &buffer);

	if (error)
		return reel_mpi_stick(tape, error);
	memset(buffer->data, 0, (size_t)count * sizeof(reel_sum));
	for (int i = 0; i < count; i++)
		reel_sum_add((reel_sum *)(void *)buffer->data + i, values_bar[i]);
	error = add_ranks(&m, buffer, true, values_bar);
	for (int i = 0; i < count; i++) {
		sums_bar[i] += error ? NAN : values_bar[i];
		values_bar[i] = 0;
	}
	return reel_mpi_stick(tape, error);
}
