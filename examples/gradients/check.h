/* SPDX-License-Identifier: MIT */
/* Whether a gradient is right. */
#ifndef CHECK_H
#define CHECK_H

#include "example.h"

/*
 * Compute the gradient, once with each number of threads of the reverse sweep, and compare it
 * with the serial one, and with differences of the objective. Prints one line; returns whether
 * all is well.
 */
bool check_example(const struct example *example, struct problem *problem, int threads,
		   int reverse_threads);

#endif
