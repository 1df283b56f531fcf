/* SPDX-License-Identifier: MIT */
/* Calls on requests of messages: the states, and the order of messages, are in order.h. */
#include "config.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include <reel/extend.h>

#include "agree.h"
#include "comm/error.h"
#include "order.h"
#include "trace/trace.h"
#include "transfer.h"
#include "wait.h"

/* ---- Forward: beginning ---- */

/* A request that has begun stays as it is, and its start is refused. */
static void describe(struct reel_mpi_request *r, enum reel_mpi_mode mode, int kept, void *buffer,
		     int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm)
{
	if (reel_mpi_is_listed(comm, r))
		return;
	*r = (struct reel_mpi_request){.mode = mode, .kept = kept, .buffer = buffer, .count = count,
				       .type = type, .peer = peer, .tag = tag, .comm = comm,
				       .request = MPI_REQUEST_NULL};
}

void reel_mpi_send_init(void *buffer, int count, MPI_Datatype type, int dest, int tag,
			MPI_Comm comm, struct reel_mpi_request *request)
{
	describe(request, REEL_MPI_STANDARD, 1, buffer, count, type, dest, tag, comm);
}

void reel_mpi_ssend_init(void *buffer, int count, MPI_Datatype type, int dest, int tag,
			 MPI_Comm comm, struct reel_mpi_request *request)
{
	describe(request, REEL_MPI_SYNCHRONOUS, 1, buffer, count, type, dest, tag, comm);
}

void reel_mpi_recv_init(void *buffer, int count, MPI_Datatype type, int source, int tag,
			MPI_Comm comm, struct reel_mpi_request *request)
{
	describe(request, REEL_MPI_RECEIVE, 1, buffer, count, type, source, tag, comm);
}

/* The calls of MPI that send, by enum reel_mpi_mode. */
static int (*const send_by_mode[])(const void *, int, MPI_Datatype, int, int, MPI_Comm,
				   MPI_Request *) = {
	[REEL_MPI_STANDARD] = MPI_Isend,
	[REEL_MPI_SYNCHRONOUS] = MPI_Issend,
	[REEL_MPI_BUFFERED] = MPI_Ibsend,
	[REEL_MPI_READY] = MPI_Irsend,
};

static int start_by_mode(struct reel_mpi_request *r)
{
	return reel_mpi_is_receive(r) ? MPI_Irecv(r->buffer, r->count, r->type, r->peer, r->tag,
						  r->comm, &r->request)
				      : send_by_mode[r->mode](r->buffer, r->count, r->type, r->peer,
							      r->tag, r->comm, &r->request);
}

int reel_mpi_start_at(reel_tape *tape, const char *call_site, struct reel_mpi_request *r)
{
	static const char call[] = "reel_mpi_start";
	struct reel_mpi_message m;
	int error;

	if (r->mode == REEL_MPI_NULL)
		return 0;
	error = reel_mpi_message_of(&m, r, call, call_site, tape);
	if (!error && r->state != REEL_MPI_IDLE)
		error = reel_fail(-EINVAL, "%s: the request has begun already (%s)", call,
				  r->call_site);
	if (!error)
		error = reel_mpi_check_mode(r->mode, REEL_MPI_RECEIVE + 1, call);
	if (!error)
		error = reel_mpi_error(start_by_mode(r), call);
	if (!error) {
		reel_mpi_move_request(r, REEL_MPI_STARTED);
		r->call_site = call_site;
		if (reel_mpi_is_active(&m))
			reel_mpi_append_request(m.attached, r);
	}
	return reel_mpi_stick(tape, error);
}

int reel_mpi_isend_at(reel_tape *tape, const char *call_site, enum reel_mpi_mode mode,
		      const void *buffer, int count, MPI_Datatype type, int dest, int tag,
		      MPI_Comm comm, struct reel_mpi_request *request)
{
	describe(request, mode, 0, (void *)(uintptr_t)buffer, count, type, dest, tag, comm);
	return reel_mpi_start_at(tape, call_site, request);
}

