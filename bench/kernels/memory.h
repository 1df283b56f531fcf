/* SPDX-License-Identifier: MIT */
/* The arrays of a kernel: zero-filled, on whole cache lines, freed together. */
#ifndef REEL_BENCH_KERNELS_MEMORY_H
#define REEL_BENCH_KERNELS_MEMORY_H

#include <stddef.h>

#define MEMORY_MAX_BLOCKS 64

struct memory {
	void *blocks[MEMORY_MAX_BLOCKS];
	size_t count;
};

/* Arrays of 2 MiB and more lie on huge pages. The program ends if there is no memory. */
void *memory_take(struct memory *memory, size_t bytes);
double *memory_take_doubles(struct memory *memory, size_t count);

void memory_free(struct memory *memory);

/* One block of its own, for free(). */
void *memory_block(size_t bytes);

_Noreturn void memory_out(void);

#endif
