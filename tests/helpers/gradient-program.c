/* SPDX-License-Identifier: MIT */
#include <config.h>

#include "gradient-program.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <reel.h>
#include <reel/extend.h>
#include <reel/plan.h>

#include "../../dropin/adstack/reel-adstack.h"
#include "omp-reports.h"

enum { SEGMENT_STEPS = 40, STATIC_CHUNK = 7, MAX_TOLD = 64 };

struct state {
	double x[GRADIENT_CELLS];
};

/* The context of the callbacks. */
struct program {
	const struct gradient_options *options;
	reel_lane *root;
	struct state *state;
	struct gradient *adjoint;
	int64_t step;
	int error;
	jmp_buf adstack_failed;
};

struct gradient_options gradient_defaults(void)
{
	return (struct gradient_options){
		.segments = 5,
		.slab_bytes = 4096,
		.slabs = 24,
		.compressed = HAVE_LZ4,
		.threads = OMP_IS_UNSEEN ? 1 : GRADIENT_THREADS,
		.restart = "restart",
		.adstack = true,
	};
}

/* ---- The loop: x[i] = factor[i] sin(x[i]) + 0.1 x[i + 1], where that is positive ---- */

static double factor_of(int i)
{
	return 1.2 + 0.3 * sin(i);
}

static double stepped(const struct state *before, int i)
{
	double neighbour = before->x[(i + 1) % GRADIENT_CELLS];

	return factor_of(i) * sin(before->x[i]) + (neighbour > 0 ? 0.1 * neighbour : 0);
}

/* Adds to the adjoint of the state before; y_bar is the adjoint of stepped()'s result. */
static void reverse_cell(struct gradient *to, int i, double x, bool positive, double y_bar)
{
	to->factor_bar[i] += sin(x) * y_bar;
	to->x_bar[i] += factor_of(i) * cos(x) * y_bar;
	if (positive)
		to->x_bar[(i + 1) % GRADIENT_CELLS] += 0.1 * y_bar;
}

static void begin_state(struct state *state)
{
	for (int i = 0; i < GRADIENT_CELLS; i++)
		state->x[i] = cos(0.7 * i);
}

static void begin_adjoint(struct gradient *adjoint)
{
	memset(adjoint, 0, sizeof *adjoint);
	for (int i = 0; i < GRADIENT_CELLS; i++)
		adjoint->x_bar[i] = 1.0 / (1 + i);
}

static void step(struct state *state)
{
	struct state before = *state;

	for (int i = 0; i < GRADIENT_CELLS; i++)
		state->x[i] = stepped(&before, i);
}

/* Cells after each other, so that the sums are the same for every number of threads. */
static void reverse_step(struct gradient *adjoint, const double *x, const bool *positive)
{
	double y_bar[GRADIENT_CELLS];

	memcpy(y_bar, adjoint->x_bar, sizeof y_bar);
	memset(adjoint->x_bar, 0, sizeof adjoint->x_bar);
	for (int i = GRADIENT_CELLS; i-- > 0;)
		reverse_cell(adjoint, i, x[i], positive[i], y_bar[i]);
}

void gradient_expected(const struct gradient_options *options, struct gradient *gradient)
{
	int64_t steps = options->segments * SEGMENT_STEPS;
	struct state *states = calloc((size_t)steps + 1, sizeof *states);

	begin_state(&states[0]);
	for (int64_t n = 0; n < steps; n++) {
		states[n + 1] = states[n];
		step(&states[n + 1]);
	}
	begin_adjoint(gradient);
	for (int64_t n = steps; n-- > 0;) {
		bool positive[GRADIENT_CELLS];

		for (int i = 0; i < GRADIENT_CELLS; i++)
			positive[i] = states[n].x[(i + 1) % GRADIENT_CELLS] > 0;
		reverse_step(gradient, states[n].x, positive);
	}
	free(states);
}

/* ---- Where values go: to lanes, to the run's tape, and to the stack ---- */

/* The library's functions instead of their inline fast paths. */
static void push_real(const struct program *program, reel_tape *tape, double x)
{
	static const reel_type type = {"double", sizeof x, _Alignof(double), REEL_FLOATING};
	char *slot;

	if (!program->options->calls) {
		reel_push(tape, x);
		return;
	}
	slot = reel_push_slow(tape, &type, REEL_HERE);
	if (!slot)
		return;
	memcpy(slot, &x, sizeof x);
	tape->top = slot + sizeof x;
}

static double pop_real(const struct program *program, reel_tape *tape)
{
	static const reel_type type = {"double", sizeof(double), _Alignof(double), REEL_FLOATING};
	double x;

	if (!program->options->calls)
		return reel_pop(tape, double);
	memcpy(&x, reel_pop_slow(tape, &type, REEL_HERE), sizeof x);
	return x;
}

