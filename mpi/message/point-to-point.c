/* SPDX-License-Identifier: MIT */
/* Messages whose calls wait. */
#include "config.h"

#include <errno.h>

#include "agree.h"
#include "comm/error.h"
#include "order.h"
#include "transfer.h"

static int send_by_mode(const struct reel_mpi_message *m, enum reel_mpi_mode mode, MPI_Comm comm)
{
	switch (mode) {
	case REEL_MPI_SYNCHRONOUS:
		return MPI_Ssend(m->buffer, m->count, m->type, m->peer, m->tag, comm);
	case REEL_MPI_BUFFERED:
		return MPI_Bsend(m->buffer, m->count, m->type, m->peer, m->tag, comm);
	case REEL_MPI_READY:
		return MPI_Rsend(m->buffer, m->count, m->type, m->peer, m->tag, comm);
	default:
		return MPI_Send(m->buffer, m->count, m->type, m->peer, m->tag, comm);
	}
}

int reel_mpi_send_at(reel_tape *tape, const char *site, enum reel_mpi_mode mode, const void *buffer,
		     int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
	struct reel_mpi_message m = {.call = "reel_mpi_send", .site = site, .tape = tape,
				     .buffer = (void *)(uintptr_t)buffer, .count = count,
				     .peer = dest, .tag = tag, .type = type};
	int error = reel_mpi_open_message(&m, comm);

	if (!error)
		error = reel_mpi_check_packed(&m);
	if (!error)
		error = reel_mpi_check_order(&m, false, NULL);
	if (!error)
		error = reel_mpi_error(send_by_mode(&m, mode, comm), m.call);
	if (!error)
		error = reel_mpi_note_call(&m, false);
	return reel_mpi_stick(tape, error);
}

/* Takes back the adjoint of what was sent. */
static int take_back(struct reel_mpi_message *m)
{
	int error = reel_mpi_mirror(m, false);

	if (!error)
		return reel_mpi_add_adjoint(m);
	reel_mpi_layout_poison(m->layout, m->count, m->buffer);
	return error;
}

int reel_mpi_send_reverse_at(reel_tape *tape, const char *site, void *buffer_bar, int count,
			     MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
	struct reel_mpi_message m = {.call = "reel_mpi_send_reverse", .site = site, .tape = tape,
				     .buffer = buffer_bar, .count = count, .peer = dest, .tag = tag,
				     .type = type};
	int error = reel_mpi_open_message(&m, comm);

	if (!error)
		error = take_back(&m);
	return reel_mpi_stick(tape, error);
}

/* Returns true if source and tag are known before the receive. */
static bool is_fixed(const struct reel_mpi_message *m)
{
	return m->peer != MPI_ANY_SOURCE && m->tag != MPI_ANY_TAG;
}

/* After a receive: notes it, if its adjoint is in order. */
static int received(struct reel_mpi_message *m, const MPI_Status *own, MPI_Status *status)
{
	bool asked = status != MPI_STATUS_IGNORE, fixed = is_fixed(m);
	int error = reel_mpi_note_message(m, own, reel_mpi_is_noted(m, asked), 0);

	if (asked)
		*status = *own;
	return error || fixed ? error : reel_mpi_check_order(m, true, NULL);
}

/* The error of a receive; `own` is its status. */
static int check_received(const struct reel_mpi_message *m, int code, const MPI_Status *own)
{
	int error = reel_mpi_error(code, m->call);

	if (error == -EMSGSIZE)
		reel_mpi_count_truncated(m, own);
	return error;
}

int reel_mpi_recv_at(reel_tape *tape, const char *site, void *buffer, int count, MPI_Datatype type,
		     int source, int tag, MPI_Comm comm, MPI_Status *status)
{
	struct reel_mpi_message m = {.call = "reel_mpi_recv", .site = site, .tape = tape,
				     .buffer = buffer, .count = count, .peer = source, .tag = tag,
				     .type = type};
	int error = reel_mpi_open_message(&m, comm);
	MPI_Status own;

	if (!error && is_fixed(&m))
		error = reel_mpi_check_order(&m, true, NULL);
	if (!error)
		error = check_received(&m, MPI_Recv(buffer, count, type, source, tag, comm, &own),
				       &own);
	if (!error)
		error = received(&m, &own, status);
	return reel_mpi_stick(tape, error);
}

/* Recalls the message, and sends its adjoint. What cannot be sent is poisoned. */
static int return_message(struct reel_mpi_message *m, MPI_Status *status)
{
	bool asked = status != MPI_STATUS_IGNORE, noted = reel_mpi_is_noted(m, asked);
	struct reel_mpi_note note;
	int error = reel_mpi_refuse_truncated(m);

	if (error)
		return error;
	if (noted)
		error = reel_mpi_pop_note(m->tape, m->site, m->call, &note);
	if (!error)
		error = reel_mpi_recall_message(m, asked ? status : NULL, noted ? &note : NULL);
	if (error)
		reel_mpi_tell(m, error);
	else
		error = reel_mpi_mirror(m, true);
	if (!error)
		error = reel_mpi_send_adjoint(m);
	if (error)
		reel_mpi_layout_poison(m->layout, m->count, m->buffer);
	return error;
}

int reel_mpi_recv_reverse_at(reel_tape *tape, const char *site, void *buffer_bar, int count,
			     MPI_Datatype type, int source, int tag, MPI_Comm comm,
			     MPI_Status *status)
{
	struct reel_mpi_message m = {.call = "reel_mpi_recv_reverse", .site = site, .tape = tape,
				     .buffer = buffer_bar, .count = count, .peer = source,
				     .tag = tag, .type = type};
	int error = reel_mpi_open_message(&m, comm);

	if (!error)
		error = return_message(&m, status);
	return reel_mpi_stick(tape, error);
}

