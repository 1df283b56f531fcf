/* SPDX-License-Identifier: MIT */
/*
 * A store in memory that completes its transfers late, in any order, on a thread
 * of its own, and sees what it may not be given: a slab that changes while it is
 * put, a place that it has not, two transfers of one place.
 */
#ifndef LATE_STORE_H
#define LATE_STORE_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <reel/store.h>

enum { LATE_PLACES = 1 << 16, LATE_PENDING = 64 };

struct late_place {
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
	struct late_place place[LATE_PLACES];
	unsigned places;
	unsigned free_place[LATE_PLACES];
	unsigned free_places;
	unsigned put_fails_every;
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
	struct late_place *place = &late->place[transfer->place.location];

	place->under_way = false;
	if (get) {
		memcpy(transfer->data, place->copy, place->bytes);
		memcpy(transfer->header, place->header, sizeof place->header);
		late->wrongs += place->bytes != transfer->bytes;
		return 0;
	}
	late->wrongs += memcmp(place->copy, transfer->data, place->bytes) != 0;
	if (!place->fails)
		return 0;
	free(place->copy);
	place->copy = NULL;
	late->free_place[late->free_places++] = (unsigned)transfer->place.location;
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
	at = late->free_places ? late->free_place[--late->free_places] : late->places++;
	if (at >= LATE_PLACES)
		abort();
	late->place[at].copy = malloc(transfer->bytes);
	late->place[at].bytes = transfer->bytes;
	memcpy(late->place[at].copy, transfer->data, transfer->bytes);
	memcpy(late->place[at].header, transfer->header, sizeof transfer->header);
	late->wrongs += late->place[at].under_way;
	late->place[at].under_way = true;
	transfer->place.location = at;
	transfer->place.bytes = transfer->bytes;
	late->puts++;
	late->place[at].fails = late->put_fails_every && late->puts % late->put_fails_every == 0;
	late->used++;
	late_add(late, transfer, false);
	pthread_mutex_unlock(&late->lock);
}

static inline void late_get(reel_store *store, reel_transfer *transfer)
{
	struct late_store *late = (struct late_store *)store;
	struct late_place *place = &late->place[transfer->place.location];

	pthread_mutex_lock(&late->lock);
	late->wrongs += place->under_way || !place->copy;
	place->under_way = true;
	/* What is read too early is not what was put. */
	memset(transfer->data, 0x5a, transfer->bytes);
	late->gets++;
	late_add(late, transfer, true);
	pthread_mutex_unlock(&late->lock);
}

static inline void late_drop(reel_store *store, struct reel_place place)
{
	struct late_store *late = (struct late_store *)store;

	pthread_mutex_lock(&late->lock);
	late->wrongs += late->place[place.location].under_way || !late->place[place.location].copy;
	free(late->place[place.location].copy);
	late->place[place.location].copy = NULL;
	late->free_place[late->free_places++] = (unsigned)place.location;
	late->used--;
	pthread_mutex_unlock(&late->lock);
}

/* Fail every so many puts from now on; 0: none. */
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
	for (unsigned i = 0; i < late->places; i++)
		free(late->place[i].copy);
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
