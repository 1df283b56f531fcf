/* SPDX-License-Identifier: MIT */
/* Properties that every store must have. */
#ifndef TESTS_STORE_SUITE_H
#define TESTS_STORE_SUITE_H

#include <reel.h>

#define SUITE_MAX_BYTES ((size_t)256 << 10)
#define SUITE_TOTAL_BYTES ((size_t)16 << 20)

/*
 * Run all checks. `open` opens an empty store, which takes puts of up to
 * SUITE_MAX_BYTES and SUITE_TOTAL_BYTES in all; NULL is a failed check.
 */
void store_suite(const char *name, reel_store *(*open)(void));

/* Data for a put, the same for the same n: without any pattern, or, if n is odd, smooth. */
void suite_fill(void *data, size_t bytes, uint64_t n);
bool suite_is_filled(const void *data, size_t bytes, uint64_t n);

/* Aligned for every store. */
void *suite_allocate(size_t bytes);

#endif
