/* SPDX-License-Identifier: MIT */
/*
 * The functions that replace the C library's. Each function decides by the size, or by the
 * address, whether blocks.c or the system's allocator serves the request. Any thread runs them, at
 * any time, even before the constructors of the program.
 */
#include "config.h"

#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "os/os.h"
#include "system.h"

static bool is_power_of_two(size_t number)
{
	return number && !(number & (number - 1));
}

static void *take(size_t bytes, size_t alignment)
{
	bool zero;

	return blocks_serve(bytes) ? blocks_take(bytes, alignment, &zero) : NULL;
}

static void *no_memory(void)
{
	errno = ENOMEM;
	return NULL;
}

void *malloc(size_t bytes)
{
	void *block = take(bytes, 1);

	return block ? block : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t each)
{
	size_t bytes = count * each;
	void *block = NULL;
	bool zero;

	if (each && count > SIZE_MAX / each)
		return no_memory();
	if (blocks_serve(bytes))
		block = blocks_take(bytes, 1, &zero);
	if (!block)
		return __libc_calloc(count, each);
	return zero ? block : memset(block, 0, bytes);
}

void free(void *block)
{
	int error;

	if (!blocks_own(block)) {
		__libc_free(block);
		return;
	}
	error = errno;
	blocks_give(block);
	errno = error;
}

/* Takes twice the size: a block that grows may grow again, and untouched pages need no memory. */
static void *take_longer(size_t held, size_t bytes)
{
	void *block = bytes > held && bytes < 2 * held ? take(2 * held, 1) : NULL;

	return block ? block : malloc(bytes);
}

/* A block stays in place if the request fits and leaves at most three quarters of it unused. */
void *realloc(void *old, size_t bytes)
{
	bool own = blocks_own(old);
	size_t held;
	void *block;

	if (!old)
		return malloc(bytes);
	if (!own && !blocks_serve(bytes))
		return __libc_realloc(old, bytes);
	if (!bytes) {
		free(old);
		return NULL;
	}
	held = own ? blocks_usable(old) : system_usable_size(old);
	if (own && bytes <= held && bytes >= held / 4)
		return old;
	block = take_longer(held, bytes);
	if (!block)
		return bytes <= held ? old : NULL;
	memcpy(block, old, held < bytes ? held : bytes);
	free(old);
	return block;
}

void *reallocarray(void *old, size_t count, size_t each)
{
	if (each && count > SIZE_MAX / each)
		return no_memory();
	return realloc(old, count * each);
}

void *memalign(size_t alignment, size_t bytes)
{
	void *block = is_power_of_two(alignment) ? take(bytes, alignment) : NULL;

	return block ? block : __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	return memalign(alignment, bytes);
}

int posix_memalign(void **result, size_t alignment, size_t bytes)
{
	int error = errno;
	void *block;

	if (!is_power_of_two(alignment) || alignment % sizeof(void *))
		return EINVAL;
	block = memalign(alignment, bytes);
	errno = error;
	if (!block)
		return ENOMEM;
	*result = block;
	return 0;
}

void *valloc(size_t bytes)
{
	return memalign(reel_os_page_bytes(), bytes);
}

void *pvalloc(size_t bytes)
{
	size_t page = reel_os_page_bytes();
	size_t whole = (bytes + page - 1) & ~(page - 1);

	return whole < bytes ? no_memory() : memalign(page, whole);
}

size_t malloc_usable_size(void *block)
{
	return blocks_own(block) ? blocks_usable(block) : system_usable_size(block);
}
