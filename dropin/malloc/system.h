/* SPDX-License-Identifier: MIT */
/*
 * The allocator of the C library, by the second names of its functions. A search for the original
 * functions with dlsym() would allocate memory.
 */
#ifndef REEL_DROPIN_MALLOC_SYSTEM_H
#define REEL_DROPIN_MALLOC_SYSTEM_H

#include <stddef.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *block);

/* Only malloc_usable_size() has no second name; the first call searches for it. */
size_t system_usable_size(void *block);

#endif
