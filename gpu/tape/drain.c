/* SPDX-License-Identifier: MIT */
/*
 * Settles, undoes and cures launches of an arena with a store, and moves slabs when the program
 * asks for it. The thread that called a function of reel/arena.h runs these functions. After an
 * error of the driver in the middle of a change the arena is broken: it is unknown which part of
 * the change the device has, and only a reset makes the arena usable again.
 */
#include "config.h"

#include "drain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arena-layout.h"
#include "arena-state.h"
#include "os/cancel.h"
#include "spill-policy.h"

/* Number of repetitions after which a launch that still has a fault is given up. */
#define MAX_TRIES 64u

struct reel_drain {
	struct reel_spill_policy policy;
	unsigned tries;
	/*
	 * Tapes are popped: the last launch that was undone missed slabs in the store, or the
	 * program has refilled the arena, or the tapes have become lower since then.
	 */
	bool is_reversing;
	uint64_t height; /* number of slabs of all warps at the last change of the tables */
	/* Number of free slabs below which a settled launch makes room for the next ones. */
	uint32_t few_slabs;
	bool is_broken; /* the driver failed in the middle of a change */
};

int reel_drain_check(const struct reel_arena *arena)
{
	if (!arena->drain->is_broken)
		return 0;
	return reel_fail(-EIO, "the driver failed while an arena was changed: reset it");
}

/* ---- The settled tables ---- */

int reel_drain_keep(struct reel_arena *arena, reel_cu_stream stream)
{
	TRY(arena, cuMemcpyDtoDAsync,
	    (reel_arena_settled(arena), arena->base, arena_tables(&arena->empty), stream));
	return 0;
}

static int start_to_undo(struct reel_arena *arena)
{
	TRY(arena, cuMemcpyDtoDAsync,
	    (arena->base, reel_arena_settled(arena), arena_tables(&arena->empty), arena->stream));
	return 0;
}

/* Marks the arena as broken if `error` is one. Returns `error`. */
static int or_broken(struct reel_arena *arena, int error)
{
	arena->drain->is_broken |= error != 0;
	return error;
}

/*
 * Starts the copies of slabs that come back only after the tables are written: a device may have
 * one copy from the host at a time, and the tables would wait for the slabs.
 */
static int undo(struct reel_arena *arena)
{
	int error = reel_arena_wait(arena, start_to_undo(arena));

	if (!error)
		error = reel_batches_start(arena, &arena->drain->policy.batches);
	return or_broken(arena, error);
}

/* Starts to write the tables that the host has changed as the settled tables. */
static int start_to_settle(struct reel_arena *arena)
{
	struct reel_batches *batches = &arena->drain->policy.batches;
	int error = reel_tables_start_to_write(arena, reel_arena_settled(arena));

	arena->drain->is_broken |= batches->is_lost;
	return or_broken(arena, error);
}

/* ---- The direction of the tapes ---- */

/* From now on slabs come back. The store reads batches ahead, beginning with the last one. */
static void begin_reversing(struct reel_drain *drain)
{
	if (!drain->is_reversing)
		reel_batches_announce(&drain->policy.batches);
	drain->is_reversing = true;
}

/* Number of slabs of a warp, on the device and in the store. */
static uint32_t height_of(const struct reel_arena *arena, uint32_t warp)
{
	return arena->tables.warp[warp].drained + arena->drain->policy.there[warp];
}

/* Tapes that have become lower since the last change are popped, and higher ones are pushed. */
static void find_direction(struct reel_arena *arena)
{
	struct reel_drain *drain = arena->drain;
	uint64_t height = 0;

	for (uint32_t n = 0; n < arena->empty.warps; n++)
		height += height_of(arena, n);
	if (height < drain->height)
		begin_reversing(drain);
	else if (height > drain->height)
		drain->is_reversing = false;
	drain->height = height;
}

/* ---- Changes of the tables ---- */

static int check(const struct reel_arena *arena)
{
	if (!arena->drain)
		return reel_fail(-EINVAL, "the arena has no store");
	return reel_drain_check(arena);
}

