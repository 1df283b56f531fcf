/* SPDX-License-Identifier: MIT */
/*
 * Steps of the shallow-water equations on a C-grid, forward-backward: elevations from the
 * divergence of the transports, then velocities with the new elevations and an implicit quadratic
 * drag; coasts are closed faces. As in examples/tsunami, but on a flat, periodic plane, without
 * rotation, advection and viscosity. The wave depends on the elevation at the start and on the
 * depth.
 *
 * A forward step pushes the state it overwrites as a record. A reverse step pops it, and gathers in
 * stages the adjoint terms of faces at cells and of cells at faces: every sum has one order.
 */
#ifndef REEL_EXAMPLES_SHALLOW_H
#define REEL_EXAMPLES_SHALLOW_H

#include "example.h"

namespace shallow {

#define GRAVITY 9.81
#define DRAG 0.5
#define MIN_SPEED 0.01
#define STEP 0.02    /* [s] */
#define SPACING 1.0  /* [m] */

/* Of a cell: at its centre, and at its eastern and northern faces. */
struct state {
	double elevation, u, v;
};

/* Adjoint terms of a cell and its two faces, between the stages of a reverse step. */
struct debts {
	double tendency_u, tendency_v;
	double depth_u, depth_v;
	double elevation;
};

struct grid {
	unsigned n;
	const double *depth;
	const double *wet; /* 1 in water, 0 on land */

