/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "drain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arena-layout.h"
#include "arena-state.h"
#include "crates.h"

/* A launch that has a fault after so many tries never ends without one. */
#define MOST_TRIES 16u
/* As many rows below a warp's bottom as a top can count. */
#define MOST_DEPTH ((uint64_t)UINT32_MAX - REEL_DEVICE_SUNK)

struct reel_drain {
	struct reel_crates crates;
	reel_cu_address settled; /* the tables, as the last settled launch left them */
	size_t settled_bytes;
	unsigned tries;
	/* What the host did came to the device in part: nothing here can be trusted. */
	bool broken;

	/* Of each warp. */
	uint32_t *there;  /* slabs on the device */
	uint32_t *spare;  /* of these, from the lowest up, those that may go */
	uint32_t *coming; /* slabs that are to come back, from the highest down */
};

/* ---- The tables that launches are undone to ---- */

static int keep_tables(struct reel_arena *arena, reel_cu_stream stream)
{
	TRY(arena->driver, cuMemcpyDtoDAsync,
	    (arena->drain->settled, arena->base, arena->drain->settled_bytes, stream));
	return 0;
}

static int wait_for_device(struct reel_arena *arena)
{
	TRY(arena->driver, cuStreamSynchronize, (arena->stream));
	return 0;
}

static int keep_tables_now(struct reel_arena *arena)
{
	int error = keep_tables(arena, arena->stream);

	return error ? error : wait_for_device(arena);
}

static int undo(struct reel_arena *arena)
{
	TRY(arena->driver, cuMemcpyDtoDAsync,
	    (arena->base, arena->drain->settled, arena->drain->settled_bytes, arena->stream));
	return reel_tables_load(arena, arena->stream);
}

/* What the host has changed counts from now on. */
static int store_tables(struct reel_arena *arena)
{
	int error = reel_tables_store(arena);

	if (!error)
		error = keep_tables_now(arena);
	if (error)
		arena->drain->broken = true;
	else
		reel_crates_forget(&arena->drain->crates);
	return error;
}

/* ---- Which slabs go ---- */

static uint32_t warps_of(const struct reel_arena *arena)
{
	return arena->tables.header->warps;
}

/* What is above the lanes' tops is free. */
static void survey(struct reel_arena *arena)
{
	for (uint32_t n = 0; n < warps_of(arena); n++) {
		arena->drain->there[n] = reel_tables_trim(&arena->tables, n);
		arena->drain->coming[n] = 0;
	}
}

/* Below the lowest lane that has a tape; `deep`: below the highest. */
static uint32_t spare_of(const struct reel_arena *arena, uint32_t warp, bool deep)
{
	const struct reel_tables *tables = &arena->tables;
	uint64_t drained = tables->warp[warp].drained, mask = tables->header->row_mask;
	uint64_t lowest = drained + arena->drain->there[warp];

	/* One stays, and none goes where others are to come back. */
	if (lowest < drained + 2 || arena->drain->coming[warp])
		return 0;
	lowest--;
	for (unsigned lane = 0; lane < 32 && !deep; lane++) {
		uint64_t rows = tables->rows[32 * warp + lane];

		if (rows > 0 && rows < REEL_TABLES_EMPTY && rows / mask < lowest)
			lowest = rows / mask;
	}
	if (lowest * mask > MOST_DEPTH)
		lowest = MOST_DEPTH / mask;
	return lowest > drained ? (uint32_t)(lowest - drained) : 0;
}

/* Of all warps, beyond those that each may keep. */
static uint64_t count_beyond(const uint32_t *slabs, uint32_t warps, uint32_t kept)
{
	uint64_t sum = 0;

	for (uint32_t n = 0; n < warps; n++)
		sum += slabs[n] > kept ? slabs[n] - kept : 0;
	return sum;
}

