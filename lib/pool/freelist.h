/* SPDX-License-Identifier: MIT */
/*
 * The shared list of empty slabs: a lock-free stack for any number of threads
 * that push and pop. An entry is the head of a chain of slabs (a magazine).
 *
 * A popper may read the link of a descriptor that another thread has popped
 * meanwhile. That is harmless, since descriptors are never unmapped while the
 * pool lives, and its compare-and-swap then fails, since every pop raises the
 * list's tag. Taking all entries at once is not offered: in Concurrency Kit
 * 0.7.1 it leaves the tag as it is, and a pop in flight then succeeds on a
 * slab that somebody else owns.
 *
 *	void freelist_init(struct freelist *list, struct reel_slab *table);
 *	void freelist_push(struct freelist *list, struct reel_slab *slab);
 *	struct reel_slab *freelist_pop(struct freelist *list);    NULL: empty
 *
 * What the pusher wrote before the push, and read before it, happens before
 * what the popper does after the pop.
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
