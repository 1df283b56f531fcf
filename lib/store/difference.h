/* SPDX-License-Identifier: MIT */
/*
 * Second differences of 64-bit integers that stand `stride` apart: small where a field changes
 * steadily from step to step, also one of doubles, whose bit patterns are in the order of their
 * values. Zigzag makes small numbers of either sign small. Modulo 2^64, so that nothing is lost.
 *
 * `words` need not be aligned. Memory before words[0] is not read: the first `stride` words stay as
 * they are, the next ones are first differences.
 */
#ifndef REEL_LIB_DIFFERENCE_H
#define REEL_LIB_DIFFERENCE_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t reel_zigzag(uint64_t difference)
{
	return difference << 1 ^ -(difference >> 63);
}

static inline uint64_t reel_undo_zigzag(uint64_t word)
{
	return word >> 1 ^ -(word & 1);
}

/* The differences of words[first] to words[first + n - 1], to `to`, which is elsewhere. */
void reel_difference(void *to, const void *words, size_t first, size_t n, size_t stride);

/* The reverse: words[first] to words[first + n - 1] are differences; those before are restored. */
void reel_undo_difference(void *words, size_t first, size_t n, size_t stride);

#endif
