/* SPDX-License-Identifier: MIT */
/*
 * Burgers' equations on a torus of cells, u_t + u u_x + v u_y = nu (u_xx + u_yy) and the same for
 * v. All time steps are in one region, and each is a phase. A state is a collective span, in which
 * each thread calculates its rows in place.
 *
 * J = 1/2 sum (u^2 + v^2) / n^2 after the last step; the inputs are the initial state.
 */
#include "example.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/barrier.h"
#include "common/parallel.h"

/* dt / (2 dx), and nu dt / dx^2. */
#define C 0.05
#define D 0.1

struct burgers {
	struct problem problem;
	/*
	 * A field is rows, south to north; a row is u, then v; each has cells 0 to n - 1, with
	 * those at -1 and n that are the same as at the other end.
	 */
	double *now, *next, *bar, *next_bar;
	double *history; /* of the sweep by hand */
};

/* ---- A row ---- */

static size_t row_width(int n)
{
	return 2 * ((size_t)n + 2);
}

/* Where row j is, -1 and n being the same as at the other end. */
static double *row_at(const double *field, int n, int j)
{
	return (double *)(uintptr_t)field + (size_t)((j + n) % n) * row_width(n);
}

static double *u_of(double *row)
{
	return row + 1;
}

static double *v_of(double *row, int n)
{
	return row + n + 3;
}

static void close_ring(double *row, int n)
{
	double *u = u_of(row), *v = v_of(row, n);

	u[-1] = u[n - 1];
	u[n] = u[0];
	v[-1] = v[n - 1];
	v[n] = v[0];
}

/* The values that (u, v) carries, at the middle of three rows. */
static void step_part(const double *restrict u, const double *restrict v, const double *south,
		      const double *here, const double *north, double *restrict next, int n)
{
	for (int i = 0; i < n; i++)
		next[i] = here[i] -
			  C * (u[i] * (here[i + 1] - here[i - 1]) + v[i] * (north[i] - south[i])) +
			  D * (here[i + 1] + here[i - 1] + north[i] + south[i] - 4 * here[i]);
}

/* As a value that is carried: each cell gathers from the five that it has been used for. */
static void step_part_reverse(const double *restrict u, const double *v_south,
			      const double *v_north, double *restrict bar, const double *south_bar,
			      const double *here_bar, const double *north_bar, int n)
{
	for (int i = 0; i < n; i++)
		bar[i] = here_bar[i] * (1 - 4 * D) + here_bar[i - 1] * (D - C * u[i - 1]) +
			 here_bar[i + 1] * (D + C * u[i + 1]) +
			 south_bar[i] * (D - C * v_south[i]) +
			 north_bar[i] * (D + C * v_north[i]);
}

/* As a velocity that carries: u by differences to the east, v by differences to the north. */
static void carry_reverse(const double *restrict south, const double *restrict here,
			  const double *restrict north, double *restrict u_bar,
			  double *restrict v_bar, const double *restrict next_bar, int n)
{
	for (int i = 0; i < n; i++) {
		u_bar[i] -= C * (here[i + 1] - here[i - 1]) * next_bar[i];
		v_bar[i] -= C * (north[i] - south[i]) * next_bar[i];
	}
}

static void step_row(const double *now, double *next, int n, int j)
{
	double *south = row_at(now, n, j - 1), *here = row_at(now, n, j);
	double *north = row_at(now, n, j + 1), *row = row_at(next, n, j);
	double *u = u_of(here), *v = v_of(here, n);

	step_part(u, v, u_of(south), u, u_of(north), u_of(row), n);
	step_part(u, v, v_of(south, n), v, v_of(north, n), v_of(row, n), n);
	close_ring(row, n);
}

