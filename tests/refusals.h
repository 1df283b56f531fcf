/* SPDX-License-Identifier: MIT */
/*
 * Memory runs out at every place where it can: the k-th request is refused, for
 * k = 1, 2, ... until there are fewer, first that one alone, then with all that follow.
 * Of any thread. Linked with --wrap for each function below.
 */
#ifndef TESTS_REFUSALS_H
#define TESTS_REFUSALS_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/types.h>

static struct {
	_Atomic unsigned requests;
	_Atomic unsigned first; /* 0: none is refused */
	_Atomic bool all_that_follow;
} refusal;

/* From now on, until stop_refusing(). */
static inline void refuse_from(unsigned first, bool all_that_follow)
{
	refusal.requests = 0;
	refusal.all_that_follow = all_that_follow;
	refusal.first = first;
}

/* Returns how many requests there were. */
static inline unsigned stop_refusing(void)
{
	refusal.first = 0;
	return refusal.requests;
}

static bool is_refused(void)
{
	unsigned request = ++refusal.requests, first = refusal.first;

	return first && (request == first || (refusal.all_that_follow && request > first));
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__real_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset);

void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset);

void *__wrap_malloc(size_t bytes)
{
	return is_refused() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes)
{
	return is_refused() ? NULL : __real_calloc(n, bytes);
}

void *__wrap_realloc(void *memory, size_t bytes)
{
	return is_refused() ? NULL : __real_realloc(memory, bytes);
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
	return is_refused() ? NULL : __real_aligned_alloc(alignment, bytes);
}

void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
{
	if (!is_refused())
		return __real_mmap(address, bytes, protection, flags, file, offset);
	errno = ENOMEM;
	return MAP_FAILED;
}

#endif
