/* SPDX-License-Identifier: MIT */
#include "store.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Which store a place is in is its location's lowest bit. */
#define LOCATION_BITS 56
#define MAX_LOCATION_BELOW (((uint64_t)1 << (LOCATION_BITS - 1)) - 1)

/*
 * A put that falls over to the second store does so on a thread of the first
 * one, which may not come between two verbs of the caller's. The lock is
 * recursive since a transfer may be over, and start anew, within a verb.
 */
struct tier {
	reel_store store;
	reel_store *part[2];
	pid_t owner;
	pthread_mutex_t second_is_called;
};

/* A lock that a thread held at a fork is held for ever in the child, which has no such thread. */
static bool is_in_child(const struct tier *tier)
{
	return getpid() != tier->owner;
}

static void lock(struct tier *tier, unsigned which)
{
	if (which)
		pthread_mutex_lock(&tier->second_is_called);
}

static void unlock(struct tier *tier, unsigned which)
{
	if (which)
		pthread_mutex_unlock(&tier->second_is_called);
}

static void drop_from(struct tier *tier, unsigned which, struct reel_place place)
{
	lock(tier, which);
	reel_store_drop(tier->part[which], place);
	unlock(tier, which);
}

static int mark(struct tier *tier, unsigned which, reel_transfer *transfer)
{
	if (transfer->place.location > MAX_LOCATION_BELOW) {
		drop_from(tier, which, transfer->place);
		return -EOVERFLOW;
	}
	transfer->place.location = transfer->place.location << 1 | which;
	return 0;
}

static int finish_second_put(reel_store *store, reel_transfer *transfer, void *own, int error)
{
	(void)own;
	return error ? error : mark((struct tier *)store, 1, transfer);
}

static int finish_first_put(reel_store *store, reel_transfer *transfer, void *own, int error)
{
	struct tier *tier = (struct tier *)store;

	(void)own;
	if (!error)
		return mark(tier, 0, transfer);
	lock(tier, 1);
	reel_transfer_enter(transfer, store, finish_second_put, NULL);
	reel_store_put(tier->part[1], transfer);
	unlock(tier, 1);
	return REEL_TRANSFER_RESTARTED;
}

static void tier_put(reel_store *store, reel_transfer *transfer)
{
	struct tier *tier = (struct tier *)store;

	if (is_in_child(tier)) {
		reel_transfer_complete(transfer, -ECHILD);
		return;
	}
	reel_transfer_enter(transfer, store, finish_first_put, NULL);
	reel_store_put(tier->part[0], transfer);
}

static int finish_get(reel_store *store, reel_transfer *transfer, void *own, int error)
{
	struct tier *tier = (struct tier *)store;

	transfer->place.location = transfer->place.location << 1 | (own == tier->part[1]);
	return error;
}

static void tier_get(reel_store *store, reel_transfer *transfer)
{
	struct tier *tier = (struct tier *)store;
	unsigned which = transfer->place.location & 1;

	if (is_in_child(tier)) {
		reel_transfer_complete(transfer, -ECHILD);
		return;
	}
	transfer->place.location >>= 1;
	reel_transfer_enter(transfer, store, finish_get, tier->part[which]);
	lock(tier, which);
	reel_store_get(tier->part[which], transfer);
	unlock(tier, which);
}

