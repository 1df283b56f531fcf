/* SPDX-License-Identifier: MIT */
/*
 * Buffers of snapshots and their transfers. Any thread that uses snapshots runs these functions; a
 * thread of a store runs finish() only. Idle buffers with memory lie on `snapshots->unused`, those
 * without memory on `snapshots->frameless`. Every other buffer belongs to one slot, one put or one
 * thread. A buffer is freed only when the stores are closed, since a thread of a store may still
 * signal an idle buffer.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/process.h"
#include "spill/offload.h"
#include "snapshot.h"
#include "store/store.h"

void *reel_snapshot_buffer_data(const struct reel_snapshot_buffer *buffer)
{
	return buffer->slab->frame;
}

static struct reel_snapshot_buffer *new_buffer(struct reel_snapshots *snapshots)
{
	size_t tickets = snapshots->max_pieces * sizeof(reel_transfer);
	struct reel_snapshot_buffer *buffer = calloc(1, sizeof *buffer + tickets);

	if (buffer)
		reel_wakeup_open(&buffer->arrival);
	return buffer;
}

/* Otherwise a store would keep a registered address that the pool may unmap. */
static void release_memory(struct reel_snapshots *snapshots,
			   const struct reel_snapshot_buffer *buffer)
{
	for (unsigned tier = 0; tier < snapshots->tiers; tier++)
		if (snapshots->tier[tier].registers)
			reel_store_unregister(snapshots->tier[tier].store, buffer->slab->frame,
					      buffer->slab->bytes);
}

static void free_all(struct reel_snapshots *snapshots, struct reel_snapshot_buffer *buffer)
{
	while (buffer) {
		struct reel_snapshot_buffer *next = buffer->next;

		REEL_ASSERT(!reel_snapshot_buffer_is_moving(buffer));
		if (buffer->slab)
			reel_pool_give(snapshots->pool, buffer->slab);
		reel_wakeup_close(&buffer->arrival);
		free(buffer);
		buffer = next;
	}
}

static unsigned length_of(const struct reel_snapshot_buffer *buffer)
{
	unsigned length = 0;

	for (; buffer; buffer = buffer->next)
		length++;
	return length;
}

void reel_snapshot_buffer_free_all(struct reel_snapshots *snapshots)
{
	REEL_ASSERT_EXPENSIVE(length_of(snapshots->unused) == snapshots->idle_buffers);
	free_all(snapshots, snapshots->unused);
	free_all(snapshots, snapshots->frameless);
}

static bool contains(const struct reel_snapshot_buffer *list,
		     const struct reel_snapshot_buffer *buffer)
{
	while (list && list != buffer)
		list = list->next;
	return list;
}

static void push(struct reel_snapshot_buffer **list, struct reel_snapshot_buffer *buffer)
{
	REEL_ASSERT_EXPENSIVE(!contains(*list, buffer));
	buffer->next = *list;
	*list = buffer;
}

static struct reel_snapshot_buffer *pop(struct reel_snapshot_buffer **list)
{
	struct reel_snapshot_buffer *buffer = *list;

	if (buffer)
		*list = buffer->next;
	return buffer;
}

/*
 * Gives the memory back to the pool, where tapes can use it, if `max_idle_buffers` buffers with
 * memory are idle. The struct is not freed: the store's thread that completed its last transfer may
 * be about to signal `buffer->arrival`.
 */
void reel_snapshot_buffer_give(struct reel_snapshots *snapshots,
			       struct reel_snapshot_buffer *buffer)
{
	REEL_ASSERT(reel_snapshots_are_locked(snapshots));
	REEL_ASSERT(buffer->slab && !reel_snapshot_buffer_is_moving(buffer));
	REEL_ASSERT(snapshots->memory_bytes >= snapshots->padded_bytes);
	snapshots->memory_bytes -= snapshots->padded_bytes;
	snapshots->given++;
	if (snapshots->idle_buffers < snapshots->max_idle_buffers) {
		snapshots->idle_buffers++;
		push(&snapshots->unused, buffer);
		return;
	}
	release_memory(snapshots, buffer);
	reel_pool_give(snapshots->pool, buffer->slab);
	buffer->slab = NULL;
	push(&snapshots->frameless, buffer);
}

