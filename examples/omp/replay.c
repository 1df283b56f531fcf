/* SPDX-License-Identifier: MIT */
#include "patterns.h"

void primal_replay(double *x, const double *a)
{
	primal_phases(x, a);
}

void forward_replay(reel_lane *root, double *x, const double *a)
{
	forward_phases(root, x, a);
}

/* One recording, many reverse sweeps: here one for each half of x_bar. */
int reverse_replay(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	double sum[N] = {0};
	int error;

	reel_lane_hold(root);
	for (int half = 0; half < 2; half++) {
		double part[N];

		for (int i = 0; i < N; i++)
			part[i] = (i < N / 2) == (half == 0) ? x_bar[i] : 0;
		reel_lane_replay(root);
		reverse_phases(root, part, a, a_bar);
		for (int i = 0; i < N; i++)
			sum[i] += part[i];
	}
	error = reel_lane_release(root);
	for (int i = 0; i < N; i++)
		x_bar[i] = sum[i];
	return error;
}