static int open_both(struct reel_mpi_message *out, struct reel_mpi_message *in, MPI_Comm comm)
{
	int error = reel_mpi_open_message(out, comm);

	return error ? error : reel_mpi_open_message(in, comm);
}

/* Before the messages travel: refuses those whose adjoints could not return in order. */
static int begin_exchange(struct reel_mpi_message *out, struct reel_mpi_message *in, MPI_Comm comm)
{
	int error = open_both(out, in, comm);

	if (!error)
		error = reel_mpi_check_packed(out);
	if (!error)
		error = reel_mpi_check_order(out, false, NULL);
	if (!error && is_fixed(in))
		error = reel_mpi_check_order(in, true, NULL);
	return error;
}

/*
 * After both, of which MPI returned `code`: notes the send, then the receive, which the reverse
 * call begins with. The message was sent, too, if the other one did not fit.
 */
static int exchanged(struct reel_mpi_message *out, struct reel_mpi_message *in, int code,
		     const MPI_Status *own, MPI_Status *status)
{
	int error = check_received(in, code, own), noted, after;

	if (error && error != -EMSGSIZE)
		return error;
	noted = reel_mpi_note_call(out, false);
	if (error)
		return reel_mpi_error(code, out->call);
	after = received(in, own, status);
	return noted ? noted : after;
}

int reel_mpi_sendrecv_at(reel_tape *tape, const char *site, const void *sent, int sent_count,
			 MPI_Datatype sent_type, int dest, int sent_tag, void *received_at,
			 int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
			 MPI_Status *status)
{
	struct reel_mpi_message out = {.call = "reel_mpi_sendrecv", .site = site, .tape = tape,
				       .buffer = (void *)(uintptr_t)sent, .count = sent_count,
				       .peer = dest, .tag = sent_tag, .type = sent_type};
	struct reel_mpi_message in = {.call = out.call, .site = site, .tape = tape,
				      .buffer = received_at, .count = count, .peer = source,
				      .tag = tag, .type = type};
	int error = begin_exchange(&out, &in, comm), code;
	MPI_Status own;

	if (error)
		return reel_mpi_stick(tape, error);
	code = MPI_Sendrecv(sent, sent_count, sent_type, dest, sent_tag, received_at, count, type,
			    source, tag, comm, &own);
	return reel_mpi_stick(tape, exchanged(&out, &in, code, &own, status));
}

int reel_mpi_sendrecv_replace_at(reel_tape *tape, const char *site, void *buffer, int count,
				 MPI_Datatype type, int dest, int sent_tag, int source, int tag,
				 MPI_Comm comm, MPI_Status *status)
{
	struct reel_mpi_message out = {.call = "reel_mpi_sendrecv_replace", .site = site,
				       .tape = tape, .buffer = buffer, .count = count, .peer = dest,
				       .tag = sent_tag, .type = type};
	struct reel_mpi_message in = out;
	MPI_Status own;
	int error, code;

	in.peer = source;
	in.tag = tag;
	error = begin_exchange(&out, &in, comm);
	if (error)
		return reel_mpi_stick(tape, error);
	code = MPI_Sendrecv_replace(buffer, count, type, dest, sent_tag, source, tag, comm, &own);
	return reel_mpi_stick(tape, exchanged(&out, &in, code, &own, status));
}

int reel_mpi_mrecv_at(reel_tape *tape, const char *site, void *buffer, int count, MPI_Datatype type,
		      MPI_Message *message, MPI_Comm comm, MPI_Status *status)
{
	struct reel_mpi_message m = {.call = "reel_mpi_mrecv", .site = site, .tape = tape,
				     .buffer = buffer, .count = count, .peer = MPI_ANY_SOURCE,
				     .tag = MPI_ANY_TAG, .type = type};
	int error = reel_mpi_open_message(&m, comm);
	MPI_Status own;

	if (!error)
		error = check_received(&m, MPI_Mrecv(buffer, count, type, message, &own), &own);
	if (!error)
		error = received(&m, &own, status);
	return reel_mpi_stick(tape, error);
}

int reel_mpi_mrecv_reverse_at(reel_tape *tape, const char *site, void *buffer_bar, int count,
			      MPI_Datatype type, MPI_Comm comm, MPI_Status *status)
{
	return reel_mpi_recv_reverse_at(tape, site, buffer_bar, count, type, MPI_ANY_SOURCE,
					MPI_ANY_TAG, comm, status);
}

int reel_mpi_sendrecv_reverse_at(reel_tape *tape, const char *site, void *sent_bar, int sent_count,
				 MPI_Datatype sent_type, int dest, int sent_tag, void *received_bar,
				 int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
				 MPI_Status *status)
{
	struct reel_mpi_message out = {.call = "reel_mpi_sendrecv_reverse", .site = site,
				       .tape = tape, .buffer = sent_bar, .count = sent_count,
				       .peer = dest, .tag = sent_tag, .type = sent_type};
	struct reel_mpi_message in = {.call = out.call, .site = site, .tape = tape,
				      .buffer = received_bar, .count = count, .peer = source,
				      .tag = tag, .type = type};
	int error = open_both(&out, &in, comm);

	if (error)
		return reel_mpi_stick(tape, error);
	error = return_message(&in, status);
	if (error)
		reel_mpi_layout_poison(out.layout, out.count, out.buffer);
	else
		error = take_back(&out);
	return reel_mpi_stick(tape, error);
}