int reel_mpi_irecv_at(reel_tape *tape, const char *call_site, void *buffer, int count,
		      MPI_Datatype type, int source, int tag, MPI_Comm comm,
		      struct reel_mpi_request *request)
{
	describe(request, REEL_MPI_RECEIVE, 0, buffer, count, type, source, tag, comm);
	return reel_mpi_start_at(tape, call_site, request);
}

/* ---- Forward: ending ---- */

static bool has_begun(const struct reel_mpi_request *r)
{
	return r->mode != REEL_MPI_NULL &&
	       (r->state == REEL_MPI_STARTED || r->state == REEL_MPI_COMPLETE);
}

/* The status of a request for which there is nothing to wait. */
static void set_empty(MPI_Status *status)
{
	if (!status)
		return;
	memset(status, 0, sizeof *status);
	status->MPI_SOURCE = MPI_ANY_SOURCE;
	status->MPI_TAG = MPI_ANY_TAG;
	status->MPI_ERROR = MPI_SUCCESS;
	MPI_Status_set_elements(status, MPI_BYTE, 0);
}

/* MPI_STATUS_IGNORE is no NULL everywhere. */
static MPI_Status *asked_for(MPI_Status *status)
{
	return status == MPI_STATUS_IGNORE ? NULL : status;
}

static MPI_Status *one_of(MPI_Status *statuses, int i)
{
	return statuses == MPI_STATUSES_IGNORE ? NULL : statuses + i;
}

/* Ends a request that has begun. `index` is noted if it is not negative. */
static int finish(struct reel_mpi_request *r, const char *call, reel_tape *tape,
		  const char *call_site, MPI_Status *status, int index)
{
	struct reel_mpi_message m;
	int error = reel_mpi_message_of(&m, r, call, call_site, tape), wrong_order;
	bool receive = reel_mpi_is_receive(r), active;

	REEL_ASSERT(has_begun(r));
	if (error)
		return error;
	active = reel_mpi_is_active(&m);
	error = reel_mpi_error(reel_mpi_complete_request(r), call);
	if (error == -EMSGSIZE)
		reel_mpi_count_truncated(&m, &r->status);
	if (!error)
		error = reel_mpi_note_message(&m, receive ? &r->status : NULL,
					      index >= 0 || (receive &&
							     reel_mpi_is_noted(&m, status)),
					      index);
	wrong_order = reel_mpi_check_order(&m, receive, r);
	if (status)
		*status = r->status;
	if (active)
		reel_mpi_unlink_request(m.attached, r);
	reel_mpi_move_request(r, REEL_MPI_IDLE);
	if (!r->kept)
		r->mode = REEL_MPI_NULL;
	return error ? error : wrong_order;
}

static int wait_for(struct reel_mpi_request *r, const char *call, reel_tape *tape,
		    const char *call_site, MPI_Status *status)
{
	if (has_begun(r))
		return finish(r, call, tape, call_site, status, -1);
	set_empty(status);
	return 0;
}

int reel_mpi_wait_at(reel_tape *tape, const char *call_site, struct reel_mpi_request *request,
		     MPI_Status *status)
{
	return reel_mpi_stick(tape, wait_for(request, "reel_mpi_wait", tape, call_site,
					     asked_for(status)));
}

static int check_number(int n, const char *call)
{
	return n < 0 ? reel_fail(-EINVAL, "%s: %d requests", call, n) : 0;
}

int reel_mpi_waitall_at(reel_tape *tape, const char *call_site, int n,
			struct reel_mpi_request *requests, MPI_Status *statuses)
{
	int error = check_number(n, "reel_mpi_waitall");

	for (int i = 0; i < n; i++) {
		int own = wait_for(&requests[i], "reel_mpi_waitall", tape, call_site,
				   one_of(statuses, i));

		error = error ? error : own;
	}
	return reel_mpi_stick(tape, error);
}

/* ---- Forward: choosing ---- */

