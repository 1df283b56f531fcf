/* SPDX-License-Identifier: MIT */
/*
 * Reductions: the lanes' partial results become one, and its adjoint becomes theirs.
 *
 *	partial[reel_lane_index(lane)] = what the lane has found       in the lanes
 *
 *	s = reel_reduce(root, REEL_REDUCE_SUM, partial, lanes);               after the region
 *
 *	reel_reduce_reverse(root, REEL_REDUCE_SUM, s_bar, partial_bar, lanes);   before its reverse
 *
 *	s_bar of the lane is partial_bar[reel_lane_index(lane)]        in the lanes
 *
 * Partial results are combined in the order of lanes: the result depends on the number of lanes,
 * not on the number of threads, nor on their order. A lane without a part has the neutral element
 * (0, 1, INFINITY, -INFINITY).
 *
 * Recorded on the lane's tape for values: nothing for a sum, n values for a product, one number for
 * a minimum or maximum. Neither sweep has an atomic operation.
 *
 * `lane` is the lane that combines the results: the parent, after the region; within a region,
 * after a barrier, one of the lanes, chosen by REEL_SINGLE() or its index.
 */
#ifndef REEL_REDUCTION_H
#define REEL_REDUCTION_H

#include <stddef.h>

#include <reel/region.h>

#ifdef __cplusplus
extern "C" {
#endif

enum reel_reduction { REEL_REDUCE_SUM, REEL_REDUCE_PRODUCT, REEL_REDUCE_MIN, REEL_REDUCE_MAX };

/*
 * Combine n partial results; n is at least 1. Among equal ones the first is the minimum, or
 * maximum. If one of them is a NaN, the result of each kind is NaN.
 */
double reel_reduce(reel_lane *lane, enum reel_reduction kind, const double *partial, int n);

/*
 * Set partial_bar[i], i < n, to the adjoint of each partial result, from the adjoint of the result.
 * Products are also correct if factors are 0: nothing is divided.
 */
void reel_reduce_reverse(reel_lane *lane, enum reel_reduction kind, double result_bar,
			 double *partial_bar, int n);

/* A reduction that the program declares, of elements of `bytes` bytes. */
typedef struct reel_reducer {
	size_t bytes;
	/* into = into (+) from */
	void (*combine)(void *context, void *into, const void *from);
	/*
	 * The reverse of that: `into` as it was before. *into_bar is the adjoint of the result, and
	 * becomes the adjoint of `into`; *from_bar is set to the adjoint of `from`.
	 */
	void (*reverse)(void *context, const void *into, const void *from, void *into_bar,
			void *from_bar);
	void *context;
	/* Size of an adjoint [bytes]; 0: the size of an element. */
	size_t adjoint_bytes;
} reel_reducer;

/*
 * The same with a reducer. `partial` is an array of n elements, `result` an element; 2n - 2
 * elements are recorded. In the reverse sweep result_bar is used up.
 */
void reel_reduce_by(reel_lane *lane, const reel_reducer *reducer, const void *partial, int n,
		    void *result);
void reel_reduce_by_reverse(reel_lane *lane, const reel_reducer *reducer, void *result_bar,
			    void *partial_bar, int n);

#ifdef __cplusplus
}
#endif

#endif
