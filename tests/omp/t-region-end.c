/* SPDX-License-Identifier: MIT */
/*
 * Tests threads that end their part of a region before a barrier of the other threads, or without a
 * lane for whose turns other threads wait: an error ends these waits. If all threads pass the same
 * barriers, there is no error, and any thread may end first.
 */
#include "config.h"

#include "helpers/support.h"

#include <sched.h>
#include <unistd.h>

#include <reel/region.h>

#include "helpers/thread-team.h"
#include "omp/lane/lane.h"

#define BARRIERS 3
/* No thread ends early. */
#define NOBODY -1

enum order {
	ENDS_FIRST, /* the thread ends before the others come to their barrier */
	ENDS_LATE,  /* the thread ends while another one sleeps at its barrier */
	ANY_ORDER
};

static struct {
	reel_region *region;
	int barriers;     /* number of barriers that all threads pass */
	int ends;         /* the thread that ends before one more barrier of the others */
	enum order order;
	bool has_spans;   /* collective spans have the barriers */
	_Atomic int got; /* number of lanes and spans that threads got after a wait that failed */
	reel_ordered turns;
} program;

static reel_worker worker_of(const struct member *member)
{
	return reel_worker_begin(program.region, member->number, member->team->threads);
}

static bool pass(reel_worker *worker)
{
	if (program.has_spans)
		return reel_worker_push_span(worker, double, 1) != NULL;
	reel_worker_barrier(worker);
	return reel_worker_next(worker);
}

static void await(const _Atomic uint64_t *word, int least)
{
	while (atomic_load(word) < (uint64_t)least)
		sched_yield();
}

static void pass_barriers(const struct member *member)
{
	bool ends = member->number == program.ends;
	reel_worker worker = worker_of(member);

	for (int i = 0; i < program.barriers; i++)
		pass(&worker);
	if (ends && program.order == ENDS_LATE)
		await(&program.region->sleeps_at, program.barriers + 1);
	if (!ends && program.order == ENDS_FIRST)
		await(&program.region->ended, 1);
	if (!ends && program.ends != NOBODY)
		program.got += pass(&worker);
	reel_worker_end(&worker);
}

/* Returns the result of reel_region_end(). */
static int run_region(reel_lane *root, int threads)
{
	int error;

	program.region = reel_region_begin(root, 0);
	program.got = 0;
	alarm(60);
	run_team(threads, pass_barriers, NULL);
	error = reel_region_end(program.region);
	alarm(0);
	return error;
}

static void test_early_end(int threads, int barriers, int ends)
{
	reel_lane *root;

	program.barriers = barriers;
	program.ends = ends;
	reel_lane_open(&root, NULL, 0);
	await_report("has ended its part of the region");
	is_int(run_region(root, threads), -EINVAL, "thread %d of %d ends after %d %s: nobody waits",
	       ends, threads, barriers, program.has_spans ? "spans" : "barriers");
	ok(awaited_report.came, "the report says why");
	is_int(program.got, 0, "no lane and no span is given out");
	reel_set_error_handler(NULL, NULL);
	reel_lane_close(root);
}

/* Small teams, and teams whose barriers have two and three levels. */
static const int teams[] = {2, 3, 4, 5, 17, MAX_THREADS};

static void test_early_ends(enum order order)
{
	program.order = order;
	for (int i = 0; i < 2 * (int)COUNT(teams); i++) {
		int threads = teams[i / 2];

		program.has_spans = i % 2;
		test_early_end(threads, 0, 0);
		test_early_end(threads, BARRIERS, threads - 1);
	}
}

/* Regions without a mistake have no error, also on a root whose earlier regions had one. */
static void test_no_early_end(void)
{
	int errors = 0, rounds = 200;
	reel_lane *root;

	tap_case("no thread ends early");
	program.order = ANY_ORDER;
	program.ends = NOBODY;
	reel_lane_open(&root, NULL, 0);
	for (int i = 0; i < rounds; i++) {
		program.barriers = i % 3;
		program.has_spans = i / 3 % 2;
		errors += run_region(root, 1 + i % 9) != 0;
	}
	is_int(errors, 0, "%d regions have no error", rounds);
	reel_lane_close(root);
}

/* ---- Turns ---- */

/* Lane 0 notes its turn first, so that it waits for the turn of lane 1 in the reverse sweep. */
static void note_turns(const struct member *member)
{
	reel_worker worker = worker_of(member);

	reel_worker_next(&worker);
	for (int turn = 0; turn < 2; turn++) {
		if (member->number == turn)
			reel_ordered_note(worker.lane, &program.turns);
		team_barrier(member);
	}
	reel_worker_end(&worker);
}

/* Thread 1 ends without taking its lane, or after it has taken it. */
static void end_before_turn(const struct member *member)
{
	reel_worker worker = worker_of(member);

	if (member->number == 0 || program.order == ENDS_LATE)
		reel_worker_next(&worker);
	if (member->number == 0) {
		reel_ordered_await(worker.lane, &program.turns);
		reel_ordered_done(worker.lane, &program.turns);
	}
	reel_worker_end(&worker);
}

static void test_turns(enum order order)
{
	reel_lane *root;

	memset(&program, 0, sizeof program);
	program.order = order;
	reel_lane_open(&root, NULL, 0);
	program.region = reel_region_begin(root, 2);
	run_team(2, note_turns, NULL);
	is_int(reel_region_end(program.region), 0, "two lanes note a turn each");
	await_report(
		"a loop, section, region or wait for tasks that was recorded was not reversed");
	program.region = reel_region_reverse(root);
	alarm(60);
	run_team(2, end_before_turn, NULL);
	alarm(0);
	is_int(reel_region_end(program.region), -EBADMSG, "nobody waits for the turn");
	ok(awaited_report.came, "the report says why");
	reel_set_error_handler(NULL, NULL);
	reel_lane_close(root);
}

int main(void)
{
	tap_begin();
	tap_case("a thread ends before the others come");
	test_early_ends(ENDS_FIRST);
	tap_case("a thread ends while others sleep");
	test_early_ends(ENDS_LATE);
	tap_case("threads end and come in any order");
	test_early_ends(ANY_ORDER);
	test_no_early_end();
	tap_case("a thread ends without its lane");
	test_turns(ENDS_FIRST);
	tap_case("a thread ends with its lane");
	test_turns(ENDS_LATE);
	return tap_end();
}
