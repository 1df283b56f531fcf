/* SPDX-License-Identifier: MIT */
/*
 * The list in C11: one 64-bit word. Its low 24 bits are the index of the first entry (0: none, else
 * 1 + its place in the table), its upper 40 bits are the tag. At 50 million pops a second the tag
 * wraps after six hours. A pop goes wrong only if its thread sleeps exactly that long before its
 * compare-and-swap.
 */
#ifndef REEL_LIB_FREELIST_C11_H
#define REEL_LIB_FREELIST_C11_H

#include <stdalign.h>

#define REEL_FREELIST_IMPLEMENTATION "c11"
/* Mutants survive (constant): 2^20 descriptors fit into 23 bits, and 25 leave 39 for the tag. */
#define FREELIST_INDEX_BITS 24
/* Mutants survive (constant): 25 bits of index also fit. */
#define FREELIST_INDEX_MASK (((uint64_t)1 << FREELIST_INDEX_BITS) - 1)

struct freelist {
	alignas(64) _Atomic uint64_t head;
	struct reel_slab *table;
};

static inline void freelist_init(struct freelist *list, struct reel_slab *table)
{
	atomic_init(&list->head, 0);
	list->table = table;
}

static inline void freelist_push(struct freelist *list, struct reel_slab *slab)
{
	uint64_t index = (uint64_t)(slab - list->table) + 1;
	uint64_t head = atomic_load_explicit(&list->head, memory_order_relaxed);
	uint64_t changed;

	REEL_ASSERT(index > 0 && index <= FREELIST_INDEX_MASK);
	REEL_ASSERT(reel_slab_state_of(slab) == REEL_SLAB_EMPTY);
	do {
		atomic_store_explicit(&slab->next, (uint32_t)(head & FREELIST_INDEX_MASK),
				      memory_order_relaxed);
		reel_yield_point();
		changed = (head & ~FREELIST_INDEX_MASK) | index;
		/* Release: pairs with the acquire in freelist_pop(). Makes the chain visible. */
	} while (!atomic_compare_exchange_weak_explicit(&list->head, &head, changed,
							memory_order_release,
							memory_order_relaxed));
}

/* Acquire: pairs with the release in freelist_pop(), as the acquire there does. */
static inline bool freelist_is_empty(const struct freelist *list)
{
	return !(atomic_load_explicit(&list->head, memory_order_acquire) & FREELIST_INDEX_MASK);
}

/* Mutants survive (order): either the load or the exchange is enough. */
static inline struct reel_slab *freelist_pop(struct freelist *list)
{
	/*
	 * Acquire, here and on failure below: pairs with the release in freelist_push(). Makes
	 * `slab->next` visible. Release below: pairs with this acquire in another thread. A thread
	 * that finds the list empty sees the writes before the pop of the thread that took the last
	 * slab, such as `trimming` (trim.c).
	 */
	uint64_t head = atomic_load_explicit(&list->head, memory_order_acquire);

	while (head & FREELIST_INDEX_MASK) {
		struct reel_slab *slab = &list->table[(head & FREELIST_INDEX_MASK) - 1];
		uint64_t tag = (head & ~FREELIST_INDEX_MASK) + FREELIST_INDEX_MASK + 1;
		/* Relaxed: if another thread has changed the link, the exchange below fails. */
		uint32_t next = atomic_load_explicit(&slab->next, memory_order_relaxed);

		reel_yield_point();
		if (atomic_compare_exchange_weak_explicit(&list->head, &head, tag | next,
							  memory_order_acq_rel,
							  memory_order_acquire)) {
			REEL_ASSERT(reel_slab_state_of(slab) == REEL_SLAB_EMPTY);
			return slab;
		}
	}
	return NULL;
}

#endif