/* The most that each may keep if so many are to go; 0 if they are too few. */
static uint32_t level_for(const uint32_t *slabs, uint32_t warps, uint64_t wanted)
{
	uint32_t low = 0, high = 0;

	for (uint32_t n = 0; n < warps; n++)
		high = slabs[n] > high ? slabs[n] : high;
	while (low < high) {
		uint32_t middle = low + (high - low + 1) / 2;

		if (count_beyond(slabs, warps, middle) >= wanted)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* Lower ones first; of one height as they lie, since most warps took them in turn. */
static int compare_items(const void *a, const void *b)
{
	const struct reel_crate_item *one = a, *other = b;

	if (one->height != other->height)
		return one->height < other->height ? -1 : 1;
	return one->slab < other->slab ? -1 : one->slab > other->slab;
}

static void list_items(struct reel_arena *arena, uint32_t kept, struct reel_crate_item *item)
{
	struct reel_tables *tables = &arena->tables;
	const uint32_t *spare = arena->drain->spare;

	for (uint32_t n = 0; n < warps_of(arena); n++) {
		if (spare[n] <= kept)
			continue;
		reel_tables_walk(tables, n);
		for (uint32_t i = 0; i < spare[n] - kept; i++)
			*item++ = (struct reel_crate_item){n, tables->warp[n].drained + i,
							   tables->chain[i]};
	}
}

/* Put them to the store, and have them free. */
static int drain_items(struct reel_arena *arena, struct reel_crate_item *items, size_t count)
{
	int error;

	qsort(items, count, sizeof *items, compare_items);
	error = reel_crates_put(arena, &arena->drain->crates, items, count);
	for (size_t n = 0; n < count && !error; n++) {
		reel_tables_drop_bottom(&arena->tables, items[n].warp);
		arena->drain->there[items[n].warp]--;
	}
	arena->stats.drained_bytes += error ? 0 : (uint64_t)count * arena->slab_bytes;
	return error;
}

/* Have so many more slabs free, or as many as can be; `deep`, if need be, what may be used soon. */
static int drain_slabs(struct reel_arena *arena, uint64_t wanted, bool deep)
{
	struct reel_drain *drain = arena->drain;
	uint32_t warps = warps_of(arena), kept;
	struct reel_crate_item *items;
	size_t count;
	int error;

	for (uint32_t n = 0; n < warps; n++)
		drain->spare[n] = spare_of(arena, n, false);
	if (deep && count_beyond(drain->spare, warps, 0) < wanted)
		for (uint32_t n = 0; n < warps; n++)
			drain->spare[n] = spare_of(arena, n, true);
	kept = level_for(drain->spare, warps, wanted);
	count = (size_t)count_beyond(drain->spare, warps, kept);
	if (count == 0)
		return 0;
	items = malloc(count * sizeof *items);
	if (!items)
		return reel_arena_fail(-ENOMEM, "no host memory to list the slabs that are to go");
	list_items(arena, kept, items);
	error = drain_items(arena, items, count);
	free(items);
	return error;
}

/* ---- Which slabs come back ---- */

static bool is_coming(const struct reel_arena *arena, const struct reel_crate_item *item)
{
	const uint32_t *coming = arena->drain->coming;

	return item->height < UINT32_MAX &&
	       item->height + coming[item->warp] >= arena->tables.warp[item->warp].drained;
}

/* Backwards, so that slabs which left one after another do so again. */
static size_t give_places(struct reel_arena *arena)
{
	struct reel_crates *crates = &arena->drain->crates;
	size_t count = 0;

	for (size_t n = crates->count; n-- > 0;)
		for (uint32_t i = crates->crate[n].slabs; i-- > 0;)
			if (is_coming(arena, &crates->crate[n].items[i])) {
				crates->crate[n].items[i].slab = reel_tables_take(&arena->tables);
				count++;
			}
	return count;
}

/* The items that have a place; which they keep if `items` is there to list them, or lose. */
static void list_places(struct reel_arena *arena, struct reel_crate_item *items)
{
	struct reel_crates *crates = &arena->drain->crates;

	for (size_t n = 0; n < crates->count; n++)
		for (uint32_t i = 0; i < crates->crate[n].slabs; i++) {
			struct reel_crate_item *item = &crates->crate[n].items[i];

			if (!item->slab)
				continue;
			if (items) {
				*items++ = *item;
			} else {
				reel_tables_give(&arena->tables, item->slab);
				item->slab = 0;
			}
		}
}

/* As many as each warp's `coming`; there are as many free. */
static int bring_slabs(struct reel_arena *arena)
{
	size_t count = give_places(arena);
	struct reel_crate_item *items = malloc((count + 1) * sizeof *items);
	int error =
		items ? reel_crates_get(arena, &arena->drain->crates)
		      : reel_arena_fail(-ENOMEM, "no host memory to list the slabs that come back");

	if (error) {
		list_places(arena, NULL);
	} else {
		list_places(arena, items);
		qsort(items, count, sizeof *items, compare_items);
		while (count-- > 0) {
			reel_tables_put_bottom(&arena->tables, items[count].warp,
					       items[count].slab);
			arena->drain->there[items[count].warp]++;
			arena->stats.refilled_bytes += arena->slab_bytes;
		}
	}
	free(items);
	return error;
}

/* Let each warp have `depth` slabs on the device, as far as there are. Returns how many come. */
static uint64_t plan_depth(struct reel_arena *arena, uint32_t depth, uint32_t *coming)
{
	const struct reel_drain *drain = arena->drain;
	uint64_t sum = 0;

	for (uint32_t n = 0; n < warps_of(arena); n++) {
		uint32_t drained = arena->tables.warp[n].drained;
		uint32_t more = depth > drain->there[n] ? depth - drain->there[n] : 0;

		more = more > drained ? drained : more;
		more = more > drain->coming[n] ? more : drain->coming[n];
		if (coming)
			coming[n] = more;
		sum += more;
	}
	return sum;
}

/* Have so many come back, all in all, that warps have equally many. */
static void look_ahead(struct reel_arena *arena, uint64_t most)
{
	uint32_t low = 0, high = arena->empty.end_slab;

	while (low < high) {
		uint32_t middle = low + (high - low + 1) / 2;

		if (plan_depth(arena, middle, NULL) <= most)
			low = middle;
		else
			high = middle - 1;
	}
	plan_depth(arena, low, arena->drain->coming);
}

/* ---- A launch that has to be repeated ---- */

/* A warp's need is known where it was never as high before. */
static uint64_t count_needed(struct reel_arena *arena)
{
	const struct reel_drain *drain = arena->drain;
	struct reel_tables *tables = &arena->tables;
	uint64_t sum = 0;

	for (uint32_t n = 0; n < warps_of(arena); n++) {
		uint32_t has = tables->warp[n].drained + drain->there[n];
		uint32_t peak = arena->warps[n].peak;

		if (peak > tables->warp[n].peak && peak > has)
			sum += peak - has;
		tables->warp[n].peak = has;
	}
	return sum;
}

static uint64_t count_missed(struct reel_arena *arena)
{
	uint64_t sum = 0;

	for (uint32_t n = 0; n < warps_of(arena); n++) {
		uint32_t missed = arena->warps[n].missed, drained = arena->tables.warp[n].drained;

		arena->drain->coming[n] = missed < drained ? missed : drained;
		sum += arena->drain->coming[n];
	}
	return sum;
}

static uint64_t count_slabs(const struct reel_arena *arena)
{
	return arena->empty.end_slab - arena->empty.first_slab;
}

/* What is done beyond the need saves the next launches from being repeated. */
static int cure(struct reel_arena *arena)
{
	uint64_t needed, missed, all, half = count_slabs(arena) / 2;
	int error = 0;

	missed = count_missed(arena);
	needed = count_needed(arena);
	all = missed + needed;
	if (all > arena->tables.free_slabs)
		error = drain_slabs(arena, all - arena->tables.free_slabs, true);
	if (!error && all > arena->tables.free_slabs)
		error = reel_arena_fail(
			-ENOMEM,
			"a launch needs %llu slabs more than the %llu that it began with, "
			"and of the arena's %llu no more than %u can be free",
			(unsigned long long)needed,
			(unsigned long long)(count_slabs(arena) - arena->tables.free_slabs),
			(unsigned long long)count_slabs(arena), (unsigned)arena->tables.free_slabs);
	if (error)
		return error;
	if (missed) {
		look_ahead(arena, missed + (arena->tables.free_slabs - all) / 2);
		return bring_slabs(arena);
	}
	/* If the store is full, what was needed is free all the same. */
	if (half > arena->tables.free_slabs)
		drain_slabs(arena, half - arena->tables.free_slabs, false);
	return 0;
}

static bool is_empty(const struct reel_arena *arena)
{
	return arena->drain->crates.count == 0 && arena->tables.free_slabs == count_slabs(arena);
}

static int repeat(struct reel_arena *arena, const struct reel_arena_report *report)
{
	int error = undo(arena);

	if (error)
		return error;
	survey(arena);
	if (is_empty(arena))
		return reel_arena_grow(arena, report);
	if (report->faults & REEL_DEVICE_WARPS)
		return reel_arena_fail(
			-EPROTO,
			"a launch has %u warps, and the arena, which is not empty, has "
			"room for %u",
			(unsigned)report->warps_needed, (unsigned)report->warps);
	error = cure(arena);
	return error ? error : store_tables(arena);
}

static int refuse_broken(void)
{
	return reel_arena_fail(-EIO,
			       "the arena's tables were changed in part when the driver failed");
}

int reel_drain_settle(struct reel_arena *arena, const struct reel_arena_report *report)
{
	struct reel_drain *drain = arena->drain;
	int error;

	if (drain->broken)
		return refuse_broken();
	if (!report->faults) {
		drain->tries = 0;
		return keep_tables_now(arena);
	}
	if (++drain->tries > MOST_TRIES)
		return reel_arena_fail(-ENOMEM,
				       "a launch had a fault %u times: the arena is too small",
				       MOST_TRIES);
	error = repeat(arena, report);
	arena->stats.undone += !error;
	return error ? error : 1;
}

/* ---- By the caller's leave ---- */

static int begin(struct reel_arena *arena, void *stream)
{
	int error;

	if (!arena->drain)
		return reel_arena_fail(-EINVAL, "the arena has no store");
	if (arena->drain->broken)
		return refuse_broken();
	error = reel_tables_load(arena, stream);
	if (!error)
		survey(arena);
	return error;
}

static int drain(struct reel_arena *arena, void *stream, uint64_t slabs)
{
	int error = begin(arena, stream), stored;

	if (error)
		return error;
	if (slabs > arena->tables.free_slabs)
		error = drain_slabs(arena, slabs - arena->tables.free_slabs, true);
	if (!error && slabs > arena->tables.free_slabs)
		error = reel_arena_fail(
			-ENOMEM, "no more than %u of the arena's %llu slabs can be free",
			(unsigned)arena->tables.free_slabs, (unsigned long long)count_slabs(arena));
	stored = store_tables(arena);
	return error ? error : stored;
}

static int refill(struct reel_arena *arena, void *stream, uint32_t depth)
{
	int error = begin(arena, stream);
	uint64_t coming;

	if (error)
		return error;
	coming = plan_depth(arena, depth, arena->drain->coming);
	if (coming > arena->tables.free_slabs)
		return reel_arena_fail(
			-ENOMEM, "%llu slabs would come back from the store, and %u are free",
			(unsigned long long)coming, (unsigned)arena->tables.free_slabs);
	error = bring_slabs(arena);
	return error ? error : store_tables(arena);
}

int reel_arena_drain(struct reel_arena *arena, void *stream, uint64_t slabs)
{
	int error = reel_arena_enter(arena);

	return error ? error : reel_arena_leave(arena, drain(arena, stream, slabs));
}

int reel_arena_refill(struct reel_arena *arena, void *stream, uint32_t depth)
{
	int error = reel_arena_enter(arena);

	return error ? error : reel_arena_leave(arena, refill(arena, stream, depth));
}

/* ---- Opening and closing ---- */

static void release(struct reel_arena *arena)
{
	struct reel_drain *drain = arena->drain;

	if (drain->settled)
		arena->driver->cuMemFree(drain->settled);
	free(drain->there);
	free(drain->spare);
	free(drain->coming);
	drain->settled = 0;
	drain->there = drain->spare = drain->coming = NULL;
}

static int allocate(struct reel_arena *arena)
{
	struct reel_drain *drain = arena->drain;
	uint32_t warps = arena->empty.warps;

	drain->settled_bytes = (size_t)arena_tables(&arena->empty);
	drain->there = calloc(warps, sizeof *drain->there);
	drain->spare = calloc(warps, sizeof *drain->spare);
	drain->coming = calloc(warps, sizeof *drain->coming);
	if (!drain->there || !drain->spare || !drain->coming)
		return reel_arena_fail(-ENOMEM, "no host memory for %u warps", (unsigned)warps);
	TRY(arena->driver, cuMemAlloc, (&drain->settled, drain->settled_bytes));
	return 0;
}

int reel_drain_resize(struct reel_arena *arena)
{
	int error;

	reel_crates_empty(&arena->drain->crates);
	release(arena);
	error = allocate(arena);
	if (!error)
		error = keep_tables_now(arena);
	arena->drain->broken = error;
	return error;
}

int reel_drain_reset(struct reel_arena *arena, void *stream)
{
	reel_crates_empty(&arena->drain->crates);
	arena->drain->tries = 0;
	arena->drain->broken = false;
	return keep_tables(arena, stream);
}

static int attach(struct reel_arena *arena, reel_store *store)
{
	int error;

	arena->drain = calloc(1, sizeof *arena->drain);
	if (!arena->drain)
		return reel_arena_fail(-ENOMEM, "no host memory for an arena's store");
	error = reel_crates_open(arena, &arena->drain->crates, store);
	if (!error)
		error = reel_drain_resize(arena);
	if (error) {
		arena->drain->crates.store = NULL;
		reel_drain_close(arena);
	}
	return error;
}

int reel_arena_attach(struct reel_arena *arena, reel_store *store)
{
	int error;

	if (arena->drain)
		return reel_arena_fail(-EBUSY, "the arena has a store");
	error = reel_arena_enter(arena);
	return error ? error : reel_arena_leave(arena, attach(arena, store));
}

void reel_drain_close(struct reel_arena *arena)
{
	if (!arena->drain)
		return;
	arena->driver->cuStreamSynchronize(arena->stream);
	release(arena);
	reel_crates_close(arena, &arena->drain->crates);
	free(arena->drain);
	arena->drain = NULL;
}
