/* SPDX-License-Identifier: MIT */
/* A store on the heap, for checks; see reel/extend.h. A block is its header and its bytes. */
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
		char *copy = static_cast<char *>(malloc(sizeof transfer->header + transfer->bytes));

		if (copy) {
			memcpy(copy, transfer->header, sizeof transfer->header);
			memcpy(copy + sizeof transfer->header, transfer->data, transfer->bytes);
			of(store)->puts++;
			of(store)->held++;
		}
		transfer->extent.location = (uint64_t)(uintptr_t)copy;
		transfer->extent.bytes = transfer->bytes;
		reel_transfer_complete(transfer, copy ? 0 : -ENOMEM);
	}
	static void get(reel_store *store, reel_transfer *transfer)
	{
		const char *copy = (const char *)(uintptr_t)transfer->extent.location;

		memcpy(transfer->header, copy, sizeof transfer->header);
		memcpy(transfer->data, copy + sizeof transfer->header, transfer->bytes);
		of(store)->gets++;
		reel_transfer_complete(transfer, 0);
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
