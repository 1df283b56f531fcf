/* SPDX-License-Identifier: MIT */
/*
 * Tests regions: the values of lanes come back to the same lanes, by any number of threads, and all
 * other uses are errors.
 */
#include "config.h"

#include "helpers/support.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include <reel/task.h>

#include "helpers/thread-team.h"
#include "helpers/store-fault.h"

static const int teams[] = {1, 2, 3, 5};

static reel_lane *open_root(reel_pool *pool)
{
	reel_lane *root;

	is_int(reel_lane_open(&root, pool, 0), 0, "a root opens");
	return root;
}

/* ---- Loops ---- */

#define MOST 40

/* A loop that all lanes share. Each iteration pushes its number and the number of its runs. */
static struct {
	reel_region *region;
	reel_chunking chunking;
	int low, high;
	int runs[MOST];
	int wrong;
	bool reverse;
} loop;

static void loop_forward(const struct member *member)
{
	reel_worker worker = reel_worker_begin(loop.region, member->number, member->team->threads);

	while (reel_worker_next(&worker)) {
		REEL_FOR(worker.lane, int, i, loop.low, loop.high, loop.chunking)
		{
			reel_push(reel_lane_tape(worker.lane), i);
			__atomic_fetch_add(&loop.runs[i - loop.low], 1, __ATOMIC_RELAXED);
		}
	}
}

static void loop_reverse(const struct member *member)
{
	reel_worker worker = reel_worker_begin(loop.region, member->number, member->team->threads);

	while (reel_worker_next(&worker)) {
		REEL_FOR_REVERSE(worker.lane, int, i, loop.low, loop.high, loop.chunking)
		{
			if (reel_pop(reel_lane_tape(worker.lane), int) != i)
				__atomic_fetch_add(&loop.wrong, 1, __ATOMIC_RELAXED);
			__atomic_fetch_add(&loop.runs[i - loop.low], -1, __ATOMIC_RELAXED);
		}
	}
}

static bool each_ran(int times)
{
	for (int i = 0; i < loop.high - loop.low; i++)
		if (loop.runs[i] != times)
			return false;
	return true;
}

/* Returns true if all values come back, and none is left. */
static bool loop_comes_back(reel_lane *root, int lanes, int threads, int threads_back)
{
	bool good;

	memset(loop.runs, 0, sizeof loop.runs);
	loop.wrong = 0;
	loop.region = reel_region_begin(root, lanes);
	run_team(threads, loop_forward, NULL);
	good = reel_region_end(loop.region) == 0 && each_ran(1);
	loop.region = reel_region_reverse(root);
	run_team(threads_back, loop_reverse, NULL);
	good &= reel_region_end(loop.region) == 0 && each_ran(0) && !loop.wrong;
	return good && reel_lane_is_empty(root);
}

static const reel_chunking *dealings(int chunk)
{
	static reel_chunking chunking[4];

	chunking[0] = reel_static(chunk);
	chunking[1] = reel_dynamic(chunk);
	chunking[2] = reel_guided(chunk);
	chunking[3] = (reel_chunking){REEL_STATIC_LOOP, 1, chunk};
	return chunking;
}

static void test_loops(void)
{
	static const char *const names[] = {"static", "dynamic", "guided", "noted static"};
	static const int sizes[] = {0, 1, 7, 32};
	reel_pool *pool = open_pool(TINY);
	reel_lane *root = open_root(pool);

	tap_case("loops");
	for (int kind = 0; kind < 4; kind++) {
		for (int n = 0; n < 4; n++) {
			bool good = true;

			loop.low = -3;
			loop.high = loop.low + sizes[n];
			for (int chunk = 0; chunk <= sizes[n] + 1; chunk++) {
				loop.chunking = dealings(chunk)[kind];
				for (int lanes = 0; lanes < 5; lanes++)
					good &= loop_comes_back(root, lanes, 1 + chunk % 3,
								teams[(chunk + lanes) % 4]);
			}
			ok(good, "%s loops of %d iterations, all chunk sizes, 0 to 4 lanes, come "
			   "back by 1 to 5 threads", names[kind], sizes[n]);
		}
	}
	reel_lane_close(root);
	close_pool(pool, "loops");
}

/* ---- Notes ---- */

static void take_none(const struct member *member)
{
	reel_worker worker = reel_worker_begin(loop.region, member->number, member->team->threads);

	while (reel_worker_next(&worker)) {
		REEL_FOR(worker.lane, int, i, 0, 0, reel_dynamic(1))
		reel_push(reel_lane_tape(worker.lane), i);
		REEL_FOR(worker.lane, int, i, 0, 100, reel_static(0))
		(void)i;
	}
}

/* Lane 0 takes all iterations. */
static void take_all(const struct member *member)
{
	reel_worker worker = reel_worker_begin(loop.region, member->number, 1);

	if (member->number == 0 && reel_worker_next(&worker))
		REEL_FOR(worker.lane, int, i, 0, 1000, reel_dynamic(10))
	(void)i;
}

static void test_notes(void)
{
	reel_lane *root = open_root(NULL);
	uint64_t before;

	tap_case("notes");
	loop.region = reel_region_begin(root, 3);
	run_team(1, take_none, NULL);
	is_int(reel_region_end(loop.region), 0, "a region in which nothing is pushed");
	is_int(reel_lane_note_bytes(root), 32,
	       "a region takes 32 bytes on its parent, and none in its lanes");
	before = reel_lane_note_bytes(root);
	loop.region = reel_region_begin(root, 1);
	run_team(1, take_all, NULL);
	is_int(reel_region_end(loop.region), 0, "a dynamic loop of one lane");
	is_int(reel_lane_note_bytes(root) - before, 32 + 16 + 16 + 16,
	       "a loop of one lane is one interval: 16 bytes for it, the loop and the phase");
	is_int(reel_lane_bytes(root), 0, "no note is on a lane's tape");
	reel_lane_close(root);
}

/* ---- Phases ---- */

#define STEPS 7

static struct {
	reel_region *region;
	int level[STEPS + 1];
	int wrong;
	bool own_barrier; /* reel_worker_barrier() */
} phases;

static void go_on(const struct member *member, reel_worker *worker)
{
	if (phases.own_barrier) {
		reel_worker_barrier(worker);
		return;
	}
	team_barrier(member);
	reel_worker_next_phase(worker);
}

/* Step s reads the numbers that all lanes have written in step s - 1. */
static void phases_forward(const struct member *member)
{
	reel_worker worker =
		reel_worker_begin(phases.region, member->number, member->team->threads);

	for (int step = 0; step < STEPS; step++) {
		while (reel_worker_next(&worker)) {
			reel_tape *tape = reel_lane_tape(worker.lane);

			if (step > 0 && phases.level[step] != reel_lane_count(worker.lane))
				__atomic_fetch_add(&phases.wrong, 1, __ATOMIC_RELAXED);
			if ((step + reel_lane_index(worker.lane)) % 2)
				reel_push(tape, step);
			REEL_SINGLE (worker.lane)
				reel_push(tape, -step);
			__atomic_fetch_add(&phases.level[step + 1], 1, __ATOMIC_RELAXED);
		}
		go_on(member, &worker);
	}
}

static void phases_reverse(const struct member *member)
{
	reel_worker worker =
		reel_worker_begin(phases.region, member->number, member->team->threads);

	for (int step = STEPS; step-- > 0;) {
		go_on(member, &worker);
		while (reel_worker_next(&worker)) {
			reel_tape *tape = reel_lane_tape(worker.lane);
			int wrong = 0;

			if (step < STEPS - 1 && phases.level[step + 2] != 0)
				wrong++;
			REEL_SINGLE_REVERSE(worker.lane)
			wrong += reel_pop(tape, int) != -step;
			if ((step + reel_lane_index(worker.lane)) % 2 &&
			    reel_pop(tape, int) != step)
				wrong++;
			__atomic_fetch_add(&phases.level[step + 1], -1, __ATOMIC_RELAXED);
			__atomic_fetch_add(&phases.wrong, wrong, __ATOMIC_RELAXED);
		}
	}
}

static void test_phases(void)
{
	reel_pool *pool = open_pool(TINY);
	reel_lane *root = open_root(pool);

	tap_case("phases");
	for (unsigned i = 0; i < COUNT(teams); i++) {
		for (unsigned k = 0; k < 2 * COUNT(teams); k++) {
			int threads_back = teams[k / 2];

			memset(&phases, 0, sizeof phases);
			phases.own_barrier = k % 2;
			phases.region = reel_region_begin(root, 3);
			run_team(teams[i], phases_forward, NULL);
			is_int(reel_region_end(phases.region), 0, "%d phases of 3 lanes by %d "
			       "threads", STEPS + 1, teams[i]);
			phases.region = reel_region_reverse(root);
			is_int(reel_region_phases(phases.region), STEPS + 1,
			       "the phases are noted");
			run_team(threads_back, phases_reverse, NULL);
			is_int(reel_region_end(phases.region), 0,
			       "the phases are reversed by %d threads", threads_back);
			is_int(phases.wrong, 0, "no lane is ahead of another by a phase");
			ok(reel_lane_is_empty(root), "nothing is left");
		}
	}
	reel_lane_close(root);
	close_pool(pool, "phases");
}

