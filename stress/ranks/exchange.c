/* SPDX-License-Identifier: MIT */
/* The calls of an exchange that wait, and its steps in both sweeps. */
#include <config.h>

#include <stdlib.h>

#include "ranks.h"

static struct steps steps_of[MAX_OPERATIONS];
struct decided decided;

/* The status of each receive of the exchange; `source` is NOBODY - 1 if it has none. */
static struct {
	int source, tag, count;
} got[MAX_MESSAGES];
enum { NOTHING = NOBODY - 1 };

/* ---- Statuses of receives ---- */

static struct {
	int *entry;
	int height, room;
} log_of;

void log_push(int entry)
{
	if (log_of.height == log_of.room) {
		log_of.room = 2 * log_of.room + 1000;
		log_of.entry = realloc(log_of.entry, (size_t)log_of.room * sizeof *log_of.entry);
		if (!log_of.entry)
			fail("no memory for a log");
	}
	log_of.entry[log_of.height++] = entry;
}

int log_pop(void)
{
	if (!log_of.height)
		fail("the log is empty");
	return log_of.entry[--log_of.height];
}

int log_height(void)
{
	return log_of.height;
}

void log_reset(int height)
{
	log_of.height = height;
}

void told(const struct exchange *e, int m, const MPI_Status *status, bool reverse)
{
	const struct slice *slice = &e->message[m].received;
	int source = status->MPI_SOURCE == MPI_PROC_NULL ? NOBODY : status->MPI_SOURCE, count;

	MPI_Get_count(status, datatype(slice->kind, slice->shape), &count);
	if (reverse) {
		int first_count = log_pop(), first_tag = log_pop(), first_source = log_pop();

		if (first_source != source || first_tag != status->MPI_TAG || first_count != count)
			fail("the status of message %d has source %d, tag %d and count %d in the "
			     "reverse sweep, and had %d, %d and %d",
			     m, source, status->MPI_TAG, count, first_source, first_tag,
			     first_count);
		return;
	}
	log_push(source);
	log_push(status->MPI_TAG);
	log_push(count);
	got[m].source = source;
	got[m].tag = status->MPI_TAG;
	got[m].count = count;
}

/* ---- Marks ---- */

static void set_marks(const struct exchange *e, int number, struct memory *x, bool reverse)
{
	for (int i = 0; i < e->messages; i++) {
		const struct message *m = &e->message[i];

		got[i].source = NOTHING;
		if (m->mark && m->from == number)
			set_first(unit(x, m->sent.kind, unit_at(&m->sent, 0)), m->sent.kind,
				  reverse ? 0 : m->mark);
	}
}

/* Fails unless the status of receive i matches the message that it has taken. */
static void check_status(const struct exchange *e, int i, int taken)
{
	const struct message *t = &e->message[taken];
	int units = got[i].count * units_of(e->message[i].received.shape);
	int expected = t->from == NOBODY ? 0 : t->sent.count * units_of(t->sent.shape);

	if (got[i].source != t->from || units != expected ||
	    (t->from != NOBODY && got[i].tag != t->tag))
		fail("the receive of message %d has taken %d, and has a status with source %d, tag "
		     "%d and count %d",
		     i, taken, got[i].source, got[i].tag, got[i].count);
}

/* Which message each receive of the rank took. */
static void see_taken(const struct exchange *e, int number, struct memory *x, signed char *taken)
{
	for (int i = 0; i < e->messages; i++) {
		const struct message *m = &e->message[i];
		const struct slice *slice = &m->received;

		taken[i] = (signed char)i;
		if (m->to == number && m->mark) {
			const void *first = unit(x, slice->kind, unit_at(slice, 0));
			double mark = get_first(first, slice->kind);

			if (!(mark >= 1 && mark <= e->messages))
				fail("the receive of message %d has taken one with mark %g", i,
				     mark);
			taken[i] = (signed char)(mark - 1);
		}
		if (m->to == number && got[i].source != NOTHING)
			check_status(e, i, taken[i]);
	}
}

/* ---- Calls that wait ---- */

#define TYPE(slice) datatype((slice)->kind, (slice)->shape)

static void call_send(const struct message *m, reel_tape *tape, struct memory *x, MPI_Comm comm,
		      bool reverse)
{
	void *p = place_of(x, &m->sent);
	int n = m->sent.count, dest = dest_of(m), error;
	MPI_Datatype type = TYPE(&m->sent);

	if (reverse)
		error = reel_mpi_send_reverse(tape, p, n, type, dest, m->tag, comm);
	else if (m->sending == SSEND)
		error = reel_mpi_ssend(tape, p, n, type, dest, m->tag, comm);
	else if (m->sending == BSEND)
		error = reel_mpi_bsend(tape, p, n, type, dest, m->tag, comm);
	else if (m->sending == RSEND)
		error = reel_mpi_rsend(tape, p, n, type, dest, m->tag, comm);
	else
		error = reel_mpi_send(tape, p, n, type, dest, m->tag, comm);
	must(error, "a send");
}

static int receive(const struct message *m, reel_tape *tape, void *p, MPI_Comm comm,
		   MPI_Status *status)
{
	MPI_Datatype type = TYPE(&m->received);
	int source = source_of(m), tag = tag_of(m), count;
	MPI_Message found;
	MPI_Status probed;

	if (m->receiving == RECV)
		return reel_mpi_recv(tape, p, m->received.count, type, source, tag, comm, status);
	if (m->receiving == PROBE) {
		MPI_Probe(source, tag, comm, &probed);
		MPI_Get_count(&probed, type, &count);
		return reel_mpi_recv(tape, p, count, type, probed.MPI_SOURCE, probed.MPI_TAG, comm,
				     status);
	}
	MPI_Mprobe(source, tag, comm, &found, &probed);
	MPI_Get_count(&probed, type, &count);
	return reel_mpi_mrecv(tape, p, count, type, &found, comm, status);
}

