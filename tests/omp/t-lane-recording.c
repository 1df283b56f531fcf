/* SPDX-License-Identifier: MIT */
/*
 * Tests recordings of roots: several teams reverse readers of one recording at the same time. It
 * has loops, phases, ordered sections, nested regions and collective spans. Some roots cannot be
 * frozen.
 */
#include "config.h"

#include "helpers/spill-support.h"
#include "helpers/support.h"

#include <errno.h>

#include <reel/task.h>

#include "helpers/thread-team.h"

enum { LANES = 3, REGIONS = 4, ITERATIONS = 60, SPAN = 700, READERS = 4 };

/* The section counts the turns of all regions; who[] has the lane of each turn. */
static reel_ordered order;
static int who[REGIONS * ITERATIONS], turns;

/* The root and the region of one sweep, and its mistakes. */
struct sweep {
	reel_lane *root;
	reel_region *region;
	int number; /* of the region */
	int turn;
	_Atomic int wrong;
};

static uint64_t value(int region, int64_t i)
{
	return scramble((uint64_t)(region * 1000 + i));
}

/* ---- The forward sweep ---- */

static void push_inner(reel_lane *lane, int number)
{
	reel_region *region = reel_region_begin(lane, 2);
	reel_worker worker = reel_worker_begin(region, 0, 1);

	while (reel_worker_next(&worker))
		for (int i = 0; i < 20; i++)
			reel_push(reel_lane_tape(worker.lane), value(number, i));
	reel_region_end(region);
}

static void record_lane(const struct member *member, reel_lane *lane, int number)
{
	REEL_FOR(lane, int, i, 0, ITERATIONS, reel_dynamic(2))
	{
		reel_push(reel_lane_tape(lane), value(number, i));
		team_lock(member);
		reel_ordered_note(lane, &order);
		who[turns++] = i;
		team_unlock(member);
	}
}

static void record(const struct member *member)
{
	struct sweep *sweep = member->team->context;
	reel_worker worker = reel_worker_begin(sweep->region, member->number, LANES);
	uint64_t *span;

	while (reel_worker_next(&worker))
		record_lane(member, worker.lane, sweep->number);
	span = reel_worker_push_span(&worker, uint64_t, SPAN);
	while (reel_worker_next(&worker)) {
		REEL_FOR(worker.lane, int, i, 0, SPAN, reel_static(0))
			span[i] = value(sweep->number, i);
		if (reel_lane_index(worker.lane) == 1)
			push_inner(worker.lane, sweep->number);
	}
}

static reel_lane *recorded_on(reel_pool *pool)
{
	struct sweep sweep = {0};
	int error = reel_lane_open(&sweep.root, pool, 0);

	order = (reel_ordered){0};
	turns = 0;
	for (; sweep.number < REGIONS && !error; sweep.number++) {
		reel_push(reel_lane_tape(sweep.root), value(sweep.number, -1));
		sweep.region = reel_region_begin(sweep.root, LANES);
		run_team(LANES, record, &sweep);
		error = reel_region_end(sweep.region);
	}
	if (error)
		abort();
	return sweep.root;
}

/* ---- The reverse sweep ---- */

static int wrong_inner(reel_lane *lane, int number)
{
	reel_region *region = reel_region_reverse(lane);
	reel_worker worker = reel_worker_begin(region, 0, 1);
	int wrong = 0;

	while (reel_worker_next(&worker))
		for (int i = 20; i-- > 0;)
			wrong +=
				reel_pop(reel_lane_tape(worker.lane), uint64_t) != value(number, i);
	return wrong + (reel_region_end(region) != 0);
}

static void reverse_lane(struct sweep *sweep, reel_lane *lane)
{
	REEL_FOR_REVERSE(lane, int, i, 0, ITERATIONS, reel_dynamic(2))
	{
		reel_ordered_await(lane, &order);
		sweep->wrong += who[--sweep->turn] != i;
		reel_ordered_done(lane, &order);
		sweep->wrong += reel_pop(reel_lane_tape(lane), uint64_t) != value(sweep->number, i);
	}
}