/* Finds out if a request is complete, without waiting. Its wait returns the error of its code. */
static int probe(struct reel_mpi_request *r, const char *call, int *flag)
{
	int code;

	REEL_ASSERT(has_begun(r));
	*flag = r->state == REEL_MPI_COMPLETE;
	if (r->state != REEL_MPI_STARTED)
		return 0;
	code = MPI_Test(&r->request, flag, &r->status);
	if (!*flag)
		return reel_mpi_error(code, call);
	reel_mpi_note_completion(r, code);
	return 0;
}

/*
 * Waits until one of the requests is complete, and returns its index, or MPI_UNDEFINED if none has
 * begun. Open MPI's MPI_Waitany() frees all requests that have failed, and returns one error.
 * Yields as reel_mpi_poll() does, since the other ranks may need this processor.
 */
static int choose(int n, struct reel_mpi_request *requests, const char *call, int *index)
{
	bool some_have_begun = true;
	int error = check_number(n, call);

	*index = MPI_UNDEFINED;
	while (!error && *index == MPI_UNDEFINED && some_have_begun) {
		some_have_begun = false;
		for (int i = 0; i < n && !error && *index == MPI_UNDEFINED; i++) {
			int complete = 0;

			if (!has_begun(&requests[i]))
				continue;
			some_have_begun = true;
			error = probe(&requests[i], call, &complete);
			if (complete)
				*index = i;
		}
		if (*index == MPI_UNDEFINED && some_have_begun)
			sched_yield();
	}
	return error;
}

int reel_mpi_waitany_at(reel_tape *tape, const char *call_site, int n,
			struct reel_mpi_request *requests, int *index, MPI_Status *status)
{
	static const char call[] = "reel_mpi_waitany";
	int error = choose(n, requests, call, index);

	if (!error && *index == MPI_UNDEFINED) {
		set_empty(asked_for(status));
		if (tape)
			reel_mpi_push_note(tape, call_site, (struct reel_mpi_note){.index = -1});
	} else if (!error) {
		struct reel_mpi_request *r = reel_mpi_oldest_same(&requests[*index], n, requests);

		*index = (int)(r - requests);
		REEL_ASSERT(*index >= 0 && *index < n);
		error = finish(r, call, tape, call_site, asked_for(status), *index);
	}
	return reel_mpi_stick(tape, error);
}

REEL_RECORD(number_of_requests, int64_t);

int reel_mpi_waitsome_at(reel_tape *tape, const char *call_site, int n,
			 struct reel_mpi_request *requests, int *done, int *indices,
			 MPI_Status *statuses)
{
	static const char call[] = "reel_mpi_waitsome";
	int first, error = choose(n, requests, call, &first);

	*done = first == MPI_UNDEFINED ? MPI_UNDEFINED : 0;
	for (int i = first; !error && first != MPI_UNDEFINED && i < n;) {
		struct reel_mpi_request *r = &requests[i];
		int flag = 0;

		if (has_begun(r))
			error = probe(r, call, &flag);
		if (!flag) {
			i++;
			continue;
		}
		r = reel_mpi_oldest_same(r, n, requests);
		indices[*done] = (int)(r - requests);
		error = finish(r, call, tape, call_site, one_of(statuses, *done), indices[*done]);
		++*done;
	}
	REEL_ASSERT(*done <= n);
	if (tape && !error)
		reel_push_number_of_requests_at(tape, *done, call_site);
	return reel_mpi_stick(tape, error);
}

