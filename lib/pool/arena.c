/* SPDX-License-Identifier: MIT */
/*
 * Arenas: large pieces of address space from which frames are carved one after
 * the other, so that the slabs of a tape that grows lie in one ascending stream
 * and huge pages can back them. Memory is taken when a frame is first touched.
 */
#include "config.h"

#include <stdlib.h>

#include "os/annotate.h"
#include "claim.h"
#include "os/os.h"
#include "pool.h"

#define ARENA_BYTES ((size_t)64 << 20)

struct reel_arena {
	struct reel_arena *previous;
	char *memory;
	size_t bytes;
	_Atomic size_t carved;
};

/* Where address space is scarce, the largest that there is. */
static bool map_memory(struct reel_arena *arena, size_t least)
{
	size_t bytes = ARENA_BYTES > least ? ARENA_BYTES : least;

	do {
		arena->memory = reel_os_map(bytes, REEL_HUGE_PAGE);
		arena->bytes = bytes;
		bytes = bytes / 2 > least ? bytes / 2 : least;
	} while (!arena->memory && arena->bytes > least);
	return arena->memory != NULL;
}

/*
 * A huge page that is not all of one frame makes memory resident that was not
 * charged, which matters to none but a pool with a budget.
 */
static bool huge_pages_serve(const struct reel_pool *pool)
{
	bool bounded = pool->soft_budget != SIZE_MAX;

	return !(pool->flags & REEL_POOL_SMALL_PAGES) &&
	       (pool->slab_bytes % REEL_HUGE_PAGE == 0 || !bounded);
}

static struct reel_arena *arena_open(struct reel_pool *pool, size_t least)
{
	struct reel_arena *arena = calloc(1, sizeof *arena);

	if (!arena)
		return NULL;
	if (!map_memory(arena, least)) {
		free(arena);
		return NULL;
	}
	if (huge_pages_serve(pool))
		reel_os_want_huge_pages(arena->memory, arena->bytes);
	return arena;
}

static void arena_close(struct reel_arena *arena)
{
	reel_annotate_allow(arena->memory, arena->bytes);
	reel_os_unmap(arena->memory, arena->bytes);
	free(arena);
}

static char *carve(struct reel_arena *arena, size_t bytes)
{
	size_t at;

	return reel_claim(&arena->carved, bytes, arena->bytes, &at) ? arena->memory + at : NULL;
}

char *reel_arena_carve(struct reel_pool *pool, size_t bytes)
{
	/* Acquire, here and on failure below: pairs with the release below. */
	struct reel_arena *arena = atomic_load_explicit(&pool->arena, memory_order_acquire);

	for (;;) {
		struct reel_arena *fresh;

		char *piece = arena ? carve(arena, bytes) : NULL;

		if (piece)
			return piece;
		fresh = arena_open(pool, bytes);
		if (!fresh)
			return NULL;
		fresh->previous = arena;
		reel_yield_point();
		/* Release: publishes the arena's members to the acquire above. */
		if (atomic_compare_exchange_strong_explicit(&pool->arena, &arena, fresh,
							    memory_order_release,
							    memory_order_acquire))
			arena = fresh;
		else
			arena_close(fresh);
	}
}

void reel_arena_unmap_all(struct reel_pool *pool)
{
	/* Relaxed: nobody else uses the pool any more. */
	struct reel_arena *arena = atomic_load_explicit(&pool->arena, memory_order_relaxed);

	while (arena) {
		struct reel_arena *previous = arena->previous;

		arena_close(arena);
		arena = previous;
	}
}
