/* SPDX-License-Identifier: MIT */
/*
 * The messages of an exchange. A rank that carries out its part in the order of the messages, and
 * starts requests earlier or waits for them later, does not deadlock: the message with the lowest
 * number that is stuck would have to wait for one with a lower number.
 *
 * A receive from MPI_ANY_SOURCE may take a message with a higher number. So that none is stuck
 * then, the receives of such a group start as the exchange begins, or its sends do not wait before
 * the end of the exchange.
 */
#include <config.h>

#include <string.h>

#include "ranks.h"

/* How a rank receives, in the whole exchange. */
enum policy { FIXED, ANY_OF_TAG, TAGS_OF_ONE, ANY_OF_ALL, POLICIES };

static struct {
	enum policy policy[MAX_RANKS];
	bool early[MAX_RANKS]; /* of ANY_OF_TAG and ANY_OF_ALL */
	enum kind kind[MAX_RANKS];
	struct usage usage;
	int shifts;
} drawn;

static void draw_policies(const struct communicator *c, struct random *random, bool early)
{
	for (int i = 0; i < c->size; i++) {
		drawn.policy[i] = one_in(random, 2) ? FIXED : (enum policy)below(random, POLICIES);
		drawn.early[i] = early || one_in(random, 2);
		drawn.kind[i] = draw_kind(random);
	}
	memset(&drawn.usage, 0, sizeof drawn.usage);
	drawn.shifts = 0;
}

/* The same for all messages that must not overtake each other. */
static bool class_of(const struct exchange *e, const struct message *m, bool receive, int question)
{
	struct random random;
	int tag = m->any_tag ? -1 : m->tag, from = receive && m->any_source ? -1 : m->from;

	random = random_of(e->seed, (uint64_t)(tag + 1) * 64 + (uint64_t)(from + 1) * 8 + receive,
			   (uint64_t)(m->to + 1) * 8 + (uint64_t)question);
	return one_in(&random, 2);
}

/* Types of 3 units have no common length with a few others. */
static enum shape draw_shape(struct random *random, bool small)
{
	enum shape shape;

	do
		shape = one_in(random, 2) ? PLAIN : (enum shape)below(random, SHAPES);
	while (small && units_of(shape) > 2);
	return shape;
}

static void draw_sending(const struct exchange *e, struct message *m, struct random *random)
{
	static const enum sending blocking[] = {SEND, SSEND, BSEND, RSEND};
	static const enum sending requests[] = {ISEND, ISSEND, IBSEND, SEND_INIT, SSEND_INIT,
						IRSEND};
	bool stuck = (m->any_source && !m->received_early) ||
		     (m->from == m->to && is_blocking_receive(m));

	if (class_of(e, m, false, 0)) {
		m->sending = blocking[below(random, e->receives_first ? 4 : 3)];
		if (stuck)
			m->sending = BSEND;
	} else {
		m->sending = requests[below(random, e->receives_first ? 6 : 5)];
		m->sent_early = class_of(e, m, false, 1);
	}
}

static void draw_receiving(const struct exchange *e, struct message *m, struct random *random)
{
	static const enum receiving blocking[] = {RECV, PROBE, MPROBE};

	m->received_early = e->receives_first || class_of(e, m, true, 1);
	if (m->any_source)
		m->received_early = drawn.early[m->to];
	m->status = one_in(random, 2);
	if ((m->any_source ? m->received_early : e->receives_first) || class_of(e, m, true, 0)) {
		m->receiving = one_in(random, 2) ? IRECV : RECV_INIT;
	} else {
		m->receiving = blocking[below(random, 3)];
		m->received_early = false;
		m->status |= m->receiving == PROBE;
	}
}

static int least_common(int a, int b)
{
	return a == b || b == 1 ? a : a == 1 ? b : a * b;
}

/* Finds memory for both sides. `room`: more than comes is allowed, since the number is noted. */
static bool place(struct message *m, const struct communicator *c, struct random *random)
{
	bool room = m->any_source || m->any_tag || m->status;
	int units, capacity;

	m->sent.kind = m->received.kind = m->any_source ? drawn.kind[m->to] : draw_kind(random);
	m->sent.shape = draw_shape(random, m->any_source);
	m->received.shape = draw_shape(random, m->any_source);
	if (m->any_source) {
		units = 2 + 2 * below(random, 2);
		capacity = 4 + 2 * below(random, 2);
	} else {
		units = below(random, 3) * least_common(units_of(m->sent.shape),
							units_of(m->received.shape));
		capacity = units + (room ? below(random, 3) * units_of(m->received.shape) : 0);
	}
	return (m->from == NOBODY ||
		find_room(&drawn.usage, random, c->member[m->from], &m->sent, units,
			  !m->any_source)) &&
	       (m->to == NOBODY || find_room(&drawn.usage, random, c->member[m->to], &m->received,
					     capacity, false));
}

