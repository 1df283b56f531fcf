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
 * not needed. reel_arena_threads() is that number.
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

#include <reel/store.h>

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
	/*
	 * Device memory [bytes]; 0: eight slabs for each warp that can be resident, at most half
	 * of what the device has free. A second copy of the arena's tables, which are 16 bytes
	 * a slab and 408 a warp, comes to it.
	 */
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
 * -ENOMEM if it has not as much memory free, -EIO if the driver fails.
 */
int reel_arena_open(struct reel_arena **arena, const struct reel_arena_options *options);

/* Give the memory back. No stream may still use it. NULL is allowed. */
void reel_arena_close(struct reel_arena *arena);

/* What a kernel is to be given. Changes when the arena grows. */
struct reel_device_arena reel_arena_device(const struct reel_arena *arena);

/* How many lanes the GPU holds at a time: the most threads that a launch should have. */
uint32_t reel_arena_threads(const struct reel_arena *arena);

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
	/* A tape was resumed that was not saved, in blocks of another size, or as another kind. */
	REEL_DEVICE_RESUME = 16,
	/* Lanes of a staged tape did not push or pop together: seen if they did not hang. */
	REEL_DEVICE_DIVERGED = 32,
	/* A tape came to a slab that is in the store. */
	REEL_DEVICE_DRAINED = 64
};

struct reel_arena_report {
	uint32_t faults;
	uint32_t warps, warps_needed;
	/*
	 * Slabs that all warps together wanted at most, those that they were refused and those in
	 * the store included; with a store, since a launch was undone last.
	 */
	uint64_t slabs, slabs_needed;
	uint64_t bytes, bytes_needed;
	uint64_t slabs_drained; /* in the store */
	uint64_t reserved[3];
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
 * any other fault, -ENOMEM if the GPU has not as much memory, -EIO if the driver fails; with a
 * store also what that said.
 */
int reel_arena_settle(struct reel_arena *arena, void *stream);

/* ---- More tape than the arena holds ---- */

/*
 * Have slabs that lie deep go to a store between launches, and come back (store.h):
 *
 *	reel_arena_attach(arena, store);
 *	for (step = 0; step < steps; step++)
 *		do
 *			forward<<<...>>>(reel_arena_device(arena), step, ...);
 *		while (reel_arena_settle(arena, stream) > 0);
 *	for (step = steps; step-- > 0;)
 *		do
 *			reverse<<<...>>>(reel_arena_device(arena), step, ...);
 *		while (reel_arena_settle(arena, stream) > 0);
 *
 * where each kernel resumes its tapes and saves them (the first one opens them). The arena stays
 * as large as it is, which must be enough for what one launch pushes, or pops. It grows only
 * while no tape has a slab.
 *
 * reel_arena_settle() ends a step: the tapes as they are saved then are what counts. A launch that
 * found no free slab (REEL_DEVICE_EXHAUSTED), or came to a slab that is in the store
 * (REEL_DEVICE_DRAINED), is undone by it: it has slabs go, or come back, as many as the launch
 * needed and some more, and returns 1: the launches since the last one that returned 0 are to be
 * repeated, with the same arguments and data. Those that pop what an earlier step pushed, and then
 * push, have overwritten it and cannot be repeated; nor can those that trim() after that. Have
 * what they need there before: reel_arena_drain(), reel_arena_refill().
 *
 * When it returns an error nothing is undone yet. Call it again when the reason is gone (a store
 * that was full), or reel_arena_undo() to go on without those launches. After an error of the
 * driver only reel_arena_reset() and reel_arena_close() are left.
 *
 * What is popped in a launch that will be repeated is zero where its slab is in the store. So a
 * loop that a popped value ends must end on zeros, too, and 0 must be a valid index.
 *
 * A warp's lanes share its slabs, from the highest top down to the lowest one in use: a lane that
 * stays low and is used again later needs all slabs of its warp above it on the device at once.
 *
 * Places (mark()) do not last from launch to launch: slabs come back as others.
 *
 * The arena owns the store from then on, and closes it. It must be at rest; what is on its tapes
 * counts as settled. On the host its tables are pinned, 16 bytes a slab and 408 a warp, and eight
 * frames of 2 MiB, or of a slab if that is larger.
 *
 * Returns 0, or -EBUSY: it has a store; -EINVAL: the store takes no slab at once; -ENOMEM, -EIO.
 * The store stays the caller's then.
 */
int reel_arena_attach(struct reel_arena *arena, reel_store *store);

/*
 * Undo the launches since reel_arena_settle() returned 0 or 1 last, or since they counted as
 * settled: the tapes are as they were saved then. Waits for the stream. For an arena with a store.
 *
 * Returns 0, or -EINVAL: there is no store; -EIO.
 */
int reel_arena_undo(struct reel_arena *arena, void *stream);

/*
 * Between launches: have at least so many slabs free, so that the next launch need not be repeated.
 * Those above the tops of tapes are free at once; others go to the store: the lowest first, from
 * all warps so that they keep equally many. The highest of each warp stays. Waits for the stream.
 * What the launches left counts as settled.
 *
 * Returns 0; -ENOMEM: not so many can be free, though all that can be are; what the store said,
 * when it took none; -EPROTO: the last launch has faults, settle it; -EINVAL: no store; -EIO.
 */
int reel_arena_drain(struct reel_arena *arena, void *stream, uint64_t slabs);

/*
 * Between launches: have each warp's `depth` highest slabs on the device, or all that it has. Waits
 * for the stream, and counts as settled. Returns as reel_arena_drain(); -ENOMEM: there are not so
 * many free slabs, none has come.
 */
int reel_arena_refill(struct reel_arena *arena, void *stream, uint32_t depth);

struct reel_arena_stats {
	uint64_t bytes, slabs;                  /* now */
	uint64_t grown;                         /* how often */
	uint64_t undone;                        /* launches that were to be repeated, by a store */
	uint64_t drained_bytes, refilled_bytes; /* to the store and back */
	uint64_t sent_bytes, fetched_bytes;     /* of lanes' tapes, see reel/host-tape.h */
	uint64_t reserved[8];
};

/* Since the arena was opened. No call of the driver. */
void reel_arena_get_stats(const struct reel_arena *arena, struct reel_arena_stats *stats);

#ifdef __cplusplus
}
#endif