/*
 * After a barrier of Reel each thread sees the writes of all other threads before it, and all
 * threads get the same span. The teams have one group of threads, or several on two or three
 * levels.
 */
#define BARRIERS 1500

static const int barrier_teams[] = {1, 2, 3, 4, 5, 8, 16, 17, 23, MAX_THREADS};

static struct {
	reel_region *region;
	/* Each thread writes its own element, which has its own cache line and is not atomic. */
	struct {
		int done;
		const double *span;
		char line[64];
	} by[MAX_THREADS];
	_Atomic int wrong;
} barriers;

/* Threads that share processors are slow, so larger teams pass fewer barriers. */
static int barrier_rounds(int threads)
{
	return BARRIERS / threads / threads + 2;
}

static void pass_barriers(const struct member *member)
{
	int threads = member->team->threads, rounds = barrier_rounds(threads);
	reel_worker worker = reel_worker_begin(barriers.region, member->number, threads);

	for (int i = 0; i < rounds; i++) {
		barriers.by[member->number].done = i;
		reel_worker_barrier(&worker);
		for (int other = 0; other < threads; other++)
			barriers.wrong += barriers.by[other].done != i;
		barriers.by[member->number].span = reel_worker_push_span(&worker, double, 1);
		reel_worker_barrier(&worker);
		for (int other = 0; other < threads; other++)
			barriers.wrong += barriers.by[other].span != barriers.by[0].span ||
					  !barriers.by[other].span;
	}
}

static void pop_spans(const struct member *member)
{
	int threads = member->team->threads, rounds = barrier_rounds(threads);
	reel_worker worker = reel_worker_begin(barriers.region, member->number, threads);

	for (int i = 0; i < rounds; i++) {
		reel_worker_barrier(&worker);
		barriers.wrong += !reel_worker_pop_span(&worker, double, 1);
		reel_worker_barrier(&worker);
	}
}

static void test_barriers(void)
{
	reel_lane *root = open_root(NULL);

	tap_case("barriers");
	for (unsigned i = 0; i < COUNT(barrier_teams); i++) {
		memset(&barriers, 0, sizeof barriers);
		barriers.region = reel_region_begin(root, 0);
		run_team(barrier_teams[i], pass_barriers, NULL);
		reel_region_end(barriers.region);
		is_int(barriers.wrong, 0, "%d threads see what the others did before, and one span",
		       barrier_teams[i]);
	}
	for (unsigned i = COUNT(barrier_teams); i-- > 0;) {
		barriers.region = reel_region_reverse(root);
		run_team(barrier_teams[i], pop_spans, NULL);
		is_int(reel_region_end(barriers.region), 0, "%d threads pop the spans",
		       barrier_teams[i]);
		is_int(barriers.wrong, 0, "and all get them");
	}
	reel_lane_close(root);
}

/* ---- Nested regions ---- */

static reel_region *outer;

static void run_inner(reel_lane *lane, bool reverse)
{
	reel_region *inner = reverse ? reel_region_reverse(lane) : reel_region_begin(lane, 2);
	reel_worker worker = reel_worker_begin(inner, 0, 1);

	while (reel_worker_next(&worker)) {
		int id = 10 * reel_lane_index(lane) + reel_lane_index(worker.lane);

		if (!reverse)
			reel_push(reel_lane_tape(worker.lane), id);
		else if (reel_pop(reel_lane_tape(worker.lane), int) != id)
			__atomic_fetch_add(&loop.wrong, 1, __ATOMIC_RELAXED);
	}
	if (reel_region_end(inner))
		__atomic_fetch_add(&loop.wrong, 1, __ATOMIC_RELAXED);
}

static void nested_forward(const struct member *member)
{
	reel_worker worker = reel_worker_begin(outer, member->number, member->team->threads);

	while (reel_worker_next(&worker)) {
		REEL_FOR(worker.lane, int, i, 0, 6, reel_dynamic(1))
		{
			reel_push(reel_lane_tape(worker.lane), i);
			run_inner(worker.lane, false);
		}
	}
}

static void nested_reverse(const struct member *member)
{
	reel_worker worker = reel_worker_begin(outer, member->number, member->team->threads);

	while (reel_worker_next(&worker)) {
		REEL_FOR_REVERSE(worker.lane, int, i, 0, 6, reel_dynamic(1))
		{
			run_inner(worker.lane, true);
			if (reel_pop(reel_lane_tape(worker.lane), int) != i)
				__atomic_fetch_add(&loop.wrong, 1, __ATOMIC_RELAXED);
		}
	}
}

static void test_nested(void)
{
	reel_pool *pool = open_pool(TINY);
	reel_lane *root = open_root(pool);

	tap_case("regions in lanes");
	loop.wrong = 0;
	for (int round = 0; round < 3; round++) {
		reel_push(reel_lane_tape(root), round);
		outer = reel_region_begin(root, 0);
		run_team(3, nested_forward, NULL);
		is_int(reel_region_end(outer), 0, "a region of 3 lanes with regions of 2 in them");
	}
	for (int round = 3; round-- > 0;) {
		outer = reel_region_reverse(root);
		run_team(1 + round, nested_reverse, NULL);
		is_int(reel_region_end(outer), 0,
		       "the outer region is reversed by %d threads", 1 + round);
		is_int(reel_pop(reel_lane_tape(root), int), round,
		       "a value between two regions comes back");
	}
	is_int(loop.wrong, 0, "all values came back");
	ok(reel_lane_is_empty(root), "nothing is left");
	reel_lane_close(root);
	close_pool(pool, "nested regions");
}

/* ---- Orders ---- */

#define TURNS 200

static struct {
	reel_region *region;
	reel_ordered order;
	reel_ordered inner;
	int count;
	int who[3 * TURNS];
	int wrong;
	int error[3];
} orders;

static void orders_forward(const struct member *member)
{
	reel_worker worker =
		reel_worker_begin(orders.region, member->number, member->team->threads);

	while (reel_worker_next(&worker)) {
		for (int i = 0; i < TURNS; i++) {
			team_lock(member);
			reel_ordered_note(worker.lane, &orders.order);
			orders.who[orders.count++] = member->number;
			team_unlock(member);
		}
	}
}

static void orders_reverse(const struct member *member)
{
	reel_worker worker =
		reel_worker_begin(orders.region, member->number, member->team->threads);

	while (reel_worker_next(&worker)) {
		for (int i = 0; i < TURNS; i++) {
			reel_ordered_await(worker.lane, &orders.order);
			orders.wrong += orders.who[--orders.count] != reel_lane_index(worker.lane);
			reel_ordered_done(worker.lane, &orders.order);
		}
	}
}

static void record_orders(reel_lane *root)
{
	memset(&orders, 0, sizeof orders);
	orders.region = reel_region_begin(root, 3);
	run_team(3, orders_forward, NULL);
	is_int(reel_region_end(orders.region), 0, "3 lanes note %d turns each", TURNS);
	orders.region = reel_region_reverse(root);
}

static void test_orders(void)
{
	static const int enough[] = {3, 5};
	reel_lane *root = open_root(NULL);

	tap_case("orders");
	for (unsigned i = 0; i < COUNT(enough); i++) {
		record_orders(root);
		is_int(reel_region_threads(orders.region, 1), 3, "so many threads are needed");
		is_int(reel_region_threads(orders.region, 9), 9, "more of them may come");
		run_team(enough[i], orders_reverse, NULL);
		is_int(reel_region_end(orders.region), 0, "%d threads reverse them", enough[i]);
		ok(orders.count == 0 && !orders.wrong,
		   "turns are reversed in exactly the opposite order");
		is_int(orders.order.count, 0, "the order is as it was");
	}
	record_orders(root);
	record_reports();
	run_team(2, orders_reverse, NULL);
	is_int(reel_region_end(orders.region), -EDEADLK, "with fewer threads it is refused");
	is_int(reported.calls > 0, 1, "a message tells");
	ok(strstr(reported.message, "reel_region_threads()") != NULL, "the remedy: %s",
	   reported.message);
	is_int(orders.count, 3 * TURNS, "no lane is given out");
	reel_set_error_handler(NULL, NULL);
	reel_lane_close(root);
}

static struct {
	reel_region *region;
	reel_ordered order;
	int written, seen;
} handed;

static void note_turn(const struct member *member)
{
	reel_worker worker = reel_worker_begin(handed.region, member->number, 1);

	while (reel_worker_next(&worker))
		reel_ordered_note(worker.lane, &handed.order);
}

/*
 * Lane 0 waits by relaxed loads until its turn has come, so that only the turn itself makes the
 * write of lane 1 visible. If it does not, ThreadSanitizer reports a race.
 */
