/* SPDX-License-Identifier: MIT */
/*
 * Size classes. Class c has blocks of (9 + c % 8) << (c / 8) bytes, which are eight classes for
 * each power of two. A block is therefore at most an eighth larger than the request.
 */
#ifndef REEL_DROPIN_MALLOC_CLASSES_H
#define REEL_DROPIN_MALLOC_CLASSES_H

#include <stddef.h>

/* The classes reach 2^50 bytes, which is more than can be reserved. */
#define CLASSES (48u * 8u)

/* The smallest class whose blocks have at least `bytes` bytes; `bytes` is at least 16. */
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
