/* SPDX-License-Identifier: MIT */
/* The oracle: what operations mean for the memory of all ranks, in one process, without a tape. */
#include <config.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

struct oracle oracle;

typedef struct communicator comm_t;

/* One unit, aligned as memory is. */
union unit {
	long double l[2];
	struct mixed s;
};

/* What the reverse sweep has to know: operands, winners, factors. */
static struct {
	double number[40000];
	int height;
} stack;

static void push(double x)
{
	if (stack.height == (int)(sizeof stack.number / sizeof *stack.number))
		abort();
	stack.number[stack.height++] = x;
}

static double pop(void)
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

	push(a);
	push(b);
	set_leaf(x, s->to, program.smooth ? s->keep * c / 2 + sin(a) * cos(b) : s->keep * c + a * b);
	if (!program.smooth)
		wrap_memory(x);
}

static void calculate_reverse(const struct statement *s, struct memory *bar)
{
	double b = pop(), a = pop(), own = get_leaf(bar, s->to);

	set_leaf(bar, s->to, program.smooth ? s->keep * own / 2 : s->keep * own);
	set_leaf(bar, s->left,
		 get_leaf(bar, s->left) + (program.smooth ? own * (cos(a) * cos(b)) : own * b));
	set_leaf(bar, s->right,
		 get_leaf(bar, s->right) + (program.smooth ? own * (-sin(a) * sin(b)) : own * a));
	if (!program.smooth)
		wrap_memory(bar);
}

/* ---- Copies ---- */

/* What is copied from one rank to another; all of an operation is read before any is written. */
struct copy {
	struct slice from, to; /* `from` has the units that are copied */
	int sender, receiver;  /* ranks of the world */
};

enum { MAX_COPIES = MAX_RANKS * MAX_RANKS };

static union unit carried[MAX_COPIES][MAX_UNITS];

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
static int taken_by(int index, const comm_t *c, int m)
{
	int to = program.operation[index].exchange.message[m].to;

	return to == NOBODY ? m : oracle.decided[c->member[to]].taken[index][m];
}

/* Whether MPI allows what the run decided: each message once, none overtaken by a later one. */
static const char *check_taken(int index, const comm_t *c)
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

static int copies_of(struct copy *copies, int index, const comm_t *c)
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

static void set_marks(const struct exchange *e, const comm_t *c, bool reverse)
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

static int copies_of_move(struct copy *copies, const struct move_operation *o, const comm_t *c)
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

static int copies_of_bcast(struct copy *copies, const struct operation *o, const comm_t *c)
{
	int n = 0, root = o->bcast.root;

	for (int i = 0; i < c->size; i++)
		if (i != root)
			copies[n++] = (struct copy){o->bcast.slice[root], o->bcast.slice[i],
						    c->member[root], c->member[i]};
	return n;
}

static int copies_for(struct copy *copies, int index, const comm_t *c)
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

/* ---- Reductions, number by number ---- */

static bool is_scattered(const struct reduction_operation *r)
{
	return r->reducing == REDUCE_SCATTER || r->reducing == REDUCE_SCATTER_BLOCK;
}

/* Where result k of the operands goes on rank i, or -1; the operands of ranks [0, *end) are in it. */
static int result_at(const struct reduction_operation *r, const comm_t *c, int i, int k, int *end)
{
	int at = k;

	*end = c->size;
	if (r->reducing == REDUCE)
		return i == r->root ? r->result[i] + k : -1;
	if (r->reducing == SCAN || r->reducing == EXSCAN)
		*end = i + (r->reducing == SCAN);
	for (int j = 0; is_scattered(r) && j < i; j++)
		at -= r->counts[j];
	if (*end == 0 || at < 0 || (is_scattered(r) && at >= r->counts[i]))
		return -1;
	return r->result[i] + at;
}

static void *operand_of(const struct reduction_operation *r, const comm_t *c, int i, int k,
			struct memory *all)
{
	bool in_place = r->in_place && (r->reducing != REDUCE || i == r->root);

	return unit(&all[c->member[i]], r->kind, (in_place ? r->result[i] : r->operand[i]) + k);
}

/* The rank below `end` with the minimum or maximum: the lowest of several. */
static int winner(const struct reduction_operation *r, const struct pair *x, int end)
{
	int best = 0;

	for (int i = 1; i < end; i++) {
		bool less = r->operator == MIN || r->operator == MINLOC;
		bool with_index = r->operator == MINLOC || r->operator == MAXLOC;

		if (less ? x[i].value < x[best].value : x[i].value > x[best].value)
			best = i;
		else if (with_index && x[i].value == x[best].value && x[i].number < x[best].number)
			best = i;
	}
	return best;
}

