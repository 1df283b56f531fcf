/* SPDX-License-Identifier: MIT */
/*
 * Size classes, eight to a doubling: class c holds (9 + c % 8) << (c / 8) bytes,
 * so that a block is at most an eighth larger than what was asked for.
 */
#ifndef REEL_DROPIN_MALLOC_CLASSES_H
#define REEL_DROPIN_MALLOC_CLASSES_H

#include <stddef.h>

/* As far as 2^50 bytes, more than can be reserved. */
#define CLASSES (48u * 8u)

/* The smallest class of at least this many bytes, 16 or more. */
static inline unsigned class_of(size_t bytes)
{
	unsigned long long last = bytes - 1;
	unsigned shift = 60 - (unsigned)__builtin_clzll(last);

	return shift * 8 + (unsigned)(last >> shift) - 8;
}

static inline size_t class_bytes(unsigned class)
{
	return (size_t)(class % 8 + 9) << (class / 8);
}

#endif
