/* SPDX-License-Identifier: MIT */
/*
 * Moves the tapes of lanes between an arena and the host; reel/host-tape.h is the manual. The
 * caller's thread runs these functions, while no kernel uses the arena.
 * Slabs cross in a frame of pinned memory, warp by warp. If a call fails, the tapes are where they
 * were, except that a send that fails may have emptied the arena.
 */
#include "config.h"

#include <reel/host-tape.h>
#include <reel/recording.h>

#include <errno.h>
#include <stdlib.h>

#include "arena-layout.h"
#include "arena-state.h"
#include "os/assert.h"
#include "os/cancel.h"
#include "drain.h"

/* Size of the frame, unless a slab is larger. */
#define FRAME_BYTES ((uint32_t)2 << 20)

/* A call that moves tapes: the lanes, their threads, and a frame for slabs of one warp. */
struct passage {
	struct reel_arena *arena;
	struct reel_host_tape *lanes;
	uint32_t count;
	uint32_t block_threads;
	uint32_t warps; /* number of warps that have a thread of the lanes */
	unsigned char *frame;
	uint32_t frame_slabs;
	uint64_t words; /* number of words moved so far */
};

/* ---- Where the threads are ---- */

static uint32_t block_warps(const struct passage *passage)
{
	return (passage->block_threads + 31) / 32;
}

static uint32_t count_warps(const struct passage *passage)
{
	uint32_t blocks = passage->count / passage->block_threads;
	uint32_t rest = passage->count % passage->block_threads;

	return blocks * block_warps(passage) + (rest + 31) / 32;
}

/* Returns NULL if there is no such thread, or the caller has no lane for it. */
static struct reel_host_tape *lane_at(const struct passage *passage, uint32_t warp, uint32_t lane)
{
	uint32_t block = warp / block_warps(passage);
	uint32_t thread = warp % block_warps(passage) * 32 + lane;
	uint32_t number = block * passage->block_threads + thread;

	return thread < passage->block_threads && number < passage->count ? &passage->lanes[number]
									  : NULL;
}

/* ---- Columns of a slab ---- */

static unsigned char *word_at(const struct passage *passage, uint32_t slab, uint32_t row,
			      uint32_t lane)
{
	uint64_t rows = ((uint64_t)slab << passage->arena->empty.row_shift) + row;

	return passage->frame + (rows * 32 + lane) * passage->arena->empty.word_bytes;
}

static void push_column(const struct passage *passage, struct reel_host_tape *to, uint32_t slab,
			uint32_t lane, uint32_t rows)
{
	REEL_ASSERT(slab < passage->frame_slabs && rows <= passage->arena->empty.row_mask);
	for (uint32_t row = 1; row <= rows; row++)
		reel_host_tape_push(to, word_at(passage, slab, row, lane), to->word_bytes);
}

static void pop_column(const struct passage *passage, struct reel_host_tape *from, uint32_t slab,
		       uint32_t lane, uint32_t rows)
{
	REEL_ASSERT(slab < passage->frame_slabs && rows <= passage->arena->empty.row_mask);
	for (uint32_t row = rows; row > 0; row--)
		reel_host_tape_pop(from, word_at(passage, slab, row, lane), from->word_bytes);
}

/* Number of a lane's words that lie in the slab with `height` slabs of its warp below it. */
static uint32_t words_in(const struct reel_tables *tables, uint32_t warp, uint32_t lane,
			 uint32_t height)
{
	uint64_t words = tables->rows[32 * warp + lane];
	uint32_t rows = tables->header->row_mask;
	uint64_t below = (uint64_t)height * rows;

	if (words >= REEL_TABLES_EMPTY || words <= below)
		return 0;
	return words - below < rows ? (uint32_t)(words - below) : rows;
}

/* ---- From the device ---- */

/* Copies between slabs of the warp that was walked last and the frame. */
static int copy(const struct passage *passage, uint32_t first, uint32_t end, bool to_device)
{
	struct reel_arena *arena = passage->arena;

	return reel_arena_wait(arena, reel_arena_copy(arena, arena->stream,
						      arena->tables.chain + first, 1, end - first,
						      passage->frame, to_device));
}

