/* SPDX-License-Identifier: MIT */
/*
 * Reductions: the lanes' partial results become one, and its adjoint becomes theirs.
 *
 *	partial[reel_lane_index(lane)] = what the lane has found       in the lanes
 *
 *	s = reel_reduce(root, REEL_REDUCE_SUM, partial, lanes);               after the region
 *
 *	reel_reduce_reverse(root, REEL_REDUCE_SUM, s_bar, partial_bar, lanes);     before it is reversed
 *
 *	s_bar of the lane is partial_bar[reel_lane_index(lane)]        in the lanes
 *
 * Partial results are combined in the order of lanes: the result depends on how many lanes there
 * are, not on how many threads, nor on which one came first. A lane without a part has the neutral
 * element (0, 1, INFINITY, -INFINITY).
 *
 * What is recorded, on the lane's tape for values: of a sum, nothing; of a product, n values; of a
 * minimum or maximum, one number. Neither sweep has an atomic operation.
 *
 * `lane` is the one that does it: the parent, after the region; within a region, after a barrier,
 * one of the lanes, chosen by REEL_SINGLE() or its index.
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
 * Combine n partial results; n is at least 1. Of several equal ones the first is the minimum,
 * or maximum. A NaN among them is the result of each kind.
 */
double reel_reduce(reel_lane *lane, enum reel_reduction kind, const double *partial, int n);

/*
 * Set partial_bar[i], i < n, to the adjoint of each partial result, from that of the result.
 * Products are right where factors are 0, too: nothing is divided.
 */
void reel_reduce_reverse(reel_lane *lane, enum reel_reduction kind, double result_bar,
			 double *partial_bar, int n);

/* A reduction that the program declares, of elements of `bytes` bytes. */
typedef struct reel_reducer {
	size_t bytes;
	/* into = into (+) from */
	void (*combine)(void *context, void *into, const void *from);
	/*
	 * The reverse of that: `into` as it was before. *into_bar is the adjoint of the result,
	 * and becomes that of `into`; *from_bar is set to that of `from`.
	 */
	void (*reverse)(void *context, const void *into, const void *from, void *into_bar,
			void *from_bar);
	void *context;
	/* An adjoint's bytes; 0: as many as an element's. */
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
