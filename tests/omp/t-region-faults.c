/* SPDX-License-Identifier: MIT */
/*
 * Tests regions and tasks without memory, by refusals.h. All values come back right, or there is an
 * error.
 */
#include "config.h"

#include "helpers/support.h"

#include <reel/task.h>

#include "helpers/refusals.h"
#include "helpers/thread-team.h"

/* ---- A program: two phases, a region in a lane, tasks in another ---- */

#define LANES 3
#define CELLS 20

static struct {
	reel_region *region;
	bool reverse;
	_Atomic int iterations;
	_Atomic int wrong;
	_Atomic int error;
} program;

static unsigned flags_of_root;

/* Reports in this run of the program, and runs whose first report was not of -ENOMEM. */
static struct {
	_Atomic int calls;
	_Atomic int of_other_errors;
} reports;

static void count_report(const reel_tape *tape, int error, const char *message, void *context)
{
	(void)tape;
	(void)message;
	(void)context;
	reports.of_other_errors += !reports.calls++ && error != -ENOMEM;
}

static void see(double popped, double pushed)
{
	if (popped != pushed)
		program.wrong++;
}

/* Keeps the first error. */
static void note_error(int error)
{
	int none = 0;

	atomic_compare_exchange_strong(&program.error, &none, error);
}

static void region_in_lane(reel_lane *lane)
{
	reel_region *region = program.reverse ? reel_region_reverse(lane)
					      : reel_region_begin(lane, 2);
	reel_worker worker = reel_worker_begin(region, 0, 1);

	while (reel_worker_next(&worker)) {
		if (program.reverse)
			see(reel_pop(reel_lane_tape(worker.lane), double), 0.25);
		else
			reel_push(reel_lane_tape(worker.lane), 0.25);
	}
	note_error(reel_region_end(region));
}

static void reverse_task(void *context, reel_lane *task)
{
	(void)context;
	see(reel_pop(reel_lane_tape(task), double), (double)reel_task_label(task));
}

static void tasks_in_lane(reel_lane *lane)
{
	static const char cell;
	const reel_dependence dependence = {&cell, REEL_TASK_IN};

	for (int i = 0; i < 3 && !program.reverse; i++) {
		reel_lane *task = reel_task_begin(lane, i, &dependence, 1);

		reel_push(reel_lane_tape(task), (double)i);
	}
	if (program.reverse)
		note_error(reel_tasks_reverse(lane, reverse_task, NULL, 1, 0));
	else
		reel_task_wait(lane);
}

/* Reversed tasks add before their turn, so each addition has to be kept until then. */
static void additions_in_lane(reel_lane *lane)
{
	const reel_dependence dependence = {&program, REEL_TASK_IN_ADD};
	double sum = 0, part = 1;
	reel_lane *task[3];

	for (int i = 0; i < 3 && !program.reverse; i++)
		reel_task_begin(lane, i, &dependence, 1);
	if (!program.reverse) {
		reel_task_wait(lane);
		return;
	}
	reel_task_wait_reverse(lane);
	for (int i = 0; i < 3; i++)
		task[i] = reel_task_reverse(lane);
	for (int i = 3; i-- > 0;) {
		reel_task_add(task[i], &program, &sum, &part, 1);
		note_error(reel_lane_error(task[i]));
		reel_task_end(task[i]);
	}
	see(sum, 3);
}

static void cells_of(reel_lane *lane)
{
	reel_tape *tape = reel_lane_tape(lane);

	if (program.reverse) {
		REEL_FOR_REVERSE(lane, int, i, 0, CELLS, reel_dynamic(1)) {
			see(reel_pop(tape, double), i);
			program.iterations--;
		}
		return;
	}
	REEL_FOR(lane, int, i, 0, CELLS, reel_dynamic(1)) {
		reel_push(tape, (double)i);
		program.iterations++;
	}
}

static void run_lane(reel_lane *lane)
{
	int index = reel_lane_index(lane);

	if (!program.reverse)
		cells_of(lane);
	if (index == 0)
		region_in_lane(lane);
	if (index == 1)
		tasks_in_lane(lane);
	if (index == 2)
		additions_in_lane(lane);
	if (program.reverse)
		cells_of(lane);
}

static void body(const struct member *member)
{
	reel_worker worker =
		reel_worker_begin(program.region, member->number, member->team->threads);

	for (int phase = 0; phase < 2; phase++) {
		if (phase > 0) {
			team_barrier(member);
			reel_worker_next_phase(&worker);
		}
		while (reel_worker_next(&worker))
			run_lane(worker.lane);
	}
}

