/* SPDX-License-Identifier: MIT */
/*
 * Mappings: large pieces of address space from which frames are carved one after the other, so that
 * the slabs of a tape lie in ascending order and huge pages can back them. The system supplies
 * memory when a thread first touches a frame; where the pool chooses pages by their costs, the
 * first block of a frame is touched here, and timed. Any thread carves, without a lock. A mapping
 * stays until the pool is destroyed.
 */
#include "config.h"

#include <stdlib.h>

#include "os/annotate.h"
#include "os/clock.h"
#include "os/counter.h"
#include "os/os.h"
#include "page-kind.h"
#include "pool.h"

#define MAPPING_BYTES ((size_t)64 << 20)

/* Maximum number of blocks of one frame that are timed. */
#define MAX_TIMED 4

struct reel_mapping {
	struct reel_mapping *previous;
	char *memory;
	size_t bytes;
	enum reel_page_kind pages; /* requested for the mapping; single frames have other ones */
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

static void ask_for(enum reel_page_kind kind, char *address, size_t bytes)
{
	if (kind == REEL_PAGES_HUGE)
		reel_os_want_huge_pages(address, bytes);
	else
		reel_os_want_small_pages(address, bytes);
}

/* Makes a block of the size of a huge page resident, in pages of the cheaper kind. */
static enum reel_page_kind time_block(char *block, enum reel_page_kind asked)
{
	enum reel_page_kind kind = reel_page_kind_next(&reel_page_costs);
	uint64_t begin, ns;

	REEL_ASSERT((uintptr_t)block % REEL_HUGE_PAGE == 0);
	if (kind != asked)
		ask_for(kind, block, REEL_HUGE_PAGE);
	begin = reel_clock_ns();
	reel_os_populate(block, REEL_HUGE_PAGE);
	ns = reel_clock_ns() - begin;
	reel_page_kind_note(&reel_page_costs, kind, ns * 1000 / REEL_HUGE_PAGE);
	return kind;
}

/*
 * Chooses the pages of a fresh frame, for which pages of the kind `asked` were requested. Touches
 * the first block, and more blocks only while the choice changes: the threads that fill a large
 * frame touch the rest, each on its own node. A block costs no more here than in the pushes.
 */
static void choose_pages(char *frame, size_t bytes, enum reel_page_kind asked)
{
	enum reel_page_kind timed, chosen;
	size_t at = 0;

	do {
		timed = time_block(frame + at, asked);
		at += REEL_HUGE_PAGE;
		chosen = reel_page_kind_cheaper(&reel_page_costs);
	} while (chosen != timed && at < MAX_TIMED * REEL_HUGE_PAGE &&
		 bytes - at >= REEL_HUGE_PAGE);
	REEL_ASSERT(at <= bytes);
	if (chosen != asked && at < bytes)
		ask_for(chosen, frame + at, bytes - at);
}

/*
 * Frames below the size of a huge page are not aligned either, since no huge page can back them.
 */
char *reel_mapping_of_large(struct reel_pool *pool, size_t bytes, bool is_aligned)
{
	bool huge = bytes >= REEL_HUGE_PAGE;
	char *frame = reel_os_map(bytes, huge && is_aligned ? REEL_HUGE_PAGE : 1);
	enum reel_page_kind asked = REEL_PAGES_HUGE;
	bool chooses = huge && pool->chooses_pages;

	if (!frame || !huge || pool->flags & REEL_POOL_SMALL_PAGES)
		return frame;
	if (chooses)
		asked = reel_page_kind_cheaper(&reel_page_costs);
	ask_for(asked, frame, bytes);
	if (chooses && is_aligned)
		choose_pages(frame, bytes, asked);
	return frame;
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

/* Smaller frames share a block, so their pages cannot differ. */
static bool chooses_pages(const struct reel_pool *pool)
{
	return pool->chooses_pages && pool->slab_bytes % REEL_HUGE_PAGE == 0;
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
	if (chooses_pages(pool))
		mapping->pages = reel_page_kind_cheaper(&reel_page_costs);
	if (huge_pages_serve(pool))
		ask_for(mapping->pages, mapping->memory, mapping->bytes);
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
			if (chooses_pages(pool))
				choose_pages(mapping->memory + at, bytes, mapping->pages);
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
