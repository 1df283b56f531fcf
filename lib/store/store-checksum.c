/* SPDX-License-Identifier: MIT */
/*
 * Layer: a header with the label of the put and a CRC of header and data, which is compared when
 * the data comes back. A get that does not match, or cannot be unpacked, is repeated once, since a
 * wire may have been at fault; after that it is -EBADMSG. A get whose header differs from the
 * header of its put never returns 0.
 *
 * A device moves data several times as fast as one thread computes checksums. So a layer on a store
 * that registers memory has threads of its own for them:
 *
 *	put()  ->  `puts`: checksum        ->  put() below
 *	get()  ->  get() below, completes  ->  `gets`: compare  ->  completes, or get() below
 *
 * `below_lock` makes one thread at a time call the store below, as stores expect. On other stores
 * the checksums are computed by the threads that call the layer or complete its transfers, and also
 * in the child of a fork, which has no threads of the layer.
 */
#include "store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "crc32c.h"
#include "os/assert.h"
#include "os/clock.h"
#include "os/process.h"
#include "transfer-threads.h"

#define MAGIC 0x6c656572u
#define HEADER_VERSION 1

/* All of the header is compared, so that each bit counts. */
struct header {
	uint32_t magic;
	uint32_t version;
	struct reel_label label;
	uint64_t bytes;
	uint64_t reserved[2];
	uint64_t crc; /* of the members above and of the data */
};

_Static_assert(sizeof(struct header) == REEL_HEADER_BYTES, "a header fills the ticket's");

static struct header header_of(const reel_transfer *transfer)
{
	struct header header = {
		.magic = MAGIC,
		.version = HEADER_VERSION,
		.label = transfer->label,
		.bytes = transfer->bytes,
	};

	header.crc = reel_crc32c(0, &header, offsetof(struct header, crc));
	header.crc = reel_crc32c((uint32_t)header.crc, transfer->data, transfer->bytes);
	return header;
}

uint64_t reel_transfer_checksum(const reel_transfer *transfer)
{
	struct header header;

	memcpy(&header, transfer->header, sizeof header);
	return header.crc;
}

uint64_t reel_checksum_of_put(const reel_transfer *transfer)
{
	return header_of(transfer).crc;
}

static bool is_sound(const reel_transfer *transfer)
{
	struct header header = header_of(transfer);

	return memcmp(transfer->header, &header, sizeof header) == 0;
}

/* ---- Threads ---- */

struct checksum {
	struct reel_layer layer;
	bool has_threads;
	pid_t owner; /* the process that has the threads */
	pthread_mutex_t below_lock;
	struct reel_transfer_threads puts, gets;
};

static struct checksum *checksum_of(reel_store *store)
{
	return (struct checksum *)store;
}

static bool uses_threads(const struct checksum *checksum)
{
	return checksum->has_threads && !reel_process_is_child(checksum->owner);
}

static void enter_below(struct checksum *checksum)
{
	if (uses_threads(checksum))
		pthread_mutex_lock(&checksum->below_lock);
}

static void leave_below(struct checksum *checksum)
{
	if (uses_threads(checksum))
		pthread_mutex_unlock(&checksum->below_lock);
}

/* ---- Verbs ---- */

static void put_checked(reel_store *store, reel_transfer *transfer)
{
	struct header header = header_of(transfer);

	memcpy(transfer->header, &header, sizeof header);
	enter_below(checksum_of(store));
	reel_store_put(reel_layer_below(store), transfer);
	leave_below(checksum_of(store));
}

static void checksum_put(reel_store *store, reel_transfer *transfer)
{
	if (uses_threads(checksum_of(store)))
		reel_transfer_queue_add(&checksum_of(store)->puts.queue, transfer);
	else
		put_checked(store, transfer);
}

static void start_get(reel_store *store, reel_transfer *transfer, reel_layer_finish *finish)
{
	/*
	 * Otherwise a store that brings no header back would pass with the header of an earlier
	 * get.
	 */
	memset(transfer->header, 0, sizeof transfer->header);
	reel_transfer_enter(transfer, store, finish, NULL);
	enter_below(checksum_of(store));
	reel_store_get(reel_layer_below(store), transfer);
	leave_below(checksum_of(store));
}

static int finish_second_get(reel_store *store, reel_transfer *transfer, void *own, int error)
{
	(void)store;
	(void)own;
	if (error)
		return error;
	return is_sound(transfer) ? 0 : -EBADMSG;
}

/* Returns whether the transfer has ended: it is not started again. */
static bool ends(reel_store *store, reel_transfer *transfer, int error)
{
	/* A codec below may be the first to see that the data is damaged. */
	if (error ? error != -EBADMSG : is_sound(transfer))
		return true;
	start_get(store, transfer, finish_second_get);
	return false;
}

