/* SPDX-License-Identifier: MIT */
/*
 * Tests programs that go wrong with tapes of threads or of the process: with lanes each value comes
 * back to the lane that has pushed it.
 */
#include "config.h"

#include "helpers/omp-reports.h"
#include "helpers/support.h"

#include <math.h>
#include <omp.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include <reel/extend.h>
#include <reel/task.h>

#define SLAB ((size_t)4096)

static const int teams[] = {1, 2, 3, 5};

/* ---- Two threads that push at the same time ---- */

static void push_lanes(reel_lane *root, int lanes, int pushes)
{
	reel_region *region = reel_region_begin(root, lanes);

#pragma omp parallel num_threads(2)
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			uint64_t own = (uint64_t)reel_lane_index(worker.lane) << 32;

			push_words(reel_lane_tape(worker.lane), own, own + (uint64_t)pushes);
		}
	}
	reel_region_end(region);
}

/* Returns the number of wrong values, or -1 after an error, or if values are left. */
static int wrong_in_lanes(reel_lane *root, int threads, int pushes)
{
	reel_region *region = reel_region_reverse(root);
	unsigned wrong = 0;

#pragma omp parallel num_threads(threads) reduction(+ : wrong)
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			uint64_t own = (uint64_t)reel_lane_index(worker.lane) << 32;

			wrong += wrong_words(reel_lane_tape(worker.lane), own,
					     own + (uint64_t)pushes);
		}
	}
	return reel_region_end(region) || !reel_lane_is_empty(root) ? -1 : (int)wrong;
}

static void test_two_threads(void)
{
	reel_lane *root;

	tap_case("two threads push 1000 values each");
	reel_lane_open(&root, NULL, 0);
	for (unsigned i = 0; i < COUNT(teams); i++) {
		push_lanes(root, 2, 1000);
		is_int(wrong_in_lanes(root, teams[i], 1000), 0,
		       "none of 2000 values comes back wrong to %d threads", teams[i]);
	}
	reel_lane_close(root);
}

/* ---- The same, spilled ---- */

enum { SPILLED = 100000 };

static reel_pool *open_spilling(void)
{
	struct reel_file_options options = {
		.directory = ".", .slot_bytes = SLAB, .threads = 2, .flags = REEL_FILE_TMPFS};
	reel_store *store;

	if (reel_store_file_open(&store, &options)) {
		printf("Bail out! no file store: %s\n", reel_error_text(0));
		_exit(EXIT_FAILURE);
	}
	return open_pool((struct reel_pool_options){.slab_bytes = SLAB,
						    .first_slab_bytes = SLAB / 4,
						    .hard_budget = 40 * SLAB,
						    .store = store});
}

static uint64_t bytes_written(reel_pool *pool)
{
	struct reel_pool_stats stats;

	reel_pool_get_stats(pool, &stats);
	return stats.written_bytes;
}

/*
 * Returns the number of wrong values, or a negative number after an error. Sets *spilled if tapes
 * were written.
 */
static int spill_and_reverse(int threads, bool *spilled)
{
	reel_pool *pool = open_spilling();
	reel_lane *root;
	int wrong;

	reel_lane_open(&root, pool, 0);
	push_lanes(root, 2, SPILLED);
	*spilled = bytes_written(pool) > SPILLED * sizeof(uint64_t);
	wrong = wrong_in_lanes(root, threads, SPILLED);
	reel_lane_close(root);
	return reel_pool_close(pool) ? -2 : wrong;
}

static void test_two_threads_spill(void)
{
	tap_case("two threads that spill");
	for (unsigned i = 0; i < COUNT(teams); i++) {
		bool spilled;

		is_int(spill_and_reverse(teams[i], &spilled), 0,
		       "none of %d values comes back wrong to %d threads", 2 * SPILLED, teams[i]);
		ok(spilled, "most of them were in a file");
	}
}

/* ---- Two processes in one directory, forked before this process has threads ---- */

static pid_t start_process(void)
{
	pid_t process = fork_with_timeout();
	bool spilled;

	if (process == 0)
		_exit(spill_and_reverse(2, &spilled) || !spilled);
	return process;
}

