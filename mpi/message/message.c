/* SPDX-License-Identifier: MIT */
/* Messages: opening, and their properties. */
#include "config.h"

#include "message.h"

#include <errno.h>
#include <limits.h>

#include <reel/extend.h>

int reel_mpi_check_mode(int mode, int modes, const char *call)
{
	return mode >= 0 && mode < modes
		       ? 0
		       : reel_fail(-EINVAL, "%s: there is no mode %d of sending", call, mode);
}

int reel_mpi_open_message(struct reel_mpi_message *message, MPI_Comm comm)
{
	int error = reel_mpi_find(comm, message->call, &message->attached);

	if (!error)
		error = reel_mpi_layout_of(message->type, message->call, &message->layout);
	if (!error)
		message->through = message->attached->messages;
	if (!error)
		error = reel_mpi_check_count(message->layout, message->count, 1, message->call);
	REEL_ASSERT(error || (message->attached && message->layout));
	REEL_ASSERT(error || message->count >= 0);
	return error;
}

int reel_mpi_check_packed(struct reel_mpi_message *m)
{
	int size;

	if (!reel_mpi_is_active(m))
		return 0;
	MPI_Type_size(m->type, &size);
	/* MPI may add a header when it packs. */
	if ((int64_t)size * m->count <= INT_MAX - 4096)
		return 0;
	return reel_fail(-EOVERFLOW,
			 "%s: the adjoint of %lld bytes cannot be sent at once, since MPI counts "
			 "packed bytes by an int; send less than 2 GiB, or use a request",
			 m->call, (long long)size * m->count);
}

bool reel_mpi_is_active(const struct reel_mpi_message *message)
{
	REEL_ASSERT(message->layout);
	return message->layout->ranges > 0 && message->count > 0 && message->peer != MPI_PROC_NULL;
}

int reel_mpi_stick(reel_tape *tape, int error)
{
	REEL_ASSERT(error <= 0);
	if (error && tape && !reel_tape_error(tape))
		reel_tape_give_up(tape, error, reel_error_text(error));
	return error;
}

bool reel_mpi_is_lost(const struct reel_mpi_attached *attached, const reel_tape *tape)
{
	int error = tape ? reel_tape_error(tape) : 0;

	return (attached->checks || attached->watch_ns) &&
	       (error == -EBADMSG || error == -ENODATA || error == -ETIMEDOUT);
}

int64_t reel_mpi_numbers_of(const struct reel_mpi_message *m)
{
	int64_t numbers = 0;

	for (size_t i = 0; i < m->layout->ranges; i++)
		numbers += m->layout->range[i].count;
	REEL_ASSERT(numbers >= 0 && (!m->count || numbers <= INT64_MAX / m->count));
	return numbers * m->count;
}

uint32_t reel_mpi_kinds_of(const struct reel_mpi_message *m)
{
	uint32_t kinds = 0;

	for (size_t i = 0; i < m->layout->ranges && m->count; i++)
		kinds |= 1u << m->layout->range[i].number;
	REEL_ASSERT(kinds < 1u << REEL_MPI_NUMBERS);
	return kinds;
}
