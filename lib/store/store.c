/* SPDX-License-Identifier: MIT */
/*
 * The functions that all stores share: a transfer on its way through layers, waiting for its end,
 * and the meaning of errors. The thread that starts a transfer enters its layers; the thread that
 * completes it leaves them, from the lowest to the highest. Each transfer is completed once.
 */
#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/assert.h"
#include "os/cancel.h"
#include "os/wakeup.h"
#include "shuffle.h"

int reel_store_error(int error)
{
	switch (error) {
	case -EDQUOT:
		return -ENOSPC;
	case -EPERM:
		return -EACCES;
	case -EAGAIN:
	case -EBUSY:
	case -EILSEQ:
	case -EINVAL:
	case -ENODATA:
	case -ENXIO:
	case -EOVERFLOW:
	case -ERANGE:
		return -EIO;
	default:
		return error;
	}
}

const char *reel_store_strerror(int error)
{
	switch (error) {
	case -EBADF:
		return "the program has closed the descriptor of the file, which it did not open";
	case -EBADMSG:
		return "it returned other bytes than were put";
	case -ECHILD:
		return "in the child of a fork the store is its parent's";
	default:
		return strerror(-error);
	}
}

const char *reel_layout_problem(struct reel_layout layout)
{
	if (layout.element < 1 || layout.element > REEL_SHUFFLE_MAX_ELEMENT)
		return "an element has 1 to 16 bytes";
	if (layout.stride && layout.element != 8)
		return "with a stride an element has 8 bytes";
	return NULL;
}

void reel_transfer_enter(reel_transfer *transfer, reel_store *layer, reel_layer_finish *finish,
			 void *own)
{
	unsigned entered = transfer->layers++;

	if (entered == REEL_MAX_LAYERS) {
		REEL_UNCANCELLED;

		fprintf(stderr, "reel: more than %d layers on a store\n", REEL_MAX_LAYERS);
		abort();
	}
	REEL_ASSERT(layer && finish);
	transfer->layer[entered].layer = layer;
	transfer->layer[entered].finish = finish;
	transfer->layer[entered].own = own;
}

/* A layer that restarts the transfer has entered it again; its completion comes later. */
void reel_transfer_complete(reel_transfer *transfer, int error)
{
	while (transfer->layers) {
		unsigned left = --transfer->layers;

		REEL_ASSERT(left < REEL_MAX_LAYERS);
		error = transfer->layer[left].finish(transfer->layer[left].layer, transfer,
						     transfer->layer[left].own, error);
		if (error == REEL_TRANSFER_RESTARTED)
			return;
	}
	REEL_ASSERT(transfer->done);
	transfer->error = error;
	transfer->done(transfer);
}

static void signal_end(reel_transfer *transfer)
{
	reel_wakeup_signal(transfer->context);
}

static int start_and_wait(reel_store *store, reel_transfer *transfer,
			  void (*start)(reel_store *, reel_transfer *))
{
	REEL_UNCANCELLED;
	struct reel_wakeup end;

	reel_wakeup_open(&end);
	transfer->done = signal_end;
	transfer->context = &end;
	start(store, transfer);
	while (!reel_wakeup_wait_for(&end, REEL_PATIENCE_MS))
		reel_store_sync(store, 0);
	reel_wakeup_close(&end);
	return transfer->error;
}

int reel_store_put_and_wait(reel_store *store, reel_transfer *transfer)
{
	return start_and_wait(store, transfer, store->verbs->put);
}

int reel_store_get_and_wait(reel_store *store, reel_transfer *transfer)
{
	return start_and_wait(store, transfer, store->verbs->get);
}

/* ---- Layers ---- */

reel_store *reel_layer_below(reel_store *store)
{
	return ((struct reel_layer *)store)->below;
}

int reel_layer_check(const reel_store *below)
{
	return below ? 0 : reel_fail(-EINVAL, "a layer needs a store to stand on, not NULL");
}

void reel_layer_drop(reel_store *store, struct reel_extent extent)
{
	reel_store_drop(reel_layer_below(store), extent);
}

int reel_layer_sync(reel_store *store, int64_t timeout_ns)
{
	return reel_store_sync(reel_layer_below(store), timeout_ns);
}

int reel_layer_register(reel_store *store, void *memory, size_t bytes)
{
	return reel_store_register(reel_layer_below(store), memory, bytes);
}

void reel_layer_unregister(reel_store *store, void *memory, size_t bytes)
{
	reel_store_unregister(reel_layer_below(store), memory, bytes);
}

int reel_layer_lock_open(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attributes;
	int error;

	/* Unreached: the attributes of glibc take no memory. */
	if (pthread_mutexattr_init(&attributes))
		return -ENOMEM;
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
	error = pthread_mutex_init(lock, &attributes);
	pthread_mutexattr_destroy(&attributes);
	return error ? -ENOMEM : 0;
}

void reel_store_close(reel_store *store)
{
	if (store)
		store->verbs->close(store);
}
