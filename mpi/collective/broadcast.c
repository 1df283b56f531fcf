/* SPDX-License-Identifier: MIT */
/* Bcast, Barrier, their I-forms, and the tree by which adjoints of all ranks are summed. */
#include "config.h"

#include "broadcast.h"

#include "comm/error.h"
#include "message/agree.h"
#include "message/transfer.h"
#include "message/wait.h"
#include "nonblocking.h"

enum { TREE_TAG = 1 };

/* With a watchdog no rank waits until the one below it in the tree takes its sum. */
static int send_sum(struct reel_mpi_message *m)
{
	MPI_Request request;
	int error;

	if (m->attached->watch_ns)
		return reel_mpi_send_copy(m);
	error = reel_mpi_error(MPI_Isend(m->buffer, m->count, m->type, m->peer, m->tag, m->through,
					 &request),
			       m->call);
	return error ? error : reel_mpi_await(m, REEL_MPI_TO_PEER, &request, MPI_STATUS_IGNORE);
}

int reel_mpi_sum_to(struct reel_mpi_message *m, int root)
{
	int size = m->attached->size, relative = (m->attached->rank - root + size) % size;
	/* All ranks refuse a sum that is too long to be copied, so that none waits for it. */
	int error = m->attached->watch_ns ? reel_mpi_check_packed(m) : 0;

	if (error)
		return error;
	m->tag = TREE_TAG;
	m->through = m->attached->sums;
	for (int step = 1; step < size; step *= 2) {
		int own;

		m->peer = (relative + (relative & step ? -step : step) + root) % size;
		if (relative & step) {
			own = send_sum(m);
			return error ? error : own;
		}
		/* If it fails, the ranks above get the NaN that it leaves: none is left waiting. */
		own = relative + step < size ? reel_mpi_add_adjoint(m) : 0;
		error = error ? error : own;
	}
	return error;
}

int reel_mpi_bcast_at(reel_tape *tape, const char *call_site, void *buffer, int count,
		      MPI_Datatype type, int root, MPI_Comm comm)
{
	struct reel_mpi_message m = REEL_MPI_MESSAGE("reel_mpi_bcast", buffer, count, 0, 0);
	int error = reel_mpi_open_message(&m, comm);
	struct reel_mpi_call call;

	if (error)
		return reel_mpi_stick(tape, error);
	call = reel_mpi_call_of(&m, "reel_mpi_bcast", root, false);
	error = reel_mpi_agree_on_call(&call);
	if (!error)
		error = reel_mpi_error(MPI_Bcast(buffer, count, type, root, comm), m.call);
	return reel_mpi_stick(tape, reel_mpi_note_agreed(&call, error));
}

int reel_mpi_ibcast_at(reel_tape *tape, const char *call_site, void *buffer, int count,
		       MPI_Datatype type, int root, MPI_Comm comm, struct reel_mpi_request *request)
{
	struct reel_mpi_message m = REEL_MPI_MESSAGE("reel_mpi_ibcast", buffer, count, 0, 0);
	MPI_Request started = MPI_REQUEST_NULL;
	int error = reel_mpi_open_message(&m, comm);

	if (!error)
		error = reel_mpi_error(MPI_Ibcast(buffer, count, type, root, comm, &started),
				       m.call);
	reel_mpi_make_request(request, started, comm, call_site, error);
	if (!error) {
		struct reel_mpi_call call = reel_mpi_call_of(&m, "reel_mpi_bcast", root, false);

		call.started = true;
		error = reel_mpi_note_agreed(&call, 0);
	}
	return reel_mpi_stick(tape, error);
}

/* Sums the adjoints, and sets all but that of root to 0. `started`: of an I-form. */
static int reverse_bcast(struct reel_mpi_message *m, int root, MPI_Comm comm, bool started)
{
	int error = reel_mpi_open_message(m, comm);
	struct reel_mpi_call call;

	if (error)
		return error;
	call = reel_mpi_call_of(m, "reel_mpi_bcast", root, true);
	call.started = started;
	error = reel_mpi_agree_on_call(&call);
	if (!error && reel_mpi_is_active(m))
		error = reel_mpi_sum_to(m, root);
	if (error)
		reel_mpi_layout_poison(m->layout, m->count, m->buffer);
	else if (m->attached->rank != root)
		reel_mpi_layout_zero(m->layout, m->count, m->buffer);
	return error;
}

