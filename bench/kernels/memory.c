/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LINE ((size_t)64)
#define HUGE_PAGE ((size_t)2 << 20)

_Noreturn void memory_out(void)
{
	fputs("kernels: out of memory\n", stderr);
	exit(1);
}

void *memory_block(size_t bytes)
{
	size_t unit = bytes < HUGE_PAGE ? LINE : HUGE_PAGE;
	size_t rounded = (bytes + !bytes + unit - 1) / unit * unit;
	void *block = aligned_alloc(unit, rounded);

	if (!block)
		memory_out();
#ifdef MADV_HUGEPAGE
	if (unit == HUGE_PAGE)
		madvise(block, rounded, MADV_HUGEPAGE);
#endif
	return memset(block, 0, rounded);
}

void *memory_take(struct memory *memory, size_t bytes)
{
	if (memory->count == MEMORY_MAX_BLOCKS)
		memory_out();
	return memory->blocks[memory->count++] = memory_block(bytes);
}

double *memory_take_doubles(struct memory *memory, size_t count)
{
	return memory_take(memory, count * sizeof(double));
}

void memory_free(struct memory *memory)
{
	while (memory->count)
		free(memory->blocks[--memory->count]);
}
