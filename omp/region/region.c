/* SPDX-License-Identifier: MIT */
/*
 * Regions: a parent lane, its lanes for a team, and the parent's notes of them. One thread begins
 * and ends a region; reel_region_enter() runs in each thread that takes a lane.
 *
 * A parent has one region, which serves again and again. The numbers of its phases and loops follow
 * the numbers of the region before. The state changes by the table in region-state.h.
 */
#include "config.h"

#include "region.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "barrier.h"
#include "mistake.h"
#include "omp/lane/lane-task.h"
#include "omp/lane/note.h"
#include "omp/lane/observe.h"
#include "phase.h"
#include "tape/tape.h"

/* ---- States ---- */

#define TO(state) (1u << REEL_REGION_##state)

/* The table of region-state.h: the states that may follow each state. */
static const unsigned char next_states[REEL_REGION_STATES] = {
	[REEL_REGION_ENDED] = TO(FORWARD) | TO(REVERSE),
	[REEL_REGION_FORWARD] = TO(ENDED),
	[REEL_REGION_REVERSE] = TO(ENDED) | TO(DEAD),
	[REEL_REGION_DEAD] = TO(ENDED),
};

static void move_to(reel_region *region, enum reel_region_state state)
{
	REEL_ASSERT(next_states[region->state] >> state & 1 || region->parent->tape.error);
	(void)next_states;
	region->state = state;
}

/* ---- A lane comes to a region ---- */

static void come_back(reel_region *region, reel_lane *lane)
{
	lane->loop = region->first_loop + region->loops;
	/*
	 * If the region has no loop, the last loop is one of an earlier region, which has this
	 * note.
	 */
	if (region->loops)
		reel_lane_take(lane, REEL_NOTE_UNREACHED, lane->loop, &lane->unreached);
	/* After an error a region may find the notes of another one, which was not reversed. */
	REEL_ASSERT(lane->unreached <= region->loops || lane->tape.error ||
		    region->parent->tape.error);
	reel_phase_reopen(lane, reel_phase_of(region, 0));
}

static void come(reel_region *region, reel_lane *lane)
{
	REEL_ASSERT(region->state != REEL_REGION_ENDED);
	lane->in = region;
	lane->visit = region->visit;
	/* Relaxed is enough: this thread has set it, or has seen it set. */
	lane->count = atomic_load_explicit(&region->lanes, memory_order_relaxed);
	lane->has_ordered = false;
	lane->open_loops = lane->turns = 0;
	lane->shared = lane->ahead = lane->unreached = 0;
	if (lane->tape.error)
		reel_lane_end_waits(lane, lane->tape.error);
	if (region->state != REEL_REGION_FORWARD) {
		come_back(region, lane);
		return;
	}
	lane->loop = region->first_loop;
	reel_phase_open(lane, region->first_phase);
}

reel_lane *reel_region_enter(reel_region *region, int32_t index, int64_t round)
{
	reel_lane *lane = reel_lane_child(region->parent, index);

	REEL_ASSERT(index >= 0 && index < reel_region_lanes(region) && round >= 0);
	if (!lane) {
		reel_region_note_no_memory(region);
		lane = reel_lane_refuse_all();
		lane->index = index;
	}
	reel_tape_hand_over(&lane->tape);
	if (lane->in != region || lane->visit != region->visit)
		come(region, lane);
	reel_phase_go_to(region, lane, round);
	return lane;
}

/* ---- Regions ---- */

/* Relaxed is enough: no thread of the region looks at them yet. */
static void forget_team(reel_region *region)
{
	reel_barrier_clear(region);
	atomic_store_explicit(&region->mistake, 0, memory_order_relaxed);
	atomic_store_explicit(&region->threads, 0, memory_order_relaxed);
	atomic_store_explicit(&region->max_threads, 0, memory_order_relaxed);
	atomic_store_explicit(&region->workers, 0, memory_order_relaxed);
	atomic_store_explicit(&region->left, 0, memory_order_relaxed);
}

reel_region *reel_region_of(reel_lane *parent)
{
	reel_region *region = parent->region;

	if (region)
		return region;
	region = aligned_alloc(REEL_CACHE_SPACING, sizeof *region);
	if (!region)
		return NULL;
	memset(region, 0, sizeof *region);
	region->parent = parent;
	parent->region = region;
	return region;
}

