/* SPDX-License-Identifier: MIT */
/*
 * Reads the small text files below /sys and /proc that describe the machine. A file that is missing
 * or has an unexpected format gives UNKNOWN and never a wrong number.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "facts.h"
#include "kernel-file.h"

bool kernel_file_line(const char *path, char *line, size_t size)
{
	FILE *file = fopen(path, "r");
	bool found;

	if (!file)
		return false;
	found = fgets(line, (int)size, file) != NULL;
	fclose(file);
	if (!found || (!strchr(line, '\n') && strlen(line) + 1 == size))
		return false;
	line[strcspn(line, "\n")] = '\0';
	return true;
}

static long long read_digits(const char *text, const char **end)
{
	char *stop;
	long long number;

	if (!isdigit((unsigned char)*text))
		return UNKNOWN;
	errno = 0;
	number = strtoll(text, &stop, 10);
	*end = stop;
	return errno ? UNKNOWN : number;
}

long long kernel_file_number(const char *path)
{
	char line[64];
	const char *end = "";
	long long number = UNKNOWN;

	if (kernel_file_line(path, line, sizeof(line)))
		number = read_digits(line, &end);
	return *end ? UNKNOWN : number;
}

/* Reads a range such as "3" or "0-3"; returns its last number minus its first one. */
static long long read_range(const char **text)
{
	long long first = read_digits(*text, text);
	long long last = first;

	if (first == UNKNOWN)
		return UNKNOWN;
	if (**text == '-')
		last = read_digits(*text + 1, text);
	return last < first ? UNKNOWN : last - first;
}

static long long list_count(const char *rest)
{
	long long count = 0;

	while (*rest) {
		long long range = read_range(&rest);

		if (range == UNKNOWN || range > LLONG_MAX - 1 - count || (*rest && *rest != ','))
			return UNKNOWN;
		count += range + 1;
		rest += *rest == ',';
	}
	return count ? count : UNKNOWN;
}

long long kernel_file_list_count(const char *path)
{
	char line[4096];

	if (!kernel_file_line(path, line, sizeof(line)))
		return UNKNOWN;
	return list_count(line);
}

static long long memory_line_bytes(const char *line, const char *name)
{
	size_t length = strlen(name);
	const char *unit;
	long long number;

	if (strncmp(line, name, length) != 0 || line[length] != ':')
		return UNKNOWN;
	line += length + 1;
	number = read_digits(line + strspn(line, " "), &unit);
	if (number == UNKNOWN || number > LLONG_MAX / 1024 || strncmp(unit, " kB", 3) != 0)
		return UNKNOWN;
	return number * 1024;
}

long long kernel_memory_bytes(const char *name)
{
	FILE *file = fopen("/proc/meminfo", "r");
	long long bytes = UNKNOWN;
	char line[256];

	if (!file)
		return UNKNOWN;
	while (bytes == UNKNOWN && fgets(line, sizeof(line), file))
		bytes = memory_line_bytes(line, name);
	fclose(file);
	return bytes;
}