static int receive_reverse(const struct message *m, reel_tape *tape, void *p, MPI_Comm comm,
			   MPI_Status *status)
{
	MPI_Datatype type = TYPE(&m->received);
	int n = m->received.count;

	if (m->receiving == MPROBE)
		return reel_mpi_mrecv_reverse(tape, p, n, type, comm, status);
	/* The program knows before a probe that it asks nobody. */
	if (m->receiving == PROBE && m->from != NOBODY)
		return reel_mpi_recv_reverse(tape, p, n, type, MPI_ANY_SOURCE, MPI_ANY_TAG, comm,
					     status);
	return reel_mpi_recv_reverse(tape, p, n, type, source_of(m), tag_of(m), comm, status);
}

static void call_receive(const struct exchange *e, int i, reel_tape *tape, struct memory *x,
			 MPI_Comm comm, bool reverse)
{
	const struct message *m = &e->message[i];
	MPI_Status own, *status = m->status ? &own : MPI_STATUS_IGNORE;
	void *p = place_of(x, &m->received);

	must(reverse ? receive_reverse(m, tape, p, comm, status)
		     : receive(m, tape, p, comm, status),
	     "a receive");
	if (m->status)
		told(e, i, &own, reverse);
}

static int replace(const struct message *out, const struct message *in, reel_tape *tape, void *p,
		   MPI_Comm comm, MPI_Status *status, bool reverse)
{
	const struct slice *s = &out->sent;
	int dest = dest_of(out), source = source_of(in), tag = in->tag;

	if (reverse)
		return reel_mpi_sendrecv_replace_reverse(tape, p, s->count, TYPE(s), dest, tag,
							 source, tag, comm, status);
	return reel_mpi_sendrecv_replace(tape, p, s->count, TYPE(s), dest, tag, source, tag, comm,
					 status);
}

static int send_and_receive(const struct message *out, const struct message *in, reel_tape *tape,
			    struct memory *x, MPI_Comm comm, MPI_Status *status, bool reverse)
{
	const struct slice *s = &out->sent, *r = &in->received;
	void *p = place_of(x, s), *q = place_of(x, r);
	int dest = dest_of(out), source = source_of(in), tag = in->tag;

	if (reverse)
		return reel_mpi_sendrecv_reverse(tape, p, s->count, TYPE(s), dest, tag, q, r->count,
						 TYPE(r), source, tag, comm, status);
	return reel_mpi_sendrecv(tape, p, s->count, TYPE(s), dest, tag, q, r->count, TYPE(r),
				 source, tag, comm, status);
}

static void call_shift(const struct exchange *e, const struct step *step, reel_tape *tape,
		       struct memory *x, MPI_Comm comm, bool reverse)
{
	const struct message *out = &e->message[step->message], *in = &e->message[step->other];
	MPI_Status own, *status = in->status ? &own : MPI_STATUS_IGNORE;

	if (out->shifting == REPLACE)
		must(replace(out, in, tape, place_of(x, &out->sent), comm, status, reverse),
		     "Sendrecv_replace");
	else
		must(send_and_receive(out, in, tape, x, comm, status, reverse), "Sendrecv");
	if (in->status)
		told(e, step->other, &own, reverse);
}

/* ---- Steps ---- */

static const char *const step_names[] = {"a send", "a receive", "a shift", "a start of a send",
					 "a start of a receive", "a wait", "a barrier"};

static void run_step(const struct exchange *e, struct steps *steps, const struct step *step,
		     reel_tape *tape, struct memory *x, MPI_Comm comm, bool reverse)
{
	whereabouts.doing = step_names[step->action];
	whereabouts.message = step->message;
	switch (step->action) {
	case CALL_SEND:
		call_send(&e->message[step->message], tape, x, comm, reverse);
		break;
	case CALL_RECEIVE:
		call_receive(e, step->message, tape, x, comm, reverse);
		break;
	case CALL_SHIFT:
		call_shift(e, step, tape, x, comm, reverse);
		break;
	case START_SEND:
	case START_RECEIVE:
		start(e, &steps->set[step->set], step->slot, tape, x, comm, reverse);
		break;
	case WAIT:
		if (reverse)
			wait_reverse(e, &steps->set[step->set], tape, x, comm);
		else
			wait_forward(e, &steps->set[step->set], tape);
		break;
	case CALL_BARRIER:
		must(reverse ? reel_mpi_barrier_reverse(tape, comm) : reel_mpi_barrier(tape, comm),
		     "a barrier");
	}
}

void run_exchange(int index, reel_tape *tape, struct memory *x, bool reverse)
{
	const struct operation *o = &program.operation[index];
	const struct communicator *c = &program.communicator[o->communicator];
	const struct exchange *e = &o->exchange;
	struct steps *steps = &steps_of[o->same_as];
	int number = number_in(c, whereabouts.rank);

	if (number < 0)
		return;
	if (!steps->made)
		make_steps(steps, e, number);
	if (!reverse)
		set_marks(e, number, x, false);
	for (int i = 0; i < steps->count; i++)
		run_step(e, steps, &steps->step[reverse ? steps->count - 1 - i : i], tape, x,
			 c->comm, reverse);
	if (reverse)
		set_marks(e, number, x, true);
	else
		see_taken(e, number, x, decided.taken[index]);
}

void forget_exchanges(void)
{
	for (int i = 0; i < MAX_OPERATIONS; i++)
		steps_of[i].made = false;
}
