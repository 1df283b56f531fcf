/* SPDX-License-Identifier: MIT */
/* Counting the instructions of a task exactly, by stepping a child process through it. */
#ifndef REEL_BENCH_COUNT_H
#define REEL_BENCH_COUNT_H

#include "measure.h"

/*
 * The instructions that each of n more values costs: the count for 2 n less the
 * count for n, so that work done once cancels out. `before` is not counted, and
 * the task runs in a child, whose results are lost. Below 0 if this system lets
 * no process be stepped.
 */
double count_instructions(const struct measure_variant *variant, size_t n);

#endif
