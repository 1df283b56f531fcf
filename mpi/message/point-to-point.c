/* SPDX-License-Identifier: MIT */
/* Messages whose calls wait. */
#include "config.h"

#include <errno.h>

#include "agree.h"
#include "comm/error.h"
#include "order.h"
#include "transfer.h"

/* The calls of MPI by enum reel_mpi_mode. */
static int (*const send_by_mode[])(const void *, int, MPI_Datatype, int, int, MPI_Comm) = {
	[REEL_MPI_STANDARD] = MPI_Send,
	[REEL_MPI_SYNCHRONOUS] = MPI_Ssend,
	[REEL_MPI_BUFFERED] = MPI_Bsend,
	[REEL_MPI_READY] = MPI_Rsend,
};

/* Returns true if source and tag are known before the receive. */
static bool is_fixed(const struct reel_mpi_message *m)
{
	return m->peer != MPI_ANY_SOURCE && m->tag != MPI_ANY_TAG;
}

/* Opens a message before it travels, and refuses one whose adjoint could not return in order. */
static int open_in_order(struct reel_mpi_message *m, bool receive, MPI_Comm comm)
{
	int error = reel_mpi_open_message(m, comm);

	if (!error && !receive)
		error = reel_mpi_check_packed(m);
	return error || !is_fixed(m) ? error : reel_mpi_check_order(m, receive, NULL);
}

int reel_mpi_send_at(reel_tape *tape, const char *call_site, enum reel_mpi_mode mode,
		     const void *buffer, int count, MPI_Datatype type, int dest, int tag,
		     MPI_Comm comm)
{
	struct reel_mpi_message m = REEL_MPI_MESSAGE("reel_mpi_send", buffer, count, dest, tag);
	int error = reel_mpi_check_mode(mode, REEL_MPI_READY + 1, m.call);

	if (!error)
		error = open_in_order(&m, false, comm);
	if (!error)
		error = reel_mpi_error(send_by_mode[mode](buffer, count, type, dest, tag, comm),
				       m.call);
	return reel_mpi_stick(tape, error ? error : reel_mpi_note_call(&m, false));
}

/* Takes back the adjoint of the sent data. */
static int take_back(struct reel_mpi_message *m)
{
	int error = reel_mpi_mirror(m, false);

	if (!error)
		return reel_mpi_add_adjoint(m);
	reel_mpi_layout_poison(m->layout, m->count, m->buffer);
	return error;
}

int reel_mpi_send_reverse_at(reel_tape *tape, const char *call_site, void *buffer_bar, int count,
			     MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
	struct reel_mpi_message m =
		REEL_MPI_MESSAGE("reel_mpi_send_reverse", buffer_bar, count, dest, tag);
	int error = reel_mpi_open_message(&m, comm);

	return reel_mpi_stick(tape, error ? error : take_back(&m));
}

/* After a receive: notes it, if its adjoint is in order. */
static int received(struct reel_mpi_message *m, const MPI_Status *own, MPI_Status *status)
{
	bool asked = status != MPI_STATUS_IGNORE, fixed = is_fixed(m);
	int error = reel_mpi_note_message(m, own, reel_mpi_is_noted(m, asked), 0);

	REEL_ASSERT(error || m->peer >= 0 || m->peer == MPI_PROC_NULL);
	if (asked)
		*status = *own;
	return error || fixed ? error : reel_mpi_check_order(m, true, NULL);
}

/* MPI need not set the status of a call that fails. */
#define NO_MESSAGE {.MPI_SOURCE = MPI_ANY_SOURCE, .MPI_TAG = MPI_ANY_TAG}

/* The error of a receive; `own` is its status. */
static int check_received(const struct reel_mpi_message *m, int code, const MPI_Status *own)
{
	int error = reel_mpi_error(code, m->call);

	if (error == -EMSGSIZE)
		reel_mpi_count_truncated(m, own);
	return error;
}

int reel_mpi_recv_at(reel_tape *tape, const char *call_site, void *buffer, int count,
		     MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
	struct reel_mpi_message m = REEL_MPI_MESSAGE("reel_mpi_recv", buffer, count, source, tag);
	int error = open_in_order(&m, true, comm);
	MPI_Status own = NO_MESSAGE;

	if (!error)
		error = check_received(&m, MPI_Recv(buffer, count, type, source, tag, comm, &own),
				       &own);
	return reel_mpi_stick(tape, error ? error : received(&m, &own, status));
}

/* Recalls the message, and sends its adjoint. An adjoint that cannot be sent is poisoned. */
static int return_message(struct reel_mpi_message *m, MPI_Status *status)
{
	bool asked = status != MPI_STATUS_IGNORE, noted = reel_mpi_is_noted(m, asked);
	struct reel_mpi_note note;
	int error = reel_mpi_refuse_truncated(m);

	if (error)
		return error;
	if (noted)
		error = reel_mpi_pop_note(m->tape, m->call_site, m->call, &note);
	if (!error)
		error = reel_mpi_recall_message(m, asked ? status : NULL, noted ? &note : NULL);
	if (error)
		reel_mpi_refuse_adjoint(m, error);
	else
		error = reel_mpi_mirror(m, true);
	if (!error)
		error = reel_mpi_send_adjoint(m);
	if (error)
		reel_mpi_layout_poison(m->layout, m->count, m->buffer);
	return error;
}