/* Forgets the repetitions of the last launch. */
static void begin_step(struct reel_drain *drain)
{
	drain->tries = 0;
	reel_spill_policy_forget(&drain->policy);
}

/* Begins a change: reads the tables from `address`, and ends the move that was begun. */
static int begin_change(struct reel_arena *arena, void *stream, reel_cu_address address)
{
	int error = reel_tables_read(arena, stream, address);

	if (error)
		return error;
	error = or_broken(arena, reel_spill_policy_end(arena, &arena->drain->policy));
	if (error)
		return error;
	reel_spill_policy_rank(arena, &arena->drain->policy);
	find_direction(arena);
	return 0;
}

static int begin(struct reel_arena *arena, void *stream)
{
	int error = check(arena);

	if (!error)
		error = begin_change(arena, stream, arena->base);
	if (!error)
		begin_step(arena->drain);
	return error;
}

/* Writes the tables also after an error, since slabs may have been moved before it. */
static int end(struct reel_arena *arena, int error)
{
	int written = start_to_settle(arena);

	if (!written)
		written = undo(arena);
	return error ? error : written;
}

/* ---- Moves while kernels run ---- */

/*
 * Begins to move the slabs that the next launches will want: half of the arena is to be free for
 * pushes, or half of the free slabs, of which the next launch needs `needed`, is for slabs that
 * come back. The tables are written afterwards.
 */
static void move_ahead(struct reel_arena *arena, uint64_t needed)
{
	struct reel_drain *drain = arena->drain;
	uint32_t unused = arena->tables.free_slabs, half = arena_slabs(&arena->empty) / 2;

	if (drain->is_reversing) {
		reel_spill_policy_look_ahead(arena, &drain->policy, (unused - needed) / 2);
		reel_spill_policy_begin_read(arena, &drain->policy);
	} else if (unused < half) {
		reel_spill_policy_begin_write(arena, &drain->policy, half - unused);
	}
	/*
	 * While slabs move, or enough are free, the next move begins early, so that moves are small
	 * and follow each other. If no slab could move, launches do not try again until half of the
	 * free slabs are used.
	 */
	if (drain->policy.batches.moving || unused >= half)
		drain->few_slabs = half - half / 8;
	else
		drain->few_slabs = unused / 2;
}

/*
 * Returns true if a move has ended or can begin, or if few slabs are free in an arena that has used
 * its store.
 */
static bool should_move(struct reel_arena *arena)
{
	const struct reel_batches *batches = &arena->drain->policy.batches;
	uint32_t end = arena->empty.end_slab, queue = arena->header.queue;

	if (reel_batches_have_arrived(arena, batches))
		return true;
	return !batches->moving && arena->stats.drained_bytes > 0 &&
	       (queue < end ? end - queue : 0) < arena->drain->few_slabs;
}

/* Ends a move and begins the next one, after a launch without a fault. */
static int move_on(struct reel_arena *arena)
{
	int error = begin(arena, arena->stream);

	if (error)
		return error;
	move_ahead(arena, 0);
	return end(arena, 0);
}

/* ---- A launch that has to be repeated ---- */

/* Counts the slabs missing in warps that are higher than ever before; only their need is known. */
static uint64_t count_needed(const struct reel_arena *arena)
{
	uint64_t sum = 0;

	for (uint32_t n = 0; n < arena->empty.warps; n++) {
		uint32_t peak = arena->warps[n].peak, has = height_of(arena, n);

		if (peak > arena->tables.warp[n].peak && peak > has)
			sum += peak - has;
	}
	return sum;
}

/* Lowers the peaks to the heights, so that the need of the next launch is known. */
static void lower_peaks(struct reel_arena *arena)
{
	for (uint32_t n = 0; n < arena->empty.warps; n++)
		arena->tables.warp[n].peak = height_of(arena, n);
}

