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

/* `request` is NULL if the call waits. */
static int bcast(struct reel_mpi_message *m, int root, MPI_Comm comm,
		 struct reel_mpi_request *request)
{
	MPI_Request started = MPI_REQUEST_NULL;
	int error = reel_mpi_open_message(m, comm);
	struct reel_mpi_call call;

	if (!error) {
		call = reel_mpi_call_of(m, "reel_mpi_bcast", root, false);
		call.started = request;
		error = reel_mpi_agree_on_call(&call);
	}
	if (!error)
		error = reel_mpi_error(
			request ? MPI_Ibcast(m->buffer, m->count, m->type, root, comm, &started)
				: MPI_Bcast(m->buffer, m->count, m->type, root, comm),
			m->call);
	if (request)
		reel_mpi_make_request(request, started, comm, m->call_site, error);
	return error ? error : reel_mpi_note_agreed(&call, 0);
}

/* Sums the adjoints on root, and sets all others to 0. `request` is NULL if the call waited. */
static int reverse_bcast(struct reel_mpi_message *m, int root, MPI_Comm comm,
			 const struct reel_mpi_request *request)
{
	int error = request ? reel_mpi_check_unused(request, m->call) : 0;
	struct reel_mpi_call call;

	if (!error)
		error = reel_mpi_open_message(m, comm);
	if (error)
		return error;
	call = reel_mpi_call_of(m, "reel_mpi_bcast", root, true);
	call.started = request;
	error = reel_mpi_agree_on_call(&call);
	if (!error && reel_mpi_is_active(m))
		error = reel_mpi_sum_to(m, root);
	if (error)
		reel_mpi_layout_poison(m->layout, m->count, m->buffer);
	else if (m->attached->rank != root)
		reel_mpi_layout_zero(m->layout, m->count, m->buffer);
	return error;
}

int reel_mpi_bcast_at(reel_tape *tape, const char *call_site, enum reel_mpi_form form, void *buffer,
		      int count, MPI_Datatype type, int root, MPI_Comm comm,
		      struct reel_mpi_request *request)
{
	static const char *const names[] = REEL_MPI_NAMES("bcast");
	struct reel_mpi_message m = REEL_MPI_MESSAGE(names[form], buffer, count, 0, 0);

	if (reel_mpi_is_reverse(form, request))
		return reel_mpi_stick(tape, reverse_bcast(&m, root, comm, request));
	return reel_mpi_stick(tape, bcast(&m, root, comm, request));
}

/* Compares the call, if the communicator is attached. */
static int agree_on_barrier(struct reel_mpi_message *m, MPI_Comm comm, bool reverse)
{
	struct reel_mpi_call call = {.tape = m->tape, .name = "reel_mpi_barrier",
				     .call_site = m->call_site, .reverse = reverse};

	if (!reel_mpi_is_attached(comm, &m->attached))
		return 0;
	call.attached = m->attached;
	return reel_mpi_agree_on_call(&call);
}

static int barrier(struct reel_mpi_message *m, MPI_Comm comm, struct reel_mpi_request *request)
{
	MPI_Request started = MPI_REQUEST_NULL;
	int error = request ? reel_mpi_find(comm, m->call, &m->attached)
			    : agree_on_barrier(m, comm, false);

	if (!error)
		error = reel_mpi_error(request ? MPI_Ibarrier(comm, &started) : MPI_Barrier(comm),
				       m->call);
	return request ? reel_mpi_make_request(request, started, comm, m->call_site, error) : error;
}

static int reverse_barrier(struct reel_mpi_message *m, MPI_Comm comm,
			   const struct reel_mpi_request *request)
{
	int error = request ? reel_mpi_check_unused(request, "reel_mpi_ibarrier_reverse") : 0;
	MPI_Request reversed = MPI_REQUEST_NULL;

	if (!error)
		error = agree_on_barrier(m, comm, true);
	if (error)
		return error;
	if (!m->attached)
		return reel_mpi_error(MPI_Barrier(comm), m->call);
	error = reel_mpi_await_all(m, MPI_Ibarrier(m->attached->sums, &reversed), &reversed);
	reel_mpi_give_up(m->attached, &reversed);
	return error;
}

/* A Barrier has no adjoint, so it has no note: a program may leave out its reverse. */
int reel_mpi_barrier_at(reel_tape *tape, const char *call_site, enum reel_mpi_form form,
			MPI_Comm comm, struct reel_mpi_request *request)
{
	/* The ranks compare the reverse of an Ibarrier as the reverse of a Barrier. */
	static const char *const names[] = {"reel_mpi_barrier", "reel_mpi_barrier_reverse",
					    "reel_mpi_ibarrier", "reel_mpi_barrier_reverse"};
	struct reel_mpi_message m = {.call = names[form], .call_site = call_site, .tape = tape};

	if (reel_mpi_is_reverse(form, request))
		return reel_mpi_stick(tape, reverse_barrier(&m, comm, request));
	return reel_mpi_stick(tape, barrier(&m, comm, request));
}
