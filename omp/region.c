/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lane.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* ---- Lanes of a lane ---- */

static unsigned block_of(int32_t index)
{
	unsigned block = 0;

	while (((uint32_t)index + 1) >> (block + 1))
		block++;
	return block;
}

static uint32_t place_in(int32_t index, unsigned block)
{
	return (uint32_t)index + 1 - ((uint32_t)1 << block);
}

/* Threads of a team may come for lanes of one block at the same time. */
static reel_lane_place *block_at(reel_lane *parent, unsigned block)
{
	_Atomic(reel_lane_place *) *at = &parent->block[block];
	/* Acquire: pairs with the release below. */
	reel_lane_place *there = atomic_load_explicit(at, memory_order_acquire);
	reel_lane_place *fresh;

	if (there)
		return there;
	fresh = calloc((size_t)1 << block, sizeof *fresh);
	if (!fresh)
		return NULL;
	/* Release: pairs with the acquires here and in reel_lane_find(). */
	if (atomic_compare_exchange_strong_explicit(at, &there, fresh, memory_order_acq_rel,
						    memory_order_acquire))
		return fresh;
	free(fresh);
	return there;
}

reel_lane *reel_lane_find(const reel_lane *parent, int32_t index)
{
	unsigned block = block_of(index);
	/* Acquire: pairs with the release in block_at(). */
	reel_lane_place *places = atomic_load_explicit(&parent->block[block], memory_order_acquire);

	/* Acquire: pairs with the release in reel_lane_child(). */
	return places ? atomic_load_explicit(&places[place_in(index, block)], memory_order_acquire)
		      : NULL;
}

int32_t reel_lane_places(const reel_lane *parent)
{
	unsigned blocks = REEL_LANE_BLOCKS;

	while (blocks && !atomic_load_explicit(&parent->block[blocks - 1], memory_order_relaxed))
		blocks--;
	return (int32_t)(((uint32_t)1 << blocks) - 1);
}

/* Threads that look for a lane to take may come for the same one. */
reel_lane *reel_lane_child(reel_lane *parent, int32_t index)
{
	reel_lane *lane = reel_lane_find(parent, index), *there = NULL;
	unsigned block = block_of(index);
	reel_lane_place *places;

	if (lane)
		return lane;
	places = block_at(parent, block);
	lane = places ? reel_lane_new(parent, NULL, 0) : NULL;
	if (!lane)
		return NULL;
	lane->index = index;
	/* Release: pairs with the acquires here and in reel_lane_find(). */
	if (atomic_compare_exchange_strong_explicit(&places[place_in(index, block)], &there, lane,
						    memory_order_acq_rel, memory_order_acquire))
		return lane;
	reel_lane_close(lane);
	return there;
}

/* ---- Phases of a lane ---- */

static void open_phase(reel_lane *lane, uint64_t phase)
{
	lane->phase = phase;
	lane->height = reel_lane_height(&lane->tape);
	lane->note_height = reel_tape_bytes(&lane->notes);
}

static uint64_t notes_in_phase(const reel_lane *lane)
{
	uint64_t notes = (reel_tape_bytes(&lane->notes) - lane->note_height) /
			 sizeof(struct reel_note);

	return notes < REEL_MOST_COUNTED ? notes : REEL_MOST_COUNTED - 1;
}

static uint64_t phase_number(uint64_t phase, uint64_t notes)
{
	return phase | notes << REEL_PHASE_BITS;
}

static void check_loops(reel_lane *lane)
{
	if (lane->open_loops)
		reel_lane_fail(lane, -EINVAL,
			       "a loop was left before its end: call reel_loop_stop() first");
	lane->open_loops = 0;
}

static void close_phase(reel_lane *lane)
{
	check_loops(lane);
	if (reel_lane_height(&lane->tape) == lane->height &&
	    reel_tape_bytes(&lane->notes) == lane->note_height)
		return;
	reel_lane_note(lane, REEL_NOTE_PHASE, phase_number(lane->phase, notes_in_phase(lane)),
		       lane->height);
}

