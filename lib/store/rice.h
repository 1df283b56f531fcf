/* SPDX-License-Identifier: MIT */
/*
 * Whole numbers without sign in few bits: a Rice code whose parameter follows the numbers. A number
 * is its low bits, `parameter` of them, and the others in unary. The parameter comes from a mean of
 * the numbers before, so it is not written. Numbers go in groups; where the mean is near 0, a group
 * of zeros is one bit.
 *
 * Each call but the last one has whole groups. One thread at a time uses an object.
 */
#ifndef REEL_LIB_RICE_H
#define REEL_LIB_RICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REEL_RICE_GROUP 16

/* Begins with `end` and `to` or `from`, and all else 0. */
struct reel_rice_code {
	char *to;         /* the next byte to write */
	const char *from; /* the first byte to read */
	const char *end;
	uint64_t bit;     /* number of bits that were written or read */
	uint64_t word;    /* the last of these that are written, and not in memory yet */
	uint64_t mean;    /* of the numbers before, in sixteenths; late ones count more */
};

/* Returns false if the numbers need more than the room. */
bool reel_rice_write(struct reel_rice_code *code, const uint64_t *numbers, size_t n);

/* Writes the last bits. Returns the end of all, or NULL: they need more than the room. */
char *reel_rice_finish(struct reel_rice_code *code);

/* Returns false if the bytes end before the numbers. Whatever they are, no other byte is read. */
bool reel_rice_read(struct reel_rice_code *code, uint64_t *numbers, size_t n);

/* Returns true if all bytes are read. */
bool reel_rice_is_read(const struct reel_rice_code *code);

#endif
