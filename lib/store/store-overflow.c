/* SPDX-License-Identifier: MIT */
/*
 * Layer: two stores. A put goes to the first store and, if that fails, to the second. The lowest
 * bit of a location says which store has the extent.
 *
 * A put that goes on to the second store does so in a thread of the first one, which may not come
 * between two verbs of the caller: `second_store_lock` keeps the verbs of the second store apart.
 */
#include "store.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "os/assert.h"
#include "os/clock.h"
#include "os/process.h"

#define LOCATION_BITS 56
#define MAX_LOCATION_BELOW (((uint64_t)1 << (LOCATION_BITS - 1)) - 1)

struct overflow {
	reel_store store;
	reel_store *part[2];
	/* In the child of a fork the lock may be held for ever, by a thread of the parent. */
	pid_t owner;
	pthread_mutex_t second_store_lock;
};

static void lock(struct overflow *overflow, unsigned which)
{
	REEL_ASSERT(which <= 1);
	if (which)
		pthread_mutex_lock(&overflow->second_store_lock);
}

static void unlock(struct overflow *overflow, unsigned which)
{
	if (which)
		pthread_mutex_unlock(&overflow->second_store_lock);
}

static void drop_from(struct overflow *overflow, unsigned which, struct reel_extent extent)
{
	REEL_ASSERT(which <= 1);
	lock(overflow, which);
	reel_store_drop(overflow->part[which], extent);
	unlock(overflow, which);
}

static int mark(struct overflow *overflow, unsigned which, reel_transfer *transfer)
{
	if (transfer->extent.location > MAX_LOCATION_BELOW) {
		drop_from(overflow, which, transfer->extent);
		return -EOVERFLOW;
	}
	transfer->extent.location = transfer->extent.location << 1 | which;
	REEL_ASSERT((transfer->extent.location & 1) == which && which <= 1);
	return 0;
}

static int finish_second_put(reel_store *store, reel_transfer *transfer, void *own, int error)
{
	(void)own;
	return error ? error : mark((struct overflow *)store, 1, transfer);
}

static int finish_first_put(reel_store *store, reel_transfer *transfer, void *own, int error)
{
	struct overflow *overflow = (struct overflow *)store;

	(void)own;
	if (!error)
		return mark(overflow, 0, transfer);
	lock(overflow, 1);
	reel_transfer_enter(transfer, store, finish_second_put, NULL);
	reel_store_put(overflow->part[1], transfer);
	unlock(overflow, 1);
	return REEL_TRANSFER_RESTARTED;
}

static void overflow_put(reel_store *store, reel_transfer *transfer)
{
	struct overflow *overflow = (struct overflow *)store;

	if (reel_process_is_child(overflow->owner)) {
		reel_transfer_complete(transfer, -ECHILD);
		return;
	}
	reel_transfer_enter(transfer, store, finish_first_put, NULL);
	reel_store_put(overflow->part[0], transfer);
}

static int finish_get(reel_store *store, reel_transfer *transfer, void *own, int error)
{
	struct overflow *overflow = (struct overflow *)store;

	REEL_ASSERT(own == overflow->part[0] || own == overflow->part[1]);
	transfer->extent.location = transfer->extent.location << 1 | (own == overflow->part[1]);
	return error;
}

static void overflow_get(reel_store *store, reel_transfer *transfer)
{
	struct overflow *overflow = (struct overflow *)store;
	unsigned which = transfer->extent.location & 1;

	if (reel_process_is_child(overflow->owner)) {
		reel_transfer_complete(transfer, -ECHILD);
		return;
	}
	transfer->extent.location >>= 1;
	reel_transfer_enter(transfer, store, finish_get, overflow->part[which]);
	lock(overflow, which);
	reel_store_get(overflow->part[which], transfer);
	unlock(overflow, which);
}

