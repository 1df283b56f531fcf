/* SPDX-License-Identifier: MIT */
/*
 * Loops: static chunks are computed in both sweeps. Chunks of other loops are taken from a word
 * that the lanes of a region share, and are noted as intervals, which the reverse sweep pops. The
 * thread that has the lane calls these functions; only take_chunks() touches memory that threads
 * share.
 *
 * A chunk lies between the bounds of its loop. A lane gets its intervals in rising order, and
 * reverses them in falling order.
 */
#include "config.h"

#include "omp/lane/note.h"

#include <errno.h>

#include "os/counter.h"
#include "os/yield.h"

/* How a loop gets its next chunk. */
enum state { COMPUTE, COMPUTE_REVERSE, SHARE, POP, FINISHED };

static uint64_t length_of(const reel_loop *loop)
{
	return loop->high > loop->low ? (uint64_t)loop->high - (uint64_t)loop->low : 0;
}

static uint64_t chunks_of(const reel_loop *loop)
{
	uint64_t length = length_of(loop), chunk = (uint64_t)loop->chunk;

	return chunk ? length / chunk + (length % chunk != 0) : (uint64_t)loop->lanes;
}

/* ---- The word that lanes share: a loop's number, and how many of its chunks are taken ---- */

#define TAKEN_BITS 40
#define MAX_CHUNKS (((uint64_t)1 << TAKEN_BITS) - 1)

/* Number of loops since the one in the word, by those bits of its number that are in the word. */
static int64_t loops_since(uint64_t word, uint64_t loop)
{
	return (int64_t)((loop - (word >> TAKEN_BITS)) << TAKEN_BITS) >> TAKEN_BITS;
}

static uint64_t how_many(const reel_loop *loop, uint64_t left)
{
	uint64_t part = left / (2 * (uint64_t)loop->lanes);

	return loop->kind == REEL_GUIDED_LOOP && part ? part : 1;
}

/*
 * Takes *many chunks from *first on. Returns false if all are taken, or if a lane has come to a
 * later loop: it has seen that all are taken, or has stopped this loop. `newest` is for a lane that
 * is so far behind that the bits in the word do not tell.
 */
static bool take_chunks(const reel_loop *loop, uint64_t *first, uint64_t *many)
{
	reel_region *region = loop->lane->in;
	uint64_t number = loop->lane->shared, chunks = chunks_of(loop);
	/* Relaxed is enough, here and below: see struct reel_region. */
	uint64_t word = atomic_load_explicit(&region->dispatch, memory_order_relaxed);
	int64_t since;

	if (atomic_load_explicit(&region->newest, memory_order_relaxed) > number)
		return false;
	do {
		since = loops_since(word, number);
		*first = since > 0 ? 0 : word & MAX_CHUNKS;
		if (since < 0 || *first >= chunks)
			return false;
		*many = how_many(loop, chunks - *first);
		REEL_ASSERT(*many > 0 && *first + *many <= chunks && chunks <= MAX_CHUNKS);
		reel_yield_point();
	} while (!atomic_compare_exchange_weak_explicit(
		&region->dispatch, &word, number << TAKEN_BITS | (*first + *many),
		memory_order_relaxed, memory_order_relaxed));
	reel_yield_point();
	if (since > 0)
		reel_counter_raise(&region->newest, number);
	return true;
}

/* ---- Where a chunk is ---- */

static void set_chunk(reel_loop *loop, uint64_t first, uint64_t end)
{
	REEL_ASSERT(first <= end && end <= length_of(loop));
	loop->first = (int64_t)((uint64_t)loop->low + first);
	loop->end = (int64_t)((uint64_t)loop->low + end);
}

static void set_chunks(reel_loop *loop, uint64_t first, uint64_t many)
{
	uint64_t length = length_of(loop), chunk = (uint64_t)loop->chunk;
	uint64_t last = first + many;

	set_chunk(loop, first * chunk, last <= length / chunk ? last * chunk : length);
}