/* Returns a region that gives out no lane, for a parent that has an error. */
static reel_region *dead_region(void)
{
	static _Thread_local reel_region region;

	region.parent = reel_lane_refuse_all();
	move_to(&region, REEL_REGION_DEAD);
	forget_team(&region);
	return &region;
}

static reel_region *start(reel_lane *parent, enum reel_region_state state, const char *what)
{
	reel_region *region = reel_lane_refuses(parent) ? NULL : reel_region_of(parent);

	reel_lane_check_left(parent);
	if (!region) {
		reel_lane_fail(parent, -ENOMEM, "no memory for a region");
		return dead_region();
	}
	if (region->state != REEL_REGION_ENDED)
		reel_lane_fail(parent, -EINVAL, "a region is %s in one that has not ended", what);
	move_to(region, state);
	region->visit++;
	/* An earlier region that was left by a jump has not ended its measure. */
	reel_team_size_end(&region->measure, 0, 1);
	region->has_ordered = region->refused = false;
	reel_lane_set_reverses(parent, state == REEL_REGION_REVERSE);
	reel_lane_forget_failure(parent);
	/* Relaxed is enough: no thread of the region looks at them yet. */
	atomic_store_explicit(&region->lacks_lane, false, memory_order_relaxed);
	atomic_store_explicit(&region->newest, 0, memory_order_relaxed);
	atomic_store_explicit(&region->dispatch, 0, memory_order_relaxed);
	region->span_call_site = NULL;
	forget_team(region);
	return region;
}

reel_region *reel_region_begin(reel_lane *parent, int lanes)
{
	reel_region *region = start(parent, REEL_REGION_FORWARD, "begun");

	if (region->state == REEL_REGION_DEAD)
		return region;
	if (lanes < 0) {
		reel_lane_fail(parent, -EINVAL,
			       "a region of %d lanes: at least 1, or 0 for one lane per thread",
			       lanes);
		lanes = 1;
	}
	atomic_store_explicit(&region->lanes, lanes, memory_order_relaxed);
	region->first_phase = parent->phases;
	region->first_loop = parent->loops;
	region->phases = region->loops = 0;
	region->height = reel_lane_height(&parent->tape);
	REEL_OBSERVE(REEL_EVENT_REGION_BEGIN, .region = region, .lane = parent);
	return region;
}

#define ORDERS_FLAG ((uint64_t)1 << 32)
/* The parent's height changed in the region, so the first one is also noted, in a pair. */
#define SPANS_FLAG ((uint64_t)1 << 33)

static void note_region(reel_region *region, int32_t lanes)
{
	uint64_t height = reel_lane_height(&region->parent->tape);
	uint64_t number = (uint64_t)lanes | (region->has_ordered ? ORDERS_FLAG : 0);

	REEL_ASSERT(lanes >= 0 && region->state == REEL_REGION_FORWARD);
	if (height != region->height) {
		reel_lane_note_pair(region->parent, region->height, 0);
		number |= SPANS_FLAG;
	}
	reel_lane_note_pair(region->parent, region->loops, height);
	reel_lane_note(region->parent, REEL_NOTE_REGION, number, region->phases);
}

static bool take_region(reel_region *region)
{
	reel_lane *parent = region->parent;
	struct reel_note top = reel_lane_top(parent), pair;
	uint64_t number = reel_note_number(top);

	if (reel_note_kind(top) != REEL_NOTE_REGION || number >> 34) {
		reel_lane_fail(parent, -EBADMSG,
			       "a region is reversed where none was recorded: reverse loops, "
			       "sections and regions in the opposite order");
		return false;
	}
	(void)reel_lane_pop(parent);
	pair = reel_lane_pop(parent);
	region->height = number & SPANS_FLAG ? reel_lane_pop(parent).key : pair.value;
	if (!parent->tape.error && pair.value != reel_lane_height(&parent->tape)) {
		reel_lane_fail(parent, -EBADMSG,
			       "a region is reversed with %" PRIu64 " bytes of values on its "
			       "parent, where it was recorded with %" PRIu64,
			       reel_lane_height(&parent->tape) / 64, pair.value / 64);
		return false;
	}
	region->has_ordered = (number & ORDERS_FLAG) != 0;
	atomic_store_explicit(&region->lanes, (int32_t)(number & (ORDERS_FLAG - 1)),
			      memory_order_relaxed);
	region->phases = top.value;
	region->loops = pair.key;
	REEL_ASSERT(parent->tape.error ||
		    (region->phases <= parent->phases && region->loops <= parent->loops));
	region->first_phase = parent->phases - region->phases;
	region->first_loop = parent->loops - region->loops;
	return true;
}

