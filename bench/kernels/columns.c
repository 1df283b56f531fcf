/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "columns.h"

#include <stdlib.h>

#include "memory.h"

#define PAGE ((size_t)4096)
/* 13 cache lines: 64 columns begin in 64 different sets. */
#define STAGGER ((size_t)832)

void columns_allocate(struct columns *columns, const size_t *bytes, size_t count)
{
	columns->count = count;
	for (size_t c = 0; c < count; c++) {
		columns->column[c] = malloc(bytes[c]);
		if (!columns->column[c])
			memory_out();
	}
}

static size_t whole_pages(size_t bytes)
{
	return (bytes + PAGE - 1) / PAGE * PAGE;
}

static void allocate_block(struct columns *columns, const size_t *bytes, size_t count,
			   size_t stagger)
{
	size_t total = PAGE, offset = 0;
	char *pages;

	for (size_t c = 0; c < count; c++)
		total += whole_pages(bytes[c]) + stagger;
	columns->block = memory_block(total);
	columns->count = count;
	pages = (char *)columns->block + (-(size_t)columns->block & (PAGE - 1));
	for (size_t c = 0; c < count; c++) {
		columns->column[c] = pages + offset + c * stagger;
		offset += whole_pages(bytes[c]);
	}
}

void columns_allocate_on_pages(struct columns *columns, const size_t *bytes, size_t count)
{
	allocate_block(columns, bytes, count, 0);
}

void columns_allocate_staggered(struct columns *columns, const size_t *bytes, size_t count)
{
	allocate_block(columns, bytes, count, STAGGER);
}

void columns_free(struct columns *columns)
{
	for (size_t c = 0; c < columns->count && !columns->block; c++)
		free(columns->column[c]);
	free(columns->block);
	*columns = (struct columns){0};
}
