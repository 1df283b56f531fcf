/* SPDX-License-Identifier: MIT */
/*
 * Mappings: large pieces of address space from which frames are carved one after the other, so that
 * the slabs of a growing tape lie in one ascending stream and huge pages can back them. Memory is
 * taken when a frame is first touched. Any thread carves, without a lock; one thread unmaps when no
 * other uses the pool. Frames never overlap, and a mapping stays until its pool is closed.
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

/*
 * Where address space is scarce, maps the largest piece that there is, of at least `least` bytes.
 */
static bool map_memory(struct reel_mapping *mapping, size_t least)
{
	size_t bytes = MAPPING_BYTES > least ? MAPPING_BYTES : least;

	do {
		mapping->memory = reel_os_map(bytes, REEL_HUGE_PAGE);
		mapping->bytes = bytes;
		bytes = bytes / 2 > least ? bytes / 2 : least;
	} while (!mapping->memory && mapping->bytes > least);
	return mapping->memory != NULL;
}

/*
 * A huge page that is not part of one frame makes memory resident that was not charged. This
 * matters only to a pool with a budget.
 */
static bool huge_pages_serve(const struct reel_pool *pool)
{
	bool bounded = pool->soft_budget != SIZE_MAX;

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
	reel_annotate_allow(mapping->memory, mapping->bytes);
	reel_os_unmap(mapping->memory, mapping->bytes);
	free(mapping);
}

static char *carve(struct reel_mapping *mapping, size_t bytes)
{
	size_t at;

	if (!reel_counter_claim(&mapping->carved, bytes, mapping->bytes, &at))
		return NULL;
	REEL_ASSERT(at + bytes <= mapping->bytes && (uintptr_t)(mapping->memory + at) % 64 == 0);
	return mapping->memory + at;
}

char *reel_mapping_carve(struct reel_pool *pool, size_t bytes)
{
	/*
	 * Acquire, here and on failure below: pairs with the release below. The members are
	 * visible.
	 */
	struct reel_mapping *mapping = atomic_load_explicit(&pool->mapping, memory_order_acquire);

	for (;;) {
		struct reel_mapping *fresh;

		char *piece = mapping ? carve(mapping, bytes) : NULL;

		if (piece)
			return piece;
		fresh = mapping_open(pool, bytes);
		if (!fresh)
			return NULL;
		REEL_ASSERT(fresh->bytes >= bytes);
		fresh->previous = mapping;
		reel_yield_point();
		/* Release: pairs with the acquire above, of another thread. */
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
	/* Relaxed is enough: no other thread uses the pool. */
	struct reel_mapping *mapping = atomic_load_explicit(&pool->mapping, memory_order_relaxed);

	while (mapping) {
		struct reel_mapping *previous = mapping->previous;

		mapping_close(mapping);
		mapping = previous;
	}
}
