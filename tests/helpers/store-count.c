/* SPDX-License-Identifier: MIT */
#include "store/store.h"

#include "helpers/store-count.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Counters are relaxed: they order nothing, and have no partner but their readers. */
struct count {
	struct reel_layer layer;
	_Atomic uint64_t puts, gets, drops;
	_Atomic uint64_t put_bytes, got_bytes;
	_Atomic uint64_t failed_puts, failed_gets;
	bool registers;
};

static void add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static uint64_t value_of(_Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static int finish_put(reel_store *store, reel_transfer *transfer, void *own, int error)
{
	struct count *count = (struct count *)store;

	(void)own;
	if (error)
		add(&count->failed_puts, 1);
	else
		add(&count->put_bytes, transfer->bytes);
	return error;
}

static int finish_get(reel_store *store, reel_transfer *transfer, void *own, int error)
{
	struct count *count = (struct count *)store;

	(void)own;
	if (error)
		add(&count->failed_gets, 1);
	else
		add(&count->got_bytes, transfer->bytes);
	return error;
}

static void count_put(reel_store *store, reel_transfer *transfer)
{
	struct count *count = (struct count *)store;

	add(&count->puts, 1);
	reel_transfer_enter(transfer, store, finish_put, NULL);
	reel_store_put(count->layer.below, transfer);
}

static void count_get(reel_store *store, reel_transfer *transfer)
{
	struct count *count = (struct count *)store;

	add(&count->gets, 1);
	reel_transfer_enter(transfer, store, finish_get, NULL);
	reel_store_get(count->layer.below, transfer);
}

static void count_drop(reel_store *store, struct reel_extent extent)
{
	struct count *count = (struct count *)store;

	add(&count->drops, 1);
	reel_store_drop(count->layer.below, extent);
}

static void count_capacity(reel_store *store, struct reel_store_capacity *capacity)
{
	struct count *count = (struct count *)store;

	reel_store_get_capacity(count->layer.below, capacity);
	capacity->registers |= count->registers;
}

static void count_close(reel_store *store)
{
	struct count *count = (struct count *)store;

	reel_store_close(count->layer.below);
	free(count);
}

static int count_register(reel_store *store, void *memory, size_t bytes)
{
	return ((struct count *)store)->registers ? 0 : reel_layer_register(store, memory, bytes);
}

static const struct reel_store_verbs verbs = {
	.name = "count",
	.put = count_put,
	.get = count_get,
	.drop = count_drop,
	.sync = reel_layer_sync,
	.capacity = count_capacity,
	.close = count_close,
	.register_memory = count_register,
	.unregister_memory = reel_layer_unregister,
};

int reel_store_count_open(reel_store **store, reel_store *below)
{
	struct count *count;

	if (reel_layer_check(below))
		return -EINVAL;
	count = calloc(1, sizeof *count);
	if (!count)
		return reel_fail(-ENOMEM, "no memory for a counting layer");
	count->layer.store.verbs = &verbs;
	count->layer.below = below;
	*store = &count->layer.store;
	return 0;
}

void reel_store_count_registers(reel_store *store)
{
	((struct count *)store)->registers = true;
}

void reel_store_get_counts(reel_store *store, struct reel_store_counts *counts)
{
	struct count *count = (struct count *)store;

	*counts = (struct reel_store_counts){
		.puts = value_of(&count->puts),
		.gets = value_of(&count->gets),
		.drops = value_of(&count->drops),
		.put_bytes = value_of(&count->put_bytes),
		.got_bytes = value_of(&count->got_bytes),
		.failed_puts = value_of(&count->failed_puts),
		.failed_gets = value_of(&count->failed_gets),
	};
}
