/* SPDX-License-Identifier: MIT */
/*
 * For authors of stores and layers, for programs that open stores one by one, and for authors of
 * tools whose users push and pop by other names.
 *
 * A store keeps pieces of memory: put one, get it back, drop it. Leaves keep them somewhere (a
 * file, memory, your own store); layers stand on another store and change the data that passes
 * through (checksum, codec, overflow).
 *
 * Transfers. put and get start a transfer and may return before it is complete. The caller owns the
 * ticket that describes the transfer. The store completes each transfer exactly once, by
 * reel_transfer_complete(), on any thread, possibly before put or get returns. Until then the
 * ticket and its data belong to the store: other threads may read the data of a put, and no thread
 * reads the data of a get.
 *
 * Threads. One thread at a time calls the verbs of a store; several threads in turn if the store
 * registers memory, since a checksum layer on it has threads of its own. Transfers complete on any
 * thread, and a layer may start a transfer again when it completes (to read it once more, or to use
 * a second store). So a simple store that completes each transfer as its last act before it returns
 * needs no lock. A store that completes transfers on threads of its own must expect put and get on
 * these threads. A done function is short, and takes no lock that its caller holds during a verb.
 *
 * Cancellation. No verb of the stores below is a cancellation point. Pools, runs and arenas call
 * verbs of your own with cancellation disabled. A program that calls such a verb itself, or by a
 * layer, in a thread that may be cancelled, must also disable cancellation
 * (pthread_setcancelstate).
 *
 * Exceptions. A verb, a finish or a done function may end only by a return: no exception and no
 * longjmp(). Most of them run on a thread of the pool or of a store, where no code catches
 * exceptions: an exception ends the program there by std::terminate(). On a thread of the program
 * it would leave a transfer that never completes, and locks that stay locked. In C++ declare these
 * functions noexcept, so that the program ends where the mistake is, and complete the transfer with
 * an error instead.
 *
 * Errors. A transfer ends with 0 or a negative errno. A put that failed has stored nothing, and its
 * data is unchanged. After a get that failed, its data has any value. An error belongs to its
 * transfer: the store continues, and the next transfer may succeed. All stores have these errors:
 * -EINVAL, the data or its size is not aligned as the store requires; -EMSGSIZE, more bytes than
 * the store takes at once; -ENOSPC and similar errors, no room; -ECHILD, the caller is the child of
 * a fork, and the store is the parent's; -EBADF, the program has closed the descriptor of the
 * store's file.
 *
 * A store of your own is a struct that begins with a reel_store. Fill in its verbs, and pass it to
 * a pool or to a layer: examples/store-sqlite.c is one.
 *
 * Forks. A fork waits until the offload threads of all pools have ended the verb that they are in.
 * So a verb may fork only where no other thread of the process forks at the same time, and not in a
 * pool that has a run or an arena with a store of its own. A thread of the store may fork after it
 * has completed its transfers. A fork does not wait for the threads of a checksum layer. So a store
 * that registers memory takes no lock in the child, and refuses transfers there.
 */
#ifndef REEL_EXTEND_H
#define REEL_EXTEND_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <reel/store.h>
#include <reel/tape.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct reel_transfer reel_transfer;

/* ---- Transfers ------------------------------------------------------------ */

/*
 * Tells data apart. The checksum layer stores the label, and compares it when the data comes back.
 */
struct reel_label {
	uint64_t tape;
	uint64_t serial;     /* a different one for each put */
	uint64_t slab_index; /* the slab's height on its tape */
};

/* The place of a put's data. Only the store can interpret it. A leaf sets both members. */
struct reel_extent {
	uint64_t location; /* below 2^56, below an overflow store half of that */
	uint64_t bytes;    /* number of bytes that the leaf got: behind a codec, fewer */
};

#define REEL_HEADER_BYTES 64
#define REEL_MAX_LAYERS 8

/* Called when the transfer is complete: transfer->error and, after a put, ->extent are set. */
typedef void reel_transfer_done(reel_transfer *transfer);

/*
 * Called when a transfer completes with `error`, for the lowest layer first. Returns the error for
 * the layers above, or REEL_TRANSFER_RESTARTED if it has started the transfer again in a store
 * below.
 */
typedef int reel_layer_finish(reel_store *layer, reel_transfer *transfer, void *own, int error);