static void step_row_reverse(const double *now, double *bar, const double *next_bar, int n, int j)
{
	double *south = row_at(now, n, j - 1), *here = row_at(now, n, j);
	double *north = row_at(now, n, j + 1), *row = row_at(bar, n, j);
	double *south_bar = row_at(next_bar, n, j - 1), *here_bar = row_at(next_bar, n, j);
	double *north_bar = row_at(next_bar, n, j + 1);
	double *u = u_of(here), *v = v_of(here, n), *u_bar = u_of(row), *v_bar = v_of(row, n);

	step_part_reverse(u, v_of(south, n), v_of(north, n), u_bar, u_of(south_bar), u_of(here_bar),
			  u_of(north_bar), n);
	step_part_reverse(u, v_of(south, n), v_of(north, n), v_bar, v_of(south_bar, n),
			  v_of(here_bar, n), v_of(north_bar, n), n);
	carry_reverse(u_of(south), u, u_of(north), u_bar, v_bar, u_of(here_bar), n);
	carry_reverse(v_of(south, n), v, v_of(north, n), u_bar, v_bar, v_of(here_bar, n), n);
	close_ring(row, n);
}

/* ---- The state ---- */

static void start(const struct burgers *b, double *state)
{
	int n = b->problem.size;

	for (int j = 0; j < n; j++) {
		double *row = row_at(state, n, j);
		const double *x = b->problem.x + (size_t)j * (size_t)n;

		memcpy(u_of(row), x, (size_t)n * sizeof *x);
		memcpy(v_of(row, n), x + (size_t)n * (size_t)n, (size_t)n * sizeof *x);
		close_ring(row, n);
	}
}

static void copy_gradient(double *bar, int n, double *gradient)
{
	for (int j = 0; j < n; j++) {
		double *row = row_at(bar, n, j), *target = gradient + (size_t)j * (size_t)n;

		memcpy(target, u_of(row), (size_t)n * sizeof *row);
		memcpy(target + (size_t)n * (size_t)n, v_of(row, n), (size_t)n * sizeof *row);
	}
}

static double energy(const double *field, int n, int threads)
{
	double sum = 0;

#pragma omp parallel for num_threads(threads) reduction(+ : sum)
	for (int j = 0; j < n; j++) {
		double *row = row_at(field, n, j), *u = u_of(row), *v = v_of(row, n);

		for (int i = 0; i < n; i++)
			sum += 0.5 * (u[i] * u[i] + v[i] * v[i]) / n / n;
	}
	return sum;
}

static void energy_reverse(const double *field, double *bar, int n)
{
	for (size_t k = 0; k < row_width(n) * (size_t)n; k++)
		bar[k] = field[k] / n / n;
}

/* ---- The sweeps ---- */

static double primal(struct problem *problem, int threads)
{
	struct burgers *b = (struct burgers *)problem;
	int n = problem->size;

	start(b, b->now);
	for (int s = 0; s < problem->steps; s++) {
#pragma omp parallel for num_threads(threads)
		for (int j = 0; j < n; j++)
			step_row(b->now, b->next, n, j);
		swap(&b->now, &b->next);
	}
	return energy(b->now, n, threads);
}

/* No lane records anything, so a thread's rows need not be the rows of a lane. */
static int first_row(int thread, int threads, int n)
{
	return (int)((int64_t)n * thread / threads);
}

static double forward(struct problem *problem, reel_lane *root, int threads)
{
	struct burgers *b = (struct burgers *)problem;
	int n = problem->size, steps = problem->steps;
	size_t field = row_width(n) * (size_t)n;
	reel_region *region = reel_region_begin(root, problem->lanes);
	double *state = reel_push_span(reel_lane_tape(root), double, field);

	if (state)
		start(b, state);
	threads = team_of(region, threads);
#pragma omp parallel num_threads(threads)
	{
		reel_worker worker = reel_worker_of(region);
		double *now = state, *next;

		for (int s = 0; now && s < steps; s++, now = next) {
			next = reel_worker_push_span(&worker, double, field);
			for (int j = first_row(worker.thread, worker.threads, n);
			     next && j < first_row(worker.thread + 1, worker.threads, n); j++)
				step_row(now, next, n, j);
		}
#pragma omp barrier
		if (worker.thread == 0)
			state = now;
	}
	reel_region_end(region);
	return state ? energy(state, n, threads) : 0;
}