static void hand_on(const struct member *member)
{
	reel_worker worker = reel_worker_begin(handed.region, member->number, 2);
	bool is_first;

	reel_worker_next(&worker);
	team_barrier(member);
	is_first = reel_lane_index(worker.lane) == 1;
	while (!is_first &&
	       atomic_load_explicit(&handed.order.count, memory_order_relaxed) > 1)
		sched_yield();
	reel_ordered_await(worker.lane, &handed.order);
	if (is_first)
		handed.written = 5;
	else
		handed.seen = handed.written;
	reel_ordered_done(worker.lane, &handed.order);
	reel_worker_next(&worker);
}

static void test_turn_shows_writes(void)
{
	reel_lane *root = open_root(NULL);

	tap_case("a turn");
	handed.region = reel_region_begin(root, 2);
	run_team(1, note_turn, NULL);
	is_int(reel_region_end(handed.region), 0, "two lanes note one each");
	handed.region = reel_region_reverse(root);
	run_team(2, hand_on, NULL);
	is_int(reel_region_end(handed.region), 0, "two threads reverse them");
	is_int(handed.seen, 5, "the second one sees what the first one wrote in its turn");
	reel_lane_close(root);
}

/* Notes turns that a replay drops. The count of turns before them has to stay. */
static void note_others(reel_lane *root)
{
	int who[COUNT(orders.who)];

	memcpy(who, orders.who, sizeof who);
	orders.count = 0;
	orders.region = reel_region_begin(root, 3);
	run_team(3, orders_forward, NULL);
	is_int(reel_region_end(orders.region), 0, "turns that a replay will drop are noted");
	memcpy(orders.who, who, sizeof who);
}

static int reverse_orders(reel_lane *root)
{
	orders.region = reel_region_reverse(root);
	run_team(3, orders_reverse, NULL);
	return reel_region_end(orders.region);
}

/*
 * Replays a hold, and a hold inside it. In each, one sweep is not finished, and turns are noted
 * that the next replay drops.
 */
static void replay_orders(reel_lane *root, int depth)
{
	int count = orders.count;

	is_int(reel_lane_hold(root), 0, "the turns are held, at depth %d", depth);
	for (int times = 0; times < 3; times++) {
		orders.count = count;
		is_int(reel_lane_replay(root), 0, "the turns are replayed");
		is_int(reverse_orders(root), 0, "turns of a hold are reversed");
		ok(orders.count == 0 && !orders.wrong,
		   "turns of a hold are reversed in exactly the opposite order");
		if (times == 1 && depth < 2) {
			orders.count = count;
			reel_lane_replay(root);
			replay_orders(root, depth + 1);
		}
		note_others(root);
	}
	orders.count = count;
	is_int(reel_lane_replay(root), 0, "the turns are replayed again");
	is_int(reel_lane_release(root), 0, "the turns are released");
}

static void test_orders_in_holds(void)
{
	reel_lane *root = open_root(NULL);

	tap_case("orders in holds");
	record_orders(root);
	reel_region_end(orders.region);
	is_int(reel_lane_error(root), -EBADMSG, "a region of which nothing was reversed");
	reel_lane_close(root);
	root = open_root(NULL);
	memset(&orders, 0, sizeof orders);
	orders.region = reel_region_begin(root, 3);
	run_team(3, orders_forward, NULL);
	reel_region_end(orders.region);
	replay_orders(root, 1);
	is_int(reverse_orders(root), 0, "reversed for good");
	ok(orders.count == 0 && !orders.wrong,
	   "turns are reversed for good in exactly the opposite order");
	is_int(orders.order.count, 0, "the order is as it was");
	ok(reel_lane_is_empty(root), "nothing is left");
	reel_lane_hold(root);
	note_others(root);
	reel_lane_close(root);
}

/* ---- A lane that takes no turn ---- */

enum missing { ERROR_IN_REGION, ERROR_BEFORE, SKIPS_TURNS, NESTED_REGION, TASK_FAILS,
	       SKIPS_TASK, MISSING };

static const char *const what_is_missing[MISSING] = {
	"its tape gets an error", "its tape has had an error since the region before",
	"it leaves its turns out", "its nested region lacks threads", "a task of it has failed",
	"it leaves its turns and a task out"};

static enum missing missing;

/* Lane 0 ends without its turns, and the turns of other lanes come after these. */
static void miss_turns(reel_worker *worker)
{
	reel_region *region;
	reel_worker inner;
	reel_lane *task;

	switch (missing) {
	case ERROR_IN_REGION:
		reel_tape_give_up(reel_lane_tape(worker->lane), -EIO, "an error in the region");
		break;
	case NESTED_REGION:
		region = reel_region_reverse(worker->lane);
		inner = reel_worker_begin(region, 0, 1);
		reel_worker_next(&inner);
		reel_region_end(region);
		break;
	case TASK_FAILS:
		reel_task_wait_reverse(worker->lane);
		task = reel_task_reverse(worker->lane);
		reel_tape_give_up(reel_lane_tape(task), -EIO, "an error in a task");
		break;
	default:
		break;
	}
	reel_worker_leave(worker);
}

static void note_turns(const struct member *member)
{
	reel_worker worker =
		reel_worker_begin(orders.region, member->number, member->team->threads);

	reel_worker_next(&worker);
	for (int i = 0; i < 3; i++) {
		while (__atomic_load_n(&orders.count, __ATOMIC_ACQUIRE) % 3 != member->number)
			sched_yield();
		reel_ordered_note(worker.lane, &orders.order);
		__atomic_fetch_add(&orders.count, 1, __ATOMIC_RELEASE);
	}
	if (member->number)
		return;
	if (missing == TASK_FAILS || missing == SKIPS_TASK) {
		reel_push(reel_lane_tape(reel_task_begin(worker.lane, 0, NULL, 0)), 1.0);
		reel_task_wait(worker.lane);
	}
	if (missing == NESTED_REGION) {
		reel_region *region = reel_region_begin(worker.lane, 2);
		reel_worker inner = reel_worker_begin(region, 0, 1);

		while (reel_worker_next(&inner))
			reel_ordered_note(inner.lane, &orders.inner);
		reel_region_end(region);
	}
}

static void await_turns(const struct member *member)
{
	reel_worker worker =
		reel_worker_begin(orders.region, member->number, member->team->threads);

	reel_worker_next(&worker);
	if (!member->number)
		miss_turns(&worker);
	for (int i = 0; member->number && i < 3; i++) {
		reel_ordered_await(worker.lane, &orders.order);
		reel_ordered_done(worker.lane, &orders.order);
	}
	orders.error[member->number] = reel_lane_error(worker.lane);
	team_barrier(member);
}

static void reverse_note_turns(const struct member *member)
{
	reel_worker worker =
		reel_worker_begin(orders.region, member->number, member->team->threads);

	reel_worker_next(&worker);
	for (int i = 0; i < 3; i++) {
		reel_ordered_await(worker.lane, &orders.order);
		reel_ordered_done(worker.lane, &orders.order);
	}
}

static void give_up_lane(const struct member *member)
{
	reel_worker worker =
		reel_worker_begin(orders.region, member->number, member->team->threads);

	reel_worker_next(&worker);
	if (!member->number)
		reel_tape_give_up(reel_lane_tape(worker.lane), -EIO, "an error before the region");
}

/* An error ends the wait of each lane, so that each thread reaches the end of the region. */
static void test_missing_turns(void)
{
	static const int error[MISSING] = {-EIO, -EIO, -EBADMSG, -EDEADLK, -EIO, -EBADMSG};
	static const int region_error[MISSING] = {-EIO, -EIO, -EBADMSG, -EDEADLK, -EBADMSG,
						  -EBADMSG};

	tap_case("a lane that takes no turn");
	/* Several lanes report their errors at the same time. */
	reel_set_error_handler(ignore_report, NULL);
	alarm(60);
	for (missing = 0; missing < MISSING; missing++) {
		reel_lane *root = open_root(NULL);

		memset(&orders, 0, sizeof orders);
		orders.region = reel_region_begin(root, 3);
		run_team(3, note_turns, NULL);
		is_int(reel_region_end(orders.region), 0, "3 lanes note 3 turns each");
		if (missing == ERROR_BEFORE) {
			orders.region = reel_region_begin(root, 3);
			run_team(3, give_up_lane, NULL);
			reel_region_end(orders.region);
			orders.region = reel_region_reverse(root);
			reel_region_end(orders.region);
		}
		orders.region = reel_region_reverse(root);
		run_team(3, await_turns, NULL);
		is_int(reel_region_end(orders.region), region_error[missing], "%s: nobody waits",
		       what_is_missing[missing]);
		for (int i = 1; i < 3; i++)
			is_int(orders.error[i], error[missing], "lane %d has the error, too", i);
		reel_lane_close(root);
	}
	alarm(0);
	reel_set_error_handler(NULL, NULL);
}

/* ---- Turns that do not end ---- */

enum misuse { DONE_FORGOTTEN, DONE_OF_OTHER, LEFT_WITH_TURN, MISUSES };

static const char *const what_is_misused[MISUSES] = {
	"a lane waits again before the end of its turn", "it ends a turn of another order",
	"it leaves with its turn"};

static enum misuse misuse;