static void reverse(const struct member *member)
{
	struct sweep *sweep = member->team->context;
	reel_worker worker = reel_worker_begin(sweep->region, member->number, LANES);
	const uint64_t *span;

	while (reel_worker_next(&worker)) {
		if (reel_lane_index(worker.lane) == 1)
			sweep->wrong += wrong_inner(worker.lane, sweep->number);
		REEL_FOR_REVERSE(worker.lane, int, i, 0, SPAN, reel_static(0))
			(void)i;
	}
	span = reel_worker_pop_span(&worker, uint64_t, SPAN);
	while (reel_worker_next(&worker)) {
		for (int i = 0; i < SPAN; i++)
			sweep->wrong += !span || span[i] != value(sweep->number, i);
		reverse_lane(sweep, worker.lane);
	}
}

static int wrong_sweep(reel_lane *root)
{
	struct sweep sweep = {.root = root, .number = REGIONS, .turn = turns};

	while (sweep.number-- > 0) {
		sweep.region = reel_region_reverse(root);
		run_team(LANES, reverse, &sweep);
		sweep.wrong += reel_region_end(sweep.region) != 0;
		sweep.wrong += reel_pop(reel_lane_tape(root), uint64_t) != value(sweep.number, -1);
	}
	return sweep.wrong + !reel_lane_is_empty(root) + (reel_lane_error(root) != 0);
}

/* ---- Recordings ---- */

static reel_lane_recording *recording;
static _Atomic int wrong_in_readers;

static void *read_twice(void *unused)
{
	reel_lane *root;

	(void)unused;
	if (reel_lane_reader_open(&root, recording))
		abort();
	wrong_in_readers += reel_lane_hold(root) != 0;
	wrong_in_readers += wrong_sweep(root);
	wrong_in_readers += reel_lane_replay(root) != 0;
	wrong_in_readers += wrong_sweep(root);
	wrong_in_readers += reel_lane_release(root) != 0;
	reel_lane_close(root);
	return NULL;
}

static void several_teams_read(reel_pool *pool)
{
	reel_lane *root = recorded_on(pool);

	wrong_in_readers = 0;
	is_int(reel_lane_freeze(root, &recording), 0, "a root is frozen");
	run_threads(READERS, read_twice);
	is_int(wrong_in_readers, 0, "several teams reverse it at once, twice each");
	if (reel_lane_reader_open(&root, recording))
		abort();
	reel_lane_recording_close(recording);
	is_int(wrong_sweep(root), 0,
	       "a team reverses the root when the program has closed the recording");
	reel_lane_close(root);
}

static void in_memory(void)
{
	reel_pool *pool = open_pool(TINY);

	tap_case("in memory");
	several_teams_read(pool);
	close_pool(pool, "readers");
}

static void with_a_store(void)
{
	struct late_store *late = late_open(8);
	reel_pool *pool = open_pool(spilling(&late->store, 30, 8));

	tap_case("with a store");
	several_teams_read(pool);
	close_all(pool, late, "readers");
}

/* ---- Errors ---- */

static void is_refused(reel_lane *root, int error, const char *what)
{
	reel_lane_recording *none;

	is_int(reel_lane_freeze(root, &none), error, "%s is refused", what);
}

static void what_cannot_be_frozen(void)
{
	reel_pool *pool = open_pool(TINY);
	reel_lane *root = recorded_on(pool), *child = NULL;
	reel_region *region;
	reel_worker worker;

	tap_case("what cannot be frozen");
	reel_lane_hold(root);
	is_refused(root, -EBUSY, "a hold");
	reel_lane_release(root);
	region = reel_region_reverse(root);
	worker = reel_worker_begin(region, 0, LANES);
	if (reel_worker_next(&worker))
		child = worker.lane;
	is_refused(root, -EINVAL, "a region that has not ended");
	is_refused(child, -EINVAL, "what is no root");
	reel_lane_close(root);

	if (reel_lane_open(&root, pool, 0))
		abort();
	reel_task_end(reel_task_begin(root, 0, NULL, 0));
	is_refused(root, -ENOTSUP, "a task");
	reel_lane_close(root);

	if (reel_lane_open(&root, pool, 0))
		abort();
	record_reports();
	reel_pop(reel_lane_tape(root), double);
	is_refused(root, -ENODATA, "a lane with an error");
	reel_lane_close(root);
	close_pool(pool, "what was refused");
}

int main(void)
{
	tap_begin();
	in_memory();
	with_a_store();
	what_cannot_be_frozen();
	return tap_end();
}
