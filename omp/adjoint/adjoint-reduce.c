/* SPDX-License-Identifier: MIT */
/*
 * The reduction adds the copies of the lanes to the array and makes them zero again. It goes block
 * by block, so that the elements of the array stay in the first cache, and within a block lane by
 * lane, so that each element has one order of additions whichever thread reduces it. Several
 * threads reduce at the same time, while no lane adds. A thread reduces whole lines of flags,
 * so no two threads store to the same line.
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "adjoint.h"
#include "os/assert.h"
#include "os/integer.h"

static void add_doubles(double *restrict array, double *restrict copy, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		array[i] += copy[i];
		copy[i] = 0;
	}
}

static void add_floats(float *restrict array, float *restrict copy, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		array[i] += copy[i];
		copy[i] = 0;
	}
}

/* The copy has whole blocks; the array may end within the last block. */
static void reduce_block(reel_adjoint *adjoint, struct adjoint_lane *lane, size_t block)
{
	size_t first = block << adjoint->shift;
	size_t n = (size_t)1 << adjoint->shift;

	REEL_ASSERT(block < adjoint->blocks && lane->copy != adjoint->array);
	if (n > adjoint->n - first)
		n = adjoint->n - first;
	if (adjoint->element == sizeof(double))
		add_doubles((double *)adjoint->array + first, (double *)lane->copy + first, n);
	else
		add_floats((float *)adjoint->array + first, (float *)lane->copy + first, n);
}

/* Returns true if a lane has touched one of the blocks [first, first + 8). */
static bool is_touched(const reel_adjoint *adjoint, size_t first)
{
	uint64_t any = 0;

	REEL_ASSERT(first + sizeof any <= reel_round_up(adjoint->blocks, ADJOINT_LINE));
	for (unsigned l = 1; l < adjoint->lanes_begun; l++) {
		uint64_t flags;

		memcpy(&flags, &adjoint->lanes[l].touched[first], sizeof flags);
		any |= flags;
	}
	return any != 0;
}

static uint64_t reduce_lanes(reel_adjoint *adjoint, size_t block)
{
	uint64_t reduced = 0;

	for (unsigned l = 1; l < adjoint->lanes_begun; l++) {
		struct adjoint_lane *lane = &adjoint->lanes[l];

		REEL_ASSERT(lane->touched && lane->copy == lane->kept);
		if (!lane->touched[block])
			continue;
		lane->touched[block] = adjoint->whole;
		reduce_block(adjoint, lane, block);
		reduced++;
	}
	return reduced;
}

/* Behind the flag of the last block the line has flags without a block, which stay false. */
static uint64_t reduce_line(reel_adjoint *adjoint, size_t line)
{
	uint64_t reduced = 0;

	for (size_t first = line; first < line + ADJOINT_LINE; first += sizeof(uint64_t))
		if (is_touched(adjoint, first))
			for (size_t b = 0; b < sizeof(uint64_t); b++)
				reduced += reduce_lanes(adjoint, first + b);
	return reduced;
}

int reel_adjoint_reduce(reel_adjoint *adjoint, unsigned part, unsigned parts)
{
	size_t lines = (adjoint->blocks + ADJOINT_LINE - 1) / ADJOINT_LINE;
	uint64_t reduced = 0;

	if (part >= parts)
		return -EINVAL;
	if (adjoint->policy != REEL_ADJOINT_PRIVATE)
		return 0;
	for (size_t line = part; line < lines; line += parts)
		reduced += reduce_line(adjoint, line * ADJOINT_LINE);
	/* Relaxed: a counter, which orders no other memory. */
	atomic_fetch_add_explicit(&adjoint->reduced, reduced, memory_order_relaxed);
	return 0;
}
