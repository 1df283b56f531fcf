/* SPDX-License-Identifier: MIT */
/* Trees of files that pretend to be the kernel's. */
#ifndef TESTS_FILE_TREE_H
#define TESTS_FILE_TREE_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Writes a file, and the folders that it lies in. */
static inline void write_file(const char *text, const char *format, ...)
{
	char path[1024];
	va_list arguments;
	FILE *file;

	va_start(arguments, format);
	vsnprintf(path, sizeof path, format, arguments);
	va_end(arguments);
	for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		if (mkdir(path, 0700) && errno != EEXIST)
			abort();
		*slash = '/';
	}
	file = fopen(path, "w");
	if (!file || fputs(text, file) < 0 || fclose(file))
		abort();
}

/* Of a path that the library has read. */
static inline bool ends_with(const char *text, const char *end)
{
	return strlen(text) >= strlen(end) && !strcmp(text + strlen(text) - strlen(end), end);
}

#endif
