/* SPDX-License-Identifier: MIT */
#include "example.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_LINES 128

void *allocate_aligned(size_t count, size_t bytes)
{
	size_t size = (count * bytes + CACHE_LINES) / CACHE_LINES * CACHE_LINES;
	void *memory = aligned_alloc(CACHE_LINES, size);

	if (!memory) {
		fprintf(stderr,
			"no memory for %zu bytes: choose a smaller --size, or fewer --steps\n",
			size);
		exit(2);
	}
	return memset(memory, 0, size);
}

double *allocate_doubles(size_t count)
{
	return allocate_aligned(count, sizeof(double));
}

double *open_adjoint(reel_adjoint **adjoint, const char *name, size_t n)
{
	const struct reel_adjoint_options options = {
		.policy = REEL_ADJOINT_PRIVATE, .budget = SIZE_MAX, .name = name};
	double *sum = allocate_doubles(n);

	if (reel_adjoint_open(adjoint, sum, n, &options)) {
		fprintf(stderr, "no memory for the adjoints of %s\n", name);
		exit(2);
	}
	return sum;
}

/* The generator of Knuth's MMIX. */
double pseudo_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (double)(*state >> 11) * 0x1p-52 - 1;
}
