/* SPDX-License-Identifier: MIT */
/* Messages: their notes, and their adjoints. */
#include "config.h"

#include "check.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>

#include <reel/extend.h>

#include "os/clock.h"
#include "os/error.h"

REEL_RECORD(message_note, struct reel_mpi_note);
int reel_mpi_open_message(struct reel_mpi_message *message, MPI_Comm comm)
{
	int error = reel_mpi_find(comm, message->call, &message->attached);

	if (!error)
		error = reel_mpi_layout_of(message->type, message->call, &message->layout);
	if (!error)
		message->through = message->attached->messages;
	if (!error)
		error = reel_mpi_check_count(message->layout, message->count, 1, message->call);
	return error;
}

int reel_mpi_check_packed(const struct reel_mpi_message *m)
{
	int size;

	if (!reel_mpi_is_active(m))
		return 0;
	MPI_Type_size(m->type, &size);
	/* MPI may add a header to what it packs. */
	if ((int64_t)size * m->count <= INT_MAX - 4096)
		return 0;
	return reel_fail(-EOVERFLOW, "%s: the adjoint of %lld bytes cannot be sent at once, since MPI "
				     "counts packed bytes by an int; send less than 2 GiB, or use a "
				     "request",
			 m->call, (long long)size * m->count);
}

bool reel_mpi_is_active(const struct reel_mpi_message *message)
{
	return message->layout->runs > 0 && message->count > 0 && message->peer != MPI_PROC_NULL;
}

int reel_mpi_stick(reel_tape *tape, int error)
{
	if (error && tape && !reel_tape_error(tape))
		reel_tape_give_up(tape, error, reel_error_text(error));
	return error;
}

/* ---- Waiting ---- */

