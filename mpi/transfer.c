/* SPDX-License-Identifier: MIT */
/* Messages: their notes, and their adjoints. */
#include "config.h"

#include "transfer.h"

#include <errno.h>

#include <reel/extend.h>

REEL_RECORD(message_note, struct reel_mpi_note);

int reel_mpi_open_message(struct reel_mpi_message *message, MPI_Comm comm)
{
	int error = reel_mpi_find(comm, message->call, &message->attached);

	if (!error)
		error = reel_mpi_layout_of(message->type, message->call, &message->layout);
	if (!error)
		message->through = message->attached->messages;
	if (!error && message->count < 0)
		error = reel_fail(-EINVAL, "%s: a count of %d", message->call, message->count);
	return error;
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
	int wanted = message->count;

	if (status && message->peer != MPI_PROC_NULL) {
		MPI_Get_count(status, message->type, &message->count);
		message->peer = status->MPI_SOURCE;
		message->tag = status->MPI_TAG;
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
		return reel_tape_error(message->tape);
	}
	return 0;
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
	MPI_Status_set_elements(status, message->type, null ? 0 : message->count);
	return 0;
}

/* ---- Adjoints ---- */

int reel_mpi_send_adjoint(struct reel_mpi_message *message)
{
	struct reel_mpi_attached *attached = message->attached;
	struct reel_mpi_buffer *buffer;
	int bytes, place = 0, error;

	if (!reel_mpi_is_active(message))
		return 0;
	/* Packed: a temporary needs no gaps, and whatever type the other rank names fits. */
	error = reel_mpi_check(MPI_Pack_size(message->count, message->type, message->through,
					     &bytes),
			       message->call);
	if (error)
		return error;
	buffer = reel_mpi_take_buffer(attached, (size_t)bytes);
	if (!buffer)
		return -ENOMEM;
	error = reel_mpi_check(MPI_Pack(message->buffer, message->count, message->type,
					buffer->data, bytes, &place, message->through),
			       message->call);
	if (!error)
		error = reel_mpi_check(MPI_Isend(buffer->data, place, MPI_PACKED, message->peer,
						 message->tag, message->through,
						 &buffer->request),
				       message->call);
	if (error) {
		reel_mpi_give_buffer(attached, buffer);
		return error;
	}
	reel_mpi_keep_sending(attached, buffer);
	reel_mpi_layout_zero(message->layout, message->count, message->buffer);
	return 0;
}

int reel_mpi_check_adjoint(const struct reel_mpi_message *message, const MPI_Status *status)
{
	int count;

	MPI_Get_count(status, message->type, &count);
	if (count == message->count)
		return 0;
	return reel_fail(-EBADMSG, "%s: rank %d returns the adjoint of %d elements with tag %d, and "
				   "%d were sent; the reverse calls do not mirror the forward calls",
			 message->call, message->peer, count, message->tag, message->count);
}

int reel_mpi_add_adjoint(struct reel_mpi_message *message)
{
	struct reel_mpi_attached *attached = message->attached;
	struct reel_mpi_buffer *buffer;
	MPI_Status status;
	char *place;
	int error;

	if (!reel_mpi_is_active(message))
		return 0;
	buffer = reel_mpi_take_buffer(attached, reel_mpi_layout_bytes(message->layout,
								      message->count));
	if (!buffer)
		return -ENOMEM;
	place = reel_mpi_layout_place(message->layout, message->count, buffer->data);
	error = reel_mpi_check(MPI_Recv(place, message->count, message->type, message->peer,
					message->tag, message->through, &status),
			       message->call);
	if (!error)
		error = reel_mpi_check_adjoint(message, &status);
	if (!error)
		reel_mpi_layout_add(message->layout, message->count, message->buffer, place);
	else
		reel_mpi_layout_poison(message->layout, message->count, message->buffer);
	reel_mpi_give_buffer(attached, buffer);
	return error;
}
