/* SPDX-License-Identifier: MIT */
/*
 * Burgers' equation u_t + u u_x = nu u_xx on a ring of cells. All time steps are in one region, and
 * each is a phase. The cells of a time step are a collective span, which the lanes calculate in
 * place.
 *
 * J = 1/2 sum u^2 / n after the last step; the inputs are the initial state.
 */
#include "example.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <reel/reduction.h>

#include "common/barrier.h"
#include "common/parallel.h"

/* dt / (2 dx), and nu dt / dx^2. */
#define C 0.1
#define D 0.2

/* Cells that a thread of the primal takes at a time. */
#define BLOCK 1000

struct burgers {
	struct problem problem;
	/* Cells 0 to n - 1, with those at -1 and n that are the same as at the other end. */
	double *now, *next, *bar, *next_bar;
	double *partial; /* of each lane */
	double *history; /* of the sweep by hand */
};

/* ---- A row ---- */

static void step(const double *restrict u, double *restrict next, int n)
{
	for (int i = 0; i < n; i++)
		next[i] = u[i] - C * u[i] * (u[i + 1] - u[i - 1]) +
			  D * (u[i + 1] - 2 * u[i] + u[i - 1]);
}

/* Each cell gathers from the three that it has been used for. */
static void step_reverse(const double *restrict u, double *restrict bar,
			 const double *restrict next_bar, int n)
{
	for (int i = 0; i < n; i++)
		bar[i] = next_bar[i] * (1 - 2 * D - C * (u[i + 1] - u[i - 1])) +
			 next_bar[i - 1] * (D - C * u[i - 1]) +
			 next_bar[i + 1] * (D + C * u[i + 1]);
}

/* The thread that has the first or the last cell writes its copy beyond the other end. */
static void close_ring(double *u, int64_t first, int64_t end, int n)
{
	if (first == 0)
		u[n] = u[0];
	if (end == n)
		u[-1] = u[n - 1];
}

static double energy(const double *u, int64_t first, int64_t end, int n)
{
	double sum = 0;

	for (int64_t i = first; i < end; i++)
		sum += u[i] * u[i];
	return 0.5 * sum / n;
}

static void energy_reverse(const double *u, double *bar, int64_t first, int64_t end, int n)
{
	for (int64_t i = first; i < end; i++)
		bar[i] = u[i] / n;
	close_ring(bar, first, end, n);
}

/* ---- A thread's part of a state: not of a lane, since no lane records anything ---- */

static int first_cell(int thread, int threads, int n)
{
	return (int)((int64_t)n * thread / threads);
}

static void part_forward(const reel_worker *worker, const double *u, double *next, int n)
{
	int first = first_cell(worker->thread, worker->threads, n);
	int end = first_cell(worker->thread + 1, worker->threads, n);

	step(u + first, next + first, end - first);
	close_ring(next, first, end, n);
}

static void part_reverse(const reel_worker *worker, const double *u, double *bar,
			 const double *next_bar, int n)
{
	int first = first_cell(worker->thread, worker->threads, n);
	int end = first_cell(worker->thread + 1, worker->threads, n);

	step_reverse(u + first, bar + first, next_bar + first, end - first);
	close_ring(bar, first, end, n);
}

/* ---- The sweeps ---- */

/* A state has n cells, with those at -1 and n that are the same as at the other end. */
static double *cells_of(const double *span)
{
	return span ? (double *)(uintptr_t)span + 1 : NULL;
}

static void start(const struct burgers *b, double *u)
{
	int n = b->problem.size;

	memcpy(u, b->problem.x, (size_t)n * sizeof *u);
	close_ring(u, 0, n, n);
}

static double primal(struct problem *problem, int threads)
{
	struct burgers *b = (struct burgers *)problem;
	int n = problem->size, steps = problem->steps;
	double sum = 0;

	start(b, b->now);
#pragma omp parallel num_threads(threads) reduction(+ : sum)
	{
		double *now = b->now, *next = b->next;

		for (int s = 0; s < steps; s++) {
#pragma omp for schedule(static)
			for (int first = 0; first < n; first += BLOCK) {
				int end = first + BLOCK < n ? first + BLOCK : n;

				step(now + first, next + first, end - first);
				close_ring(next, first, end, n);
			}
			swap(&now, &next);
		}
#pragma omp for schedule(static)
		for (int i = 0; i < n; i++)
			sum += 0.5 * now[i] * now[i] / n;
	}
	return sum;
}

