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
 * Memory. An arena is one piece of device memory: a header, a state for each warp, tables, and
 * slabs. Each warp of a launch takes slabs as its lanes push. The warp keeps its slabs for later
 * pushes, in this launch and in later ones, until trim() or a reset gives them back.
 *
 * Size. Launch at most reel_arena_threads() threads, which is the number of lanes that the GPU
 * holds at a time (multiprocessors x threads of a multiprocessor), and write kernels that stride
 * over the grid. One tape for each element of a large grid would not fit, and is not needed.
 *
 * Faults. If a push finds no free slab, the kernel continues: it notes a fault and counts the rows
 * that it could not push. reel_arena_read() reports the number of slabs that the launch needed, and
 * reel_arena_settle() grows the arena to that size. Discard the results of a launch with a fault.
 *
 * Threads. One thread at a time may call the functions below on an arena. A function that takes a
 * stream may be called while kernels in that stream still use the arena; the thread sleeps while it
 * waits for them. Two kernels that may run at once need an arena each.
 *
 * Driver. The library loads the driver, libcuda.so.1, at run time: no CUDA is needed to build the
 * library, or to run programs without a GPU. The library uses the device's primary context, as
 * CUDA's runtime does.
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

/* The argument that gives a kernel an arena, passed by value. reel_arena_device() returns it. */
struct reel_device_arena {
	unsigned char *base;
	uint32_t row_mask;
	uint32_t word_bytes;
};

/* Options of an arena. All zero, or NULL, means all defaults. */
struct reel_arena_options {
	/*
	 * Device memory of the arena [bytes]; 0: eight slabs for each of its `warps`, but at most
	 * half of the device's free memory. In addition, the arena takes a second copy of its
	 * tables, which are 16 bytes a slab and 400 bytes a warp.
	 */
	uint64_t bytes;
	/* Size of a slab [bytes]: a power of two, at least 8 rows of 32 words; 0: 64 KiB. */
	uint32_t slab_bytes;
	/* Size of a lane's word in a row [bytes], equal to Word of the tapes: 4, 8 or 16; 0: 8. */
	uint32_t word_bytes;
	/* Maximum number of warps in a launch; 0: the number of warps that can be resident. */
	uint32_t warps;
	/* Number of the GPU, from 0. */
	int device;
	uint64_t reserved[4];
};

/*
 * Opens an arena and takes its device memory. The caller closes it with reel_arena_close(). NULL
 * options are the defaults. After an error *arena is NULL.
 *
 * Returns 0, or
 *   -EINVAL  an option is out of range, or `bytes` has no room for a slab beside the tables, or
 *            has more rows than can be numbered (2^31)
 *   -ENODEV  there is no driver, or no GPU with this number
 *   -ENOMEM  the GPU, or the host, has too little free memory
 *   -EIO     the driver failed
 */
int reel_arena_open(struct reel_arena **arena, const struct reel_arena_options *options);

/*
 * Closes an arena and its store, and frees the device memory. No stream may still use the arena.
 * NULL is allowed.
 */
void reel_arena_close(struct reel_arena *arena);

/* Returns the argument for a kernel. Call it for each launch: it changes when the arena grows. */
struct reel_device_arena reel_arena_device(const struct reel_arena *arena);

/* Returns the number of lanes that the GPU holds at a time. No launch should have more threads. */
uint32_t reel_arena_threads(const struct reel_arena *arena);

/*
 * Empties all tapes, gives their slabs back and clears the faults, in the order of `stream`, which
 * is a CUstream or cudaStream_t of the device's primary context; NULL is the default stream. With a
 * store, the slabs in the store are dropped at once, and the empty tapes count as settled. Cost:
 * only the header and the tables are written, no slab.
 *
 * Returns 0, or -EIO: the driver failed.
 */
int reel_arena_reset(struct reel_arena *arena, void *stream);

/* reel_arena_read() reports the faults of launches: each enumerator is a bit of `faults`. */
enum {
	/* A push found no free slab. */
	REEL_DEVICE_EXHAUSTED = 1,
	/* A pop mirrored no push. */
	REEL_DEVICE_UNDERFLOW = 2,
	/* A tape has words of another size than the arena. */
	REEL_DEVICE_WORD = 4,
	/* The launch had more warps than the arena. */
	REEL_DEVICE_WARPS = 8,
	/* A lane resumed a tape that was not saved, or that was saved in blocks of another size. */
	REEL_DEVICE_RESUME = 16,
	/* A tape came to a slab that is in the store. */
	REEL_DEVICE_DRAINED = 32
};

struct reel_arena_report {
	uint32_t faults;
	uint32_t warps, warps_needed;
	/*
	 * Number of slabs in the arena, and the number needed: the sum over all warps of the
	 * maximum number that the warp wanted at once, with slabs that were refused and slabs in
	 * the store. With a store, each launch that reel_arena_settle() undoes restarts the count.
	 */
	uint64_t slabs, slabs_needed;
	uint64_t bytes, bytes_needed;
	uint64_t slabs_drained; /* number of slabs in the store */
	uint64_t reserved[3];
};

