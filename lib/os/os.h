/* SPDX-License-Identifier: MIT */
/*
 * The operating system: every mapping of memory goes through here, so that
 * faults can be injected in one place.
 */
#ifndef REEL_LIB_OS_H
#define REEL_LIB_OS_H

#include <stdbool.h>
#include <stddef.h>

#define REEL_HUGE_PAGE ((size_t)2 << 20)

size_t reel_os_page_bytes(void);

/* The data cache of this level (1 to 3) of the first processor; 0: not known. */
size_t reel_os_cache_bytes(unsigned level);

/* Fresh zero pages, `alignment` (a power of two) aligned; NULL if there are none. */
void *reel_os_map(size_t bytes, size_t alignment);
void reel_os_unmap(void *address, size_t bytes);

/* Ask for huge pages; a refusal costs speed only and is not reported. */
void reel_os_want_huge_pages(void *address, size_t bytes);

/*
 * Give the memory of whole pages back and keep the addresses. Returns whether
 * it was given back.
 */
bool reel_os_drop(void *address, size_t bytes);

#endif
