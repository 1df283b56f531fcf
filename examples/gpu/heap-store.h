/* SPDX-License-Identifier: MIT */
/* A store on the heap, for checks that are linked without libreel; see reel/store.h. */
#ifndef REEL_EXAMPLES_HEAP_STORE_H
#define REEL_EXAMPLES_HEAP_STORE_H

#include <cstdlib>
#include <cstring>

#include <reel/extend.h>

struct heap_store {
	reel_store store;
	uint64_t puts, gets, held;

	static heap_store *of(reel_store *store)
	{
		return reinterpret_cast<heap_store *>(store);
	}
	static void put(reel_store *store, reel_transfer *transfer)
	{
		void *copy = malloc(transfer->bytes);

		if (copy) {
			memcpy(copy, transfer->data, transfer->bytes);
			of(store)->puts++;
			of(store)->held++;
		}
		transfer->extent.location = (uint64_t)(uintptr_t)copy;
		transfer->extent.bytes = transfer->bytes;
		finish(transfer, copy ? 0 : -ENOMEM);
	}
	static void get(reel_store *store, reel_transfer *transfer)
	{
		memcpy(transfer->data, (void *)(uintptr_t)transfer->extent.location,
		       transfer->bytes);
		of(store)->gets++;
		finish(transfer, 0);
	}
	/* No layer stands on it. */
	static void finish(reel_transfer *transfer, int error)
	{
		transfer->error = error;
		transfer->done(transfer);
	}
	static void drop(reel_store *store, reel_extent extent)
	{
		free((void *)(uintptr_t)extent.location);
		of(store)->held--;
	}
	static int sync(reel_store *, int64_t)
	{
		return 0;
	}
	static void capacity(reel_store *, reel_store_capacity *capacity)
	{
		memset(capacity, 0, sizeof *capacity);
		capacity->total_bytes = UINT64_MAX;
		capacity->align = 1;
	}
	static void close(reel_store *)
	{
	}

	heap_store() : puts(0), gets(0), held(0)
	{
		static reel_store_verbs verbs;

		verbs.name = "heap";
		verbs.put = put;
		verbs.get = get;
		verbs.drop = drop;
		verbs.sync = sync;
		verbs.capacity = capacity;
		verbs.close = close;
		store.verbs = &verbs;
	}
};

#endif