/* A lane that recorded nothing has to come down to where it is. */
static void reopen_phase(reel_lane *lane, uint64_t phase)
{
	struct reel_note top = reel_lane_top(lane);
	uint64_t number = top.key >> REEL_KIND_BITS;
	uint64_t mask = ((uint64_t)1 << REEL_PHASE_BITS) - 1;
	uint64_t ahead = (number - phase) & mask;

	open_phase(lane, phase);
	if ((top.key & 7) != REEL_NOTE_PHASE || ahead > mask / 2)
		return;
	if (ahead) {
		reel_lane_fail(lane, -EBADMSG, "a phase that was recorded was not reversed");
		return;
	}
	(void)reel_lane_take_pair(lane);
	lane->height = top.value;
	lane->note_height = reel_tape_bytes(&lane->notes) -
			    (number >> REEL_PHASE_BITS) * sizeof(struct reel_note);
}

static void leave_phase(reel_lane *lane)
{
	uint64_t height = reel_lane_height(&lane->tape);
	bool notes_left = reel_tape_bytes(&lane->notes) != lane->note_height;

	check_loops(lane);
	if (lane->tape.error || (height == lane->height && !notes_left))
		return;
	if (height != lane->height)
		reel_lane_fail(lane, -EBADMSG,
			       "%" PRIu64 " bytes were popped %s than pushed in its phase: reverse "
			       "all that the forward sweep recorded",
			       (height > lane->height ? height - lane->height
						      : lane->height - height) / 64,
			       height > lane->height ? "less" : "more");
	else
		reel_lane_fail(lane, -EBADMSG,
			       "a loop, section or region that was recorded was not reversed");
}

static int64_t round_of(const reel_region *region, const reel_lane *lane)
{
	uint64_t done = lane->phase - region->first_phase;

	return (int64_t)(region->state == REEL_FORWARD ? done : region->phases - 1 - done);
}

static uint64_t phase_of(const reel_region *region, int64_t round)
{
	uint64_t rounds = (uint64_t)round;

	if (region->state == REEL_FORWARD)
		return region->first_phase + rounds;
	return region->first_phase + region->phases - 1 - rounds;
}

static void go_to_round(const reel_region *region, reel_lane *lane, int64_t round)
{
	if (round <= round_of(region, lane))
		return;
	if (region->state == REEL_FORWARD) {
		close_phase(lane);
		open_phase(lane, phase_of(region, round));
	} else {
		leave_phase(lane);
		reopen_phase(lane, phase_of(region, round));
	}
}

void reel_lane_phase(reel_lane *lane)
{
	if (!lane->in || lane->in->state != REEL_FORWARD) {
		reel_lane_fail(lane, -EINVAL,
			       "a phase ends outside of the forward sweep of a region");
		return;
	}
	close_phase(lane);
	open_phase(lane, lane->phase + 1);
}

/* ---- A lane comes to a region ---- */

static void come_forward(reel_region *region, reel_lane *lane)
{
	lane->unreached = 0;
	lane->loop = region->first_loop;
	open_phase(lane, region->first_phase);
}

static void come_back(reel_region *region, reel_lane *lane)
{
	lane->loop = region->first_loop + region->loops;
	lane->unreached = 0;
	reel_lane_take(lane, REEL_NOTE_SHORT, lane->loop, &lane->unreached);
	reopen_phase(lane, phase_of(region, 0));
}

static void come(reel_region *region, reel_lane *lane)
{
	lane->in = region;
	lane->visit = region->visit;
	/* Relaxed: this thread has set it, or has seen it set. */
	lane->count = atomic_load_explicit(&region->lanes, memory_order_relaxed);
	lane->has_orders = false;
	lane->open_loops = lane->turns = 0;
	lane->shared = lane->ahead = 0;
	if (region->state == REEL_FORWARD)
		come_forward(region, lane);
	else
		come_back(region, lane);
}

void reel_region_lacks_lane(reel_region *region)
{
	/* Relaxed: it is read after the threads have joined. */
	atomic_store_explicit(&region->lacks_lane, true, memory_order_relaxed);
	/* Sequentially consistent: pairs with is_over() in order.c. */
	atomic_store_explicit(&region->failed, true, memory_order_seq_cst);
}

