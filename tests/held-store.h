/* SPDX-License-Identifier: MIT */
/* A store in memory that completes nothing until it is told to. */
#ifndef HELD_STORE_H
#define HELD_STORE_H

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <reel/store.h>

struct held_store {
	reel_store store;
	pthread_mutex_t lock;
	bool holds;
	reel_transfer *puts;
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
	transfer->place.location = (uintptr_t)copy;
	transfer->place.bytes = transfer->bytes;
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
	(void)store;
	memcpy(transfer->data, (void *)(uintptr_t)transfer->place.location, transfer->bytes);
	reel_transfer_complete(transfer, 0);
}

static inline void held_drop(reel_store *store, struct reel_place place)
{
	(void)store;
	free((void *)(uintptr_t)place.location);
}

static inline int held_sync(reel_store *store, int64_t timeout_ns)
{
	struct held_store *held = (struct held_store *)store;
	bool idle;

	(void)timeout_ns;
	pthread_mutex_lock(&held->lock);
	idle = !held->puts;
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

/* Complete all that is held with this error, and hold nothing any more. */
static inline void held_end(struct held_store *held, int error)
{
	reel_transfer *transfer;

	pthread_mutex_lock(&held->lock);
	held->holds = false;
	transfer = held->puts;
	held->puts = NULL;
	pthread_mutex_unlock(&held->lock);
	while (transfer) {
		reel_transfer *next = transfer->next;

		if (error)
			free((void *)(uintptr_t)transfer->place.location);
		reel_transfer_complete(transfer, error);
		transfer = next;
	}
}

static inline void held_let_go(struct held_store *held)
{
	held_end(held, 0);
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