static int time_out(const struct reel_mpi_message *m, enum reel_mpi_wait what)
{
	double seconds = 1e-9 * (double)m->attached->watch_ns;
	int error;

	reel_mpi_checks_tell(m->attached);
	if (what == REEL_MPI_FOR_ALL)
		error = reel_fail(-ETIMEDOUT, "rank %d, %s: %s() has waited %g s for the other ranks of "
					      "the communicator%s",
				  m->attached->rank, m->site, m->call, seconds,
				  m->forward ? ", to note what they have; all ranks need a tape for "
					       "this operation, or none has one"
					     : "");
	else
		error = reel_fail(-ETIMEDOUT, "rank %d, %s: %s() has waited %g s for %s rank %d, tag %d",
				  m->attached->rank, m->site, m->call, seconds,
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
		/* Read before the test: what is complete by then is never given up. */
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
	uint64_t limit = m->forward && !m->notes ? 0 : m->attached->watch_ns, begin;
	int complete, error = reel_mpi_error(MPI_Test(request, &complete, status), m->call);

	if (error || complete)
		return error;
	begin = reel_clock_ns();
	error = reel_mpi_poll(m->call, request, status, limit ? begin + limit : UINT64_MAX,
			      &complete);
	if (!error && !complete)
		error = what == REEL_MPI_FROM_PEER ? cancel(m, request, status) : time_out(m, what);
	if (!m->forward) {
		reel_mpi_count(&m->attached->counters.waits, 1);
		reel_mpi_count(&m->attached->counters.wait_ns, reel_clock_ns() - begin);
	}
	return error;
}

int reel_mpi_await_all(const struct reel_mpi_message *m, int code, MPI_Request *request)
{
	int error = reel_mpi_error(code, m->call);

	return error ? error : reel_mpi_await(m, REEL_MPI_FOR_ALL, request, MPI_STATUS_IGNORE);
}

/* ---- Notes ---- */

bool reel_mpi_is_noted(const struct reel_mpi_message *message, bool asked)
{
	return message->peer != MPI_PROC_NULL &&
	       (message->peer == MPI_ANY_SOURCE || message->tag == MPI_ANY_TAG || asked);
}

void reel_mpi_push_note(reel_tape *tape, const char *site, struct reel_mpi_note note)
{
	reel_push_message_note_at(tape, note, site);
}

int reel_mpi_note_message(struct reel_mpi_message *message, const MPI_Status *status, bool noted,
			  int index)
{
	int wanted = message->count, error;

	if (status && message->peer != MPI_PROC_NULL) {
		MPI_Get_count(status, message->type, &message->count);
		message->peer = status->MPI_SOURCE;
		message->tag = status->MPI_TAG;
	}
	/* The message has come, whatever is wrong with it: the other rank counts it, too. */
	error = reel_mpi_note_call(message, status != NULL);
	if (status && message->peer != MPI_PROC_NULL) {
		if (message->count == MPI_UNDEFINED)
			return reel_fail(-ENOTSUP, "%s: the message from rank %d with tag %d ends "
						   "within an element of its type",
					 message->call, message->peer, message->tag);
		if (message->count != wanted && !noted && message->layout->runs)
			return reel_fail(-EMSGSIZE, "%s: the message from rank %d with tag %d has "
						    "%d of %d elements; give a status, so that "
						    "their number is noted",
					 message->call, message->peer, message->tag,
					 message->count, wanted);
	}
	if (noted && message->tape) {
		struct reel_mpi_note note = {message->peer, message->tag, message->count, index};

		reel_mpi_push_note(message->tape, message->site, note);
		reel_mpi_count(&message->attached->counters.note_bytes, sizeof note);
		return reel_tape_error(message->tape);
	}
	return error;
}

int reel_mpi_pop_note(reel_tape *tape, const char *site, const char *call,
		      struct reel_mpi_note *note)
{
	int error;

	if (!tape)
		return reel_fail(-EINVAL, "%s: there is no tape", call);
	*note = reel_pop_message_note_at(tape, site);
	error = reel_tape_error(tape);
	if (note->count >= 0)
		return 0;
	return reel_fail(error ? error : -EBADMSG, "%s: the note of the message is lost, so its "
						   "adjoint cannot be sent",
			 call);
}

int reel_mpi_recall_message(struct reel_mpi_message *message, MPI_Status *status,
			    const struct reel_mpi_note *note)
{
	bool null;
	int size;

	if (note) {
		if (note->count > message->count || note->source >= message->attached->size ||
		    (note->source < 0 && note->source != MPI_PROC_NULL))
			return reel_fail(-EBADMSG, "%s: what is on the tape is not the note of this "
						   "message; the reverse calls do not mirror the "
						   "forward calls",
					 message->call);
		message->peer = note->source;
		message->tag = note->tag;
		message->count = note->count;
	}
	if (!status)
		return 0;
	null = message->peer == MPI_PROC_NULL;
	status->MPI_SOURCE = message->peer;
	status->MPI_TAG = null ? MPI_ANY_TAG : message->tag;
	status->MPI_ERROR = MPI_SUCCESS;
	/* In bytes: MPI would count the numbers in an element of a derived type one by one. */
	MPI_Type_size(message->type, &size);
	MPI_Status_set_elements_x(status, MPI_BYTE, null ? 0 : (MPI_Count)message->count * size);
	return 0;
}

/* ---- Adjoints ---- */

int reel_mpi_send_copy(struct reel_mpi_message *message)
{
	struct reel_mpi_attached *attached = message->attached;
	struct reel_mpi_buffer *buffer;
	int bytes, place = 0, error = reel_mpi_check_packed(message);

	if (error)
		return error;
	/* Packed: a temporary needs no gaps, and whatever type the other rank names fits. */
	error = reel_mpi_error(MPI_Pack_size(message->count, message->type, message->through,
					     &bytes),
			       message->call);
	if (error)
		return error;
	buffer = reel_mpi_take_buffer(attached, (size_t)bytes);
	if (!buffer)
		return -ENOMEM;
	buffer->peer = message->peer;
	buffer->tag = message->tag;
	buffer->site = message->site;
	error = reel_mpi_error(MPI_Pack(message->buffer, message->count, message->type,
					buffer->data, bytes, &place, message->through),
			       message->call);
	if (!error)
		error = reel_mpi_error(MPI_Isend(buffer->data, place, MPI_PACKED, message->peer,
						 message->tag, message->through,
						 &buffer->request),
				       message->call);
	if (error) {
		reel_mpi_give_buffer(attached, buffer);
		return error;
	}
	reel_mpi_count(&attached->counters.adjoints, 1);
	reel_mpi_count(&attached->counters.adjoint_bytes, (uint64_t)place);
	reel_mpi_keep_sending(attached, buffer);
	return 0;
}

int reel_mpi_send_adjoint(struct reel_mpi_message *message)
{
	int error = 0;

	if (!reel_mpi_is_active(message))
		return 0;
	if (reel_mpi_has_header(message))
		error = reel_mpi_send_header(message);
	if (!error)
		error = reel_mpi_send_copy(message);
	if (!error)
		reel_mpi_layout_zero(message->layout, message->count, message->buffer);
	return error;
}

int reel_mpi_refuse_truncated(struct reel_mpi_message *m)
{
	int error;

	if (!m->tape || reel_tape_error(m->tape) != -EMSGSIZE || !reel_mpi_is_active(m))
		return 0;
	reel_mpi_layout_poison(m->layout, m->count, m->buffer);
	/* A receive of any source or tag has lost its note, so the rank that waits is not known. */
	if (!m->attached->checks && m->peer >= 0 && m->tag >= 0)
		reel_mpi_send_copy(m);
	error = reel_fail(-EMSGSIZE, "rank %d, %s: %s follows a receive that had no room for its "
				     "message, so its adjoint is NaN",
			  m->attached->rank, m->site, m->call);
	reel_mpi_tell(m, error);
	return error;
}

int reel_mpi_check_adjoint(const struct reel_mpi_message *message, const MPI_Status *status)
{
	int count;

	MPI_Get_count(status, message->type, &count);
	if (count == message->count)
		return 0;
	return reel_fail(-EBADMSG, "%s: rank %d returns the adjoint of %d elements with tag %d, and "
				   "%d were sent; %sthe reverse calls do not mirror the forward calls",
			 message->call, message->peer, count, message->tag, message->count,
			 count < message->count ? "its receive had no room for more, or " : "");
}

static int receive_adjoint(struct reel_mpi_message *message, char *place)
{
	MPI_Request request;
	MPI_Status status;
	int error = 0;

	if (reel_mpi_is_lost(message->attached, message->tape))
		return reel_fail(reel_tape_error(message->tape), "%s follows a call that failed",
				 message->call);
	if (reel_mpi_has_header(message))
		error = reel_mpi_receive_header(message);
	if (!error)
		error = reel_mpi_error(MPI_Irecv(place, message->count, message->type,
						 message->peer, message->tag, message->through,
						 &request),
				       message->call);
	if (!error)
		error = reel_mpi_await(message, REEL_MPI_FROM_PEER, &request, &status);
	return error ? error : reel_mpi_check_adjoint(message, &status);
}

int reel_mpi_add_adjoint(struct reel_mpi_message *message)
{
	struct reel_mpi_attached *attached = message->attached;
	struct reel_mpi_buffer *buffer;
	char *place;
	int error;

	if (!reel_mpi_is_active(message))
		return 0;
	buffer = reel_mpi_take_buffer(attached, reel_mpi_layout_bytes(message->layout,
								      message->count));
	if (!buffer)
		return -ENOMEM;
	place = reel_mpi_layout_place(message->layout, message->count, buffer->data);
	error = receive_adjoint(message, place);
	if (!error)
		reel_mpi_layout_add(message->layout, message->count, message->buffer, place);
	else
		reel_mpi_layout_poison(message->layout, message->count, message->buffer);
	reel_mpi_give_buffer(attached, buffer);
	return error;
}
