/* SPDX-License-Identifier: MIT */
/*
 * Tests the choice between all threads and one thread: the costs with calculated times, which other
 * programs do not disturb, and the choice in regions.
 */
#include "config.h"

#include "helpers/support.h"

#include <math.h>

#include <reel/observe.h>
#include <reel/task.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "omp/runtime/team-size.h"

/* ---- Calculated times ---- */

/* The time of a piece of work with each size, in ns. */
struct work {
	int threads;
	double serial; /* by one thread */
	double waits;  /* added by a team */
	/* The share of pieces in which a team waits for a thread that has lost its processor. */
	double stalls;
};

#define STALL 4e6

static double uniform(void)
{
	static uint64_t state = 88172645463325252;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (double)(state >> 11) * 0x1p-53;
}

/* Returns a random number, even on a logarithmic scale. */
static double between(double low, double high)
{
	return low * pow(high / low, uniform());
}

static double time_of(const struct work *work, enum reel_team_size size)
{
	double noise = 1 + 0.1 * uniform();

	if (size == REEL_ONE_THREAD)
		return work->serial * noise;
	return (work->serial / work->threads + work->waits) * noise +
	       (uniform() < work->stalls ? STALL : 0);
}

struct times {
	double chosen, one, all;
};

/* Returns the number of cases, which is small with a sanitizer: the test is only arithmetic. */
static int works(void)
{
	return !is_brief() ? 200 : is_sanitized() ? 8 : 40;
}

/* Adds at least `pieces` pieces, and half a second of work. */
static void add(struct times *times, struct reel_team_costs *costs, const struct work *work,
		int pieces)
{
	for (int i = 0; i < pieces || (pieces > 1 && i * work->serial < 5e8); i++) {
		enum reel_team_size size = reel_team_size_next(costs, work->threads, 1);
		double ns = time_of(work, size);

		reel_team_size_add(costs, size, 1, ns);
		times->chosen += ns;
		times->one += time_of(work, REEL_ONE_THREAD);
		times->all += time_of(work, REEL_ALL_THREADS);
	}
}

static double over_better(const struct times *times)
{
	return times->chosen / fmin(times->one, times->all);
}

static struct work random_work(void)
{
	return (struct work){.threads = 2 + (int)(62 * uniform()),
			     .serial = between(100, 1e7),
			     .waits = between(300, 1e5)};
}

static void test_random_work(void)
{
	double max_over_one = 0, max_over_better = 0;

	tap_case("work of random size");
	for (int i = 0; i < works(); i++) {
		struct reel_team_costs costs = {0};
		struct times times = {0};
		struct work work = random_work();

		add(&times, &costs, &work, 20000);
		max_over_one = fmax(max_over_one, times.chosen / times.one);
		max_over_better = fmax(max_over_better, over_better(&times));
	}
	ok(max_over_one < 1.05, "at most %.3f of the time of one thread", max_over_one);
	ok(max_over_better < 1.08, "at most %.3f of the time of the better one", max_over_better);
}

static void test_busy_processors(void)
{
	double max = 0;

	tap_case("processors that are busy with other programs");
	for (int i = 0; i < works(); i++) {
		struct reel_team_costs costs = {0};
		struct times times = {0};
		struct work work = random_work();

		/* The longer the work of one thread, the more pieces have a stall. */
		work.stalls = fmin(0.5, work.serial / between(5e5, 1e7));
		add(&times, &costs, &work, 20000);
		max = fmax(max, times.chosen / times.one);
	}
	ok(max < 1.1, "at most %.3f of the time of one thread", max);
}

static void test_change(double from, double to)
{
	struct work work = {.threads = 2, .serial = from, .waits = 2000};
	struct reel_team_costs costs = {0};
	struct times before = {0}, after = {0};

	add(&before, &costs, &work, 20000);
	work.serial = to;
	add(&after, &costs, &work, 40000);
	ok(over_better(&after) < 1.1, "work of %.0f ns becomes %.0f ns: %.3f of the better one",
	   from, to, over_better(&after));
}

/* A program that was stopped for a long time tries all threads again soon. */
static void test_stop(void)
{
	struct work work = {.threads = 4, .serial = 1e5, .waits = 1000};
	struct reel_team_costs costs = {0};
	struct times times = {0};
	int pieces = 0;

	tap_case("a program that is stopped for an hour");
	add(&times, &costs, &work, 20000);
	is_int(costs.better, REEL_ALL_THREADS, "all threads are better before it");
	reel_team_size_add(&costs, REEL_ALL_THREADS, 1, 3.6e12);
	for (times = (struct times){0}; costs.better != REEL_ALL_THREADS; pieces++)
		add(&times, &costs, &work, 1);
	ok(times.chosen < 60e9, "%.0f s after it, again", 1e-9 * times.chosen);
}

