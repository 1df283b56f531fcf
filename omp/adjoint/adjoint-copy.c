/* SPDX-License-Identifier: MIT */
/*
 * Mappings for the copies of lanes and for check mode. The system gives a mapping memory page by
 * page, when a thread touches the page first, so an array of which a lane uses little costs little.
 * The thread that opens, begins or closes the adjoint object calls the functions. A mapping starts
 * as zeros and is a whole number of pages.
 */
#include "config.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "adjoint.h"
#include "os/assert.h"

size_t reel_adjoint_copy_bytes(size_t bytes)
{
	long size = sysconf(_SC_PAGESIZE);
	size_t page = size > 0 ? (size_t)size : 4096;

	REEL_ASSERT((page & (page - 1)) == 0);
	return (bytes + page - 1) & ~(page - 1);
}

/* Asks the system for small pages: with huge pages, one add could take 2 MiB. */
static void want_small_pages(void *mapping, size_t bytes)
{
#ifdef MADV_NOHUGEPAGE
	(void)madvise(mapping, bytes, MADV_NOHUGEPAGE);
#else
	(void)mapping;
	(void)bytes;
#endif
}

int reel_adjoint_copy_map(struct adjoint_copy *copy, size_t bytes)
{
	size_t pages = reel_adjoint_copy_bytes(bytes);
	char *mapping = mmap(NULL, pages, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	REEL_ASSERT(!copy->mapping);
	if (mapping == MAP_FAILED)
		return -ENOMEM;
	want_small_pages(mapping, pages);
	copy->mapping = mapping;
	copy->bytes = pages;
	return 0;
}

void reel_adjoint_copy_unmap(struct adjoint_copy *copy)
{
	if (copy->mapping)
		munmap(copy->mapping, copy->bytes);
	copy->mapping = NULL;
	copy->bytes = 0;
}
