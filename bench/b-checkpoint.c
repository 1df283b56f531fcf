/* SPDX-License-Identifier: MIT */
/*
 * Runs of plans whose snapshots are on a disk: written behind and read ahead, against the same in
 * memory, against a store that has each transfer waited for, and rounded to a tolerance. The time
 * that rounding takes. Plans that learn, against the plan that measured costs choose, and where
 * states alone are kept. And the cost of a run itself, with steps of next to nothing, by callbacks
 * and driven by the program.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include <reel/extend.h>
#include <reel/plan.h>

#include "common/bench.h"
#include "helpers/store-later.h"
#include "helpers/store-verbs.h"

/* Doubles; a snapshot is 8 MiB. */
#define STATE ((size_t)1 << 20)
#define STEPS 48
#define PERIOD 4
#define PASSES 6

/* ---- A store without overlap ---- */

static void wait_put(reel_store *store, reel_transfer *transfer)
{
	reel_store *below = store_below(store);

	reel_store_put(below, transfer);
	reel_store_sync(below, -1);
}

static void wait_get(reel_store *store, reel_transfer *transfer)
{
	reel_store *below = store_below(store);

	reel_store_get(below, transfer);
	reel_store_sync(below, -1);
}

static void wait_close(reel_store *store)
{
	reel_store_close(store_below(store));
	free(store);
}

static const struct reel_store_verbs waiting_verbs = {
	.name = "waiting", .put = wait_put, .get = wait_get, .drop = pass_drop,
	.sync = pass_sync, .capacity = pass_capacity, .close = wait_close};

static reel_store *without_overlap(reel_store *below)
{
	struct passing_store *waiting = malloc(sizeof *waiting);

	if (!waiting)
		abort();
	*waiting = (struct passing_store){{&waiting_verbs}, below};
	return &waiting->store;
}

/* ---- A disk of 0.6 GB/s ---- */

static void take_time(const reel_transfer *transfer)
{
	const struct timespec time = {.tv_nsec = (long)((double)transfer->bytes / 0.6)};

	nanosleep(&time, NULL);
}

static void slow_put(reel_store *store, reel_transfer *transfer)
{
	take_time(transfer);
	reel_store_put(store_below(store), transfer);
}

static void slow_get(reel_store *store, reel_transfer *transfer)
{
	take_time(transfer);
	reel_store_get(store_below(store), transfer);
}

static const struct reel_store_verbs slow_verbs = {
	.name = "slow", .put = slow_put, .get = slow_get, .drop = pass_drop,
	.sync = pass_sync, .capacity = pass_capacity, .close = wait_close};

/* Keeps its data in memory, one transfer at a time. */
static reel_store *slow_disk(void)
{
	struct passing_store *slow = malloc(sizeof *slow);
	reel_store *memory, *store;

	if (!slow || reel_store_memory_open(&memory, UINT64_MAX))
		abort();
	*slow = (struct passing_store){{&slow_verbs}, memory};
	store = store_later_open(&slow->store);
	if (!store)
		abort();
	return store;
}

/* ---- The loop ---- */

/* A step is a vector loop of some passes, which take longer than a plain transfer. */
static int advance(void *context, void *state, int64_t first, int64_t last)
{
	double *x = state;

	(void)context;
	for (int64_t pass = first * PASSES; pass < last * PASSES; pass++)
		for (size_t i = 0; i < STATE; i++)
			x[i] += 1e-3 * x[i] * (1 - x[i]);
	return 0;
}

static int record(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	for (int64_t step = first; step < last; step++) {
		memcpy(reel_push_span(tape, double, STATE), state, STATE * sizeof(double));
		advance(context, state, step, step + 1);
	}
	return 0;
}

/* As if the passes were one: only the amount of calculation matters here. */
static int reverse(void *context, void *adjoint, int64_t first, int64_t last, reel_tape *tape)
{
	double *bar = adjoint;

	(void)context;
	for (int64_t step = first; step < last; step++) {
		const double *x = reel_pop_span(tape, double, STATE);

		for (int pass = 0; pass < PASSES; pass++)
			for (size_t i = 0; i < STATE; i++)
				bar[i] += 1e-3 * bar[i] * (1 - 2 * x[i]);
	}
	return 0;
}

