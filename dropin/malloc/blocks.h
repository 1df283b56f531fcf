/* SPDX-License-Identifier: MIT */
/*
 * Large blocks of memory that stay warm, which means that they keep their memory. All blocks lie in
 * one reserved range of addresses. A block keeps its size class, and goes to the list of idle
 * blocks of that class when it is given back.
 *
 *	           fresh --------.
 *	                         v
 *	cold ---blocks_take---> in use ---blocks_give---> warm
 *	                         ^                         |
 *	                         '-------blocks_take-------'
 *
 * Above the budget, warm blocks become cold: their memory goes back to the system, and they keep
 * their addresses. Any thread may call each function except blocks_open() at any time. No function
 * locks, and memory comes from mmap() only.
 *
 * In the child of a fork the lists are as they were at the fork. Blocks that another thread was
 * taking or giving at that time are lost to the child.
 */
#ifndef REEL_DROPIN_MALLOC_BLOCKS_H
#define REEL_DROPIN_MALLOC_BLOCKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct blocks_settings {
	size_t least;   /* smaller requests go to the system's allocator */
	size_t budget;  /* maximum idle bytes that stay warm; larger requests go to the system */
	size_t memory;  /* bytes of memory of this machine */
};

struct blocks_range {
	/* SIZE_MAX: not open yet, so no request is served. */
	_Atomic size_t least;
	size_t most;
	char *start;
	_Atomic size_t bytes;
};

extern struct blocks_range blocks_range;

struct blocks_counts {
	uint64_t served;
	uint64_t recycled;
	uint64_t peak_bytes;   /* maximum bytes that were in use or idle */
	uint64_t given_back;   /* bytes given back to the system */
};

/* Called once, before other threads allocate. If no addresses can be reserved, serves nothing. */
void blocks_open(const struct blocks_settings *settings);

/* Returns true if a request of this size is for blocks. */
static inline bool blocks_serve(size_t bytes)
{
	/* Acquire: pairs with the release in blocks_open(). Shows the lists and the limits. */
	return bytes >= atomic_load_explicit(&blocks_range.least, memory_order_acquire) &&
	       bytes <= blocks_range.most;
}

static inline bool blocks_own(const void *address)
{
	/* Acquire: pairs with the release in blocks_open(). Shows the start of the range. */
	size_t bytes = atomic_load_explicit(&blocks_range.bytes, memory_order_acquire);

	return (uintptr_t)address - (uintptr_t)blocks_range.start < bytes;
}

/*
 * Returns a block of `bytes` at a multiple of `alignment`, a power of two; NULL: no address is
 * left. Requires blocks_serve(bytes). `*zero` tells whether the block is all zero.
 */
void *blocks_take(size_t bytes, size_t alignment, bool *zero);

/* These functions abort the program if `start` is no result of blocks_take(). */
void blocks_give(void *start);
size_t blocks_usable(const void *start);

void blocks_get_counts(struct blocks_counts *counts);

#endif
