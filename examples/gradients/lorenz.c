/* SPDX-License-Identifier: MIT */
/*
 * Trajectories of Lorenz' equations by the classical Runge-Kutta method, with three rates that
 * all of them share. They are not equally long: a dynamic loop deals them to lanes, and notes
 * which lane had which. Only the state is kept; the stages are computed again.
 *
 * J = mean of |end|^2 / 2; the inputs are the initial states, then the rates.
 */
#include "example.h"

#include <stdlib.h>
#include <string.h>

#include <reel/reduction.h>

#define DT 0.002

struct lorenz {
	struct problem problem;
	reel_adjoint *rates_bar; /* which all lanes add to */
	double *rates_bar_sum;
	double *partial; /* of each lane */
	double *history; /* of the sweep by hand */
};

/* ---- A step ---- */

static void slope(const double *rates, const double *s, double *k)
{
	k[0] = rates[0] * (s[1] - s[0]);
	k[1] = s[0] * (rates[1] - s[2]) - s[1];
	k[2] = s[0] * s[1] - rates[2] * s[2];
}

static void slope_reverse(const double *rates, const double *s, const double *k_bar, double *s_bar,
			  double *rates_bar)
{
	s_bar[0] = -rates[0] * k_bar[0] + (rates[1] - s[2]) * k_bar[1] + s[1] * k_bar[2];
	s_bar[1] = rates[0] * k_bar[0] - k_bar[1] + s[0] * k_bar[2];
	s_bar[2] = -s[0] * k_bar[1] - rates[2] * k_bar[2];
	rates_bar[0] += (s[1] - s[0]) * k_bar[0];
	rates_bar[1] += s[0] * k_bar[1];
	rates_bar[2] -= s[2] * k_bar[2];
}

/* A stage is at s + h k of the one before. */
static const double stage_step[4] = {0, DT / 2, DT / 2, DT};
static const double stage_weight[4] = {DT / 6, DT / 3, DT / 3, DT / 6};

static void stages(const double *rates, const double *s, double at[4][3], double k[4][3])
{
	for (int j = 0; j < 4; j++) {
		for (int i = 0; i < 3; i++)
			at[j][i] = s[i] + (j ? stage_step[j] * k[j - 1][i] : 0);
		slope(rates, at[j], k[j]);
	}
}

static void step(const double *rates, double *s)
{
	double at[4][3], k[4][3];

	stages(rates, s, at, k);
	for (int j = 0; j < 4; j++)
		for (int i = 0; i < 3; i++)
			s[i] += stage_weight[j] * k[j][i];
}

/* s is the state before the step; bar, the adjoint of the state after it, becomes its adjoint. */
static void step_reverse(const double *rates, const double *s, double *bar, double *rates_bar)
{
	double at[4][3], k[4][3], at_bar[3] = {0}, k_bar[3], s_bar[3];

	stages(rates, s, at, k);
	memcpy(s_bar, bar, sizeof s_bar);
	for (int j = 3; j >= 0; j--) {
		for (int i = 0; i < 3; i++)
			k_bar[i] = stage_weight[j] * bar[i] +
				   (j < 3 ? stage_step[j + 1] * at_bar[i] : 0);
		slope_reverse(rates, at[j], k_bar, at_bar, rates_bar);
		for (int i = 0; i < 3; i++)
			s_bar[i] += at_bar[i];
	}
	memcpy(bar, s_bar, sizeof s_bar);
}

/* ---- A trajectory ---- */

/* From half of the steps to all of them. */
static int length_of(const struct problem *problem, int trajectory)
{
	return problem->steps - problem->steps / 2 * trajectory / problem->size;
}

static const double *rates_of(const struct problem *problem)
{
	return problem->x + 3 * problem->size;
}

static double energy(const struct problem *problem, const double *s)
{
	return (s[0] * s[0] + s[1] * s[1] + s[2] * s[2]) / 2 / problem->size;
}

static double trajectory_forward(const struct problem *problem, reel_tape *tape, int t)
{
	const double *rates = rates_of(problem);
	double s[3];

	memcpy(s, problem->x + 3 * t, sizeof s);
	for (int left = length_of(problem, t); left > 0; left--) {
		for (int i = 0; i < 3; i++)
			reel_push(tape, s[i]);
		step(rates, s);
	}
	for (int i = 0; i < 3; i++)
		reel_push(tape, s[i]);
	return energy(problem, s);
}

static void trajectory_reverse(const struct problem *problem, reel_tape *tape, int t,
			       double *gradient, double *rates_bar)
{
	const double *rates = rates_of(problem);
	double s[3], bar[3];

	for (int i = 2; i >= 0; i--)
		bar[i] = reel_pop(tape, double) / problem->size;
	for (int left = length_of(problem, t); left > 0; left--) {
		for (int i = 2; i >= 0; i--)
			s[i] = reel_pop(tape, double);
		step_reverse(rates, s, bar, rates_bar);
	}
	memcpy(gradient + 3 * t, bar, sizeof bar);
}

/* ---- The sweeps ---- */

static double primal(struct problem *problem, int threads)
{
	double sum = 0;

#pragma omp parallel for num_threads(threads) schedule(dynamic) reduction(+ : sum)
	for (int t = 0; t < problem->size; t++) {
		double s[3];

		memcpy(s, problem->x + 3 * t, sizeof s);
		for (int left = length_of(problem, t); left > 0; left--)
			step(rates_of(problem), s);
		sum += energy(problem, s);
	}
	return sum;
}