struct loop {
	reel_plan *plan;
	reel_run *run;
	double *state;
	double *bar;
	reel_pool *pool; /* NULL: the default pool */
};

static double run_loop(void *context, size_t n)
{
	struct loop *loop = context;
	int64_t steps = STEPS;

	for (size_t i = 0; i < STATE; i++) {
		loop->state[i] = 0.5 + 0.4 * sin(1e-3 * (double)i);
		loop->bar[i] = 1;
	}
	if (reel_run_forward(loop->run, &steps, loop->state) ||
	    reel_run_reverse(loop->run, &steps, loop->state, loop->bar))
		abort();
	return loop->bar[n % STATE];
}

/* A tolerance above 0 rounds the snapshots to it. */
static void open_loop(struct loop *loop, reel_store *store, int64_t period, double tolerance)
{
	static const struct reel_field field = {REEL_FIELD_DOUBLE, 1, {STATE}};
	static const reel_model model = {.state_bytes = STATE * sizeof(double), .advance = advance,
					 .record = record, .reverse = reverse};
	struct reel_problem problem = {.steps = STEPS, .period = period, .tiers = 2,
				       .tier = {{.slots = 2}, {.slots = STEPS}}};
	const struct reel_loss loss = {.field = &field, .fields = 1, .tolerance = tolerance,
				       .first_tier = 1};
	struct reel_run_options options = {.store = {NULL, store},
					   .loss = tolerance > 0 ? &loss : NULL};

	loop->state = bench_memory(STATE * sizeof(double));
	loop->bar = bench_memory(STATE * sizeof(double));
	if (reel_plan_open(&loop->plan, REEL_TWO_LEVEL, &problem) ||
	    reel_run_open(&loop->run, loop->plan, &model, &options))
		abort();
}

static void close_loop(struct loop *loop)
{
	reel_run_close(loop->run);
	reel_plan_close(loop->plan);
	bench_memory_free(loop->state, STATE * sizeof(double));
	bench_memory_free(loop->bar, STATE * sizeof(double));
	if (loop->pool)
		reel_pool_close(loop->pool);
}

static reel_store *file(void)
{
	struct reel_file_options options = {.directory = bench_directory()};
	reel_store *store;

	if (reel_store_file_open(&store, &options))
		abort();
	return store;
}

static void measure_tiers(void)
{
	static struct loop memory, disk, waiting, rounded;
	static const struct measure_variant variants[] = {
		{.name = "in memory", .run = run_loop, .context = &memory},
		{.name = "disk", .run = run_loop, .context = &disk},
		{.name = "disk, without overlap", .run = run_loop, .context = &waiting},
		{.name = "disk, rounded to 1e-6", .run = run_loop, .context = &rounded},
	};
	static const struct bench_case one = {"checkpoint/tiers", variants, COUNT_OF(variants), 0,
					      {STATE * STEPS}, STATE * STEPS, 7};

	if (!bench_wants(&one, 1))
		return;
	open_loop(&memory, NULL, PERIOD, 0);
	open_loop(&disk, file(), PERIOD, 0);
	open_loop(&waiting, without_overlap(file()), PERIOD, 0);
	open_loop(&rounded, file(), PERIOD, 1e-6);
	bench_run(&one);
	close_loop(&memory);
	close_loop(&disk);
	close_loop(&waiting);
	close_loop(&rounded);
}

/* Stores each state: the disk takes longer than the steps. */
static void measure_slow_disk(void)
{
	static struct loop whole, rounded;
	static const struct measure_variant variants[] = {
		{.name = "whole states", .run = run_loop, .context = &whole},
		{.name = "rounded to 1e-6", .run = run_loop, .context = &rounded},
	};
	static const struct bench_case one = {"checkpoint/slow-disk", variants, COUNT_OF(variants),
					      0, {STATE * STEPS}, STATE * STEPS, 7};

	if (!bench_wants(&one, 1))
		return;
	open_loop(&whole, slow_disk(), 1, 0);
	open_loop(&rounded, slow_disk(), 1, 1e-6);
	bench_run(&one);
	close_loop(&whole);
	close_loop(&rounded);
}

