/* SPDX-License-Identifier: MIT */
/*
 * max(x) + sum of sin(x - max): a reduction that branches, and one that adds. Each comparison
 * of the maximum is a bit on the tape, on the lane's own values and in the tree over the block. The
 * reverse sweep runs down the tree, then along the values. One block; fixed order, so its bits are
 * the same in every run.
 */
#ifndef REEL_EXAMPLES_REDUCTION_H
#define REEL_EXAMPLES_REDUCTION_H

#include "example.h"

namespace reduction {

#define THREADS 64

__global__ void gradient(reel_device_arena arena, const double *x, unsigned n, double *value,
			 double *x_bar)
{
	__shared__ double tree[THREADS], scratch[THREADS / 32];
	reel_device_tape<> tape;
	unsigned me = threadIdx.x;
	double most = -1e300, sum = 0, bar_sum = 0;

	tape.open(arena);
	for (unsigned i = me; i < n; i += THREADS) {
		bool larger = x[i] > most;

		tape.push_bit(larger);
		most = larger ? x[i] : most;
	}
	tree[me] = most;
	__syncthreads();
	for (unsigned half = THREADS / 2; half > 0; half /= 2) {
		if (me < half) {
			bool larger = tree[me + half] > tree[me];

			tape.push_bit(larger);
			tree[me] = larger ? tree[me + half] : tree[me];
		}
		__syncthreads();
	}
	most = tree[0];
	for (unsigned i = me; i < n; i += THREADS) {
		sum += sin(x[i] - most);
		x_bar[i] += cos(x[i] - most);
		bar_sum -= cos(x[i] - most);
	}
	sum = reel_block_sum(sum, scratch);
	if (me == 0)
		*value = most + sum;
	__syncthreads();
	bar_sum = reel_block_sum(bar_sum, scratch);

	/* The adjoint of the maximum goes down the tree to the value it came from. */
	tree[me] = me == 0 ? 1 + bar_sum : 0;
	__syncthreads();
	for (unsigned half = 1; half < THREADS; half *= 2) {
		if (me < half && tape.pop_bit()) {
			tree[me + half] = tree[me];
			tree[me] = 0;
		}
		__syncthreads();
	}
	double max_bar = tree[me];
	for (unsigned k = me < n ? (n - me + THREADS - 1) / THREADS : 0; k-- > 0;)
		if (tape.pop_bit()) {
			x_bar[me + k * THREADS] += max_bar;
			max_bar = 0;
		}
}

inline double run(const std::vector<double> &x, std::vector<double> *x_bar)
{
	device::tapes tapes(THREADS / 32, 4096, 1 << 18);
	double value = 0;

	tapes.run([&](reel_device_arena arena) {
		device::array<double> input(x), result(1), bar(x.size());

		LAUNCH(gradient, 1, THREADS, arena, input.data, (unsigned)x.size(), result.data,
		       bar.data);
		value = result.host()[0];
		*x_bar = bar.host();
	});
	return value;
}

inline double check(const shape &s)
{
	std::vector<double> x = uniforms(400 * s.scale + 13, 1, -1, 1), gradient, unused;

	run(x, &gradient);
	auto value = [&](const std::vector<double> &at) { return run(at, &unused); };
	return gradient_error(x, gradient, value, 1e-6);
}

#undef THREADS

} // namespace reduction

#endif
