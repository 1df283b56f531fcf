/* SPDX-License-Identifier: MIT */
/* An arena, for those who work on its memory from the host. */
#ifndef REEL_GPU_ARENA_STATE_H
#define REEL_GPU_ARENA_STATE_H

#include <reel/arena.h>

#include "gpu/driver/driver.h"
#include "os/error.h"
#include "tables.h"

struct reel_drain;

struct reel_arena {
	const struct reel_driver *driver;
	reel_cu_device device;
	reel_cu_context context;
	reel_cu_stream stream; /* for what is not in the order of a caller's stream */
	reel_cu_address base;
	uint64_t bytes;
	uint32_t slab_bytes;
	uint32_t lanes;
	struct reel_arena_header empty; /* what is at its start after a reset */
	/* Where those of the device are copied to. */
	struct reel_arena_header header;
	struct reel_arena_warp *warps;

	struct reel_tables tables; /* all zero until they are needed */
	struct reel_drain *drain;  /* NULL: there is no store */
	struct reel_arena_stats stats;
};

/* Leaves the text of a call of the driver that failed, and returns the error. */
int reel_arena_fail_with(const struct reel_driver *driver, reel_cu_result result, const char *call);

/* Return from the function with what a call of the driver returned, if that is an error. */
#define TRY(driver, call, arguments)                                                               \
	do {                                                                                       \
		reel_cu_result outcome = (driver)->call arguments;                                 \
		if (outcome)                                                                       \
			return reel_arena_fail_with((driver), outcome, #call);                     \
	} while (0)

/* Driver calls are made between these two. leave() returns the error, or its own. */
int reel_arena_enter(struct reel_arena *arena);
int reel_arena_leave(struct reel_arena *arena, int error);

/* Wait for what is in the arena's own stream. Returns the error, or that of the wait. */
int reel_arena_wait(struct reel_arena *arena, int error);

/*
 * Start to copy slabs with these numbers, each `stride` after the one before, to or from places one
 * after another; number 0 is left out.
 */
int reel_arena_copy(struct reel_arena *arena, const uint32_t *slab, size_t stride, uint32_t count,
		    unsigned char *memory, bool to_device);

/*
 * Where an arena with a store keeps its tables as they were when it was settled last: behind its
 * slabs.
 */
static inline reel_cu_address reel_arena_settled(const struct reel_arena *arena)
{
	return arena->base + (arena->bytes + 255) / 256 * 256;
}

/* -EPROTO, with the faults in words. */
int reel_arena_refuse_faults(uint32_t faults);

#endif