static int end_of(pid_t process)
{
	int status;

	waitpid(process, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_two_processes(void)
{
	tap_case("two processes spill in one directory");
	for (int times = 0; times < (is_brief() ? 1 : 3); times++) {
		pid_t first = start_process(), second = start_process();

		is_int(end_of(first), 0, "the first one gets its values back");
		is_int(end_of(second), 0, "the second process gets its values back");
	}
}

/* ---- A lane that gets no chunk ---- */

static void push_below_a_loop(reel_region *region, reel_chunking chunking)
{
#pragma omp parallel num_threads(2)
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			reel_tape *tape = reel_lane_tape(worker.lane);

			reel_push(tape, 77 + reel_lane_index(worker.lane));
			REEL_FOR(worker.lane, int, i, 0, 1, chunking)
			reel_push(tape, i);
		}
	}
	reel_region_end(region);
}

static int lost_below_a_loop(reel_region *region, reel_chunking chunking, int threads)
{
	int lost = 0, iterations = 0;

#pragma omp parallel num_threads(threads) reduction(+ : lost, iterations)
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			reel_tape *tape = reel_lane_tape(worker.lane);

			REEL_FOR_REVERSE(worker.lane, int, i, 0, 1, chunking)
			iterations += reel_pop(tape, int) == i;
			lost += reel_pop(tape, int) != 77 + reel_lane_index(worker.lane);
		}
	}
	return reel_region_end(region) ? -1 : lost + (iterations != 1);
}

static void test_no_chunk(void)
{
	const reel_chunking dealings[] = {reel_static(0), reel_static(1), reel_dynamic(1),
					  reel_guided(1), reel_runtime()};
	static const char *const names[] = {"static", "static, 1", "dynamic", "guided", "runtime"};
	reel_lane *root;

	tap_case("lanes that get no chunk");
	reel_lane_open(&root, NULL, 0);
	for (unsigned k = 0; k < COUNT(dealings); k++) {
		int lost = 0;

		for (unsigned i = 0; i < COUNT(teams); i++) {
			push_below_a_loop(reel_region_begin(root, 4), dealings[k]);
			lost += lost_below_a_loop(reel_region_reverse(root), dealings[k], teams[i]);
		}
		is_int(lost, 0, "what is below a %s loop of one iteration is there still",
		       names[k]);
	}
	ok(reel_lane_is_empty(root), "nothing is left");
	reel_lane_close(root);
}

/* ---- A barrier in each step, more threads than cores ---- */

static void push_steps(reel_region *region, int threads, int steps)
{
#pragma omp parallel num_threads(threads)
	{
		reel_worker worker = reel_worker_of(region);

		for (int step = 0; step < steps; step++) {
			while (reel_worker_next(&worker))
				reel_push(reel_lane_tape(worker.lane), step);
			reel_worker_phase(&worker);
		}
	}
	reel_region_end(region);
}

static int wrong_steps(reel_region *region, int threads, int steps)
{
	int wrong = 0, popped = 0, lanes = reel_region_lanes(region);

#pragma omp parallel num_threads(threads) reduction(+ : wrong, popped)
	{
		reel_worker worker = reel_worker_of(region);

		for (int step = steps; step-- > 0;) {
			reel_worker_phase(&worker);
			while (reel_worker_next(&worker)) {
				wrong += reel_pop(reel_lane_tape(worker.lane), int) != step;
				popped++;
			}
		}
	}
	return reel_region_end(region) ? -1 : wrong + (popped != steps * lanes);
}

static void test_oversubscribed(void)
{
	int threads = 4 * omp_get_num_procs(), steps = is_brief() ? 100 : 1000;
	reel_lane *root;

	tap_case("more threads than cores, and a barrier in each step");
	threads = threads < 16 ? threads : 16;
	reel_lane_open(&root, NULL, 0);
	push_steps(reel_region_begin(root, 0), threads, steps);
	is_int(wrong_steps(reel_region_reverse(root), threads, steps), 0,
	       "%d steps come back to %d threads", steps, threads);
	push_steps(reel_region_begin(root, 0), threads, steps);
	is_int(wrong_steps(reel_region_reverse(root), 3, steps), 0,
	       "%d steps of %d threads come back to 3 of them", steps, threads);
	ok(reel_lane_is_empty(root), "nothing is left");
	reel_lane_close(root);
}

/* ---- A chain of tasks, each of which depends on the one before ---- */

enum { CHAIN = 200 };

static double factor[CHAIN];

struct chain {
	double x_bar, factor_bar[CHAIN];
};

static void push_link(reel_lane *task, double *x)
{
	reel_push(reel_lane_tape(task), *x);
	*x = factor[reel_task_label(task)] * sin(*x);
}