	REEL_DEVICE unsigned east(unsigned cell) const
	{
		return cell % n == n - 1 ? cell - n + 1 : cell + 1;
	}
	REEL_DEVICE unsigned west(unsigned cell) const
	{
		return cell % n == 0 ? cell + n - 1 : cell - 1;
	}
	REEL_DEVICE unsigned north(unsigned cell) const
	{
		return cell + n < n * n ? cell + n : cell + n - n * n;
	}
	REEL_DEVICE unsigned south(unsigned cell) const
	{
		return cell >= n ? cell - n : cell + n * n - n;
	}
	/* Total depth at the face between two cells. */
	REEL_DEVICE double face_depth(const state *now, unsigned cell, unsigned other) const
	{
		return 0.5 * (depth[cell] + now[cell].elevation + depth[other] +
			      now[other].elevation);
	}
	REEL_DEVICE double open(unsigned cell, unsigned other) const
	{
		return wet[cell] * wet[other];
	}
};

REEL_DEVICE double speed(double velocity)
{
	return sqrt(velocity * velocity + MIN_SPEED * MIN_SPEED);
}

REEL_DEVICE double resistance(double velocity, double face_depth)
{
	return 1 + STEP * DRAG * speed(velocity) / face_depth;
}

/* ---- Primal ---- */

REEL_DEVICE double continuity(const grid &g, const state *now, unsigned cell)
{
	unsigned west = g.west(cell), south = g.south(cell);
	double outflow = g.face_depth(now, cell, g.east(cell)) * now[cell].u -
			 g.face_depth(now, west, cell) * now[west].u +
			 g.face_depth(now, cell, g.north(cell)) * now[cell].v -
			 g.face_depth(now, south, cell) * now[south].v;

	return g.wet[cell] * (now[cell].elevation - STEP / SPACING * outflow);
}

REEL_DEVICE double momentum(const grid &g, const state *now, const state *next, double velocity,
			    unsigned cell, unsigned other)
{
	double slope = (next[other].elevation - next[cell].elevation) / SPACING;

	return g.open(cell, other) * (velocity - STEP * GRAVITY * slope) /
	       resistance(velocity, g.face_depth(now, cell, other));
}

__global__ void elevations(grid g, const state *now, state *next)
{
	for (unsigned cell = GLOBAL_THREAD; cell < g.n * g.n; cell += ALL_THREADS)
		next[cell].elevation = continuity(g, now, cell);
}

__global__ void velocities(grid g, const state *now, state *next)
{
	for (unsigned cell = GLOBAL_THREAD; cell < g.n * g.n; cell += ALL_THREADS) {
		next[cell].u = momentum(g, now, next, now[cell].u, cell, g.east(cell));
		next[cell].v = momentum(g, now, next, now[cell].v, cell, g.north(cell));
	}
}

/* ---- Forward, with a tape ---- */

__global__ void record(reel_device_arena arena, bool first, grid g, const state *now)
{
	reel_device_tape<> tape;

	if (first)
		tape.open(arena);
	else
		tape.resume(arena);
	for (unsigned cell = GLOBAL_THREAD; cell < g.n * g.n; cell += ALL_THREADS)
		tape.push(now[cell]);
	tape.save();
}

/* ---- Reverse ---- */

/* Reverses one face: stores the adjoints of tendency and depth, returns the velocity's. */
REEL_DEVICE double reverse_face(const grid &g, const state *now, unsigned cell, unsigned other,
				double velocity, double velocity_next, double bar,
				double *tendency_bar, double *depth_bar)
{
	double depth = g.face_depth(now, cell, other), r = resistance(velocity, depth);
	double r_bar = -velocity_next * bar / r;

	*tendency_bar = g.open(cell, other) * bar / r;
	*depth_bar = -r_bar * STEP * DRAG * speed(velocity) / (depth * depth);
	return *tendency_bar + r_bar * STEP * DRAG / depth * velocity / speed(velocity);
}

/* The state before the step, for all to read. */
__global__ void restore(reel_device_arena arena, grid g, state *now)
{
	reel_device_tape<> tape;
	unsigned first = GLOBAL_THREAD, stride = ALL_THREADS, cells = g.n * g.n;

	tape.resume(arena);
	for (unsigned k = first < cells ? (cells - first + stride - 1) / stride : 0; k-- > 0;)
		now[first + k * stride] = tape.pop<state>();
	tape.save();
}

__global__ void reverse_velocities(grid g, const state *now, const state *next, state *bar,
				   debts *owed)
{
	for (unsigned cell = GLOBAL_THREAD; cell < g.n * g.n; cell += ALL_THREADS) {
		state *x_bar = &bar[cell];
		debts *debt = &owed[cell];

		x_bar->u = reverse_face(g, now, cell, g.east(cell), now[cell].u, next[cell].u,
					x_bar->u, &debt->tendency_u, &debt->depth_u);
		x_bar->v = reverse_face(g, now, cell, g.north(cell), now[cell].v, next[cell].v,
					x_bar->v, &debt->tendency_v, &debt->depth_v);
	}
}

__global__ void reverse_elevations(grid g, const state *bar, debts *owed)
{
	for (unsigned cell = GLOBAL_THREAD; cell < g.n * g.n; cell += ALL_THREADS) {
		double sum = owed[cell].tendency_u - owed[g.west(cell)].tendency_u +
			     owed[cell].tendency_v - owed[g.south(cell)].tendency_v;

		owed[cell].elevation =
			g.wet[cell] * (bar[cell].elevation + STEP * GRAVITY / SPACING * sum);
	}
}

__global__ void reverse_transports(grid g, const state *now, state *bar, debts *owed)
{
	for (unsigned cell = GLOBAL_THREAD; cell < g.n * g.n; cell += ALL_THREADS) {
		unsigned east = g.east(cell), north = g.north(cell);
		double x_bar = STEP / SPACING * (owed[east].elevation - owed[cell].elevation);
		double y_bar = STEP / SPACING * (owed[north].elevation - owed[cell].elevation);

		bar[cell].u += x_bar * g.face_depth(now, cell, east);
		bar[cell].v += y_bar * g.face_depth(now, cell, north);
		owed[cell].depth_u += x_bar * now[cell].u;
		owed[cell].depth_v += y_bar * now[cell].v;
	}
}

__global__ void reverse_depths(grid g, state *bar, const debts *owed, double *depth_bar)
{
	for (unsigned cell = GLOBAL_THREAD; cell < g.n * g.n; cell += ALL_THREADS) {
		double sum = 0.5 * (owed[cell].depth_u + owed[g.west(cell)].depth_u +
				    owed[cell].depth_v + owed[g.south(cell)].depth_v);

		bar[cell].elevation = owed[cell].elevation + sum;
		depth_bar[cell] += sum;
	}
}

/* ---- The objective and its gradient ---- */

/* Water with an island; no wall, since the plane is periodic. */
inline std::vector<double> island(unsigned n)
{
	std::vector<double> wet((size_t)n * n, 1);

	for (unsigned row = n / 2; row < n / 2 + 3; row++)
		for (unsigned column = n / 3; column < n / 3 + 2; column++)
			wet[row * n + column] = 0;
	return wet;
}

inline std::vector<state> at_rest(const std::vector<double> &elevation, unsigned cells)
{
	std::vector<state> start(cells);

	for (unsigned cell = 0; cell < cells; cell++)
		start[cell] = state{elevation[cell], 0, 0};
	return start;
}

inline double observe(const std::vector<state> &end)
{
	double sum = 0;

	for (size_t cell = 0; cell < end.size(); cell++)
		sum += uniform(7000 + cell) * end[cell].elevation;
	return sum;
}

/* Inputs: elevations, then depths. */
inline double objective(const shape &s, const std::vector<double> &input, unsigned n,
			unsigned steps)
{
	unsigned cells = n * n;
	device::array<double> all(input), wet(island(n));
	device::array<state> now(at_rest(input, cells)), next(cells);
	grid g = {n, all.data + cells, wet.data};
	state *from = now, *to = next;

	for (unsigned t = 0; t < steps; t++) {
		LAUNCH(elevations, s.blocks, s.threads, g, from, to);
		LAUNCH(velocities, s.blocks, s.threads, g, from, to);
		std::swap(from, to);
	}
	return observe((steps % 2 ? next : now).host());
}

inline double check(const shape &s)
{
	unsigned n = s.scale == 1 ? 12 : 200, cells = n * n, steps = s.scale == 1 ? 6 : 20;
	std::vector<double> input = uniforms(cells, 1, -0.2, 0.2);
	std::vector<double> depth = uniforms(cells, 9000, 2, 4);
	std::vector<double> gradient(2 * cells);
	device::tapes tapes((s.blocks * s.threads + 31) / 32, 4096, 1 << 20);

	input.insert(input.end(), depth.begin(), depth.end());
	tapes.run([&](reel_device_arena arena) {
		device::array<double> all(input), wet(island(n)), depth_bar(cells);
		device::array<state> now(at_rest(input, cells)), next(cells), bar(cells);
		device::array<debts> owed(cells);
		grid g = {n, all.data + cells, wet.data};
		state *from = now, *to = next;
		std::vector<state> weights(cells);

		for (unsigned t = 0; t < steps; t++) {
			LAUNCH(record, s.blocks, s.threads, arena, t == 0, g, from);
			LAUNCH(elevations, s.blocks, s.threads, g, from, to);
			LAUNCH(velocities, s.blocks, s.threads, g, from, to);
			std::swap(from, to);
		}
		for (unsigned cell = 0; cell < cells; cell++)
			weights[cell] = state{uniform(7000 + cell), 0, 0};
		bar.set(weights);
		/* `from` has the state after the step, `to` is filled with the one before. */
		for (unsigned t = 0; t < steps; t++) {
			LAUNCH(restore, s.blocks, s.threads, arena, g, to);
			LAUNCH(reverse_velocities, s.blocks, s.threads, g, to, from, bar.data,
			       owed.data);
			LAUNCH(reverse_elevations, s.blocks, s.threads, g, bar.data, owed.data);
			LAUNCH(reverse_transports, s.blocks, s.threads, g, to, bar.data, owed.data);
			LAUNCH(reverse_depths, s.blocks, s.threads, g, bar.data, owed.data,
			       depth_bar.data);
			std::swap(from, to);
		}
		weights = bar.host();
		depth = depth_bar.host();
		for (unsigned cell = 0; cell < cells; cell++) {
			gradient[cell] = weights[cell].elevation;
			gradient[cells + cell] = depth[cell];
		}
	});
	auto value = [&](const std::vector<double> &x) { return objective(s, x, n, steps); };
	return gradient_error(input, gradient, value, 1e-5);
}

} // namespace shallow

#endif