/* Returns an error of the program, or 0. Each iteration runs once, also if memory is refused. */
static int run_program(reel_pool *pool, int threads)
{
	reel_lane *root;
	int error = reel_lane_open(&root, pool, flags_of_root);

	memset(&program, 0, sizeof program);
	if (error)
		return error;
	program.region = reel_region_begin(root, LANES);
	run_team(threads, body, NULL);
	note_error(reel_region_end(program.region));
	if (!program.error && program.iterations != 2 * CELLS)
		program.wrong++;
	note_error(reel_lane_hold(root));
	note_error(reel_lane_replay(root));
	program.reverse = true;
	program.region = reel_region_reverse(root);
	run_team(threads, body, NULL);
	note_error(reel_region_end(program.region));
	note_error(reel_lane_release(root));
	note_error(reel_lane_error(root));
	if (!program.error && (program.iterations || !reel_lane_is_empty(root)))
		program.wrong++;
	reel_lane_close(root);
	return program.error;
}

/* The body has only loops. Its root is frozen and read. */
static void loop_body(const struct member *member)
{
	reel_worker worker =
		reel_worker_begin(program.region, member->number, member->team->threads);

	while (reel_worker_next(&worker)) {
		reel_tape *tape = reel_lane_tape(worker.lane);

		if (!program.reverse)
			REEL_FOR(worker.lane, int, i, 0, CELLS, reel_dynamic(1))
				reel_push(tape, (double)i);
		else
			REEL_FOR_REVERSE(worker.lane, int, i, 0, CELLS, reel_dynamic(1))
				see(reel_pop(tape, double), i);
	}
}

static int run_reader(reel_pool *pool, int threads)
{
	reel_lane_recording *recording = NULL;
	reel_lane *root;

	memset(&program, 0, sizeof program);
	if (reel_lane_open(&root, pool, flags_of_root))
		return -ENOMEM;
	program.region = reel_region_begin(root, LANES);
	run_team(threads, loop_body, NULL);
	note_error(reel_region_end(program.region));
	note_error(reel_lane_freeze(root, &recording));
	if (!recording)
		reel_lane_close(root);
	if (program.error || reel_lane_reader_open(&root, recording)) {
		reel_lane_recording_close(recording);
		return -ENOMEM;
	}
	program.reverse = true;
	program.region = reel_region_reverse(root);
	run_team(threads, loop_body, NULL);
	note_error(reel_region_end(program.region));
	if (!program.error && !reel_lane_is_empty(root))
		program.wrong++;
	reel_lane_close(root);
	reel_lane_recording_close(recording);
	return program.error;
}

/* Lanes are made in a hold, and then held. Each lane has a thread, which tries twice to make it. */
static int run_in_hold(reel_pool *pool, int threads)
{
	reel_lane *root;

	(void)threads;
	memset(&program, 0, sizeof program);
	if (reel_lane_open(&root, pool, flags_of_root))
		return -ENOMEM;
	note_error(reel_lane_hold(root));
	program.region = reel_region_begin(root, LANES);
	run_team(LANES, loop_body, NULL);
	note_error(reel_region_end(program.region));
	reel_lane_close(root);
	return program.error;
}

static void sweep(int (*run)(reel_pool *pool, int threads), reel_pool *pool, bool all_that_follow)
{
	unsigned errors = 0, silent = 0, odd = 0, idle_reports = 0, requests, k = 0;

	reports.of_other_errors = 0;
	do {
		int error;

		reports.calls = 0;
		refuse_from(++k, all_that_follow);
		error = run(pool, 1);
		requests = stop_refusing();
		idle_reports += !error && reports.calls;
		errors += error != 0;
		odd += error && error != -ENOMEM;
		silent += !error && program.wrong;
	} while (requests >= k);
	ok(k > 10, "memory is asked for %u times", k - 1);
	ok(errors > k / 5, "%u refusals of memory give an error", errors);
	is_int(reports.of_other_errors, 0, "no other error is reported first");
	is_int(idle_reports, 0, "nothing is reported where the program has no error");
	is_int(odd, 0, "each report says that there is no memory");
	is_int(silent, 0, "no value is wrong without an error");
}

/* ---- A hold in a hold ---- */

