/* SPDX-License-Identifier: MIT */
/*
 * A number z with the parameter k: z >> k zeros, a one, and the low k bits of z. If there would be
 * ESCAPE zeros or more, ESCAPE zeros, the width of z and z itself. The bits lie in words of 64, the
 * first one in the lowest bit. One more word than they need follows, so that two words may be read
 * at once from any place.
 */
#include "config.h"

#include <string.h>

#include "os/assert.h"
#include "os/integer.h"
#include "rice.h"

#define WORD sizeof(uint64_t)
/* The mean is in sixteenths: below a quarter, a group of zeros is likely. */
#define SMALL_MEAN 4
#define ESCAPE 16
/* Bits of a width less 1. */
#define WIDTH_BITS 6
/* With the zeros and the one, a number has at most 64 bits. */
#define MAX_PARAMETER 48

/* The low n bits, n below 64. */
static inline uint64_t low_bits(uint64_t number, unsigned n)
{
	return number & ((UINT64_C(1) << n) - 1);
}

/*
 * Returns the width of half the mean. This parameter gives the fewest bits to numbers of which the
 * small ones are the most frequent, as differences are.
 */
static inline unsigned parameter_of(uint64_t mean)
{
	unsigned parameter = reel_width(mean >> 4 | 1) - 1;

	return parameter < MAX_PARAMETER ? parameter : MAX_PARAMETER;
}

/* Half of the mean is the last number, so that it follows at once where a field changes. */
static inline uint64_t next_mean(uint64_t mean, uint64_t number)
{
	return (mean >> 1) + (number << 3);
}

/* ---- Writing ---- */

/* Appends n bits, 1 to 64; `bits` has no others. */
static inline bool put(struct reel_rice_code *code, uint64_t bits, unsigned n)
{
	unsigned used = code->bit % 64;

	code->word |= bits << used;
	code->bit += n;
	if (used + n < 64)
		return true;
	if ((size_t)(code->end - code->to) < WORD)
		return false;
	memcpy(code->to, &code->word, WORD);
	code->to += WORD;
	code->word = used ? bits >> (64 - used) : 0;
	return true;
}

static inline bool put_number(struct reel_rice_code *code, uint64_t number)
{
	unsigned parameter = parameter_of(code->mean), width;
	uint64_t zeros = number >> parameter;

	code->mean = next_mean(code->mean, number);
	if (zeros < ESCAPE)
		return put(code, (low_bits(number, parameter) << 1 | 1) << zeros,
			   (unsigned)zeros + 1 + parameter);
	width = reel_width(number);
	return put(code, (uint64_t)(width - 1) << ESCAPE, ESCAPE + WIDTH_BITS) &&
	       put(code, number, width);
}

static bool are_zeros(const uint64_t *numbers, size_t n)
{
	uint64_t all = 0;

	for (size_t i = 0; i < n; i++)
		all |= numbers[i];
	return !all;
}

bool reel_rice_write(struct reel_rice_code *code, const uint64_t *numbers, size_t n)
{
	/* A copy stays in registers: for the compiler, stores to the packed bytes change *code. */
	struct reel_rice_code own = *code;
	bool has_room = true;

	for (size_t i = 0, end; i < n && has_room; i = end) {
		end = reel_min_size(i + REEL_RICE_GROUP, n);
		if (own.mean < SMALL_MEAN) {
			bool zeros = are_zeros(numbers + i, end - i);

			has_room = put(&own, !zeros, 1);
			if (zeros) {
				own.mean = 0;
				continue;
			}
		}
		for (; i < end && has_room; i++)
			has_room = put_number(&own, numbers[i]);
	}
	*code = own;
	return has_room;
}

char *reel_rice_finish(struct reel_rice_code *code)
{
	const uint64_t last[2] = {code->word, 0};

	REEL_ASSERT(code->to <= code->end);
	if ((size_t)(code->end - code->to) < sizeof last)
		return NULL;
	memcpy(code->to, last, sizeof last);
	return code->to + sizeof last;
}

/* ---- Reading ---- */

/* Gives the next 64 bits. Returns false if they are not all in memory. */
static inline bool peek(const struct reel_rice_code *code, uint64_t *bits)
{
	uint64_t word[2], at = code->bit / 64 * WORD;
	unsigned shift = code->bit % 64;

	if ((size_t)(code->end - code->from) < at + sizeof word)
		return false;
	memcpy(word, code->from + at, sizeof word);
	*bits = word[0] >> shift | word[1] << 1 << (63 - shift);
	return true;
}

/* A number that follows ESCAPE zeros. */
static inline bool get_escaped(struct reel_rice_code *code, uint64_t *number)
{
	uint64_t bits;
	unsigned width;

	code->bit += ESCAPE;
	if (!peek(code, &bits))
		return false;
	width = 1 + (unsigned)low_bits(bits, WIDTH_BITS);
	code->bit += WIDTH_BITS;
	if (!peek(code, &bits))
		return false;
	code->bit += width;
	*number = width < 64 ? low_bits(bits, width) : bits;
	return true;
}

static inline bool get_number(struct reel_rice_code *code, uint64_t *number)
{
	unsigned parameter = parameter_of(code->mean), zeros;
	uint64_t bits;

	if (!peek(code, &bits))
		return false;
	if (low_bits(bits, ESCAPE)) {
		zeros = (unsigned)__builtin_ctzll(bits);
		*number = (uint64_t)zeros << parameter | low_bits(bits >> 1 >> zeros, parameter);
		code->bit += zeros + 1 + parameter;
	} else if (!get_escaped(code, number)) {
		return false;
	}
	code->mean = next_mean(code->mean, *number);
	return true;
}

bool reel_rice_read(struct reel_rice_code *code, uint64_t *numbers, size_t n)
{
	struct reel_rice_code own = *code;
	bool is_right = true;

	REEL_ASSERT(own.from <= own.end);
	for (size_t i = 0, end; i < n && is_right; i = end) {
		uint64_t bits;

		end = reel_min_size(i + REEL_RICE_GROUP, n);
		if (own.mean < SMALL_MEAN) {
			is_right = peek(&own, &bits);
			own.bit++;
			if (is_right && !(bits & 1)) {
				memset(numbers + i, 0, (end - i) * sizeof *numbers);
				own.mean = 0;
				continue;
			}
		}
		for (; i < end && is_right; i++)
			is_right = get_number(&own, &numbers[i]);
	}
	*code = own;
	return is_right;
}

bool reel_rice_is_read(const struct reel_rice_code *code)
{
	return (uint64_t)(code->end - code->from) == (code->bit / 64 + 2) * WORD;
}
