/* SPDX-License-Identifier: MIT */
/*
 * Large blocks of memory that stay warm: each lies in one reserved range of
 * addresses, keeps its size class for ever, and goes to that class's list of
 * idle blocks when it is given back.
 *
 *	           fresh --------.
 *	                         v
 *	cold ---blocks_take---> in use ---blocks_give---> warm
 *	                         ^                         |
 *	                         '-------blocks_take-------'
 *
 * Above the budget warm blocks become cold: their memory goes back to the
 * system and their addresses stay. Any thread may call anything at any time,
 * but blocks_open(); nothing locks, and nothing allocates but through mmap.
 *
 * In the child of a fork the lists are what they were at that instant. Blocks
 * that another thread was just taking or giving are lost to the child.
 */
#ifndef REEL_DROPIN_MALLOC_BLOCKS_H
#define REEL_DROPIN_MALLOC_BLOCKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct blocks_settings {
	size_t least;   /* smaller requests are the system's */
	size_t budget;  /* idle bytes that are kept warm; larger requests are the system's */
	size_t memory;  /* of this machine */
};

struct blocks_range {
	/* SIZE_MAX: closed, no request is served. */
	_Atomic size_t least;
	size_t most;
	char *start;
	_Atomic size_t bytes;
};

extern struct blocks_range blocks_range;

struct blocks_counts {
	uint64_t served;
	uint64_t recycled;
	uint64_t peak_bytes;   /* the most that were in use and idle together */
	uint64_t given_back;   /* bytes */
};

/* Once, before any other thread asks. Without addresses to reserve, nothing is served. */
void blocks_open(const struct blocks_settings *settings);

/* Whether a request of this size is for blocks. */
static inline bool blocks_serve(size_t bytes)
{
	/* Acquire: pairs with the release in blocks_open(). */
	return bytes >= atomic_load_explicit(&blocks_range.least, memory_order_acquire) &&
	       bytes <= blocks_range.most;
}

static inline bool blocks_own(const void *address)
{
	/* Acquire: pairs with the release in blocks_open(). */
	size_t bytes = atomic_load_explicit(&blocks_range.bytes, memory_order_acquire);

	return (uintptr_t)address - (uintptr_t)blocks_range.start < bytes;
}

/*
 * A block of `bytes` (blocks_serve() has said yes) at a multiple of `alignment`,
 * a power of two. *zero: it has no old contents. NULL: no address is left.
 */
void *blocks_take(size_t bytes, size_t alignment, bool *zero);

/* These take what blocks_take() returned, and stop the program at anything else. */
void blocks_give(void *start);
size_t blocks_usable(const void *start);

void blocks_get_counts(struct blocks_counts *counts);

#endif
