/* SPDX-License-Identifier: MIT */
/*
 * Shared by the examples: each is an objective J(x), as a primal in plain OpenMP, and
 * its gradient, by a forward and a reverse sweep in regions or tasks of Reel; and by hand on bare
 * arrays, to compare with.
 */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <stdbool.h>
#include <stddef.h>

#include <reel/adjoint.h>
#include <reel/region.h>

/* A problem begins with this; n inputs are at x. */
struct problem {
	int size, steps, lanes;
	size_t n;
	double *x;
};

struct example {
	const char *name;
	const char *what_size, *what_steps;
	int size, steps; /* by default */
	int max_size, max_steps;
	/* By hand, one thread adds in the same order: its bits are the same, for any lanes. */
	bool same_order;
	double taylor_largest; /* step size */

	struct problem *(*open)(int size, int steps, int lanes);
	void (*close)(struct problem *problem);
	double (*primal)(struct problem *problem, int threads);
	/* 0 threads: one for each lane, or one for all of them where Reel chooses that. */
	double (*forward)(struct problem *problem, reel_lane *root, int threads);
	void (*reverse)(struct problem *problem, reel_lane *root, int threads, double *gradient);
	/*
	 * Forward and reverse; values of a tape are in an array. Threads do not sleep where
	 * they wait for each other, so each of them needs a processor. Their number is at most the
	 * number of lanes.
	 */
	double (*by_hand)(struct problem *problem, int threads, double *gradient);
};

extern const struct example burgers_1d, burgers_2d, mlp, lorenz, cholesky;

/* Zeros, on cache lines of their own; the program ends if there is no memory. */
void *allocate_aligned(size_t count, size_t bytes);
/* An array of `count` doubles. */
double *allocate_doubles(size_t count);

/*
 * An array of n adjoints that all lanes add to, and its object: private copies, so that the sum
 * depends on the lanes alone. The program ends if there is no memory.
 */
double *open_adjoint(reel_adjoint **adjoint, const char *name, size_t n);

/* Inline, because Reel chooses for each place that calls reel_region_choose_threads(). */
REEL_ALWAYS_INLINE int team_of(reel_region *region, int threads)
{
	return threads ? threads : reel_region_choose_threads(region, reel_region_lanes(region));
}

/* Uniform in -1 to 1, the same numbers in every run. */
double pseudo_random(uint64_t *state);

static inline void swap(double **a, double **b)
{
	double *other = *a;

	*a = *b;
	*b = other;
}

#endif