int reel_mpi_test_at(reel_tape *tape, const char *call_site, struct reel_mpi_request *r, int *flag,
		     MPI_Status *status)
{
	static const char call[] = "reel_mpi_test";
	int error = 0;

	*flag = 1;
	if (has_begun(r)) {
		struct reel_mpi_message m;

		error = probe(r, call, flag);
		if (!error && *flag)
			error = reel_mpi_message_of(&m, r, call, call_site, tape);
		if (!error && *flag && reel_mpi_is_receive(r)) {
			m.peer = r->status.MPI_SOURCE;
			m.tag = r->status.MPI_TAG;
		}
		if (!error && *flag && reel_mpi_check_order(&m, reel_mpi_is_receive(r), r))
			*flag = 0;
		if (!error && *flag)
			error = finish(r, call, tape, call_site, asked_for(status), -1);
	} else {
		set_empty(asked_for(status));
	}
	if (tape)
		reel_push_bool_at(tape, *flag, call_site);
	return reel_mpi_stick(tape, error);
}

/* ---- Reverse: the wait begins the transfer ---- */

/* Counts the requests whose wait was reversed, and their start was not. */
static void count_reversing(struct reel_mpi_attached *attached, int change)
{
	pthread_mutex_lock(&attached->lock);
	attached->reversing += change;
	REEL_ASSERT(attached->reversing >= 0);
	pthread_mutex_unlock(&attached->lock);
}

/* In checked mode the header lies before the adjoint. */
static size_t header_bytes(const struct reel_mpi_message *m)
{
	const size_t align = sizeof(max_align_t);

	return reel_mpi_has_header(m) ? (sizeof(struct reel_mpi_header) + align - 1) / align * align
				      : 0;
}

static char *adjoint_in(const struct reel_mpi_message *m, struct reel_mpi_buffer *buffer)
{
	return reel_mpi_layout_place(m->layout, m->count, (char *)buffer->data + header_bytes(m));
}

static int receive_adjoint(struct reel_mpi_request *r, struct reel_mpi_message *m)
{
	struct reel_mpi_buffer *buffer = reel_mpi_take_buffer(
		m->attached, header_bytes(m) + reel_mpi_layout_bytes(m->layout, m->count));
	int error = 0;

	REEL_ASSERT(!r->temporary && m->count > 0);
	if (!buffer)
		return -ENOMEM;
	if (reel_mpi_has_header(m))
		error = reel_mpi_post_header(m, (struct reel_mpi_header *)(void *)buffer->data,
					     &buffer->request);
	if (!error)
		error = reel_mpi_error(MPI_Irecv(adjoint_in(m, buffer), m->count, m->type, m->peer,
						 m->tag, m->attached->messages, &r->request),
				       m->call);
	if (error)
		reel_mpi_give_buffer(m->attached, buffer);
	else
		r->temporary = buffer;
	return error;
}

static int send_adjoint(struct reel_mpi_request *r, struct reel_mpi_message *m)
{
	int bytes, error = reel_mpi_has_header(m) ? reel_mpi_send_header(m) : 0;

	if (error)
		return error;
	MPI_Type_size(m->type, &bytes);
	REEL_TRACE(SEND_ADJOINT, 0, m->peer, m->tag, m->count);
	reel_mpi_count(&m->attached->counters.adjoints, 1);
	reel_mpi_count(&m->attached->counters.adjoint_bytes, (uint64_t)bytes * (uint64_t)m->count);
	return reel_mpi_error(MPI_Isend(m->buffer, m->count, m->type, m->peer, m->tag,
					m->attached->messages, &r->request),
			      m->call);
}

