/* SPDX-License-Identifier: MIT */
/* Messages: their notes, and their adjoints. */
#include "config.h"

#include "transfer.h"

#include <errno.h>

#include <reel/extend.h>

#include "check.h"
#include "comm/error.h"
#include "trace/trace.h"
#include "wait.h"

REEL_RECORD(message_note, struct reel_mpi_note);

/* ---- Notes ---- */

bool reel_mpi_is_noted(const struct reel_mpi_message *message, bool asked)
{
	return message->peer != MPI_PROC_NULL &&
	       (message->peer == MPI_ANY_SOURCE || message->tag == MPI_ANY_TAG || asked);
}

void reel_mpi_push_note(reel_tape *tape, const char *call_site, struct reel_mpi_note note)
{
	REEL_ASSERT(tape);
	reel_push_message_note_at(tape, note, call_site);
}

int reel_mpi_note_message(struct reel_mpi_message *message, const MPI_Status *status, bool noted,
			  int index)
{
	int wanted = message->count, error;

	REEL_ASSERT(wanted >= 0);
	if (status && message->peer != MPI_PROC_NULL) {
		MPI_Get_count(status, message->type, &message->count);
		message->peer = status->MPI_SOURCE;
		message->tag = status->MPI_TAG;
	}
	REEL_ASSERT(message->peer < message->attached->size);
	/* The message has come, whatever is wrong with it: the other rank also counts it. */
	error = reel_mpi_note_call(message, status != NULL);
	if (status && message->peer != MPI_PROC_NULL) {
		if (message->count == MPI_UNDEFINED)
			return reel_fail(-ENOTSUP, "%s: the message from rank %d with tag %d ends "
						   "within an element of its type",
					 message->call, message->peer, message->tag);
		if (message->count != wanted && !noted && message->layout->ranges)
			return reel_fail(-EMSGSIZE, "%s: the message from rank %d with tag %d has "
						    "%d of %d elements; give a status, so that "
						    "their number is noted",
					 message->call, message->peer, message->tag,
					 message->count, wanted);
	}
	if (noted && message->tape) {
		struct reel_mpi_note note = {message->peer, message->tag, message->count, index};

		reel_mpi_push_note(message->tape, message->call_site, note);
		reel_mpi_count(&message->attached->counters.note_bytes, sizeof note);
		return error ? error : reel_tape_error(message->tape);
	}
	return error;
}

int reel_mpi_pop_note(reel_tape *tape, const char *call_site, const char *call,
		      struct reel_mpi_note *note)
{
	int error;

	if (!tape)
		return reel_fail(-EINVAL, "%s: there is no tape", call);
	*note = reel_pop_message_note_at(tape, call_site);
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

	REEL_ASSERT(message->count >= 0);
	if (note) {
		if (note->count > message->count || note->source >= message->attached->size ||
		    (note->source < 0 && note->source != MPI_PROC_NULL))
			return reel_fail(-EBADMSG,
					 "%s: the last entry on the tape is not the note of this "
					 "message; the reverse calls do not mirror the forward "
					 "calls", message->call);
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

void reel_mpi_push_numbers(const struct reel_mpi_message *m, const void *numbers)
{
	REEL_ASSERT(m->tape && m->count >= 0 && m->layout->extent > 0);
	reel_push_array_at(m->tape, numbers, (size_t)m->count, (size_t)m->layout->extent,
			   REEL_FLOATING, m->call_site);
	reel_mpi_count(&m->attached->counters.note_bytes,
		       (uint64_t)m->count * (uint64_t)m->layout->extent);
}

void reel_mpi_pop_numbers(const struct reel_mpi_message *m, void *numbers)
{
	REEL_ASSERT(m->tape && m->count >= 0 && m->layout->extent > 0);
	reel_pop_array_at(m->tape, numbers, (size_t)m->count, (size_t)m->layout->extent,
			  REEL_FLOATING, m->call_site);
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
	error = reel_mpi_error(MPI_Pack(message->buffer, message->count, message->type,
					buffer->data, bytes, &place, message->through),
			       message->call);
	/* After all that may lack memory: the rank that gets the header waits for the adjoint. */
	if (!error && reel_mpi_has_header(message))
		error = reel_mpi_send_header(message);
	if (!error)
		error = reel_mpi_error(MPI_Isend(buffer->data, place, MPI_PACKED, message->peer,
						 message->tag, message->through,
						 &buffer->request),
				       message->call);
	if (error) {
		reel_mpi_give_buffer(attached, buffer);
		return error;
	}
	REEL_ASSERT(place > 0 && place <= bytes);
	REEL_TRACE(SEND_ADJOINT, 0, message->peer, message->tag, message->count);
	reel_mpi_count(&attached->counters.adjoints, 1);
	reel_mpi_count(&attached->counters.adjoint_bytes, (uint64_t)place);
	reel_mpi_keep_sending(attached, buffer, message->peer, message->tag, message->call_site);
	return 0;
}

int reel_mpi_send_adjoint(struct reel_mpi_message *message)
{
	int error;

	if (!reel_mpi_is_active(message))
		return 0;
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
			  m->attached->rank, m->call_site, m->call);
	reel_mpi_refuse_adjoint(m, error);
	return error;
}

int reel_mpi_check_adjoint(const struct reel_mpi_message *message, const MPI_Status *status)
{
	int count;

	REEL_ASSERT(message->count > 0);
	MPI_Get_count(status, message->type, &count);
	if (count == message->count)
		return 0;
	return reel_fail(-EBADMSG,
			 "%s: rank %d returns the adjoint of %d elements with tag %d, and "
			 "%d were sent; %sthe reverse calls do not mirror the forward calls",
			 message->call, message->peer, count, message->tag, message->count,
			 count < message->count ? "its receive had no room for more, or " : "");
}

static int receive_adjoint(struct reel_mpi_message *message, char *place)
{
	MPI_Request request;
	MPI_Status status;
	int error = 0;

	REEL_ASSERT(reel_mpi_is_active(message));
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
	if (!error)
		REEL_TRACE(RECEIVE_ADJOINT, 0, message->peer, message->tag, message->count);
	return error ? error : reel_mpi_check_adjoint(message, &status);
}

int reel_mpi_add_adjoint(struct reel_mpi_message *message)
{
	struct reel_mpi_attached *attached = message->attached;
	struct reel_mpi_buffer *buffer;
	char *place;
	int error = -ENOMEM;

	if (!reel_mpi_is_active(message))
		return 0;
	buffer = reel_mpi_take_buffer(attached, reel_mpi_layout_bytes(message->layout,
								      message->count));
	if (buffer) {
		place = reel_mpi_layout_place(message->layout, message->count, buffer->data);
		error = receive_adjoint(message, place);
		if (!error)
			reel_mpi_layout_add(message->layout, message->count, message->buffer,
					    place);
		reel_mpi_give_buffer(attached, buffer);
	}
	if (error)
		reel_mpi_layout_poison(message->layout, message->count, message->buffer);
	return error;
}