#define REEL_TRANSFER_RESTARTED 1

/* A ticket. All zero before its first use. It can be used for any number of transfers in turn. */
struct reel_transfer {
	/* Set by the caller; a layer that changes them sets them back. */
	void *data;                /* aligned as the store's capacity says */
	size_t bytes;              /* a multiple of that alignment; get: as was put */
	struct reel_extent extent; /* get: from the put; put: set by the store */
	struct reel_label label;
	struct reel_layout layout; /* put */
	reel_transfer_done *done;
	void *context; /* the caller's */

	/* Set by the store. */
	int error;

	/*
	 * Travels with the data: a leaf stores it and brings it back. Each checksum layer replaces
	 * it, so a layer that changes the data brings back the header that it was given.
	 */
	uint64_t header[REEL_HEADER_BYTES / 8];

	/* For the store that the transfer is in. */
	reel_transfer *next;
	struct {
		reel_store *layer;
		reel_layer_finish *finish;
		void *own;
	} layer[REEL_MAX_LAYERS];
	unsigned layers;
};

/*
 * The store calls it when a transfer has ended, with 0 or a negative errno. It calls the finish
 * functions of the layers, and the done function of the caller.
 */
void reel_transfer_complete(reel_transfer *transfer, int error);

/*
 * A layer calls it in its put or get, before it passes the transfer to the store below, so that
 * `finish` is called with `own` when the transfer completes. At most REEL_MAX_LAYERS for one
 * transfer: one more ends the program.
 */
void reel_transfer_enter(reel_transfer *transfer, reel_store *layer, reel_layer_finish *finish,
			 void *own);

/* ---- The verbs ------------------------------------------------------------- */

struct reel_store_capacity {
	/* Bytes that the leaves can hold, and that puts have taken; behind a codec, compressed. */
	uint64_t total_bytes; /* UINT64_MAX: not known */
	uint64_t used_bytes;
	size_t align;        /* of data, and of bytes; a power of two, at most a page */
	size_t max_bytes;    /* the largest put; 0: any */
	unsigned best_depth; /* number of transfers under way that reach the full speed */
	bool verified;       /* a get that succeeds returns the bytes of its put; a layer that
			      * copies or changes the data says false, whatever is below it */
	bool registers;      /* registered memory travels without a copy */
	uint64_t reserved;   /* 0 */
};

struct reel_store_verbs {
	const char *name;
	/* Store data and header; sets transfer->extent before it completes. */
	void (*put)(reel_store *store, reel_transfer *transfer);
	/* Bring back the data of the put to transfer->extent, transfer->bytes of it. */
	void (*get)(reel_store *store, reel_transfer *transfer);
	/* Forget the data there. No transfer of this extent is under way. Cannot fail. */
	void (*drop)(reel_store *store, struct reel_extent extent);
	/*
	 * Wait until all transfers are complete: 0, or -ETIMEDOUT. Negative: for ever.
	 * A transfer counts as complete when reel_transfer_complete() has returned.
	 */
	int (*sync)(reel_store *store, int64_t timeout_ns);
	void (*capacity)(reel_store *store, struct reel_store_capacity *capacity);
	/*
	 * End the store and the stores below it; their contents are gone. No transfer is under way.
	 * In the child of a fork it frees memory only.
	 */
	void (*close)(reel_store *store);
	/*
	 * Registers whole pages of memory that stay where they are until they are unregistered or
	 * the store is closed, so that the store of a device can lock them in memory. Returns 0,
	 * also if they are registered already, or a negative errno: transfers also work without it.
	 * Any thread, at the same time as other verbs. Both verbs may be NULL; a layer calls the
	 * verbs of the store below.
	 */
	int (*register_memory)(reel_store *store, void *memory, size_t bytes);
	/*
	 * Called before registered memory is given back to the system, in the pieces in which it
	 * was registered. No transfer of it is under way. Memory that is not registered is ignored.
	 */
	void (*unregister_memory)(reel_store *store, void *memory, size_t bytes);
};

/* The beginning of every store. */
struct reel_store {
	const struct reel_store_verbs *verbs;
};

/* ---- Calling a store --------------------------------------------------------- */

static inline void reel_store_put(reel_store *store, reel_transfer *transfer)
{
	store->verbs->put(store, transfer);
}