/* ---- Within: the memory of an arena, for reel/device.cuh ---------------------- */

/*
 * The top of a tape is the number of the row that holds the newest word; row 0 of a slab has none.
 * With TOP_NONE set there is no row: the rest counts the rows refused; none, on an empty tape. With
 * TOP_SPILLED the top is so many rows below row 0 of the warp's bottom slab, in the store.
 */
#define REEL_DEVICE_TOP_NONE 0x80000000u
#define REEL_DEVICE_TOP_SPILLED 0xc0000000u
/* Links to no slab, beside 0. */
#define REEL_DEVICE_REFUSED 0xffffffffu
#define REEL_DEVICE_BUSY 0xfffffffeu

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
	uint64_t warps_offset, saved_offset, slabs_offset;
};

/*
 * A warp's slabs are a chain, shared by its lanes. All zero: none. Its lowest ones may be in a
 * store: `bottom` is the lowest of those that are not.
 */
struct reel_arena_warp {
	uint32_t bottom;
	uint32_t peak;    /* most slabs that it wanted, those in the store included */
	uint32_t drained; /* that are in the store */
	uint32_t missed;  /* most of them, from the highest down, that it wanted */
};

/* Its lanes' tapes that were saved; a top of 0 was not. */
struct reel_arena_saved {
	uint32_t top[32];
	uint64_t bits[32];
	uint32_t rows; /* of a block, by tapes with stages; else 0 */
	uint32_t unused;
};

/* Of each slab, by its number; slabs that hold these tables have one, too. */
struct reel_arena_slab {
	uint32_t below, above;
	uint32_t height; /* slabs below it */
	uint32_t next;   /* in the free list: the next one's number, less its own + 1 */
};

#endif