static double forward(struct problem *problem, reel_lane *root, int threads)
{
	struct burgers *b = (struct burgers *)problem;
	int n = problem->size, steps = problem->steps;
	size_t width = (size_t)n + 2;
	reel_region *region = reel_region_begin(root, problem->lanes);
	double *first = cells_of(reel_push_span(reel_lane_tape(root), double, width));

	if (first)
		start(b, first);
#pragma omp parallel num_threads(team_of(region, threads))
	{
		reel_worker worker = reel_worker_of(region);
		double *u = first, *next;

		for (int s = 0; u && s < steps; s++, u = next) {
			next = cells_of(reel_worker_push_span(&worker, double, width));
			if (next)
				part_forward(&worker, u, next, n);
		}
		reel_worker_barrier(&worker);
		while (u && reel_worker_next(&worker)) {
			reel_loop part = reel_loop_begin(worker.lane, reel_static(0), 0, n);
			double sum = 0;

			while (reel_loop_next(&part))
				sum += energy(u, part.first, part.end, n);
			b->partial[reel_lane_index(worker.lane)] = sum;
		}
	}
	reel_region_end(region);
	return reel_reduce(root, REEL_REDUCE_SUM, b->partial, problem->lanes);
}

/* The adjoint of a sum is the adjoint of each part, so there is nothing to do for the reduction. */
static void reverse(struct problem *problem, reel_lane *root, int threads, double *gradient)
{
	struct burgers *b = (struct burgers *)problem;
	int n = problem->size, steps = problem->steps;
	size_t width = (size_t)n + 2;
	reel_region *region = reel_region_reverse(root);
	const double *last = cells_of(reel_pop_span(reel_lane_tape(root), double, width));

#pragma omp parallel num_threads(team_of(region, threads))
	{
		reel_worker worker = reel_worker_of(region);
		double *bar = b->bar, *next_bar = b->next_bar;
		const double *u = last;

		while (u && reel_worker_next(&worker)) {
			reel_loop part = reel_loop_reverse(worker.lane, reel_static(0), 0, n);

			while (reel_loop_next(&part))
				energy_reverse(u, bar, part.first, part.end, n);
		}
		for (int s = steps; u && s-- > 0;) {
			swap(&bar, &next_bar);
			u = cells_of(reel_worker_pop_span(&worker, double, width));
			if (u)
				part_reverse(&worker, u, bar, next_bar, n);
		}
	}
	reel_region_end(region);
	memcpy(gradient, steps % 2 ? b->next_bar : b->bar, (size_t)n * sizeof *gradient);
}

/* Each state is computed where it is kept. */
static double by_hand(struct problem *problem, int threads, double *gradient)
{
	struct burgers *b = (struct burgers *)problem;
	struct spin_barrier barrier = {0};
	int n = problem->size, steps = problem->steps;
	size_t width = (size_t)n + 2;
	double sum = 0;

	start(b, b->history + 1);
#pragma omp parallel num_threads(threads) reduction(+ : sum)
	{
		int team = team_size();
		int first = first_cell(thread_number(), team, n);
		int end = first_cell(thread_number() + 1, team, n);
		double *u = b->history + 1, *bar = b->bar, *next_bar = b->next_bar;
		uint64_t passed = 0;

		for (int s = 0; s < steps; s++, u += width) {
			step(u + first, u + width + first, end - first);
			close_ring(u + width, first, end, n);
			spin_barrier_pass(&barrier, &passed, team);
		}
		sum = energy(u, first, end, n);
		energy_reverse(u, bar, first, end, n);
		spin_barrier_pass(&barrier, &passed, team);
		for (int s = steps; s-- > 0;) {
			swap(&bar, &next_bar);
			u -= width;
			step_reverse(u + first, bar + first, next_bar + first, end - first);
			close_ring(bar, first, end, n);
			spin_barrier_pass(&barrier, &passed, team);
		}
		memcpy(gradient + first, bar + first, (size_t)(end - first) * sizeof *gradient);
	}
	return sum;
}

/* ---- The problem ---- */

static struct problem *open_burgers(int size, int steps, int lanes)
{
	struct burgers *b = allocate_aligned(1, sizeof *b);

	b->problem = (struct problem){size, steps, lanes, (size_t)size, NULL};
	b->problem.x = allocate_doubles((size_t)size);
	for (int i = 0; i < size; i++)
		b->problem.x[i] = 1 + 0.5 * sin(6.283185307179586 * i / size);
	b->now = allocate_doubles((size_t)size + 2) + 1;
	b->next = allocate_doubles((size_t)size + 2) + 1;
	b->bar = allocate_doubles((size_t)size + 2) + 1;
	b->next_bar = allocate_doubles((size_t)size + 2) + 1;
	b->partial = allocate_doubles((size_t)lanes);
	b->history = allocate_doubles(((size_t)size + 2) * ((size_t)steps + 1));
	return &b->problem;
}

static void close_burgers(struct problem *problem)
{
	struct burgers *b = (struct burgers *)problem;

	free(b->problem.x);
	free(b->now - 1);
	free(b->next - 1);
	free(b->bar - 1);
	free(b->next_bar - 1);
	free(b->partial);
	free(b->history);
	free(b);
}

const struct example burgers_1d = {
	.name = "burgers-1d", .what_size = "cells", .what_steps = "time steps",
	.size = 1000, .steps = 1000, .max_size = 100000000, .max_steps = 1000000,
	.same_order = true, .taylor_largest = 0x1p-4,
	.open = open_burgers, .close = close_burgers, .primal = primal,
	.forward = forward, .reverse = reverse, .by_hand = by_hand,
};