/*
 * Waits for the launches in `stream` and reports the state after the launches since the last reset.
 * The number of slabs needed is exact if the work of a warp depends neither on popped values nor on
 * other warps. Otherwise it is the number that this launch wanted, and its repetition may need
 * more. With REEL_DEVICE_WARPS they include only the warps that had a place in the arena.
 *
 * Returns 0, or -EIO: the driver failed.
 */
int reel_arena_read(struct reel_arena *arena, void *stream, struct reel_arena_report *report);

/*
 * Grows the arena to at least the size in the report. All its tapes are empty afterwards, and its
 * slabs in the store are dropped. Neither the host nor the device may use the arena meanwhile. The
 * arena has other memory afterwards: call reel_arena_device() again. The old memory is freed last,
 * so the device must have room for both.
 *
 * Returns 0, or, with the arena unchanged,
 *   -ENOMEM  the GPU, or the host, has too little free memory
 *   -EINVAL  the arena would have more rows than can be numbered (2^31)
 *   -EIO     the driver failed
 */
int reel_arena_grow(struct reel_arena *arena, const struct reel_arena_report *report);

/*
 * Waits for the launches in `stream`. If they needed more slabs or warps than the arena has, grows
 * the arena to that number and empties it. With a store, this function may undo the launches
 * instead; see reel_arena_attach().
 *
 * Returns 0 if no launch had a fault, 1 if the launches must be repeated, or
 *   -EPROTO  a fault that a larger arena does not cure; with a store also: the launch had too many
 *            warps, and the arena cannot grow since a tape has slabs
 *   -ENOMEM  the GPU, or the host, has too little free memory; with a store also: the arena is too
 *            small for the launch
 *   -EINVAL  the arena would have more rows than can be numbered (2^31)
 *   -EIO     the driver failed
 *
 * With a store, this function also returns the errors of reel_arena_drain() and
 * reel_arena_refill().
 */
int reel_arena_settle(struct reel_arena *arena, void *stream);

/* ---- More tape than the arena holds ---- */

/*
 * Gives the arena a store (store.h). Between launches, slabs that lie deep go to the store and come
 * back:
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
 * Each kernel resumes its tapes and saves them; the first kernel opens them. The arena keeps its
 * size, which must suffice for the pushes, or the pops, of one launch. It grows only while no tape
 * has a slab.
 *
 * When reel_arena_settle() returns 0, a step has ended: the tapes as they are saved then are
 * settled. If a launch found no free slab (REEL_DEVICE_EXHAUSTED), or came to a slab in the store
 * (REEL_DEVICE_DRAINED), reel_arena_settle() undoes it: the tapes are again as they were settled
 * last. It then moves the slabs that the launch needed to the store or back, and returns 1. The
 * program repeats the launches since reel_arena_settle() last returned 0, with the same arguments
 * and data.
 *
 * More slabs move while launches run: reel_arena_settle() begins to copy those that the next
 * launches will want, in a stream of the arena, and one of its next calls ends the move. Where
 * launches take longer than the copies, only the first one that finds no slab is repeated.
 *
 * A launch that pops values of an earlier step, and then pushes or calls trim(), cannot be
 * repeated, since the popped values may be overwritten. Call reel_arena_drain() or
 * reel_arena_refill() before such a launch, so that it finds the slabs that it needs.
 *
 * If reel_arena_settle() returns an error, it has undone nothing. Remove the cause (a full store,
 * for example) and call it again, or call reel_arena_undo() to continue without those launches.
 * After an error of the driver, only reel_arena_reset() and reel_arena_close() may be called.
 *
 * In a launch that will be repeated, a pop from a slab in the store gives zero. So a loop whose end
 * depends on a popped value must also end on zeros, and 0 must be a valid index.
 *
 * The lanes of a warp share its slabs, from the highest top of a lane down to the lowest slab in
 * use. If a lane stays low and is used again later, all slabs of its warp above its top must be on
 * the device at once.
 *
 * A place (mark()) is valid within its launch only, since a slab comes back under another number.
 *
 * The arena owns the store from then on, and closes it. No kernel may use the arena during this
 * call; the contents of its tapes count as settled. The host pins memory for the tables (16 bytes a
 * slab and 400 bytes a warp).
 *
 * Slabs travel in batches of 2 MiB, or of one slab if that is larger. A batch is first copied to
 * host memory, which the driver pins while the arena has it, and the budget of the default pool
 * (REEL_BUDGET) counts it. Batches stay there until three quarters of the budget are in use, or,
 * without a budget, of half of the memory that the system allows. Then the store gets those that
 * left the device first. Each batch is a parcel (parcel.h), so a store that is not verified gets a
 * checksum, and a get that fails is repeated. A batch that the store refuses stays in memory until
 * the store takes it.
 *
 * Returns 0, or, and the store still belongs to the caller,
 *   -EBUSY   the arena has a store
 *   -ENOMEM  no memory
 *   -ENXIO   the default pool is refused (pool.h)
 *   -EIO     the driver failed
 */
int reel_arena_attach(struct reel_arena *arena, reel_store *store);