/* `given` is the note, if it was popped already. */
static int begin_reverse(struct reel_mpi_request *r, const char *call, reel_tape *tape,
			 const char *call_site, MPI_Status *status,
			 const struct reel_mpi_note *given)
{
	bool receive = reel_mpi_is_receive(r);
	struct reel_mpi_note own;
	struct reel_mpi_message m;
	int error;

	if (r->mode == REEL_MPI_NULL) {
		set_empty(status);
		return 0;
	}
	error = reel_mpi_message_of(&m, r, call, call_site, tape);
	if (!error && r->state != REEL_MPI_IDLE)
		error = reel_fail(-EINVAL, "%s: the request is in use", call);
	if (error)
		return error;
	if (receive)
		error = reel_mpi_refuse_truncated(&m);
	if (!error && !given && receive && reel_mpi_is_noted(&m, status)) {
		error = reel_mpi_pop_note(tape, call_site, call, &own);
		given = &own;
	}
	if (!error)
		error = reel_mpi_recall_message(&m, status, given);
	if (error && receive && error != -EMSGSIZE)
		reel_mpi_refuse_adjoint(&m, error);
	if (!error)
		error = reel_mpi_mirror(&m, receive);
	r->moved = 0;
	if (!error && reel_mpi_is_active(&m)) {
		error = receive ? send_adjoint(r, &m) : receive_adjoint(r, &m);
		r->moved = error ? 0 : m.count;
		r->moved_peer = m.peer;
		r->moved_tag = m.tag;
		r->serial = m.serial;
	}
	reel_mpi_move_request(r, REEL_MPI_REVERSED);
	REEL_ASSERT(r->moved >= 0 && r->moved <= r->count);
	r->call_site = call_site;
	count_reversing(m.attached, 1);
	if (error)
		reel_mpi_layout_poison(m.layout, m.count, m.buffer);
	return error;
}

int reel_mpi_wait_reverse_at(reel_tape *tape, const char *call_site,
			     struct reel_mpi_request *request, MPI_Status *status)
{
	return reel_mpi_stick(tape, begin_reverse(request, "reel_mpi_wait_reverse", tape, call_site,
						  asked_for(status), NULL));
}

int reel_mpi_waitall_reverse_at(reel_tape *tape, const char *call_site, int n,
				struct reel_mpi_request *requests, MPI_Status *statuses)
{
	int error = check_number(n, "reel_mpi_waitall_reverse");

	for (int i = n; i-- > 0;) {
		int own = begin_reverse(&requests[i], "reel_mpi_waitall_reverse", tape, call_site,
					one_of(statuses, i), NULL);

		error = error ? error : own;
	}
	return reel_mpi_stick(tape, error);
}

int reel_mpi_waitany_reverse_at(reel_tape *tape, const char *call_site, int n,
				struct reel_mpi_request *requests, int *index, MPI_Status *status)
{
	static const char call[] = "reel_mpi_waitany_reverse";
	struct reel_mpi_note note;
	int error = reel_mpi_pop_note(tape, call_site, call, &note);

	*index = MPI_UNDEFINED;
	if (!error && note.index == -1)
		set_empty(asked_for(status));
	else if (!error && (note.index < 0 || note.index >= n))
		error = reel_fail(-EBADMSG,
				  "%s: the last entry on the tape is no index of a request; the "
				  "reverse calls do not mirror the forward calls", call);
	else if (!error)
		error = begin_reverse(&requests[*index = note.index], call, tape, call_site,
				      asked_for(status), &note);
	return reel_mpi_stick(tape, error);
}

int reel_mpi_waitsome_reverse_at(reel_tape *tape, const char *call_site, int n,
				 struct reel_mpi_request *requests, int *done, int *indices,
				 MPI_Status *statuses)
{
	int64_t number = tape ? reel_pop_number_of_requests_at(tape, call_site) : -1;
	int error = 0;

	*done = MPI_UNDEFINED;
	if (number == MPI_UNDEFINED)
		return 0;
	if (number < 0 || number > n)
		return reel_mpi_stick(
			tape, reel_fail(-EBADMSG, "reel_mpi_waitsome_reverse: the last entry on "
						  "the tape is not a number of requests"));
	*done = (int)number;
	for (int i = *done; i-- > 0 && !error;)
		error = reel_mpi_waitany_reverse_at(tape, call_site, n, requests, &indices[i],
						    statuses == MPI_STATUSES_IGNORE
							    ? MPI_STATUS_IGNORE
							    : statuses + i);
	return error;
}

int reel_mpi_test_reverse_at(reel_tape *tape, const char *call_site,
			     struct reel_mpi_request *request, int *flag, MPI_Status *status)
{
	*flag = tape && reel_pop_bool_at(tape, call_site);
	return *flag ? reel_mpi_wait_reverse_at(tape, call_site, request, status) : 0;
}