/* Prefers a buffer with memory. Requires `snapshots->lock`. */
static struct reel_snapshot_buffer *pop_unused(struct reel_snapshots *snapshots)
{
	struct reel_snapshot_buffer *buffer = pop(&snapshots->unused);

	REEL_ASSERT(!buffer == !snapshots->idle_buffers);
	REEL_ASSERT(!buffer || buffer->slab);
	if (buffer)
		snapshots->idle_buffers--;
	return buffer ? buffer : pop(&snapshots->frameless);
}

void reel_snapshots_note_use(struct reel_snapshots *snapshots)
{
	snapshots->memory_bytes += snapshots->padded_bytes;
	if (snapshots->memory_bytes > snapshots->peak_bytes)
		snapshots->peak_bytes = snapshots->memory_bytes;
}

static int take_memory(struct reel_snapshots *snapshots, struct reel_snapshot_buffer *buffer)
{
	if (buffer->slab) {
		REEL_ASSERT(buffer->slab->bytes >= snapshots->padded_bytes);
		return 0;
	}
	return reel_pool_take(snapshots->pool, REEL_SLAB_LARGE, snapshots->padded_bytes,
			      &buffer->slab);
}

struct reel_snapshot_buffer *reel_snapshot_buffer_take(struct reel_snapshots *snapshots, int *error)
{
	struct reel_snapshot_buffer *buffer;

	reel_snapshots_lock(snapshots);
	buffer = pop_unused(snapshots);
	reel_snapshots_unlock(snapshots);
	if (!buffer)
		buffer = new_buffer(snapshots);
	*error = buffer ? take_memory(snapshots, buffer) : -ENOMEM;
	if (!buffer)
		return NULL;
	reel_snapshots_lock(snapshots);
	if (*error)
		push(&snapshots->frameless, buffer);
	else
		reel_snapshots_note_use(snapshots);
	reel_snapshots_unlock(snapshots);
	return *error ? NULL : buffer;
}

/* ---- Transfers ---- */

static void finish(reel_transfer *transfer)
{
	struct reel_snapshot_buffer *buffer = transfer->context;

	REEL_ASSERT(reel_snapshot_buffer_is_moving(buffer));
	/* Relaxed is enough: the release below makes the error visible with the end. */
	if (transfer->error)
		atomic_store_explicit(&buffer->error, reel_store_error(transfer->error),
				      memory_order_relaxed);
	/*
	 * Release: pairs with the acquire in reel_snapshot_buffer_is_moving(). Makes the bytes, the
	 * extent and the error of this piece visible. Acquire: orders the pieces of other threads
	 * before the signal.
	 */
	if (atomic_fetch_sub_explicit(&buffer->moving, 1, memory_order_acq_rel) == 1)
		reel_wakeup_signal(&buffer->arrival);
}

bool reel_snapshot_buffer_is_moving(struct reel_snapshot_buffer *buffer)
{
	/*
	 * Acquire: pairs with the release in finish(). Makes the bytes, the extents and the error
	 * of all pieces visible once the number is 0.
	 */
	return atomic_load_explicit(&buffer->moving, memory_order_acquire) > 0;
}

unsigned reel_snapshot_pieces(const struct reel_snapshots *snapshots, unsigned tier)
{
	size_t piece = snapshots->tier[tier].piece_bytes;

	REEL_ASSERT(piece > 0 && snapshots->padded_bytes > 0);
	return (unsigned)((snapshots->padded_bytes + piece - 1) / piece);
}

/* Size of the piece at `offset`: the last piece may be shorter. */
static size_t piece_bytes(const struct reel_snapshots *snapshots, unsigned tier, size_t offset)
{
	size_t left = snapshots->padded_bytes - offset;

	REEL_ASSERT(offset < snapshots->padded_bytes);
	return left < snapshots->tier[tier].piece_bytes ? left : snapshots->tier[tier].piece_bytes;
}

