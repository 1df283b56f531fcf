/* SPDX-License-Identifier: MIT */
/*
 * Patterns of OpenMP with their adjoints; omp/PATTERNS.md shows them. In each file
 *
 *	primal_NAME()   is the program: x becomes another x, by parameters a; both have N elements
 *	forward_NAME()  is the same, recorded
 *	reverse_NAME()  turns x_bar, the adjoint of the x that came out, into the adjoint of the x
 *	                that went in, and adds to a_bar, the adjoint of a
 */
#ifndef EXAMPLES_OMP_PATTERNS_H
#define EXAMPLES_OMP_PATTERNS_H

#include <math.h>
#include <omp.h>

#include <reel/reduction.h>
#include <reel/task.h>

enum { N = 64, LANES = 4, STEPS = 5 };

static inline double step(double x, double a)
{
	return a * sin(x);
}

/* Returns the adjoint of x, and adds to a_bar, the adjoint of a. */
static inline double step_reverse(double x, double a, double result_bar, double *a_bar)
{
	*a_bar += sin(x) * result_bar;
	return a * cos(x) * result_bar;
}

/* All of them; `bits`: whether the gradient is, to the last bit, the same for any threads. */
#define PATTERNS(PATTERN)                                                                          \
	PATTERN(parallel, SAME_BITS)                                                               \
	PATTERN(loops, SAME_BITS)                                                                  \
	PATTERN(collapse, SAME_BITS)                                                               \
	PATTERN(simd, SAME_BITS)                                                                   \
	PATTERN(phases, SAME_BITS)                                                                 \
	PATTERN(states, SAME_BITS)                                                                 \
	PATTERN(sections, SAME_BITS)                                                               \
	PATTERN(single, SAME_BITS)                                                                 \
	PATTERN(master, SAME_BITS)                                                                 \
	PATTERN(critical, ROUNDED)                                                                 \
	PATTERN(locks, ROUNDED)                                                                    \
	PATTERN(ordered, SAME_BITS)                                                                \
	PATTERN(atomic, SAME_BITS)                                                                 \
	PATTERN(shared, ROUNDED)                                                                   \
	PATTERN(reduction, SAME_BITS)                                                              \
	PATTERN(extremes, SAME_BITS)                                                               \
	PATTERN(declared, SAME_BITS)                                                               \
	PATTERN(private, SAME_BITS)                                                                \
	PATTERN(threadprivate, SAME_BITS)                                                          \
	PATTERN(nested, SAME_BITS)                                                                 \
	PATTERN(tasks, SAME_BITS)                                                                  \
	PATTERN(taskgroup, SAME_BITS)                                                              \
	PATTERN(taskloop, SAME_BITS)                                                               \
	PATTERN(untied, SAME_BITS)                                                                 \
	PATTERN(depend, SAME_BITS)                                                                 \
	PATTERN(dependences, SAME_BITS)                                                            \
	PATTERN(cancel, AS_FAR_AS_IT_WENT)                                                         \
	PATTERN(replay, SAME_BITS)

#define DECLARE_PATTERN(name, bits)                                                                \
	void primal_##name(double *x, const double *a);                                            \
	void forward_##name(reel_lane *root, double *x, const double *a);                          \
	int reverse_##name(reel_lane *root, double *x_bar, const double *a, double *a_bar);

PATTERNS(DECLARE_PATTERN)

#endif
