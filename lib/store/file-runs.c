/* SPDX-License-Identifier: MIT */
/*
 * The free units of a file. A tree over words of bits knows the longest run of free units below
 * each node. The callers hold the lock of the slots. After each function the tree agrees with the
 * bits.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "file-runs.h"
#include "os/assert.h"
#include "os/integer.h"

#define BITS 64

void reel_file_runs_open(struct reel_file_runs *runs, uint32_t max_run)
{
	*runs = (struct reel_file_runs){.max_run = max_run};
}

void reel_file_runs_close(struct reel_file_runs *runs)
{
	free(runs->free);
	free(runs->node);
}

static uint32_t longest_in(uint64_t bits)
{
	uint32_t length = 0;

	for (; bits; bits &= bits << 1)
		length++;
	return length;
}

static struct reel_file_run run_of_word(const struct reel_file_runs *runs, uint64_t word)
{
	uint64_t bits = runs->free[word];
	bool all = !~bits;

	return (struct reel_file_run){
		.first = (uint32_t)reel_min_u64(all ? BITS : (unsigned)__builtin_ctzll(~bits), runs->max_run),
		.last = (uint32_t)reel_min_u64(all ? BITS : (unsigned)__builtin_clzll(~bits), runs->max_run),
		.longest = (uint32_t)reel_min_u64(all ? BITS : longest_in(bits), runs->max_run),
	};
}

/* Makes a node from its children, which have `half` units each. */
static void join(struct reel_file_runs *runs, uint64_t node, uint64_t half)
{
	const struct reel_file_run *low = &runs->node[2 * node], *high = low + 1;
	uint32_t across = (uint32_t)reel_min_u64((uint64_t)low->last + high->first, runs->max_run);
	uint32_t longest = low->longest > high->longest ? low->longest : high->longest;

	runs->node[node] = (struct reel_file_run){
		.first = low->first == half ? across : low->first,
		.last = high->last == half ? across : high->last,
		.longest = across > longest ? across : longest,
	};
}

/* Makes all nodes above the words from first to last anew. */
static void update(struct reel_file_runs *runs, uint64_t first, uint64_t last)
{
	uint64_t half = BITS;

	for (uint64_t word = first; word <= last; word++)
		runs->node[runs->words + word] = run_of_word(runs, word);
	first += runs->words;
	last += runs->words;
	while (first > 1) {
		first /= 2;
		last /= 2;
		for (uint64_t node = first; node <= last; node++)
			join(runs, node, half);
		half *= 2;
	}
}

static void *grown(void *memory, uint64_t count, size_t each)
{
	return count > SIZE_MAX / each ? NULL : realloc(memory, (size_t)count * each);
}

static int reserve_words(struct reel_file_runs *runs, uint64_t words)
{
	uint64_t *bits = grown(runs->free, words, sizeof *bits);
	struct reel_file_run *node;

	if (!bits)
		return -ENOMEM;
	runs->free = bits;
	node = grown(runs->node, 2 * words, sizeof *node);
	if (!node)
		return -ENOMEM;
	runs->node = node;
	memset(bits + runs->words, 0, (size_t)(words - runs->words) * sizeof *bits);
	runs->words = words;
	update(runs, 0, words - 1);
	return 0;
}

int reel_file_runs_reserve(struct reel_file_runs *runs, uint64_t units)
{
	uint64_t words = runs->words ? runs->words : 1;

	while (words < (units + BITS - 1) / BITS)
		words *= 2;
	return words > runs->words ? reserve_words(runs, words) : 0;
}

/* Requires a run of this length in the word. */
static uint64_t find_in(uint64_t bits, uint32_t length)
{
	for (uint32_t i = 1; i < length; i++)
		bits &= bits >> 1;
	return (unsigned)__builtin_ctzll(bits);
}

uint64_t reel_file_runs_find(const struct reel_file_runs *runs, uint32_t length)
{
	uint64_t node = 1, first = 0, half = runs->words * BITS / 2;

	REEL_ASSERT(length > 0 && length <= runs->max_run);
	if (reel_file_runs_longest(runs) < length)
		return REEL_NO_RUN;
	for (; node < runs->words; half /= 2) {
		const struct reel_file_run *low = &runs->node[2 * node], *high = low + 1;

		node *= 2;
		if (low->longest >= length)
			continue;
		if ((uint64_t)low->last + high->first >= length)
			return first + half - low->last;
		node++;
		first += half;
	}
	return first + find_in(runs->free[first / BITS], length);
}

uint32_t reel_file_runs_longest(const struct reel_file_runs *runs)
{
	return runs->words ? runs->node[1].longest : 0;
}

/* The bits of a word that stand for units from `unit` to below `end`. */
static uint64_t bits_of(uint64_t word, uint64_t unit, uint64_t end)
{
	uint64_t first = word * BITS, bits = ~(uint64_t)0;

	if (first < unit)
		bits <<= unit - first;
	if (first + BITS > end)
		bits &= ~(uint64_t)0 >> (first + BITS - end);
	return bits;
}

bool reel_file_runs_are_taken(const struct reel_file_runs *runs, uint64_t unit, uint64_t length)
{
	uint64_t end = unit + length;

	for (uint64_t word = unit / BITS; word * BITS < end; word++)
		if (runs->free[word] & bits_of(word, unit, end))
			return false;
	return true;
}

void reel_file_runs_set(struct reel_file_runs *runs, uint64_t unit, uint64_t length,
			bool are_free)
{
	uint64_t end = unit + length;

	REEL_ASSERT(length > 0 && end <= runs->words * BITS);
	for (uint64_t word = unit / BITS; word * BITS < end; word++) {
		if (are_free)
			runs->free[word] |= bits_of(word, unit, end);
		else
			runs->free[word] &= ~bits_of(word, unit, end);
	}
	update(runs, unit / BITS, (end - 1) / BITS);
}