/* Lane 2 has the last turn. */
static void misuse_turn(reel_worker *worker)
{
	reel_ordered_await(worker->lane, &orders.order);
	switch (misuse) {
	case DONE_FORGOTTEN:
		reel_ordered_await(worker->lane, &orders.order);
		break;
	case DONE_OF_OTHER:
		reel_ordered_done(worker->lane, &orders.inner);
		break;
	default:
		reel_worker_leave(worker);
	}
}

static void await_misused_turns(const struct member *member)
{
	reel_worker worker =
		reel_worker_begin(orders.region, member->number, member->team->threads);

	reel_worker_next(&worker);
	if (member->number == 2)
		misuse_turn(&worker);
	for (int i = 0; member->number != 2 && i < 3; i++) {
		reel_ordered_await(worker.lane, &orders.order);
		reel_ordered_done(worker.lane, &orders.order);
	}
	orders.error[member->number] = reel_lane_error(worker.lane);
}

static void test_misused_turns(void)
{
	reel_lane *root, *other;

	tap_case("turns that do not end");
	reel_set_error_handler(ignore_report, NULL);
	alarm(60);
	missing = SKIPS_TURNS;
	for (misuse = 0; misuse < MISUSES; misuse++) {
		root = open_root(NULL);
		memset(&orders, 0, sizeof orders);
		orders.region = reel_region_begin(root, 3);
		run_team(3, note_turns, NULL);
		reel_region_end(orders.region);
		orders.region = reel_region_reverse(root);
		run_team(3, await_misused_turns, NULL);
		is_int(reel_region_end(orders.region), -EINVAL, "%s: nobody waits",
		       what_is_misused[misuse]);
		for (int i = 0; i < 3; i++)
			is_int(orders.error[i], -EINVAL, "lane %d has the error", i);
		reel_lane_close(root);
	}
	root = open_root(NULL);
	other = open_root(NULL);
	record_reports();
	memset(&orders, 0, sizeof orders);
	for (int k = 0; k < 2; k++) {
		orders.region = reel_region_begin(k ? other : root, 3);
		orders.count = 0;
		run_team(k ? 1 : 3, k ? orders_forward : note_turns, NULL);
		is_int(reel_region_end(orders.region), k ? -EINVAL : 0, "an order of %d roots",
		       1 + k);
	}
	ok(strstr(reported.message, "each root") != NULL, "told: %s", reported.message);
	orders.region = reel_region_reverse(root);
	run_team(3, reverse_note_turns, NULL);
	is_int(reel_region_end(orders.region), 0, "the first root has the order for itself");
	reel_lane_close(other);
	reel_lane_close(root);
	alarm(0);
	reel_set_error_handler(NULL, NULL);
}

/* Without its notes a lane would pop values of other loops, so it pops all ones. */
static void test_lost_notes(void)
{
	static const struct reel_fault_rule rule = {
		.fault = REEL_FAULT_ERROR, .persistent = true, .error = -EIO};
	struct reel_pool_options options = tiny_budget(16);
	reel_pool *pool;
	reel_lane *root;
	reel_worker worker;

	tap_case("lost notes");
	record_reports();
	if (reel_store_memory_open(&options.store, UINT64_MAX) ||
	    reel_store_fault_open(&options.store, options.store, &rule, 1))
		abort();
	pool = open_pool(options);
	root = open_root(pool);
	worker = reel_worker_begin(reel_region_begin(root, 1), 0, 1);
	reel_worker_next(&worker);
	push_words(reel_lane_tape(worker.lane), 0, 5);
	for (int i = 0; i < 1000; i++)
		REEL_SINGLE (worker.lane)
			;
	is_int(reel_region_end(worker.region), 0, "notes that are stored");
	worker = reel_worker_begin(reel_region_reverse(root), 0, 1);
	reel_worker_next(&worker);
	for (int i = 0; i < 1000 && !reel_lane_error(worker.lane); i++)
		REEL_SINGLE_REVERSE(worker.lane);
	is_int(reel_lane_error(worker.lane), -EIO, "stored notes cannot be read back");
	is_int(reel_tape_error(reel_lane_tape(worker.lane)), -EIO,
	       "are an error of the lane's tape");
	ok(reel_pop(reel_lane_tape(worker.lane), uint64_t) == UINT64_MAX,
	   "the tape of the lane pops all ones");
	is_int(reel_region_end(worker.region), -EIO, "the region ends with it");
	reel_set_error_handler(NULL, NULL);
	reel_lane_close(root);
	close_pool(pool, "lost notes");
}

/* A lane has more turns than the note of a phase can count. */
static void test_many_notes(void)
{
	int many = (1 << 21) + 1000;
	reel_lane *root = open_root(NULL);
	reel_region *region = reel_region_begin(root, 1);
	reel_worker worker = reel_worker_begin(region, 0, 1);

	tap_case("many notes");
	memset(&orders, 0, sizeof orders);
	reel_worker_next(&worker);
	for (int i = 0; i < many; i++)
		reel_ordered_note(worker.lane, &orders.order);
	is_int(reel_region_end(region), 0, "%d turns are noted", many);
	region = reel_region_reverse(root);
	worker = reel_worker_begin(region, 0, 1);
	reel_worker_next(&worker);
	for (int i = 0; i < many; i++) {
		reel_ordered_await(worker.lane, &orders.order);
		reel_ordered_done(worker.lane, &orders.order);
	}
	is_int(reel_region_end(region), 0, "many turns are reversed");
	ok(reel_lane_is_empty(root), "nothing is left");
	reel_lane_close(root);
}

/* ---- Collective spans ---- */

#define STATES 60
#define WIDTH 300

/* State s is a span of WIDTH numbers, each computed from two numbers of state s - 1. */
static struct {
	reel_region *region;
	uint64_t expected[STATES][WIDTH];
	const uint64_t *edge; /* the state before the region, or the last one */
	reel_pool *pressed;   /* a pool whose frames press() takes; NULL: none */
	_Atomic int wrong;
} spans;

static void expect_states(void)
{
	for (uint64_t i = 0; i < WIDTH; i++)
		spans.expected[0][i] = i * i;
	for (int s = 1; s < STATES; s++)
		for (int i = 0; i < WIDTH; i++)
			spans.expected[s][i] = 3 * spans.expected[s - 1][i] +
					       spans.expected[s - 1][(i + 7) % WIDTH];
}

static void see_state(const uint64_t *state, int s)
{
	if (!state || memcmp(state, spans.expected[s], sizeof spans.expected[s]))
		spans.wrong++;
}

/* Another tape of the pool takes all frames that it can get, and gives them back. */
static void press(reel_pool *pool)
{
	reel_tape tape;

	reel_tape_open(&tape, pool, 0);
	for (uint64_t i = 0; i < 16 * 512; i++)
		reel_push(&tape, i);
	for (uint64_t i = 16 * 512; i-- > 0;)
		spans.wrong += reel_pop(&tape, uint64_t) != i;
	reel_tape_close(&tape);
}

static void fill_states(const struct member *member)
{
	int threads = member->team->threads;
	reel_worker worker = reel_worker_begin(spans.region, member->number, threads);
	const uint64_t *now = spans.edge;

	for (int s = 1; s < STATES; s++) {
		uint64_t *next;

		/* The other threads sleep until thread 0 comes last, and takes another slab. */
		if (member->number == 0 && s == 5)
			usleep(3000);
		next = reel_worker_push_span(&worker, uint64_t, WIDTH);
		/* Thread 0 may push the next state before the other threads read this one. */
		if (spans.pressed && member->number == threads - 1 && s % 8 == 1) {
			usleep(1000);
			press(spans.pressed);
		}
		for (int i = member->number; next && i < WIDTH; i += threads)
			next[i] = 3 * now[i] + now[(i + 7) % WIDTH];
		see_state(now, s - 1);
		now = next;
	}
	while (reel_worker_next(&worker))
		reel_push(reel_lane_tape(worker.lane), reel_lane_index(worker.lane));
}

static void empty_states(const struct member *member)
{
	reel_worker worker = reel_worker_begin(spans.region, member->number, member->team->threads);
	const uint64_t *later = spans.edge;

	while (reel_worker_next(&worker))
		spans.wrong +=
			reel_pop(reel_lane_tape(worker.lane), int) != reel_lane_index(worker.lane);
	for (int s = STATES - 1; s-- > 0;) {
		const uint64_t *state = reel_worker_pop_span(&worker, uint64_t, WIDTH);

		see_state(later, s + 1);
		see_state(state, s);
		later = state;
	}
}

static int record_states(reel_lane *root, int threads)
{
	uint64_t *first;

	spans.region = reel_region_begin(root, 3);
	first = reel_push_span(reel_lane_tape(root), uint64_t, WIDTH);
	if (first)
		memcpy(first, spans.expected[0], sizeof spans.expected[0]);
	spans.edge = first;
	run_team(threads, fill_states, NULL);
	return reel_region_end(spans.region);
}