static int fetch_warp(struct passage *passage, uint32_t warp)
{
	const struct reel_tables *tables = &passage->arena->tables;
	uint32_t slabs = reel_tables_walk(&passage->arena->tables, warp);
	int error = 0;

	for (uint32_t first = 0, end; first < slabs && !error; first = end) {
		end = slabs - first < passage->frame_slabs ? slabs : first + passage->frame_slabs;
		error = copy(passage, first, end, false);
		for (uint32_t lane = 0; lane < 32 && !error; lane++) {
			struct reel_host_tape *to = lane_at(passage, warp, lane);

			for (uint32_t n = first; n < end && to; n++) {
				uint32_t words = words_in(tables, warp, lane, n);

				push_column(passage, to, n - first, lane, words);
				passage->words += words;
			}
		}
	}
	return error;
}

static int check_fetch(const struct passage *passage)
{
	const struct reel_tables *tables = &passage->arena->tables;

	for (uint32_t warp = 0; warp < passage->warps; warp++) {
		if (tables->warp[warp].drained)
			return reel_fail(-EBUSY, "slabs are in the arena's store: "
						 "reel_arena_refill() brings them back");
		for (uint32_t lane = 0; lane < 32; lane++) {
			if (lane_at(passage, warp, lane) &&
			    tables->rows[32 * warp + lane] == REEL_TABLES_UNSAVED)
				return reel_fail(-EINVAL,
						 "a thread has not saved its tape: "
						 "lane %u of warp %u",
						 (unsigned)lane, (unsigned)warp);
		}
	}
	return 0;
}

static int first_error(const struct passage *passage)
{
	for (uint32_t n = 0; n < passage->count; n++) {
		int error = reel_tape_error(passage->lanes[n].tape);

		if (error)
			return reel_fail(error, "the tape of lane %u: %s", (unsigned)n,
					 reel_strerror(error));
	}
	return 0;
}

static int fetch_all(struct passage *passage)
{
	int error = 0;

	for (uint32_t warp = 0; warp < passage->warps && !error; warp++)
		error = fetch_warp(passage, warp);
	return error ? error : first_error(passage);
}

/* If a push or a copy fails, takes off all words that were pushed. */
static int fetch_or_undo(struct passage *passage)
{
	const struct reel_arena_saved *saved = passage->arena->tables.saved;
	reel_mark *marks = malloc((passage->count + 1) * sizeof *marks);
	int error;

	if (!marks)
		return reel_fail(-ENOMEM, "no host memory for marks on the lanes' tapes");
	for (uint32_t n = 0; n < passage->count; n++)
		marks[n] = reel_tape_mark(passage->lanes[n].tape);
	error = fetch_all(passage);
	for (uint32_t n = 0; n < passage->count; n++) {
		struct reel_host_tape *lane = &passage->lanes[n];
		uint32_t block = n / passage->block_threads, thread = n % passage->block_threads;

		if (error)
			reel_tape_rewind(lane->tape, marks[n]);
		else
			lane->bits = saved[block * block_warps(passage) + thread / 32]
					     .bits[thread % 32];
	}
	free(marks);
	return error;
}

/* ---- To the device ---- */

/* Size of a word on the lane's tape. */
static uint64_t word_bytes(const struct reel_host_tape *lane)
{
	return lane->word_bytes == 16 ? 16 : 8;
}

static uint64_t words_on(const struct reel_host_tape *lane)
{
	return reel_tape_bytes(lane->tape) / word_bytes(lane);
}

/* Number of slabs that the longest tape of a warp takes. */
static uint32_t slabs_for(const struct passage *passage, uint32_t warp)
{
	uint32_t mask = passage->arena->empty.row_mask;
	uint64_t most = 0;

	for (uint32_t n = 0; n < 32; n++) {
		const struct reel_host_tape *lane = lane_at(passage, warp, n);

		if (lane && words_on(lane) > most)
			most = words_on(lane);
	}
	return (uint32_t)((most + mask - 1) / mask);
}

