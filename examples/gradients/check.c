/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DIFFERENCE 1e-11
#define TAYLOR_SIZES 5
#define TAYLOR_TOLERANCE 0.1

static double norm(const double *a, const double *b, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (a[i] - (b ? b[i] : 0)) * (a[i] - (b ? b[i] : 0));
	return sqrt(sum);
}

static bool same_bits(const double *a, const double *b, size_t n)
{
	return memcmp(a, b, n * sizeof *a) == 0;
}

/* One recording, held and reversed by several numbers of threads. The last gradient is kept. */
static bool reverse_by_all(const struct example *example, struct problem *problem,
			   reel_lane *root, int reverse_threads, double *gradient)
{
	const int threads[] = {1, 2, 3, 5};
	double *other = allocate_doubles(problem->n);
	bool same = true;

	reel_lane_hold(root);
	example->reverse(problem, root, reverse_threads, gradient);
	for (int i = 0; i < 4; i++) {
		reel_lane_replay(root);
		example->reverse(problem, root, threads[i], other);
		same &= same_bits(gradient, other, problem->n);
	}
	reel_lane_release(root);
	free(other);
	return same;
}

/* x + h d of inputs x, along a d of random signs. */
static void move(const struct problem *problem, const double *x, double h)
{
	uint64_t seed = 7;

	for (size_t i = 0; i < problem->n; i++)
		problem->x[i] = x[i] + (pseudo_random(&seed) < 0 ? -h : h);
}

static double along_direction(const double *gradient, size_t n)
{
	uint64_t seed = 7;
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += pseudo_random(&seed) < 0 ? -gradient[i] : gradient[i];
	return sum;
}

/* The order in which J(x + h d) - J(x) - h <g, d> falls with h: the worst of several sizes. */
static double taylor_order(const struct example *example, struct problem *problem, int threads,
			   const double *gradient)
{
	double *x = allocate_doubles(problem->n);
	double slope = along_direction(gradient, problem->n);
	double at_x = example->primal(problem, threads), before = 0, worst = 2;

	memcpy(x, problem->x, problem->n * sizeof *x);
	for (int k = 0; k < TAYLOR_SIZES; k++) {
		double h = ldexp(example->taylor_largest, -k), remainder;

		move(problem, x, h);
		remainder = fabs(example->primal(problem, threads) - at_x - h * slope);
		if (k > 0 && !(fabs(log2(before / remainder) - 2) < fabs(worst - 2)))
			worst = log2(before / remainder);
		before = remainder;
	}
	memcpy(problem->x, x, problem->n * sizeof *x);
	free(x);
	return worst;
}

/* How far the gradient by hand is from this one; 0: no bit differs. */
static double distance_by_hand(const struct example *example, struct problem *problem, int threads,
			       const double *gradient)
{
	double *by_hand = allocate_doubles(problem->n);
	double distance;

	example->by_hand(problem, threads, by_hand);
	distance = same_bits(gradient, by_hand, problem->n)
			   ? 0
			   : norm(gradient, by_hand, problem->n) / norm(by_hand, NULL, problem->n);
	free(by_hand);
	return distance;
}

bool check_example(const struct example *example, struct problem *problem, int threads,
		   int reverse_threads)
{
	double *gradient = allocate_doubles(problem->n);
	double most = example->same_order || problem->lanes == 1 ? 0 : MAX_DIFFERENCE;
	double objective, distance, order;
	reel_lane *root;
	bool same, good;

	if (reel_lane_open(&root, NULL, 0))
		return false;
	objective = example->forward(problem, root, threads);
	same = reverse_by_all(example, problem, root, reverse_threads, gradient);
	good = reel_lane_error(root) == 0 && reel_lane_is_empty(root);
	reel_lane_close(root);
	good &= fabs(example->primal(problem, threads) - objective) <=
		MAX_DIFFERENCE * fabs(objective);
	distance = distance_by_hand(example, problem, 1, gradient);
	good &= problem->lanes == 1 ||
		distance_by_hand(example, problem, 2, gradient) <= MAX_DIFFERENCE;
	order = taylor_order(example, problem, threads, gradient);
	good &= same && distance <= most && fabs(order - 2) < TAYLOR_TOLERANCE;
	printf("%s: %d %s, %d %s, %d lanes: J %.9g, |gradient| %.9g; %s for 1, 2, 3, 5 threads; "
	       "serial: %.1g; Taylor: order %.3f; %s\n",
	       example->name, problem->size, example->what_size, problem->steps,
	       example->what_steps, problem->lanes, objective, norm(gradient, NULL, problem->n),
	       same ? "the same bits" : "OTHER BITS", distance, order, good ? "right" : "WRONG");
	free(gradient);
	return good;
}