/* Without a chunk size each lane has one block. The first blocks are longer by one iteration. */
static void set_block(reel_loop *loop, uint64_t block)
{
	uint64_t lanes = (uint64_t)loop->lanes;
	uint64_t each = length_of(loop) / lanes, longer = length_of(loop) % lanes;
	uint64_t first = block * each + (block < longer ? block : longer);

	set_chunk(loop, first, first + each + (block < longer));
}

static void set_computed(reel_loop *loop)
{
	REEL_ASSERT(loop->at >= 0 && (uint64_t)loop->at < chunks_of(loop));
	if (loop->chunk)
		set_chunks(loop, (uint64_t)loop->at, 1);
	else
		set_block(loop, (uint64_t)loop->at);
}

/* The number of the lane's last static chunk, or a number below 0. `at` is its first one. */
static int64_t last_computed(const reel_loop *loop)
{
	int64_t chunks = (int64_t)chunks_of(loop), at = loop->at;

	return chunks > at ? at + (chunks - 1 - at) / loop->lanes * loop->lanes : -1;
}

/* ---- Notes ---- */

static void note_interval(reel_loop *loop)
{
	if (loop->interval_end <= loop->interval_first)
		return;
	reel_lane_note_pair(loop->lane, (uint64_t)loop->interval_first,
			    (uint64_t)loop->interval_end);
	loop->intervals++;
}

/* Joins consecutive chunks into one interval. */
static void add_to_interval(reel_loop *loop)
{
	if (loop->first != loop->interval_end) {
		note_interval(loop);
		loop->interval_first = loop->first;
	}
	loop->interval_end = loop->end;
}

static uint64_t bounds_of(const reel_loop *loop)
{
	uint64_t bounds = (uint64_t)loop->low;

	bounds = bounds * 0x9e3779b97f4a7c15u + (uint64_t)loop->high;
	return bounds * 0x9e3779b97f4a7c15u + (uint64_t)loop->chunk;
}

static void fail_bounds(const reel_loop *loop)
{
	reel_lane_fail(loop->lane, -EBADMSG,
		       "a static loop is reversed with other bounds, or another chunk size, than "
		       "it was recorded with");
}

static void check_bounds(const reel_loop *loop)
{
	uint64_t bounds = bounds_of(loop);

	reel_lane_take(loop->lane, REEL_NOTE_BOUNDS, loop->lane->loop, &bounds);
	if (bounds != bounds_of(loop))
		fail_bounds(loop);
}

/* ---- Beginning ---- */

static int64_t chunk_size(const reel_loop *loop, reel_chunking chunking)
{
	uint64_t chunk = chunking.chunk > 0 ? (uint64_t)chunking.chunk : 0;

	if (chunking.kind == REEL_STATIC_LOOP)
		return (int64_t)chunk;
	chunk += !chunk;
	while (length_of(loop) / chunk >= MAX_CHUNKS)
		chunk *= 2;
	return (int64_t)chunk;
}

/* A lane that is in no region gets the whole loop. */
static reel_loop begin(reel_lane *lane, reel_chunking chunking, int64_t low, int64_t high)
{
	bool in_region = reel_lane_region(lane) != NULL;
	reel_loop loop = {.lane = lane,
			  .low = low,
			  .high = high,
			  .kind = chunking.kind,
			  .noted = chunking.noted,
			  .lanes = in_region ? lane->count : 1,
			  .at = in_region ? lane->index : 0};

	if (!in_region)
		loop.kind = REEL_STATIC_LOOP;
	loop.chunk = in_region ? chunk_size(&loop, chunking) : 0;
	REEL_ASSERT(loop.lanes > 0 && loop.at >= 0 && loop.at < loop.lanes);
	/* An inner loop would take the iterations of the lane for iterations of its own. */
	if (lane->open_loops++)
		reel_lane_fail(lane, -EINVAL,
			       "a loop is begun in another loop of its lane, which cannot nest, or "
			       "after one that was left without reel_loop_stop()");
	return loop;
}

