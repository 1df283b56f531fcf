/* SPDX-License-Identifier: MIT */
/* Compares the reader of the kernel's files about the machine with a second reader. */
#include <config.h>

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/facts.h"
#include "../../tools/kernel-file.h"
#include "fuzz.h"
#include "targets.h"

/* Reads the digits before *rest; UNKNOWN: there are none, or the number is too large. */
static long long read_number(const char *text, const char **rest)
{
	uint64_t number;
	bool huge;
	size_t digits = fuzz_digits(text, &number, &huge);

	*rest = text + digits;
	return !digits || huge || number > LLONG_MAX ? UNKNOWN : (long long)number;
}

static long long right_number(const char *line)
{
	const char *end;
	long long number = read_number(line, &end);

	return *end ? UNKNOWN : number;
}

/* Counts the numbers of a list; UNKNOWN, too, if they are more than LLONG_MAX. */
static long long right_count(const char *line)
{
	uint64_t count = 0;

	while (*line) {
		long long first = read_number(line, &line), last = first;

		if (first >= 0 && *line == '-')
			last = read_number(line + 1, &line);
		if (first < 0 || last < first || (*line && *line != ','))
			return UNKNOWN;
		count += (uint64_t)(last - first) + 1;
		if (count > LLONG_MAX)
			return UNKNOWN;
		line += *line == ',';
	}
	return count ? (long long)count : UNKNOWN;
}

/* Copies the first line. Returns false if the file is empty, or the line has no room. */
static bool right_line(char *line, size_t room, const uint8_t *data, size_t size)
{
	const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
	size_t length = end ? (size_t)(end - data) : size;

	if (!size || length + 1 >= room)
		return false;
	memcpy(line, data, length);
	line[length] = '\0';
	return true;
}

int fuzz_kernel_file(const uint8_t *data, size_t size)
{
	const char *path = fuzz_file(data, size);
	char line[4096], right[4096];
	bool found;

	/* The kernel writes no NUL. */
	if (size && memchr(data, 0, size))
		return 0;
	found = right_line(right, 64, data, size);
	FUZZ_EXPECT(kernel_file_line(path, line, 64) == found);
	FUZZ_EXPECT(!found || !strcmp(line, right));
	FUZZ_EXPECT(kernel_file_number(path) == (found ? right_number(right) : UNKNOWN));
	found = right_line(right, sizeof right, data, size);
	FUZZ_EXPECT(kernel_file_list_count(path) == (found ? right_count(right) : UNKNOWN));
	return 0;
}
