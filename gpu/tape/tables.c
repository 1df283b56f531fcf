/* SPDX-License-Identifier: MIT */
/*
 * Reads, changes and writes the tables of an arena on the host. The thread that called a function
 * of reel/arena.h runs these functions, while no kernel uses the arena. `free_slabs` is the length
 * of the free list. A warp that has slabs in the store has at least one on the device, above them.
 */
#include "config.h"

#include "tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arena-layout.h"
#include "arena-state.h"
#include "os/assert.h"

/* ---- Memory ---- */

void reel_tables_close(struct reel_arena *arena)
{
	struct reel_tables *tables = &arena->tables;

	if (tables->memory)
		arena->driver->cuMemFreeHost(tables->memory);
	free(tables->rows);
	free(tables->chain);
	memset(tables, 0, sizeof *tables);
}

static int allocate(struct reel_arena *arena, size_t bytes)
{
	struct reel_tables *tables = &arena->tables;
	const struct reel_arena_header *empty = &arena->empty;
	void *memory = NULL;

	TRY(arena->driver, cuMemHostAlloc, (&memory, bytes, REEL_CU_HOST_ALLOC_PORTABLE));
	tables->memory = memory;
	tables->bytes = bytes;
	tables->header = memory;
	tables->warp = (void *)(tables->memory + empty->warps_offset);
	tables->saved = (void *)(tables->memory + empty->saved_offset);
	tables->slab = (void *)(tables->memory + empty->slabs_offset);
	tables->rows = malloc(sizeof *tables->rows * 32 * empty->warps);
	tables->chain = malloc(sizeof *tables->chain * empty->end_slab);
	if (!tables->rows || !tables->chain)
		return reel_fail(-ENOMEM, "no host memory for the tables of an arena");
	return 0;
}

/*
 * Makes memory for the tables, whose size changes when the arena grows. Waits first, because a wait
 * that failed before may have left a copy of the old tables under way.
 */
static int prepare(struct reel_arena *arena)
{
	size_t bytes = (size_t)arena_tables(&arena->empty);
	int error;

	TRY(arena->driver, cuStreamSynchronize, (arena->stream));
	if (arena->tables.memory && arena->tables.bytes == bytes)
		return 0;
	reel_tables_close(arena);
	error = allocate(arena, bytes);
	if (error)
		reel_tables_close(arena);
	return error;
}

/* ---- Slabs ---- */

uint32_t reel_tables_take(struct reel_tables *tables)
{
	uint64_t *free_list = &tables->header->free;
	uint32_t slab = (uint32_t)*free_list;

	if (slab >= tables->header->end_slab)
		return 0;
	REEL_ASSERT(tables->free_slabs > 0);
	*free_list =
		((*free_list >> 32) + 1) << 32 | (uint32_t)(slab + 1 + tables->slab[slab].next);
	tables->free_slabs--;
	return slab;
}

void reel_tables_give(struct reel_tables *tables, uint32_t slab)
{
	uint64_t *free_list = &tables->header->free;

	REEL_ASSERT(slab >= tables->header->first_slab && slab < tables->header->end_slab);
	tables->slab[slab].next = (uint32_t)*free_list - (slab + 1);
	*free_list = ((*free_list >> 32) + 1) << 32 | slab;
	tables->free_slabs++;
}

static uint32_t count_free(const struct reel_tables *tables)
{
	uint32_t slab = (uint32_t)tables->header->free, count = 0;

	for (; slab < tables->header->end_slab; slab += 1 + tables->slab[slab].next)
		count++;
	return count;
}

static bool is_slab(uint32_t link)
{
	return link != 0 && link < REEL_DEVICE_BUSY;
}

uint32_t reel_tables_walk(struct reel_tables *tables, uint32_t warp)
{
	uint32_t count = 0;

	for (uint32_t slab = tables->warp[warp].bottom; is_slab(slab);
	     slab = tables->slab[slab].above) {
		REEL_ASSERT(count < tables->header->end_slab);
		tables->chain[count++] = slab;
	}
	return count;
}

/* Above slabs in the store one slab stays, for lanes whose tapes grow up from there. */
static uint64_t slabs_wanted(const struct reel_tables *tables, uint32_t warp)
{
	uint64_t drained = tables->warp[warp].drained, wanted = drained > 0;

	for (const uint64_t *rows = tables->rows + 32 * warp, *end = rows + 32; rows < end;
	     rows++) {
		uint64_t height = *rows / tables->header->row_mask;

		if (*rows < REEL_TABLES_EMPTY && height + 1 > drained + wanted)
			wanted = height + 1 - drained;
	}
	return wanted;
}

uint32_t reel_tables_trim(struct reel_tables *tables, uint32_t warp)
{
	uint64_t wanted = slabs_wanted(tables, warp);
	uint32_t there = reel_tables_walk(tables, warp);

	if (there <= wanted)
		return there;
	for (uint32_t n = there; n > wanted; n--)
		reel_tables_give(tables, tables->chain[n - 1]);
	if (wanted)
		tables->slab[tables->chain[wanted - 1]].above = 0;
	else
		tables->warp[warp].bottom = 0;
	return (uint32_t)wanted;
}