/* A bit for the branch of each cell, below it its value. */
static void push_cells(const struct program *program, reel_lane *lane)
{
	const double *x = program->state->x;
	reel_tape *tape = reel_lane_tape(lane);

	REEL_FOR(lane, int, i, 0, GRADIENT_CELLS, reel_static(STATIC_CHUNK)) {
		push_real(program, tape, x[i]);
		reel_push_bit(tape, x[(i + 1) % GRADIENT_CELLS] > 0);
	}
}

static void pop_cells(const struct program *program, reel_lane *lane, double *x, bool *positive)
{
	reel_tape *tape = reel_lane_tape(lane);

	REEL_FOR_REVERSE(lane, int, i, 0, GRADIENT_CELLS, reel_static(STATIC_CHUNK)) {
		positive[i] = reel_pop_bit(tape);
		x[i] = pop_real(program, tape);
	}
}

static int push_by_lanes(const struct program *program)
{
	reel_region *region = reel_region_begin(program->root, GRADIENT_LANES);

#ifdef _OPENMP
#pragma omp parallel num_threads(program->options->threads)
#endif
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker))
			push_cells(program, worker.lane);
	}
	return reel_region_end(region);
}

static int pop_by_lanes(const struct program *program, double *x, bool *positive)
{
	reel_region *region = reel_region_reverse(program->root);

#ifdef _OPENMP
#pragma omp parallel num_threads(program->options->threads)
#endif
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker))
			pop_cells(program, worker.lane, x, positive);
	}
	return reel_region_end(region);
}

static void push_step_number(struct program *program, reel_tape *tape, int64_t number)
{
	if (program->options->adstack)
		pushReal8((double)number);
	else
		reel_push(tape, (double)number);
}

static double pop_step_number(struct program *program, reel_tape *tape)
{
	double number;

	if (!program->options->adstack)
		return reel_pop(tape, double);
	popReal8(&number);
	return number;
}

/* ---- The callbacks ---- */

static int advance(void *context, void *state, int64_t first, int64_t last)
{
	(void)context;
	for (int64_t n = first; n < last; n++)
		step(state);
	return 0;
}

/* The state is also pushed as a whole: the run's tape also spills, and one checks the other. */
static int record_one(struct program *program, int64_t number, reel_tape *tape)
{
	int error = push_by_lanes(program);

	if (error)
		return error;
	reel_push_array(tape, program->state->x, GRADIENT_CELLS);
	push_step_number(program, tape, number);
	step(program->state);
	return reel_tape_error(tape);
}

/* Steps are counted in the program: a longjmp() may undo changes of registers. */
static int record(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	struct program *program = context;

	program->state = state;
	program->error = 0;
	program->step = first;
	if (setjmp(program->adstack_failed))
		return program->error;
	while (program->step < last && !program->error)
		program->error = record_one(program, program->step++, tape);
	return program->error;
}

static int reverse_one(struct program *program, int64_t number, reel_tape *tape)
{
	double x[GRADIENT_CELLS], same[GRADIENT_CELLS], popped = pop_step_number(program, tape);
	bool positive[GRADIENT_CELLS] = {false};
	int error;

	reel_pop_array(tape, same, GRADIENT_CELLS);
	error = pop_by_lanes(program, x, positive);
	if (!error)
		error = reel_tape_error(tape);
	if (error)
		return error;
	if (popped != (double)number || memcmp(x, same, sizeof x))
		return -EILSEQ;
	reverse_step(program->adjoint, x, positive);
	return 0;
}

static int reverse(void *context, void *adjoint, int64_t first, int64_t last, reel_tape *tape)
{
	struct program *program = context;

	program->adjoint = adjoint;
	program->error = 0;
	program->step = last;
	if (setjmp(program->adstack_failed))
		return program->error;
	while (program->step > first && !program->error)
		program->error = reverse_one(program, --program->step, tape);
	return program->error;
}

/* ---- Reports ---- */

static struct {
	pthread_mutex_t lock;
	const void *who[MAX_TOLD];
	unsigned count, twice;
	char message[512];
} told = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void note(const void *who, const char *message)
{
	pthread_mutex_lock(&told.lock);
	for (unsigned i = 0; i < told.count && i < MAX_TOLD; i++)
		told.twice += told.who[i] == who;
	if (told.count < MAX_TOLD)
		told.who[told.count] = who;
	if (!told.count++)
		snprintf(told.message, sizeof told.message, "%s", message);
	pthread_mutex_unlock(&told.lock);
}

/* A restart file that was not written is no tape. */
static void note_error(const reel_tape *tape, int error, const char *message, void *context)
{
	(void)error;
	(void)context;
	if (tape)
		note(tape, message);
}

static void note_adstack_error(int error, const char *message, void *context)
{
	struct program *program = context;

	note(program, message);
	program->error = error;
	longjmp(program->adstack_failed, 1);
}

/* ---- The parts ---- */

struct parts {
	struct program program;
	reel_pool *pool;
	reel_store *store; /* not yet the run's */
	reel_plan *plan;
	reel_run *run;
};