reel_lane *reel_region_enter(reel_region *region, int32_t index, int64_t round)
{
	reel_lane *lane = reel_lane_child(region->parent, index);

	if (!lane) {
		reel_region_lacks_lane(region);
		lane = reel_lane_refusing();
		lane->index = index;
	}
	reel_tape_hand_over(&lane->tape);
	if (lane->in != region || lane->visit != region->visit)
		come(region, lane);
	go_to_round(region, lane, round);
	return lane;
}

/* ---- Regions ---- */

static reel_region *region_of(reel_lane *parent)
{
	reel_region *region = parent->region;

	if (region)
		return region;
	region = aligned_alloc(REEL_APART, sizeof *region);
	if (!region)
		return NULL;
	memset(region, 0, sizeof *region);
	region->parent = parent;
	parent->region = region;
	return region;
}

/* A region that gives out no lane, for a parent that has an error. */
static reel_region *dead_region(void)
{
	static _Thread_local reel_region region;

	region.parent = reel_lane_refusing();
	region.state = REEL_DEAD;
	return &region;
}

static reel_region *start(reel_lane *parent, enum reel_region_state state, const char *what)
{
	reel_region *region = parent == reel_lane_refusing() ? NULL : region_of(parent);

	if (!region) {
		reel_lane_fail(parent, -ENOMEM, "no memory for a region");
		return dead_region();
	}
	if (region->state != REEL_ENDED)
		reel_lane_fail(parent, -EINVAL, "a region is %s in one that has not ended", what);
	region->state = state;
	region->visit++;
	region->has_orders = region->refused = false;
	/* Relaxed: the threads that look at them are still to come. */
	atomic_store_explicit(&region->failed, false, memory_order_relaxed);
	atomic_store_explicit(&region->lacks_lane, false, memory_order_relaxed);
	atomic_store_explicit(&region->newest, 0, memory_order_relaxed);
	atomic_store_explicit(&region->dispatch, 0, memory_order_relaxed);
	return region;
}

reel_region *reel_region_begin(reel_lane *parent, int lanes)
{
	reel_region *region = start(parent, REEL_FORWARD, "begun");

	if (region->state == REEL_DEAD)
		return region;
	if (lanes < 0) {
		reel_lane_fail(parent, -EINVAL, "a region of %d lanes: at least 1, or 0 for as many "
			       "as there are threads", lanes);
		lanes = 1;
	}
	atomic_store_explicit(&region->lanes, lanes, memory_order_relaxed);
	region->first_phase = parent->phases;
	region->first_loop = parent->loops;
	region->phases = region->loops = 0;
	return region;
}

#define ORDERS_FLAG ((uint64_t)1 << 32)

static void note_region(reel_region *region, int32_t lanes)
{
	reel_lane_note_pair(region->parent, region->loops,
			    reel_lane_height(&region->parent->tape));
	reel_lane_note(region->parent, REEL_NOTE_REGION,
		       (uint64_t)lanes | (region->has_orders ? ORDERS_FLAG : 0), region->phases);
}

static bool take_region(reel_region *region)
{
	reel_lane *parent = region->parent;
	struct reel_note top = reel_lane_top(parent), pair;
	uint64_t number = top.key >> REEL_KIND_BITS;

	if ((top.key & 7) != REEL_NOTE_REGION || number >> 33) {
		reel_lane_fail(parent, -EBADMSG,
			       "a region is reversed where none was recorded: reverse loops, "
			       "sections and regions in the opposite order");
		return false;
	}
	(void)reel_lane_take_pair(parent);
	pair = reel_lane_take_pair(parent);
	if (!parent->tape.error && pair.value != reel_lane_height(&parent->tape)) {
		reel_lane_fail(parent, -EBADMSG,
			       "a region is reversed with %" PRIu64 " bytes of values on its "
			       "parent, where it was recorded with %" PRIu64,
			       reel_lane_height(&parent->tape) / 64, pair.value / 64);
		return false;
	}
	region->has_orders = (number & ORDERS_FLAG) != 0;
	atomic_store_explicit(&region->lanes, (int32_t)(number & (ORDERS_FLAG - 1)),
			      memory_order_relaxed);
	region->phases = top.value;
	region->loops = pair.key;
	region->first_phase = parent->phases - region->phases;
	region->first_loop = parent->loops - region->loops;
	return true;
}

