/* SPDX-License-Identifier: MIT */
/*
 * A store in memory that completes its transfers late, in any order, on a thread
 * of its own, and sees wrong calls: a slab that changes while it is
 * put, an extent that it has not, two transfers of one extent.
 */
#ifndef LATE_STORE_H
#define LATE_STORE_H

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <reel/extend.h>

enum { LATE_EXTENTS = 1 << 20, LATE_PENDING = 64 };

struct late_extent {
	void *copy;
	uint64_t header[REEL_HEADER_BYTES / 8];
	size_t bytes;
	bool under_way;
	bool fails;
};

struct late_store {
	reel_store store;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct {
		reel_transfer *transfer;
		bool get;
	} pending[LATE_PENDING];
	unsigned pendings, completing;
	bool closing;
	pid_t process;
	uint64_t random;
	struct late_extent extent[LATE_EXTENTS];
	unsigned extents;
	unsigned free_extent[LATE_EXTENTS];
	unsigned free_extents;
	unsigned put_fails_every;
	int pause_ms; /* before each transfer ends */
	size_t align;
	/* For the test to read. */
	_Atomic unsigned puts, gets, used, wrongs;
};

static inline uint64_t late_random(struct late_store *late)
{
	late->random ^= late->random << 13;
	late->random ^= late->random >> 7;
	late->random ^= late->random << 17;
	return late->random;
}

static inline int late_finish(struct late_store *late, reel_transfer *transfer, bool get)
{
	struct late_extent *extent = &late->extent[transfer->extent.location];

	extent->under_way = false;
	if (get) {
		/* A layer above that mixes extents up may name a larger one. */
		memcpy(transfer->data, extent->copy,
		       extent->bytes < transfer->bytes ? extent->bytes : transfer->bytes);
		memcpy(transfer->header, extent->header, sizeof extent->header);
		late->wrongs += extent->bytes != transfer->bytes;
		return 0;
	}
	late->wrongs += memcmp(extent->copy, transfer->data, extent->bytes) != 0;
	if (!extent->fails)
		return 0;
	free(extent->copy);
	extent->copy = NULL;
	late->free_extent[late->free_extents++] = (unsigned)transfer->extent.location;
	late->used--;
	return -28; /* -ENOSPC */
}

static inline void *late_run(void *argument)
{
	struct late_store *late = argument;

	pthread_mutex_lock(&late->lock);
	for (;;) {
		while (!late->pendings && !late->closing)
			pthread_cond_wait(&late->changed, &late->lock);
		if (!late->pendings)
			break;
		if (late_random(late) % 4 == 0) {
			pthread_mutex_unlock(&late->lock);
			sched_yield();
			pthread_mutex_lock(&late->lock);
		}
		unsigned which = (unsigned)(late_random(late) % late->pendings);
		reel_transfer *transfer = late->pending[which].transfer;
		bool get = late->pending[which].get;
		late->pending[which] = late->pending[--late->pendings];
		int error = late_finish(late, transfer, get);
		late->completing++;
		pthread_mutex_unlock(&late->lock);
		if (late->pause_ms)
			poll(NULL, 0, late->pause_ms);
		reel_transfer_complete(transfer, error);
		pthread_mutex_lock(&late->lock);
		late->completing--;
		pthread_cond_broadcast(&late->changed);
	}
	pthread_mutex_unlock(&late->lock);
	return NULL;
}

static inline void late_add(struct late_store *late, reel_transfer *transfer, bool get)
{
	while (late->pendings == LATE_PENDING)
		pthread_cond_wait(&late->changed, &late->lock);
	late->pending[late->pendings].transfer = transfer;
	late->pending[late->pendings++].get = get;
	pthread_cond_broadcast(&late->changed);
}