static void compare(reel_store *store, reel_transfer *transfer)
{
	if (ends(store, transfer, transfer->error))
		reel_transfer_complete(transfer, transfer->error);
}

static int finish_get(reel_store *store, reel_transfer *transfer, void *own, int error)
{
	(void)own;
	if (!uses_threads(checksum_of(store)))
		return ends(store, transfer, error) ? error : REEL_TRANSFER_RESTARTED;
	transfer->error = error;
	reel_transfer_queue_add(&checksum_of(store)->gets.queue, transfer);
	return REEL_TRANSFER_RESTARTED;
}

static void checksum_get(reel_store *store, reel_transfer *transfer)
{
	start_get(store, transfer, finish_get);
}

static void checksum_drop(reel_store *store, struct reel_extent extent)
{
	enter_below(checksum_of(store));
	reel_layer_drop(store, extent);
	leave_below(checksum_of(store));
}
/*
 * A put goes from `puts` to the store below. A get goes from there to `gets`, and at most once back
 * to the store below. Each of them has a transfer before the one before it has let it go.
 */
static int checksum_sync(reel_store *store, int64_t timeout_ns)
{
	struct checksum *checksum = checksum_of(store);
	uint64_t began = reel_clock_ns();
	int error;

	if (!uses_threads(checksum))
		return reel_layer_sync(store, timeout_ns);
	error = reel_transfer_queue_wait(&checksum->puts.queue, timeout_ns);
	if (!error)
		error = reel_layer_sync(store, reel_clock_left(timeout_ns, began));
	if (!error)
		error = reel_transfer_queue_wait(&checksum->gets.queue,
						 reel_clock_left(timeout_ns, began));
	return error ? error : reel_layer_sync(store, reel_clock_left(timeout_ns, began));
}

static void checksum_capacity(reel_store *store, struct reel_store_capacity *capacity)
{
	struct checksum *checksum = checksum_of(store);

	enter_below(checksum);
	reel_store_get_capacity(reel_layer_below(store), capacity);
	leave_below(checksum);
	capacity->verified = true;
	if (checksum->has_threads && capacity->best_depth)
		capacity->best_depth += checksum->puts.count;
}

static void end_threads(struct checksum *checksum)
{
	if (!uses_threads(checksum))
		return;
	reel_transfer_threads_end(&checksum->puts);
	reel_transfer_threads_end(&checksum->gets);
	pthread_mutex_destroy(&checksum->below_lock);
}

static void checksum_close(reel_store *store)
{
	end_threads(checksum_of(store));
	reel_store_close(reel_layer_below(store));
	free(store);
}

static const struct reel_store_verbs verbs = {
	.name = "checksum",
	.put = checksum_put,
	.get = checksum_get,
	.drop = checksum_drop,
	.sync = checksum_sync,
	.capacity = checksum_capacity,
	.close = checksum_close,
	.register_memory = reel_layer_register,
	.unregister_memory = reel_layer_unregister,
};

/* Without threads of its own the layer works as on other stores. */
static void start_threads(struct checksum *checksum)
{
	reel_store *store = &checksum->layer.store;

	if (reel_layer_lock_open(&checksum->below_lock))
		return;
	checksum->owner = getpid();
	if (!reel_transfer_threads_start(&checksum->puts, store, put_checked, "reel-crc-out")) {
		checksum->has_threads = !reel_transfer_threads_start(&checksum->gets, store,
								     compare, "reel-crc-in");
		if (!checksum->has_threads)
			reel_transfer_threads_end(&checksum->puts);
	}
	if (!checksum->has_threads)
		pthread_mutex_destroy(&checksum->below_lock);
}

/* Decides for pools and snapshots whether a store gets a checksum. */
int reel_store_checksum_open(reel_store **store, reel_store *below)
{
	struct reel_store_capacity capacity;
	struct checksum *checksum;

	if (reel_layer_check(below))
		return -EINVAL;
	reel_store_get_capacity(below, &capacity);
	if (capacity.verified) {
		*store = below;
		return 0;
	}
	checksum = calloc(1, sizeof *checksum);
	if (!checksum)
		return reel_fail(-ENOMEM, "no memory for a checksum layer");
	checksum->layer.store.verbs = &verbs;
	checksum->layer.below = below;
	if (capacity.registers)
		start_threads(checksum);
	*store = &checksum->layer.store;
	return 0;
}

void reel_store_checksum_leave(reel_store *store)
{
	REEL_ASSERT(store->verbs == &verbs);
	end_threads(checksum_of(store));
	free(store);
}