static void reverse(struct problem *problem, reel_lane *root, int threads, double *gradient)
{
	struct burgers *b = (struct burgers *)problem;
	int n = problem->size, steps = problem->steps;
	size_t field = row_width(n) * (size_t)n;
	reel_region *region = reel_region_reverse(root);
	const double *last = reel_pop_span(reel_lane_tape(root), double, field);

	if (last)
		energy_reverse(last, b->bar, n);
#pragma omp parallel num_threads(team_of(region, threads))
	{
		reel_worker worker = reel_worker_of(region);
		double *bar = b->bar, *next_bar = b->next_bar;
		const double *state = last;

		for (int s = steps; state && s-- > 0;) {
			swap(&bar, &next_bar);
			state = reel_worker_pop_span(&worker, double, field);
			for (int j = first_row(worker.thread, worker.threads, n);
			     state && j < first_row(worker.thread + 1, worker.threads, n); j++)
				step_row_reverse(state, bar, next_bar, n, j);
		}
	}
	reel_region_end(region);
	copy_gradient(steps % 2 ? b->next_bar : b->bar, n, gradient);
}

static double by_hand(struct problem *problem, int threads, double *gradient)
{
	struct burgers *b = (struct burgers *)problem;
	struct spin_barrier barrier = {0};
	int n = problem->size, steps = problem->steps;
	size_t field = row_width(n) * (size_t)n;
	double *last = b->history + field * (size_t)steps, sum = 0;

	start(b, b->history);
#pragma omp parallel num_threads(threads)
	{
		int team = team_size();
		int first = first_row(thread_number(), team, n);
		int end = first_row(thread_number() + 1, team, n);
		double *bar = b->bar, *next_bar = b->next_bar, *state = b->history;
		uint64_t passed = 0;

		for (int s = 0; s < steps; s++, state += field) {
			for (int j = first; j < end; j++)
				step_row(state, state + field, n, j);
			spin_barrier_pass(&barrier, &passed, team);
		}
		if (thread_number() == 0) {
			sum = energy(last, n, 1);
			energy_reverse(last, b->bar, n);
		}
		spin_barrier_pass(&barrier, &passed, team);
		for (int s = steps; s-- > 0;) {
			swap(&bar, &next_bar);
			state -= field;
			for (int j = first; j < end; j++)
				step_row_reverse(state, bar, next_bar, n, j);
			spin_barrier_pass(&barrier, &passed, team);
		}
	}
	copy_gradient(steps % 2 ? b->next_bar : b->bar, n, gradient);
	return sum;
}

/* ---- The problem ---- */

static struct problem *open_burgers(int size, int steps, int lanes)
{
	struct burgers *b = allocate_aligned(1, sizeof *b);
	size_t n = (size_t)size, field = row_width(size) * n;

	b->problem = (struct problem){size, steps, lanes, 2 * n * n, allocate_doubles(2 * n * n)};
	for (size_t j = 0; j < n; j++) {
		for (size_t i = 0; i < n; i++) {
			double x = 6.283185307179586 * (double)i / size;
			double y = 6.283185307179586 * (double)j / size;

			b->problem.x[j * n + i] = 1 + 0.5 * sin(x) * cos(y);
			b->problem.x[(n + j) * n + i] = 0.5 * cos(x + y);
		}
	}
	b->now = allocate_doubles(field);
	b->next = allocate_doubles(field);
	b->bar = allocate_doubles(field);
	b->next_bar = allocate_doubles(field);
	b->history = allocate_doubles(field * ((size_t)steps + 1));
	return &b->problem;
}

static void close_burgers(struct problem *problem)
{
	struct burgers *b = (struct burgers *)problem;

	free(b->problem.x);
	free(b->now);
	free(b->next);
	free(b->bar);
	free(b->next_bar);
	free(b->history);
	free(b);
}

const struct example burgers_2d = {
	.name = "burgers-2d", .what_size = "cells each way", .what_steps = "time steps",
	.size = 200, .steps = 50, .max_size = 10000, .max_steps = 1000000,
	.same_order = true, .taylor_largest = 0x1p-4,
	.open = open_burgers, .close = close_burgers, .primal = primal,
	.forward = forward, .reverse = reverse, .by_hand = by_hand,
};
