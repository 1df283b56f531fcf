/* SPDX-License-Identifier: MIT */
/*
 * Burgers' equation u_t + u u_x = nu u_xx on a ring of cells. All time steps are in one region,
 * and a barrier ends each of them: a phase. A row of cells is a span on its lane's tape.
 *
 * J = 1/2 sum u^2 / n after the last step; the inputs are the initial state.
 */
#include "example.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <reel/reduction.h>

/* dt / (2 dx), and nu dt / dx^2. */
#define C 0.1
#define D 0.2

/*
 * Cells of a row at most: a span of 8 KB. A row is gone through in pieces, which vectorise: in the
 * forward sweep they are copied and calculated at once; in the reverse one they go down, as the
 * tape does, so that the processor fetches ahead in one direction.
 */
#define LONGEST_ROW 1000
#define PIECE 32

struct burgers {
	struct problem problem;
	/* Cells 0 to n - 1, with those at -1 and n that are the same as at the other end. */
	double *now, *next, *bar, *next_bar;
	double *partial; /* of each lane */
	double *history; /* of the serial sweep */
};

/* ---- A row ---- */

static void step(const double *restrict u, double *restrict next, int n)
{
	for (int i = 0; i < n; i++)
		next[i] = u[i] - C * u[i] * (u[i + 1] - u[i - 1]) +
			  D * (u[i + 1] - 2 * u[i] + u[i - 1]);
}