static inline void late_put(reel_store *store, reel_transfer *transfer)
{
	struct late_store *late = (struct late_store *)store;
	unsigned at;

	pthread_mutex_lock(&late->lock);
	at = late->free_extents ? late->free_extent[--late->free_extents] : late->extents++;
	if (at >= LATE_EXTENTS)
		abort();
	late->extent[at].copy = malloc(transfer->bytes);
	late->extent[at].bytes = transfer->bytes;
	memcpy(late->extent[at].copy, transfer->data, transfer->bytes);
	memcpy(late->extent[at].header, transfer->header, sizeof transfer->header);
	late->wrongs += late->extent[at].under_way;
	late->extent[at].under_way = true;
	transfer->extent.location = at;
	transfer->extent.bytes = transfer->bytes;
	late->puts++;
	late->extent[at].fails = late->put_fails_every && late->puts % late->put_fails_every == 0;
	late->used++;
	late_add(late, transfer, false);
	pthread_mutex_unlock(&late->lock);
}

static inline void late_get(reel_store *store, reel_transfer *transfer)
{
	struct late_store *late = (struct late_store *)store;
	struct late_extent *extent = &late->extent[transfer->extent.location];

	pthread_mutex_lock(&late->lock);
	late->wrongs += extent->under_way || !extent->copy;
	extent->under_way = true;
	/* A block that is read too early has other bytes than were put. */
	memset(transfer->data, 0x5a, transfer->bytes);
	late->gets++;
	late_add(late, transfer, true);
	pthread_mutex_unlock(&late->lock);
}

static inline void late_drop(reel_store *store, struct reel_extent extent)
{
	struct late_store *late = (struct late_store *)store;

	pthread_mutex_lock(&late->lock);
	late->wrongs +=
		late->extent[extent.location].under_way || !late->extent[extent.location].copy;
	free(late->extent[extent.location].copy);
	late->extent[extent.location].copy = NULL;
	late->free_extent[late->free_extents++] = (unsigned)extent.location;
	late->used--;
	pthread_mutex_unlock(&late->lock);
}

/* Fail puts at this distance from now on; 0: none. */
static inline void late_fail(struct late_store *late, unsigned every)
{
	pthread_mutex_lock(&late->lock);
	late->put_fails_every = every;
	pthread_mutex_unlock(&late->lock);
}

static inline int late_sync(reel_store *store, int64_t timeout_ns)
{
	struct late_store *late = (struct late_store *)store;

	(void)timeout_ns;
	pthread_mutex_lock(&late->lock);
	while (late->pendings || late->completing)
		pthread_cond_wait(&late->changed, &late->lock);
	pthread_mutex_unlock(&late->lock);
	return 0;
}

static inline void late_capacity(reel_store *store, struct reel_store_capacity *capacity)
{
	*capacity = (struct reel_store_capacity){
		.total_bytes = UINT64_MAX, .align = ((struct late_store *)store)->align,
		.best_depth = 4, .verified = true};
}

/* The struct stays for the test to look at, and is freed by it. */
static inline void late_close(reel_store *store)
{
	struct late_store *late = (struct late_store *)store;

	if (getpid() != late->process)
		return;
	pthread_mutex_lock(&late->lock);
	late->closing = true;
	pthread_cond_broadcast(&late->changed);
	pthread_mutex_unlock(&late->lock);
	pthread_join(late->thread, NULL);
	for (unsigned i = 0; i < late->extents; i++)
		free(late->extent[i].copy);
}

static inline struct late_store *late_open(uint64_t seed)
{
	static const struct reel_store_verbs verbs = {
		.name = "late", .put = late_put, .get = late_get, .drop = late_drop,
		.sync = late_sync, .capacity = late_capacity, .close = late_close};
	struct late_store *late = calloc(1, sizeof *late);

	if (!late)
		abort();
	late->store.verbs = &verbs;
	late->random = seed | 1;
	late->align = 1;
	late->process = getpid();
	pthread_mutex_init(&late->lock, NULL);
	pthread_cond_init(&late->changed, NULL);
	if (pthread_create(&late->thread, NULL, late_run, late))
		abort();
	return late;
}

#endif
