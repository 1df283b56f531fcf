/* SPDX-License-Identifier: MIT */
/*
 * Memory and processor: mappings, huge pages, sizes of pages and caches. Any thread; no state.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "assert.h"
#include "cancel.h"
#include "os.h"

size_t reel_os_page_bytes(void)
{
	long bytes = sysconf(_SC_PAGESIZE);

	/* Unreached: every POSIX system says how large its pages are. */
	return bytes > 0 ? (size_t)bytes : 4096;
}

/*
 * The list of the kernel has two caches of the first level, then levels 2 and 3. Of some processors
 * sysconf() returns the sum of all third levels, also of those that a core does not reach.
 * Rarely reached: its failures, only where /sys does not describe the caches.
 */
size_t reel_os_cache_bytes(unsigned level)
{
	REEL_UNCANCELLED;
	unsigned long kibibytes = 0;
	char path[80];
	FILE *file;

	REEL_ASSERT(level == 2 || level == 3);
	snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%u/size", level);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%luK", &kibibytes) != 1)
		kibibytes = 0;
	fclose(file);
	return (size_t)kibibytes << 10;
}

/* Maps more than is needed, and unmaps the ends that lie outside of the alignment. */
void *reel_os_map(size_t bytes, size_t alignment)
{
	size_t page = reel_os_page_bytes(), whole = (bytes + page - 1) & ~(page - 1);
	size_t excess = alignment > page ? alignment - page : 0;
	char *start, *aligned;
	size_t before;

	REEL_ASSERT(alignment && !(alignment & (alignment - 1)));
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
	REEL_ASSERT((uintptr_t)aligned % alignment == 0);
	return aligned;
}

/*
 * The kernel refuses to unmap the middle of a mapping if that makes too many. Then the memory goes
 * back at least, and the addresses stay reserved.
 */
void reel_os_unmap(void *address, size_t bytes)
{
	size_t page = reel_os_page_bytes(), whole = (bytes + page - 1) & ~(page - 1);

	if (munmap(address, whole))
		(void)madvise(address, whole, MADV_DONTNEED);
}

/* Reads without stdio, which would ask for memory. */
static size_t count_lines(const char *path)
{
	char buffer[4096];
	int file = open(path, O_RDONLY | O_CLOEXEC);
	size_t lines = 0;
	ssize_t bytes;

	if (file < 0)
		return 0;
	while ((bytes = read(file, buffer, sizeof buffer)) > 0)
		for (ssize_t i = 0; i < bytes; i++)
			lines += buffer[i] == '\n';
	close(file);
	return lines;
}

int reel_os_read_text(const char *path, char *text, size_t size)
{
	int file = open(path, O_RDONLY | O_CLOEXEC), error = 0;
	ssize_t bytes;

	if (file < 0)
		return -errno;
	bytes = read(file, text, size - 1);
	if (bytes < 0)
		error = -errno;
	else
		text[bytes] = '\0';
	close(file);
	return error;
}

/* 0: a system without such a limit. */
static size_t max_mappings(void)
{
	char text[32];

	return reel_os_read_text("/proc/sys/vm/max_map_count", text, sizeof text)
		       ? 0 : strtoul(text, NULL, 10);
}

/* Some below the limit, since a refused request may have asked for more than one mapping. */
const char *reel_os_mappings_remedy(void)
{
	REEL_UNCANCELLED;
	size_t limit = max_mappings();

	if (!limit || count_lines("/proc/self/maps") + 16 <= limit)
		return "";
	return "; the process has as many mappings as vm.max_map_count allows (sysctl): raise it, "
	       "or take fewer and larger spans and parcels";
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

void reel_os_want_small_pages(void *address, size_t bytes)
{
#if REEL_HUGE_PAGES && defined(MADV_NOHUGEPAGE)
	(void)madvise(address, bytes, MADV_NOHUGEPAGE);
#else
	(void)address;
	(void)bytes;
#endif
}

/* The kernel lists all modes, with the present mode in brackets. */
bool reel_os_has_huge_pages(void)
{
#if REEL_HUGE_PAGES
	REEL_UNCANCELLED;
	char modes[64];

	return !reel_os_read_text("/sys/kernel/mm/transparent_hugepage/enabled", modes,
				  sizeof modes) &&
	       *modes && !strstr(modes, "[never]");
#else
	return false;
#endif
}

/* Writes zeros, since the pages are zero: a page that is read becomes no memory. */
void reel_os_populate(void *address, size_t bytes)
{
	size_t page = reel_os_page_bytes();

	REEL_ASSERT((uintptr_t)address % page == 0 && bytes % page == 0);
#ifdef MADV_POPULATE_WRITE
	if (madvise(address, bytes, MADV_POPULATE_WRITE) == 0)
		return;
#endif
	for (size_t at = 0; at < bytes; at += page)
		((volatile char *)address)[at] = 0;
}

bool reel_os_drop(void *address, size_t bytes)
{
	size_t page = reel_os_page_bytes();

	if ((uintptr_t)address % page || bytes % page)
		return false;
	return madvise(address, bytes, MADV_DONTNEED) == 0;
}
