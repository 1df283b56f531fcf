/* SPDX-License-Identifier: MIT */
/*
 * Verbs for stores of tests. A leaf that does nothing: null_put() to null_close(); a test replaces
 * the verbs that it looks at. A layer that changes nothing: pass_put() to pass_close(), whose store
 * begins with struct passing_store.
 */
#ifndef TESTS_STORE_VERBS_H
#define TESTS_STORE_VERBS_H

#include <reel/extend.h>

static inline void null_put(reel_store *store, reel_transfer *transfer)
{
	(void)store;
	transfer->extent = (struct reel_extent){0, transfer->bytes};
	reel_transfer_complete(transfer, 0);
}

static inline void null_drop(reel_store *store, struct reel_extent extent)
{
	(void)store;
	(void)extent;
}

static inline int null_sync(reel_store *store, int64_t timeout_ns)
{
	(void)store;
	(void)timeout_ns;
	return 0;
}

static inline void null_capacity(reel_store *store, struct reel_store_capacity *capacity)
{
	(void)store;
	*capacity = (struct reel_store_capacity){
		.total_bytes = UINT64_MAX, .align = 1, .best_depth = 1};
}

static inline void null_close(reel_store *store)
{
	(void)store;
}

struct passing_store {
	reel_store store;
	reel_store *below;
};

static inline reel_store *store_below(reel_store *store)
{
	return ((struct passing_store *)store)->below;
}

static inline void pass_put(reel_store *store, reel_transfer *transfer)
{
	reel_store_put(store_below(store), transfer);
}

static inline void pass_get(reel_store *store, reel_transfer *transfer)
{
	reel_store_get(store_below(store), transfer);
}

static inline void pass_drop(reel_store *store, struct reel_extent extent)
{
	reel_store_drop(store_below(store), extent);
}

static inline int pass_sync(reel_store *store, int64_t timeout_ns)
{
	return reel_store_sync(store_below(store), timeout_ns);
}

static inline void pass_capacity(reel_store *store, struct reel_store_capacity *capacity)
{
	reel_store_get_capacity(store_below(store), capacity);
}

/* The struct is the test's. */
static inline void pass_close(reel_store *store)
{
	reel_store_close(store_below(store));
}

#endif