static void reverse_link(void *context, reel_lane *task)
{
	double x = reel_pop(reel_lane_tape(task), double);
	int64_t link = reel_task_label(task);
	struct chain *chain = context;

	chain->factor_bar[link] = sin(x) * chain->x_bar;
	chain->x_bar *= factor[link] * cos(x);
}

static void push_chain(reel_lane *root, int threads)
{
	double x = 1;
	const reel_dependence dependence = {&x, REEL_TASK_INOUT};

#pragma omp parallel num_threads(threads)
#pragma omp master
	for (int link = 0; link < CHAIN; link++) {
		reel_lane *task = reel_task_begin(root, link, &dependence, 1);

#pragma omp task firstprivate(task) depend(inout : x)
		push_link(task, &x);
	}
	reel_task_wait(root);
}

static void reverse_by_tasks(reel_lane *root, int threads, struct chain *chain)
{
	reel_task_wait_reverse(root);
#pragma omp parallel num_threads(threads)
#pragma omp master
	while (reel_tasks_left(root)) {
		reel_lane *task = reel_task_reverse(root);

#pragma omp task firstprivate(task) depend(inout : chain->x_bar)
		{
			reverse_link(chain, task);
			reel_task_end(task);
		}
	}
}

static void serial_chain(struct chain *chain)
{
	double x[CHAIN + 1] = {1};

	for (int i = 0; i < CHAIN; i++)
		x[i + 1] = factor[i] * sin(x[i]);
	chain->x_bar = 1;
	for (int i = CHAIN; i-- > 0;) {
		chain->factor_bar[i] = sin(x[i]) * chain->x_bar;
		chain->x_bar *= factor[i] * cos(x[i]);
	}
}

static bool chain_is_right(reel_lane *root, int threads, bool by_tasks)
{
	struct chain expected, seen = {.x_bar = 1};

	serial_chain(&expected);
	push_chain(root, threads);
	if (by_tasks)
		reverse_by_tasks(root, threads, &seen);
	else
		reel_tasks_reverse(root, reverse_link, &seen, threads, 0);
	return !reel_lane_error(root) && reel_lane_is_empty(root) &&
	       memcmp(&expected, &seen, sizeof seen) == 0;
}

static void test_chain(void)
{
	int times = is_brief() ? 10 : 50;
	reel_lane *root;

	tap_case("a chain of dependent tasks");
	for (int i = 0; i < CHAIN; i++)
		factor[i] = 1.5 + .5 * sin(i);
	reel_lane_open(&root, NULL, 0);
	for (int threads = 1; threads <= 3; threads++) {
		int right[2] = {0, 0};

		for (int i = 0; i < times; i++) {
			right[0] += chain_is_right(root, threads, true);
			right[1] += chain_is_right(root, threads, false);
		}
		is_int(right[0], times, "%d tasks by %d threads: the serial gradient, each time, "
		       "by OpenMP's tasks", CHAIN, threads);
		is_int(right[1], times, "and by reel_tasks_reverse()");
	}
	reel_lane_close(root);
}

/* ---- Bodies that reverse their own tasks by tasks of OpenMP ---- */

enum { PARENTS = 4, CHILDREN = 3 };

static struct {
	_Atomic int children, wrong;
} family;

static void push_family(reel_lane *lane, int generations)
{
	for (int i = 0; i < (generations > 1 ? PARENTS : CHILDREN); i++) {
		reel_lane *task = reel_task_begin(lane, i, NULL, 0);

		reel_push(reel_lane_tape(task), i);
		if (generations > 1)
			push_family(task, generations - 1);
	}
	reel_task_wait(lane);
}

static void pop_member(reel_lane *task)
{
	atomic_fetch_add(&family.wrong, reel_pop(reel_lane_tape(task), int) !=
					       reel_task_label(task));
}

static void reverse_children(reel_lane *parent)
{
	reel_task_wait_reverse(parent);
	while (reel_tasks_left(parent)) {
		reel_lane *task = reel_task_reverse(parent);

#pragma omp task firstprivate(task)
		{
			pop_member(task);
			atomic_fetch_add(&family.children, 1);
			reel_task_end(task);
		}
	}
}

static void wait_by_taskwait(void *context, reel_lane *task)
{
	(void)context;
	reverse_children(task);
#pragma omp taskwait
	pop_member(task);
}

