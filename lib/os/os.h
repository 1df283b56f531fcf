/* SPDX-License-Identifier: MIT */
/*
 * Memory and processor. Every mapping of memory goes through these functions, so that tests can
 * refuse it in one place.
 */
#ifndef REEL_LIB_OS_H
#define REEL_LIB_OS_H

#include <stdbool.h>
#include <stddef.h>

#define REEL_HUGE_PAGE ((size_t)2 << 20)

size_t reel_os_page_bytes(void);

/* Reads the beginning of a file of the kernel as a text, without stdio. Returns 0 or -errno. */
int reel_os_read_text(const char *path, char *text, size_t size);

/* Returns the bytes of the cache of level 2 or 3 of the first processor, or 0: not known. */
size_t reel_os_cache_bytes(unsigned level);

/* Maps zero pages aligned to `alignment`, a power of two. Returns NULL if there is no memory. */
void *reel_os_map(size_t bytes, size_t alignment);
void reel_os_unmap(void *address, size_t bytes);
/*
 * For the end of a message about memory that was refused: a remedy if the process has reached the
 * system's limit of mappings, so that it gets no memory though there is some; otherwise "".
 * Cost: reads the list of mappings.
 */
const char *reel_os_mappings_remedy(void);

/* Asks for huge pages. A refusal costs only speed and is not reported. */
void reel_os_want_huge_pages(void *address, size_t bytes);

/* Asks for pages of the usual size. */
void reel_os_want_small_pages(void *address, size_t bytes);
/* Returns whether the system makes huge pages on request. */
bool reel_os_has_huge_pages(void);
/* Makes whole pages resident that were never used, by one request where Linux 5.14 has it. */
void reel_os_populate(void *address, size_t bytes);

/* Gives the memory of whole pages back and keeps the addresses. Returns whether it did. */
bool reel_os_drop(void *address, size_t bytes);

#endif