/* ---- Reverse: the start ends it ---- */

/* Ends the receive of an adjoint that is not wanted, or that does not come. */
static void drop(MPI_Request *request, bool comes)
{
	if (*request == MPI_REQUEST_NULL)
		return;
	if (!comes)
		MPI_Cancel(request);
	MPI_Wait(request, MPI_STATUS_IGNORE);
}

/* Waits for nothing: the sweep has failed before. */
static int drop_all(struct reel_mpi_request *r, const struct reel_mpi_message *m)
{
	struct reel_mpi_buffer *buffer = r->temporary;

	REEL_ASSERT(buffer);
	drop(&r->request, false);
	drop(&buffer->request, false);
	return reel_fail(reel_tape_error(m->tape), "%s follows a call that failed", m->call);
}

/* Waits for the header of an adjoint, which may be of another message. */
static int await_header(struct reel_mpi_request *r, const struct reel_mpi_message *m)
{
	struct reel_mpi_buffer *buffer = r->temporary;
	const struct reel_mpi_header *header =
		(const struct reel_mpi_header *)(const void *)buffer->data;
	bool comes = false;
	int error;

	REEL_ASSERT(buffer && reel_mpi_has_header(m));
	error = reel_mpi_await(m, REEL_MPI_FROM_PEER, &buffer->request, MPI_STATUS_IGNORE);
	if (!error) {
		comes = !header->error;
		error = reel_mpi_compare_header(m, header);
	}
	if (error)
		drop(&r->request, comes);
	return error;
}

static int finish_reverse(struct reel_mpi_request *r, struct reel_mpi_message *m)
{
	struct reel_mpi_buffer *buffer = r->temporary;
	int error = 0;

	REEL_ASSERT(!buffer || r->moved > 0);
	if (r->moved <= 0)
		return 0;
	m->peer = r->moved_peer;
	m->tag = r->moved_tag;
	m->serial = r->serial;
	if (buffer && reel_mpi_is_lost(m->attached, m->tape))
		return drop_all(r, m);
	if (buffer && reel_mpi_has_header(m))
		error = await_header(r, m);
	if (!error)
		error = reel_mpi_await(m, buffer ? REEL_MPI_FROM_PEER : REEL_MPI_TO_PEER,
				       &r->request, &r->status);
	if (!error && buffer)
		error = reel_mpi_check_adjoint(m, &r->status);
	return error;
}

int reel_mpi_start_reverse_at(reel_tape *tape, const char *call_site, struct reel_mpi_request *r)
{
	static const char call[] = "reel_mpi_start_reverse";
	struct reel_mpi_buffer *buffer = r->temporary;
	struct reel_mpi_message m;
	int error;

	if (r->mode == REEL_MPI_NULL)
		return 0;
	error = reel_mpi_message_of(&m, r, call, call_site, tape);
	if (!error && r->state != REEL_MPI_REVERSED)
		error = reel_fail(-EINVAL, "%s: its wait was not reversed", call);
	if (error)
		return reel_mpi_stick(tape, error);
	m.count = r->moved;
	error = finish_reverse(r, &m);
	reel_mpi_give_up(m.attached, &r->request);
	if (!error && buffer)
		REEL_TRACE(RECEIVE_ADJOINT, 0, m.peer, m.tag, m.count);
	if (error)
		reel_mpi_layout_poison(m.layout, r->count, r->buffer);
	else if (buffer)
		reel_mpi_layout_add(m.layout, r->moved, r->buffer, adjoint_in(&m, buffer));
	else
		reel_mpi_layout_zero(m.layout, r->moved, r->buffer);
	if (buffer)
		reel_mpi_give_buffer(m.attached, buffer);
	r->temporary = NULL;
	reel_mpi_move_request(r, REEL_MPI_IDLE);
	count_reversing(m.attached, -1);
	return reel_mpi_stick(tape, error);
}