/*
 * Undoes the launches since the tapes were settled last: the tapes are again as they were saved
 * then. The tapes are settled when reel_arena_settle() returns 0 or 1, and where a function says
 * that they count as settled. Requires a store. Waits for `stream`.
 *
 * Returns 0, or -EINVAL: the arena has no store; -EIO: the driver failed.
 */
int reel_arena_undo(struct reel_arena *arena, void *stream);

/*
 * Between launches: frees slabs until at least `slabs` of them are free, so that the next launch
 * need not be repeated. Slabs above the tops of the tapes are freed first. Then slabs go to the
 * store, the lowest first, so that all warps keep the same number. The highest slab of each warp
 * stays on the device. Waits for `stream`. The state after the launches counts as settled.
 *
 * Returns 0, or
 *   -ENOMEM  fewer than `slabs` slabs can be free; all that can be free are free
 *   -EPROTO  the last launch has faults: call reel_arena_settle() first
 *   -EINVAL  the arena has no store
 *   -EIO     the driver failed
 *
 * If the budget has no room for a batch, the store's error is returned, or -EDQUOT: the store has
 * refused nothing. Fewer slabs than `slabs` are free then.
 */
int reel_arena_drain(struct reel_arena *arena, void *stream, uint64_t slabs);

/*
 * Between launches: brings slabs back from the store until the `depth` highest slabs of each warp
 * are on the device, or all slabs of a warp that has fewer. Waits for `stream`. The state after the
 * launches counts as settled.
 *
 * Returns 0, or as reel_arena_drain(); the store's error, such as -EBADMSG: a batch is lost, and
 * each later call that needs it says so until the arena is reset; -ENOMEM: there are too few free
 * slabs, and none came back. After another error some slabs are back.
 */
int reel_arena_refill(struct reel_arena *arena, void *stream, uint32_t depth);

/* Counts of an arena since it was opened. */
struct reel_arena_stats {
	uint64_t bytes, slabs;                  /* present size of the arena */
	uint64_t grown;                         /* times that the arena grew */
	uint64_t undone;                        /* times that reel_arena_settle() undid launches */
	uint64_t drained_bytes, refilled_bytes; /* left the device with a store, and came back */
	uint64_t sent_bytes, fetched_bytes;     /* words of lanes' tapes, see reel/host-tape.h */
	uint64_t reserved[8];
};

/* Reads the counts of an arena. Does not call the driver. */
void reel_arena_get_stats(const struct reel_arena *arena, struct reel_arena_stats *stats);

#ifdef __cplusplus
}
#endif

/* ---- Within: the memory of an arena, for reel/device.cuh ---------------------- */

/*
 * The top of a tape is the number of the row that holds the newest word. Row 0 of a slab holds no
 * word. TOP_NONE is an empty tape; TOP_NONE + n is a tape whose newest n rows were refused.
 * TOP_SPILLED + n is a row in the store, n rows below row 0 of the warp's bottom slab.
 */
#define REEL_DEVICE_TOP_NONE 0x80000000u
#define REEL_DEVICE_TOP_SPILLED 0xc0000000u
/* Values of a link that has no slab, beside 0: no slab was free; a lane is taking a slab. */
#define REEL_DEVICE_REFUSED 0xffffffffu
#define REEL_DEVICE_BUSY 0xfffffffeu

/*
 * The header at the start of an arena. Slabs are also numbered from that start. So no slab has the
 * number 0, and row r of slab s is row s * rows + r of the arena.
 */
struct reel_arena_header {
	/* Free slabs that warps gave back: number of changes << 32 | first of the list, or 0. */
	uint64_t given;
	/*
	 * The other free slabs are a queue: each of the entries from `queue` to `end_slab` - 1 of
	 * the table of slabs names one. If `queue` is `end_slab` or more, the queue is empty.
	 */
	uint32_t queue;
	uint32_t faults;
	uint32_t warps_needed;
	uint32_t saved_block; /* number of threads in a block of the kernel that saved tapes last */
	uint32_t row_shift;
	uint32_t row_mask;
	uint32_t word_bytes;
	uint32_t first_slab, end_slab;
	uint32_t warps;
	uint64_t warps_offset, saved_offset, slabs_offset;
};

/*
 * The state of a warp. The warp's slabs are a chain that its lanes share. All zero: the warp has no
 * slab. The lowest slabs may be in a store; `bottom` is the lowest slab on the device.
 */
struct reel_arena_warp {
	uint32_t bottom;
	uint32_t peak;    /* maximum number of slabs wanted, with those in the store */
	uint32_t drained; /* number of slabs in the store */
	uint32_t missed;  /* maximum number of these, from the highest down, that a lane wanted */
};

/* The saved tapes of a warp's lanes. The top of a lane that saved no tape is 0. */
struct reel_arena_saved {
	uint32_t top[32];
	uint64_t bits[32];
};

/* The links of a slab. The table has one for each number, also for slabs that hold the tables. */
struct reel_arena_slab {
	uint32_t below;  /* also in the list of slabs that warps gave back: the next one, or 0 */
	uint32_t above;
	uint32_t height; /* number of slabs below this one */
	uint32_t queued; /* in the queue's entry of this number: number of its slab - own number */
};

#endif
