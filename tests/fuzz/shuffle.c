/* SPDX-License-Identifier: MIT */
/* Compares byte shuffle and second differences with plain loops, and undoes them. */
#include <config.h>

#include <string.h>

#include "store/difference.h"
#include "fuzz.h"
#include "store/shuffle.h"
#include "targets.h"

enum { MOST = 2048 };

static void shuffle_plainly(uint8_t *to, const uint8_t *from, size_t bytes, unsigned element)
{
	size_t n = bytes / element;

	for (size_t e = 0; e < n; e++)
		for (unsigned b = 0; b < element; b++)
			to[b * n + e] = from[e * element + b];
	for (size_t i = n * element; i < bytes; i++)
		to[i] = from[i];
}

static void check_shuffle(const uint8_t *data, size_t size, unsigned element)
{
	static uint8_t shuffled[MOST], plain[MOST], back[MOST];

	reel_shuffle(shuffled, data, size, element);
	shuffle_plainly(plain, data, size, element);
	FUZZ_EXPECT(!memcmp(shuffled, plain, size));
	reel_unshuffle(back, shuffled, size, element);
	FUZZ_EXPECT(!memcmp(back, data, size));
}

static uint64_t zigzag(uint64_t difference)
{
	return difference << 1 ^ (difference >> 63 ? UINT64_MAX : 0);
}

/* The first `stride` words have no difference, and the next ones a first difference. */
static uint64_t difference_at(const uint64_t *word, size_t i, size_t stride)
{
	if (i < stride)
		return word[i];
	if (i < 2 * stride)
		return zigzag(word[i] - word[i - stride]);
	return zigzag(word[i] - 2 * word[i - stride] + word[i - 2 * stride]);
}

/* Takes differences of two pieces, the second of which reads words of the first. */
static void check_difference(const uint8_t *data, size_t size, size_t stride, size_t cut)
{
	static uint64_t word[MOST / 8], difference[MOST / 8], back[MOST / 8];
	size_t n = size / 8;

	memcpy(word, data, n * 8);
	cut = n ? cut % (n + 1) : 0;
	reel_difference(difference, word, 0, cut, stride);
	reel_difference(difference + cut, word, cut, n - cut, stride);
	for (size_t i = 0; i < n; i++)
		FUZZ_EXPECT(difference[i] == difference_at(word, i, stride));
	memcpy(back, difference, n * 8);
	reel_undo_difference(back, 0, cut, stride);
	reel_undo_difference(back, cut, n - cut, stride);
	FUZZ_EXPECT(!memcmp(back, word, n * 8));
}

int fuzz_shuffle(const uint8_t *data, size_t size)
{
	struct fuzz_input input = {data, size};
	unsigned element = 1 + fuzz_below(&input, REEL_SHUFFLE_MAX_ELEMENT);
	size_t stride = 1 + fuzz_byte(&input), cut = fuzz_byte(&input);

	check_shuffle(input.next, input.left, element);
	check_difference(input.next, input.left, stride, cut);
	return 0;
}
