/* SPDX-License-Identifier: MIT */
/*
 * Regions of lanes, recorded by a number of threads and reversed by another number, compared with
 * the values of a serial run. The threads are simulated: the input says which one goes on next. So
 * an input can have any order in which an OpenMP team may run, and has the same order each time.
 */
#include <config.h>

#include <errno.h>
#include <string.h>

#include <reel/reduction.h>
#include <reel/task.h>

#include "fuzz.h"
#include "helpers/support.h"
#include "targets.h"

enum {
	MAX_REGIONS = 4, MAX_PHASES = 3, MAX_LOOPS = 3, MAX_THREADS = 5, MAX_LANES = 8,
	ELEMENTS = 48, MAX_TASKS = 24
};

struct loop_plan {
	reel_chunking chunking;
	int low, high;
};

struct region_plan {
	int lanes, threads, threads_back, phases, loops;
	bool single, nested, reduces;
	enum reel_reduction reduction;
	struct loop_plan loop[MAX_LOOPS];
	int tasks;
};

/* Where a thread is in a region. */
enum stage { TO_TAKE_LANE, IN_LOOPS, TO_DO_SINGLE, AT_PHASE_END };

struct thread {
	reel_worker worker;
	enum stage stage;
	int loop;
	bool in_loop;
	reel_loop at;
};

struct program {
	struct fuzz_input *input;
	reel_lane *root;
	int regions;
	struct region_plan plan[MAX_REGIONS];
	/* Variables that the iterations of each loop change, and their first values. */
	uint64_t x[MAX_LOOPS][ELEMENTS], first[MAX_LOOPS][ELEMENTS];
	double partial[MAX_LANES];
	/* The region that runs now, and its state. */
	const struct region_plan *now;
	int phase;
	bool reverse;
	struct thread thread[MAX_THREADS];
	int ran[MAX_LOOPS][ELEMENTS], singles;
};

static struct program program;

/* ---- The program ---- */

/* It has an inverse, so that the reverse sweep knows the value of each pop. */
static uint64_t step(uint64_t x, int phase, int loop, int i)
{
	return (x + (uint64_t)(unsigned)(phase * 64 + loop * 16 + i)) * 0x9e3779b97f4a7c15u;
}

static void draw_loop(struct fuzz_input *input, struct loop_plan *loop)
{
	unsigned code = fuzz_byte(input), range = fuzz_byte(input);

	loop->chunking = (reel_chunking){.kind = (int32_t)(code % 3),
					 .noted = code % 3 != REEL_STATIC_LOOP || code & 64,
					 .chunk = code / 3 % 7};
	loop->low = (int)(range % 16);
	loop->high = loop->low + (int)(range / 16) * 2;
}

static void draw_region(struct fuzz_input *input, struct region_plan *plan)
{
	unsigned code = fuzz_byte(input);

	plan->lanes = (int)fuzz_below(input, MAX_LANES);
	plan->threads = 1 + (int)fuzz_below(input, MAX_THREADS);
	plan->threads_back = 1 + (int)fuzz_below(input, MAX_THREADS);
	plan->phases = 1 + (int)(code % MAX_PHASES);
	plan->loops = (int)(code / 4 % (MAX_LOOPS + 1));
	plan->single = code & 16;
	plan->nested = code & 32;
	plan->reduces = code & 64;
	plan->reduction = (enum reel_reduction)fuzz_below(input, 4);
	plan->tasks = code & 128 ? (int)fuzz_below(input, MAX_TASKS) : 0;
	for (int l = 0; l < plan->loops; l++)
		draw_loop(input, &plan->loop[l]);
}

/* ---- A lane's work ---- */

/* Runs an inner region of two lanes on one thread. */
static void run_nested(reel_lane *lane, uint64_t value)
{
	reel_region *inner = program.reverse ? reel_region_reverse(lane)
					     : reel_region_begin(lane, 2);
	reel_worker worker = reel_worker_begin(inner, 0, 1);

	while (reel_worker_next(&worker)) {
		uint64_t own = value ^ (uint64_t)reel_lane_index(worker.lane);

		if (program.reverse)
			FUZZ_EXPECT(reel_pop(reel_lane_tape(worker.lane), uint64_t) == own);
		else
			reel_push(reel_lane_tape(worker.lane), own);
	}
	FUZZ_EXPECT(reel_region_end(inner) == 0);
}

