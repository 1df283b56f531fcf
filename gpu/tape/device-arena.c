/* SPDX-License-Identifier: MIT */
/*
 * Opens, grows, resets, reads and settles arenas. Functions of reel/arena.h run on the thread that
 * calls them; one thread at a time uses an arena, and no kernel uses it during the call. If memory
 * cannot be had, the arena keeps its memory.
 */
#include "config.h"

#include <reel/arena.h>

#include <errno.h>
#include <stdlib.h>

#include "arena-layout.h"
#include "arena-state.h"
#include "os/assert.h"
#include "os/cancel.h"
#include "drain.h"

#define SLABS_FOR_A_WARP 8u

/* ---- The device ---- */

static int count_lanes(struct reel_arena *arena)
{
	int processors, threads;

	TRY(arena, cuDeviceGetAttribute, (&processors, REEL_CU_MULTIPROCESSORS, arena->gpu.device));
	TRY(arena, cuDeviceGetAttribute,
	    (&threads, REEL_CU_THREADS_PER_MULTIPROCESSOR, arena->gpu.device));
	arena->lanes = (uint32_t)processors * (uint32_t)threads;
	return 0;
}

/* ---- Memory ---- */

static int clear(struct reel_arena *arena, reel_cu_stream stream)
{
	TRY(arena, cuMemcpyHtoDAsync, (arena->base, &arena->empty, sizeof arena->empty, stream));
	TRY(arena, cuMemsetD8Async,
	    (arena->base + ARENA_HEADER_BYTES, 0, (size_t)arena_zeros(&arena->empty), stream));
	return 0;
}

/* Empties the arena, and with a store its settled tables, in the order of the stream. */
static int empty_it(struct reel_arena *arena, reel_cu_stream stream)
{
	int error = clear(arena, stream);

	return error || !arena->drain ? error : reel_drain_keep(arena, stream);
}

/* Takes new memory of these sizes and empties it. If this fails, the arena keeps its memory. */
static int take_memory(struct reel_arena *arena, uint64_t bytes, uint32_t warps)
{
	struct reel_arena before = *arena;
	char words[REEL_DRIVER_WORDS];
	int error;

	if (!arena_lay_out(&arena->empty, bytes, arena->slab_bytes, before.empty.word_bytes,
			   warps)) {
		*arena = before;
		return reel_fail(
			-EINVAL,
			"an arena of %llu bytes is too small for the state of %u warps and a "
			"slab of %u, or has more rows than can be numbered",
			(unsigned long long)bytes, (unsigned)warps, (unsigned)arena->slab_bytes);
	}
	/* The driver takes sizes as size_t, which may be smaller than uint64_t. */
	arena->warps = bytes <= SIZE_MAX ? calloc(warps, sizeof *arena->warps) : NULL;
	if (!arena->warps) {
		*arena = before;
		return reel_fail(-ENOMEM, "no host memory for %u warps, or for %llu bytes",
				 (unsigned)warps, (unsigned long long)bytes);
	}
	arena->bytes = bytes;
	arena->base = 0;
	error = arena->gpu.driver->cuMemAlloc(
		&arena->base, (size_t)(reel_arena_settled(arena) + arena_tables(&arena->empty)));
	if (error)
		error = reel_fail(error == REEL_CU_OUT_OF_MEMORY ? -ENOMEM : -EIO,
				  "the GPU gives no %llu bytes for an arena: %s",
				  (unsigned long long)bytes,
				  reel_driver_explain(arena->gpu.driver, error, words));
	else
		error = reel_arena_wait(arena, empty_it(arena, arena->stream));
	if (error) {
		/* One of the two copies of clear() may be under way. */
		arena->gpu.driver->cuStreamSynchronize(arena->stream);
		if (arena->base)
			arena->gpu.driver->cuMemFree(arena->base);
		free(arena->warps);
		*arena = before;
		return error;
	}
	if (before.base)
		arena->gpu.driver->cuMemFree(before.base);
	free(before.warps);
	return 0;
}

