/* SPDX-License-Identifier: MIT */
/*
 * The system refuses requests: the k-th request of a kind, for k = 1, 2, ...
 * until there are fewer, first that one alone, then with all that follow. Of any thread.
 * Linked with --wrap for each function below; those for files are in file-refusals.h.
 */
#ifndef TESTS_REFUSALS_H
#define TESTS_REFUSALS_H

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/types.h>

#include "os/annotate.h"

/* Kinds of requests, to be added. */
enum {
	REFUSE_MEMORY = 1 << 0,
	REFUSE_MAPPING = 1 << 1,
	REFUSE_UNMAPPING = 1 << 2,
	REFUSE_ADVICE = 1 << 3,
	REFUSE_KEY = 1 << 4,
	REFUSE_THREAD = 1 << 5,
	REFUSE_OPEN = 1 << 6,
	REFUSE_ALLOCATION = 1 << 7,
	REFUSE_WRITE = 1 << 8,
	REFUSE_READ = 1 << 9,
	REFUSE_SYNC = 1 << 10,
	REFUSE_NAME = 1 << 11
};

static struct {
	unsigned kinds;
	_Atomic unsigned requests;
	_Atomic unsigned first; /* 0: none is refused */
	_Atomic unsigned last;
	_Atomic unsigned refused;
	/* The mappings of the program, except those that it was not allowed to unmap. */
	_Atomic size_t mapped;
	/* The one key of which values may be refused, if there is one. */
	const pthread_key_t *key;
} refusal;

/* From now on, until stop_refusing(). */
static inline void refuse_between(unsigned kinds, unsigned first, unsigned last)
{
	refusal.first = 0;
	refusal.kinds = kinds;
	refusal.requests = refusal.refused = 0;
	refusal.last = last;
	refusal.first = first;
}

static inline void refuse(unsigned kinds, unsigned first, bool all_that_follow)
{
	refuse_between(kinds, first, all_that_follow ? UINT_MAX : first);
}

static inline void refuse_from(unsigned first, bool all_that_follow)
{
	refuse(REFUSE_MEMORY | REFUSE_MAPPING, first, all_that_follow);
}

/* Returns how many requests there were. */
static inline unsigned stop_refusing(void)
{
	refusal.first = 0;
	return refusal.requests;
}

static bool is_refused(unsigned kind)
{
	unsigned first = refusal.first, request;
	bool refused;

	if (!first || !(refusal.kinds & kind))
		return false;
	request = ++refusal.requests;
	refused = request >= first && request <= refusal.last;
	refusal.refused += refused;
	return refused;
}

/* With 32 bits, a C library has another name for it where offsets have 64. */
#ifdef _FILE_OFFSET_BITS
#define REFUSED_MMAP(prefix) prefix##mmap64
#else
#define REFUSED_MMAP(prefix) prefix##mmap
#endif

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *REFUSED_MMAP(__real_)(void *address, size_t bytes, int protection, int flags, int file,
			    off_t offset);
int __real_munmap(void *address, size_t bytes);
int __real_madvise(void *address, size_t bytes, int advice);
int __real_pthread_setspecific(pthread_key_t key, const void *value);

void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void *REFUSED_MMAP(__wrap_)(void *address, size_t bytes, int protection, int flags, int file,
			    off_t offset);
int __wrap_munmap(void *address, size_t bytes);
int __wrap_madvise(void *address, size_t bytes, int advice);
int __wrap_pthread_setspecific(pthread_key_t key, const void *value);

void *__wrap_malloc(size_t bytes)
{
	return is_refused(REFUSE_MEMORY) ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes)
{
	return is_refused(REFUSE_MEMORY) ? NULL : __real_calloc(n, bytes);
}

void *__wrap_realloc(void *memory, size_t bytes)
{
	return is_refused(REFUSE_MEMORY) ? NULL : __real_realloc(memory, bytes);
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
	return is_refused(REFUSE_MEMORY) ? NULL : __real_aligned_alloc(alignment, bytes);
}

void *REFUSED_MMAP(__wrap_)(void *address, size_t bytes, int protection, int flags, int file,
			    off_t offset)
{
	void *memory = MAP_FAILED;

	if (is_refused(REFUSE_MAPPING))
		errno = ENOMEM;
	else
		memory = REFUSED_MMAP(__real_)(address, bytes, protection, flags, file, offset);
	if (memory != MAP_FAILED)
		refusal.mapped += bytes;
	return memory;
}

/* A mapping that stays does not belong to the program any more. */
int __wrap_munmap(void *address, size_t bytes)
{
	refusal.mapped -= bytes;
	if (!is_refused(REFUSE_UNMAPPING))
		return __real_munmap(address, bytes);
	errno = ENOMEM;
	return -1;
}

int __wrap_madvise(void *address, size_t bytes, int advice)
{
	if (!is_refused(REFUSE_ADVICE))
		return __real_madvise(address, bytes, advice);
	errno = EAGAIN;
	return -1;
}

/*
 * A sanitizer's runtime may also be linked with this one, and call it where its own
 * instrumentation does not work yet. Its keys are left alone.
 */
#if defined(__clang__) && defined(REEL_THREAD_SANITIZER)
__attribute__((disable_sanitizer_instrumentation))
#endif
int __wrap_pthread_setspecific(pthread_key_t key, const void *value)
{
	bool ours = refusal.key && key == *refusal.key;

	return ours && is_refused(REFUSE_KEY) ? ENOMEM : __real_pthread_setspecific(key, value);
}

#endif