/* Moves the slabs that the launch needs, and more, so that the next launches need no repetition. */
static int cure(struct reel_arena *arena)
{
	struct reel_spill_policy *policy = &arena->drain->policy;
	const uint32_t *unused = &arena->tables.free_slabs;
	uint64_t missed = reel_spill_policy_miss(arena, policy, arena->warps);
	uint64_t needed = missed + count_needed(arena);
	int error = 0;

	if (needed > *unused)
		error = reel_spill_policy_write(arena, policy, needed - *unused, true);
	if (!error && needed > *unused)
		error = reel_fail(
			-ENOMEM,
			"a launch needs %llu slabs to be free, or to come back from the store, "
			"and of the arena's %u no more than %u can be free then",
			(unsigned long long)needed, (unsigned)arena_slabs(&arena->empty),
			(unsigned)*unused);
	if (error)
		return error;
	if (missed) {
		begin_reversing(arena->drain);
		error = reel_spill_policy_read(arena, policy);
	} else {
		arena->drain->is_reversing = false;
	}
	if (!error)
		move_ahead(arena, needed - missed);
	return error;
}

/* Keeps the saved tapes: a tape without slabs may have been saved, with bits. */
static int grow(struct reel_arena *arena, const struct reel_arena_report *report)
{
	uint32_t warps = arena->empty.warps, block = arena->tables.header->saved_block;
	size_t saved_bytes = warps * sizeof *arena->tables.saved;
	size_t rows_bytes = 32 * warps * sizeof *arena->tables.rows;
	void *saved = malloc(saved_bytes), *rows = malloc(rows_bytes);
	int error = 0;

	if (saved && rows) {
		memcpy(saved, arena->tables.saved, saved_bytes);
		memcpy(rows, arena->tables.rows, rows_bytes);
		error = reel_arena_grow(arena, report);
	} else {
		error = reel_fail(-ENOMEM, "no host memory for %u warps", (unsigned)warps);
	}
	if (!error) {
		error = or_broken(arena, reel_tables_clear(arena));
		if (!error) {
			memcpy(arena->tables.saved, saved, saved_bytes);
			memcpy(arena->tables.rows, rows, rows_bytes);
			arena->tables.header->saved_block = block;
			error = start_to_settle(arena);
		}
		if (!error)
			error = undo(arena);
	}
	free(saved);
	free(rows);
	return error;
}

static int repeat(struct reel_arena *arena, const struct reel_arena_report *report)
{
	int error = begin_change(arena, arena->stream, reel_arena_settled(arena)), written;

	if (error)
		return error;
	if (arena->drain->policy.batches.count == 0 &&
	    arena->tables.free_slabs == arena_slabs(&arena->empty))
		return grow(arena, report);
	if (report->faults & REEL_DEVICE_WARPS)
		error = reel_fail(-EPROTO,
				  "a launch has %u warps, and the arena, which is not empty, has "
				  "room for %u",
				  (unsigned)report->warps_needed, (unsigned)report->warps);
	else
		error = cure(arena);
	if (!error)
		lower_peaks(arena);
	/* Also after an error, since slabs may have been moved before it. */
	written = start_to_settle(arena);
	if (!written)
		written = error ? or_broken(arena, reel_arena_wait(arena, 0)) : undo(arena);
	return error ? error : written;
}

int reel_drain_settle(struct reel_arena *arena, const struct reel_arena_report *report)
{
	struct reel_drain *drain = arena->drain;
	int error = reel_drain_check(arena);

	if (error)
		return error;
	if (!report->faults) {
		begin_step(drain);
		if (should_move(arena))
			return move_on(arena);
		return or_broken(arena,
				 reel_arena_wait(arena, reel_drain_keep(arena, arena->stream)));
	}
	if (drain->tries == MAX_TRIES) {
		begin_step(drain);
		return reel_fail(-ENOMEM, "a launch was repeated %u times: the arena is too small",
				 MAX_TRIES);
	}
	error = repeat(arena, report);
	if (error)
		return error;
	drain->tries++;
	arena->stats.undone++;
	return 1;
}

/* ---- Requests of the program ---- */