static int reverse_states(reel_lane *root, int threads)
{
	spans.region = reel_region_reverse(root);
	spans.edge = reel_pop_span(reel_lane_tape(root), uint64_t, WIDTH);
	run_team(threads, empty_states, NULL);
	return reel_region_end(spans.region);
}

/* One span fills more than half of a slab, so each is on a slab of its own. */
static void test_spilled_spans(unsigned flags)
{
	struct reel_pool_options options = {
		.slab_bytes = 4096, .first_slab_bytes = 512, .hard_budget = 16 * 4096};
	struct reel_pool_stats stats;
	reel_pool *pool;
	reel_lane *root;

	if (reel_store_memory_open(&options.store, UINT64_MAX))
		abort();
	pool = open_pool(options);
	is_int(reel_lane_open(&root, pool, flags), 0, "a root opens, flags %u", flags);
	spans.wrong = 0;
	spans.pressed = pool;
	for (unsigned i = 0; i < COUNT(teams); i++) {
		is_int(record_states(root, teams[i]), 0, "%d threads fill them", teams[i]);
		is_int(reel_lane_hold(root), 0, "the many notes are held");
		for (unsigned k = 0; k < 2; k++) {
			is_int(reel_lane_replay(root), 0, "the many notes are replayed");
			is_int(reverse_states(root, teams[k]), 0, "%d read them", teams[k]);
		}
		reel_lane_replay(root);
		reel_lane_release(root);
		is_int(reverse_states(root, 3), 0, "3 read them at the end");
	}
	is_int(spans.wrong, 0, "each state was there, with its neighbour");
	reel_pool_get_stats(pool, &stats);
	ok(stats.read_bytes > 0, "states went to the store");
	ok(reel_lane_is_empty(root), "nothing is left");
	spans.pressed = NULL;
	reel_lane_close(root);
	close_pool(pool, "collective spans");
}

/* Pushes 3 spans, or pops `popped` of them. */
static void take_spans(const struct member *member)
{
	reel_worker worker = reel_worker_begin(spans.region, member->number, member->team->threads);
	const int *popped = member->team->context;

	for (int i = 0; !popped && i < 3; i++)
		reel_worker_push_span(&worker, int, 4);
	for (int i = 0; popped && i < *popped; i++)
		reel_worker_pop_span(&worker, int, 4);
}

static void test_span_counts(void)
{
	tap_case("as many collective spans as were pushed");
	record_reports();
	for (int popped = 2; popped < 5; popped++) {
		for (unsigned flags = 0; flags <= REEL_CHECKED; flags += REEL_CHECKED) {
			reel_lane *root;

			if (reel_lane_open(&root, NULL, flags))
				abort();
			reel_push_span(reel_lane_tape(root), int, 4);
			spans.region = reel_region_begin(root, 2);
			run_team(2, take_spans, NULL);
			is_int(reel_region_end(spans.region), 0, "3 spans are pushed");
			spans.region = reel_region_reverse(root);
			run_team(2, take_spans, &popped);
			is_int(reel_region_end(spans.region), popped == 3 ? 0 : -EBADMSG,
			       "%d of 3 spans are popped, flags %u", popped, flags);
			ok(popped == 3 || strstr(reported.message, "t-region.c:"), "told: %s",
			   reported.message);
			reel_lane_close(root);
		}
	}
	reel_set_error_handler(NULL, NULL);
}

static _Atomic int begun;

/*
 * Threads 1 and 2 both have the number 1 in a team of two. Thread 0 comes last, so that both wait
 * for their span, also if the system runs one of them late.
 */
static void push_with_wrong_number(const struct member *member)
{
	reel_worker worker;

	while (member->number == 0 && begun < 2)
		usleep(1000);
	if (member->number == 0)
		usleep(200000);
	worker = reel_worker_begin(spans.region, member->number > 0, 2);
	begun++;
	spans.wrong += reel_worker_push_span(&worker, int, 4) != NULL;
}

static void test_wrong_numbers(void)
{
	reel_lane *root = open_root(NULL);

	tap_case("a thread number twice");
	record_reports();
	spans.region = reel_region_begin(root, 2);
	run_team(2, take_spans, NULL);
	is_int(reel_region_end(spans.region), 0, "two threads push spans");
	spans.wrong = 0;
	begun = 0;
	spans.region = reel_region_begin(root, 2);
	run_team(3, push_with_wrong_number, NULL);
	is_int(reel_region_end(spans.region), -EINVAL, "one too many is an error");
	is_int(spans.wrong, 0, "no thread gets a span, such as one of the region before");
	reel_set_error_handler(NULL, NULL);
	reel_lane_close(root);
}

static void test_collective_spans(void)
{
	struct reel_pool_options options = {
		.slab_bytes = 4096, .first_slab_bytes = 512, .hard_budget = 20 * 4096};
	reel_pool *pool = open_pool(options);
	reel_lane *root = open_root(pool);

	tap_case("collective spans");
	expect_states();
	test_spilled_spans(0);
	test_spilled_spans(REEL_CHECKED);
	record_reports();
	is_int(record_states(root, 2), -EDQUOT, "refused where there is no room: %s",
	       reported.message);
	is_int(reverse_states(root, 2), -EDQUOT, "no span is popped for the refused ones");
	reel_set_error_handler(NULL, NULL);
	reel_lane_close(root);
	close_pool(pool, "collective spans that are refused");
}

/* ---- Loops and lanes that are left early ---- */

static void stop_at(reel_lane *lane, reel_chunking chunking, int last)
{
	reel_loop part = reel_loop_begin(lane, chunking, 0, 32);

	while (reel_loop_next(&part)) {
		for (int64_t i = part.first; i < part.end; i++) {
			if (i == last) {
				reel_loop_stop(&part, i);
				return;
			}
			reel_push(reel_lane_tape(lane), (int)i);
		}
	}
}

static bool comes_back_from_stop(reel_lane *lane, reel_chunking chunking)
{
	bool good = true;

	REEL_FOR_REVERSE(lane, int, i, 0, 32, chunking)
	good &= reel_pop(reel_lane_tape(lane), int) == i;
	return good && reel_tape_is_empty(reel_lane_tape(lane));
}

static void test_stops(void)
{
	reel_lane *root = open_root(NULL);
	int wrong = 0;

	tap_case("loops that are left");
	for (int kind = 0; kind < 4; kind++) {
		for (int last = 0; last <= 32; last++) {
			reel_chunking chunking = dealings(last % 5)[kind];
			reel_region *region = reel_region_begin(root, 2);
			reel_worker worker = reel_worker_begin(region, 0, 1);

			while (reel_worker_next(&worker))
				stop_at(worker.lane, chunking, last);
			wrong += reel_region_end(region) != 0;
			region = reel_region_reverse(root);
			worker = reel_worker_begin(region, 0, 1);
			while (reel_worker_next(&worker))
				wrong += !comes_back_from_stop(worker.lane, chunking);
			wrong += reel_region_end(region) != 0 || !reel_lane_is_empty(root);
		}
	}
	is_int(wrong, 0, "loops come back as far as they went, wherever they were left");
	reel_lane_close(root);
}

/* Lane 1 leaves after the first of three loops. */
static void run_short(reel_lane *lane, int loops, bool reverse)
{
	for (int k = 0; k < loops; k++) {
		if (!reverse)
			REEL_FOR(lane, int, i, 0, 8, reel_static(0))
				reel_push(reel_lane_tape(lane), i + 10 * k);
		else
			REEL_FOR_REVERSE(lane, int, i, 0, 8, reel_static(0))
				loop.wrong += reel_pop(reel_lane_tape(lane), int) !=
					      i + 10 * (loops - 1 - k);
	}
}

static int run_without_loops(reel_region *region)
{
	reel_worker worker = reel_worker_begin(region, 0, 1);

	while (reel_worker_next(&worker))
		;
	return reel_region_end(region);
}

static void test_short_lanes(void)
{
	reel_lane *root = open_root(NULL);
	reel_region *region = reel_region_begin(root, 3);
	reel_worker worker = reel_worker_begin(region, 0, 1);

	tap_case("lanes that leave early");
	loop.wrong = 0;
	while (reel_worker_next(&worker))
		if (reel_lane_index(worker.lane) < 2)
			run_short(worker.lane, reel_lane_index(worker.lane) == 1 ? 1 : 3, false);
	is_int(reel_region_end(region), 0, "of three loops one lane did one, and one lane none");
	is_int(run_without_loops(reel_region_begin(root, 3)), 0, "the next region has no loop");
	is_int(run_without_loops(reel_region_reverse(root)), 0,
	       "the region without loops is reversed");
	region = reel_region_reverse(root);
	worker = reel_worker_begin(region, 0, 1);
	while (reel_worker_next(&worker))
		run_short(worker.lane, 3, true);
	is_int(reel_region_end(region), 0, "the same code reverses all loops");
	is_int(loop.wrong, 0, "the values of the loops come back");
	ok(reel_lane_is_empty(root), "nothing is left");
	reel_lane_close(root);
}