static void prepare(struct reel_snapshots *snapshots, unsigned tier,
		    struct reel_snapshot_buffer *buffer, uint64_t serial, unsigned piece)
{
	size_t offset = piece * snapshots->tier[tier].piece_bytes;
	reel_transfer *transfer = &buffer->transfer[piece];

	REEL_ASSERT(piece < snapshots->max_pieces);
	transfer->data = (char *)reel_snapshot_buffer_data(buffer) + offset;
	transfer->bytes = piece_bytes(snapshots, tier, offset);
	transfer->label = (struct reel_label){
		.tape = (uintptr_t)snapshots, .serial = serial, .slab_index = piece};
	transfer->done = finish;
	transfer->context = buffer;
}

/* Counts all pieces as moving before the first transfer starts: it may end at once. */
void reel_snapshot_buffer_start(struct reel_snapshots *snapshots, unsigned tier,
				struct reel_snapshot_buffer *buffer, uint64_t serial,
				const struct reel_extent *extent)
{
	reel_store *store = snapshots->tier[tier].store;
	unsigned pieces = reel_snapshot_pieces(snapshots, tier);

	REEL_ASSERT(reel_snapshots_are_locked(snapshots));
	REEL_ASSERT(store && serial && !reel_snapshot_buffer_is_moving(buffer));
	if (snapshots->tier[tier].registers)
		reel_store_register(store, buffer->slab->frame, buffer->slab->bytes);
	/*
	 * Relaxed, both: pairs with finish(). The store synchronizes its threads with the caller of
	 * reel_store_put() and reel_store_get(), and so makes both values visible there.
	 */
	atomic_store_explicit(&buffer->error, 0, memory_order_relaxed);
	atomic_store_explicit(&buffer->moving, pieces, memory_order_relaxed);
	for (unsigned piece = 0; piece < pieces; piece++) {
		prepare(snapshots, tier, buffer, serial, piece);
		if (!extent) {
			reel_store_put(store, &buffer->transfer[piece]);
		} else {
			buffer->transfer[piece].extent = extent[piece];
			reel_store_get(store, &buffer->transfer[piece]);
		}
	}
}

/*
 * Lets stores complete transfers that they hold back. It syncs all stores, since another slot may
 * have taken the awaited buffer meanwhile and transfer it to any of them.
 */
static void sync_stores(struct reel_snapshots *snapshots)
{
	reel_snapshots_lock(snapshots);
	for (unsigned tier = 0; tier < snapshots->tiers; tier++)
		if (snapshots->tier[tier].store)
			reel_store_sync(snapshots->tier[tier].store, 0);
	reel_snapshots_unlock(snapshots);
}

/* Ends the transfers of the buffer in the child of a fork, where no thread completes them. */
static void give_up(struct reel_snapshot_buffer *buffer)
{
	/* Relaxed, both: the child has no other thread that finish() could run on. */
	atomic_store_explicit(&buffer->error, -ECHILD, memory_order_relaxed);
	atomic_store_explicit(&buffer->moving, 0, memory_order_relaxed);
}

void reel_snapshot_buffer_await(struct reel_snapshots *snapshots,
				struct reel_snapshot_buffer *buffer)
{
	uint64_t since = reel_clock_ns();

	if (!reel_snapshot_buffer_is_moving(buffer))
		return;
	if (reel_process_is_child(snapshots->owner)) {
		give_up(buffer);
		return;
	}
	while (reel_snapshot_buffer_is_moving(buffer))
		if (!reel_wakeup_wait_for(&buffer->arrival, REEL_PATIENCE_MS))
			sync_stores(snapshots);
	reel_snapshots_lock(snapshots);
	snapshots->waits++;
	snapshots->wait_ns += reel_clock_ns() - since;
	reel_snapshots_unlock(snapshots);
}
