/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <stdint.h>
#include <string.h>

#include "difference.h"
#include "os/assert.h"
#include "os/integer.h"

static inline uint64_t load(const unsigned char *words, size_t i)
{
	uint64_t word;

	memcpy(&word, words + 8 * i, sizeof word);
	return word;
}

static inline void store(unsigned char *words, size_t i, uint64_t word)
{
	memcpy(words + 8 * i, &word, sizeof word);
}

/* The linear extrapolation of word i from the two words before it. */
static inline uint64_t expected(const unsigned char *words, size_t i, size_t stride)
{
	return 2 * load(words, i - stride) - load(words, i - 2 * stride);
}

void reel_difference(void *to, const void *words, size_t first, size_t n, size_t stride)
{
	const unsigned char *from = words;
	unsigned char *out = to;
	size_t end = first + n;
	size_t i = first;

	REEL_ASSERT(stride > 0);
	for (; i < reel_min_size(end, stride); i++)
		store(out, i - first, load(from, i));
	for (; i < reel_min_size(end, 2 * stride); i++)
		store(out, i - first, reel_zigzag(load(from, i) - load(from, i - stride)));
	for (; i < end; i++)
		store(out, i - first, reel_zigzag(load(from, i) - expected(from, i, stride)));
}

/*
 * Undoes at most `stride` words, which do not depend on each other, so that the loop is vectorised.
 */
static void undo_run(unsigned char *restrict to, const unsigned char *restrict one_back,
		     const unsigned char *restrict two_back, size_t n)
{
	for (size_t i = 0; i < n; i++)
		store(to, i,
		      reel_undo_zigzag(load(to, i)) + 2 * load(one_back, i) - load(two_back, i));
}

void reel_undo_difference(void *words, size_t first, size_t n, size_t stride)
{
	unsigned char *at = words;
	size_t end = first + n;
	size_t i = first < stride ? reel_min_size(end, stride) : first;

	REEL_ASSERT(stride > 0);
	for (; i < reel_min_size(end, 2 * stride); i++)
		store(at, i, reel_undo_zigzag(load(at, i)) + load(at, i - stride));
	for (; i < end; i += reel_min_size(end - i, stride))
		undo_run(at + 8 * i, at + 8 * (i - stride), at + 8 * (i - 2 * stride),
			 reel_min_size(end - i, stride));
}
