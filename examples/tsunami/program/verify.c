/* SPDX-License-Identifier: MIT */
#include "verify.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "gradient/objective.h"
#include "common/report.h"

#define PLANE_WAVES 6

/* Uniform in 0 to 1: the generator of Knuth's MMIX, the same numbers in every run. */
static double pseudo_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (double)(*state >> 11) * 0x1p-53;
}

/* A smooth field with values within -1 to 1: plane waves of some cycles across the region. */
static void smooth_field(const struct grid *grid, uint64_t seed, double *field)
{
	for (int wave = 0; wave < PLANE_WAVES; wave++) {
		double cycles_x = 8.0 * (pseudo_random(&seed) - 0.5);
		double cycles_y = 8.0 * (pseudo_random(&seed) - 0.5);
		double phase = pseudo_random(&seed);

		for (int j = 0; j < grid->rows; j++)
			for (int i = 0; i < grid->columns; i++) {
				double cycle = phase + cycles_x * i / grid->columns +
					       cycles_y * j / grid->rows;

				field[grid_row(grid, j) + i] +=
					cos(2.0 * PI * cycle) / PLANE_WAVES;
			}
	}
}

static struct controls controls_create(const struct grid *grid)
{
	return (struct controls){grid_field(grid), grid_field(grid)};
}

static void controls_destroy(struct controls *controls)
{
	free(controls->displacement);
	free(controls->depth);
}

static struct controls choose_direction(const struct model *model, const double *depth)
{
	struct controls direction = controls_create(model->grid);

	smooth_field(model->grid, 1, direction.displacement);
	smooth_field(model->grid, 2, direction.depth);
	for (size_t k = 0; k < grid_elements(model->grid); k++) {
		direction.displacement[k] *= model->wet[k] * TAYLOR_DISPLACEMENT;
		direction.depth[k] *= model->wet[k] * TAYLOR_DEPTH * depth[k];
	}
	return direction;
}

static long double dot_product(const struct grid *grid, const struct controls *a,
			  const struct controls *b)
{
	long double sum = 0.0L;

	for (size_t k = 0; k < grid_elements(grid); k++)
		sum += (long double)a->displacement[k] * b->displacement[k] +
		       (long double)a->depth[k] * b->depth[k];
	return sum;
}

/* J(x + h d) - J(x). */
static double step_in_direction(struct reversal *reversal, const struct model *model,
				const struct controls *controls,
				const struct controls *direction, double h, int threads,
				const double *gauge)
{
	struct controls moved = controls_create(model->grid);
	double *moved_gauge = allocate((size_t)model->steps, sizeof(double));
	double difference;

	for (size_t k = 0; k < grid_elements(model->grid); k++) {
		moved.displacement[k] =
			controls->displacement[k] + h * direction->displacement[k];
		moved.depth[k] = controls->depth[k] + h * direction->depth[k];
	}
	reversal_primal_on_cpu(reversal, &moved, threads, moved_gauge);
	difference = objective_difference(model, moved_gauge, gauge);
	free(moved_gauge);
	controls_destroy(&moved);
	return difference;
}

static double least_squares_slope(int count, const double *x, const double *y)
{
	double mean_x = 0.0, mean_y = 0.0, covariance = 0.0, variance = 0.0;

	for (int k = 0; k < count; k++) {
		mean_x += x[k] / count;
		mean_y += y[k] / count;
	}
	for (int k = 0; k < count; k++) {
		covariance += (x[k] - mean_x) * (y[k] - mean_y);
		variance += (x[k] - mean_x) * (x[k] - mean_x);
	}
	return covariance / variance;
}

static void taylor_test(struct reversal *reversal, const struct model *model,
			const struct controls *controls,
			const struct controls *direction, const double *gauge,
			const struct controls *gradient, int threads,
			struct verification *verification)
{
	double slope = (double)dot_product(model->grid, gradient, direction);
	double log_size[TAYLOR_SIZES], log_remainder[TAYLOR_SIZES];

	for (int k = 0; k < TAYLOR_SIZES; k++) {
		double h = pow(10.0, -k);
		double difference = step_in_direction(reversal, model, controls, direction, h,
						      threads, gauge);

		verification->size[k] = h;
		verification->difference[k] = fabs(difference);
		verification->remainder[k] = fabs(difference - h * slope);
		log_size[k] = log10(h);
		log_remainder[k] = log10(verification->remainder[k]);
	}
	verification->taylor_slope = least_squares_slope(TAYLOR_SIZES, log_size, log_remainder);
}

static void dot_product_test(const struct model *model, const struct controls *controls,
			     const struct controls *direction, int threads,
			     struct reversal *reversal, struct verification *verification)
{
	size_t steps = (size_t)model->steps;
	double *weights = allocate(steps, sizeof(double));
	double *gauge = allocate(steps, sizeof(double));
	double *d_gauge = allocate(steps, sizeof(double));
	struct controls transposed = controls_create(model->grid);
	long double tangent_product = 0.0L, adjoint_product;
	uint64_t seed = 3;
	double start;

	for (size_t n = 0; n < steps; n++)
		weights[n] = 0.5 + pseudo_random(&seed);
	reversal_tangent(reversal, controls, direction, threads, d_gauge);
	for (size_t n = 0; n < steps; n++)
		tangent_product += (long double)weights[n] * d_gauge[n];
	start = wall_time();
	reversal_forward(reversal, controls, gauge);
	verification->forward_seconds = wall_time() - start;
	start = wall_time();
	reversal_reverse(reversal, controls, weights, &transposed);
	verification->reverse_seconds = wall_time() - start;
	adjoint_product = dot_product(model->grid, direction, &transposed);

	verification->tangent_product = tangent_product;
	verification->adjoint_product = adjoint_product;
	verification->dot_product_error =
		(double)(fabsl(tangent_product - adjoint_product) / fabsl(tangent_product));
	free(weights);
	free(gauge);
	free(d_gauge);
	controls_destroy(&transposed);
}

struct verification verify_gradient(const struct model *model, const struct controls *controls,
				    const double *gauge, const struct controls *gradient,
				    int threads, struct reversal *reversal)
{
	struct verification verification;
	struct controls direction = choose_direction(model, controls->depth);

	dot_product_test(model, controls, &direction, threads, reversal, &verification);
	taylor_test(reversal, model, controls, &direction, gauge, gradient, threads, &verification);
	controls_destroy(&direction);
	return verification;
}

int verification_passed(const struct verification *verification)
{
	return fabs(verification->taylor_slope - 2.0) <= TAYLOR_TOLERANCE &&
	       verification->dot_product_error <= DOT_PRODUCT_TOLERANCE;
}

void verification_print(const struct verification *verification)
{
	printf("Taylor test\n        h   |J(x+hd)-J(x)|   |J(x+hd)-J(x)-h<g,d>|\n");
	for (int k = 0; k < TAYLOR_SIZES; k++)
		printf("  %7.0e   %14.6e   %21.6e\n", verification->size[k],
		       verification->difference[k], verification->remainder[k]);
	printf("  slope of the remainder  %.4f (to be 2 within %.2f)\n",
	       verification->taylor_slope, TAYLOR_TOLERANCE);
	printf("Dot-product test\n  <M d, w> = %.17Le\n  <d, M* w> = %.17Le\n",
	       verification->tangent_product, verification->adjoint_product);
	printf("  relative difference  %.1e (to be at most %.0e)\n",
	       verification->dot_product_error, DOT_PRODUCT_TOLERANCE);
}
