/* SPDX-License-Identifier: MIT */
/* The structure of an arena, and functions with which this folder works on its memory. */
#ifndef REEL_GPU_ARENA_STATE_H
#define REEL_GPU_ARENA_STATE_H

#include <reel/arena.h>

#include "gpu/driver/context.h"
#include "os/error.h"
#include "tables.h"

struct reel_drain;

struct reel_arena {
	struct reel_gpu_context gpu;
	reel_cu_stream stream; /* for copies that need not be in the order of a caller's stream */
	reel_cu_event event;   /* for waits */
	reel_cu_address base;
	uint64_t bytes;
	uint32_t slab_bytes;
	uint32_t lanes;
	struct reel_arena_header empty; /* the header after a reset */
	/* reel_arena_read() copies the header and the warps of the device to these. */
	struct reel_arena_header header;
	struct reel_arena_warp *warps;

	struct reel_tables tables; /* all zero until they are read or cleared first */
	struct reel_drain *drain;  /* NULL: there is no store */
	struct reel_arena_stats stats;
};

/* Calls the arena's driver. If the call fails, returns its error from the function around. */
#define TRY(arena, call, arguments)                                                                \
	do {                                                                                       \
		reel_cu_result outcome = (arena)->gpu.driver->call arguments;                      \
		if (outcome)                                                                       \
			return reel_gpu_refuse((arena)->gpu.driver, outcome, -EIO, #call);         \
	} while (0)

/*
 * The driver is called between these two functions. reel_arena_leave() returns `error`, or its own
 * error if `error` is 0.
 */
int reel_arena_enter(struct reel_arena *arena);
int reel_arena_leave(struct reel_arena *arena, int error);

/* Waits until all is done that the stream was given before. The thread sleeps in a long wait. */
int reel_arena_wait_for(struct reel_arena *arena, reel_cu_stream stream);
/* Waits for the arena's own stream. Returns `error`, or the error of the wait if `error` is 0. */
int reel_arena_wait(struct reel_arena *arena, int error);

/*
 * Starts to copy `count` slabs to or from `memory`, where they lie one after another, in the order
 * of the stream. Their numbers are slab[0], slab[stride], slab[2 * stride] ...; a number 0 leaves
 * its place in `memory` out.
 */
int reel_arena_copy(struct reel_arena *arena, reel_cu_stream stream, const uint32_t *slab,
		    size_t stride, uint32_t count, unsigned char *memory, bool to_device);

/*
 * Address of the settled tables of an arena with a store: a copy, behind the slabs, of the tables
 * as they were when the arena was settled last.
 */
static inline reel_cu_address reel_arena_settled(const struct reel_arena *arena)
{
	return arena->base + (arena->bytes + 255) / 256 * 256;
}

/* ---- tables-copy.c ---- */

/*
 * Reads the tables from an address of the device, after the launches in the stream have ended.
 * Requires the context, as do the functions below. Returns 0, -EIO, -ENOMEM, or -EPROTO if a kernel
 * had a fault that was not settled.
 */
int reel_tables_read(struct reel_arena *arena, void *stream, reel_cu_address address);
/* Makes the tables the tables of an empty arena, without reading the device. */
int reel_tables_clear(struct reel_arena *arena);
/*
 * Sets the top of each lane by its `rows`, and starts to write the tables to the device. The caller
 * waits for the arena's stream before the tables change.
 */
int reel_tables_start_to_write(struct reel_arena *arena, reel_cu_address address);
void reel_tables_close(struct reel_arena *arena);

/* ---- arena-state.c ---- */

/* Returns -EPROTO and leaves a text that names the faults. */
int reel_arena_refuse_faults(uint32_t faults);

#endif