/* Returns the number of chunks that the lane gets. */
static int take_dynamic(reel_lane *lane, int64_t size)
{
	reel_loop part = reel_loop_begin(lane, reel_dynamic(1), 0, size);
	int chunks = 0;

	while (reel_loop_next(&part))
		chunks++;
	return chunks;
}

/*
 * The word that lanes share has only 24 bits of the number of a loop. Loops without iterations do
 * not change the word.
 */
static void test_lane_far_behind(void)
{
	const int64_t step = 1 << 21, loops = 5 * step;
	reel_lane *root = open_root(NULL);
	reel_region *region = reel_region_begin(root, 2);
	reel_worker worker = reel_worker_begin(region, 0, 1);
	int chunks[2] = {0, 0};

	tap_case("a lane that is far behind");
	while (reel_worker_next(&worker))
		for (int64_t k = 0; k <= (reel_lane_index(worker.lane) ? 0 : loops); k++)
			chunks[reel_lane_index(worker.lane)] +=
				take_dynamic(worker.lane, k % step == 0);
	is_int(reel_region_end(region), 0, "a lane that is far behind is no error");
	is_int(chunks[0], 6, "the lane ahead has taken all chunks");
	is_int(chunks[1], 0, "the lane behind takes no chunk again");
	reel_lane_close(root);
}

/* The body of a single notes a turn of an ordered section, a task and a region. */
static void test_notes_in_single(void)
{
	reel_lane *root = open_root(NULL);
	reel_region *region = reel_region_begin(root, 2);
	reel_worker worker = reel_worker_begin(region, 0, 1);
	int wrong = 0, singles = 0;

	tap_case("notes in a single");
	loop.wrong = 0;
	memset(&orders, 0, sizeof orders);
	while (reel_worker_next(&worker)) {
		REEL_SINGLE (worker.lane) {
			reel_ordered_note(worker.lane, &orders.order);
			reel_push(reel_lane_tape(reel_task_begin(worker.lane, 7, NULL, 0)), 1.5);
			reel_task_wait(worker.lane);
			run_inner(worker.lane, false);
		}
		REEL_SINGLE (worker.lane)
			reel_push(reel_lane_tape(worker.lane), 8);
	}
	is_int(reel_region_end(region), 0, "a turn, a task and a region are recorded in a single");
	region = reel_region_reverse(root);
	for (int thread = 0; thread < 2; thread++) {
		worker = reel_worker_begin(region, thread, 2);
		while (reel_worker_next(&worker)) {
			REEL_SINGLE_REVERSE(worker.lane)
			wrong += reel_pop(reel_lane_tape(worker.lane), int) != 8;
			REEL_SINGLE_REVERSE(worker.lane)
			{
				reel_lane *task;

				run_inner(worker.lane, true);
				reel_task_wait_reverse(worker.lane);
				task = reel_task_reverse(worker.lane);
				wrong += reel_pop(reel_lane_tape(task), double) != 1.5;
				reel_task_end(task);
				reel_ordered_await(worker.lane, &orders.order);
				reel_ordered_done(worker.lane, &orders.order);
				singles++;
			}
		}
	}
	is_int(reel_region_end(region), 0, "loops are reversed in a hold");
	ok(singles == 1 && !wrong && !loop.wrong && reel_lane_is_empty(root),
	   "singles and loops are reversed once, with all values");
	reel_lane_close(root);
}

/* ---- Recomputing ---- */

/* The reverse sweep of a lane records a piece again, and reverses it. */
static void recompute_in_lane(reel_lane *lane)
{
	for (int piece = 3; piece-- > 0;) {
		REEL_FOR(lane, int, i, 0, 20, reel_dynamic(1)) {
			reel_push(reel_lane_tape(lane), 100 * piece + i);
			__atomic_fetch_add(&loop.runs[i], 1, __ATOMIC_RELAXED);
		}
		run_inner(lane, false);
		run_inner(lane, true);
		REEL_FOR_REVERSE(lane, int, i, 0, 20, reel_dynamic(1)) {
			if (reel_pop(reel_lane_tape(lane), int) != 100 * piece + i)
				__atomic_fetch_add(&loop.wrong, 1, __ATOMIC_RELAXED);
		}
		REEL_FOR_REVERSE(lane, int, i, 0, 8, reel_static(0))
			if (reel_pop(reel_lane_tape(lane), int) != i + 10 * piece)
				__atomic_fetch_add(&loop.wrong, 1, __ATOMIC_RELAXED);
	}
}

static void recompute(const struct member *member)
{
	reel_worker worker = reel_worker_begin(loop.region, member->number, member->team->threads);

	while (reel_worker_next(&worker))
		recompute_in_lane(worker.lane);
}

static void test_recomputing(void)
{
	reel_lane *root = open_root(NULL);
	reel_worker worker;

	tap_case("recomputing");
	loop.region = reel_region_begin(root, 2);
	worker = reel_worker_begin(loop.region, 0, 1);
	while (reel_worker_next(&worker))
		run_short(worker.lane, reel_lane_index(worker.lane) ? 1 : 3, false);
	is_int(reel_region_end(loop.region), 0, "three loops, of which a lane did one");
	for (int i = 0; i < MOST; i++)
		loop.runs[i] = 0;
	loop.wrong = 0;
	loop.region = reel_region_reverse(root);
	run_team(2, recompute, NULL);
	is_int(reel_region_end(loop.region), 0,
	       "are reversed, with a loop and a region recorded and reversed before each");
	loop.low = 0;
	loop.high = 20;
	ok(each_ran(3), "the iterations of the loops are dealt once each");
	is_int(loop.wrong, 0, "all values come back");
	ok(reel_lane_is_empty(root), "nothing is left");
	reel_lane_close(root);
}

/* ---- Replay ---- */

static void test_replay(void)
{
	reel_pool *pool = open_pool(TINY);
	reel_lane *root = open_root(pool);

	tap_case("replay");
	loop.low = 0;
	loop.high = 32;
	loop.chunking = reel_dynamic(3);
	memset(loop.runs, 0, sizeof loop.runs);
	loop.wrong = 0;
	loop.region = reel_region_begin(root, 3);
	run_team(2, loop_forward, NULL);
	is_int(reel_region_end(loop.region), 0, "recorded once");
	is_int(reel_lane_hold(root), 0, "the loops are held");
	for (int times = 0; times < 3; times++) {
		is_int(reel_lane_replay(root), 0, "the loops are replayed");
		loop.region = reel_region_reverse(root);
		run_team(teams[times], loop_reverse, NULL);
		is_int(reel_region_end(loop.region), 0, "reversed by %d threads", teams[times]);
		ok(each_ran(0) && !loop.wrong, "all values, once more");
		loop.region = reel_region_begin(root, 5);
		run_team(2, loop_forward, NULL);
		is_int(reel_region_end(loop.region), 0, "more lanes record more loops");
		ok(each_ran(1), "the iterations to be dropped are dealt once each");
	}
	is_int(reel_lane_replay(root), 0, "the loops are replayed again");
	is_int(reel_lane_release(root), 0, "the loops are released");
	loop.region = reel_region_reverse(root);
	run_team(2, loop_reverse, NULL);
	is_int(reel_region_end(loop.region), 0, "what was held is reversed");
	ok(reel_lane_is_empty(root), "nothing is left");
	record_reports();
	is_int(reel_lane_release(root), -EINVAL, "a second release is refused");
	reel_set_error_handler(NULL, NULL);
	reel_lane_close(root);
	close_pool(pool, "replay");
}

/* The loop is in no region, and its note has the number of the loop. */
static void test_replay_of_loop(void)
{
	const reel_chunking noted = {REEL_STATIC_LOOP, 1, 0};
	reel_lane *root = open_root(NULL);

	tap_case("replay of a loop");
	REEL_FOR(root, int, i, 0, 3, noted)
		reel_push(reel_lane_tape(root), i);
	reel_lane_hold(root);
	for (int times = 0; times < 2; times++) {
		int wanted = 2, wrong = 0;

		reel_lane_replay(root);
		REEL_FOR_REVERSE(root, int, i, 0, 3, noted)
			wrong += reel_pop(reel_lane_tape(root), int) != wanted-- || i != wanted + 1;
		ok(!wrong && wanted == -1, "all of it comes back");
	}
	reel_lane_release(root);
	ok(reel_lane_is_empty(root), "nothing is left");
	reel_lane_close(root);
}

/* ---- Errors ---- */

static void push_one(reel_lane *lane)
{
	reel_push(reel_lane_tape(lane), 1.0);
}

static void pop_two(reel_lane *lane)
{
	(void)reel_pop(reel_lane_tape(lane), double);
	(void)reel_pop(reel_lane_tape(lane), double);
}

static void nothing(reel_lane *lane)
{
	(void)lane;
}

static void leave_loop(reel_lane *lane)
{
	reel_loop part = reel_loop_begin(lane, reel_dynamic(2), 0, 4);

	reel_loop_next(&part);
}

static void loop_of_four(reel_lane *lane)
{
	REEL_FOR(lane, int, i, 0, 4, reel_static(0))
		(void)i;
}