/* ---- Fields ---- */

static const struct reel_field grid = {REEL_FIELD_DOUBLE, 2, {1024, STATE / 1024}};

struct field {
	double *values;
	char *packed;
	size_t bytes;
};

static double pack_field(void *context, size_t n)
{
	struct field *field = context;

	(void)n;
	field->bytes = reel_field_pack(&grid, 1e-6, field->packed, field->values);
	return (double)field->bytes;
}

static double unpack_field(void *context, size_t n)
{
	struct field *field = context;

	if (reel_field_unpack(&grid, field->values, field->packed, field->bytes) != field->bytes)
		abort();
	return field->values[n / 2];
}

static void measure_field(void)
{
	static struct field field;
	static const struct measure_variant variants[] = {
		{.name = "pack", .run = pack_field, .context = &field},
		{.name = "unpack", .run = unpack_field, .context = &field},
	};
	static const struct bench_case one = {"checkpoint/field", variants, COUNT_OF(variants), 0,
					      {STATE}, STATE, 7};

	if (!bench_wants(&one, 1))
		return;
	field.values = bench_memory(STATE * sizeof(double));
	field.packed = bench_memory(reel_field_room(&grid));
	for (size_t i = 0; i < STATE && field.values; i++)
		field.values[i] = sin(6e-3 * (double)(i / 1024)) * cos(1e-2 * (double)(i % 1024));
	if (field.values)
		pack_field(&field, STATE);
	bench_run(&one);
	bench_memory_free(field.values, STATE * sizeof(double));
	bench_memory_free(field.packed, reel_field_room(&grid));
}

/* ---- Plans that learn ---- */

static const reel_model spans = {.state_bytes = STATE * sizeof(double), .advance = advance,
				 .record = record, .reverse = reverse};

/* The context of a run is the number of its steps. */
static bool is_over(void *context, const void *state, int64_t step)
{
	(void)state;
	return step == *(const int64_t *)context;
}

static void open_pool(struct loop *loop, size_t budget, bool spills)
{
	struct reel_pool_options options = {.hard_budget = budget,
					    .store = spills ? file() : NULL};

	if (reel_pool_open(&loop->pool, &options))
		abort();
	loop->state = bench_memory(STATE * sizeof(double));
	loop->bar = bench_memory(STATE * sizeof(double));
}

/* The plan that the costs of the first steps choose, which are measured before. */
static void open_chosen(struct loop *loop, size_t budget)
{
	struct reel_costs costs = {.steps = STEPS, .memory_bytes = budget - budget / 8};
	struct reel_run_options options = {0};
	struct reel_choice choice;
	reel_tape tape;

	open_pool(loop, budget, false);
	reel_tape_open(&tape, loop->pool, 0);
	if (reel_costs_measure(&costs, &tape, &spans, NULL, loop->state, loop->bar) ||
	    reel_costs_choose(&costs, &choice))
		abort();
	reel_tape_close(&tape);
	options.pool = loop->pool;
	options.segment_steps = choice.best.segment_steps;
	options.steps = STEPS;
	if (reel_plan_open(&loop->plan, choice.best.planner, &choice.best.problem) ||
	    reel_run_open(&loop->run, loop->plan, &spans, &options))
		abort();
}

static void open_learning(struct loop *loop, size_t budget, int64_t steps, bool spills)
{
	const struct reel_problem problem = {.steps = steps};
	struct reel_run_options options = {
		.finished = steps == REEL_UNKNOWN_STEPS ? is_over : NULL};

	open_pool(loop, budget, spills);
	options.pool = loop->pool;
	if (reel_plan_open_auto(&loop->plan, &problem, NULL) ||
	    reel_run_open(&loop->run, loop->plan, &spans, &options))
		abort();
}

