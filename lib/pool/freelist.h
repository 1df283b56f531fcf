/* SPDX-License-Identifier: MIT */
/*
 * The shared list of empty slabs: a lock-free stack for any number of threads that push and pop. An
 * entry is the first slab of a chain, which `below` links.
 *
 * A pop may read the link of a descriptor that another thread has popped meanwhile. That is
 * harmless: descriptors stay mapped as long as the pool lives, and the compare-and-swap of the late
 * pop fails, since each pop raises the list's tag. There is no function that pops all entries at
 * once: in Concurrency Kit 0.7.1 it does not raise the tag, so a concurrent pop could take a slab
 * that another thread owns.
 *
 *	void freelist_init(struct freelist *list, struct reel_slab *table);
 *	void freelist_push(struct freelist *list, struct reel_slab *slab);
 *	struct reel_slab *freelist_pop(struct freelist *list);    NULL: empty
 *	bool freelist_is_empty(const struct freelist *list);      a hint
 *
 * All reads and writes of a thread before its push happen before the reads and writes of another
 * thread after it has popped the same slab. All writes of a thread before its pop happen before a
 * later pop of another thread that finds the list empty.
 */
#ifndef REEL_LIB_FREELIST_H
#define REEL_LIB_FREELIST_H

#include "slab.h"
#include "os/yield.h"

#if REEL_POOL_CK
#include "freelist-ck.h"
#else
#include "freelist-c11.h"
#endif

#endif
