/* SPDX-License-Identifier: MIT */
/* The oracle: effects of operations on the memory of all ranks, in one process, without a tape. */
#include <config.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

struct oracle oracle;

/* The values that the reverse sweep needs: operands, winners, factors. */
static struct {
	double number[40000];
	int height;
} stack;

void oracle_push(double x)
{
	if (stack.height == (int)(sizeof stack.number / sizeof *stack.number))
		abort();
	stack.number[stack.height++] = x;
}

double oracle_pop(void)
{
	return stack.number[--stack.height];
}

void oracle_begin(void)
{
	stack.height = 0;
	for (int i = 0; i < program.ranks; i++)
		set_beginning(&oracle.x[i], i);
}

/* ---- Statements ---- */

static void calculate(const struct statement *s, struct memory *x)
{
	double a = get_leaf(x, s->left), b = get_leaf(x, s->right), c = get_leaf(x, s->to);

	oracle_push(a);
	oracle_push(b);
	set_leaf(x, s->to,
		 program.smooth ? s->keep * c / 2 + sin(a) * cos(b) : s->keep * c + a * b);
	if (!program.smooth)
		wrap_memory(x);
}

static void calculate_reverse(const struct statement *s, struct memory *bar)
{
	double b = oracle_pop(), a = oracle_pop(), own = get_leaf(bar, s->to);

	set_leaf(bar, s->to, program.smooth ? s->keep * own / 2 : s->keep * own);
	set_leaf(bar, s->left,
		 get_leaf(bar, s->left) + (program.smooth ? own * (cos(a) * cos(b)) : own * b));
	set_leaf(bar, s->right,
		 get_leaf(bar, s->right) + (program.smooth ? own * (-sin(a) * sin(b)) : own * a));
	if (!program.smooth)
		wrap_memory(bar);
}

/* ---- Copies ---- */

/* The copies from rank to rank; all values of an operation are read before any is written. */
struct copy {
	struct slice from, to; /* `from` has the units that are copied */
	int sender, receiver;  /* ranks of the world */
};

enum { MAX_COPIES = MAX_RANKS * MAX_RANKS };

static union any_unit carried[MAX_COPIES][MAX_UNITS];

static int units_in(const struct slice *slice)
{
	return slice->count * units_of(slice->shape);
}

static void carry(const struct copy *copies, int n)
{
	for (int i = 0; i < n; i++)
		for (int k = 0; k < units_in(&copies[i].from); k++)
			copy_unit(&carried[i][k],
				  unit(&oracle.x[copies[i].sender], copies[i].from.kind,
				       unit_at(&copies[i].from, k)),
				  copies[i].from.kind);
	for (int i = 0; i < n; i++)
		for (int k = 0; k < units_in(&copies[i].from); k++)
			copy_unit(unit(&oracle.x[copies[i].receiver], copies[i].to.kind,
				       unit_at(&copies[i].to, k)),
				  &carried[i][k], copies[i].from.kind);
}

static void carry_back(const struct copy *copies, int n)
{
	for (int i = 0; i < n; i++)
		for (int k = 0; k < units_in(&copies[i].from); k++) {
			void *u = unit(&oracle.bar[copies[i].receiver], copies[i].to.kind,
				       unit_at(&copies[i].to, k));

			copy_unit(&carried[i][k], u, copies[i].from.kind);
			zero_unit(u, copies[i].from.kind);
		}
	for (int i = 0; i < n; i++)
		for (int k = 0; k < units_in(&copies[i].from); k++)
			add_unit(unit(&oracle.bar[copies[i].sender], copies[i].from.kind,
				      unit_at(&copies[i].from, k)),
				 &carried[i][k], copies[i].from.kind);
}

/* ---- Exchanges ---- */

/* The message that the receive of message m took. */
static int taken_by(int index, const struct communicator *c, int m)
{
	int to = program.operation[index].exchange.message[m].to;

	return to == NOBODY ? m : oracle.decided[c->member[to]].taken[index][m];
}

/* Returns true if MPI allows the decisions of the run: each message once, in order. */
static const char *check_taken(int index, const struct communicator *c)
{
	const struct exchange *e = &program.operation[index].exchange;
	bool seen[MAX_MESSAGES] = {false};

	for (int m = 0; m < e->messages; m++) {
		const struct message *r = &e->message[m];
		int t = taken_by(index, c, m);

		if (t < 0 || t >= e->messages || seen[t])
			return "a message was taken twice";
		seen[t] = true;
		if (e->message[t].to != r->to || !e->message[t].mark != !r->mark ||
		    (t != m && !r->any_tag && e->message[t].tag != r->tag))
			return "a receive took a message that does not match";
		for (int later = m + 1; later < e->messages; later++) {
			int u = taken_by(index, c, later);

			if (r->mark && e->message[later].mark && e->message[later].to == r->to &&
			    e->message[u].from == e->message[t].from &&
			    (r->any_tag || e->message[later].tag == r->tag) && u < t)
				return "a message was overtaken by a later one";
		}
	}
	return NULL;
}