static int default_bytes(struct reel_arena *arena, uint32_t warps, uint64_t *bytes)
{
	uint64_t wanted = arena_bytes((uint64_t)warps * SLABS_FOR_A_WARP, arena->slab_bytes, warps);
	size_t unused, total;

	TRY(arena, cuMemGetInfo, (&unused, &total));
	*bytes = wanted < unused / 2 ? wanted : unused / 2;
	return 0;
}

static int open_memory(struct reel_arena *arena, const struct reel_arena_options *options)
{
	uint32_t warps = options->warps ? options->warps : arena->lanes / 32;
	uint64_t bytes = options->bytes;
	int error = bytes ? 0 : default_bytes(arena, warps, &bytes);

	if (error)
		return error;
	TRY(arena, cuStreamCreate, (&arena->stream, REEL_CU_STREAM_NON_BLOCKING));
	TRY(arena, cuEventCreate,
	    (&arena->event, REEL_CU_EVENT_BLOCKING_SYNC | REEL_CU_EVENT_DISABLE_TIMING));
	return take_memory(arena, bytes, warps);
}

/* ---- Opening and closing ---- */

/* Waits first: a wait that failed before may have left copies under way. */
static void close_memory(struct reel_arena *arena)
{
	if (arena->stream)
		arena->gpu.driver->cuStreamSynchronize(arena->stream);
	reel_tables_close(arena);
	if (arena->base)
		arena->gpu.driver->cuMemFree(arena->base);
	if (arena->event)
		arena->gpu.driver->cuEventDestroy(arena->event);
	if (arena->stream)
		arena->gpu.driver->cuStreamDestroy(arena->stream);
}

static int open_context(struct reel_arena *arena, const struct reel_arena_options *options)
{
	int error = reel_gpu_context_open(&arena->gpu, (unsigned)options->device);

	if (error)
		return error;
	error = count_lanes(arena);
	if (!error)
		error = reel_arena_enter(arena);
	if (!error) {
		error = open_memory(arena, options);
		if (error)
			close_memory(arena);
		error = reel_arena_leave(arena, error);
	}
	if (error) {
		free(arena->warps);
		reel_gpu_context_close(&arena->gpu);
	}
	return error;
}

static int open_arena(struct reel_arena *arena, const struct reel_arena_options *options)
{
	arena->slab_bytes = options->slab_bytes ? options->slab_bytes : ARENA_SLAB_BYTES;
	arena->empty.word_bytes = options->word_bytes ? options->word_bytes : ARENA_WORD_BYTES;
	if (!arena_is_slab(arena->slab_bytes, arena->empty.word_bytes))
		return reel_fail(
			-EINVAL,
			"no arena has slabs of %u bytes and words of %u: words are of 4, 8 or "
			"16, and a slab is a power of two of at least %u rows of 32 words",
			(unsigned)arena->slab_bytes, (unsigned)arena->empty.word_bytes,
			ARENA_MIN_ROWS);
	return open_context(arena, options);
}

int reel_arena_open(struct reel_arena **arena, const struct reel_arena_options *options)
{
	REEL_UNCANCELLED;
	static const struct reel_arena_options defaults;
	int error;

	*arena = calloc(1, sizeof **arena);
	if (!*arena)
		return reel_fail(-ENOMEM, "no host memory for an arena");
	error = open_arena(*arena, options ? options : &defaults);
	if (error) {
		free(*arena);
		*arena = NULL;
	}
	return error;
}

void reel_arena_close(struct reel_arena *arena)
{
	REEL_UNCANCELLED;
	bool within;

	if (!arena)
		return;
	REEL_ASSERT(arena->base && arena->stream);
	within = !reel_arena_enter(arena);
	reel_drain_close(arena, within);
	if (within) {
		close_memory(arena);
		reel_arena_leave(arena, 0);
	}
	reel_gpu_context_close(&arena->gpu);
	free(arena->warps);
	free(arena);
}

/* ---- Use ---- */

struct reel_device_arena reel_arena_device(const struct reel_arena *arena)
{
	return (struct reel_device_arena){(unsigned char *)(uintptr_t)arena->base,
					  arena->empty.row_mask, arena->empty.word_bytes};
}