static int open_file(struct parts *parts, reel_store **store)
{
	const struct gradient_options *options = parts->program.options;
	struct reel_file_options file = {.directory = ".",
					 .slot_bytes = options->slab_bytes,
					 .threads = 2,
					 .flags = REEL_FILE_TMPFS};

	return reel_store_file_open(store, &file);
}

static int put_on_top(reel_store **store, int error, reel_store *top)
{
	if (error)
		reel_store_close(*store);
	else
		*store = top;
	return error;
}

static int open_store(struct parts *parts, reel_store **store)
{
	const struct gradient_options *options = parts->program.options;
	struct reel_codec_options codec = {.max_bytes = options->slab_bytes};
	reel_store *top = NULL;
	int error = open_file(parts, store);

	if (error)
		return error;
	error = reel_store_checksum_open(&top, *store);
	error = put_on_top(store, error, top);
	if (error || !options->compressed)
		return error;
	error = reel_store_codec_open(&top, *store, &codec);
	return put_on_top(store, error, top);
}

static int open_pool(struct parts *parts)
{
	const struct gradient_options *options = parts->program.options;
	struct reel_pool_options pool = {.slab_bytes = options->slab_bytes,
					 .first_slab_bytes = options->slab_bytes / 4,
					 .magazine_slabs = options->magazine_slabs,
					 .flags = options->flags,
					 .hard_budget = options->slabs * options->slab_bytes};
	int error = options->slabs ? open_store(parts, &pool.store) : 0;

	if (error)
		return error;
	error = reel_pool_open(&parts->pool, &pool);
	if (error)
		reel_store_close(pool.store);
	return error;
}

static int open_run(struct parts *parts)
{
	static const reel_model model = {.state_bytes = sizeof(struct state),
					 .advance = advance, .record = record, .reverse = reverse};
	const struct gradient_options *options = parts->program.options;
	struct reel_problem problem = {.steps = options->segments, .tiers = 2,
				       .tier = {{1, 0, 0}, {2, 0.5, 0.5}}};
	struct reel_run_options run = {.pool = parts->pool,
				       .segment_steps = SEGMENT_STEPS,
				       .gets = options->gets,
				       .restart = options->restart,
				       .restart_seconds = 1e-9,
				       .adjoint_bytes = sizeof(struct gradient)};
	int error = reel_plan_open(&parts->plan, REEL_HIERARCHICAL, &problem);

	if (!error)
		error = open_file(parts, &parts->store);
	if (error)
		return error;
	run.store[1] = parts->store;
	error = reel_run_open(&parts->run, parts->plan, &model, &run);
	if (!error)
		parts->store = NULL;
	return error;
}

static int open_parts(struct parts *parts)
{
	int error = open_pool(parts);

	if (!error)
		error = reel_lane_open(&parts->program.root, parts->pool, 0);
	return error ? error : open_run(parts);
}

/* 0, or that something is left, which is an error of the library. */
static int close_parts(struct parts *parts)
{
	if (parts->program.options->adstack)
		reel_adstack_reset();
	reel_run_close(parts->run);
	reel_store_close(parts->store);
	reel_plan_close(parts->plan);
	reel_lane_close(parts->program.root);
	return reel_pool_close(parts->pool);
}

static int sweep(struct parts *parts, struct gradient *gradient, bool *resumed)
{
	struct state state;
	int error = -ENOENT;

	begin_state(&state);
	if (parts->program.options->restart)
		error = reel_run_resume(parts->run, &parts->program, gradient);
	*resumed = !error;
	if (error && error != -ENOENT)
		return error;
	error = 0;
	if (!reel_run_is_reversing(parts->run)) {
		error = reel_run_forward(parts->run, &parts->program, &state);
		begin_adjoint(gradient);
	}
	return error ? error : reel_run_reverse(parts->run, &parts->program, &state, gradient);
}

static void describe(const struct parts *parts, struct gradient_report *report)
{
	struct reel_run_stats run;
	struct reel_pool_stats pool;

	if (parts->pool) {
		reel_pool_get_stats(parts->pool, &pool);
		report->written_bytes = pool.written_bytes;
		report->read_bytes = pool.read_bytes;
	}
	if (!parts->run)
		return;
	reel_run_get_stats(parts->run, &run);
	report->saves = run.saves;
	report->failed_saves = run.failed_saves;
}

static void explain(int error, struct gradient_report *report)
{
	if (error)
		snprintf(report->message, sizeof report->message, "%s",
			 told.count ? told.message : reel_error_text(error));
	report->told = told.count;
	report->told_twice = told.twice;
}

int gradient_run(const struct gradient_options *options, struct gradient *gradient,
		 struct gradient_report *report)
{
	struct parts parts = {.program = {.options = options}};
	int error, left;

	memset(report, 0, sizeof *report);
	told.count = told.twice = 0;
	reel_set_error_handler(note_error, NULL);
	reel_adstack_set_handler(note_adstack_error, &parts.program);
	error = open_parts(&parts);
	if (!error)
		error = sweep(&parts, gradient, &report->resumed);
	explain(error, report);
	describe(&parts, report);
	left = close_parts(&parts);
	return error ? error : left;
}
