/* SPDX-License-Identifier: MIT */
/* Shared by tests that limit processes, or end them, and look at files that are left. */
#ifndef TESTS_PROCESS_SUPPORT_H
#define TESTS_PROCESS_SUPPORT_H

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Ends a child that cannot do its work; its parent then skips. */
#define CANNOT 77

/* A macro, since C libraries differ in the type of the first argument. */
#define LIMIT(resource, most) \
	do { \
		struct rlimit limit; \
		getrlimit(resource, &limit); \
		limit.rlim_cur = (most); \
		if (setrlimit(resource, &limit)) \
			_exit(CANNOT); \
	} while (0)

/* That begin so: other programs have theirs in the shared memory, and in TMPDIR. */
static inline unsigned names_like(const char *directory, const char *beginning)
{
	DIR *names = opendir(directory);
	struct dirent *name;
	unsigned count = 0;

	while (names && (name = readdir(names)))
		count += strncmp(name->d_name, beginning, strlen(beginning)) == 0;
	if (names)
		closedir(names);
	return count;
}

static inline unsigned names_in(const char *directory)
{
	return names_like(directory, "");
}

/* Where a file has a name until it is unlinked, a kill in between leaves it. */
static inline bool files_have_no_name(void)
{
#ifdef O_TMPFILE
	int file = open(".", O_TMPFILE | O_RDWR, 0600);

	close(file);
	return file >= 0;
#else
	return false;
#endif
}

/* Files that the library could leave there. */
static inline unsigned names_shared(void)
{
	return names_like("/dev/shm", "reel-spill");
}

#endif
