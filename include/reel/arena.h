/* SPDX-License-Identifier: MIT */
/*
 * The arena: GPU memory for the tapes of a kernel's threads (reel/device.cuh), held by the host.
 *
 *	struct reel_arena *arena;
 *	reel_arena_open(&arena, NULL);
 *	do
 *		kernel<<<blocks, threads>>>(reel_arena_device(arena), ...);
 *	while (reel_arena_settle(arena, NULL) > 0);
 *	reel_arena_close(arena);
 *
 * It is one piece of device memory: a header, a free list, a state for each warp, and slabs. Each
 * warp of a launch takes slabs as its lanes push, and keeps them for what it pushes next, in this
 * launch and in later ones, until the arena is reset.
 *
 * Size it by the lanes that are resident at a time (multiprocessors x threads of one), and write
 * kernels that stride over the grid: a tape for each element of a large grid does not fit, and is
 * not needed. reel_arena_lanes() is that number.
 *
 * A kernel that finds no free slab goes on: it notes a fault, and counts what it would have pushed.
 * reel_arena_read() tells how many slabs the launch needed, and reel_arena_settle() makes the arena
 * that large. Results of a launch with a fault are to be thrown away.
 *
 * Two kernels that may run at once need an arena each. The calls below are for one thread at a
 * time for each arena. Those that take a stream may be called while that stream has kernels to run
 * that use the arena.
 *
 * The library calls the driver, libcuda.so.1, which it loads: no CUDA is needed to build it or to
 * run programs without a GPU. It uses the device's primary context, as CUDA's runtime does.
 */
#ifndef REEL_ARENA_H
#define REEL_ARENA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct reel_arena;

/* What a kernel is given, by value. */
struct reel_device_arena {
	unsigned char *base;
	uint32_t row_mask;
	uint32_t word_bytes;
};

/* All zero is the default. */
struct reel_arena_options {
	/* Device memory [bytes]; 0: eight slabs for each warp that can be resident, at most half
	 * of what the device has free. */
	uint64_t bytes;
	/* A power of two, at least 8 rows of 32 words; 0: 64 KiB. */
	uint32_t slab_bytes;
	/* Of a lane in a row, as the tapes' type says: 4, 8 or 16; 0: 8. */
	uint32_t word_bytes;
	/* The most warps of a launch; 0: as many as can be resident. */
	uint32_t warps;
	/* Number of the GPU. */
	int device;
	uint64_t reserved[4];
};

/*
 * Take the memory. NULL options are the defaults.
 *
 * Returns 0, or -EINVAL for options that cannot be, -ENODEV if there is no driver, or no such GPU,
 * -ENOMEM if it has not as much memory free, -EIO if the driver fails. reel_arena_problem() says
 * more.
 */
int reel_arena_open(struct reel_arena **arena, const struct reel_arena_options *options);

/* Give the memory back. No stream may still use it. NULL is allowed. */
void reel_arena_close(struct reel_arena *arena);

/* One line about the last call of this thread that failed. */
const char *reel_arena_problem(void);

/* What a kernel is to be given. Changes when the arena grows. */
struct reel_device_arena reel_arena_device(const struct reel_arena *arena);

/* How many lanes the GPU holds at a time: the most threads that a launch should have. */
uint32_t reel_arena_lanes(const struct reel_arena *arena);

/*
 * Empty all tapes and give their slabs back, forget faults. In the order of the stream, which is a
 * CUstream or cudaStream_t of the device's primary context; NULL is the default stream. Cheap:
 * nothing but the free list and the states of the warps is written.
 *
 * Returns 0 or -EIO.
 */
int reel_arena_reset(struct reel_arena *arena, void *stream);

/* Bits of `faults`. */
enum {
	/* A push found no free slab. */
	REEL_DEVICE_EXHAUSTED = 1,
	/* A pop mirrored no push. */
	REEL_DEVICE_UNDERFLOW = 2,
	/* A tape has words of another size than the arena. */
	REEL_DEVICE_WORD = 4,
	/* The launch had more warps than the arena. */
	REEL_DEVICE_WARPS = 8,
	/* A tape was resumed that was not saved, or in blocks of another size. */
	REEL_DEVICE_RESUME = 16,
	/* Lanes of a staged tape did not push or pop together. */
	REEL_DEVICE_APART = 32
};

struct reel_arena_report {
	uint32_t faults;
	uint32_t warps, warps_needed;
	/* Slabs that all warps together wanted at most, those that they were refused included. */
	uint64_t slabs, slabs_needed;
	uint64_t bytes, bytes_needed;
	uint64_t reserved[4];
};

/*
 * What the launches since the last reset have left, once those in the stream have ended. What is
 * needed is exact if the work of a warp does not depend on what it pops and on other warps; else it
 * is what this launch wanted. With REEL_DEVICE_WARPS it counts the warps that had a place.
 *
 * Returns 0 or -EIO.
 */
int reel_arena_read(struct reel_arena *arena, void *stream, struct reel_arena_report *report);

/*
 * Make the arena at least as large as the report needs, empty. Nothing may use it meanwhile, on the
 * device either: its memory is another one afterwards. Returns 0, or -ENOMEM or -EIO; the arena is
 * unchanged then.
 */
int reel_arena_grow(struct reel_arena *arena, const struct reel_arena_report *report);

/*
 * Wait for the launches in the stream; if they ran out of memory, grow the arena to what they
 * needed and empty it.
 *
 * Returns 0 if all went well, 1 if the arena grew and the launches must be repeated; -EPROTO for
 * any other fault, -ENOMEM if the GPU has not as much memory, -EIO if the driver fails.
 */
int reel_arena_settle(struct reel_arena *arena, void *stream);

#ifdef __cplusplus
}
#endif

/* ---- The memory of an arena, for reel/device.cuh ------------------------------ */

/*
 * At the start of an arena. Slabs are numbered from the start, too, so that none has the number 0,
 * and row r of slab s is row s * rows + r of the arena.
 */
struct reel_arena_header {
	uint64_t free; /* counted << 32 | first free slab, end_slab if there is none */
	uint32_t faults;
	uint32_t warps_needed;
	uint32_t saved_block; /* threads of a block when tapes were saved */
	uint32_t row_shift;
	uint32_t row_mask;
	uint32_t word_bytes;
	uint32_t first_slab, end_slab;
	uint32_t warps;
	uint32_t unused;
	/* A word for each slab: the next free one, less its own number + 1. */
	uint64_t links_offset;
	uint64_t warps_offset, saved_offset;
};

/* A warp's slabs are a chain, shared by its lanes. All zero: none. */
struct reel_arena_warp {
	uint32_t bottom;
	uint32_t peak; /* most slabs that it wanted */
};

/* Its lanes' tapes that were saved; a top of 0 was not. */
struct reel_arena_saved {
	uint32_t top[32];
	uint64_t bits[32];
};

/* In the first row of each slab. */
struct reel_arena_slab {
	uint32_t below, above;
	uint32_t height; /* slabs below it */
};

#endif