static void noted_loop(reel_lane *lane)
{
	REEL_FOR(lane, int, i, 0, 4, reel_dynamic(0))
		(void)i;
}

static const reel_chunking noted_static = {REEL_STATIC_LOOP, 1, 1};

static void tasks_in_loop(reel_lane *lane)
{
	REEL_FOR(lane, int, i, 0, 8, noted_static) {
		reel_task_begin(lane, i, NULL, 0);
		reel_task_wait(lane);
	}
}

/* The notes of the tasks are below the notes of the iterations. */
static void loop_without_tasks(reel_lane *lane)
{
	REEL_FOR_REVERSE(lane, int64_t, i, 0, 8, noted_static)
		if (i < 0 || i >= 8)
			abort();
}

static void loop_of_five_reverse(reel_lane *lane)
{
	REEL_FOR_REVERSE(lane, int, i, 0, 5, reel_static(0))
		(void)i;
}

static void leave_at_twelve(reel_lane *lane)
{
	reel_loop part = reel_loop_begin(lane, reel_static(3), 0, 16);

	while (reel_loop_next(&part))
		if (part.end > 12) {
			reel_loop_stop(&part, part.first);
			break;
		}
}

static void reverse_from(reel_lane *lane, reel_chunking chunking, int high)
{
	REEL_FOR_REVERSE(lane, int, i, 0, high, chunking)
		if (i < 0 || i >= high)
			abort();
}

static void reverse_from_five(reel_lane *lane)
{
	reverse_from(lane, reel_static(3), 5);
}

static void reverse_ones(reel_lane *lane)
{
	reverse_from(lane, reel_static(1), 16);
}

static void await_turn(reel_lane *lane)
{
	reel_ordered_await(lane, &orders.order);
	reel_ordered_done(lane, &orders.order);
}

static void end_phase(reel_lane *lane)
{
	reel_lane_phase(lane);
}

static int run_lanes(reel_region *region, void (*body)(reel_lane *lane))
{
	reel_worker worker = reel_worker_begin(region, 0, 1);

	while (reel_worker_next(&worker))
		body(worker.lane);
	return reel_region_end(region);
}

static void loop_in_loop(reel_lane *lane)
{
	REEL_FOR(lane, int, i, 0, 4, reel_static(0))
		REEL_FOR(lane, int, j, 0, 4, reel_static(0))
			(void)(i + j);
}

static const struct mistake {
	const char *what;
	void (*forward)(reel_lane *lane);
	void (*reverse)(reel_lane *lane);
	int error;
	const char *message;
	unsigned flags;
} mistakes[] = {
	{"a value is not popped", push_one, nothing, -EBADMSG, "of 2: 8 bytes", 0},
	{"one value too many is popped", push_one, pop_two, -ENODATA, "empty", 0},
	{"a loop is left by a break", leave_loop, NULL, -EINVAL, "reel_loop_stop()", 0},
	{"a loop is in a loop of its lane", loop_in_loop, NULL, -EINVAL, "cannot nest", 0},
	{"an iteration leaves its task out", tasks_in_loop, loop_without_tasks, -EBADMSG,
	 "notes of something else", 0},
	{"a noted loop is not reversed", noted_loop, nothing, -EBADMSG, "was not reversed", 0},
	{"a static loop has other bounds", loop_of_four, loop_of_five_reverse, -EBADMSG,
	 "other bounds", REEL_CHECKED},
	{"a static loop that was left has fewer chunks", leave_at_twelve, reverse_from_five,
	 -EBADMSG, "other bounds", 0},
	{"a static loop that was left has other chunks", leave_at_twelve, reverse_ones, -EBADMSG,
	 "other bounds", 0},
	{"a loop goes forward in the reverse sweep", loop_of_four, loop_of_four, -EBADMSG,
	 "REEL_FOR_REVERSE", 0},
	{"a turn is awaited that was not noted", nothing, await_turn, -EBADMSG, "turn", 0},
	{"a phase ends in the reverse sweep", nothing, end_phase, -EINVAL, "phase", 0},
};

static void make_mistake(const struct mistake *mistake)
{
	reel_lane *root;
	int error;

	reel_lane_open(&root, NULL, mistake->flags);
	record_reports();
	error = run_lanes(reel_region_begin(root, 2), mistake->forward);
	if (mistake->reverse && !error)
		error = run_lanes(reel_region_reverse(root), mistake->reverse);
	is_int(error, mistake->error, "%s", mistake->what);
	ok(strstr(reported.message, mistake->message) != NULL, "the message tells: %s",
	   reported.message);
	reel_set_error_handler(NULL, NULL);
	reel_lane_close(root);
}

/* All lanes leave the region before its last loop, and in the first of two phases. */
static void test_all_leave_early(void)
{
	reel_lane *root = open_root(NULL);
	reel_worker worker;

	tap_case("all lanes leave early");
	for (int extra = 0; extra < 2; extra++) {
		reel_region *region = reel_region_begin(root, 3);

		worker = reel_worker_begin(region, 0, 1);
		while (reel_worker_next(&worker))
			stop_at(worker.lane, reel_dynamic(1), 5 * reel_lane_index(worker.lane));
		is_int(reel_region_end(region), 0, "lanes leave early in the first of two loops");
		is_int(reel_region_loops(region), 1, "the region has one loop");
		region = reel_region_reverse(root);
		is_int(reel_region_loops(region), 1,
		       "the region has one loop in the reverse sweep, too");
		record_reports();
		worker = reel_worker_begin(region, 0, 1);
		while (reel_worker_next(&worker)) {
			if (extra)
				REEL_FOR_REVERSE(worker.lane, int, i, 0, 32, reel_dynamic(1));
			comes_back_from_stop(worker.lane, reel_dynamic(1));
		}
		is_int(reel_region_end(region), extra ? -EBADMSG : 0,
		       extra ? "a loop that no lane came to is an error" : "the loop is reversed");
	}
	ok(strstr(reported.message, "reel_region_loops()") != NULL, "the report has a remedy: %s",
	   reported.message);
	reel_lane_close(root);
	root = open_root(NULL);
	is_int(run_lanes(reel_region_begin(root, 2), nothing), 0,
	       "lanes leave before the first of two loops");
	is_int(run_lanes(reel_region_reverse(root), loop_of_five_reverse), 0,
	       "nothing is reversed");
	record_reports();
	is_int(run_lanes(reel_region_begin(root, 2), push_one), 0,
	       "lanes leave early in the first phase");
	worker = reel_worker_begin(reel_region_reverse(root), 0, 1);
	is_int(reel_region_phases(worker.region), 1, "the region has one phase");
	while (reel_worker_next(&worker))
		(void)reel_pop(reel_lane_tape(worker.lane), double);
	reel_worker_next_phase(&worker);
	reel_worker_next(&worker);
	is_int(reel_region_end(worker.region), -EBADMSG, "to reverse two phases is an error");
	ok(strstr(reported.message, "reel_region_phases()") != NULL, "the report has a remedy: %s",
	   reported.message);
	reel_set_error_handler(NULL, NULL);
	reel_lane_close(root);
}

static void test_order_with_parent(void)
{
	reel_lane *root = open_root(NULL);

	record_reports();
	is_int(run_lanes(reel_region_begin(root, 2), push_one), 0, "a region");
	reel_push(reel_lane_tape(root), 1);
	is_int(run_lanes(reel_region_reverse(root), nothing), -EBADMSG,
	       "is not reversed before what came after it: %s", reported.message);
	reel_lane_close(root);
	root = open_root(NULL);
	record_reports();
	is_int(run_lanes(reel_region_reverse(root), nothing), -EBADMSG,
	       "a region that was never recorded is not reversed: %s", reported.message);
	ok(reel_pop(reel_lane_tape(root), double) != 0, "all pops give all ones");
	reel_lane_close(root);
	root = open_root(NULL);
	record_reports();
	reel_region_begin(root, 2);
	is_int(run_lanes(reel_region_begin(root, 2), nothing), -EINVAL,
	       "a region begins after the one before has ended: %s", reported.message);
	reel_set_error_handler(NULL, NULL);
	reel_lane_close(root);
}

static reel_lane *of_other_thread;

static void push_there(const struct member *member)
{
	if (member->number == 1)
		reel_push(reel_lane_tape(of_other_thread), 2.0);
}

static void test_other_thread(void)
{
	reel_region *region;
	reel_worker worker;
	reel_lane *root;

	reel_lane_open(&root, NULL, REEL_CHECKED);
	record_reports();
	region = reel_region_begin(root, 2);
	worker = reel_worker_begin(region, 0, 2);
	reel_worker_next(&worker);
	of_other_thread = worker.lane;
	reel_push(reel_lane_tape(worker.lane), 1.0);
	run_team(2, push_there, NULL);
	is_int(reel_region_end(region), -EPERM, "checked: another thread pushes on a lane");
	ok(strstr(reported.message, "its owner used it last at") != NULL,
	   "both places are told: %s", reported.message);
	reel_set_error_handler(NULL, NULL);
	reel_lane_close(root);
}