static void wait_by_taskgroup(void *context, reel_lane *task)
{
	(void)context;
#pragma omp taskgroup
	reverse_children(task);
	pop_member(task);
}

static void reverse_grandchildren(void *context, reel_lane *task)
{
	(void)context;
	reel_tasks_reverse(task, wait_by_taskwait, NULL, 0, 0);
	pop_member(task);
}

static bool family_comes_back(reel_task_body *body, int generations, int threads, bool in_region)
{
	int children = CHILDREN;
	reel_lane *root;
	bool good;

	for (int i = 1; i < generations; i++)
		children *= PARENTS;
	memset(&family, 0, sizeof family);
	reel_lane_open(&root, NULL, 0);
	push_family(root, generations);
#pragma omp parallel num_threads(threads) if (in_region)
#pragma omp master
	reel_tasks_reverse(root, body, NULL, threads, 0);
	good = !reel_lane_error(root) && reel_lane_is_empty(root) && !family.wrong &&
	       family.children == children;
	reel_lane_close(root);
	return good;
}

static void test_tasks_in_bodies(void)
{
	const struct {
		reel_task_body *body;
		int generations;
		const char *name;
	} ways[] = {{wait_by_taskwait, 2, "a taskwait"},
		    {wait_by_taskgroup, 2, "a taskgroup"},
		    {reverse_grandchildren, 3, "a taskwait, in bodies within bodies"}};
	int times = is_brief() ? 5 : 50;

	tap_case("bodies that wait for tasks of OpenMP");
	for (unsigned i = 0; i < COUNT(ways) * COUNT(teams) * 2; i++) {
		unsigned way = i / COUNT(teams) % COUNT(ways);
		bool in_region = i >= COUNT(ways) * COUNT(teams);
		int good = 0;

		for (int k = 0; k < times; k++)
			good += family_comes_back(ways[way].body, ways[way].generations,
						  teams[i % COUNT(teams)], in_region);
		is_int(good, times, "by %s, and %d threads%s", ways[way].name,
		       teams[i % COUNT(teams)], in_region ? " of a region" : "");
	}
}

/* ---- Two threads that have to work at the same time ---- */

/* Waits until `count` is `wanted`. Returns false if that takes longer than 10 seconds. */
static bool comes(_Atomic int *count, int wanted)
{
	for (int i = 0; i < 100000 && atomic_load(count) < wanted; i++)
		usleep(100);
	return atomic_load(count) >= wanted;
}

static struct {
	_Atomic int arrived, met;
	double sum;
} pair;

static void meet(void)
{
	atomic_fetch_add(&pair.arrived, 1);
	atomic_fetch_add(&pair.met, comes(&pair.arrived, 2));
}

static void add_after_meeting(void *context, reel_lane *task)
{
	double value;

	(void)context;
	meet();
	value = reel_pop(reel_lane_tape(task), double);
	reel_task_add(task, &pair, &pair.sum, &value, 1);
}

static void test_readers_meet(void)
{
	const reel_dependence reads = {&pair, REEL_TASK_IN_ADD};
	reel_lane *root;

	memset(&pair, 0, sizeof pair);
	reel_lane_open(&root, NULL, REEL_CHECKED);
	for (int i = 0; i < 2; i++)
		reel_push(reel_lane_tape(reel_task_begin(root, i, &reads, 1)), i ? 1. : 0x1p-60);
	reel_task_wait(root);
	is_int(reel_tasks_reverse(root, add_after_meeting, NULL, 2, REEL_TASKS_IN_ORDER), 0,
	       "each thread may use the lane of its task");
	is_int(pair.met, 2, "two tasks that add to one adjoint run at the same time");
	is_double(pair.sum, 1 + 0x1p-60, "the sum is that of one thread");
	reel_lane_close(root);
}

/* The other two tasks begin after the last task, when the second thread sleeps. */
static void meet_after_last(void *context, reel_lane *task)
{
	(void)context;
	if (reel_task_label(task) == 2)
		usleep(20000);
	else
		meet();
}

static void test_sleeper_wakes(void)
{
	reel_lane *root;

	memset(&pair, 0, sizeof pair);
	reel_lane_open(&root, NULL, 0);
	for (int i = 0; i < 3; i++)
		reel_task_begin(root, i,
				&(reel_dependence){&pair, i < 2 ? REEL_TASK_IN_SHARED
								: REEL_TASK_OUT}, 1);
	reel_task_wait(root);
	reel_tasks_reverse(root, meet_after_last, NULL, 2, 0);
	is_int(pair.met, 2, "a thread that sleeps wakes up for the second of two tasks");
	reel_lane_close(root);
}

