/* SPDX-License-Identifier: MIT */
#include <config.h>

#include "store/difference.h"
#include "helpers/support.h"

#define WORDS 600

static uint64_t words[WORDS], differences[WORDS + 1], back[WORDS];

static uint64_t zigzag(uint64_t d)
{
	return d >> 63 ? ~(d << 1) : d << 1;
}

static uint64_t defined(size_t i, size_t stride)
{
	if (i < stride)
		return words[i];
	if (i < 2 * stride)
		return zigzag(words[i] - words[i - stride]);
	return zigzag(words[i] - 2 * words[i - stride] + words[i - 2 * stride]);
}

/* Returns the number of wrong words, if the words are processed in blocks of `block` words. */
static unsigned wrong_words_of(size_t stride, size_t block)
{
	unsigned wrong = 0;

	for (size_t at = 0; at < WORDS; at += block) {
		size_t n = WORDS - at < block ? WORDS - at : block;

		differences[n] = 0xee;
		reel_difference(differences, words, at, n, stride);
		for (size_t i = 0; i < n; i++)
			wrong += differences[i] != defined(at + i, stride);
		wrong += differences[n] != 0xee;
		memcpy(back + at, differences, n * sizeof *back);
		reel_undo_difference(back, at, n, stride);
	}
	for (size_t i = 0; i < WORDS; i++)
		wrong += back[i] != words[i];
	return wrong;
}

static void strides_and_blocks(const char *name)
{
	unsigned wrong = 0;

	for (size_t stride = 1; stride < WORDS + 10; stride += 1 + stride / 8)
		for (size_t block = 1; block <= WORDS; block += 1 + block / 2)
			wrong += wrong_words_of(stride, block);
	wrong += wrong_words_of(UINT32_MAX, WORDS);
	is_int(wrong, 0, "%s: second differences with each stride, there and back", name);
}

static void unaligned_words(void)
{
	unsigned char from[8 * WORDS + 1], to[8 * WORDS + 3];

	memcpy(from + 1, words, sizeof words);
	reel_difference(to + 3, from + 1, 0, WORDS, 7);
	reel_undo_difference(to + 3, 0, WORDS, 7);
	ok(memcmp(to + 3, words, sizeof words) == 0, "words need not be aligned");
}

static void steady_change_is_small(void)
{
	unsigned large = 0;

	for (size_t i = 0; i < WORDS; i++)
		words[i] = (i % 10) * 1000003 - i / 10 * (i % 10);
	reel_difference(differences, words, 0, WORDS, 10);
	for (size_t i = 20; i < WORDS; i++)
		large += differences[i] > 1;
	is_int(large, 0, "what changes steadily has no second difference");
}

int main(void)
{
	tap_begin();
	for (size_t i = 0; i < WORDS; i++)
		words[i] = scramble(i);
	strides_and_blocks("without a pattern");
	unaligned_words();
	for (size_t i = 0; i < WORDS; i++)
		words[i] = i % 3 ? UINT64_MAX - i : (uint64_t)1 << 63 | i;
	strides_and_blocks("at the ends of the range");
	steady_change_is_small();
	return tap_end();
}