static inline void reel_store_get(reel_store *store, reel_transfer *transfer)
{
	store->verbs->get(store, transfer);
}

static inline void reel_store_drop(reel_store *store, struct reel_extent extent)
{
	store->verbs->drop(store, extent);
}

static inline int reel_store_sync(reel_store *store, int64_t timeout_ns)
{
	return store->verbs->sync(store, timeout_ns);
}

static inline void reel_store_get_capacity(reel_store *store, struct reel_store_capacity *capacity)
{
	store->verbs->capacity(store, capacity);
}

/* As the verb; -ENOTSUP: the store registers no memory. */
static inline int reel_store_register(reel_store *store, void *memory, size_t bytes)
{
	return store->verbs->register_memory ? store->verbs->register_memory(store, memory, bytes)
					     : -ENOTSUP;
}

static inline void reel_store_unregister(reel_store *store, void *memory, size_t bytes)
{
	if (store->verbs->unregister_memory)
		store->verbs->unregister_memory(store, memory, bytes);
}

/*
 * Start a put or a get, and wait until it is complete. These functions set `done` and `context` of
 * the ticket; the caller leaves both alone.
 */
int reel_store_put_and_wait(reel_store *store, reel_transfer *transfer);
int reel_store_get_and_wait(reel_store *store, reel_transfer *transfer);

/* ---- Tapes under interfaces of other tools ------------------------------------ */

/*
 * Tells a codec the layout of the values that are pushed from now on: as elements of `element`
 * bytes, where elements that lie `stride` apart resemble each other (stride 0: no elements do). {0}
 * stands for the layout that the codec was opened with; a codec stores {REEL_INCOMPRESSIBLE} as it
 * is. A slab has the layout that was set when the next slab was put on top of it.
 *
 * Returns 0, or -EINVAL if there can be no such layout; the tape keeps its old layout.
 */
int reel_tape_set_layout(reel_tape *tape, struct reel_layout layout);

/*
 * Returns the bytes of pushes that were refused and not yet popped, bits rounded up; UINT64_MAX / 8
 * + 1 if pops and pushes do not mirror each other any more, so that all pops give all ones.
 */
uint64_t reel_tape_refused(const reel_tape *tape);

/*
 * TYPE reel_look(reel_tape *tape, TYPE);
 * TYPE reel_look_record(reel_tape *tape, NAME);
 *
 * The value that reel_pop() or reel_pop_record() would return. It stays on the tape.
 *
 * TYPE *reel_reserve(reel_tape *tape, TYPE, size_t n);
 * void reel_commit(reel_tape *tape, TYPE, size_t n);
 *
 * Like reel_push_span() in two steps, if n is known only after writing: make room for n elements
 * without pushing them (NULL if refused; nothing is counted, the error sticks), then push the
 * elements that were written. Nothing else may be called on the tape between the two.
 */

/*
 * A window: the values of a tape that lie in one slab, or in the buffer inside the struct. A height
 * is the result of reel_tape_bytes() before a push: the value of that push begins there.
 */
typedef struct reel_window {
	char *start;     /* where its lowest byte lies */
	uint64_t height; /* the height of that byte */
	uint64_t bytes;  /* number of bytes up to the next window, or to the top */
} reel_window;

/*
 * Finds the window of the byte at `height`, so that a caller can read values below the top, or
 * change them in place, without popping the values above them. The windows of all heights lie end
 * to end. The caller has to know the height of the value, for example because all values have one
 * size. Bits that do not fill a word yet are in no window.
 *
 * The window belongs to the tape, and is valid until the next call on it, or until a cursor on it
 * reaches its limit.
 *
 * Returns 0; -EINVAL: the tape is not that high; -EBUSY: the pool has a store, which has or may
 * take that part of the tape, so only pops can reach it (the buffer inside the struct, the first
 * slabs and a top slab that was never stored can be reached); or the tape's error, if pops and
 * pushes do not mirror any more. No error sticks. The owner of the tape. Costs a step for each slab
 * above the window, and never waits.
 */
int reel_tape_window(const reel_tape *tape, uint64_t height, reel_window *window);

/* ---- Stores one by one ------------------------------------------------------ */

/*
 * Leaves the text that reel_error_text(error) returns in this thread until the next failure. For
 * functions that open stores, and others that fail. Returns `error`.
 */