reel_loop reel_loop_begin(reel_lane *lane, reel_chunking chunking, int64_t low, int64_t high)
{
	reel_loop loop = begin(lane, chunking, low, high);

	lane->loop++;
	lane->ahead++;
	loop.state = loop.kind == REEL_STATIC_LOOP ? COMPUTE : SHARE;
	lane->shared += loop.state == SHARE;
	return loop;
}

/* Returns whether the lane can have left the loop in chunk `at`, at the end of interval `left`. */
static bool has_chunk(reel_loop *loop, uint64_t at, struct reel_note left)
{
	int64_t first = (int64_t)left.key, end = (int64_t)left.value;

	if (at >= chunks_of(loop) || (int64_t)at % loop->lanes != loop->at)
		return false;
	loop->at = (int64_t)at;
	set_computed(loop);
	return first == loop->first && first <= end && end <= loop->end;
}

/*
 * If the loop was left in the middle of a chunk, that chunk comes first in the reverse sweep. A
 * loop that has no such chunk is reversed as one that was not left: its error is told, and the
 * program gets no iteration outside of its bounds.
 */
static void reverse_computed(reel_loop *loop)
{
	int64_t last = last_computed(loop);
	struct reel_note left;
	uint64_t at;

	check_bounds(loop);
	loop->state = COMPUTE_REVERSE;
	if (reel_lane_take(loop->lane, REEL_NOTE_STOPPED, loop->lane->loop, &at)) {
		left = reel_lane_pop(loop->lane);
		if (has_chunk(loop, at, left)) {
			loop->interval_end = (int64_t)left.value;
			loop->intervals = 1;
			return;
		}
		fail_bounds(loop);
	}
	loop->at = last;
}

/*
 * Returns true if all loops that the region recorded are reversed, so that this one was not
 * recorded. The error does not name the loop, since it may be any of those before.
 */
static bool is_one_too_many(reel_lane *lane)
{
	const reel_region *region = reel_lane_region(lane);

	if (!region || region->state == REEL_REGION_FORWARD || lane->ahead ||
	    lane->loop > region->first_loop)
		return false;
	if (region->loops)
		reel_lane_fail(lane, -EBADMSG,
			       "more loops are reversed than the region's %llu that a lane came "
			       "to: where all lanes may leave early, ask reel_region_loops()",
			       (unsigned long long)region->loops);
	return true;
}

/* Returns true if the lane left the region before it came to this loop. */
static bool is_unreached(reel_lane *lane)
{
	bool unreached = !lane->ahead && lane->unreached;

	lane->ahead -= lane->ahead > 0;
	lane->unreached -= unreached;
	return unreached;
}

static bool finish(reel_loop *loop)
{
	REEL_ASSERT(loop->lane->open_loops > 0 || loop->state == FINISHED);
	loop->lane->open_loops -= loop->state != FINISHED;
	loop->state = FINISHED;
	return false;
}

reel_loop reel_loop_reverse(reel_lane *lane, reel_chunking chunking, int64_t low, int64_t high)
{
	reel_loop loop = begin(lane, chunking, low, high);
	uint64_t intervals = 0;

	if (is_one_too_many(lane)) {
		finish(&loop);
		return loop;
	}
	if (is_unreached(lane)) {
		finish(&loop);
	} else if (loop.noted) {
		reel_lane_take(lane, REEL_NOTE_INTERVALS, lane->loop, &intervals);
		loop.intervals = (int64_t)intervals;
		loop.state = POP;
	} else {
		reverse_computed(&loop);
	}
	lane->loop--;
	return loop;
}

/* ---- One chunk after the other ---- */

static bool end_forward(reel_loop *loop)
{
	reel_lane *lane = loop->lane;

	if (loop->noted)
		note_interval(loop);
	if (loop->intervals)
		reel_lane_note(lane, REEL_NOTE_INTERVALS, lane->loop, (uint64_t)loop->intervals);
	else if (!loop->noted && lane->tape.flags & REEL_CHECKED)
		reel_lane_note(lane, REEL_NOTE_BOUNDS, lane->loop, bounds_of(loop));
	return finish(loop);
}

