/* SPDX-License-Identifier: MIT */
/*
 * The list in C11: one 64-bit word, the index of the first entry in the low 24
 * bits (0: none, else 1 + place in the descriptor table), the tag above. At 50
 * million pops a second 40 bits of tag wrap after six hours; a popper would
 * have to sleep exactly that long between its load and its compare-and-swap.
 */
#ifndef REEL_LIB_FREELIST_C11_H
#define REEL_LIB_FREELIST_C11_H

#include <stdalign.h>

#define REEL_FREELIST_IMPLEMENTATION "c11"
#define FREELIST_INDEX_BITS 24
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

	REEL_ASSERT(slab >= list->table && index <= FREELIST_INDEX_MASK);
	do {
		atomic_store_explicit(&slab->next, (uint32_t)(head & FREELIST_INDEX_MASK),
				      memory_order_relaxed);
		reel_yield_point();
		changed = (head & ~FREELIST_INDEX_MASK) | index;
		/* Release: pairs with the acquire in freelist_pop(). The chain is visible there. */
	} while (!atomic_compare_exchange_weak_explicit(&list->head, &head, changed,
							memory_order_release,
							memory_order_relaxed));
}

static inline struct reel_slab *freelist_pop(struct freelist *list)
{
	/* Acquire, here and on failure below: pairs with the release in freelist_push(). */
	uint64_t head = atomic_load_explicit(&list->head, memory_order_acquire);

	while (head & FREELIST_INDEX_MASK) {
		struct reel_slab *slab = &list->table[(head & FREELIST_INDEX_MASK) - 1];
		uint64_t tag = (head & ~FREELIST_INDEX_MASK) + FREELIST_INDEX_MASK + 1;
		/* Relaxed is enough: if the link has changed since, the exchange fails. */
		uint32_t next = atomic_load_explicit(&slab->next, memory_order_relaxed);

		reel_yield_point();
		if (atomic_compare_exchange_weak_explicit(&list->head, &head, tag | next,
							  memory_order_acquire,
							  memory_order_acquire))
			return slab;
	}
	return NULL;
}

#endif
