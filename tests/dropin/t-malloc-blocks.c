/* SPDX-License-Identifier: MIT */
/*
 * The blocks by themselves, linked into this program, which tells them that the
 * machine has 64 MiB. A run tests one case, by its name.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "blocks.h"

#define MEGABYTE ((size_t)1 << 20)
#define TAKEN 30

static void open_small(void)
{
	struct blocks_settings settings = {
		.least = 128 << 10, .budget = 32 * MEGABYTE, .memory = 64 * MEGABYTE};

	blocks_open(&settings);
}

static void take_and_give(size_t bytes)
{
	void *taken[TAKEN];
	bool zero;

	for (int i = 0; i < TAKEN; i++)
		taken[i] = blocks_take(bytes, 1, &zero);
	for (int i = TAKEN; i-- > 0;)
		blocks_give(taken[i]);
}

/* Idle blocks of one class make room for the next one: all have at most 3/4 of the memory. */
static bool short_of_memory(void)
{
	struct blocks_counts counts;

	for (size_t eighths = 4; eighths <= 8; eighths++)
		take_and_give(eighths * MEGABYTE / 8);
	blocks_get_counts(&counts);
	return counts.given_back > 0 && counts.peak_bytes <= 49 * MEGABYTE &&
	       counts.peak_bytes >= 31 * MEGABYTE;
}

/* There are addresses for 16 times the memory. Then a block has to be given back for another. */
static bool exhausted(void)
{
	char *last = NULL, *block;
	size_t n = 0;
	bool zero;

	for (; (block = blocks_take(4 * MEGABYTE, 1, &zero)); n++) {
		if (!blocks_own(block) || !zero)
			return false;
		last = block;
	}
	blocks_give(last);
	block = blocks_take(4 * MEGABYTE - 100, 1, &zero);
	return n >= 200 && n <= 256 && block == last && !zero &&
	       !blocks_take(4 * MEGABYTE, 1, &zero);
}

static void *work(void *name)
{
	size_t *kept[8] = {NULL};
	bool zero, sound = true;

	for (size_t i = 0; i < 20000 && sound; i++) {
		size_t at = i * 5 % 8, bytes = (128 << 10) + i * 7919 % 300000;

		if (kept[at]) {
			sound = kept[at][0] == (size_t)name && kept[at][1] == i - 8;
			kept[at][0] = 0;
			blocks_give(kept[at]);
		}
		kept[at] = blocks_take(bytes, 1, &zero);
		if (!kept[at] || (zero && (kept[at][0] || kept[at][1])))
			return name;
		kept[at][0] = (size_t)name;
		kept[at][1] = i;
	}
	return sound ? NULL : name;
}

static bool threads_share(void)
{
	pthread_t thread[4];
	void *failure;
	bool sound = true;

	for (size_t i = 0; i < 4; i++)
		if (pthread_create(&thread[i], NULL, work, (void *)(i + 1)))
			return false;
	for (size_t i = 0; i < 4; i++) {
		pthread_join(thread[i], &failure);
		sound = sound && !failure;
	}
	return sound;
}

int main(int argc, char **argv)
{
	open_small();
	if (argc == 2 && !strcmp(argv[1], "short"))
		return !short_of_memory();
	if (argc == 2 && !strcmp(argv[1], "exhausted"))
		return !exhausted();
	if (argc == 2 && !strcmp(argv[1], "threads"))
		return !threads_share();
	return 2;
}
