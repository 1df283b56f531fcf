/* SPDX-License-Identifier: MIT */
/*
 * y = a x + y, overwritten by y = sin(y) exp(x), with a scalar that all threads read: the patterns
 * out[i] and *val. Forward and reverse are kernels apart; the overwritten values are on the tape.
 */
#ifndef REEL_EXAMPLES_AXPY_H
#define REEL_EXAMPLES_AXPY_H

#include "example.h"

namespace axpy {

__global__ void primal(const double *a, const double *x, double *y, unsigned n)
{
	for (unsigned i = GLOBAL_THREAD; i < n; i += ALL_THREADS) {
		y[i] += *a * x[i];
		y[i] = sin(y[i]) * exp(x[i]);
	}
}

__global__ void forward(reel_device_arena arena, const double *a, const double *x, double *y,
			unsigned n)
{
	reel_device_tape<> tape;

	tape.open(arena);
	for (unsigned i = GLOBAL_THREAD; i < n; i += ALL_THREADS) {
		y[i] += *a * x[i];
		tape.push(y[i]);
		y[i] = sin(y[i]) * exp(x[i]);
	}
	tape.save();
}

/* On entry y_bar is the adjoint of the result, on return the adjoint of y before the call. */
__global__ void reverse(reel_device_arena arena, const double *a, const double *x, unsigned n,
			double *a_bar, double *x_bar, double *y_bar)
{
	reel_device_tape<> tape;
	double a_sum = 0;
	unsigned first = GLOBAL_THREAD, stride = ALL_THREADS;

	tape.resume(arena);
	for (unsigned k = first < n ? (n - first + stride - 1) / stride : 0; k-- > 0;) {
		unsigned i = first + k * stride;
		double y = tape.pop<double>(), out_bar = y_bar[i];

		x_bar[i] += out_bar * sin(y) * exp(x[i]);
		y_bar[i] = out_bar * cos(y) * exp(x[i]);
		a_sum += y_bar[i] * x[i];
		x_bar[i] += y_bar[i] * *a;
	}
	reel_add(a_bar, a_sum);
}

/* Inputs: a, x, y. */
inline double objective(const shape &s, const std::vector<double> &input)
{
	unsigned n = (unsigned)(input.size() - 1) / 2;
	device::array<double> all(input);

	LAUNCH(primal, s.blocks, s.threads, all.data, all.data + 1, all.data + 1 + n, n);
	std::vector<double> result = all.host();
	return weigh(std::vector<double>(result.begin() + 1 + n, result.end()));
}

inline double check(const shape &s)
{
	unsigned n = 300 * s.scale + 7;
	std::vector<double> input = uniforms(2 * n + 1, 1, -1, 1), bars(2 * n + 1, 0);
	std::vector<double> y_bar = weights(n);
	device::tapes tapes((s.blocks * s.threads + 31) / 32, 4096, 1 << 20);

	std::copy(y_bar.begin(), y_bar.end(), bars.begin() + 1 + n);
	tapes.run([&](reel_device_arena arena) {
		device::array<double> all(input), bar(bars);

		LAUNCH(forward, s.blocks, s.threads, arena, all.data, all.data + 1,
		       all.data + 1 + n, n);
		LAUNCH(reverse, s.blocks, s.threads, arena, all.data, all.data + 1, n, bar.data,
		       bar.data + 1, bar.data + 1 + n);
		y_bar = bar.host();
	});
	return gradient_error(input, y_bar,
			      [&](const std::vector<double> &x) { return objective(s, x); }, 1e-5);
}

} // namespace axpy

#endif