/* The result of the operands of ranks [0, end), and its derivatives. */
static struct pair combine(const struct reduction_operation *r, const struct pair *x, int end,
			   double *factors)
{
	struct pair result = {r->operator == PROD, 0};
	int best = winner(r, x, end);

	for (int i = 0; i < end; i++) {
		factors[i] = r->operator == SUM || (r->operator != PROD && i == best);
		if (r->operator == PROD) {
			factors[i] = 1;
			for (int j = 0; j < end; j++)
				factors[i] *= j == i ? 1 : x[j].value;
			result.value *= x[i].value;
		} else if (r->operator == SUM) {
			result.value += x[i].value;
		}
	}
	return r->operator == SUM || r->operator == PROD ? result : x[best];
}

/* The parts of a complex number are summed one by one. */
static int parts_of(const struct reduction_operation *r)
{
	return r->kind >= COMPLEX ? 2 : 1;
}

static void set_part(void *u, enum kind kind, int part, struct pair value)
{
	if (kind == FLOATS || kind == FLOAT_COMPLEX)
		((float *)u)[part] = (float)value.value;
	else if (kind == LONGS || kind == LONG_COMPLEX)
		((long double *)u)[part] = value.value;
	else
		((double *)u)[part] = value.value;
	if (kind == PAIRS)
		((struct pair *)u)->number = value.number;
}

static struct pair part_of(const void *u, enum kind kind, int part)
{
	if (kind == PAIRS)
		return *(const struct pair *)u;
	if (kind == FLOATS || kind == FLOAT_COMPLEX)
		return (struct pair){((const float *)u)[part], 0};
	if (kind == LONGS || kind == LONG_COMPLEX)
		return (struct pair){(double)((const long double *)u)[part], 0};
	return (struct pair){((const double *)u)[part], 0};
}

static void clear_results(const struct reduction_operation *r, const comm_t *c, struct memory *all)
{
	static const union unit zero;

	for (int i = 0; i < c->size; i++) {
		bool undefined = (r->reducing == EXSCAN && i == 0) || (is_scattered(r) && r->in_place);

		for (int k = 0; undefined && k < r->count; k++)
			if (!is_scattered(r) || k >= r->counts[i])
				copy_unit(unit(&all[c->member[i]], r->kind, r->result[i] + k), &zero,
					  r->kind);
	}
}

static void reduce(const struct reduction_operation *r, const comm_t *c)
{
	static struct pair x[16][2][MAX_RANKS];
	double factors[MAX_RANKS];
	int end, at;

	for (int k = 0; k < r->count; k++)
		for (int part = 0; part < parts_of(r); part++)
			for (int i = 0; i < c->size; i++)
				x[k][part][i] = part_of(operand_of(r, c, i, k, oracle.x), r->kind,
							part);
	for (int k = 0; k < r->count; k++)
		for (int part = 0; part < parts_of(r); part++)
			for (int i = 0; i < c->size; i++) {
				at = result_at(r, c, i, k, &end);
				if (at < 0)
					continue;
				set_part(unit(&oracle.x[c->member[i]], r->kind, at), r->kind, part,
					 combine(r, x[k][part], end, factors));
				for (int j = 0; j < end; j++)
					push(factors[j]);
			}
	clear_results(r, c, oracle.x);
}

static void reduce_reverse(const struct reduction_operation *r, const comm_t *c)
{
	static double to_operand[16][2][MAX_RANKS];
	int end, at;

	memset(to_operand, 0, sizeof to_operand);
	clear_results(r, c, oracle.bar);
	for (int k = r->count; k-- > 0;)
		for (int part = parts_of(r); part-- > 0;)
			for (int i = c->size; i-- > 0;) {
				struct pair own;
				void *u;

				at = result_at(r, c, i, k, &end);
				if (at < 0)
					continue;
				u = unit(&oracle.bar[c->member[i]], r->kind, at);
				own = part_of(u, r->kind, part);
				for (int j = end; j-- > 0;)
					to_operand[k][part][j] += pop() * own.value;
				own.value = 0;
				set_part(u, r->kind, part, own);
			}
	for (int k = 0; k < r->count; k++)
		for (int part = 0; part < parts_of(r); part++)
			for (int i = 0; i < c->size; i++) {
				void *u = operand_of(r, c, i, k, oracle.bar);
				struct pair own = part_of(u, r->kind, part);

				own.value += to_operand[k][part][i];
				set_part(u, r->kind, part, own);
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
	const comm_t *c = &program.communicator[o->communicator];
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
		reduce(&o->reduction, c);
	carry(copies, copies_for(copies, index, c));
	wrap_all(oracle.x);
	return NULL;
}

void oracle_reverse(int index)
{
	const struct operation *o = &program.operation[index];
	const comm_t *c = &program.communicator[o->communicator];
	struct copy copies[MAX_COPIES];

	for (int i = program.ranks; o->kind == LOCAL && i-- > 0;)
		for (int k = o->statements; k-- > 0;)
			calculate_reverse(&o->statement[i][k], &oracle.bar[i]);
	carry_back(copies, copies_for(copies, index, c));
	if (o->kind == REDUCTION)
		reduce_reverse(&o->reduction, c);
	if (o->kind == EXCHANGE)
		set_marks(&o->exchange, c, true);
	wrap_all(oracle.bar);
}