static void overflow_drop(reel_store *store, struct reel_extent extent)
{
	struct overflow *overflow = (struct overflow *)store;
	unsigned which = extent.location & 1;

	extent.location >>= 1;
	if (!reel_process_is_child(overflow->owner))
		drop_from(overflow, which, extent);
}

/* Syncs the first store first, since a put that it refuses meanwhile goes to the second. */
static int overflow_sync(reel_store *store, int64_t timeout_ns)
{
	struct overflow *overflow = (struct overflow *)store;
	uint64_t began = reel_clock_ns();
	int error = reel_store_sync(overflow->part[0], timeout_ns);

	return error ? error
		     : reel_store_sync(overflow->part[1], reel_clock_left(timeout_ns, began));
}

static uint64_t sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

#define MORE(a, b) ((a) > (b) ? (a) : (b))

/*
 * 0 is no limit. The smaller limit holds, since a put that one store refuses for its size is lost.
 */
static size_t min_limit(size_t first, size_t second)
{
	return first && (!second || first < second) ? first : second;
}

static void overflow_capacity(reel_store *store, struct reel_store_capacity *capacity)
{
	struct overflow *overflow = (struct overflow *)store;
	unsigned locked = !reel_process_is_child(overflow->owner);
	struct reel_store_capacity first, second;

	reel_store_get_capacity(overflow->part[0], &first);
	lock(overflow, locked);
	reel_store_get_capacity(overflow->part[1], &second);
	unlock(overflow, locked);
	*capacity = (struct reel_store_capacity){
		.total_bytes = sum(first.total_bytes, second.total_bytes),
		.used_bytes = sum(first.used_bytes, second.used_bytes),
		.align = MORE(first.align, second.align),
		.max_bytes = min_limit(first.max_bytes, second.max_bytes),
		.best_depth = MORE(first.best_depth, second.best_depth),
		.verified = first.verified && second.verified,
		.registers = first.registers || second.registers,
	};
}

/* Registers with both stores, since the memory may go to either. */
static int overflow_register(reel_store *store, void *memory, size_t bytes)
{
	struct overflow *overflow = (struct overflow *)store;
	int first = reel_store_register(overflow->part[0], memory, bytes);
	int second = reel_store_register(overflow->part[1], memory, bytes);

	return first ? second : 0;
}

static void overflow_unregister(reel_store *store, void *memory, size_t bytes)
{
	struct overflow *overflow = (struct overflow *)store;

	reel_store_unregister(overflow->part[0], memory, bytes);
	reel_store_unregister(overflow->part[1], memory, bytes);
}

static void overflow_close(reel_store *store)
{
	struct overflow *overflow = (struct overflow *)store;

	reel_store_close(overflow->part[0]);
	reel_store_close(overflow->part[1]);
	pthread_mutex_destroy(&overflow->second_store_lock);
	free(overflow);
}

static const struct reel_store_verbs verbs = {
	.name = "overflow",
	.put = overflow_put,
	.get = overflow_get,
	.drop = overflow_drop,
	.sync = overflow_sync,
	.capacity = overflow_capacity,
	.close = overflow_close,
	.register_memory = overflow_register,
	.unregister_memory = overflow_unregister,
};

int reel_store_overflow_open(reel_store **store, reel_store *first, reel_store *second)
{
	struct overflow *overflow;

	if (reel_layer_check(first) || reel_layer_check(second))
		return -EINVAL;
	if (first == second)
		return reel_fail(-EINVAL,
				 "an overflow store of one store twice: each is closed once");
	overflow = calloc(1, sizeof *overflow);
	if (!overflow || reel_layer_lock_open(&overflow->second_store_lock)) {
		free(overflow);
		return reel_fail(-ENOMEM, "no memory for a layer of two stores");
	}
	overflow->store.verbs = &verbs;
	overflow->owner = getpid();
	overflow->part[0] = first;
	overflow->part[1] = second;
	*store = &overflow->store;
	return 0;
}
