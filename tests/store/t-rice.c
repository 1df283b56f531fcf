/* SPDX-License-Identifier: MIT */
/*
 * Tests the Rice code: all numbers come back, in little more bits than their entropy; too little
 * room and too few bytes are refused; and no byte outside is read or written.
 */
#include <config.h>

#include <math.h>

#include "os/integer.h"
#include "store/rice.h"
#include "helpers/support.h"

enum { N = 5000, ROOM = N * 12 + 16 };

static uint64_t numbers[N], back[N], state = 1;
static char packed[ROOM + 8];

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1d;
}

static double uniform(void)
{
	return (double)(draw() >> 11) / 9007199254740992.0;
}

/* Writes the numbers in calls of whole groups. Returns the end of the bytes, or NULL. */
static char *write_all(char *end, size_t n)
{
	struct reel_rice_code code = {.to = packed, .end = end};

	for (size_t i = 0, some; i < n; i += some) {
		some = reel_min_size(n - i, REEL_RICE_GROUP * (1 + draw() % 40));
		if (!reel_rice_write(&code, numbers + i, some))
			return NULL;
	}
	return reel_rice_finish(&code);
}

/* Reads from a block of exactly these bytes. Returns true if the numbers come back. */
static bool read_all(size_t bytes, size_t n)
{
	char *copy = malloc(bytes + !bytes);
	struct reel_rice_code code = {.from = copy, .end = copy + bytes};
	bool is_right = copy;

	if (copy)
		memcpy(copy, packed, bytes);
	for (size_t i = 0, some; i < n && is_right; i += some) {
		some = reel_min_size(n - i, REEL_RICE_GROUP * (1 + draw() % 40));
		is_right = reel_rice_read(&code, back + i, some);
	}
	is_right = is_right && reel_rice_is_read(&code);
	free(copy);
	return is_right && !memcmp(numbers, back, n * sizeof *numbers);
}

/* Stretches of numbers of different sizes, of all widths in the end. */
static void set_numbers(size_t n, unsigned widest)
{
	unsigned width = 0;

	for (size_t i = 0; i < n; i++) {
		if (draw() % 64 == 0)
			width = (unsigned)(draw() % (widest + 1));
		numbers[i] = width ? draw() >> (64 - width) : 0;
		if (draw() % 256 == 0)
			numbers[i] = draw() >> draw() % 64;
	}
}

static void numbers_come_back(void)
{
	int wrong = 0, taken = 0, times = is_brief() ? 2000 : 50000;

	for (int i = 0; i < times; i++) {
		size_t n = draw() % (i % 8 ? 100 : N), bytes;
		char *end;

		set_numbers(n, (unsigned)(i % 65));
		memset(packed, 0x5a, sizeof packed);
		end = write_all(packed + ROOM, n);
		bytes = end ? (size_t)(end - packed) : 0;
		wrong += !end || !read_all(bytes, n);
		/* One byte less or more, and less room. */
		taken += read_all(bytes - 1, n) + read_all(bytes + 1, n);
		memset(packed, 0x5a, sizeof packed);
		taken += write_all(packed + bytes - 1, n) != NULL;
		wrong += packed[bytes - 1] != 0x5a;
	}
	is_int(wrong, 0, "numbers of any width come back, and no byte behind the room changes");
	is_int(taken, 0, "less room is refused, and so are fewer and more bytes");
}

static void any_bytes_are_read(void)
{
	int times = is_brief() ? 2000 : 50000;

	for (int i = 0; i < times; i++) {
		size_t bytes = draw() % 200;

		for (size_t k = 0; k < bytes; k++)
			packed[k] = (char)(i % 2 ? draw() : draw() & draw() & draw() & draw());
		read_all(bytes, N);
	}
	ok(true, "any bytes are read, and no other memory");
}

/* The bits of numbers that are small more often than large, beside their entropy. */
static void takes_few_bits(double mean)
{
	double p = 1 / (1 + mean);
	double entropy = mean > 0 ? log2(1 + mean) + mean * log2(1 + 1 / mean) : 0, bits;
	char *end;

	for (size_t i = 0; i < N; i++)
		numbers[i] = mean > 0 ? (uint64_t)(log(uniform() + 1e-300) / log(1 - p)) : 0;
	end = write_all(packed + ROOM, N);
	bits = end ? 8.0 * (double)(end - packed) / N : 1e300;
	ok(bits < 1.1 * entropy + 0.55, "a mean of %g: %.2f bits, and an entropy of %.2f", mean,
	   bits, entropy);
}

int main(void)
{
	tap_begin();
	numbers_come_back();
	any_bytes_are_read();
	takes_few_bits(0);
	takes_few_bits(0.01);
	takes_few_bits(0.1);
	takes_few_bits(1);
	takes_few_bits(30);
	takes_few_bits(1e6);
	takes_few_bits(1e12);
	return tap_end();
}
