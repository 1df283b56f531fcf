/* SPDX-License-Identifier: MIT */
/*
 * Changes the tables of an arena on the host. The thread that called a function of reel/arena.h
 * runs these functions, while no kernel uses the arena.
 * A warp that has slabs in the store has at least one on the device, above them.
 */
#include "config.h"

#include "tables.h"

#include <string.h>

#include "arena-layout.h"
#include "os/assert.h"

/* ---- Slabs ---- */

uint32_t reel_tables_take(struct reel_tables *tables)
{
	return tables->free_slabs ? tables->free[--tables->free_slabs] : 0;
}

void reel_tables_give(struct reel_tables *tables, uint32_t slab)
{
	REEL_ASSERT(slab >= tables->header->first_slab && slab < tables->header->end_slab);
	REEL_ASSERT(tables->free_slabs < tables->header->end_slab - tables->header->first_slab);
	tables->free[tables->free_slabs++] = slab;
}

/* A kernel takes the slabs that warps gave back first, then the queue from its first entry on. */
static void list_free(struct reel_tables *tables)
{
	tables->free_slabs = 0;
	for (uint32_t entry = tables->header->end_slab; entry > tables->header->queue; entry--)
		reel_tables_give(tables, entry - 1 + tables->slab[entry - 1].queued);
	for (uint32_t slab = (uint32_t)tables->header->given; slab; slab = tables->slab[slab].below)
		reel_tables_give(tables, slab);
}

void reel_tables_sort_free(struct reel_tables *tables)
{
	uint32_t end = tables->header->end_slab, *is_free = tables->chain, count = 0;

	memset(is_free, 0, end * sizeof *is_free);
	for (uint32_t n = 0; n < tables->free_slabs; n++)
		is_free[tables->free[n]] = 1;
	for (uint32_t slab = 0; slab < end; slab++)
		if (is_free[slab])
			tables->free[count++] = slab;
	REEL_ASSERT(count == tables->free_slabs);
}

/* All free slabs are in the queue afterwards, the lowest first, where no lane fails to take one. */
static void queue_free(struct reel_tables *tables)
{
	uint32_t entry = tables->header->end_slab - tables->free_slabs;

	reel_tables_sort_free(tables);
	tables->header->given = 0;
	tables->header->queue = entry;
	for (uint32_t n = 0; n < tables->free_slabs; n++, entry++)
		tables->slab[entry].queued = tables->free[n] - entry;
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

/* A tape that is back at its first row counts as empty. */
static uint64_t rows_below(const struct reel_tables *tables, uint32_t warp, uint32_t lane)
{
	uint64_t mask = tables->header->row_mask, rows;
	uint32_t top = tables->saved[warp].top[lane];

	if (top == 0)
		return REEL_TABLES_UNSAVED;
	if (top >= REEL_DEVICE_TOP_SPILLED)
		rows = tables->warp[warp].drained * mask - (top - REEL_DEVICE_TOP_SPILLED);
	else if (top & REEL_DEVICE_TOP_NONE)
		return REEL_TABLES_EMPTY;
	else
		rows = tables->slab[top >> tables->header->row_shift].height * mask + (top & mask);
	return rows == 0 ? REEL_TABLES_EMPTY : rows;
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
	if (height - drained == slabs && row == 0) {
		height--;
		row = mask;
	}
	if (height - drained >= slabs)
		return 0;
	return tables->chain[height - drained] << tables->header->row_shift | (uint32_t)row;
}

void reel_tables_measure(struct reel_tables *tables)
{
	list_free(tables);
	for (uint32_t n = 0; n < tables->header->warps * 32; n++)
		tables->rows[n] = rows_below(tables, n / 32, n % 32);
}

void reel_tables_place(struct reel_tables *tables)
{
	queue_free(tables);
	for (uint32_t n = 0; n < tables->header->warps; n++) {
		uint32_t slabs = reel_tables_walk(tables, n);

		for (unsigned lane = 0; lane < 32; lane++)
			tables->saved[n].top[lane] = top_at(tables, tables->warp[n].drained, slabs,
							    tables->rows[32 * n + lane]);
	}
}