reel_region *reel_region_reverse(reel_lane *parent)
{
	reel_region *region = start(parent, REEL_REGION_REVERSE, "reversed");

	if (region->state != REEL_REGION_DEAD && !take_region(region)) {
		atomic_store_explicit(&region->lanes, 0, memory_order_relaxed);
		move_to(region, REEL_REGION_DEAD);
	}
	/*
	 * Release: pairs with the acquire in deadlock.c, which reads the members of the region.
	 * Threads of the region come after this.
	 */
	if (region->state == REEL_REGION_REVERSE)
		atomic_store_explicit(&parent->reversed_region, region, memory_order_release);
	REEL_OBSERVE(REEL_EVENT_REGION_REVERSE, .region = region, .lane = parent);
	return region;
}

/* ---- The end of a region: the threads have joined ---- */

/* A lane that no thread has taken counts as left at once. Returns NULL if there is no memory. */
static reel_lane *lane_at_end(reel_region *region, int32_t index)
{
	reel_lane *lane = reel_lane_find(region->parent, index);

	if (!lane || lane->in != region || lane->visit != region->visit)
		lane = reel_region_enter(region, index, 0);
	return reel_lane_refuses(lane) ? NULL : lane;
}

static void measure_forward(reel_region *region, reel_lane *lane)
{
	uint64_t phases, loops;

	if (!lane)
		return;
	reel_phase_leave(region, lane);
	REEL_ASSERT(lane->phase >= region->first_phase && lane->loop >= region->first_loop);
	phases = lane->phase - region->first_phase + 1;
	loops = lane->loop - region->first_loop;
	if (phases > region->phases)
		region->phases = phases;
	if (loops > region->loops)
		region->loops = loops;
	region->has_ordered |= lane->has_ordered;
}

static int end_lane(reel_region *region, reel_lane *lane)
{
	uint64_t last = region->first_loop + region->loops;
	/* Relaxed is enough: the threads have joined. */
	int64_t rounds = atomic_load_explicit(&lane->taken, memory_order_relaxed);

	if (rounds > region->rounds)
		region->rounds = rounds;
	if (region->state == REEL_REGION_REVERSE) {
		reel_phase_go_to(region, lane, (int64_t)region->phases - 1);
		reel_phase_leave(region, lane);
		reel_tasks_check_ended(lane);
		lane->error = lane->error ? lane->error : lane->tape.error;
	} else if (lane->loop != last) {
		REEL_ASSERT(lane->loop < last);
		reel_lane_note(lane, REEL_NOTE_UNREACHED, last, last - lane->loop);
		lane->error = reel_lane_error(lane);
	}
	return lane->error;
}

/* The last round of a lane in this region, plus 1; 0: no thread took it. */
static int64_t rounds_of(const reel_region *region, int32_t index)
{
	const reel_lane *lane = reel_lane_find(region->parent, index);
	/* Relaxed is enough: the threads have joined. */
	int64_t taken = lane ? atomic_load_explicit(&lane->taken, memory_order_relaxed) : 0;

	return taken > region->rounds ? taken - region->rounds : 0;
}

/*
 * Notes a mistake if lanes were left over in the last phase, where no worker comes to a next one
 * that would see it. A thread that leaves the region early calls reel_worker_leave() there.
 */
static void check_last_phase(reel_region *region)
{
	int32_t lanes = reel_region_lanes(region), least = 0;
	int64_t last = 0;

	if (!(region->parent->tape.flags & REEL_CHECKED) || reel_region_lacks_lane(region) ||
	    atomic_load_explicit(&region->threads, memory_order_relaxed) >= lanes)
		return;
	for (int32_t i = 0; i < lanes; i++) {
		int64_t rounds = rounds_of(region, i);

		last = rounds > last ? rounds : last;
		if (rounds < rounds_of(region, least))
			least = i;
	}
	if (rounds_of(region, least) < last &&
	    atomic_load_explicit(&region->left, memory_order_relaxed) < last)
		reel_region_note_mistake(region, REEL_MISTAKE_NOT_TAKEN, least);
}