static void step_and_keep(const double *u, double *next, double *kept, int n)
{
	kept[-1] = u[-1];
	for (int first = 0; first < n; first += PIECE) {
		int cells = first + PIECE < n ? PIECE : n - first;

		memcpy(kept + first, u + first, (size_t)cells * sizeof *u);
		step(u + first, next + first, cells);
	}
	kept[n] = u[n];
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

static void step_reverse_downwards(const double *u, double *bar, const double *next_bar, int n)
{
	for (int end = n; end > 0; end -= PIECE) {
		int first = end > PIECE ? end - PIECE : 0;

		step_reverse(u + first, bar + first, next_bar + first, end - first);
	}
}

/* Who has the first cell, or the last one, writes the copy beyond the other end. */
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

/* ---- A lane's cells, row by row; after a refused push the lane has an error ---- */

static int64_t end_of_row(const reel_loop *part, int64_t first)
{
	return first + LONGEST_ROW < part->end ? first + LONGEST_ROW : part->end;
}

static void part_forward(reel_tape *tape, const double *u, double *next, const reel_loop *part)
{
	for (int64_t first = part->first; first < part->end; first += LONGEST_ROW) {
		int cells = (int)(end_of_row(part, first) - first);
		double *kept = reel_push_span(tape, double, (size_t)cells + 2);

		if (kept)
			step_and_keep(u + first, next + first, kept + 1, cells);
	}
}

static void part_reverse(reel_tape *tape, double *bar, const double *next_bar,
			 const reel_loop *part)
{
	int64_t rows = (part->end - part->first + LONGEST_ROW - 1) / LONGEST_ROW;

	while (rows-- > 0) {
		int64_t first = part->first + rows * LONGEST_ROW;
		int cells = (int)(end_of_row(part, first) - first);
		const double *kept = reel_pop_span(tape, double, (size_t)cells + 2);

		if (kept)
			step_reverse_downwards(kept + 1, bar + first, next_bar + first, cells);
	}
}

/* ---- The sweeps ---- */

static void start(const struct burgers *b)
{
	int n = b->problem.size;

	memcpy(b->now, b->problem.x, (size_t)n * sizeof *b->now);
	close_ring(b->now, 0, n, n);
}

static double primal(struct problem *problem, int threads)
{
	struct burgers *b = (struct burgers *)problem;
	int n = problem->size, steps = problem->steps;
	double sum = 0;

	start(b);
#pragma omp parallel num_threads(threads) reduction(+ : sum)
	{
		double *now = b->now, *next = b->next;

		for (int s = 0; s < steps; s++) {
#pragma omp for schedule(static)
			for (int first = 0; first < n; first += LONGEST_ROW) {
				int end = first + LONGEST_ROW < n ? first + LONGEST_ROW : n;

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
	reel_region *region;

	start(b);
	region = reel_region_begin(root, problem->lanes);
#pragma omp parallel num_threads(threads)
	{
		reel_share share = reel_share_of(region);
		double *now = b->now, *next = b->next;

		for (int s = 0; s < steps; s++) {
			while (reel_share_next(&share)) {
				reel_tape *tape = reel_lane_tape(share.lane);
				reel_loop part = reel_loop_begin(share.lane, reel_static(0), 0, n);

				while (reel_loop_next(&part)) {
					part_forward(tape, now, next, &part);
					close_ring(next, part.first, part.end, n);
				}
			}
			reel_share_barrier(&share);
			swap(&now, &next);
		}
		while (reel_share_next(&share)) {
			reel_loop part = reel_loop_begin(share.lane, reel_static(0), 0, n);
			double sum = 0;

			while (reel_loop_next(&part))
				sum += energy(now, part.first, part.end, n);
			b->partial[reel_lane_index(share.lane)] = sum;
		}
	}
	reel_region_end(region);
	return reel_reduce(root, REEL_SUM, b->partial, problem->lanes);
}

/* The adjoint of a sum is that of its parts, so there is nothing to do for the reduction. */
static void reverse(struct problem *problem, reel_lane *root, int threads, double *gradient)
{
	struct burgers *b = (struct burgers *)problem;
	int n = problem->size, steps = problem->steps;
	const double *last = steps % 2 ? b->next : b->now;
	reel_region *region = reel_region_reverse(root);

#pragma omp parallel num_threads(threads)
	{
		reel_share share = reel_share_of(region);
		double *bar = b->bar, *next_bar = b->next_bar;

		while (reel_share_next(&share)) {
			reel_loop part = reel_loop_reverse(share.lane, reel_static(0), 0, n);

			while (reel_loop_next(&part))
				energy_reverse(last, bar, part.first, part.end, n);
		}
		for (int s = steps; s-- > 0;) {
			swap(&bar, &next_bar);
			reel_share_barrier(&share);
			while (reel_share_next(&share)) {
				reel_tape *tape = reel_lane_tape(share.lane);
				reel_loop part =
					reel_loop_reverse(share.lane, reel_static(0), 0, n);

				while (reel_loop_next(&part)) {
					part_reverse(tape, bar, next_bar, &part);
					close_ring(bar, part.first, part.end, n);
				}
			}
		}
	}
	reel_region_end(region);
	memcpy(gradient, steps % 2 ? b->next_bar : b->bar, (size_t)n * sizeof *gradient);
}

/* Each state is computed where it is kept. */
static double serial(struct problem *problem, double *gradient)
{
	struct burgers *b = (struct burgers *)problem;
	int n = problem->size, steps = problem->steps;
	size_t width = (size_t)n + 2;
	double *u = b->history + 1, *bar = b->bar, *next_bar = b->next_bar;
	double sum;

	memcpy(u, problem->x, (size_t)n * sizeof *u);
	close_ring(u, 0, n, n);
	for (int s = 0; s < steps; s++, u += width) {
		step(u, u + width, n);
		close_ring(u + width, 0, n, n);
	}
	sum = energy(u, 0, n, n);
	energy_reverse(u, bar, 0, n, n);
	for (int s = steps; s-- > 0;) {
		swap(&bar, &next_bar);
		step_reverse(u -= width, bar, next_bar, n);
		close_ring(bar, 0, n, n);
	}
	memcpy(gradient, bar, (size_t)n * sizeof *gradient);
	return sum;
}

/* ---- The problem ---- */

static struct problem *open_burgers(int size, int steps, int lanes)
{
	struct burgers *b = allocate(1, sizeof *b);

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
	.size = 1000, .steps = 1000, .most_size = 100000000, .most_steps = 1000000,
	.same_order = true, .taylor_largest = 0x1p-4,
	.open = open_burgers, .close = close_burgers, .primal = primal,
	.forward = forward, .reverse = reverse, .serial = serial,
};