/* Memory for a number of the 48 tapes; each tape is as large as a state. */
static void measure_learning(const char *name, size_t tapes)
{
	static struct loop chosen, known, unknown, spilling;
	static const struct measure_variant variants[] = {
		{.name = "chosen by measured costs", .run = run_loop, .context = &chosen},
		{.name = "auto", .run = run_loop, .context = &known},
		{.name = "auto, the end not known", .run = run_loop, .context = &unknown},
		{.name = "auto, with a file", .run = run_loop, .context = &spilling},
	};
	const struct bench_case one = {name, variants, COUNT_OF(variants), 0,
				       {STATE * STEPS}, STATE * STEPS, 5};
	size_t budget = tapes * STATE * sizeof(double);

	if (!bench_starts(&one))
		return;
	open_chosen(&chosen, budget);
	open_learning(&known, budget, STEPS, false);
	open_learning(&unknown, budget, REEL_UNKNOWN_STEPS, false);
	open_learning(&spilling, budget, REEL_UNKNOWN_STEPS, true);
	bench_run(&one);
	close_loop(&chosen);
	close_loop(&known);
	close_loop(&unknown);
	close_loop(&spilling);
}

/* ---- States alone, in a loop of short steps ---- */

enum { CELLS = 12500, ALONE_STEPS = 2000, ALONE_BUDGET = 20 << 20 };

static double cells[CELLS], cells_bar[CELLS], kept_cells[CELLS];

static int alone_advance(void *context, void *state, int64_t first, int64_t last)
{
	double *x = state;

	(void)context;
	for (int64_t step = first; step < last; step++)
		for (size_t i = CELLS; --i > 0;)
			x[i] -= 0.1 * (x[i] * x[i] - x[i - 1] * x[i - 1]);
	return 0;
}

static int alone_record(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	(void)tape;
	memcpy(kept_cells, state, sizeof kept_cells);
	return alone_advance(context, state, first, last);
}

static int alone_reverse(void *context, void *adjoint, int64_t first, int64_t last, reel_tape *tape)
{
	double *bar = adjoint;

	(void)context, (void)first, (void)last, (void)tape;
	for (size_t i = 0; i + 1 < CELLS; i++)
		bar[i] += 0.2 * kept_cells[i] * (bar[i + 1] - bar[i]);
	return 0;
}

struct alone {
	enum reel_planner planner;
	int64_t steps, slots;
	bool spills;
};

/* The first gradient of a run: nothing is known of the loop and the disk. */
static double run_alone(void *context, size_t n)
{
	const reel_model model = {.state_bytes = sizeof cells, .advance = alone_advance,
				  .record = alone_record, .reverse = alone_reverse};
	const struct alone *alone = context;
	struct reel_problem problem = {.steps = alone->steps, .flags = REEL_REVERSE_AT_ONCE,
				       .tiers = 1, .tier = {{.slots = alone->slots}}};
	struct reel_pool_options pool = {.hard_budget = ALONE_BUDGET,
					 .store = alone->spills ? slow_disk() : NULL};
	struct reel_run_options options = {
		.finished = alone->steps == REEL_UNKNOWN_STEPS ? is_over : NULL};
	int64_t steps = ALONE_STEPS;
	reel_plan *plan;
	reel_run *run;

	for (size_t i = 0; i < CELLS; i++) {
		cells[i] = 1 + 0.5 * sin(5e-4 * (double)i);
		cells_bar[i] = 1;
	}
	if (reel_pool_open(&options.pool, &pool) ||
	    reel_plan_open(&plan, alone->planner, &problem) ||
	    reel_run_open(&run, plan, &model, &options) || reel_run_forward(run, &steps, cells) ||
	    reel_run_reverse(run, &steps, cells, cells_bar))
		abort();
	reel_run_close(run);
	reel_plan_close(plan);
	reel_pool_close(options.pool);
	return cells_bar[n % CELLS];
}

