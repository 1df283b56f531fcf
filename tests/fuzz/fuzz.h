/* SPDX-License-Identifier: MIT */
/* Functions that all targets share: they read the input as numbers, and report a failure. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A target runs one input and checks it against its oracle; a failed check ends the program.
 * A target leaves nothing behind for the next input. Returns 0.
 */
typedef int fuzz_run(const uint8_t *data, size_t size);

struct fuzz_target {
	const char *name;
	fuzz_run *run;
	/* Longer inputs find nothing that shorter ones do not. */
	size_t max_bytes;
};

/* The list ends with an entry without a name. */
extern const struct fuzz_target fuzz_targets[];

/* Returns NULL if no target has this name. */
const struct fuzz_target *fuzz_find(const char *name);

/* ---- Input ---- */

/* Bytes behind the end are read as zeros. */
struct fuzz_input {
	const uint8_t *next;
	size_t left;
};

static inline unsigned fuzz_byte(struct fuzz_input *input)
{
	if (!input->left)
		return 0;
	input->left--;
	return *input->next++;
}

/* Reads a number of `bytes` bytes, the lowest byte first. */
static inline uint64_t fuzz_number(struct fuzz_input *input, unsigned bytes)
{
	uint64_t number = 0;

	for (unsigned i = 0; i < bytes; i++)
		number |= (uint64_t)fuzz_byte(input) << 8 * i;
	return number;
}

/* Takes one byte, or two for bounds above 256. */
static inline unsigned fuzz_below(struct fuzz_input *input, unsigned bound)
{
	return (unsigned)fuzz_number(input, bound > 256 ? 2 : 1) % bound;
}

/* ---- Failure ---- */

/* Prints the condition that failed, and aborts, which each fuzzer counts as a failure. */
_Noreturn void fuzz_fail(const char *file, int line, const char *condition);

#define FUZZ_EXPECT(condition)                                                                     \
	((condition) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #condition))

/* malloc() that ends the program if there is no memory. `bytes` is not 0. */
void *fuzz_allocate(size_t bytes);

/*
 * Writes the data to an unnamed file in memory, and returns a path that opens it. All calls use the
 * same file, and overwrite it.
 */
const char *fuzz_file(const void *data, size_t bytes);

/*
 * Reads the decimal digits at the beginning of the text as a number. Returns the number of digits.
 * *huge: the number is above UINT64_MAX.
 */
size_t fuzz_digits(const char *text, uint64_t *number, bool *huge);

/* CRC-32C, computed bit by bit from its polynomial. */
uint32_t fuzz_crc32c(uint32_t crc, const void *data, size_t bytes);

#endif