int reel_fail(int error, const char *format, ...)
#if defined(__GNUC__)
	__attribute__((format(printf, 2, 3)))
#endif
	;

/* Flags of reel_store_file_open(). */
#define REEL_FILE_BUFFERED 1u /* through the page cache, though the file could do without */
#define REEL_FILE_TMPFS 2u    /* also where files are kept in memory */

struct reel_file_options {
	const char *directory; /* NULL: REEL_SPILL_DIR, SLURM_TMPDIR or TMPDIR */
	size_t slot_bytes;     /* the largest put; 0: 1 GiB, any slab, but at most the file */
	uint64_t max_bytes;    /* 0: as much as the disk has */
	unsigned threads;      /* transfers at once; 0: 4 */
	unsigned flags;
};

/*
 * A file without a name, which no other process can open and which the system removes when the
 * process ends, however it ends. Transfers bypass the page cache if the file system allows it. A
 * put takes only the room that it needs, in units of a block or of at most a 128th of slot_bytes
 * (0: of 2 MiB), the lowest room first. The file only grows: each time by its own size, within 1 to
 * 256 MiB, and by at most an eighth of the free space of the disk, so that other files also have
 * room. If it cannot grow and no free room is long enough, a put is stored in several parts. NULL
 * for `options` means all 0.
 *
 * The descriptor of the file is high (from 1024 on, or half of the limit), and never 0 to 2. If the
 * program closes it and opens another file under the same number, nothing is written there:
 * transfers fail with -EBADF.
 *
 * Returns 0, or
 *   -EINVAL   no directory was named, an option is out of range, or the
 *             directory is in memory (without REEL_FILE_TMPFS)
 *   -EFBIG    the limit of file size has no room for one slot (of 2 MiB, if slot_bytes is 0)
 *   -ENOMEM   no memory, or no thread could be started
 *   another   an error of the system for the directory
 */
int reel_store_file_open(reel_store **store, const struct reel_file_options *options);

/* Memory, with a maximum of bytes: a put above that is -ENOSPC. 0, or -ENOMEM. */
int reel_store_memory_open(reel_store **store, uint64_t max_bytes);

/*
 * Layers. Each layer owns the stores below it, and closes them. On failure they still belong to the
 * caller. NULL for such a store is -EINVAL.
 */

/*
 * Store with each put a header: its label, its length and a CRC-32C of both and of the data. A get
 * that differs is read once more, and then fails with -EBADMSG. If `below` is verified, *store is
 * `below` itself. A codec is not verified: a checksum below it does not detect damage above, so the
 * checksum belongs on top. A pool puts this layer on its store, and a run on the stores of its
 * tiers. On a store that registers memory the layer has threads for the CRCs, at most 8 each way.
 * 0, or -ENOMEM.
 */
int reel_store_checksum_open(reel_store **store, reel_store *below);

struct reel_codec_options {
	size_t max_bytes; /* the largest put; 0: 2 MiB */
	/*
	 * Layout of puts without their own. The element (0: 8) is the unit of the byte shuffle.
	 * With a stride, second differences are compressed, for example of a field that is pushed
	 * once per step.
	 */
	struct reel_layout layout;
	unsigned buffers; /* transfers under way that one buffer each serves; 0: 16 */
};

/*
 * Byte shuffle and LZ4. Data that does not get smaller is stored uncompressed. NULL for `options`
 * means all 0. 0, -ENOMEM, -EINVAL, or -ENOTSUP: the library was built without LZ4.
 */
int reel_store_codec_open(reel_store **store, reel_store *below,
			  const struct reel_codec_options *options);

/*
 * Put to the first store, and to the second store if the first one refuses. Verified if both are.
 * 0, -ENOMEM, or -EINVAL: both are one store.
 */
int reel_store_overflow_open(reel_store **store, reel_store *first, reel_store *second);

/* ---- Layers on tapes --------------------------------------------------------- */

/*
 * For layers on top of a tape that have found that pops would be wrong: make `error`, a negative
 * number, stick and report `message`, one line that names the cause, unless an error sticks
 * already. Until a rewind or a close all pops give all ones.
 */
void reel_tape_give_up(reel_tape *tape, int error, const char *message);

/* Which lock-free list the library was built with: "ck" or "c11". */
const char *reel_pool_implementation(void);

#ifdef __cplusplus
}
#endif

#endif
