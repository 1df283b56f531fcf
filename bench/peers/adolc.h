/* SPDX-License-Identifier: MIT */
/*
 * Gradients by ADOL-C: operator overloading, and a tape that is interpreted. Both
 * sweeps, as a program does that tapes anew each time.
 */
#ifndef REEL_BENCH_ADOLC_H
#define REEL_BENCH_ADOLC_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The inputs of a kernel, one after the other, and their adjoints. Returns the objective. */
typedef double adolc_gradient(const double *inputs, double *adjoints, size_t count);

adolc_gradient adolc_logsum;
adolc_gradient adolc_gravity;

#ifdef __cplusplus
}
#endif

#endif