/* A trial by one thread takes two minutes. */
static void test_long_work(void)
{
	struct work work = {.threads = 64, .serial = 120e9, .waits = 1e5};
	struct reel_team_costs costs = {0};
	struct times times = {0};

	tap_case("work of minutes");
	add(&times, &costs, &work, 20000);
	ok(over_better(&times) < 1.03, "%.3f of the time of all threads", over_better(&times));
}

/* Trials become rare if they always have the same result. */
static void test_trials(void)
{
	struct work work = {.threads = 4, .serial = 1e5, .waits = 1000};
	struct reel_team_costs costs = {0};
	struct times times = {0};
	int trials = 0;

	tap_case("trials");
	add(&times, &costs, &work, 20000);
	for (int i = 0; i < 10000; i++) {
		trials += reel_team_size_next(&costs, work.threads, 1) != costs.better;
		add(&times, &costs, &work, 1);
	}
	ok(trials > 0 && trials < 10, "%d of 10,000", trials);
	costs.needs_all = true;
	costs.since = 1e30;
	is_int(reel_team_size_next(&costs, 4, 1), REEL_ALL_THREADS, "none where all are needed");
	costs.better = REEL_ONE_THREAD;
	costs.trial_left = 1;
	is_int(reel_team_size_next(&costs, 4, 1), REEL_ALL_THREADS, "also where one was better");
}

/* ---- Regions ---- */

#define REGIONS 500

struct program {
	reel_lane *root;
	int lanes;
	int (*forward)(struct program *program, reel_region *region);
	int (*reverse)(struct program *program, reel_region *region);
	bool has_dynamic_loop;
	int times_chosen[3]; /* by the number of threads */
	int wrong;
};

/*
 * Defines a function that chooses at its own place in the program. Its counter keeps compilers from
 * merging these functions.
 */
#define PLACE(name)                                                                \
	__attribute__((noinline)) static int name(struct program *program,         \
						  reel_region *region)             \
	{                                                                          \
		static volatile int calls;                                         \
		int threads = reel_region_choose_threads(region, 2);               \
                                                                                   \
		calls++;                                                           \
		program->times_chosen[threads]++;                                  \
		return threads;                                                    \
	}

PLACE(forward_of_given_lanes)
PLACE(reverse_of_given_lanes)
PLACE(reverse_of_lanes_as_threads)
PLACE(forward_of_dynamic_loops)
PLACE(reverse_of_dynamic_loops)
PLACE(where_nothing_is_chosen)

static void go_forward(struct program *program, reel_lane *lane, int number)
{
	reel_tape *tape = reel_lane_tape(lane);

	if (program->has_dynamic_loop)
		REEL_FOR(lane, int, i, 0, 4, reel_dynamic(1)) reel_push(tape, i);
	reel_push(tape, number);
}

static void go_back(struct program *program, reel_lane *lane, int number)
{
	reel_tape *tape = reel_lane_tape(lane);

	program->wrong += reel_pop(tape, int) != number;
	if (program->has_dynamic_loop)
		REEL_FOR_REVERSE(lane, int, i, 0, 4, reel_dynamic(1))
			program->wrong += reel_pop(tape, int) != i;
}

/* Runs the threads that Reel chooses, one after the other. */
static void run_region(struct program *program, reel_region *region, int threads, int number,
		       void (*go)(struct program *program, reel_lane *lane, int number))
{
	for (int thread = 0; thread < threads; thread++) {
		reel_worker worker = reel_worker_begin(region, thread, threads);

		while (reel_worker_next(&worker))
			go(program, worker.lane, number);
	}
	program->wrong += reel_region_end(region) != 0;
}

/* Counts the regions with one thread, of REGIONS forward and REGIONS reversed ones. */
static void run_program(struct program *program, unsigned flags, int *forward, int *reverse)
{
	reel_lane_open(&program->root, NULL, flags);
	for (int i = 0; i < REGIONS; i++) {
		reel_region *region = reel_region_begin(program->root, program->lanes);

		run_region(program, region, program->forward(program, region), i, go_forward);
	}
	*forward = program->times_chosen[1];
	for (int i = REGIONS; i-- > 0;) {
		reel_region *region = reel_region_reverse(program->root);

		run_region(program, region, program->reverse(program, region), i, go_back);
	}
	*reverse = program->times_chosen[1] - *forward;
	is_int(program->wrong, 0, "all values come back");
	ok(reel_lane_is_empty(program->root), "nothing is left");
	reel_lane_close(program->root);
}

static void ignore(const reel_event *event)
{
	(void)event;
}