static int end_lanes(reel_region *region)
{
	int32_t lanes = reel_region_lanes(region);
	int error = 0;

	for (int32_t i = 0; i < lanes && region->state == REEL_REGION_FORWARD; i++)
		measure_forward(region, lane_at_end(region, i));
	for (int32_t i = 0; i < lanes; i++) {
		reel_lane *lane = lane_at_end(region, i);
		int lane_error = lane ? end_lane(region, lane) : 0;

		error = error ? error : lane_error;
	}
	if (reel_region_lacks_lane(region))
		reel_lane_fail(region->parent, -ENOMEM, "no memory for a lane of a region");
	return error;
}

/*
 * Collective spans lie on the parent's tape. If the reverse sweep pops one less than was pushed, it
 * reads the spans of other steps.
 */
static void check_height(const reel_region *region)
{
	uint64_t height = reel_lane_height(&region->parent->tape);

	if (region->state != REEL_REGION_REVERSE || height == region->height)
		return;
	reel_lane_fail(
		region->parent, -EBADMSG,
		"%" PRIu64 " bytes %s were popped from the parent of a region than were pushed "
		"in the region: pop each collective span (the last call was at %s)",
		(height > region->height ? height - region->height : region->height - height) / 64,
		height > region->height ? "less" : "more",
		region->span_call_site ? region->span_call_site : "no place in the region");
}

static int end(reel_region *region)
{
	reel_lane *parent = region->parent;
	int error;

	if (region->state == REEL_REGION_ENDED)
		reel_lane_fail(parent, -EINVAL, "a region is ended that has not begun");
	if (region->state == REEL_REGION_ENDED || region->state == REEL_REGION_DEAD) {
		move_to(region, REEL_REGION_ENDED);
		return parent->tape.error;
	}
	/* Release: pairs with the acquire in deadlock.c. */
	atomic_store_explicit(&parent->reversed_region, NULL, memory_order_release);
	check_height(region);
	check_last_phase(region);
	reel_region_report_mistake(region);
	error = region->refused ? 0 : end_lanes(region);
	parent->phases = region->first_phase;
	parent->loops = region->first_loop;
	if (region->state == REEL_REGION_FORWARD) {
		/*
		 * The program may read the last span while it pushes the first values after the
		 * region.
		 */
		if (region->span_call_site)
			parent->tape.flags |= REEL_TAPE_KEEPS_BELOW;
		note_region(region, reel_region_lanes(region));
		parent->phases += region->phases;
		parent->loops += region->loops;
	}
	move_to(region, REEL_REGION_ENDED);
	return parent->tape.error ? parent->tape.error : error;
}

int reel_region_end(reel_region *region)
{
	int error;

	REEL_OBSERVE(REEL_EVENT_REGION_END, .region = region, .lane = region->parent);
	error = end(region);
	/*
	 * Relaxed is enough, here and below: the threads have joined. One thread that takes the
	 * lanes one after the other gives all chunks of such a loop to the first one, and the
	 * reverse sweep would have nothing to share out.
	 */
	if (atomic_load_explicit(&region->dispatch, memory_order_relaxed))
		reel_team_size_need_all(&region->measure);
	reel_team_size_end(&region->measure,
			   atomic_load_explicit(&region->threads, memory_order_relaxed), 1);
	return error;
}

/* ---- Numbers of threads ---- */

int reel_region_threads(const reel_region *region, int threads)
{
	int lanes = reel_region_lanes(region);

	if (threads < 1)
		threads = 1;
	return region->has_ordered && threads < lanes ? lanes : threads;
}

bool reel_region_may_choose(const reel_lane *parent)
{
	/* Relaxed is enough: it is set in the forward sweep. */
	return !atomic_load_explicit(&parent->root->has_turns, memory_order_relaxed) &&
	       !(parent->tape.flags & REEL_CHECKED) && !reel_is_observed();
}

int reel_region_choose_threads(reel_region *region, int threads)
{
	bool is_open = region->state == REEL_REGION_FORWARD || region->state == REEL_REGION_REVERSE;

	/* A program that asks twice: the first answer is not measured. */
	reel_team_size_end(&region->measure, 0, 1);
	threads = reel_region_threads(region, threads);
	if (!is_open || !reel_region_lanes(region) || !reel_region_may_choose(region->parent))
		return threads;
	return reel_team_size_begin(&region->measure, REEL_CALLER, threads, 1);
}
