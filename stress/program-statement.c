/* SPDX-License-Identifier: MIT */
#include <config.h>

#include <math.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "program.h"
#include "helpers/support.h"

struct cells program_cells;
reel_ordered program_order[MAX_CELLS];

/* ---- The statement of a node ---- */

static unsigned own_cell(const struct place *place, uint64_t random)
{
	if (random % 4 == 0 && place->lane_cell != NO_CELL)
		return place->lane_cell;
	return place->base + (unsigned)(random / 4 % place->cells);
}

static unsigned weight_of(const struct place *place, unsigned to, uint64_t random)
{
	if (!place->team || !place->team->node->region.weighs)
		return NO_CELL;
	if (place->team->node->region.adjoint.policy == REEL_ADJOINT_OWNER)
		return 3 * to + (unsigned)(random % 3);
	return (unsigned)(random % place->team->node->region.weights);
}

static struct statement assignment(const struct node *node, const struct place *place,
				   uint64_t random)
{
	unsigned to = own_cell(place, random);

	return (struct statement){
		.to = to,
		.left = own_cell(place, random >> 14),
		.right = own_cell(place, random >> 28),
		.shared = place->shareds ? place->shared + (unsigned)(random >> 42) % place->shareds
					 : NO_CELL,
		.weight = weight_of(place, to, random >> 8),
		.keep = scramble(random) | 1,
		.factor = scramble(random + 1),
		.words = node->words,
		.style = (unsigned)(random >> 60),
		.place = scramble(node->seed ^ place->base),
	};
}

/* The number of operands is at most the number of lanes, from the first cell of the block on. */
static void take_operands(struct statement *statement, const struct node *node,
			  const struct place *place)
{
	unsigned each = node->construct == REDUCER ? 2 : 1, most = place->cells / each;

	statement->rule = node->construct == REDUCER ? COMPOSE : REDUCE;
	statement->kind = (enum reel_reduction)(node->seed >> 20) % 4;
	statement->left = place->base;
	statement->right = 1 + (unsigned)(node->seed >> 24) % (most < MAX_LANES ? most : MAX_LANES);
	statement->shared = statement->weight = NO_CELL;
}

struct statement program_statement(const struct node *node, const struct place *place)
{
	struct statement statement = assignment(node, place, node->seed);
	const struct team *team = place->team;

	if (node->construct == REDUCTION || node->construct == REDUCER)
		take_operands(&statement, node, place);
	if (node->construct == CRITICAL)
		statement.to = team->section + (unsigned)(node->seed % team->node->region.sections);
	if (node->construct == ATOMIC) {
		statement.to = team->common + (unsigned)(node->seed % team->node->region.commons);
		statement.many = true;
		statement.keep = 1;
	}
	if (node->construct == CRITICAL || node->construct == ATOMIC)
		statement.weight = NO_CELL;
	return statement;
}

/* ---- Forward sweep ---- */

struct pair {
	uint64_t left, right;
};

REEL_RECORD(pair, struct pair);

static void push_pair(reel_tape *tape, unsigned style, struct pair pair)
{
	uint64_t *span;

	switch (style % 4) {
	case 0:
		reel_push(tape, pair.left);
		reel_push(tape, pair.right);
		break;
	case 1:
		reel_push_record(tape, pair, pair);
		break;
	case 2:
		reel_push_array(tape, &pair.left, 2);
		break;
	default:
		span = reel_push_span(tape, uint64_t, 2);
		if (span)
			memcpy(span, &pair, sizeof pair);
	}
}

static struct pair pop_pair(reel_tape *tape, unsigned style)
{
	struct pair pair = {0, 0};
	const uint64_t *span;

	switch (style % 4) {
	case 0:
		pair.right = reel_pop(tape, uint64_t);
		pair.left = reel_pop(tape, uint64_t);
		break;
	case 1:
		pair = reel_pop_record(tape, pair);
		break;
	case 2:
		reel_pop_array(tape, &pair.left, 2);
		break;
	default:
		span = reel_pop_span(tape, uint64_t, 2);
		if (span)
			memcpy(&pair, span, sizeof pair);
	}
	return pair;
}

/* Words that nothing is calculated from: they make tapes long. */
static void push_filler(reel_tape *tape, const struct statement *statement)
{
	uint64_t word[MAX_WORDS];

	for (unsigned i = 0; i < statement->words; i++)
		word[i] = scramble(statement->place + i);
	if (statement->words)
		reel_push_array(tape, word, statement->words);
}