static void test_regions(void)
{
	struct program given = {.lanes = 2, .forward = forward_of_given_lanes,
				.reverse = reverse_of_given_lanes};
	struct program fixed = {.lanes = 2, .forward = where_nothing_is_chosen,
				.reverse = where_nothing_is_chosen};
	struct program checked = fixed;
	struct program as_threads = {.lanes = 0, .forward = where_nothing_is_chosen,
				     .reverse = reverse_of_lanes_as_threads};
	struct program dynamic = {.lanes = 2, .has_dynamic_loop = true,
				  .forward = forward_of_dynamic_loops,
				  .reverse = reverse_of_dynamic_loops};
	int forward, reverse;

	tap_case("regions");
	run_program(&given, 0, &forward, &reverse);
	ok(forward > 0 && reverse > 0, "one thread is tried in both sweeps");
	run_program(&checked, REEL_CHECKED, &forward, &reverse);
	is_int(forward + reverse, 0, "not in checked mode");
	reel_observe(ignore, sizeof(reel_event));
	run_program(&fixed, 0, &forward, &reverse);
	is_int(forward + reverse, 0, "not under an observer");
	reel_observe(NULL, sizeof(reel_event));
	run_program(&as_threads, 0, &forward, &reverse);
	is_int(forward, 0, "not where each thread has a lane");
	ok(reverse > 0, "but in the reverse sweep of such regions");
	run_program(&dynamic, 0, &forward, &reverse);
	is_int(forward, 0, "not where one lane would take a whole dynamic loop");
	ok(reverse > 0, "but in the reverse sweep of such regions");
}

static void test_ordered(void)
{
	static reel_ordered order;
	reel_lane *root;
	reel_region *region;
	bool good = true;

	tap_case("ordered sections");
	reel_lane_open(&root, NULL, 0);
	for (int i = 0; i < 100; i++) {
		reel_worker worker;

		region = reel_region_begin(root, 2);
		worker = reel_worker_begin(region, 0, 1);
		while (reel_worker_next(&worker))
			reel_ordered_note(worker.lane, &order);
		reel_region_end(region);
	}
	for (int i = 0; i < 100; i++) {
		region = reel_region_reverse(root);
		good &= reel_region_choose_threads(region, 1) == 2;
		for (int lane = 1; lane >= 0; lane--) {
			reel_worker worker = reel_worker_begin(region, lane, 2);

			while (reel_worker_next(&worker)) {
				reel_ordered_await(worker.lane, &order);
				reel_ordered_done(worker.lane, &order);
			}
		}
		reel_region_end(region);
	}
	ok(good, "a region with ordered sections has a thread for each lane");
	for (int i = 0; i < 200; i++) {
		region = reel_region_begin(root, 2);
		good &= reel_region_choose_threads(region, 2) == 2;
		for (int lane = 0; lane < 2; lane++) {
			reel_worker worker = reel_worker_begin(region, lane, 2);

			while (reel_worker_next(&worker))
				;
		}
		reel_region_end(region);
	}
	ok(good, "and others of the root keep theirs: lanes in their lanes may wait for turns");
	is_int(reel_lane_error(root), 0, "no error");
	reel_lane_close(root);
}

#ifdef _OPENMP

/* ---- Tasks ---- */

static void note_threads(void *context, reel_lane *task)
{
	int *times_chosen = context;

	(void)reel_pop(reel_lane_tape(task), int);
	if (reel_task_label(task) == 0)
		times_chosen[omp_get_num_threads()]++;
}

static void reverse_tasks(reel_lane *root, unsigned waits, int times_chosen[3])
{
	for (unsigned wait = 0; wait < waits; wait++) {
		for (int i = 0; i < 4; i++)
			reel_push(reel_lane_tape(reel_task_begin(root, i, NULL, 0)), i);
		reel_task_wait(root);
		reel_tasks_reverse(root, note_threads, times_chosen, 0, 0);
	}
}

static void test_tasks(void)
{
	int times_chosen[3] = {0}, max_threads = omp_get_max_threads();
	reel_lane *root;

	tap_case("tasks");
	omp_set_num_threads(2);
	reel_lane_open(&root, NULL, REEL_CHECKED);
	reverse_tasks(root, 200, times_chosen);
	is_int(times_chosen[2], 200, "all threads reverse them in checked mode");
	reel_lane_close(root);
	reel_lane_open(&root, NULL, 0);
	reverse_tasks(root, 1, times_chosen);
	is_int(times_chosen[2], 201, "all threads reverse the first ones");
	reverse_tasks(root, 200, times_chosen);
	ok(times_chosen[1] > 0, "one thread is tried later");
	is_int(times_chosen[1] + times_chosen[2], 401, "by one or two threads");
	is_int(reel_lane_error(root), 0, "no error");
	reel_lane_close(root);
	omp_set_num_threads(max_threads);
}

#endif

int main(void)
{
	tap_begin();
	test_random_work();
	test_busy_processors();
	tap_case("work that changes");
	test_change(1e3, 1e6);
	test_change(1e6, 1e3);
	test_change(1e5, 1e3);
	test_stop();
	test_long_work();
	test_trials();
	test_regions();
	test_ordered();
#ifdef _OPENMP
	test_tasks();
#endif
	return tap_end();
}
