/* SPDX-License-Identifier: MIT */
/* Counts the instructions of a task exactly, by stepping a child process through it. */
#ifndef REEL_BENCH_COUNT_H
#define REEL_BENCH_COUNT_H

#include "measure.h"

/*
 * Returns the instructions of one more value: the count for 2 n less the count for n, over n, so
 * that work done once cancels out. `before` is not counted. The task runs in a child, whose results
 * are lost. Returns a negative number if the system does not let a process step another.
 */
double count_instructions(const struct measure_variant *variant, size_t n);

#endif
