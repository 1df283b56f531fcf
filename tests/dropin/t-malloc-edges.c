/* SPDX-License-Identifier: MIT */
/* A run tests one case, by its name. The exit status tells whether it passes. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define MEGABYTE ((size_t)1 << 20)
#define PAGE ((size_t)4096)

/* The compiler knows these functions too well, so it must not see their arguments. */
static volatile size_t huge = SIZE_MAX / 2 + 3;
/* Eight times this number overflows to a megabyte. */
static volatile size_t wraps = SIZE_MAX / 8 + 1 + ((size_t)1 << 17);
static volatile size_t nothing;

static char *early;

__attribute__((constructor)) static void before_main(void)
{
	early = malloc(3 * MEGABYTE);
	if (early)
		memset(early, 1, 3 * MEGABYTE);
}

static void after_main(void)
{
	char *late = malloc(2 * MEGABYTE);

	if (!early || early[MEGABYTE] != 1 || !late)
		_exit(1);
	memset(late, 1, 2 * MEGABYTE);
	free(early);
	free(late);
}

static int zero(void)
{
	void *block = malloc(nothing);
	char *none = calloc(nothing, 8);
	char *large = malloc(MEGABYTE);
	int holds = block && none && !realloc(large, nothing);

	free(block);
	free(none);
	free(NULL);
	large = realloc(NULL, MEGABYTE);
	holds = holds && large && malloc_usable_size(NULL) == 0;
	free(large);
	return holds;
}

static int is_refused(void *block)
{
	int holds = !block && errno == ENOMEM;

	errno = 0;
	free(block);
	return holds;
}

static int overflow(void)
{
	char *block = malloc(MEGABYTE);
	void *same = &early;
	int holds;

	block[MEGABYTE - 1] = 3;
	holds = is_refused(calloc(wraps, 8)) && is_refused(reallocarray(block, wraps, 8)) &&
		is_refused(calloc(huge, 2)) && is_refused(malloc(huge)) &&
		is_refused(reallocarray(block, huge, 2)) && is_refused(realloc(block, huge)) &&
		is_refused(memalign(MEGABYTE, SIZE_MAX - nothing)) &&
		is_refused(pvalloc(SIZE_MAX - nothing)) &&
		posix_memalign(&same, 64, huge) == ENOMEM && same == &early &&
		posix_memalign(&same, 48, MEGABYTE) == EINVAL &&
		posix_memalign(&same, 4, MEGABYTE) == EINVAL && block[MEGABYTE - 1] == 3;
	free(block);
	return holds;
}

static int alignment(void)
{
	for (size_t shift = 3; shift < 32; shift++) {
		size_t aligned = (size_t)1 << shift;
		char *block = memalign(aligned, MEGABYTE);

		if (!block || (uintptr_t)block % aligned)
			return 0;
		block[0] = block[MEGABYTE - 1] = 1;
		free(block);
	}
	return 1;
}

/* Recycled memory was dirty. Memory that is fresh or was given back must be zero by itself. */
static int cleared(void)
{
	for (int round = 0; round < 20; round++) {
		size_t bytes = MEGABYTE / 2 + (size_t)round % 3 * MEGABYTE;
		unsigned char *block = calloc(bytes / 16, 16);

		for (size_t i = 0; i < bytes; i++)
			if (block[i])
				return 0;
		memset(block, 0xff, malloc_usable_size(block));
		free(block);
	}
	return 1;
}

static int growth(void)
{
	size_t bytes = 1000, moves = 0;
	unsigned char *block = malloc(bytes);
	int kept;

	block[0] = block[500] = 9;
	for (; bytes < 40 * MEGABYTE; bytes += 10 * PAGE) {
		unsigned char *longer = realloc(block, bytes);

		moves += longer != block;
		block = longer;
		block[bytes - 1] = (unsigned char)bytes;
	}
	for (; bytes > 2000; bytes = bytes / 3 * 2)
		block = realloc(block, bytes);
	kept = block[0] == 9 && block[500] == 9;
	bytes = malloc_usable_size(block);
	free(block);
	return kept && moves < 40 && bytes < 128 * 1024;
}

static long faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt;
}

static long gradient(void)
{
	long before = faults();
	char *array[9];

	for (int i = 0; i < 9; i++) {
		array[i] = malloc(2 * MEGABYTE);
		memset(array[i], i + 1, 2 * MEGABYTE);
	}
	for (int i = 9; i-- > 0;)
		free(array[i]);
	return faults() - before;
}

/* One round of several has to pass, since other programs may make the kernel move a page. */
static int warm(void)
{
	for (int round = 0; round < 5; round++) {
		gradient();
		if (gradient() + gradient() == 0)
			return 1;
	}
	return 0;
}

static int staggered(void)
{
	size_t seen = 0;

	for (int i = 0; i < 64; i++)
		seen |= (size_t)1 << (uintptr_t)malloc(MEGABYTE) % PAGE / 64;
	return seen == SIZE_MAX;
}

/* More idle memory than the budget of 4 MiB that the test sets. */
static int over_budget(void)
{
	for (int round = 0; round < 3; round++)
		gradient();
	return gradient() > 0;
}

/* A locked page cannot be given back: its block stays as it is, over a budget of 4 MiB. */
static int locked(void)
{
	char *block[4];
	int holds = 1;

	for (int i = 0; i < 4; i++) {
		block[i] = memalign(PAGE, 3 * MEGABYTE);
		memset(block[i], 1, 3 * MEGABYTE);
		holds = holds && !mlock(block[i], PAGE);
	}
	errno = 4711;
	for (int i = 0; i < 4; i++)
		free(block[i]);
	holds = holds && errno == 4711;
	for (int i = 0; i < 4; i++) {
		block[i] = calloc(3 * MEGABYTE, 1);
		holds = holds && !block[i][0] && !block[i][PAGE] && !block[i][3 * MEGABYTE - 1];
	}
	return holds;
}

static int freed_twice(void)
{
	char *block = malloc(MEGABYTE);

	free(block);
	free(block);
	return 1;
}

static int freed_inside(void)
{
	free((char *)malloc(MEGABYTE) + nothing + 2 * PAGE);
	return 1;
}

static int freed_near_the_start(void)
{
	free((char *)malloc(MEGABYTE) + nothing + 64);
	return 1;
}

static const struct {
	const char *name;
	int (*holds)(void);
} cases[] = {
	{"zero", zero},
	{"overflow", overflow},
	{"alignment", alignment},
	{"cleared", cleared},
	{"growth", growth},
	{"warm", warm},
	{"staggered", staggered},
	{"over_budget", over_budget},
	{"locked", locked},
	{"freed_twice", freed_twice},
	{"freed_inside", freed_inside},
	{"freed_near_the_start", freed_near_the_start},
};

int main(int argc, char **argv)
{
	atexit(after_main);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (argc > 1 && !strcmp(argv[1], cases[i].name))
			return !cases[i].holds();
	return 2;
}
