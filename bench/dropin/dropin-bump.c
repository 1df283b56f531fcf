/* SPDX-License-Identifier: MIT */
/* A bare bump pointer, out of line; the sweeps that call it are in dropin-bump-sweeps.c. */
#include "config.h"

#include <string.h>

#include "dropin.h"
#include "dropin-calls.h"

DROPIN_CALLS(bump)

static char *memory, *top;
static size_t memory_bytes;
static unsigned bits, bit_count;

void dropin_bump_open(size_t bytes)
{
	memory = bench_memory(bytes);
	memory_bytes = bytes;
	top = memory;
}

void dropin_bump_close(void)
{
	bench_memory_free(memory, memory_bytes);
}

void dropin_bump_begin_level(void *context, size_t n)
{
	(void)context;
	top = memory + n * sizeof(double);
}

void dropin_bump_end_level(void *context, size_t n)
{
	(void)context;
	(void)n;
	top = memory;
}

void bump_push_real8(double x)
{
	memcpy(top, &x, sizeof x);
	top += sizeof x;
}

void bump_pop_real8(double *x)
{
	top -= sizeof *x;
	memcpy(x, top, sizeof *x);
}

void bump_push_integer4(int x)
{
	memcpy(top, &x, sizeof x);
	top += sizeof x;
}

void bump_pop_integer4(int *x)
{
	top -= sizeof *x;
	memcpy(x, top, sizeof *x);
}

void bump_push_control(int x)
{
	bits = bits << 1 | (unsigned)(x != 0);
	if (++bit_count < 32)
		return;
	memcpy(top, &bits, sizeof bits);
	top += sizeof bits;
	bit_count = 0;
}

void bump_pop_control(int *x)
{
	if (bit_count == 0) {
		top -= sizeof bits;
		memcpy(&bits, top, sizeof bits);
		bit_count = 32;
	}
	bit_count--;
	*x = (int)(bits & 1);
	bits >>= 1;
}

void bump_push_array(double *x, int n)
{
	memcpy(top, x, (size_t)n * sizeof *x);
	top += (size_t)n * sizeof *x;
}

void bump_pop_array(double *x, int n)
{
	top -= (size_t)n * sizeof *x;
	memcpy(x, top, (size_t)n * sizeof *x);
}
