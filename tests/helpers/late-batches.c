/* SPDX-License-Identifier: MIT */
/*
 * The late store for tests in C++: it takes two slabs of theirs at once, so that batches are many.
 */
#include "late-batches.h"

#include "late-store.h"

static void small_capacity(reel_store *store, struct reel_store_capacity *capacity)
{
	late_capacity(store, capacity);
	capacity->max_bytes = LATE_BATCH_BYTES;
}

static void close_and_free(reel_store *store)
{
	late_close(store);
	free(store);
}

reel_store *late_batches_open(uint64_t seed, unsigned put_fails_every)
{
	static struct reel_store_verbs verbs;
	struct late_store *late = late_open(seed);

	verbs = *late->store.verbs;
	verbs.capacity = small_capacity;
	verbs.close = close_and_free;
	late->store.verbs = &verbs;
	late_fail(late, put_fails_every);
	return &late->store;
}

unsigned late_batches_wrongs(const reel_store *store)
{
	return ((const struct late_store *)store)->wrongs;
}

unsigned late_batches_used(const reel_store *store)
{
	return ((const struct late_store *)store)->used;
}

unsigned late_batches_puts(const reel_store *store)
{
	return ((const struct late_store *)store)->puts;
}