static void pop_filler(reel_tape *tape, const struct statement *statement)
{
	uint64_t word[MAX_WORDS];

	if (statement->words)
		reel_pop_array(tape, word, statement->words);
	for (unsigned i = 0; i < statement->words; i++)
		if (word[i] != scramble(statement->place + i) && !program_error &&
		    !program_has_omitted())
			stress_fail("a word of a lane is wrong, and no error is told");
}

/* ---- The list of statements that ran ---- */

#define MAX_ENTRIES (1u << 18)
#define MAX_OPERANDS (2 * MAX_LANES)
#define ENTRIES_OF_A_TRACE (1u << 15)

struct entry {
	struct statement statement;
	unsigned operands; /* where the oracle keeps them */
};

static struct entry entries[MAX_ENTRIES];
static _Atomic unsigned entry_count;
static uint64_t operands[MAX_ENTRIES * 4];
static unsigned operand_count;

bool program_trace_begin(struct program_trace *trace)
{
	*trace = (struct program_trace){.first = entry_count};
	if (trace->first)
		return trace->first + ENTRIES_OF_A_TRACE <= MAX_ENTRIES;
	operand_count = 0;
	return true;
}

void program_trace_end(struct program_trace *trace)
{
	trace->count = entry_count - trace->first;
	for (unsigned i = 0; i < trace->count; i++)
		trace->places += entries[trace->first + i].statement.place;
}

void program_trace_clear(void)
{
	entry_count = operand_count = 0;
}

static void trace_statement(const struct statement *statement)
{
	/*
	 * Relaxed: of two statements that the program orders, the first one gets the smaller
	 * number without more; nothing else is ordered by it.
	 */
	unsigned at = atomic_fetch_add_explicit(&entry_count, 1, memory_order_relaxed);

	if (at >= MAX_ENTRIES)
		stress_fail("the program has too many statements");
	entries[at].statement = *statement;
}

/* ---- Forward sweep ---- */

void program_dawdle(uint64_t random)
{
	if (random % 128 == 0)
		usleep(20);
	else if (random % 16 == 0)
		sched_yield();
}

static uint64_t rest_of_sum(const struct statement *statement, const uint64_t *x)
{
	uint64_t sum = 0;

	if (statement->left != NO_CELL)
		sum += x[statement->left] * x[statement->right];
	if (statement->shared != NO_CELL)
		sum += statement->factor * x[statement->shared];
	return sum;
}

/* Numbers whose products are exact. */
static void operands_of_reduction(const uint64_t *x, unsigned n, double *operand)
{
	for (unsigned i = 0; i < n; i++)
		operand[i] = (double)(x[i] % 32);
}

static void combine(void *context, void *into, const void *from)
{
	struct pair *a = into;
	const struct pair *b = from;

	(void)context;
	*a = (struct pair){a->left * b->left, a->right * b->left + b->right};
}

static void combine_reverse(void *context, const void *into, const void *from, void *into_bar,
			    void *from_bar)
{
	const struct pair *a = into, *b = from;
	struct pair bar = *(struct pair *)into_bar;

	(void)context;
	*(struct pair *)into_bar = (struct pair){b->left * bar.left, b->left * bar.right};
	*(struct pair *)from_bar =
		(struct pair){a->left * bar.left + a->right * bar.right, bar.right};
}

static const reel_reducer reducer = {sizeof(struct pair), combine, combine_reverse, NULL, 0};

static uint64_t reduce(reel_lane *lane, const struct statement *statement, const uint64_t *x)
{
	double operand[MAX_LANES];
	struct pair result;

	if (statement->rule == COMPOSE) {
		reel_reduce_by(lane, &reducer, &x[statement->left], (int)statement->right, &result);
		return result.left + statement->factor * result.right;
	}
	operands_of_reduction(&x[statement->left], statement->right, operand);
	return (uint64_t)reel_reduce(lane, statement->kind, operand, (int)statement->right);
}

static void record_reduction(const struct place *place, const struct statement *statement)
{
	uint64_t *x = program_cells.x;
	uint64_t result = reduce(place->lane, statement, x);

	x[statement->to] = statement->keep * x[statement->to] + result;
}

