/* SPDX-License-Identifier: MIT */
/* Counting the instructions of a task exactly, by stepping a child process through it. */
#ifndef REEL_BENCH_COUNT_H
#define REEL_BENCH_COUNT_H

#include "measure.h"

/*
 * The instructions that each of n more values costs: those for 2 n less those
 * for n, so that what is done once cancels out. `before` is not counted, and what
 * the task leaves behind is lost. Below 0 if this system lets no process be
 * stepped.
 */
double count_instructions(const struct measure_variant *variant, size_t n);

#endif