static int make_room(struct passage *passage)
{
	struct reel_arena *arena = passage->arena;
	const struct reel_arena_header *empty = &arena->empty;
	struct reel_arena_report report = {.warps_needed = empty->warps};
	uint64_t slabs = 0;

	for (uint32_t warp = 0; warp < passage->warps; warp++)
		slabs += slabs_for(passage, warp);
	if (passage->warps > report.warps_needed)
		report.warps_needed = passage->warps;
	if (slabs <= arena_slabs(empty) && passage->warps <= empty->warps)
		return 0;
	report.bytes_needed = arena_bytes(slabs, arena->slab_bytes, report.warps_needed);
	return reel_arena_grow(arena, &report);
}

/* Takes slabs for the warp's longest tape, and walks them. send_warp() copies the words. */
static uint32_t take_chain(struct passage *passage, uint32_t warp)
{
	struct reel_tables *tables = &passage->arena->tables;
	uint32_t slabs = slabs_for(passage, warp), highest = 0;

	for (uint32_t n = 0; n < slabs; n++) {
		uint32_t slab = reel_tables_take(tables);

		REEL_ASSERT(slab);
		reel_tables_put_top(tables, warp, highest, slab);
		highest = slab;
	}
	tables->warp[warp].peak = slabs;
	for (uint32_t n = 0; n < 32; n++) {
		const struct reel_host_tape *lane = lane_at(passage, warp, n);

		if (!lane)
			continue;
		tables->rows[32 * warp + n] = words_on(lane) ? words_on(lane) : REEL_TABLES_EMPTY;
		tables->saved[warp].bits[n] = lane->bits;
	}
	return reel_tables_walk(tables, warp);
}

/* Starts at the top, since tapes are popped. */
static int send_warp(struct passage *passage, uint32_t warp)
{
	const struct reel_tables *tables = &passage->arena->tables;
	uint32_t slabs = take_chain(passage, warp);
	int error = 0;

	for (uint32_t end = slabs, first; end > 0 && !error; end = first) {
		first = end < passage->frame_slabs ? 0 : end - passage->frame_slabs;
		for (uint32_t lane = 0; lane < 32; lane++) {
			struct reel_host_tape *from = lane_at(passage, warp, lane);

			for (uint32_t n = end; n-- > first && from;) {
				uint32_t words = words_in(tables, warp, lane, n);

				pop_column(passage, from, n - first, lane, words);
				passage->words += words;
			}
		}
		error = copy(passage, first, end, true);
	}
	return error;
}

static int send_tables(struct passage *passage)
{
	struct reel_arena *arena = passage->arena;
	int error = reel_tables_start_to_write(arena, arena->base);

	if (!error && arena->drain)
		error = reel_drain_keep(arena, arena->stream);
	error = reel_arena_wait(arena, error);
	/* After an error the arena is emptied, so that only the host has the tapes. */
	if (error)
		reel_arena_wait(arena, reel_arena_reset(arena, arena->stream));
	return error;
}

static int send_all(struct passage *passage)
{
	struct reel_arena *arena = passage->arena;
	int error = reel_tables_clear(arena);

	if (error)
		return error;
	arena->tables.header->saved_block = passage->block_threads;
	for (uint32_t warp = 0; warp < passage->warps && !error; warp++)
		error = send_warp(passage, warp);
	if (!error)
		error = first_error(passage);
	return error ? error : send_tables(passage);
}

static int check_send(const struct passage *passage)
{
	for (uint32_t n = 0; n < passage->count; n++) {
		const struct reel_host_tape *lane = &passage->lanes[n];

		if (reel_tape_bytes(lane->tape) % word_bytes(lane))
			return reel_fail(-EINVAL, "the tape of lane %u has more on it than words",
					 (unsigned)n);
	}
	return first_error(passage);
}

/* Holds the tapes, so that they can be replayed if anything fails. */
static int send_or_undo(struct passage *passage)
{
	uint32_t held = 0;
	int error = 0;

	for (; held < passage->count && !error; held += !error)
		error = reel_tape_hold(passage->lanes[held].tape);
	if (error)
		reel_fail(error, "the tape of lane %u cannot be held", (unsigned)held);
	if (!error)
		error = send_all(passage);
	for (uint32_t n = 0; n < held; n++) {
		if (error)
			reel_tape_replay(passage->lanes[n].tape);
		reel_tape_release(passage->lanes[n].tape);
		if (!error)
			passage->lanes[n].bits = 1;
	}
	return error;
}