static bool compute(reel_loop *loop)
{
	if ((uint64_t)loop->at >= chunks_of(loop))
		return end_forward(loop);
	set_computed(loop);
	loop->at += loop->lanes;
	if (loop->noted)
		add_to_interval(loop);
	return loop->end > loop->first || compute(loop);
}

static bool take_shared(reel_loop *loop)
{
	uint64_t first, many;

	if (!take_chunks(loop, &first, &many))
		return end_forward(loop);
	set_chunks(loop, first, many);
	add_to_interval(loop);
	return true;
}

static bool compute_reverse(reel_loop *loop)
{
	if (loop->at < 0)
		return finish(loop);
	set_computed(loop);
	if (loop->intervals)
		loop->end = loop->interval_end;
	loop->intervals = 0;
	loop->at -= loop->lanes;
	return loop->end > loop->first || compute_reverse(loop);
}

/*
 * Returns true if the popped pair can be an interval of the loop. If the iteration above has left
 * out a turn, a region or a task, it is a note of these, and the program has no such iterations.
 */
static bool is_interval(const reel_loop *loop, struct reel_note interval)
{
	int64_t first = (int64_t)interval.key, end = (int64_t)interval.value;

	if (first >= loop->low && first <= end && end <= loop->high)
		return true;
	reel_lane_fail(loop->lane, -EBADMSG,
		       "a loop finds notes of something else: an iteration did not reverse all "
		       "that it recorded");
	return false;
}

static bool pop(reel_loop *loop)
{
	struct reel_note interval;

	REEL_ASSERT(loop->intervals >= 0);
	if (!loop->intervals)
		return finish(loop);
	loop->intervals--;
	interval = reel_lane_pop(loop->lane);
	if (!is_interval(loop, interval))
		return finish(loop);
	loop->first = (int64_t)interval.key;
	loop->end = (int64_t)interval.value;
	return loop->end > loop->first || finish(loop);
}

reel_loop *reel_loop_refuse(reel_loop *loop)
{
	reel_lane_fail(loop->lane, -EOVERFLOW,
		       "the type of a loop's index does not hold the bounds %lld and %lld: use a "
		       "wider type, such as int64_t", (long long)loop->low, (long long)loop->high);
	finish(loop);
	return loop;
}

bool reel_loop_next(reel_loop *loop)
{
	if (REEL_UNLIKELY(loop->in_chunk && loop->state != FINISHED)) {
		reel_lane_fail(loop->lane, -EINVAL,
			       "a loop was left by a break: call reel_loop_stop() before it");
		return finish(loop);
	}
	switch ((enum state)loop->state) {
	case COMPUTE:
		return compute(loop);
	case COMPUTE_REVERSE:
		return compute_reverse(loop);
	case SHARE:
		return take_shared(loop);
	case POP:
		return pop(loop);
	case FINISHED:
		break;
	}
	return false;
}

/* ---- Leaving before the end ---- */

static bool out_of_chunk(const reel_loop *loop, int64_t end)
{
	bool forward = loop->state == COMPUTE || loop->state == SHARE;

	if (forward && end >= loop->first && end <= loop->end)
		return false;
	reel_lane_fail(loop->lane, -EINVAL,
		       "reel_loop_stop() is for the present chunk of a loop in the forward sweep");
	return true;
}

void reel_loop_stop(reel_loop *loop, int64_t end)
{
	if (loop->state == FINISHED || out_of_chunk(loop, end))
		return;
	loop->interval_end = end;
	if (!loop->noted) {
		reel_lane_note_pair(loop->lane, (uint64_t)loop->first, (uint64_t)end);
		reel_lane_note(loop->lane, REEL_NOTE_STOPPED, loop->lane->loop,
			       (uint64_t)(loop->at - loop->lanes));
	}
	end_forward(loop);
}
