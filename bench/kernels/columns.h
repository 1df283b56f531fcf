/* SPDX-License-Identifier: MIT */
/*
 * The record as a struct of arrays, one array a field, as compilers that
 * differentiate emit in place of a tape. The baseline of the kernels.
 */
#ifndef REEL_BENCH_KERNELS_COLUMNS_H
#define REEL_BENCH_KERNELS_COLUMNS_H

#include <stddef.h>

#define MAX_COLUMNS 24

struct columns {
	void *column[MAX_COLUMNS];
	size_t count;
	/* The one block of all columns; NULL: each is a block of its own. */
	void *block;
};

/* Each column by a malloc() of its own. */
void columns_allocate(struct columns *columns, const size_t *bytes, size_t count);

/*
 * All in one block: each column at the beginning of a page, or a few cache lines
 * further than the one before, so that they do not meet in the cache's sets.
 */
void columns_allocate_on_pages(struct columns *columns, const size_t *bytes, size_t count);
void columns_allocate_staggered(struct columns *columns, const size_t *bytes, size_t count);

/* All NULL again. */
void columns_free(struct columns *columns);

#endif
