/* SPDX-License-Identifier: MIT */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

void fuzz_fail(const char *file, int line, const char *condition)
{
	fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
	abort();
}

void *fuzz_allocate(size_t bytes)
{
	void *memory = malloc(bytes);

	FUZZ_EXPECT(memory);
	return memory;
}

const char *fuzz_file(const void *data, size_t bytes)
{
	static char path[64];
	static int file;

	if (!file) {
		file = memfd_create("fuzz", MFD_CLOEXEC);
		FUZZ_EXPECT(file > 0);
		snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	}
	FUZZ_EXPECT(!ftruncate(file, 0));
	FUZZ_EXPECT(pwrite(file, data, bytes, 0) == (ssize_t)bytes);
	return path;
}

size_t fuzz_digits(const char *text, uint64_t *number, bool *huge)
{
	size_t digits = 0;

	*number = 0;
	*huge = false;
	for (; text[digits] >= '0' && text[digits] <= '9'; digits++) {
		uint64_t digit = (uint64_t)(text[digits] - '0');

		*huge |= *number > (UINT64_MAX - digit) / 10;
		*number = 10 * *number + digit;
	}
	return digits;
}

uint32_t fuzz_crc32c(uint32_t crc, const void *data, size_t bytes)
{
	const unsigned char *byte = data;

	crc = ~crc;
	for (size_t i = 0; i < bytes; i++) {
		crc ^= byte[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return ~crc;
}

const struct fuzz_target *fuzz_find(const char *name)
{
	for (const struct fuzz_target *target = fuzz_targets; target->name; target++)
		if (!strcmp(target->name, name))
			return target;
	return NULL;
}
