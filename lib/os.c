/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os.h"

size_t reel_os_page_bytes(void)
{
	long bytes = sysconf(_SC_PAGESIZE);

	return bytes > 0 ? (size_t)bytes : 4096;
}

/* Maps more than asked for and gives back what lies outside of the alignment. */
void *reel_os_map(size_t bytes, size_t alignment)
{
	size_t page = reel_os_page_bytes();
	size_t whole = (bytes + page - 1) & ~(page - 1);
	size_t excess = alignment > page ? alignment - page : 0;
	char *start, *aligned;
	size_t before;

	if (whole < bytes || whole + excess < whole)
		return NULL;
	start = mmap(NULL, whole + excess, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (start == MAP_FAILED)
		return NULL;
	before = excess ? (size_t)(-(uintptr_t)start & (alignment - 1)) : 0;
	aligned = start + before;
	if (before)
		munmap(start, before);
	if (excess > before)
		munmap(aligned + whole, excess - before);
	return aligned;
}

void reel_os_unmap(void *address, size_t bytes)
{
	size_t page = reel_os_page_bytes();

	munmap(address, (bytes + page - 1) & ~(page - 1));
}

void reel_os_want_huge_pages(void *address, size_t bytes)
{
#if REEL_HUGE_PAGES && defined(MADV_HUGEPAGE)
	(void)madvise(address, bytes, MADV_HUGEPAGE);
#else
	(void)address;
	(void)bytes;
#endif
}

bool reel_os_drop(void *address, size_t bytes)
{
	size_t page = reel_os_page_bytes();

	if ((uintptr_t)address % page || bytes % page)
		return false;
	return madvise(address, bytes, MADV_DONTNEED) == 0;
}
