/* SPDX-License-Identifier: MIT */
/*
 * Mappings: large pieces of address space from which frames are carved one after the other, so that
 * the slabs of a tape lie in ascending order and huge pages can back them. The system supplies
 * memory when a thread first touches a frame. Any thread carves, without a lock. A mapping stays
 * until the pool is destroyed.
 */
#include "config.h"

#include <stdlib.h>

#include "os/annotate.h"
#include "os/counter.h"
#include "os/os.h"
#include "pool.h"

#define MAPPING_BYTES ((size_t)64 << 20)

struct reel_mapping {
	struct reel_mapping *previous;
	char *memory;
	size_t bytes;
	_Atomic size_t carved;
};

/* Maps fewer bytes, but at least `least`, if the system refuses more. */
static bool map_memory(struct reel_mapping *mapping, size_t least)
{
	size_t bytes = MAPPING_BYTES > least ? MAPPING_BYTES : least;

	do {
		mapping->memory = reel_os_map(bytes, REEL_HUGE_PAGE);
		mapping->bytes = bytes;
		bytes = bytes / 2 > least ? bytes / 2 : least;
	} while (!mapping->memory && mapping->bytes > least);
	REEL_ASSERT(mapping->bytes >= least);
	return mapping->memory != NULL;
}

/*
 * A huge page that reaches beyond one frame makes memory resident that was not charged. Only a pool
 * with a budget must avoid that.
 */
static bool huge_pages_serve(const struct reel_pool *pool)
{
	bool bounded = reel_soft_budget(pool) != SIZE_MAX;

	return !(pool->flags & REEL_POOL_SMALL_PAGES) &&
	       (pool->slab_bytes % REEL_HUGE_PAGE == 0 || !bounded);
}

static struct reel_mapping *mapping_open(struct reel_pool *pool, size_t least)
{
	struct reel_mapping *mapping = calloc(1, sizeof *mapping);

	if (!mapping)
		return NULL;
	if (!map_memory(mapping, least)) {
		free(mapping);
		return NULL;
	}
	if (huge_pages_serve(pool))
		reel_os_want_huge_pages(mapping->memory, mapping->bytes);
	return mapping;
}

static void mapping_close(struct reel_mapping *mapping)
{
	REEL_ASSERT(atomic_load_explicit(&mapping->carved, memory_order_relaxed) <= mapping->bytes);
	reel_annotate_allow(mapping->memory, mapping->bytes);
	reel_os_unmap(mapping->memory, mapping->bytes);
	free(mapping);
}

char *reel_mapping_carve(struct reel_pool *pool, size_t bytes)
{
	/*
	 * Acquire, here and on failure below: pairs with the release below. Makes the mapping
	 * visible.
	 */
	struct reel_mapping *mapping = atomic_load_explicit(&pool->mapping, memory_order_acquire);

	REEL_ASSERT(bytes == pool->slab_bytes);
	for (;;) {
		struct reel_mapping *fresh;
		size_t at;

		if (mapping && reel_counter_claim(&mapping->carved, bytes, mapping->bytes, &at)) {
			REEL_ASSERT((uintptr_t)(mapping->memory + at) % 64 == 0);
			return mapping->memory + at;
		}
		fresh = mapping_open(pool, bytes);
		if (!fresh)
			return NULL;
		fresh->previous = mapping;
		reel_yield_point();
		/* Release: pairs with the acquire above. */
		if (atomic_compare_exchange_strong_explicit(&pool->mapping, &mapping, fresh,
							    memory_order_release,
							    memory_order_acquire))
			mapping = fresh;
		else
			mapping_close(fresh);
	}
}

void reel_mapping_unmap_all(struct reel_pool *pool)
{
	/* Relaxed: no other thread uses the pool any more. */
	struct reel_mapping *mapping = atomic_load_explicit(&pool->mapping, memory_order_relaxed);

	while (mapping) {
		struct reel_mapping *previous = mapping->previous;

		mapping_close(mapping);
		mapping = previous;
	}
}
