/* SPDX-License-Identifier: MIT */
/*
 * The baseline: blocks of 1 MiB that are kept, the place in the topmost in static variables, a test
 * for a repeat level in each call, a copy out of line where a block ends, bits one by one. That is
 * how the original stack of 2024 works; the code is not its code.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "dropin.h"
#include "dropin-calls.h"

DROPIN_CALLS(original)

#define BLOCK_BYTES ((size_t)1 << 20)

struct block {
	struct block *below;
	struct block *above;
	char bytes[BLOCK_BYTES];
};

static struct block *block;
static size_t place = BLOCK_BYTES;
static void *volatile repeat_level;
static unsigned bits, bit_count;

static void next_block(void)
{
	if (!block || !block->above) {
		struct block *fresh = calloc(1, sizeof *fresh);

		if (!fresh)
			abort();
		fresh->below = block;
		if (block)
			block->above = fresh;
		block = fresh;
	} else {
		block = block->above;
	}
	place = 0;
}

/* The lowest block stays: the stack may come to it again. */
static void previous_block(void)
{
	block = block->below;
	place = BLOCK_BYTES;
}

static void push_bytes(const char *source, size_t bytes)
{
	while (bytes) {
		size_t piece = BLOCK_BYTES - place < bytes ? BLOCK_BYTES - place : bytes;

		if (piece) {
			memcpy(block->bytes + place, source, piece);
			place += piece;
			source += piece;
			bytes -= piece;
		} else {
			next_block();
		}
	}
}

static void pop_bytes(char *target, size_t bytes)
{
	while (bytes) {
		size_t piece = place < bytes ? place : bytes;

		if (piece) {
			place -= piece;
			bytes -= piece;
			memcpy(target + bytes, block->bytes + place, piece);
		} else {
			previous_block();
		}
	}
}

static void check_level(void)
{
	if (repeat_level)
		abort();
}

#define SCALAR(name, type)                                                                         \
	void original_push_##name(type x)                                                          \
	{                                                                                          \
		check_level();                                                                     \
		if (place + sizeof x > BLOCK_BYTES) {                                              \
			push_bytes((const char *)&x, sizeof x);                                    \
		} else {                                                                           \
			memcpy(block->bytes + place, &x, sizeof x);                                \
			place += sizeof x;                                                         \
		}                                                                                  \
	}                                                                                          \
	void original_pop_##name(type *x)                                                          \
	{                                                                                          \
		if (place < sizeof *x) {                                                           \
			pop_bytes((char *)x, sizeof *x);                                           \
		} else {                                                                           \
			place -= sizeof *x;                                                        \
			memcpy(x, block->bytes + place, sizeof *x);                                \
		}                                                                                  \
		check_level();                                                                     \
	}
SCALAR(real8, double)
SCALAR(integer4, int)

void original_push_array(double *x, int n)
{
	check_level();
	push_bytes((const char *)x, (size_t)n * sizeof *x);
}

void original_pop_array(double *x, int n)
{
	pop_bytes((char *)x, (size_t)n * sizeof *x);
	check_level();
}

void original_push_control(int x)
{
	check_level();
	bits = bits << 1 | (unsigned)(x != 0);
	if (++bit_count < 32)
		return;
	push_bytes((const char *)&bits, sizeof bits);
	bit_count = 0;
}

void original_pop_control(int *x)
{
	if (bit_count == 0) {
		pop_bytes((char *)&bits, sizeof bits);
		bit_count = 32;
	}
	bit_count--;
	*x = (int)(bits & 1);
	bits >>= 1;
	check_level();
}

void dropin_original_close(void)
{
	while (block && block->above)
		block = block->above;
	while (block) {
		struct block *below = block->below;

		free(block);
		block = below;
	}
	place = BLOCK_BYTES;
}