static void draw_message(struct exchange *e, const struct communicator *c, struct random *random,
			 int tag)
{
	struct message m = {.from = below(random, c->size), .to = below(random, c->size),
			    .tag = tag + below(random, 3)};

	if (one_in(random, 12))
		*(one_in(random, 2) ? &m.from : &m.to) = NOBODY;
	if (m.from != NOBODY && m.to != NOBODY) {
		m.any_source = drawn.policy[m.to] == ANY_OF_TAG || drawn.policy[m.to] == ANY_OF_ALL;
		m.any_tag = drawn.policy[m.to] == TAGS_OF_ONE || drawn.policy[m.to] == ANY_OF_ALL;
	}
	draw_receiving(e, &m, random);
	draw_sending(e, &m, random);
	if (!place(&m, c, random))
		return;
	m.mark = m.any_source ? e->messages + 1 : 0;
	e->message[e->messages++] = m;
}

/* ---- Shifts ---- */

static bool allows_shifts(const struct communicator *c)
{
	/* A receive of any tag would take the message of a shift. */
	for (int i = 0; i < c->size; i++)
		if (drawn.policy[i] == TAGS_OF_ONE || drawn.policy[i] == ANY_OF_ALL)
			return false;
	return drawn.shifts < 8;
}

/* Memory of each rank for the data it sends and receives; the same memory for REPLACE. */
static bool place_shift(struct slice *sent, struct slice *received, const struct communicator *c,
			struct random *random, enum shifting shifting, int room)
{
	enum kind kind = draw_kind(random);
	int units = 2 * below(random, 3);

	for (int i = 0; i < c->size; i++) {
		sent[i] = (struct slice){kind, draw_shape(random, true), 0, 0};
		received[i] = (struct slice){kind, draw_shape(random, true), 0, 0};
		if (!find_room(&drawn.usage, random, c->member[i], &sent[i], units, false))
			return false;
		if (shifting == REPLACE)
			received[i] = sent[i];
		else if (!find_room(&drawn.usage, random, c->member[i], &received[i], units + room,
				    false))
			return false;
	}
	return true;
}

static void draw_shift(struct exchange *e, const struct communicator *c, struct random *random,
		       int tag)
{
	struct slice sent[MAX_RANKS], received[MAX_RANKS];
	struct message m = {.tag = tag + 4 + drawn.shifts, .any_source = one_in(random, 3),
			    .status = one_in(random, 2),
			    .shifting = one_in(random, 2) ? REPLACE : SENDRECV};
	int by = 1 + below(random, c->size), n = c->size;
	bool ends = one_in(random, 2);

	if (e->messages + 2 * n > MAX_MESSAGES ||
	    !place_shift(sent, received, c, random, m.shifting,
			 m.status || m.any_source ? 2 * below(random, 2) : 0))
		return;
	drawn.shifts++;
	for (int i = 0; i < n; i++) {
		m.from = i;
		m.to = i + by < n ? i + by : ends ? NOBODY : (i + by) % n;
		m.sent = sent[i];
		if (m.to != NOBODY)
			m.received = received[m.to];
		e->message[e->messages++] = m;
	}
	m.from = NOBODY;
	m.any_source = false;
	for (int i = 0; ends && i < by && i < n; i++) {
		m.to = i;
		m.received = received[i];
		e->message[e->messages++] = m;
	}
}

void draw_exchange(struct exchange *e, const struct communicator *c, struct random *random, int tag)
{
	int wanted = 1 + below(random, 4 * c->size);

	*e = (struct exchange){.seed = (uint64_t)below(random, 1 << 30),
			       .receives_first = one_in(random, 4)};
	draw_policies(c, random, e->receives_first);
	for (int i = 0; i < wanted && e->messages < MAX_MESSAGES; i++)
		if (one_in(random, 8) && allows_shifts(c))
			draw_shift(e, c, random, tag);
		else
			draw_message(e, c, random, tag);
	for (int i = 0; i < c->size; i++)
		e->barrier_after |= drawn.policy[i] == ANY_OF_ALL;
	e->wait_after = below(random, e->messages + 1);
}
