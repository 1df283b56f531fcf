/* SPDX-License-Identifier: MIT */
/* The oracle's reductions: number by number, with the derivative of each result to each operand. */
#include <config.h>

#include <string.h>

#include "ranks.h"

static bool is_scattered(const struct reduction_operation *r)
{
	return r->reducing == REDUCE_SCATTER || r->reducing == REDUCE_SCATTER_BLOCK;
}

/*
 * Where result k of the operands goes on rank i, or -1. The operands of ranks [0, *end) are in it.
 */
static int result_at(const struct reduction_operation *r, int ranks, int i, int k, int *end)
{
	int at = k;

	*end = ranks;
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

static void *operand_of(const struct reduction_operation *r, const struct communicator *c, int i,
			int k, struct memory *all)
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

/* Overwrites values that the standard leaves undefined by 0. */
static void clear_results(const struct reduction_operation *r, const struct communicator *c,
			  struct memory *all)
{
	static const union any_unit zero;

	for (int i = 0; i < c->size; i++) {
		int first = r->count;

		if (r->reducing == EXSCAN && i == 0)
			first = 0;
		else if (is_scattered(r) && r->in_place)
			first = r->counts[i];
		for (int k = first; k < r->count; k++)
			copy_unit(unit(&all[c->member[i]], r->kind, r->result[i] + k), &zero,
				  r->kind);
	}
}

/* Calls `act` for each number of each operand: element k, part of a complex number, rank i. */
static void each_number(const struct reduction_operation *r, const struct communicator *c,
			void (*act)(const struct reduction_operation *r,
				    const struct communicator *c, int k, int part, int i))
{
	for (int k = 0; k < r->count; k++)
		for (int part = 0; part < parts_of(r); part++)
			for (int i = 0; i < c->size; i++)
				act(r, c, k, part, i);
}

static struct pair operands[2 * MAX_RANKS][2][MAX_RANKS];
static double operand_bars[2 * MAX_RANKS][2][MAX_RANKS];

static void read_operand(const struct reduction_operation *r, const struct communicator *c, int k,
			 int part, int i)
{
	operands[k][part][i] = part_of(operand_of(r, c, i, k, oracle.x), r->kind, part);
}

static void write_result(const struct reduction_operation *r, const struct communicator *c, int k,
			 int part, int i)
{
	double factors[MAX_RANKS];
	int end, at = result_at(r, c->size, i, k, &end);

	if (at < 0)
		return;
	set_part(unit(&oracle.x[c->member[i]], r->kind, at), r->kind, part,
		 combine(r, operands[k][part], end, factors));
	for (int j = 0; j < end; j++)
		oracle_push(factors[j]);
}

void oracle_reduce(const struct reduction_operation *r, const struct communicator *c)
{
	each_number(r, c, read_operand);
	each_number(r, c, write_result);
	clear_results(r, c, oracle.x);
}

/* Takes the adjoint of a result, and gives it to the operands. */
static void take_result(const struct reduction_operation *r, const struct communicator *c, int k,
			int part, int i)
{
	int end, at = result_at(r, c->size, i, k, &end);
	struct pair own;
	void *u;

	if (at < 0)
		return;
	u = unit(&oracle.bar[c->member[i]], r->kind, at);
	own = part_of(u, r->kind, part);
	for (int j = end; j-- > 0;)
		operand_bars[k][part][j] += oracle_pop() * own.value;
	own.value = 0;
	set_part(u, r->kind, part, own);
}

static void add_operand(const struct reduction_operation *r, const struct communicator *c, int k,
			int part, int i)
{
	void *u = operand_of(r, c, i, k, oracle.bar);
	struct pair own = part_of(u, r->kind, part);

	own.value += operand_bars[k][part][i];
	set_part(u, r->kind, part, own);
}

void oracle_reduce_reverse(const struct reduction_operation *r, const struct communicator *c)
{
	memset(operand_bars, 0, sizeof operand_bars);
	clear_results(r, c, oracle.bar);
	for (int k = r->count; k-- > 0;)
		for (int part = parts_of(r); part-- > 0;)
			for (int i = c->size; i-- > 0;)
				take_result(r, c, k, part, i);
	each_number(r, c, add_operand);
}
