/* SPDX-License-Identifier: MIT */
/* Random calls of the whole malloc family. The right contents of each block are computed anew. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 24

struct shadow {
	unsigned char *start;
	size_t bytes;
	uint64_t seed;
};

static struct shadow shadows[BLOCKS];
static uint64_t state;

static uint64_t chance(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Draws sizes around the threshold of 128 KiB, more small ones than large ones. */
static size_t any_size(void)
{
	size_t bytes = (size_t)1 << chance() % 23;

	return bytes - 1 + chance() % (bytes + 2);
}

static void fail(const char *what)
{
	fprintf(stderr, "%s\n", what);
	exit(1);
}

/* Visits the first bytes, the last ones, and one in 509 of those between. */
static size_t next_place(const struct shadow *s, size_t at)
{
	return at < 64 || at + 64 >= s->bytes ? at + 1 : at + 509;
}

static unsigned char content(const struct shadow *s, size_t at)
{
	return (unsigned char)((s->seed + at) * 0x9e3779b97f4a7c15u >> 56);
}

static void fill(struct shadow *s)
{
	s->seed = chance();
	memset(s->start, 0xa5, malloc_usable_size(s->start));
	for (size_t at = 0; at < s->bytes; at = next_place(s, at))
		s->start[at] = content(s, at);
}

/* Checks the contents of a block, up to `bytes`. */
static void verify(const struct shadow *s, size_t bytes)
{
	for (size_t at = 0; at < s->bytes; at = next_place(s, at))
		if (at < bytes && s->start[at] != content(s, at))
			fail("a block does not hold what was written to it");
}

static void verify_zero(const struct shadow *s)
{
	for (size_t at = 0; at < s->bytes; at++)
		if (s->start[at])
			fail("calloc: a byte is not zero");
}

static void allocate(struct shadow *s)
{
	size_t alignment = (size_t)16 << chance() % 18;
	void *start = NULL;

	s->bytes = any_size();
	switch (chance() % 5) {
	case 0:
		s->start = malloc(s->bytes);
		alignment = 16;
		break;
	case 1:
		s->start = calloc(s->bytes / 8, 8);
		s->bytes = s->bytes / 8 * 8;
		alignment = 16;
		verify_zero(s);
		break;
	case 2:
		s->start = aligned_alloc(alignment, s->bytes);
		break;
	case 3:
		if (posix_memalign(&start, alignment, s->bytes))
			fail("posix_memalign failed");
		s->start = start;
		break;
	default:
		s->start = pvalloc(s->bytes);
		alignment = 4096;
	}
	if (!s->start || (uintptr_t)s->start % alignment)
		fail("no block, or not aligned");
	if (malloc_usable_size(s->start) < s->bytes)
		fail("fewer bytes are usable than were asked for");
	fill(s);
}

static void resize(struct shadow *s)
{
	size_t bytes = any_size() + 1;
	unsigned char *start = chance() % 2 ? realloc(s->start, bytes)
					    : reallocarray(s->start, bytes, 1);

	if (!start)
		fail("realloc failed");
	s->start = start;
	verify(s, bytes);
	s->bytes = bytes;
	fill(s);
}

static void release(struct shadow *s)
{
	verify(s, s->bytes);
	errno = 4711;
	free(s->start);
	if (errno != 4711)
		fail("free changed errno");
	s->start = NULL;
}

int main(int argc, char **argv)
{
	unsigned long seeds = argc > 1 ? strtoul(argv[1], NULL, 10) : 10;

	for (unsigned long seed = 1; seed <= seeds; seed++) {
		state = seed * 0x9e3779b97f4a7c15u;
		for (int step = 0; step < 300; step++) {
			struct shadow *s = &shadows[chance() % BLOCKS];

			if (!s->start)
				allocate(s);
			else if (chance() % 3)
				release(s);
			else
				resize(s);
		}
	}
	for (int i = 0; i < BLOCKS; i++)
		if (shadows[i].start)
			release(&shadows[i]);
	return 0;
}