static double forward(struct problem *problem, reel_lane *root, int threads)
{
	struct lorenz *l = (struct lorenz *)problem;
	reel_region *region = reel_region_begin(root, problem->lanes);

#pragma omp parallel num_threads(team_of(region, threads))
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			reel_tape *tape = reel_lane_tape(worker.lane);
			double sum = 0;

			REEL_FOR(worker.lane, int, t, 0, problem->size, reel_dynamic(1))
			sum += trajectory_forward(problem, tape, t);
			l->partial[reel_lane_index(worker.lane)] = sum;
		}
	}
	reel_region_end(region);
	return reel_reduce(root, REEL_REDUCE_SUM, l->partial, problem->lanes);
}

static void reverse(struct problem *problem, reel_lane *root, int threads, double *gradient)
{
	struct lorenz *l = (struct lorenz *)problem;
	reel_region *region = reel_region_reverse(root);

	memset(l->rates_bar_sum, 0, 3 * sizeof *l->rates_bar_sum);
	reel_adjoint_begin(l->rates_bar, (unsigned)problem->lanes);
#pragma omp parallel num_threads(team_of(region, threads))
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			reel_tape *tape = reel_lane_tape(worker.lane);
			reel_adjoint_view view = reel_adjoint_lane(
				l->rates_bar, (unsigned)reel_lane_index(worker.lane));
			double *rates_bar = reel_adjoint_span(&view, 0, 3);

			REEL_FOR_REVERSE(worker.lane, int, t, 0, problem->size, reel_dynamic(1))
			trajectory_reverse(problem, tape, t, gradient, rates_bar);
		}
		reel_adjoint_omp_reduce(l->rates_bar);
	}
	reel_region_end(region);
	reel_adjoint_end(l->rates_bar);
	memcpy(gradient + 3 * problem->size, l->rates_bar_sum, 3 * sizeof *gradient);
}

/* A state of a trajectory before each step, and the last one. */
static double keep_trajectory(const struct problem *problem, int t, double *top)
{
	double s[3];

	memcpy(s, problem->x + 3 * t, sizeof s);
	for (int left = length_of(problem, t); left > 0; left--, top += 3) {
		memcpy(top, s, sizeof s);
		step(rates_of(problem), s);
	}
	memcpy(top, s, sizeof s);
	return energy(problem, s);
}

static void reverse_kept(const struct problem *problem, int t, const double *top, double *gradient,
			 double *rates_bar)
{
	double bar[3];

	for (int i = 0; i < 3; i++)
		bar[i] = top[i] / problem->size;
	for (int left = length_of(problem, t); left > 0; left--)
		step_reverse(rates_of(problem), top -= 3, bar, rates_bar);
	memcpy(gradient + 3 * t, bar, sizeof bar);
}

static double by_hand(struct problem *problem, int threads, double *gradient)
{
	struct lorenz *l = (struct lorenz *)problem;
	size_t room = 3 * ((size_t)problem->steps + 1);
	double *rates_bar = gradient + 3 * problem->size, sum = 0;
	double a = 0, b = 0, c = 0;

#pragma omp parallel num_threads(threads) reduction(+ : sum, a, b, c)
	{
		double own[3] = {0};

#pragma omp for schedule(dynamic)
		for (int t = 0; t < problem->size; t++)
			sum += keep_trajectory(problem, t, l->history + (size_t)t * room);
#pragma omp for schedule(dynamic) nowait
		for (int i = 0; i < problem->size; i++) {
			/* One thread adds in the order of one lane; of more, none begins late. */
			int t = threads > 1 ? i : problem->size - 1 - i;
			const double *kept = l->history + (size_t)t * room;

			reverse_kept(problem, t, kept + 3 * length_of(problem, t), gradient, own);
		}
		a += own[0];
		b += own[1];
		c += own[2];
	}
	memcpy(rates_bar, (double[]){a, b, c}, 3 * sizeof *rates_bar);
	return sum;
}

/* ---- The problem ---- */

static struct problem *open_lorenz(int size, int steps, int lanes)
{
	struct lorenz *l = allocate_aligned(1, sizeof *l);
	size_t n = 3 * (size_t)size + 3;
	uint64_t seed = 9;

	l->problem = (struct problem){size, steps, lanes, n, allocate_doubles(n)};
	for (int k = 0; k < 3 * size; k++)
		l->problem.x[k] = 1 + pseudo_random(&seed) + (k % 3 == 2 ? 20 : 0);
	memcpy(l->problem.x + 3 * size, (double[]){10, 28, 8.0 / 3}, 3 * sizeof(double));
	l->rates_bar_sum = open_adjoint(&l->rates_bar, "rates", 3);
	l->partial = allocate_doubles((size_t)lanes);
	l->history = allocate_doubles(3 * (size_t)size * ((size_t)steps + 1));
	return &l->problem;
}

static void close_lorenz(struct problem *problem)
{
	struct lorenz *l = (struct lorenz *)problem;

	free(l->problem.x);
	reel_adjoint_close(l->rates_bar);
	free(l->rates_bar_sum);
	free(l->partial);
	free(l->history);
	free(l);
}

const struct example lorenz = {
	.name = "lorenz", .what_size = "trajectories", .what_steps = "time steps",
	.size = 64, .steps = 1000, .max_size = 1000, .max_steps = 1000000,
	.same_order = false, .taylor_largest = 0x1p-10,
	.open = open_lorenz, .close = close_lorenz, .primal = primal,
	.forward = forward, .reverse = reverse, .by_hand = by_hand,
};