static void record_assignment(const struct place *place, const struct statement *statement)
{
	uint64_t *x = program_cells.x, sum = rest_of_sum(statement, x);

	if (statement->left != NO_CELL && !program_omits(OMIT_PUSH))
		push_pair(reel_lane_tape(place->lane), statement->style,
			  (struct pair){x[statement->left], x[statement->right]});
	if (statement->many) {
#pragma omp atomic
		x[statement->to] += sum;
		return;
	}
	program_dawdle(statement->factor);
	x[statement->to] = statement->keep * x[statement->to] + sum;
}

void program_record_statement(const struct place *place, const struct statement *statement)
{
	push_filler(reel_lane_tape(place->lane), statement);
	trace_statement(statement);
	if (statement->rule == ASSIGN)
		record_assignment(place, statement);
	else
		record_reduction(place, statement);
}

/* ---- Reverse sweep ---- */

static double weight_from(uint64_t bar)
{
	return (double)(bar % 1024);
}

/* If another thread adds meanwhile, which it may not, its term is lost. */
static void add_slowly(uint64_t *sum, uint64_t v)
{
	uint64_t before = *sum;

	program_dawdle(v);
	*sum = before + v;
}

static void reverse_assignment(const struct place *place, const struct statement *statement)
{
	uint64_t *bar = program_cells.bar, b;
	struct pair pair = {0, 0};

	if (statement->left != NO_CELL)
		pair = program_omits(OMIT_POP)
			       ? (struct pair){0}
			       : pop_pair(reel_lane_tape(place->lane), statement->style);
	b = bar[statement->to];
	program_dawdle(statement->keep);
	if (!statement->many)
		bar[statement->to] = statement->keep * b;
	if (statement->left != NO_CELL) {
		add_slowly(&bar[statement->left], pair.right * b);
		bar[statement->right] += pair.left * b;
	}
	if (statement->shared != NO_CELL) {
#pragma omp atomic
		bar[statement->shared] += statement->factor * b;
	}
	if (statement->weight != NO_CELL && place->view)
		reel_adjoint_add(place->view, statement->weight, weight_from(b));
}

static void reverse_reduce(reel_lane *lane, const struct statement *statement, uint64_t b)
{
	uint64_t *bar = &program_cells.bar[statement->left];
	double operand_bar[MAX_LANES];

	reel_reduce_reverse(lane, statement->kind, weight_from(b), operand_bar,
			    (int)statement->right);
	for (unsigned i = 0; i < statement->right; i++)
		bar[i] += isnan(operand_bar[i]) ? 0 : (uint64_t)operand_bar[i];
}

static void reverse_compose(reel_lane *lane, const struct statement *statement, uint64_t b)
{
	uint64_t *bar = &program_cells.bar[statement->left];
	struct pair operand_bar[MAX_LANES], result_bar = {b, statement->factor * b};

	reel_reduce_by_reverse(lane, &reducer, &result_bar, operand_bar, (int)statement->right);
	for (unsigned i = 0; i < statement->right; i++) {
		bar[2 * i] += operand_bar[i].left;
		bar[2 * i + 1] += operand_bar[i].right;
	}
}

static void reverse_reduction(const struct place *place, const struct statement *statement)
{
	uint64_t *bar = &program_cells.bar[statement->to], b = *bar;

	*bar = statement->keep * b;
	if (statement->rule == COMPOSE)
		reverse_compose(place->lane, statement, b);
	else
		reverse_reduce(place->lane, statement, b);
}

void program_reverse_statement(const struct place *place, const struct statement *statement)
{
	if (statement->rule == ASSIGN)
		reverse_assignment(place, statement);
	else
		reverse_reduction(place, statement);
	pop_filler(reel_lane_tape(place->lane), statement);
}

/* ---- The oracle ---- */

static void keep_operands(const uint64_t *x, unsigned n)
{
	if (operand_count + n > COUNT_OF(operands))
		stress_fail("the program has too many operands");
	memcpy(&operands[operand_count], x, n * sizeof *x);
	operand_count += n;
}

static double serial_reduction(enum reel_reduction kind, const double *operand, unsigned n)
{
	double result = operand[0];

	for (unsigned i = 1; i < n; i++)
		result = kind == REEL_REDUCE_SUM       ? result + operand[i]
			 : kind == REEL_REDUCE_PRODUCT ? result * operand[i]
			 : kind == REEL_REDUCE_MIN     ? fmin(result, operand[i])
						       : fmax(result, operand[i]);
	return result;
}

