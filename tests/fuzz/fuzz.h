/* SPDX-License-Identifier: MIT */
/* What the targets share: the input, read as numbers, and how a failure ends. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A target runs one input and checks it against its oracle; what is wrong ends the program.
 * Nothing is left of an input when the next one comes. Returns 0.
 */
typedef int fuzz_run(const uint8_t *data, size_t size);

struct fuzz_target {
	const char *name;
	fuzz_run *run;
	/* Longer inputs find nothing that shorter ones do not. */
	size_t max_bytes;
};

/* The last one has no name. */
extern const struct fuzz_target fuzz_targets[];

/* NULL: there is none of this name. */
const struct fuzz_target *fuzz_find(const char *name);

/* ---- Input ---- */

/* Behind its end it is zeros. */
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

/* A number of so many bytes, the lowest first. */
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

/* Says what did not hold, and aborts, which every engine takes for a find. */
_Noreturn void fuzz_fail(const char *file, int line, const char *condition);

#define FUZZ_EXPECT(condition)                                                                     \
	((condition) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #condition))

/* malloc() that ends the program where there is none. Not 0 bytes. */
void *fuzz_allocate(size_t bytes);

/*
 * An unnamed file in memory that holds just this; `path` is by what it can be opened. It is one
 * file, overwritten each time.
 */
const char *fuzz_file(const void *data, size_t bytes);

/*
 * The decimal digits that the text begins with, as a number. Returns how many they are; *huge: it
 * is above UINT64_MAX.
 */
size_t fuzz_digits(const char *text, uint64_t *number, bool *huge);

/* CRC-32C bit by bit, as its polynomial says. */
uint32_t fuzz_crc32c(uint32_t crc, const void *data, size_t bytes);

#endif