static void record_iteration(reel_lane *lane, int loop, int i)
{
	reel_tape *tape = reel_lane_tape(lane);
	uint64_t before = program.x[loop][i];

	reel_push(tape, before);
	if (before % 3 == 0)
		reel_push_bits(tape, before, 5);
	if (program.now->nested && before % 8 == 0)
		run_nested(lane, before);
	program.x[loop][i] = step(before, program.phase, loop, i);
	program.ran[loop][i]++;
}

static void reverse_iteration(reel_lane *lane, int loop, int i)
{
	reel_tape *tape = reel_lane_tape(lane);
	/* The inverse of the factor, modulo 2^64. */
	uint64_t before = program.x[loop][i] * 0xf1de83e19937733du -
			  (uint64_t)(unsigned)(program.phase * 64 + loop * 16 + i);

	FUZZ_EXPECT(step(before, program.phase, loop, i) == program.x[loop][i]);
	if (program.now->nested && before % 8 == 0)
		run_nested(lane, before);
	if (before % 3 == 0)
		FUZZ_EXPECT(reel_pop_bits(tape, 5) == before % 32);
	FUZZ_EXPECT(reel_pop(tape, uint64_t) == before);
	program.x[loop][i] = before;
	program.ran[loop][i]++;
}

static void run_chunk(struct thread *thread, int loop)
{
	reel_lane *lane = thread->worker.lane;

	if (program.reverse)
		for (int64_t i = thread->at.end; i-- > thread->at.first;)
			reverse_iteration(lane, loop, (int)i);
	else
		for (int64_t i = thread->at.first; i < thread->at.end; i++)
			record_iteration(lane, loop, (int)i);
}

/* Runs a step of the thread's present loop. The reverse sweep begins with the last loop. */
static void go_on_with_loop(struct thread *thread)
{
	int loop = program.reverse ? program.now->loops - 1 - thread->loop : thread->loop;
	const struct loop_plan *plan = &program.now->loop[loop];

	if (!thread->in_loop) {
		thread->at = (program.reverse ? reel_loop_reverse : reel_loop_begin)(
			thread->worker.lane, plan->chunking, plan->low, plan->high);
		thread->in_loop = true;
	} else if (reel_loop_next(&thread->at)) {
		run_chunk(thread, loop);
	} else {
		thread->in_loop = false;
		thread->loop++;
	}
}

static void do_single(struct thread *thread)
{
	reel_lane *lane = thread->worker.lane;
	uint64_t value = 1000 + (uint64_t)program.phase;

	if (program.reverse) {
		REEL_SINGLE_REVERSE(lane) {
			program.singles++;
			FUZZ_EXPECT(reel_pop(reel_lane_tape(lane), uint64_t) == value);
		}
	} else {
		REEL_SINGLE(lane) {
			program.singles++;
			reel_push(reel_lane_tape(lane), value);
		}
	}
}

/* ---- Threads ---- */

/* Runs one step of a thread. Other threads may run between two steps. */
static void go_on(struct thread *thread)
{
	switch (thread->stage) {
	case TO_TAKE_LANE:
		thread->loop = 0;
		if (!reel_worker_next(&thread->worker))
			thread->stage = AT_PHASE_END;
		else
			thread->stage = program.reverse ? TO_DO_SINGLE : IN_LOOPS;
		break;
	case IN_LOOPS:
		if (thread->loop < program.now->loops || thread->in_loop)
			go_on_with_loop(thread);
		else
			thread->stage = program.reverse ? TO_TAKE_LANE : TO_DO_SINGLE;
		break;
	case TO_DO_SINGLE:
		if (program.now->single)
			do_single(thread);
		thread->stage = program.reverse ? IN_LOOPS : TO_TAKE_LANE;
		break;
	case AT_PHASE_END:
		break;
	}
}