static uint64_t serial_compose(const struct statement *statement, const uint64_t *x)
{
	struct pair result = {x[0], x[1]};

	for (unsigned i = 1; i < statement->right; i++)
		combine(NULL, &result, &x[2 * i]);
	return result.left + statement->factor * result.right;
}

static void oracle_record_one(struct entry *entry, uint64_t *x)
{
	const struct statement *statement = &entry->statement;
	double operand[MAX_LANES];
	uint64_t result;

	entry->operands = operand_count;
	if (statement->rule == ASSIGN) {
		result = rest_of_sum(statement, x);
		if (statement->left != NO_CELL) {
			keep_operands(&x[statement->left], 1);
			keep_operands(&x[statement->right], 1);
		}
	} else if (statement->rule == REDUCE) {
		keep_operands(&x[statement->left], statement->right);
		operands_of_reduction(&x[statement->left], statement->right, operand);
		result = (uint64_t)serial_reduction(statement->kind, operand, statement->right);
	} else {
		keep_operands(&x[statement->left], 2 * statement->right);
		result = serial_compose(statement, &x[statement->left]);
	}
	x[statement->to] = statement->keep * x[statement->to] + result;
}

void oracle_record(const struct program_trace *trace, struct cells *cells)
{
	for (unsigned i = 0; i < trace->count; i++)
		oracle_record_one(&entries[trace->first + i], cells->x);
}

/* The adjoint of operand k. */
static double serial_reduction_reverse(const struct statement *statement, const double *operand,
				       unsigned k, double result_bar)
{
	unsigned n = statement->right;
	double product = result_bar, result;

	if (statement->kind == REEL_REDUCE_SUM)
		return result_bar;
	if (statement->kind == REEL_REDUCE_PRODUCT) {
		for (unsigned i = 0; i < n; i++)
			product *= i == k ? 1 : operand[i];
		return product;
	}
	result = serial_reduction(statement->kind, operand, n);
	for (unsigned i = 0; i < k; i++)
		if (operand[i] == result)
			return 0;
	return operand[k] == result ? result_bar : 0;
}

/* y = (a0 a1 ..., ...) as a chain from its first element on. */
static void serial_compose_reverse(const struct statement *statement, const uint64_t *operand,
				   uint64_t *bar, uint64_t b)
{
	struct pair before[MAX_LANES], result_bar = {b, statement->factor * b}, part_bar;

	before[0] = (struct pair){operand[0], operand[1]};
	for (unsigned i = 1; i < statement->right; i++) {
		before[i] = before[i - 1];
		combine(NULL, &before[i], &operand[2 * i]);
	}
	for (unsigned i = statement->right; i-- > 1;) {
		combine_reverse(NULL, &before[i - 1], &operand[2 * i], &result_bar, &part_bar);
		bar[2 * i] += part_bar.left;
		bar[2 * i + 1] += part_bar.right;
	}
	bar[0] += result_bar.left;
	bar[1] += result_bar.right;
}

static void oracle_reverse_one(const struct entry *entry, struct cells *cells)
{
	const struct statement *statement = &entry->statement;
	const uint64_t *operand = &operands[entry->operands];
	uint64_t *bar = cells->bar, b = bar[statement->to];
	double value[MAX_LANES];

	bar[statement->to] = statement->keep * b;
	if (statement->rule == REDUCE) {
		operands_of_reduction(operand, statement->right, value);
		for (unsigned i = 0; i < statement->right; i++)
			bar[statement->left + i] += (uint64_t)serial_reduction_reverse(
				statement, value, i, weight_from(b));
	} else if (statement->rule == COMPOSE) {
		serial_compose_reverse(statement, operand, &bar[statement->left], b);
	} else if (statement->left != NO_CELL) {
		bar[statement->left] += operand[1] * b;
		bar[statement->right] += operand[0] * b;
	}
	if (statement->shared != NO_CELL)
		bar[statement->shared] += statement->factor * b;
	if (statement->weight != NO_CELL)
		cells->weight[statement->weight] += weight_from(b);
}

void oracle_reverse(const struct program_trace *trace, struct cells *cells)
{
	for (unsigned i = trace->count; i-- > 0;)
		oracle_reverse_one(&entries[trace->first + i], cells);
}