/* ---- Both ---- */

static int check_lanes(const struct passage *passage)
{
	if (!passage->block_threads || passage->block_threads > 1024)
		return reel_fail(-EINVAL, "no block has %u threads",
				 (unsigned)passage->block_threads);
	for (uint32_t n = 0; n < passage->count; n++)
		if (passage->lanes[n].word_bytes != passage->arena->empty.word_bytes)
			return reel_fail(-EINVAL,
					 "lane %u has words of %u bytes, and the arena of %u",
					 (unsigned)n, (unsigned)passage->lanes[n].word_bytes,
					 (unsigned)passage->arena->empty.word_bytes);
	return 0;
}

/* Calls `move` with a frame. */
static int with_frame(struct passage *passage, int (*move)(struct passage *passage))
{
	struct reel_arena *arena = passage->arena;
	void *frame = NULL;
	int error;

	passage->frame_slabs = FRAME_BYTES / arena->slab_bytes;
	if (!passage->frame_slabs)
		passage->frame_slabs = 1;
	TRY(arena, cuMemHostAlloc,
	    (&frame, (size_t)passage->frame_slabs * arena->slab_bytes,
	     REEL_CU_HOST_ALLOC_PORTABLE));
	/* Rows above the tops are also copied: no old data may be in them. */
	memset(frame, 0, (size_t)passage->frame_slabs * arena->slab_bytes);
	passage->frame = frame;
	error = move(passage);
	/* A wait that failed may have left a copy under way. */
	if (error)
		arena->gpu.driver->cuStreamSynchronize(arena->stream);
	arena->gpu.driver->cuMemFreeHost(frame);
	return error;
}

static int fetch_lanes(struct passage *passage, void *stream)
{
	struct reel_arena *arena = passage->arena;
	int error = arena->drain ? reel_drain_check(arena) : 0;

	if (!error)
		error = reel_tables_read(arena, stream, arena->base);
	if (error)
		return error;
	passage->block_threads = arena->tables.header->saved_block;
	if (!passage->block_threads)
		return reel_fail(-EINVAL, "no kernel has saved its tapes");
	error = check_lanes(passage);
	if (error)
		return error;
	passage->warps = count_warps(passage);
	if (passage->warps > arena->empty.warps)
		return reel_fail(-EINVAL, "the arena has no %u threads", (unsigned)passage->count);
	error = check_fetch(passage);
	return error ? error : with_frame(passage, fetch_or_undo);
}

static int send_lanes(struct passage *passage, void *stream)
{
	int error = check_lanes(passage);

	if (!error)
		error = check_send(passage);
	if (!error)
		error = reel_arena_reset(passage->arena, stream);
	if (!error)
		error = reel_arena_wait_for(passage->arena, stream);
	if (error)
		return error;
	passage->warps = count_warps(passage);
	error = make_room(passage);
	return error ? error : with_frame(passage, send_or_undo);
}

/* An error of leaving the context is ignored, since the tapes have been moved. */
int reel_arena_fetch(struct reel_arena *arena, void *stream, struct reel_host_tape *lanes,
		     uint32_t count)
{
	REEL_UNCANCELLED;
	struct passage passage = {.arena = arena, .lanes = lanes, .count = count};
	int error = reel_arena_enter(arena);

	if (error)
		return error;
	error = fetch_lanes(&passage, stream);
	reel_arena_leave(arena, 0);
	if (!error)
		arena->stats.fetched_bytes += passage.words * arena->empty.word_bytes;
	return error;
}

int reel_arena_send(struct reel_arena *arena, void *stream, struct reel_host_tape *lanes,
		    uint32_t count, uint32_t block_threads)
{
	REEL_UNCANCELLED;
	struct passage passage = {
		.arena = arena, .lanes = lanes, .count = count, .block_threads = block_threads};
	int error = reel_arena_enter(arena);

	if (error)
		return error;
	error = send_lanes(&passage, stream);
	reel_arena_leave(arena, 0);
	if (!error)
		arena->stats.sent_bytes += passage.words * arena->empty.word_bytes;
	return error;
}