int reel_mpi_bcast_reverse_at(reel_tape *tape, const char *call_site, void *buffer_bar, int count,
			      MPI_Datatype type, int root, MPI_Comm comm)
{
	struct reel_mpi_message m =
		REEL_MPI_MESSAGE("reel_mpi_bcast_reverse", buffer_bar, count, 0, 0);

	return reel_mpi_stick(tape, reverse_bcast(&m, root, comm, false));
}

int reel_mpi_ibcast_reverse_at(reel_tape *tape, const char *call_site, void *buffer_bar, int count,
			       MPI_Datatype type, int root, MPI_Comm comm,
			       const struct reel_mpi_request *request)
{
	struct reel_mpi_message m =
		REEL_MPI_MESSAGE("reel_mpi_ibcast_reverse", buffer_bar, count, 0, 0);
	int error = reel_mpi_check_unused(request, m.call);

	return reel_mpi_stick(tape, error ? error : reverse_bcast(&m, root, comm, true));
}

/* A Barrier has no adjoint, so it has no note: a program may leave out its reverse. */
static int agree_on_barrier(const char *call_site, reel_tape *tape, MPI_Comm comm, bool reverse,
			    struct reel_mpi_attached **attached)
{
	struct reel_mpi_call call = {.tape = tape, .name = "reel_mpi_barrier",
				     .call_site = call_site, .reverse = reverse};

	*attached = NULL;
	if (!reel_mpi_is_attached(comm, attached))
		return 0;
	call.attached = *attached;
	return reel_mpi_agree_on_call(&call);
}

int reel_mpi_barrier_at(reel_tape *tape, const char *call_site, MPI_Comm comm)
{
	struct reel_mpi_attached *attached;
	int error = agree_on_barrier(call_site, tape, comm, false, &attached);

	if (!error)
		error = reel_mpi_error(MPI_Barrier(comm), "reel_mpi_barrier");
	return reel_mpi_stick(tape, error);
}

int reel_mpi_barrier_reverse_at(reel_tape *tape, const char *call_site, MPI_Comm comm)
{
	struct reel_mpi_message m = {.call = "reel_mpi_barrier_reverse", .call_site = call_site,
				     .tape = tape};
	int error = agree_on_barrier(call_site, tape, comm, true, &m.attached);
	MPI_Request request = MPI_REQUEST_NULL;

	if (error)
		return reel_mpi_stick(tape, error);
	if (!m.attached)
		return reel_mpi_stick(tape, reel_mpi_error(MPI_Barrier(comm), m.call));
	error = reel_mpi_await_all(&m, MPI_Ibarrier(m.attached->sums, &request), &request);
	reel_mpi_give_up(m.attached, &request);
	return reel_mpi_stick(tape, error);
}

int reel_mpi_ibarrier_at(reel_tape *tape, const char *call_site, MPI_Comm comm,
			 struct reel_mpi_request *request)
{
	static const char call[] = "reel_mpi_ibarrier";
	struct reel_mpi_attached *attached;
	MPI_Request started = MPI_REQUEST_NULL;
	int error = reel_mpi_find(comm, call, &attached);

	if (!error)
		error = reel_mpi_error(MPI_Ibarrier(comm, &started), call);
	return reel_mpi_stick(tape, reel_mpi_make_request(request, started, comm, call_site,
							  error));
}

int reel_mpi_ibarrier_reverse_at(reel_tape *tape, const char *call_site, MPI_Comm comm,
				 const struct reel_mpi_request *request)
{
	int error = reel_mpi_check_unused(request, "reel_mpi_ibarrier_reverse");

	return error ? reel_mpi_stick(tape, error) : reel_mpi_barrier_reverse_at(tape, call_site,
										 comm);
}
