/* SPDX-License-Identifier: MIT */
/*
 * The list with Concurrency Kit's ck_stack: head and generation in 16 bytes, changed by a
 * double-width compare-and-swap. This file avoids five problems of version 0.7.1:
 *
 * - ck_stack_batch_pop_mpmc() does not raise the generation. This file does not use it.
 * - ck_stack_push_mpmc() orders only stores before the push. freelist_push() adds a release fence,
 *   which also orders reads of the slab.
 * - ck_stack_t is aligned to 8 bytes, and the swap needs 16. `struct freelist` aligns it.
 * - ck_stack_pop_mpmc() tries again with the values that a failed swap returned. On aarch64 (ldxp
 *   without its stxp) these may be a head and a generation of different moments. freelist_pop()
 *   uses ck_stack_trypop_mpmc(), which reads both again, the generation first.
 * - ck_stack_trypop_mpmc() does not exist on every machine. configure tests for it.
 */
#ifndef REEL_LIB_FREELIST_CK_H
#define REEL_LIB_FREELIST_CK_H

#include <ck_pr.h>
#include <ck_stack.h>
#include <stdalign.h>
#include <stddef.h>

#include "os/annotate.h"

#ifndef CK_F_STACK_TRYPOP_MPMC
#error "this Concurrency Kit has no ck_stack_trypop_mpmc here: configure --with-pool=c11"
#endif

#define REEL_FREELIST_IMPLEMENTATION "ck"

struct freelist {
	alignas(64) ck_stack_t stack;
};

_Static_assert(offsetof(struct freelist, stack) % 16 == 0, "the 16-byte swap needs alignment");
_Static_assert(sizeof(ck_stack_entry_t) == sizeof(void *) &&
		       offsetof(struct reel_slab, next) == 0,
	       "a descriptor begins with the list's link");

/*
 * The exchanges are assembly, which ThreadSanitizer does not see. Annotations tell it their order,
 * and to ignore the links, which a late pop may read while another thread changes them.
 */

static inline void freelist_init(struct freelist *list, struct reel_slab *table)
{
	(void)table;
	ck_stack_init(&list->stack);
	/* ck_stack adds to the generation as to a pointer. For a null pointer that is undefined. */
	/* Mutants survive (constant, statement): any other number works; UBSan alone sees 0. */
	list->stack.generation = (char *)(uintptr_t)1;
}

static inline void freelist_push(struct freelist *list, struct reel_slab *slab)
{
	REEL_ASSERT(reel_slab_state_of(slab) == REEL_SLAB_EMPTY);
	reel_annotate_release(slab);
	/* Release: pairs with the acquire fence in freelist_pop(). Makes the chain visible. */
	/* Mutants survive (statement): on x86 the exchanges order all accesses. */
	ck_pr_fence_release();
	reel_yield_point();
	reel_annotate_ignore_begin();
	ck_stack_push_mpmc(&list->stack, (ck_stack_entry_t *)(void *)slab);
	reel_annotate_ignore_end();
}

static inline bool freelist_is_empty(const struct freelist *list)
{
	bool is_empty = !ck_pr_load_ptr(&list->stack.head);

	/* Acquire: pairs with the release fence in freelist_pop(). */
	/* Mutants survive (statement): on x86 no load overtakes another one. */
	ck_pr_fence_acquire();
	return is_empty;
}

static inline struct reel_slab *freelist_pop(struct freelist *list)
{
	ck_stack_entry_t *entry = NULL;

	/* Release: pairs with the acquire fence below, of a thread that finds the list empty. */
	/* Mutants survive (statement): on x86 the exchanges order all accesses. */
	ck_pr_fence_release();
	reel_yield_point();
	reel_annotate_ignore_begin();
	while (ck_pr_load_ptr(&list->stack.head) && !ck_stack_trypop_mpmc(&list->stack, &entry))
		ck_pr_stall();
	reel_annotate_ignore_end();
	/* Acquire: pairs with the release fence in freelist_push(). */
	/* Mutants survive (statement): on x86 the exchanges order all accesses. */
	ck_pr_fence_acquire();
	if (entry)
		reel_annotate_acquire(entry);
	REEL_ASSERT(!entry ||
		    reel_slab_state_of((struct reel_slab *)(void *)entry) == REEL_SLAB_EMPTY);
	return (struct reel_slab *)(void *)entry;
}

#endif
