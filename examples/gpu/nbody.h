/* SPDX-License-Identifier: MIT */
/*
 * Bodies that attract each other with softened forces, in leapfrog steps, tiles of positions in
 * shared memory. Each step pushes the positions that it overwrites, as a record. Two bodies exert
 * equal and opposite forces on each other, so the reverse step gathers: the thread of a body sums
 * the adjoint terms of all its pairs.
 */
#ifndef REEL_EXAMPLES_NBODY_H
#define REEL_EXAMPLES_NBODY_H

#include "example.h"

namespace nbody {

#define BODIES 32 /* in a tile, and threads of a block */
#define SOFTENING 0.05
#define TIME_STEP 0.01

struct vector {
	double x, y, z;
};

REEL_DEVICE vector operator-(const vector &a, const vector &b)
{
	return vector{a.x - b.x, a.y - b.y, a.z - b.z};
}

REEL_DEVICE void add(vector &a, double factor, const vector &b)
{
	a.x += factor * b.x;
	a.y += factor * b.y;
	a.z += factor * b.z;
}

REEL_DEVICE double times(const vector &a, const vector &b)
{
	return a.x * b.x + a.y * b.y + a.z * b.z;
}

/* The acceleration of a body at `here`. All threads of the block call it. */
REEL_DEVICE vector acceleration(const vector *positions, unsigned n, const vector &here,
				vector *tile)
{
	vector sum = {0, 0, 0};

	for (unsigned from = 0; from < n; from += BODIES) {
		__syncthreads();
		tile[threadIdx.x] = positions[from + threadIdx.x];
		__syncthreads();
		for (unsigned j = 0; j < BODIES; j++) {
			vector apart = tile[j] - here;
			double square = times(apart, apart) + SOFTENING;

			add(sum, 1 / (square * sqrt(square)), apart);
		}
	}
	return sum;
}

__global__ void step(const vector *positions, vector *moved, vector *velocities, unsigned n)
{
	__shared__ vector tile[BODIES];

	for (unsigned from = blockIdx.x * BODIES; from < n; from += gridDim.x * BODIES) {
		unsigned i = from + threadIdx.x;
		vector here = positions[i];

		add(velocities[i], TIME_STEP, acceleration(positions, n, here, tile));
		add(here, TIME_STEP, velocities[i]);
		moved[i] = here;
	}
}

__global__ void forward(reel_device_arena arena, bool first, const vector *positions,
			vector *moved, vector *velocities, unsigned n)
{
	__shared__ vector tile[BODIES];
	reel_device_tape<> tape;

	if (first)
		tape.open(arena);
	else
		tape.resume(arena);
	for (unsigned from = blockIdx.x * BODIES; from < n; from += gridDim.x * BODIES) {
		unsigned i = from + threadIdx.x;
		vector here = positions[i];

		tape.push(here);
		add(velocities[i], TIME_STEP, acceleration(positions, n, here, tile));
		add(here, TIME_STEP, velocities[i]);
		moved[i] = here;
	}
	tape.save();
}

/* The positions before the step, for all to read; and the velocities' adjoint within it. */
__global__ void reverse_open(reel_device_arena arena, vector *positions, const vector *position_bar,
			     vector *velocity_bar, unsigned n)
{
	reel_device_tape<> tape;
	unsigned rounds = (n - blockIdx.x * BODIES + gridDim.x * BODIES - 1) / (gridDim.x * BODIES);

	tape.resume(arena);
	for (unsigned k = blockIdx.x * BODIES < n ? rounds : 0; k-- > 0;) {
		unsigned i = (blockIdx.x + k * gridDim.x) * BODIES + threadIdx.x;

		positions[i] = tape.pop<vector>();
		add(velocity_bar[i], TIME_STEP, position_bar[i]);
	}
	tape.save();
}

/* position_bar += the transpose of the step's accelerations, times their adjoints. */
__global__ void reverse_pairs(const vector *positions, vector *position_bar,
			      const vector *velocity_bar, unsigned n)
{
	__shared__ vector tile[BODIES], bar_tile[BODIES];

	for (unsigned from = blockIdx.x * BODIES; from < n; from += gridDim.x * BODIES) {
		unsigned i = from + threadIdx.x;
		vector here = positions[i], here_bar = velocity_bar[i], sum = {0, 0, 0};

		for (unsigned other = 0; other < n; other += BODIES) {
			__syncthreads();
			tile[threadIdx.x] = positions[other + threadIdx.x];
			bar_tile[threadIdx.x] = velocity_bar[other + threadIdx.x];
			__syncthreads();
			for (unsigned j = 0; j < BODIES; j++) {
				vector apart = tile[j] - here, bar = bar_tile[j] - here_bar;
				double square = times(apart, apart) + SOFTENING;
				double cube = 1 / (square * sqrt(square));

				add(sum, TIME_STEP * cube, bar);
				add(sum, -3 * TIME_STEP * cube / square * times(apart, bar), apart);
			}
		}
		add(position_bar[i], 1, sum);
	}
}

/* Inputs: positions, then velocities. */
inline double objective(const shape &s, const std::vector<double> &input, unsigned n,
			unsigned steps)
{
	device::array<double> all(input), other(input.size() / 2);
	vector *positions = (vector *)all.data, *velocities = positions + n;
	vector *moved = (vector *)other.data;

	for (unsigned t = 0; t < steps; t++) {
		LAUNCH(step, s.blocks, BODIES, positions, moved, velocities, n);
		std::swap(positions, moved);
	}
	return weigh((steps % 2 ? other : all).host());
}

inline double check(const shape &s)
{
	unsigned n = s.scale == 1 ? 3 * BODIES : 64 * BODIES, steps = 3;
	std::vector<double> input = uniforms((size_t)6 * n, 1, -1, 1), gradient;
	std::vector<double> bars = weights((size_t)3 * n);
	device::tapes tapes(s.blocks, 4096, 1 << 20);

	bars.resize((size_t)6 * n, 0);
	tapes.run([&](reel_device_arena arena) {
		device::array<double> all(input), other((size_t)3 * n), bar(bars);
		vector *positions = (vector *)all.data, *velocities = positions + n;
		vector *moved = (vector *)other.data;
		vector *position_bar = (vector *)bar.data, *velocity_bar = position_bar + n;

		for (unsigned t = 0; t < steps; t++) {
			LAUNCH(forward, s.blocks, BODIES, arena, t == 0, positions, moved,
			       velocities, n);
			std::swap(positions, moved);
		}
		for (unsigned t = 0; t < steps; t++) {
			LAUNCH(reverse_open, s.blocks, BODIES, arena, positions, position_bar,
			       velocity_bar, n);
			LAUNCH(reverse_pairs, s.blocks, BODIES, positions, position_bar,
			       velocity_bar, n);
		}
		gradient = bar.host();
	});
	return gradient_error(input, gradient,
			      [&](const std::vector<double> &x) {
				      return steps % 2 ? objective(s, x, n, steps) : 0;
			      },
			      1e-5);
}

} // namespace nbody

#endif