static void measure_states_alone(void)
{
	static struct alone memory = {REEL_BINOMIAL, ALONE_STEPS, 100, false};
	static struct alone all = {REEL_BINOMIAL, ALONE_STEPS, 1000, true};
	static struct alone known = {REEL_AUTO, ALONE_STEPS, 1024, true};
	static struct alone unknown = {REEL_AUTO, REEL_UNKNOWN_STEPS, 1024, true};
	static const struct measure_variant variants[] = {
		{.name = "binomial in memory", .run = run_alone, .context = &memory},
		{.name = "binomial in memory and disk", .run = run_alone, .context = &all},
		{.name = "auto, with a disk", .run = run_alone, .context = &known},
		{.name = "auto, the end not known", .run = run_alone, .context = &unknown},
	};
	static const struct bench_case one = {"checkpoint/states alone", variants,
					      COUNT_OF(variants), 0, {CELLS * ALONE_STEPS},
					      CELLS * ALONE_STEPS, 7};

	if (bench_wants(&one, 1))
		bench_run(&one);
}

/* ---- Steps of next to nothing ---- */

enum { SHORT_STEPS = 1000, SHORT_SLOTS = 20 };

struct short_loop {
	reel_plan *plan;
	reel_run *run;
	double state;
};

static int short_advance(void *context, void *state, int64_t first, int64_t last)
{
	(void)context;
	*(double *)state += (double)(last - first);
	return 0;
}

static int short_record(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	(void)tape;
	return short_advance(context, state, first, last);
}

static int short_reverse(void *context, void *adjoint, int64_t first, int64_t last, reel_tape *tape)
{
	(void)tape;
	return short_advance(context, adjoint, first, last);
}

static double run_by_callbacks(void *context, size_t n)
{
	struct short_loop *loop = context;
	double bar = 0;

	(void)n;
	loop->state = 0;
	if (reel_run_forward(loop->run, NULL, &loop->state) ||
	    reel_run_reverse(loop->run, NULL, &loop->state, &bar))
		abort();
	return bar;
}

static double run_driven(void *context, size_t n)
{
	struct short_loop *loop = context;
	reel_action action;
	double bar = 0;

	(void)n;
	loop->state = 0;
	if (reel_run_start(loop->run, NULL, &loop->state, &bar))
		abort();
	for (;;) {
		if (reel_run_next(loop->run, &action))
			abort();
		if (action.kind == REEL_ACTION_DONE)
			return bar;
		if (action.kind == REEL_ACTION_REVERSE)
			bar += (double)(action.last - action.first);
		else
			loop->state += (double)(action.last - action.first);
	}
}

static void open_short(struct short_loop *loop)
{
	static const reel_model model = {.state_bytes = sizeof(double), .advance = short_advance,
					 .record = short_record, .reverse = short_reverse};
	struct reel_problem problem = {.steps = SHORT_STEPS, .tiers = 1,
				       .tier = {{.slots = SHORT_SLOTS}}};

	if (reel_plan_open(&loop->plan, REEL_BINOMIAL, &problem) ||
	    reel_run_open(&loop->run, loop->plan, &model, NULL))
		abort();
}

static void measure_short_steps(void)
{
	static struct short_loop loop;
	static const struct measure_variant variants[] = {
		{.name = "callbacks", .run = run_by_callbacks, .context = &loop},
		{.name = "driven", .run = run_driven, .context = &loop},
	};
	static const struct bench_case one = {"checkpoint/short steps", variants,
					      COUNT_OF(variants), 0, {SHORT_STEPS}, SHORT_STEPS,
					      15};

	if (!bench_wants(&one, 1))
		return;
	open_short(&loop);
	bench_run(&one);
	reel_run_close(loop.run);
	reel_plan_close(loop.plan);
}

void bench_checkpoint(void)
{
	measure_short_steps();
	measure_tiers();
	measure_slow_disk();
	measure_field();
	measure_states_alone();
	measure_learning("checkpoint/memory for 6 of 48 tapes", 6);
	measure_learning("checkpoint/memory for 24 of 48 tapes", 24);
	measure_learning("checkpoint/memory for 64 tapes", 64);
}
