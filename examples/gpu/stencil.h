/* SPDX-License-Identifier: MIT */
/*
 * Time steps of a reacting, diffusing field on a periodic square: u += k lap(u) + r u (1 - u), a
 * kernel for each step. Each step pushes the field it overwrites, and hands its tapes to the next.
 * The thread of a cell gathers the adjoint terms of its neighbours, so no two threads add to the
 * same number.
 */
#ifndef REEL_EXAMPLES_STENCIL_H
#define REEL_EXAMPLES_STENCIL_H

#include "example.h"

namespace stencil {

#define DIFFUSION 0.1
#define REACTION 0.05

REEL_DEVICE double around(const double *u, unsigned n, unsigned cell)
{
	unsigned row = cell / n, column = cell % n;

	return u[row * n + (column + 1) % n] + u[row * n + (column + n - 1) % n] +
	       u[(row + 1) % n * n + column] + u[(row + n - 1) % n * n + column];
}

REEL_DEVICE double step(const double *u, unsigned n, unsigned cell)
{
	double here = u[cell];

	return here + DIFFUSION * (around(u, n, cell) - 4 * here) + REACTION * here * (1 - here);
}

__global__ void primal(const double *u, double *next, unsigned n)
{
	for (unsigned cell = GLOBAL_THREAD; cell < n * n; cell += ALL_THREADS)
		next[cell] = step(u, n, cell);
}

__global__ void forward(reel_device_arena arena, bool first, const double *u, double *next,
			unsigned n)
{
	reel_device_tape<> tape;

	if (first)
		tape.open(arena);
	else
		tape.resume(arena);
	for (unsigned cell = GLOBAL_THREAD; cell < n * n; cell += ALL_THREADS) {
		tape.push(u[cell]);
		next[cell] = step(u, n, cell);
	}
	tape.save();
}

__global__ void reverse(reel_device_arena arena, const double *next_bar, double *u_bar, unsigned n)
{
	reel_device_tape<> tape;
	unsigned first = GLOBAL_THREAD, stride = ALL_THREADS;

	tape.resume(arena);
	for (unsigned k = first < n * n ? (n * n - first + stride - 1) / stride : 0; k-- > 0;) {
		unsigned cell = first + k * stride;
		double u = tape.pop<double>(), bar = next_bar[cell];

		u_bar[cell] = bar + DIFFUSION * (around(next_bar, n, cell) - 4 * bar) +
			      REACTION * (1 - 2 * u) * bar;
	}
	tape.save();
}

inline void run_primal(const shape &s, double *u, double *other, unsigned n, unsigned steps)
{
	for (unsigned t = 0; t < steps; t++) {
		LAUNCH(primal, s.blocks, s.threads, u, other, n);
		std::swap(u, other);
	}
}

inline void run_forward(const shape &s, reel_device_arena arena, double *u, double *other,
			unsigned n, unsigned steps)
{
	for (unsigned t = 0; t < steps; t++) {
		LAUNCH(forward, s.blocks, s.threads, arena, t == 0, u, other, n);
		std::swap(u, other);
	}
}

inline void run_reverse(const shape &s, reel_device_arena arena, double *bar, double *other,
			unsigned n, unsigned steps)
{
	for (unsigned t = 0; t < steps; t++) {
		LAUNCH(reverse, s.blocks, s.threads, arena, bar, other, n);
		std::swap(bar, other);
	}
}

inline double objective(const shape &s, const std::vector<double> &input, unsigned n,
			unsigned steps)
{
	device::array<double> u(input), other(input.size());

	run_primal(s, u, other, n, steps);
	return weigh((steps % 2 ? other : u).host());
}

inline double check(const shape &s)
{
	unsigned n = s.scale == 1 ? 14 : 256, steps = 9;
	std::vector<double> input = uniforms((size_t)n * n, 1, 0, 1), gradient;
	device::tapes tapes((s.blocks * s.threads + 31) / 32, 4096, 1 << 20);

	tapes.run([&](reel_device_arena arena) {
		device::array<double> u(input), other(input.size());
		device::array<double> bar(weights(input.size())), other_bar(input.size());

		run_forward(s, arena, u, other, n, steps);
		run_reverse(s, arena, bar, other_bar, n, steps);
		gradient = (steps % 2 ? other_bar : bar).host();
	});
	auto value = [&](const std::vector<double> &x) { return objective(s, x, n, steps); };
	return gradient_error(input, gradient, value, 1e-5);
}

} // namespace stencil

#endif