reel_region *reel_region_reverse(reel_lane *parent)
{
	reel_region *region = start(parent, REEL_REVERSE_SWEEP, "reversed");

	if (region->state != REEL_DEAD && !take_region(region)) {
		atomic_store_explicit(&region->lanes, 0, memory_order_relaxed);
		region->state = REEL_DEAD;
	}
	return region;
}

/* ---- The end of a region: the threads have joined ---- */

/* One that no thread has taken is one that was left at once. NULL: no memory. */
static reel_lane *lane_at_end(reel_region *region, int32_t index)
{
	reel_lane *lane = reel_lane_find(region->parent, index);

	if (!lane || lane->in != region || lane->visit != region->visit)
		lane = reel_region_enter(region, index, 0);
	return lane != reel_lane_refusing() ? lane : NULL;
}

static void measure_forward(reel_region *region, reel_lane *lane)
{
	uint64_t phases, loops;

	if (!lane)
		return;
	close_phase(lane);
	phases = lane->phase - region->first_phase + 1;
	loops = lane->loop - region->first_loop;
	if (phases > region->phases)
		region->phases = phases;
	if (loops > region->loops)
		region->loops = loops;
	region->has_orders |= lane->has_orders;
}

static int end_lane(reel_region *region, reel_lane *lane)
{
	uint64_t last = region->first_loop + region->loops;

	if (region->state == REEL_REVERSE_SWEEP) {
		go_to_round(region, lane, (int64_t)region->phases - 1);
		leave_phase(lane);
	} else if (lane->loop != last) {
		reel_lane_note(lane, REEL_NOTE_SHORT, last, last - lane->loop);
	}
	reel_tape_hand_over(&lane->tape);
	/* Relaxed: the threads have joined. */
	atomic_store_explicit(&lane->taken, 0, memory_order_relaxed);
	lane->in = NULL;
	return reel_lane_error(lane);
}

static int end_lanes(reel_region *region)
{
	int32_t lanes = reel_region_lanes(region);
	int error = 0;

	for (int32_t i = 0; i < lanes && region->state == REEL_FORWARD; i++)
		measure_forward(region, lane_at_end(region, i));
	for (int32_t i = 0; i < lanes; i++) {
		reel_lane *lane = lane_at_end(region, i);
		int lane_error = lane ? end_lane(region, lane) : 0;

		error = error ? error : lane_error;
	}
	/* Relaxed: the threads have joined. */
	if (atomic_load_explicit(&region->lacks_lane, memory_order_relaxed))
		reel_lane_fail(region->parent, -ENOMEM, "no memory for a lane of a region");
	return error;
}

int reel_region_end(reel_region *region)
{
	reel_lane *parent = region->parent;
	int error;

	if (region->state == REEL_ENDED)
		reel_lane_fail(parent, -EINVAL, "a region is ended that has not begun");
	if (region->state == REEL_ENDED || region->state == REEL_DEAD) {
		region->state = REEL_ENDED;
		return parent->tape.error;
	}
	error = region->refused ? 0 : end_lanes(region);
	parent->phases = region->first_phase;
	parent->loops = region->first_loop;
	if (region->state == REEL_FORWARD) {
		note_region(region, reel_region_lanes(region));
		parent->phases += region->phases;
		parent->loops += region->loops;
	}
	region->state = REEL_ENDED;
	return parent->tape.error ? parent->tape.error : error;
}

/* ---- What it is ---- */

int reel_region_lanes(const reel_region *region)
{
	/* Relaxed: a number, that belongs to no other data. */
	return atomic_load_explicit(&region->lanes, memory_order_relaxed);
}

int reel_region_threads(const reel_region *region, int threads)
{
	int lanes = reel_region_lanes(region);

	if (threads < 1)
		threads = 1;
	return region->has_orders && threads < lanes ? lanes : threads;
}

int64_t reel_region_phases(const reel_region *region)
{
	return (int64_t)(region->phases ? region->phases : 1);
}