/* Returns the error of the inner hold. After one release no lane may be in a hold. */
static int refuse_inner_hold(unsigned k, unsigned *requests)
{
	reel_lane_recording *recording = NULL;
	reel_lane *root, *task;
	int error;

	if (reel_lane_open(&root, NULL, 0))
		abort();
	program.region = reel_region_begin(root, LANES);
	program.reverse = false;
	run_team(1, loop_body, NULL);
	reel_region_end(program.region);
	task = reel_task_begin(root, 0, NULL, 0);
	reel_push(reel_lane_tape(task), 1.0);
	reel_task_wait(root);
	reel_lane_hold(root);
	refuse_from(k, false);
	error = reel_lane_hold(root);
	*requests = stop_refusing();
	if (!error)
		reel_lane_release(root);
	program.wrong += reel_lane_replay(root) != 0;
	program.wrong += reel_lane_release(root) != 0;
	program.wrong += reel_lane_freeze(root, &recording) == -EBUSY;
	program.wrong += reel_lane_release(root) != -EINVAL;
	reel_lane_close(root);
	return error;
}

static void test_holds(void)
{
	unsigned requests, k = 0, refused = 0;

	tap_case("a hold in a hold");
	program.wrong = 0;
	do
		refused += refuse_inner_hold(++k, &requests) == -ENOMEM;
	while (requests >= k);
	is_int(refused, k - 1, "a hold in a hold is refused at each request for memory");
	is_int(program.wrong, 0, "no lane stays in a refused hold");
}

/* ---- The tasks of two waits ---- */

static _Atomic int bodies, of_wrong_wait;

static void see_wait(void *context, reel_lane *task)
{
	const int *wait = context;

	bodies++;
	of_wrong_wait += reel_task_label(task) != *wait;
	(void)reel_pop(reel_lane_tape(task), int);
}

static int reverse_wait(reel_lane *root, int wait)
{
	bodies = 0;
	return reel_tasks_reverse(root, see_wait, &wait, 1, 0);
}

static void test_waits(void)
{
	unsigned requests, k = 0;
	int called = 0;
	reel_lane *root;

	tap_case("tasks of two waits");
	of_wrong_wait = 0;
	do {
		reel_lane_open(&root, NULL, 0);
		for (int wait = 0; wait < 2; wait++) {
			for (int i = 0; i < 2 + 4 * wait; i++)
				reel_push(reel_lane_tape(reel_task_begin(root, wait, NULL, 0)), i);
			reel_task_wait(root);
		}
		refuse_from(++k, false);
		reverse_wait(root, 1);
		requests = stop_refusing();
		if (requests >= k) {
			called += bodies;
			reverse_wait(root, 0);
			called += bodies;
		}
		reel_lane_close(root);
	} while (requests >= k);
	ok(k > 1, "memory is asked for %u times", k - 1);
	is_int(called, 0, "without memory no body is called, then or later");
	is_int(of_wrong_wait, 0, "with memory each body gets tasks of its wait");
}

/* ---- A region without memory ---- */

/* The parent of the region is the lane that the library gives without memory. */
static void test_dead_region(void)
{
	reel_region *region;
	reel_worker worker;
	reel_lane *root;

	tap_case("collective spans of a region without memory");
	reel_lane_open(&root, NULL, 0);
	refuse_from(1, true);
	region = reel_region_reverse(root);
	stop_refusing();
	worker = reel_worker_begin(region, 0, 1);
	ok(!reel_worker_next(&worker), "it gives out no lane");
	ok(!reel_worker_push_span(&worker, double, 4), "no span is pushed");
	ok(!reel_worker_pop_span(&worker, double, 4), "no span is popped");
	is_int(reel_region_end(region), -ENOMEM, "it ends with the error");
	is_int(reel_lane_error(root), -ENOMEM, "its parent has the error");
	reel_lane_close(root);
}

int main(void)
{
	reel_pool *pool;

	tap_begin();
	pool = open_pool(TINY);
	record_reports();
	is_int(run_program(pool, 1), 0, "the program runs when there is memory");
	is_int(program.wrong, 0, "all comes back when there is memory");
	for (int persistent = 0; persistent < 2; persistent++) {
		tap_case(persistent ? "all requests from one on" : "one request");
		for (int checked = 0; checked < 2; checked++) {
			flags_of_root = checked ? REEL_CHECKED : 0;
			reel_set_error_handler(count_report, NULL);
			sweep(run_program, pool, persistent);
			sweep(run_reader, pool, persistent);
			sweep(run_in_hold, pool, persistent);
			record_reports();
		}
		is_int(run_program(pool, 2), 0, "the next run has no error");
		is_int(program.wrong, 0, "all comes back in the next run");
	}
	test_holds();
	test_waits();
	test_dead_region();
	reel_set_error_handler(NULL, NULL);
	close_pool(pool, "faults");
	return tap_end();
}
