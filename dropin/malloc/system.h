/* SPDX-License-Identifier: MIT */
/*
 * The C library's own allocator, by the names that it has besides those taken
 * over here. Looking them up would allocate.
 */
#ifndef REEL_DROPIN_MALLOC_SYSTEM_H
#define REEL_DROPIN_MALLOC_SYSTEM_H

#include <stddef.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *block);

/* That of malloc_usable_size() alone has no second name: looked up when first used. */
size_t system_usable_size(void *block);

#endif
