/* SPDX-License-Identifier: MIT */
#include "patterns.h"

void primal_extremes(double *x, const double *a)
{
	double least = INFINITY, most = -INFINITY;

#pragma omp parallel for reduction(min : least) reduction(max : most)
	for (int i = 0; i < N; i++) {
		x[i] = step(x[i], a[i]);
		least = fmin(least, x[i]);
		most = fmax(most, x[i]);
	}
	x[0] += exp(least);
	x[1] += exp(most);
}

/* Each lane pushes where its least and its largest value are. */
void forward_extremes(reel_lane *root, double *x, const double *a)
{
	double least[LANES], most[LANES], low, high;

	REEL_PARALLEL_WITH(root, lane, LANES, 0, ) {
		reel_tape *tape = reel_lane_tape(lane);
		int at[2] = {-1, -1};

		REEL_FOR(lane, int, i, 0, N, reel_static(0)) {
			reel_push(tape, x[i]);
			x[i] = step(x[i], a[i]);
			at[0] = at[0] < 0 || x[i] < x[at[0]] ? i : at[0];
			at[1] = at[1] < 0 || x[i] > x[at[1]] ? i : at[1];
		}
		reel_push_array(tape, at, 2);
		least[reel_lane_index(lane)] = at[0] < 0 ? INFINITY : x[at[0]];
		most[reel_lane_index(lane)] = at[1] < 0 ? -INFINITY : x[at[1]];
	}
	low = exp(reel_reduce(root, REEL_REDUCE_MIN, least, LANES));
	high = exp(reel_reduce(root, REEL_REDUCE_MAX, most, LANES));
	reel_push(reel_lane_tape(root), low);
	reel_push(reel_lane_tape(root), high);
	x[0] += low;
	x[1] += high;
}

int reverse_extremes(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	double high_bar = reel_pop(reel_lane_tape(root), double) * x_bar[1];
	double low_bar = reel_pop(reel_lane_tape(root), double) * x_bar[0];
	double least_bar[LANES], max_bar[LANES];

	reel_reduce_reverse(root, REEL_REDUCE_MAX, high_bar, max_bar, LANES);
	reel_reduce_reverse(root, REEL_REDUCE_MIN, low_bar, least_bar, LANES);
	REEL_PARALLEL_REVERSE(root, lane) {
		reel_tape *tape = reel_lane_tape(lane);
		int number = reel_lane_index(lane), at[2];

		reel_pop_array(tape, at, 2);
		REEL_FOR_REVERSE(lane, int, i, 0, N, reel_static(0)) {
			x_bar[i] += (i == at[0] ? least_bar[number] : 0) +
				    (i == at[1] ? max_bar[number] : 0);
			x_bar[i] = step_reverse(reel_pop(tape, double), a[i], x_bar[i], &a_bar[i]);
		}
	}
	return reel_lane_error(root);
}
