/* SPDX-License-Identifier: MIT */
/*
 * Common parts of the cases of the drop-in for Tapenade's stack. Each stack is measured by the same
 * sweeps, dropin-sweeps.h, compiled for the calls that it offers.
 */
#ifndef REEL_BENCH_DROPIN_H
#define REEL_BENCH_DROPIN_H

#include "common/bench.h"

/* Elements of an array that is pushed as one. */
enum { DROPIN_ARRAY = 64 };

/*
 * Sweeps as a measure_variant runs them: n values up and down again, n bits, n values in arrays;
 * n times pop, push, pop; n cells of a stencil, 15 Real8 and 4 Integer4 each.
 */
#define DROPIN_SWEEPS(stack)                                                                       \
	double dropin_##stack##_real8(void *context, size_t n);                                    \
	double dropin_##stack##_control(void *context, size_t n);                                  \
	double dropin_##stack##_arrays(void *context, size_t n);                                   \
	double dropin_##stack##_repeat(void *context, size_t n);                                   \
	double dropin_##stack##_stencil(void *context, size_t n);

/* The library, called out of line, linked statically and as a shared library; and inline. */
DROPIN_SWEEPS(static)
DROPIN_SWEEPS(shared)
DROPIN_SWEEPS(inline)
/* An array that is there already, and a pointer: no stack out of line is faster. */
DROPIN_SWEEPS(bump)
/* As the original works: blocks, a test for a repeat level in each call, bits one by one. */
DROPIN_SWEEPS(original)

/* Around dropin_static_repeat(): n values are protected. */
void dropin_static_begin_level(void *context, size_t n);
void dropin_static_end_level(void *context, size_t n);
/* n values, an exponential function with each, forward and back. */
double dropin_static_load(void *context, size_t n);

/* Whether there is a shared library. */
bool dropin_shared_open(void);

void dropin_bump_open(size_t bytes);
void dropin_bump_close(void);
/* Put n values there, and take them off whatever was popped meanwhile. */
void dropin_bump_begin_level(void *context, size_t n);
void dropin_bump_end_level(void *context, size_t n);
void dropin_original_close(void);

#endif