uint32_t reel_arena_threads(const struct reel_arena *arena)
{
	return arena->lanes;
}

int reel_arena_reset(struct reel_arena *arena, void *stream)
{
	REEL_UNCANCELLED;
	int error = reel_arena_enter(arena);

	if (error)
		return error;
	error = empty_it(arena, (reel_cu_stream)stream);
	if (arena->drain)
		reel_drain_renew(arena, error);
	return reel_arena_leave(arena, error);
}

static int start_to_fetch(struct reel_arena *arena, reel_cu_stream stream)
{
	int error = reel_arena_wait_for(arena, stream);

	if (error)
		return error;
	TRY(arena, cuMemcpyDtoHAsync,
	    (&arena->header, arena->base, sizeof arena->header, arena->stream));
	TRY(arena, cuMemcpyDtoHAsync,
	    (arena->warps, arena->base + arena->empty.warps_offset,
	     arena->empty.warps * sizeof *arena->warps, arena->stream));
	return 0;
}

int reel_arena_read(struct reel_arena *arena, void *stream, struct reel_arena_report *report)
{
	REEL_UNCANCELLED;
	const struct reel_arena_header *empty = &arena->empty, *header = &arena->header;
	int error = reel_arena_enter(arena);

	if (!error)
		error = reel_arena_leave(
			arena,
			reel_arena_wait(arena, start_to_fetch(arena, (reel_cu_stream)stream)));
	if (error)
		return error;
	*report = (struct reel_arena_report){
		.faults = header->faults,
		.warps = empty->warps,
		.warps_needed =
			header->warps_needed > empty->warps ? header->warps_needed : empty->warps,
		.slabs = arena_slabs(empty),
		.bytes = arena->bytes,
	};
	for (uint32_t n = 0; n < empty->warps; n++) {
		report->slabs_needed += arena->warps[n].peak;
		report->slabs_drained += arena->warps[n].drained;
	}
	report->bytes_needed =
		arena_bytes(report->slabs_needed, arena->slab_bytes, report->warps_needed);
	return 0;
}

/* Empties the arena and drops its slabs in the store, which belong to the old memory. */
static int grow(struct reel_arena *arena, uint64_t bytes, uint32_t warps)
{
	int error = arena->drain ? reel_drain_fit(arena, warps) : 0;

	if (!error)
		error = take_memory(arena, bytes, warps);
	if (!error && arena->drain)
		reel_drain_renew(arena, 0);
	return error;
}

int reel_arena_grow(struct reel_arena *arena, const struct reel_arena_report *report)
{
	REEL_UNCANCELLED;
	uint64_t bytes = report->bytes_needed > arena->bytes ? report->bytes_needed : arena->bytes;
	int error = reel_arena_enter(arena);

	if (!error)
		error = reel_arena_leave(arena, grow(arena, bytes, report->warps_needed));
	arena->stats.grown += !error;
	return error;
}

int reel_arena_settle(struct reel_arena *arena, void *stream)
{
	REEL_UNCANCELLED;
	const uint32_t curable = REEL_DEVICE_EXHAUSTED | REEL_DEVICE_WARPS | REEL_DEVICE_DRAINED;
	struct reel_arena_report report;
	int error = reel_arena_read(arena, stream, &report);

	if (error)
		return error;
	/*
	 * After a refused push, pops may report other faults that are not real. So these are
	 * errors only if no fault can be cured.
	 */
	if (report.faults && (!(report.faults & curable) || report.faults & REEL_DEVICE_WORD))
		return reel_arena_refuse_faults(report.faults);
	if (arena->drain) {
		error = reel_arena_enter(arena);
		return error ? error : reel_arena_leave(arena, reel_drain_settle(arena, &report));
	}
	if (!report.faults)
		return 0;
	error = reel_arena_grow(arena, &report);
	return error ? error : 1;
}

void reel_arena_get_stats(const struct reel_arena *arena, struct reel_arena_stats *stats)
{
	*stats = arena->stats;
	stats->bytes = arena->bytes;
	stats->slabs = arena_slabs(&arena->empty);
}