/* ---- Lanes that are lost, or taken twice ---- */

/* Takes one lane, although a thread has to take all. */
static void take_one_of(reel_region *region, int rounds)
{
	reel_worker worker = reel_worker_begin(region, 0, 1);

	for (int phase = 0; phase < rounds; phase++) {
		if (phase)
			reel_worker_next_phase(&worker);
		reel_worker_next(&worker);
	}
}

static void take_one(reel_region *region)
{
	take_one_of(region, 1);
}

static void take_one_in_two_phases(reel_region *region)
{
	take_one_of(region, 2);
}

/* Begins a worker for each phase, although a region needs one worker for all. */
static void renew_worker(reel_region *region)
{
	for (int phase = 0; phase < 2; phase++) {
		reel_worker worker = reel_worker_begin(region, 0, 1);

		while (reel_worker_next(&worker))
			;
		reel_worker_next_phase(&worker);
	}
}

static void leave_phase_out(reel_region *region)
{
	reel_worker worker = reel_worker_begin(region, 0, 4);

	for (int phase = 0; phase < 2; phase++)
		while (reel_worker_next(&worker))
			;
}

/* Two teams, each with a thread 0, come to one region. */
static void come_twice(reel_region *region)
{
	for (int team = 0; team < 2; team++) {
		reel_worker worker = reel_worker_begin(region, 0, 4);

		reel_worker_next(&worker);
	}
}

static const struct {
	const char *what;
	void (*use)(reel_region *region);
	unsigned flags;
	const char *message;
} lane_mistakes[] = {
	{"one lane is taken for all", take_one, REEL_CHECKED, "lane 1 was not taken"},
	{"so it is in a phase before the last", take_one_in_two_phases, 0, "was not taken"},
	{"each phase has a worker of its own", renew_worker, 0, "one worker"},
	{"the end of a phase is left out", leave_phase_out, 0, "returned false"},
	{"two threads take one lane", come_twice, 0, "lane 0 was taken twice"},
};

static void renew_at_barriers(const struct member *member)
{
	for (int phase = 0; phase < 3; phase++) {
		reel_worker worker =
			reel_worker_begin(loop.region, member->number, member->team->threads);

		while (reel_worker_next(&worker))
			;
		reel_worker_barrier(&worker);
	}
}

static void leave_early(const struct member *member)
{
	reel_worker worker = reel_worker_begin(loop.region, member->number, member->team->threads);

	reel_worker_next(&worker);
	reel_worker_leave(&worker);
}

static void test_lost_lanes(void)
{
	reel_lane *root;

	tap_case("lanes that are lost");
	record_reports();
	for (unsigned i = 0; i < COUNT(lane_mistakes); i++) {
		if (reel_lane_open(&root, NULL, lane_mistakes[i].flags))
			abort();
		loop.region = reel_region_begin(root, 4);
		lane_mistakes[i].use(loop.region);
		is_int(reel_region_end(loop.region), -EINVAL, "%s", lane_mistakes[i].what);
		ok(strstr(reported.message, lane_mistakes[i].message) != NULL, "told: %s",
		   reported.message);
		reel_lane_close(root);
	}
	alarm(60);
	for (int lanes = 2; lanes < 5; lanes += 2) {
		root = open_root(NULL);
		loop.region = reel_region_begin(root, lanes);
		run_team(2, renew_at_barriers, NULL);
		is_int(reel_region_end(loop.region), -EINVAL,
		       "a worker for each barrier, %d lanes: nobody waits", lanes);
		reel_lane_close(root);
	}
	alarm(0);
	reel_lane_open(&root, NULL, REEL_CHECKED);
	loop.region = reel_region_begin(root, 4);
	run_team(2, leave_early, NULL);
	is_int(reel_region_end(loop.region), 0, "threads that leave early may leave lanes");
	reel_lane_close(root);
	reel_set_error_handler(NULL, NULL);
}

/* ---- Checked mode ---- */

/* Reverses two loops of a lane that pushes nothing, with a mistake, or without one if it is 0. */
static int reverse_other_loops(reel_pool *pool, unsigned flags, int mistake)
{
	reel_worker worker;
	reel_lane *root;
	int error;

	if (reel_lane_open(&root, pool, flags))
		abort();
	worker = reel_worker_begin(reel_region_begin(root, 2), 0, 1);
	while (reel_worker_next(&worker))
		for (int k = 0; k < 2; k++)
			REEL_FOR(worker.lane, int, i, 0, 8, reel_static(0))
				(void)i;
	is_int(reel_region_end(worker.region), 0, "two loops without a push");
	worker = reel_worker_begin(reel_region_reverse(root), 0, 1);
	while (reel_worker_next(&worker)) {
		if (mistake != 1)
			REEL_FOR_REVERSE(worker.lane, int, i, 0, mistake == 2 ? 4 : 8,
					 mistake == 3 ? reel_dynamic(1) : reel_static(0))
				(void)i;
		REEL_FOR_REVERSE(worker.lane, int, i, 0, 8, reel_static(0))
			(void)i;
	}
	error = reel_region_end(worker.region);
	reel_lane_close(root);
	return error;
}

static void test_checked_without_pushes(void)
{
	static const char *const loops_are[] = {"are reversed", "one is left out",
						"one has other bounds", "one is dynamic"};
	struct reel_pool_options options = TINY;
	reel_pool *pool;

	tap_case("checked lanes that push nothing");
	options.flags |= REEL_POOL_CHECKED;
	pool = open_pool(options);
	record_reports();
	for (int mistake = 0; mistake < 4; mistake++) {
		int error = mistake ? -EBADMSG : 0;

		is_int(reverse_other_loops(pool, 0, mistake), error, "a checked pool: loops %s",
		       loops_are[mistake]);
		is_int(reverse_other_loops(NULL, REEL_CHECKED, mistake), error,
		       "a checked root: loops %s", loops_are[mistake]);
	}
	reel_set_error_handler(NULL, NULL);
	close_pool(pool, "checked lanes");
}

/* A phase is skipped, and a lane is not taken in the reverse sweep. */
static void test_what_is_skipped(void)
{
	reel_lane *root = open_root(NULL);
	reel_region *region = reel_region_begin(root, 1);
	reel_worker worker = reel_worker_begin(region, 0, 1);

	record_reports();
	for (int phase = 0; phase < 3; phase++) {
		reel_worker_next(&worker);
		push_one(worker.lane);
		reel_worker_next_phase(&worker);
	}
	reel_region_end(region);
	region = reel_region_reverse(root);
	worker = reel_worker_begin(region, 0, 1);
	reel_worker_next_phase(&worker);
	reel_worker_next(&worker);
	(void)reel_pop(reel_lane_tape(worker.lane), double);
	reel_worker_next_phase(&worker);
	reel_worker_next_phase(&worker);
	reel_worker_next(&worker);
	is_int(reel_region_end(region), -EBADMSG, "a phase is skipped: %s", reported.message);
	reel_lane_close(root);
	root = open_root(NULL);
	record_reports();
	is_int(run_lanes(reel_region_begin(root, 3), push_one), 0, "three lanes");
	is_int(reel_region_end(reel_region_reverse(root)), -EBADMSG, "none is taken: %s",
	       reported.message);
	reel_set_error_handler(NULL, NULL);
	reel_lane_close(root);
}

/* The notes of a loop find no memory: the lane pops all ones, and the region has the error. */
static void test_refused_notes(void)
{
	struct reel_pool_options options = tiny_budget(4);
	reel_pool *pool = open_pool(options);
	reel_lane *root = open_root(pool);
	reel_region *region = reel_region_begin(root, 2);
	reel_worker worker = reel_worker_begin(region, 0, 1);

	record_reports();
	while (reel_worker_next(&worker))
		for (int i = 0; i < 100; i++)
			noted_loop(worker.lane);
	is_int(reel_region_end(region), -EDQUOT, "notes are refused: %s", reported.message);
	ok(reel_pop(reel_lane_tape(root), double) != 0, "what is popped is no data");
	reel_set_error_handler(NULL, NULL);
	reel_lane_close(root);
	close_pool(pool, "refused notes");
}

static void test_errors(void)
{
	tap_case("errors");
	for (unsigned i = 0; i < COUNT(mistakes); i++)
		make_mistake(&mistakes[i]);
	test_order_with_parent();
	test_other_thread();
	test_lost_lanes();
	test_checked_without_pushes();
	test_what_is_skipped();
	test_refused_notes();
}

int main(void)
{
	tap_begin();
	test_loops();
	test_notes();
	test_phases();
	test_barriers();
	test_nested();
	test_orders();
	test_turn_shows_writes();
	test_orders_in_holds();
	test_missing_turns();
	test_misused_turns();
	test_collective_spans();
	test_span_counts();
	test_wrong_numbers();
	test_many_notes();
	test_lost_notes();
	test_stops();
	test_short_lanes();
	test_lane_far_behind();
	test_all_leave_early();
	test_notes_in_single();
	test_recomputing();
	test_replay();
	test_replay_of_loop();
	test_errors();
	return tap_end();
}