static int copies_of(struct copy *copies, int index, const struct communicator *c)
{
	const struct exchange *e = &program.operation[index].exchange;
	int n = 0;

	for (int m = 0; m < e->messages; m++) {
		const struct message *t = &e->message[taken_by(index, c, m)];

		if (t->from == NOBODY || e->message[m].to == NOBODY)
			continue;
		copies[n++] = (struct copy){t->sent, e->message[m].received, c->member[t->from],
					    c->member[t->to]};
	}
	return n;
}

static void set_marks(const struct exchange *e, const struct communicator *c, bool reverse)
{
	for (int i = 0; i < e->messages; i++) {
		const struct message *m = &e->message[i];

		if (m->mark)
			set_first(unit(reverse ? &oracle.bar[c->member[m->from]]
					       : &oracle.x[c->member[m->from]],
				       m->sent.kind, unit_at(&m->sent, 0)),
				  m->sent.kind, reverse ? 0 : m->mark);
	}
}

/* ---- Moves ---- */

static int copies_of_move(struct copy *copies, const struct move_operation *o,
			  const struct communicator *c)
{
	const struct move_pattern *p = &move_patterns[o->move];
	bool rooted = p->rooted_send || p->rooted_receive;
	int n = 0;

	for (int i = 0; i < c->size; i++)
		for (int j = 0; j < c->size; j++) {
			const struct slice *from = &o->sent[i][j], *to = &o->received[j][i];

			if ((p->rooted_send && i != o->root) || (p->rooted_receive && j != o->root))
				continue;
			/* In place: a block from a rank to itself is there already. */
			if (o->in_place && i == j && (!p->out_blocks || p->rooted_send))
				continue;
			if (o->in_place && !rooted)
				from = p->out_blocks ? &o->received[i][j] : &o->received[i][i];
			copies[n++] = (struct copy){*from, *to, c->member[i], c->member[j]};
		}
	return n;
}

static int copies_of_bcast(struct copy *copies, const struct operation *o,
			   const struct communicator *c)
{
	int n = 0, root = o->bcast.root;

	for (int i = 0; i < c->size; i++)
		if (i != root)
			copies[n++] = (struct copy){o->bcast.slice[root], o->bcast.slice[i],
						    c->member[root], c->member[i]};
	return n;
}

static int copies_for(struct copy *copies, int index, const struct communicator *c)
{
	const struct operation *o = &program.operation[index];

	switch (o->kind) {
	case EXCHANGE:
		return copies_of(copies, index, c);
	case MOVE:
		return copies_of_move(copies, &o->move, c);
	case BCAST:
		return copies_of_bcast(copies, o, c);
	default:
		return 0;
	}
}

/* ---- Operations ---- */

static void wrap_all(struct memory *all)
{
	for (int i = 0; i < program.ranks && !program.smooth; i++)
		wrap_memory(&all[i]);
}

const char *oracle_forward(int index)
{
	const struct operation *o = &program.operation[index];
	const struct communicator *c = &program.communicator[o->communicator];
	struct copy copies[MAX_COPIES];
	const char *wrong = o->kind == EXCHANGE ? check_taken(index, c) : NULL;

	if (wrong)
		return wrong;
	for (int i = 0; o->kind == LOCAL && i < program.ranks; i++)
		for (int k = 0; k < o->statements; k++)
			calculate(&o->statement[i][k], &oracle.x[i]);
	if (o->kind == EXCHANGE)
		set_marks(&o->exchange, c, false);
	if (o->kind == REDUCTION)
		oracle_reduce(&o->reduction, c);
	carry(copies, copies_for(copies, index, c));
	wrap_all(oracle.x);
	return NULL;
}

void oracle_reverse(int index)
{
	const struct operation *o = &program.operation[index];
	const struct communicator *c = &program.communicator[o->communicator];
	struct copy copies[MAX_COPIES];

	for (int i = program.ranks; o->kind == LOCAL && i-- > 0;)
		for (int k = o->statements; k-- > 0;)
			calculate_reverse(&o->statement[i][k], &oracle.bar[i]);
	carry_back(copies, copies_for(copies, index, c));
	if (o->kind == REDUCTION)
		oracle_reduce_reverse(&o->reduction, c);
	if (o->kind == EXCHANGE)
		set_marks(&o->exchange, c, true);
	wrap_all(oracle.bar);
}
