/* SPDX-License-Identifier: MIT */
/* The order of a rank's calls in an exchange. It is the same one in both sweeps. */
#include <config.h>

#include <string.h>

#include "ranks.h"

bool is_blocking_send(const struct message *m)
{
	return m->sending <= RSEND;
}

bool is_blocking_receive(const struct message *m)
{
	return m->receiving <= MPROBE;
}

int source_of(const struct message *m)
{
	return m->any_source ? MPI_ANY_SOURCE : m->from == NOBODY ? MPI_PROC_NULL : m->from;
}

int dest_of(const struct message *m)
{
	return m->to == NOBODY ? MPI_PROC_NULL : m->to;
}

int tag_of(const struct message *m)
{
	return m->any_tag ? MPI_ANY_TAG : m->tag;
}

static struct step *add(struct steps *steps, enum action action, int message)
{
	struct step *step = &steps->step[steps->count++];

	*step = (struct step){.action = action, .message = message};
	return step;
}

/* Starts a request, which belongs to one of the two sets. */
static void add_start(struct steps *steps, const struct exchange *e, int m, bool receive)
{
	const struct message *message = &e->message[m];
	bool late = !receive && message->any_source && !message->received_early;
	struct step *step = add(steps, receive ? START_RECEIVE : START_SEND, m);
	struct wait_set *set;

	step->set = late || m >= e->wait_after;
	set = &steps->set[step->set];
	set->message[set->n] = m;
	set->receive[set->n++] = receive;
}

static void add_early(struct steps *steps, const struct exchange *e, int number, bool receive)
{
	for (int m = 0; m < e->messages; m++) {
		const struct message *message = &e->message[m];

		if (message->shifting)
			continue;
		if (receive && message->to == number && message->received_early)
			add_start(steps, e, m, true);
		if (!receive && message->from == number && message->sent_early)
			add_start(steps, e, m, false);
	}
}

/* Requests come first: the rank may send to itself. */
static void add_message(struct steps *steps, const struct exchange *e, int number, int m)
{
	const struct message *message = &e->message[m];
	bool sends = message->from == number && !message->sent_early;
	bool receives = message->to == number && !message->received_early;

	if (receives && !is_blocking_receive(message))
		add_start(steps, e, m, true);
	if (sends && !is_blocking_send(message))
		add_start(steps, e, m, false);
	if (sends && is_blocking_send(message))
		add(steps, CALL_SEND, m);
	if (receives && is_blocking_receive(message))
		add(steps, CALL_RECEIVE, m);
}

/* One call of the rank for two messages of a shift. Returns the first message after it. */
static int add_shift(struct steps *steps, const struct exchange *e, int number, int m)
{
	struct step *step = add(steps, CALL_SHIFT, -1);
	int tag = e->message[m].tag;

	for (; m < e->messages && e->message[m].shifting && e->message[m].tag == tag; m++) {
		if (e->message[m].from == number)
			step->message = m;
		if (e->message[m].to == number)
			step->other = m;
	}
	return m;
}

/* ---- Sets of requests ---- */

/* Returns true if two requests may carry messages of one rank and tag. */
static bool is_same_way(const struct exchange *e, const struct wait_set *set, int a, int b)
{
	const struct message *one, *other;

	if (set->message[a] < 0 || set->message[b] < 0 || set->receive[a] != set->receive[b])
		return false;
	one = &e->message[set->message[a]];
	other = &e->message[set->message[b]];
	if (!set->receive[a])
		return one->to == other->to && one->tag == other->tag;
	if (one->from == NOBODY || other->from == NOBODY)
		return false;
	return (one->any_source || one->from == other->from) &&
	       (one->any_tag || one->tag == other->tag);
}

static void swap(struct wait_set *set, int a, int b)
{
	int message = set->message[a];
	bool receive = set->receive[a];

	set->message[a] = set->message[b];
	set->receive[a] = set->receive[b];
	set->message[b] = message;
	set->receive[b] = receive;
}

/* Any order, but messages that are on the same way have to end as they began. */
static void shuffle(struct wait_set *set, const struct exchange *e, struct random *random)
{
	bool ordered = set->waiting == WAIT_EACH || set->waiting == WAITALL;

	for (int i = set->n; i > 1; i--)
		swap(set, i - 1, below(random, i));
	for (int a = 0; ordered && a < set->n; a++)
		for (int b = a + 1; b < set->n; b++)
			if (is_same_way(e, set, a, b) && set->message[a] > set->message[b])
				swap(set, a, b);
}

static void finish_set(struct wait_set *set, const struct exchange *e, struct random *random)
{
	if (!set->n)
		return;
	set->waiting = (enum waiting)below(random, WAITINGS);
	set->once_more = one_in(random, 4);
	while (one_in(random, 4) && set->n < 2 * MAX_MESSAGES)
		set->message[set->n++] = -1;
	for (int i = 0; i < set->n; i++)
		if (set->message[i] >= 0 && set->receive[i] && e->message[set->message[i]].status)
			set->statuses = true;
	shuffle(set, e, random);
}

/* Where the request of a step is in its set. */
static void find_slots(struct steps *steps)
{
	for (int i = 0; i < steps->count; i++) {
		struct step *step = &steps->step[i];
		const struct wait_set *set = &steps->set[step->set];

		if (step->action != START_SEND && step->action != START_RECEIVE)
			continue;
		while (set->message[step->slot] != step->message ||
		       set->receive[step->slot] != (step->action == START_RECEIVE))
			step->slot++;
	}
}

void make_steps(struct steps *steps, const struct exchange *e, int number)
{
	struct random random = random_of(e->seed, 99, (uint64_t)number);
	bool waited = false;

	memset(steps, 0, sizeof *steps);
	add_early(steps, e, number, true);
	if (e->receives_first)
		add(steps, CALL_BARRIER, 0);
	add_early(steps, e, number, false);
	for (int m = 0; m < e->messages;) {
		if (m >= e->wait_after && !waited) {
			waited = true;
			add(steps, WAIT, 0)->set = 0;
		}
		if (e->message[m].shifting)
			m = add_shift(steps, e, number, m);
		else
			add_message(steps, e, number, m++);
	}
	if (!waited)
		add(steps, WAIT, 0)->set = 0;
	add(steps, WAIT, 0)->set = 1;
	if (e->barrier_after)
		add(steps, CALL_BARRIER, 0);
	for (int i = 0; i < 2; i++)
		finish_set(&steps->set[i], e, &random);
	find_slots(steps);
	steps->made = true;
}
