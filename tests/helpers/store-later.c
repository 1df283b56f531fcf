/* SPDX-License-Identifier: MIT */
#include <config.h>

#include <reel/extend.h>

#include "store-later.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "os/cancel.h"

#define THREADS 2

struct later {
	reel_store store;
	reel_store *below;
	pthread_mutex_t below_is_called;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	reel_transfer *puts, *gets;
	unsigned under_way;
	bool ends;
	unsigned threads;
	pthread_t thread[THREADS];
};

/* Completions of the store below are kept until it is no longer being called. */
static int keep_error(reel_store *store, reel_transfer *transfer, void *own, int error)
{
	(void)store;
	(void)transfer;
	*(int *)own = error;
	return REEL_TRANSFER_RESTARTED;
}

static void carry_out(struct later *later, reel_transfer *transfer, bool put)
{
	int error = -EIO;

	pthread_mutex_lock(&later->below_is_called);
	reel_transfer_enter(transfer, &later->store, keep_error, &error);
	if (put)
		reel_store_put(later->below, transfer);
	else
		reel_store_get(later->below, transfer);
	pthread_mutex_unlock(&later->below_is_called);
	reel_transfer_complete(transfer, error);
}

/* The newest one first. */
static reel_transfer *take(reel_transfer **list)
{
	reel_transfer *transfer = *list;

	if (transfer)
		*list = transfer->next;
	return transfer;
}

static void *serve(void *argument)
{
	struct later *later = argument;

	pthread_mutex_lock(&later->lock);
	while (!later->ends || later->gets || later->puts) {
		bool put = !later->gets;
		reel_transfer *transfer = take(put ? &later->puts : &later->gets);

		if (!transfer) {
			pthread_cond_wait(&later->changed, &later->lock);
			continue;
		}
		pthread_mutex_unlock(&later->lock);
		carry_out(later, transfer, put);
		pthread_mutex_lock(&later->lock);
		later->under_way--;
		pthread_cond_broadcast(&later->changed);
	}
	pthread_mutex_unlock(&later->lock);
	return NULL;
}

static void start(struct later *later, reel_transfer **list, reel_transfer *transfer)
{
	pthread_mutex_lock(&later->lock);
	transfer->next = *list;
	*list = transfer;
	later->under_way++;
	pthread_cond_broadcast(&later->changed);
	pthread_mutex_unlock(&later->lock);
}

static void later_put(reel_store *store, reel_transfer *transfer)
{
	struct later *later = (struct later *)store;

	start(later, &later->puts, transfer);
}

static void later_get(reel_store *store, reel_transfer *transfer)
{
	struct later *later = (struct later *)store;

	start(later, &later->gets, transfer);
}

static void later_drop(reel_store *store, struct reel_extent place)
{
	struct later *later = (struct later *)store;

	pthread_mutex_lock(&later->below_is_called);
	reel_store_drop(later->below, place);
	pthread_mutex_unlock(&later->below_is_called);
}

static int later_sync(reel_store *store, int64_t timeout_ns)
{
	REEL_UNCANCELLED;
	struct later *later = (struct later *)store;
	int error = 0;

	pthread_mutex_lock(&later->lock);
	while (later->under_way && timeout_ns)
		pthread_cond_wait(&later->changed, &later->lock);
	if (later->under_way)
		error = -ETIMEDOUT;
	pthread_mutex_unlock(&later->lock);
	return error;
}

static void later_capacity(reel_store *store, struct reel_store_capacity *capacity)
{
	struct later *later = (struct later *)store;

	pthread_mutex_lock(&later->below_is_called);
	reel_store_get_capacity(later->below, capacity);
	pthread_mutex_unlock(&later->below_is_called);
}

static void later_close(reel_store *store)
{
	REEL_UNCANCELLED;
	struct later *later = (struct later *)store;

	pthread_mutex_lock(&later->lock);
	later->ends = true;
	pthread_cond_broadcast(&later->changed);
	pthread_mutex_unlock(&later->lock);
	while (later->threads)
		pthread_join(later->thread[--later->threads], NULL);
	reel_store_close(later->below);
	pthread_mutex_destroy(&later->below_is_called);
	pthread_mutex_destroy(&later->lock);
	pthread_cond_destroy(&later->changed);
	free(later);
}

static const struct reel_store_verbs verbs = {
	.name = "later",
	.put = later_put,
	.get = later_get,
	.drop = later_drop,
	.sync = later_sync,
	.capacity = later_capacity,
	.close = later_close,
};

reel_store *store_later_open(reel_store *below)
{
	struct later *later = below ? calloc(1, sizeof *later) : NULL;

	if (!later)
		return NULL;
	later->store.verbs = &verbs;
	later->below = below;
	pthread_mutex_init(&later->below_is_called, NULL);
	pthread_mutex_init(&later->lock, NULL);
	pthread_cond_init(&later->changed, NULL);
	while (later->threads < THREADS &&
	       !pthread_create(&later->thread[later->threads], NULL, serve, later))
		later->threads++;
	if (later->threads == THREADS)
		return &later->store;
	later_close(&later->store);
	return NULL;
}