/* Chooses one of the threads that are not at the end of the phase by `n`; NULL: all are. */
static struct thread *choose(int threads, unsigned n)
{
	struct thread *working[MAX_THREADS];
	unsigned count = 0;

	for (int t = 0; t < threads; t++)
		if (program.thread[t].stage != AT_PHASE_END)
			working[count++] = &program.thread[t];
	return count ? working[n % count] : NULL;
}

static void run_phase(int threads)
{
	struct thread *thread;

	memset(program.ran, 0, sizeof program.ran);
	program.singles = 0;
	while ((thread = choose(threads, fuzz_byte(program.input))))
		for (unsigned steps = 1 + fuzz_below(program.input, 4); steps > 0; steps--)
			go_on(thread);
	FUZZ_EXPECT(program.singles == program.now->single);
	for (int l = 0; l < program.now->loops; l++)
		for (int i = 0; i < ELEMENTS; i++)
			FUZZ_EXPECT(program.ran[l][i] == (i >= program.now->loop[l].low &&
							  i < program.now->loop[l].high));
}

static void run_team(reel_region *region, int threads)
{
	int phases = program.now->phases;

	for (int t = 0; t < threads; t++)
		program.thread[t] =
			(struct thread){.worker = reel_worker_begin(region, t, threads)};
	for (int p = 0; p < phases; p++) {
		program.phase = program.reverse ? phases - 1 - p : p;
		run_phase(threads);
		for (int t = 0; t < threads && p < phases - 1; t++) {
			reel_worker_next_phase(&program.thread[t].worker);
			program.thread[t].stage = TO_TAKE_LANE;
		}
	}
}

/* ---- Reductions ---- */

/* Small whole numbers: exact in any order. */
static double combine(enum reel_reduction kind, double a, double b)
{
	switch (kind) {
	case REEL_REDUCE_SUM:
		return a + b;
	case REEL_REDUCE_PRODUCT:
		return a * b;
	case REEL_REDUCE_MIN:
		return b < a ? b : a;
	default:
		return b > a ? b : a;
	}
}

static void draw_partials(int which)
{
	for (int i = 0; i < MAX_LANES; i++)
		program.partial[i] = (double)(scramble((uint64_t)(which * 8 + i)) % 5) - 2;
}

static double result_without(enum reel_reduction kind, int but)
{
	double result = kind == REEL_REDUCE_PRODUCT ? 1 : 0;

	for (int i = 0; i < MAX_LANES; i++)
		if (i != but)
			result = combine(kind, result, program.partial[i]);
	return result;
}

static void reduce(int which)
{
	enum reel_reduction kind = program.now->reduction;
	double result = program.partial[0];

	draw_partials(which);
	result = program.partial[0];
	for (int i = 1; i < MAX_LANES; i++)
		result = combine(kind, result, program.partial[i]);
	FUZZ_EXPECT(reel_reduce(program.root, kind, program.partial, MAX_LANES) == result);
}

/* If several operands are the minimum, or maximum, the first of them has all of the adjoint. */
static double right_bar(enum reel_reduction kind, int i)
{
	if (kind == REEL_REDUCE_SUM)
		return 3;
	if (kind == REEL_REDUCE_PRODUCT)
		return 3 * result_without(kind, i);
	for (int k = 0; k < MAX_LANES; k++)
		if (combine(kind, program.partial[i], program.partial[k]) != program.partial[i] ||
		    (k < i && program.partial[k] == program.partial[i]))
			return 0;
	return 3;
}

static void reverse_reduction(int which)
{
	enum reel_reduction kind = program.now->reduction;
	double bar[MAX_LANES];

	draw_partials(which);
	reel_reduce_reverse(program.root, kind, 3, bar, MAX_LANES);
	for (int i = 0; i < MAX_LANES; i++)
		FUZZ_EXPECT(bar[i] == right_bar(kind, i));
}

/* ---- Tasks ---- */