static int drain(struct reel_arena *arena, void *stream, uint64_t slabs)
{
	const uint32_t *unused = &arena->tables.free_slabs;
	int error = begin(arena, stream);

	if (error)
		return error;
	arena->drain->is_reversing = false;
	if (slabs > *unused)
		error = reel_spill_policy_write(arena, &arena->drain->policy, slabs - *unused,
						true);
	if (!error && slabs > *unused)
		error = reel_fail(-ENOMEM, "no more than %u of the arena's %u slabs can be free",
				  (unsigned)*unused, (unsigned)arena_slabs(&arena->empty));
	return end(arena, error);
}

static int refill(struct reel_arena *arena, void *stream, uint32_t depth)
{
	int error = begin(arena, stream);
	uint64_t coming;

	if (error)
		return error;
	begin_reversing(arena->drain);
	coming = reel_spill_policy_deepen(arena, &arena->drain->policy, depth);
	if (coming > arena->tables.free_slabs)
		error = reel_fail(-ENOMEM,
				  "%llu slabs would come back from the store, and %u are free",
				  (unsigned long long)coming, (unsigned)arena->tables.free_slabs);
	else
		error = reel_spill_policy_read(arena, &arena->drain->policy);
	return end(arena, error);
}

static int undo_launches(struct reel_arena *arena, void *stream)
{
	int error = check(arena);

	if (!error)
		error = reel_arena_wait_for(arena, stream);
	if (error)
		return error;
	begin_step(arena->drain);
	return undo(arena);
}

int reel_arena_drain(struct reel_arena *arena, void *stream, uint64_t slabs)
{
	REEL_UNCANCELLED;
	int error = reel_arena_enter(arena);

	return error ? error : reel_arena_leave(arena, drain(arena, stream, slabs));
}

int reel_arena_refill(struct reel_arena *arena, void *stream, uint32_t depth)
{
	REEL_UNCANCELLED;
	int error = reel_arena_enter(arena);

	return error ? error : reel_arena_leave(arena, refill(arena, stream, depth));
}

int reel_arena_undo(struct reel_arena *arena, void *stream)
{
	REEL_UNCANCELLED;
	int error = reel_arena_enter(arena);

	return error ? error : reel_arena_leave(arena, undo_launches(arena, stream));
}

/* ---- Opening and closing ---- */

int reel_drain_fit(struct reel_arena *arena, uint32_t warps)
{
	struct reel_spill_policy *policy = &arena->drain->policy;
	int error = reel_arena_wait_for(arena, policy->batches.stream);

	return error ? error : reel_spill_policy_fit(policy, warps);
}

/* No slab is in the store, and none moves. */
static void begin_anew(struct reel_arena *arena)
{
	begin_step(arena->drain);
	arena->drain->is_reversing = false;
	arena->drain->height = 0;
	arena->drain->few_slabs = arena_slabs(&arena->empty) / 2;
}

void reel_drain_renew(struct reel_arena *arena, int error)
{
	reel_batches_empty(arena, &arena->drain->policy.batches);
	arena->drain->is_broken = error != 0;
	begin_anew(arena);
}

static int attach(struct reel_arena *arena, reel_store *store)
{
	int error;

	arena->drain = calloc(1, sizeof *arena->drain);
	if (!arena->drain)
		return reel_fail(-ENOMEM, "no host memory for an arena's store");
	error = reel_arena_wait(arena, reel_drain_keep(arena, arena->stream));
	if (!error)
		error = reel_spill_policy_open(arena, &arena->drain->policy, store);
	if (error)
		reel_drain_close(arena, true);
	else
		begin_anew(arena);
	return error;
}

int reel_arena_attach(struct reel_arena *arena, reel_store *store)
{
	REEL_UNCANCELLED;
	int error;

	if (arena->drain)
		return reel_fail(-EBUSY, "the arena has a store");
	error = reel_arena_enter(arena);
	if (error)
		return error;
	error = attach(arena, store);
	/* After an error the store belongs to the caller, so an arena that has it returns none. */
	reel_arena_leave(arena, error);
	return error;
}

void reel_drain_close(struct reel_arena *arena, bool within)
{
	if (!arena->drain)
		return;
	if (within)
		arena->gpu.driver->cuStreamSynchronize(arena->stream);
	reel_spill_policy_close(arena, &arena->drain->policy);
	free(arena->drain);
	arena->drain = NULL;
}