static void tier_drop(reel_store *store, struct reel_place place)
{
	struct tier *tier = (struct tier *)store;
	unsigned which = place.location & 1;

	place.location >>= 1;
	if (!is_in_child(tier))
		drop_from(tier, which, place);
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The first one first: what it refuses in the meantime goes to the second. */
static int tier_sync(reel_store *store, int64_t timeout_ns)
{
	struct tier *tier = (struct tier *)store;
	int64_t start = now_ns();
	int error = reel_store_sync(tier->part[0], timeout_ns);

	if (error)
		return error;
	if (timeout_ns >= 0) {
		int64_t elapsed = now_ns() - start;

		timeout_ns = elapsed < timeout_ns ? timeout_ns - elapsed : 0;
	}
	return reel_store_sync(tier->part[1], timeout_ns);
}

static uint64_t sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

#define MORE(a, b) ((a) > (b) ? (a) : (b))

/* 0 is no limit. What the second store cannot take has nowhere to go from the first. */
static size_t min_limit(size_t first, size_t second)
{
	return first && (!second || first < second) ? first : second;
}

static void tier_capacity(reel_store *store, struct reel_store_capacity *capacity)
{
	struct tier *tier = (struct tier *)store;
	unsigned locked = !is_in_child(tier);
	struct reel_store_capacity first, second;

	reel_store_get_capacity(tier->part[0], &first);
	lock(tier, locked);
	reel_store_get_capacity(tier->part[1], &second);
	unlock(tier, locked);
	*capacity = (struct reel_store_capacity){
		.total_bytes = sum(first.total_bytes, second.total_bytes),
		.used_bytes = sum(first.used_bytes, second.used_bytes),
		.align = MORE(first.align, second.align),
		.best_bytes = MORE(first.best_bytes, second.best_bytes),
		.max_bytes = min_limit(first.max_bytes, second.max_bytes),
		.best_depth = MORE(first.best_depth, second.best_depth),
		.verified = first.verified && second.verified,
		.adopts = first.adopts || second.adopts,
	};
}

/* Each may hold what goes there. */
static int tier_adopt(reel_store *store, void *memory, size_t bytes)
{
	struct tier *tier = (struct tier *)store;
	int first = reel_store_adopt(tier->part[0], memory, bytes);
	int second = reel_store_adopt(tier->part[1], memory, bytes);

	return first ? second : 0;
}

static void tier_release(reel_store *store, void *memory, size_t bytes)
{
	struct tier *tier = (struct tier *)store;

	reel_store_release(tier->part[0], memory, bytes);
	reel_store_release(tier->part[1], memory, bytes);
}

static void tier_close(reel_store *store)
{
	struct tier *tier = (struct tier *)store;

	reel_store_close(tier->part[0]);
	reel_store_close(tier->part[1]);
	pthread_mutex_destroy(&tier->second_is_called);
	free(tier);
}

static const struct reel_store_verbs verbs = {
	.name = "tier",
	.put = tier_put,
	.get = tier_get,
	.drop = tier_drop,
	.sync = tier_sync,
	.capacity = tier_capacity,
	.close = tier_close,
	.adopt = tier_adopt,
	.release = tier_release,
};

static int make_recursive_lock(pthread_mutex_t *mutex)
{
	pthread_mutexattr_t attributes;
	int error;

	if (pthread_mutexattr_init(&attributes))
		return -ENOMEM;
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
	error = pthread_mutex_init(mutex, &attributes);
	pthread_mutexattr_destroy(&attributes);
	return error ? -ENOMEM : 0;
}

static bool is_verified(reel_store *store)
{
	struct reel_store_capacity capacity;

	reel_store_get_capacity(store, &capacity);
	return capacity.verified;
}

/*
 * If one of the stores is verified, the other one gets a checksum: one above both of them would
 * check the data of the first a second time.
 */
static int verify_both(struct tier *tier)
{
	bool first = is_verified(tier->part[0]);
	reel_store **other = &tier->part[first ? 1 : 0];

	if (first == is_verified(tier->part[1]))
		return 0;
	return reel_store_checksum_open(other, *other);
}

/* The checksum comes last, so that on failure the stores are as they were. */
int reel_store_tier_open(reel_store **store, reel_store *first, reel_store *second)
{
	struct tier *tier;

	if (reel_layer_check(first) || reel_layer_check(second))
		return -EINVAL;
	if (first == second)
		return reel_store_refuse(-EINVAL, "a tier of one store twice: each is closed once");
	tier = calloc(1, sizeof *tier);
	if (!tier || make_recursive_lock(&tier->second_is_called)) {
		free(tier);
		return reel_store_refuse(-ENOMEM, "no memory for a layer of two stores");
	}
	tier->store.verbs = &verbs;
	tier->owner = getpid();
	tier->part[0] = first;
	tier->part[1] = second;
	if (verify_both(tier)) {
		pthread_mutex_destroy(&tier->second_is_called);
		free(tier);
		return -ENOMEM;
	}
	*store = &tier->store;
	return 0;
}