static void record_tasks(int which)
{
	for (int i = 0; i < program.now->tasks; i++) {
		reel_lane *task = reel_task_begin(program.root, 100 * which + i, NULL, 0);

		for (int k = 0; k < i % 5; k++)
			reel_push(reel_lane_tape(task), scramble((uint64_t)(1000 * which + i + k)));
	}
	reel_task_wait(program.root);
}

static void reverse_tasks(int which)
{
	reel_task_wait_reverse(program.root);
	FUZZ_EXPECT(reel_tasks_left(program.root) == program.now->tasks);
	for (int i = program.now->tasks; i-- > 0;) {
		reel_lane *task = reel_task_reverse(program.root);

		FUZZ_EXPECT(reel_task_label(task) == 100 * which + i);
		for (int k = i % 5; k-- > 0;)
			FUZZ_EXPECT(reel_pop(reel_lane_tape(task), uint64_t) ==
				    scramble((uint64_t)(1000 * which + i + k)));
		reel_task_end(task);
	}
}

/* ---- Both sweeps ---- */

static void record_all(void)
{
	program.reverse = false;
	for (int r = 0; r < program.regions; r++) {
		reel_region *region;

		program.now = &program.plan[r];
		region = reel_region_begin(program.root, program.now->lanes);
		run_team(region, program.now->threads);
		FUZZ_EXPECT(reel_region_lanes(region) ==
			    (program.now->lanes ? program.now->lanes : program.now->threads));
		FUZZ_EXPECT(reel_region_end(region) == 0);
		if (program.now->reduces)
			reduce(r);
		record_tasks(r);
	}
}

static void reverse_all(void)
{
	program.reverse = true;
	for (int r = program.regions; r-- > 0;) {
		reel_region *region;

		program.now = &program.plan[r];
		reverse_tasks(r);
		if (program.now->reduces)
			reverse_reduction(r);
		region = reel_region_reverse(program.root);
		run_team(region, program.now->threads_back);
		FUZZ_EXPECT(reel_region_end(region) == 0);
		FUZZ_EXPECT(reel_lane_error(program.root) == 0);
	}
	FUZZ_EXPECT(!memcmp(program.x, program.first, sizeof program.x));
}

static void run_program(bool twice)
{
	uint64_t last[MAX_LOOPS][ELEMENTS];

	record_all();
	memcpy(last, program.x, sizeof last);
	if (twice) {
		FUZZ_EXPECT(reel_lane_hold(program.root) == 0);
		reverse_all();
		FUZZ_EXPECT(reel_lane_replay(program.root) == 0);
		memcpy(program.x, last, sizeof last);
	}
	reverse_all();
	if (twice)
		FUZZ_EXPECT(reel_lane_release(program.root) == 0);
	FUZZ_EXPECT(reel_lane_is_empty(program.root));
}

int fuzz_lanes(const uint8_t *data, size_t size)
{
	static const size_t slabs[] = {64, 256, 4096, 0};
	struct fuzz_input input = {data, size};
	unsigned mode = fuzz_byte(&input);
	struct reel_pool_options options = {.slab_bytes = slabs[mode % 4]};
	struct reel_pool_stats stats;
	reel_pool *pool;

	memset(&program, 0, sizeof program);
	program.input = &input;
	program.regions = 1 + (int)(mode / 64);
	fill(program.first, sizeof program.first, mode);
	memcpy(program.x, program.first, sizeof program.x);
	for (int r = 0; r < program.regions; r++)
		draw_region(&input, &program.plan[r]);
	if (options.slab_bytes && options.slab_bytes < 4096)
		options.first_slab_bytes = 64;
	FUZZ_EXPECT(reel_pool_open(&pool, &options) == 0);
	FUZZ_EXPECT(reel_lane_open(&program.root, pool, mode & 4 ? REEL_CHECKED : 0) == 0);
	run_program(mode & 8);
	reel_lane_close(program.root);
	reel_pool_get_stats(pool, &stats);
	FUZZ_EXPECT(stats.slabs_in_use == 0);
	FUZZ_EXPECT(reel_pool_close(pool) == 0);
	return 0;
}
