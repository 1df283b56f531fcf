/* SPDX-License-Identifier: MIT */
/* Sizes of an example, and the check of its gradient. */
#ifndef REEL_EXAMPLES_EXAMPLE_H
#define REEL_EXAMPLES_EXAMPLE_H

#include "device.h"

struct shape {
	unsigned blocks, threads;
	unsigned scale; /* 1 on the emulator */
};

/* Without any pattern: splitmix64. Without a state, and the same on both sides. */
__host__ __device__ inline uint64_t scramble(uint64_t n)
{
	n = (n + 1) * 0x9e3779b97f4a7c15u;
	n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9u;
	n = (n ^ n >> 27) * 0x94d049bb133111ebu;
	return n ^ n >> 31;
}

/* In -1 to 1. */
__host__ __device__ inline double uniform(uint64_t n)
{
	return (double)(int64_t)scramble(n) / 9223372036854775808.0;
}

inline std::vector<double> uniforms(size_t n, uint64_t from, double low, double high)
{
	std::vector<double> x(n);

	for (size_t i = 0; i < n; i++)
		x[i] = low + (high - low) * 0.5 * (uniform(from + i) + 1);
	return x;
}

inline double dot(const std::vector<double> &x, const std::vector<double> &y)
{
	double sum = 0;

	for (size_t i = 0; i < x.size(); i++)
		sum += x[i] * y[i];
	return sum;
}

/* The weighted sum that objectives end with. */
inline double weigh(const std::vector<double> &x)
{
	double sum = 0;

	for (size_t i = 0; i < x.size(); i++)
		sum += uniform(7000 + i) * x[i];
	return sum;
}

inline std::vector<double> weights(size_t n)
{
	return uniforms(n, 7000, -1, 1);
}

/*
 * The largest relative difference of gradient . d to the central difference of the objective, over
 * directions d: random ones, and some inputs alone.
 */
template <class Objective>
double gradient_error(const std::vector<double> &x, const std::vector<double> &gradient,
		      Objective objective, double step)
{
	double largest = 0;

	for (unsigned k = 0; k < 4; k++) {
		std::vector<double> d(x.size(), 0), up = x, down = x;

		for (size_t i = 0; i < x.size(); i++)
			d[i] = k < 2 ? uniform(100000 * (k + 1) + i) : i == (k * 7919) % x.size();
		for (size_t i = 0; i < x.size(); i++) {
			up[i] += step * d[i];
			down[i] -= step * d[i];
		}
		double slope = (objective(up) - objective(down)) / (2 * step);
		double seen = dot(gradient, d), size = std::sqrt(dot(gradient, gradient)) + 1e-300;
		double error = std::fabs(slope - seen) / std::fmax(std::fabs(slope), 1e-3 * size);

		largest = error > largest || error != error ? error : largest;
	}
	return largest;
}

#endif
