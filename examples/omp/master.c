/* SPDX-License-Identifier: MIT */
#include "patterns.h"

void primal_master(double *x, const double *a)
{
#pragma omp parallel
	{
#pragma omp for
		for (int i = 0; i < N; i++)
			x[i] = step(x[i], a[i]);
#pragma omp master
		x[0] *= x[N - 1];
	}
}

void forward_master(reel_lane *root, double *x, const double *a)
{
	reel_region *region = reel_region_begin(root, 0);

#pragma omp parallel
	{
		reel_share share = reel_share_of(region);

		while (reel_share_next(&share)) {
			REEL_FOR(share.lane, int, i, 0, N, reel_static(0)) {
				reel_push(reel_lane_tape(share.lane), x[i]);
				x[i] = step(x[i], a[i]);
			}
		}
		reel_share_phase(&share);
		while (reel_share_next(&share)) {
			if (reel_lane_index(share.lane) == 0) {
				reel_push(reel_lane_tape(share.lane), x[0]);
				reel_push(reel_lane_tape(share.lane), x[N - 1]);
				x[0] *= x[N - 1];
			}
		}
	}
	reel_region_end(region);
}

int reverse_master(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	reel_region *region = reel_region_reverse(root);

#pragma omp parallel
	{
		reel_share share = reel_share_of(region);

		while (reel_share_next(&share)) {
			if (reel_lane_index(share.lane) == 0) {
				double last = reel_pop(reel_lane_tape(share.lane), double);
				double first = reel_pop(reel_lane_tape(share.lane), double);

				x_bar[N - 1] += first * x_bar[0];
				x_bar[0] *= last;
			}
		}
		reel_share_phase(&share);
		while (reel_share_next(&share)) {
			REEL_FOR_REVERSE(share.lane, int, i, 0, N, reel_static(0)) {
				double x = reel_pop(reel_lane_tape(share.lane), double);

				x_bar[i] = step_reverse(x, a[i], x_bar[i], &a_bar[i]);
			}
		}
	}
	return reel_region_end(region);
}
