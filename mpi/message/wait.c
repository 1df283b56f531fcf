/* SPDX-License-Identifier: MIT */
/* Waiting for calls that MPI has begun. */
#include "config.h"

#include "wait.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include <reel/extend.h>

#include "comm/error.h"
#include "os/clock.h"
#include "os/error.h"
#include "trace/trace.h"

/* Returns true if an earlier call of this reverse sweep has timed out, and has told of it. */
static bool has_timed_out(const struct reel_mpi_message *m)
{
	return !m->forward && m->tape && reel_tape_error(m->tape) == -ETIMEDOUT;
}

static int time_out(const struct reel_mpi_message *m, enum reel_mpi_wait what)
{
	double seconds = 1e-9 * (double)m->attached->watch_ns;
	int error;

	REEL_ASSERT(m->attached->watch_ns);
	if (has_timed_out(m))
		return reel_fail(-ETIMEDOUT, "%s follows a call that failed", m->call);
	reel_mpi_set_failed(m->attached);
	if (what == REEL_MPI_FOR_ALL)
		error = reel_fail(-ETIMEDOUT,
				  "rank %d, %s: %s() has waited %g s for the other ranks of "
				  "the communicator%s",
				  m->attached->rank, m->call_site, m->call, seconds,
				  m->forward
					  ? ", to note their operands; all ranks need a tape for "
					    "this operation, or no rank passes one"
					  : "");
	else
		error = reel_fail(-ETIMEDOUT,
				  "rank %d, %s: %s() has waited %g s for %s rank %d, tag %d",
				  m->attached->rank, m->call_site, m->call, seconds,
				  what == REEL_MPI_FROM_PEER ? "the adjoint from"
							     : "its adjoint to be taken by",
				  m->peer, m->tag);
	/* A tape reports the first error, which sticks to it. */
	if (m->tape && !reel_tape_error(m->tape))
		return error;
	return reel_report(m->tape, error, reel_error_text(error));
}

/* Cancels a receive. Returns 0 if the message came at last. */
static int cancel(const struct reel_mpi_message *m, MPI_Request *request, MPI_Status *status)
{
	MPI_Status own;
	int cancelled, code;

	REEL_ASSERT(*request != MPI_REQUEST_NULL);
	MPI_Cancel(request);
	code = MPI_Wait(request, &own);
	MPI_Test_cancelled(&own, &cancelled);
	if (cancelled)
		return time_out(m, REEL_MPI_FROM_PEER);
	if (status != MPI_STATUS_IGNORE)
		*status = own;
	return reel_mpi_error(code, m->call);
}

int reel_mpi_poll(const char *call, MPI_Request *request, MPI_Status *status, uint64_t end,
		  int *complete)
{
	for (;;) {
		/* Read before the test: a request that is complete by then is never given up. */
		bool ended = reel_clock_ns() >= end;
		int error = reel_mpi_error(MPI_Test(request, complete, status), call);

		if (error || *complete || ended)
			return error;
		sched_yield();
	}
}

int reel_mpi_await(const struct reel_mpi_message *m, enum reel_mpi_wait what, MPI_Request *request,
		   MPI_Status *status)
{
	uint64_t limit = m->forward && !m->notes ? 0 : m->attached->watch_ns, begin, now;
	int complete, error = reel_mpi_error(MPI_Test(request, &complete, status), m->call);

	if (error || complete)
		return error;
	begin = reel_clock_ns();
	error = reel_mpi_poll(m->call, request, status,
			      !limit ? UINT64_MAX : begin + (has_timed_out(m) ? 0 : limit),
			      &complete);
	REEL_ASSERT(error || complete || limit);
	if (!error && !complete)
		error = what == REEL_MPI_FROM_PEER ? cancel(m, request, status) : time_out(m, what);
	now = reel_clock_ns();
	REEL_TRACE_UNTIL(now, REEL_TRACE_WAIT_FOR_RANK, begin,
			 what == REEL_MPI_FOR_ALL ? -1 : m->peer, m->tag, m->forward);
	if (!m->forward) {
		reel_mpi_count(&m->attached->counters.waits, 1);
		reel_mpi_count(&m->attached->counters.wait_ns, now - begin);
	}
	return error;
}

int reel_mpi_await_all(const struct reel_mpi_message *m, int code, MPI_Request *request)
{
	int error = reel_mpi_error(code, m->call);

	return error ? error : reel_mpi_await(m, REEL_MPI_FOR_ALL, request, MPI_STATUS_IGNORE);
}

int reel_mpi_combine(const struct reel_mpi_message *m, void *values, int count, MPI_Datatype type,
		     MPI_Op op)
{
	struct reel_mpi_buffer *buffer;
	int size, error;

	MPI_Type_size(type, &size);
	REEL_ASSERT(count > 0 && size > 0);
	buffer = reel_mpi_take_buffer(m->attached, (size_t)count * (size_t)size);
	if (!buffer)
		return -ENOMEM;
	memcpy(buffer->data, values, (size_t)count * (size_t)size);
	error = reel_mpi_await_all(m, MPI_Iallreduce(MPI_IN_PLACE, buffer->data, count, type, op,
						     m->attached->sums, &buffer->request),
				   &buffer->request);
	if (!error)
		memcpy(values, buffer->data, (size_t)count * (size_t)size);
	reel_mpi_give_buffer(m->attached, buffer);
	return error;
}
