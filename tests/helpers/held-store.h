/* SPDX-License-Identifier: MIT */
/* A store in memory that completes no put until it is told to, and holds gets if it is to. */
#ifndef HELD_STORE_H
#define HELD_STORE_H

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <reel/extend.h>

struct held_store {
	reel_store store;
	pthread_mutex_t lock;
	bool holds;
	bool holds_gets;
	reel_transfer *puts;
	reel_transfer *gets;
	_Atomic unsigned transfers;
};

static inline void held_put(reel_store *store, reel_transfer *transfer)
{
	struct held_store *held = (struct held_store *)store;
	void *copy = malloc(transfer->bytes);
	bool holds;

	if (!copy)
		abort();
	memcpy(copy, transfer->data, transfer->bytes);
	transfer->extent.location = (uintptr_t)copy;
	transfer->extent.bytes = transfer->bytes;
	pthread_mutex_lock(&held->lock);
	holds = held->holds;
	if (holds) {
		transfer->next = held->puts;
		held->puts = transfer;
	}
	held->transfers++;
	pthread_mutex_unlock(&held->lock);
	if (!holds)
		reel_transfer_complete(transfer, 0);
}

static inline void held_get(reel_store *store, reel_transfer *transfer)
{
	struct held_store *held = (struct held_store *)store;
	bool holds;

	memcpy(transfer->data, (void *)(uintptr_t)transfer->extent.location, transfer->bytes);
	pthread_mutex_lock(&held->lock);
	holds = held->holds_gets;
	if (holds) {
		transfer->next = held->gets;
		held->gets = transfer;
	}
	pthread_mutex_unlock(&held->lock);
	if (!holds)
		reel_transfer_complete(transfer, 0);
}

static inline void held_drop(reel_store *store, struct reel_extent extent)
{
	(void)store;
	free((void *)(uintptr_t)extent.location);
}

static inline int held_sync(reel_store *store, int64_t timeout_ns)
{
	struct held_store *held = (struct held_store *)store;
	bool idle;

	(void)timeout_ns;
	pthread_mutex_lock(&held->lock);
	idle = !held->puts && !held->gets;
	pthread_mutex_unlock(&held->lock);
	return idle ? 0 : -ETIMEDOUT;
}

static inline void held_capacity(reel_store *store, struct reel_store_capacity *capacity)
{
	(void)store;
	*capacity = (struct reel_store_capacity){.total_bytes = UINT64_MAX, .align = 1,
						 .best_depth = 4, .verified = true};
}

static inline void held_close(reel_store *store)
{
	pthread_mutex_destroy(&((struct held_store *)store)->lock);
	free(store);
}

static inline unsigned held_transfers(struct held_store *held)
{
	return held->transfers;
}

/* All that is held of these, which are held no more. */
static inline reel_transfer *held_take(struct held_store *held, bool *holds, reel_transfer **list)
{
	reel_transfer *transfers;

	pthread_mutex_lock(&held->lock);
	*holds = false;
	transfers = *list;
	*list = NULL;
	pthread_mutex_unlock(&held->lock);
	return transfers;
}

static inline void held_complete(reel_transfer *transfer, int error)
{
	while (transfer) {
		reel_transfer *next = transfer->next;

		reel_transfer_complete(transfer, error);
		transfer = next;
	}
}

/* Complete all puts that are held with this error, and hold none any more. */
static inline void held_end(struct held_store *held, int error)
{
	reel_transfer *puts = held_take(held, &held->holds, &held->puts);

	for (reel_transfer *put = puts; put && error; put = put->next)
		free((void *)(uintptr_t)put->extent.location);
	held_complete(puts, error);
}

static inline void held_release(struct held_store *held)
{
	held_end(held, 0);
}

static inline void held_hold_gets(struct held_store *held)
{
	pthread_mutex_lock(&held->lock);
	held->holds_gets = true;
	pthread_mutex_unlock(&held->lock);
}

/* How many gets are held. */
static inline unsigned held_gets(struct held_store *held)
{
	unsigned n = 0;

	pthread_mutex_lock(&held->lock);
	for (const reel_transfer *transfer = held->gets; transfer; transfer = transfer->next)
		n++;
	pthread_mutex_unlock(&held->lock);
	return n;
}

/* The same of gets. */
static inline void held_end_gets(struct held_store *held, int error)
{
	held_complete(held_take(held, &held->holds_gets, &held->gets), error);
}

static inline struct held_store *held_open(void)
{
	static const struct reel_store_verbs verbs = {
		.name = "held", .put = held_put, .get = held_get, .drop = held_drop,
		.sync = held_sync, .capacity = held_capacity, .close = held_close};
	struct held_store *held = calloc(1, sizeof *held);

	if (!held)
		abort();
	held->store.verbs = &verbs;
	held->holds = true;
	pthread_mutex_init(&held->lock, NULL);
	return held;
}

#endif
