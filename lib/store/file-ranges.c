/* SPDX-License-Identifier: MIT */
/*
 * The free units of a file. A tree over words of bits knows the longest range of free units below
 * each node. The callers hold the lock of the slots. After each function the tree agrees with the
 * bits.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "file-ranges.h"
#include "os/assert.h"
#include "os/integer.h"

#define BITS 64

void reel_file_ranges_open(struct reel_file_ranges *ranges)
{
	*ranges = (struct reel_file_ranges){0};
}

void reel_file_ranges_close(struct reel_file_ranges *ranges)
{
	free(ranges->free);
	free(ranges->node);
}

static uint32_t longest_in(uint64_t bits)
{
	uint32_t length = 0;

	for (; bits; bits &= bits << 1)
		length++;
	return length;
}

static struct reel_file_range range_of_word(const struct reel_file_ranges *ranges, uint64_t word)
{
	uint64_t bits = ranges->free[word];
	bool all = !~bits;

	REEL_ASSERT(word < ranges->words);
	return (struct reel_file_range){
		.first = all ? BITS : (unsigned)__builtin_ctzll(~bits),
		.last = all ? BITS : (unsigned)__builtin_clzll(~bits),
		.longest = all ? BITS : longest_in(bits),
	};
}

/* Makes a node from its children, which have `half` units each. */
static void join(struct reel_file_ranges *ranges, uint64_t node, uint64_t half)
{
	const struct reel_file_range *low = &ranges->node[2 * node], *high = low + 1;
	uint32_t across = (uint32_t)reel_min_u64((uint64_t)low->last + high->first, UINT32_MAX);
	uint32_t longest = low->longest > high->longest ? low->longest : high->longest;

	REEL_ASSERT(node > 0 && node < ranges->words);
	ranges->node[node] = (struct reel_file_range){
		.first = low->first == half ? across : low->first,
		.last = high->last == half ? across : high->last,
		.longest = across > longest ? across : longest,
	};
}

/* Makes all nodes above the words from first to last anew. */
static void update(struct reel_file_ranges *ranges, uint64_t first, uint64_t last)
{
	uint64_t half = BITS;

	REEL_ASSERT(first <= last && last < ranges->words);
	for (uint64_t word = first; word <= last; word++)
		ranges->node[ranges->words + word] = range_of_word(ranges, word);
	first += ranges->words;
	last += ranges->words;
	while (first > 1) {
		first /= 2;
		last /= 2;
		for (uint64_t node = first; node <= last; node++)
			join(ranges, node, half);
		half *= 2;
	}
}

static void *grown(void *memory, uint64_t count, size_t each)
{
	return count > SIZE_MAX / each ? NULL : realloc(memory, (size_t)count * each);
}

static int reserve_words(struct reel_file_ranges *ranges, uint64_t words)
{
	uint64_t *bits = grown(ranges->free, words, sizeof *bits);
	struct reel_file_range *node;

	REEL_ASSERT(words > ranges->words);
	if (!bits)
		return -ENOMEM;
	ranges->free = bits;
	node = grown(ranges->node, 2 * words, sizeof *node);
	if (!node)
		return -ENOMEM;
	ranges->node = node;
	memset(bits + ranges->words, 0, (size_t)(words - ranges->words) * sizeof *bits);
	ranges->words = words;
	update(ranges, 0, words - 1);
	return 0;
}

int reel_file_ranges_reserve(struct reel_file_ranges *ranges, uint64_t units)
{
	uint64_t words = ranges->words ? ranges->words : 1;

	while (words < (units + BITS - 1) / BITS)
		words *= 2;
	return words > ranges->words ? reserve_words(ranges, words) : 0;
}

/* Requires a range of this length in the word. */
static uint64_t find_in(uint64_t bits, uint32_t length)
{
	for (uint32_t i = 1; i < length; i++)
		bits &= bits >> 1;
	REEL_ASSERT(bits);
	return (unsigned)__builtin_ctzll(bits);
}

uint64_t reel_file_ranges_find(const struct reel_file_ranges *ranges, uint32_t length)
{
	uint64_t node = 1, first = 0, half = ranges->words * BITS / 2;

	REEL_ASSERT(length > 0);
	if (reel_file_ranges_longest(ranges) < length)
		return REEL_NO_RANGE;
	for (; node < ranges->words; half /= 2) {
		const struct reel_file_range *low = &ranges->node[2 * node], *high = low + 1;

		node *= 2;
		if (low->longest >= length)
			continue;
		if ((uint64_t)low->last + high->first >= length)
			return first + half - low->last;
		node++;
		first += half;
	}
	return first + find_in(ranges->free[first / BITS], length);
}

uint32_t reel_file_ranges_longest(const struct reel_file_ranges *ranges)
{
	return ranges->words ? ranges->node[1].longest : 0;
}

/* The bits of a word that stand for units from `unit` to below `end`. */
static uint64_t bits_of(uint64_t word, uint64_t unit, uint64_t end)
{
	uint64_t first = word * BITS, bits = ~(uint64_t)0;

	REEL_ASSERT(first < end && unit < first + BITS);
	if (first < unit)
		bits <<= unit - first;
	if (first + BITS > end)
		bits &= ~(uint64_t)0 >> (first + BITS - end);
	return bits;
}

bool reel_file_ranges_are_taken(const struct reel_file_ranges *ranges, uint64_t unit,
				uint64_t length)
{
	uint64_t end = unit + length;

	REEL_ASSERT(end <= ranges->words * BITS);
	for (uint64_t word = unit / BITS; word * BITS < end; word++)
		if (ranges->free[word] & bits_of(word, unit, end))
			return false;
	return true;
}

void reel_file_ranges_set(struct reel_file_ranges *ranges, uint64_t unit, uint64_t length,
			  bool are_free)
{
	uint64_t end = unit + length;

	REEL_ASSERT(length > 0 && end <= ranges->words * BITS);
	for (uint64_t word = unit / BITS; word * BITS < end; word++) {
		if (are_free)
			ranges->free[word] |= bits_of(word, unit, end);
		else
			ranges->free[word] &= ~bits_of(word, unit, end);
	}
	update(ranges, unit / BITS, (end - 1) / BITS);
}