int reel_mpi_recv_reverse_at(reel_tape *tape, const char *call_site, void *buffer_bar, int count,
			     MPI_Datatype type, int source, int tag, MPI_Comm comm,
			     MPI_Status *status)
{
	struct reel_mpi_message m =
		REEL_MPI_MESSAGE("reel_mpi_recv_reverse", buffer_bar, count, source, tag);
	int error = reel_mpi_open_message(&m, comm);

	return reel_mpi_stick(tape, error ? error : return_message(&m, status));
}

/*
 * After both, of which MPI returned `code`: notes the send, then the receive, which the reverse
 * call begins with. The message was also sent if the other one did not fit.
 */
static int exchanged(struct reel_mpi_message *out, struct reel_mpi_message *in, int code,
		     const MPI_Status *own, MPI_Status *status)
{
	int error = check_received(in, code, own), noted, after;

	REEL_ASSERT(out->attached == in->attached);
	if (error && error != -EMSGSIZE)
		return error;
	noted = reel_mpi_note_call(out, false);
	if (error)
		return reel_mpi_error(code, out->call);
	after = received(in, own, status);
	return noted ? noted : after;
}

/* `replaces`: both messages have one buffer. */
static int exchange(struct reel_mpi_message *out, struct reel_mpi_message *in, bool replaces,
		    MPI_Comm comm, MPI_Status *status)
{
	int error = open_in_order(out, false, comm), code;
	MPI_Status own = NO_MESSAGE;

	if (!error)
		error = open_in_order(in, true, comm);
	if (error)
		return error;
	code = replaces
		       ? MPI_Sendrecv_replace(in->buffer, in->count, in->type, out->peer, out->tag,
					      in->peer, in->tag, comm, &own)
		       : MPI_Sendrecv(out->buffer, out->count, out->type, out->peer, out->tag,
				      in->buffer, in->count, in->type, in->peer, in->tag, comm,
				      &own);
	return exchanged(out, in, code, &own, status);
}

int reel_mpi_sendrecv_at(reel_tape *tape, const char *call_site, const void *sent, int sent_count,
			 MPI_Datatype sent_type, int dest, int sent_tag, void *received_at,
			 int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
			 MPI_Status *status)
{
	struct reel_mpi_message in =
		REEL_MPI_MESSAGE("reel_mpi_sendrecv", received_at, count, source, tag);
	struct reel_mpi_message out =
		REEL_MPI_MESSAGE("reel_mpi_sendrecv", sent, sent_count, dest, sent_tag);

	out.type = sent_type;
	return reel_mpi_stick(tape, exchange(&out, &in, false, comm, status));
}

int reel_mpi_sendrecv_replace_at(reel_tape *tape, const char *call_site, void *buffer, int count,
				 MPI_Datatype type, int dest, int sent_tag, int source, int tag,
				 MPI_Comm comm, MPI_Status *status)
{
	struct reel_mpi_message in =
		REEL_MPI_MESSAGE("reel_mpi_sendrecv_replace", buffer, count, source, tag);
	struct reel_mpi_message out = in;

	out.peer = dest;
	out.tag = sent_tag;
	return reel_mpi_stick(tape, exchange(&out, &in, true, comm, status));
}

int reel_mpi_mrecv_at(reel_tape *tape, const char *call_site, void *buffer, int count,
		      MPI_Datatype type, MPI_Message *message, MPI_Comm comm, MPI_Status *status)
{
	struct reel_mpi_message m =
		REEL_MPI_MESSAGE("reel_mpi_mrecv", buffer, count, MPI_ANY_SOURCE, MPI_ANY_TAG);
	int error = reel_mpi_open_message(&m, comm);
	MPI_Status own = NO_MESSAGE;

	if (!error)
		error = check_received(&m, MPI_Mrecv(buffer, count, type, message, &own), &own);
	return reel_mpi_stick(tape, error ? error : received(&m, &own, status));
}

int reel_mpi_sendrecv_reverse_at(reel_tape *tape, const char *call_site, void *sent_bar,
				 int sent_count, MPI_Datatype sent_type, int dest, int sent_tag,
				 void *received_bar, int count, MPI_Datatype type, int source,
				 int tag, MPI_Comm comm, MPI_Status *status)
{
	struct reel_mpi_message in =
		REEL_MPI_MESSAGE("reel_mpi_sendrecv_reverse", received_bar, count, source, tag);
	struct reel_mpi_message out =
		REEL_MPI_MESSAGE("reel_mpi_sendrecv_reverse", sent_bar, sent_count, dest, sent_tag);
	int error;

	out.type = sent_type;
	error = reel_mpi_open_message(&out, comm);
	if (!error)
		error = reel_mpi_open_message(&in, comm);
	if (error)
		return reel_mpi_stick(tape, error);
	error = return_message(&in, status);
	if (error)
		reel_mpi_layout_poison(out.layout, out.count, out.buffer);
	return reel_mpi_stick(tape, error ? error : take_back(&out));
}
