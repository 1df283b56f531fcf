/* SPDX-License-Identifier: MIT */
/* Small calculations with integers. */
#ifndef REEL_LIB_INTEGER_H
#define REEL_LIB_INTEGER_H

#include <stddef.h>
#include <stdint.h>

static inline size_t reel_min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

static inline uint64_t reel_max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline uint64_t reel_min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline int64_t reel_min_i64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* The number of bits without the zeros at the front. */
static inline unsigned reel_width(uint64_t word)
{
	return word ? 64 - (unsigned)__builtin_clzll(word) : 0;
}

/*
 * The next multiple of `unit`, which need not be a power of two, or SIZE_MAX if that is larger: a
 * size that wrapped would be granted, and its memory be somebody else's. No memory has SIZE_MAX
 * bytes.
 */
static inline size_t reel_round_up(size_t n, size_t unit)
{
	return n > SIZE_MAX - (unit - 1) ? SIZE_MAX : (n + unit - 1) / unit * unit;
}

/*
 * Returns a text if a reserved member of a struct of options is not 0, or NULL. A program that
 * sets one of them was written for a later version, which has the option.
 */
static inline const char *reel_reserved_problem(const void *reserved, size_t bytes)
{
	const unsigned char *byte = reserved;

	for (size_t i = 0; i < bytes; i++)
		if (byte[i])
			return "reserved must be 0: set the options to 0 before setting some";
	return NULL;
}

#endif
