/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "bench.h"

void *bench_memory(size_t bytes)
{
	void *memory;

	/* --list measures nothing. */
	if (bench_is_listing())
		return NULL;
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED) {
		perror(bench_program);
		exit(1);
	}
#ifdef MADV_HUGEPAGE
	madvise(memory, bytes, MADV_HUGEPAGE);
#endif
	return memset(memory, 1, bytes);
}

void bench_memory_free(void *memory, size_t bytes)
{
	if (memory)
		munmap(memory, bytes);
}