void reel_tables_drop_bottom(struct reel_tables *tables, uint32_t warp)
{
	struct reel_arena_warp *state = &tables->warp[warp];
	uint32_t slab = state->bottom;

	REEL_ASSERT(is_slab(slab) && is_slab(tables->slab[slab].above));
	state->bottom = tables->slab[slab].above;
	state->drained++;
	tables->slab[state->bottom].below = 0;
	reel_tables_give(tables, slab);
}

void reel_tables_put_bottom(struct reel_tables *tables, uint32_t warp, uint32_t slab)
{
	struct reel_arena_warp *state = &tables->warp[warp];

	REEL_ASSERT(state->drained > 0 && is_slab(state->bottom));
	state->drained--;
	tables->slab[slab].below = 0;
	tables->slab[slab].above = state->bottom;
	tables->slab[slab].height = state->drained;
	tables->slab[state->bottom].below = slab;
	state->bottom = slab;
}

void reel_tables_put_top(struct reel_tables *tables, uint32_t warp, uint32_t highest, uint32_t slab)
{
	tables->slab[slab].below = highest;
	tables->slab[slab].above = 0;
	if (highest) {
		tables->slab[slab].height = tables->slab[highest].height + 1;
		tables->slab[highest].above = slab;
	} else {
		tables->slab[slab].height = tables->warp[warp].drained;
		tables->warp[warp].bottom = slab;
	}
}

/* ---- Lanes ---- */

/* An unstaged tape that is back at its first row counts as empty. */
static uint64_t rows_below(const struct reel_tables *tables, uint32_t warp, uint32_t lane)
{
	const struct reel_arena_saved *saved = &tables->saved[warp];
	uint64_t mask = tables->header->row_mask, rows;
	uint32_t top = saved->top[lane];

	if (top == 0)
		return REEL_TABLES_UNSAVED;
	if (top >= REEL_DEVICE_TOP_SPILLED)
		rows = tables->warp[warp].drained * mask - (top - REEL_DEVICE_TOP_SPILLED);
	else if (top & REEL_DEVICE_TOP_NONE)
		return REEL_TABLES_EMPTY;
	else
		rows = tables->slab[top >> tables->header->row_shift].height * mask + (top & mask);
	return rows == 0 && !saved->rows ? REEL_TABLES_EMPTY : rows;
}

/*
 * Row 0 of a slab that is not on the device is the last row of the slab below. A tape that is
 * higher than the slabs was saved by an earlier launch, and its rows are lost: it has no top.
 */
static uint32_t top_at(const struct reel_tables *tables, uint32_t drained, uint32_t slabs,
		       uint64_t rows)
{
	uint64_t mask = tables->header->row_mask, height = rows / mask, row = rows % mask;

	if (rows == REEL_TABLES_UNSAVED)
		return 0;
	if (rows == REEL_TABLES_EMPTY)
		return REEL_DEVICE_TOP_NONE;
	if (height < drained)
		return REEL_DEVICE_TOP_SPILLED + (uint32_t)(drained * mask - rows);
	if (height - drained == slabs && row == 0 && slabs > 0) {
		height--;
		row = mask;
	}
	if (height - drained >= slabs)
		return 0;
	return tables->chain[height - drained] << tables->header->row_shift | (uint32_t)row;
}

static void measure(struct reel_tables *tables)
{
	for (uint32_t n = 0; n < tables->header->warps * 32; n++)
		tables->rows[n] = rows_below(tables, n / 32, n % 32);
}

static void place(struct reel_tables *tables)
{
	for (uint32_t n = 0; n < tables->header->warps; n++) {
		uint32_t slabs = reel_tables_walk(tables, n);

		for (unsigned lane = 0; lane < 32; lane++)
			tables->saved[n].top[lane] = top_at(tables, tables->warp[n].drained, slabs,
							    tables->rows[32 * n + lane]);
	}
}

/* ---- To and fro ---- */

static int start_to_read(struct reel_arena *arena, void *stream, reel_cu_address address)
{
	struct reel_tables *tables = &arena->tables;

	TRY(arena->driver, cuStreamSynchronize, (stream));
	TRY(arena->driver, cuMemcpyDtoHAsync,
	    (tables->memory, address, tables->bytes, arena->stream));
	return 0;
}

int reel_tables_read(struct reel_arena *arena, void *stream, reel_cu_address address)
{
	struct reel_tables *tables = &arena->tables;
	int error = prepare(arena);

	if (!error)
		error = reel_arena_wait(arena, start_to_read(arena, stream, address));
	if (error)
		return error;
	if (tables->header->faults)
		return reel_arena_refuse_faults(tables->header->faults);
	tables->free_slabs = count_free(tables);
	measure(tables);
	return 0;
}

int reel_tables_clear(struct reel_arena *arena)
{
	struct reel_tables *tables = &arena->tables;
	int error = prepare(arena);

	if (error)
		return error;
	memset(tables->memory, 0, tables->bytes);
	*tables->header = arena->empty;
	tables->free_slabs = count_free(tables);
	measure(tables);
	return 0;
}

static int start_to_write(struct reel_arena *arena, reel_cu_address address)
{
	TRY(arena->driver, cuMemcpyHtoDAsync,
	    (address, arena->tables.memory, arena->tables.bytes, arena->stream));
	return 0;
}

int reel_tables_write(struct reel_arena *arena, reel_cu_address address)
{
	place(&arena->tables);
	return reel_arena_wait(arena, start_to_write(arena, address));
}
