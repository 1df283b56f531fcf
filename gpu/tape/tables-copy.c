/* SPDX-License-Identifier: MIT */
/*
 * Reads the tables of an arena from the device and writes them back. The thread that called a
 * function of reel/arena.h runs these functions, while no kernel uses the arena.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arena-layout.h"
#include "arena-state.h"

/* ---- Memory ---- */

void reel_tables_close(struct reel_arena *arena)
{
	struct reel_tables *tables = &arena->tables;

	if (tables->memory)
		arena->gpu.driver->cuMemFreeHost(tables->memory);
	free(tables->rows);
	free(tables->chain);
	free(tables->free);
	memset(tables, 0, sizeof *tables);
}

static int allocate(struct reel_arena *arena, size_t bytes)
{
	struct reel_tables *tables = &arena->tables;
	const struct reel_arena_header *empty = &arena->empty;
	void *memory = NULL;

	TRY(arena, cuMemHostAlloc, (&memory, bytes, REEL_CU_HOST_ALLOC_PORTABLE));
	tables->memory = memory;
	tables->bytes = bytes;
	tables->header = memory;
	tables->warp = (void *)(tables->memory + empty->warps_offset);
	tables->saved = (void *)(tables->memory + empty->saved_offset);
	tables->slab = (void *)(tables->memory + empty->slabs_offset);
	tables->rows = malloc(sizeof *tables->rows * 32 * empty->warps);
	tables->chain = malloc(sizeof *tables->chain * empty->end_slab);
	tables->free = malloc(sizeof *tables->free * empty->end_slab);
	if (!tables->rows || !tables->chain || !tables->free)
		return reel_fail(-ENOMEM, "no host memory for the tables of an arena");
	return 0;
}

/*
 * Makes memory for the tables, whose size changes when the arena grows. Waits before it frees the
 * old memory, because a wait that failed before may have left a copy of it under way.
 */
static int prepare(struct reel_arena *arena)
{
	size_t bytes = arena_tables(&arena->empty);
	int error;

	if (arena->tables.memory && arena->tables.bytes == bytes)
		return 0;
	error = reel_arena_wait(arena, 0);
	if (error)
		return error;
	reel_tables_close(arena);
	error = allocate(arena, bytes);
	if (error)
		reel_tables_close(arena);
	return error;
}

/* ---- To and fro ---- */

static int start_to_read(struct reel_arena *arena, void *stream, reel_cu_address address)
{
	struct reel_tables *tables = &arena->tables;
	int error = stream == arena->stream ? 0 : reel_arena_wait_for(arena, stream);

	if (error)
		return error;
	TRY(arena, cuMemcpyDtoHAsync, (tables->memory, address, tables->bytes, arena->stream));
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
	reel_tables_measure(tables);
	return 0;
}

int reel_tables_clear(struct reel_arena *arena)
{
	struct reel_tables *tables = &arena->tables;
	int error = reel_arena_wait(arena, prepare(arena));

	if (error)
		return error;
	memset(tables->memory, 0, tables->bytes);
	*tables->header = arena->empty;
	reel_tables_measure(tables);
	return 0;
}

int reel_tables_start_to_write(struct reel_arena *arena, reel_cu_address address)
{
	reel_tables_place(&arena->tables);
	TRY(arena, cuMemcpyHtoDAsync,
	    (address, arena->tables.memory, arena->tables.bytes, arena->stream));
	return 0;
}