/*
 * A thread in an inner call runs a task of the outer call. After this task another one can begin,
 * just when the inner call is over. The tasks are in the order in which they have to begin.
 */
enum { OUTER, HELPER, INNER_FIRST, INNER_SECOND, ENABLER, ENABLED, ROLES };

static struct {
	_Atomic int begun[ROLES], second_has_ended, enabled_comes;
} play;

static void play_role(void *context, reel_lane *task)
{
	int role = (int)reel_task_label(task);

	atomic_store(&play.begun[role], 1);
	if (role == OUTER) {
		reel_tasks_reverse(task, play_role, context, 0, 0);
		atomic_store(&play.enabled_comes, comes(&play.begun[ENABLED], 1));
	} else if (role == HELPER) {
		comes(&play.begun[INNER_FIRST], 1);
	} else if (role == INNER_FIRST) {
		comes(&play.begun[INNER_SECOND], 1);
	} else if (role == INNER_SECOND) {
		comes(&play.begun[ENABLER], 1);
		atomic_store(&play.second_has_ended, 1);
	} else if (role == ENABLER) {
		comes(&play.second_has_ended, 1);
		usleep(20000);
	}
}

static void test_inner_call_leaves_task(void)
{
	const reel_dependence writes = {&play, REEL_TASK_OUT};
	reel_lane *root, *outer;

	memset(&play, 0, sizeof play);
	reel_lane_open(&root, NULL, 0);
	reel_task_begin(root, ENABLED, &writes, 1);
	reel_task_begin(root, ENABLER, &writes, 1);
	reel_task_begin(root, HELPER, NULL, 0);
	outer = reel_task_begin(root, OUTER, NULL, 0);
	reel_task_begin(outer, INNER_SECOND, NULL, 0);
	reel_task_begin(outer, INNER_FIRST, NULL, 0);
	reel_task_wait(outer);
	reel_task_wait(root);
	reel_tasks_reverse(root, play_role, NULL, 2, 0);
	is_int(play.enabled_comes, 1,
	       "a task that an inner call leaves behind is run by the thread that sleeps");
	reel_lane_close(root);
}

/* ---- A phase ends after its tasks have run, also in a team of one thread ---- */

static int tasks_after_phase(reel_lane *root, int threads)
{
	reel_region *region = reel_region_begin(root, 0);
	int before = 0, ran = 0;

#pragma omp parallel num_threads(threads) shared(before, ran)
	{
		reel_worker worker = reel_worker_of(region);

		if (reel_worker_next(&worker) && reel_lane_index(worker.lane) == 0) {
			reel_lane *task = reel_task_begin(worker.lane, 0, NULL, 0);

#pragma omp task firstprivate(task) shared(ran)
			{
				reel_push(reel_lane_tape(task), 1);
#pragma omp atomic
				ran++;
			}
		}
		reel_worker_phase(&worker);
#pragma omp master
		{
#pragma omp atomic read
			before = ran;
		}
	}
	reel_region_end(region);
	return before;
}

static void test_phase_waits_for_tasks(void)
{
	tap_case("tasks that are left to the barrier of a phase");
	for (int threads = 1; threads <= 2; threads++) {
		reel_lane *root;

		reel_lane_open(&root, NULL, 0);
		is_int(tasks_after_phase(root, threads), 1, "%d threads: the task has run",
		       threads);
		reel_lane_close(root);
	}
}

static void test_two_at_once(void)
{
	int threads = 0;

	tap_case("two threads at the same time");
	omp_set_dynamic(0);
#pragma omp parallel num_threads(2) reduction(+ : threads)
	threads = 1;
	if (threads < 2) {
		tap_skip(5, "there is one thread only");
		return;
	}
	test_readers_meet();
	test_sleeper_wakes();
	test_inner_call_leaves_task();
}

int main(void)
{
	tap_begin();
	if (OMP_IS_UNSEEN)
		tap_skip_all("ThreadSanitizer cannot see into libgomp");
	test_two_processes();
	test_two_threads();
	test_two_threads_spill();
	test_no_chunk();
	test_oversubscribed();
	test_chain();
	test_tasks_in_bodies();
	test_phase_waits_for_tasks();
	test_two_at_once();
	return tap_end();
}
