/* SPDX-License-Identifier: MIT */
/* What tests share that limit processes, or end them, and look at what is left. */
#ifndef TESTS_PROCESS_SUPPORT_H
#define TESTS_PROCESS_SUPPORT_H

#include <dirent.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Ends the child that cannot do what it is for; its parent then skips. */
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

/* Other programs' OpenMP runtimes come and go in the shared memory. */
static inline unsigned names_in(const char *directory)
{
	DIR *names = opendir(directory);
	struct dirent *name;
	unsigned count = 0;

	while (names && (name = readdir(names)))
		count += strncmp(name->d_name, "__KMP", 5) != 0;
	if (names)
		closedir(names);
	return count;
}

#endif
