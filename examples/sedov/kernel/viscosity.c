/* SPDX-License-Identifier: MIT */
/*
 * The artificial viscosity where an element is compressed along an axis. The monotonic limiter of
 * Christensen (1990) compares the velocity's gradient with the gradients of both neighbours, and
 * takes the viscosity away where the flow is smooth.
 */
#include "kernel.h"

#define TINY 1e-36

/* The limiter along axis m, and how it was found. */
static inline real limiter(const struct model *model, const struct fields *fields, int e, int m,
			   uint32_t *choice)
{
	const struct parameters *parameters = &model->parameters;
	const real *gradient = fields->gradient[m];
	real per_own = 1.0 / (gradient[e] + TINY);
	real below = gradient[model->mesh->neighbour[m][0][e]] * per_own;
	real above = gradient[model->mesh->neighbour[m][1][e]] * per_own;
	real least = 0.5 * (below + above);

	*choice = LIMITER_MEAN;
	if (parameters->limiter_slope * value_of(below) < value_of(least)) {
		least = parameters->limiter_slope * below;
		*choice = LIMITER_BELOW;
	}
	if (parameters->limiter_slope * value_of(above) < value_of(least)) {
		least = parameters->limiter_slope * above;
		*choice = LIMITER_ABOVE;
	}
	if (value_of(least) < 0.0) {
		least = 0.0;
		*choice = LIMITER_MIN;
	}
	if (value_of(least) > parameters->limiter_max) {
		least = parameters->limiter_max;
		*choice = LIMITER_MAX;
	}
	return least;
}

void viscosity(const struct model *model, struct fields *fields, const struct block *block)
{
	const struct parameters *parameters = &model->parameters;

	for (int e = block->first; e < block->last; e++) {
		real density = 1.0 / fields->volume[e], linear = 0.0, quadratic = 0.0;

		for (int m = 0; m < AXES && !(fields->branches[e] & EXPANDS); m++) {
			real jump = fields->gradient[m][e] * fields->width[m][e], smooth;
			uint32_t choice;

			if (value_of(jump) > 0.0)
				continue;
			smooth = limiter(model, fields, e, m, &choice);
			fields->branches[e] |= choice << (LIMITER_BITS * m);
			linear += jump * (1.0 - smooth);
			quadratic += jump * jump * (1.0 - smooth * smooth);
		}
		fields->linear[e] = -parameters->linear_viscosity * density * linear;
		fields->quadratic[e] = parameters->quadratic_viscosity * density * quadratic;
	}
}

void viscosity_reverse(const struct model *model, const struct fields *fields,
		       struct adjoint *adjoint, struct sums *sums, int b)
{
	const struct block *block = &fields->element_block[b];
	const struct parameters *p = &model->parameters;

	for (int e = block->first; e < block->last; e++) {
		real density = 1.0 / fields->volume[e], linear = 0.0, quadratic = 0.0;
		real linear_bar = -p->linear_viscosity * density * adjoint->linear[e];
		real quadratic_bar = p->quadratic_viscosity * density * adjoint->quadratic[e];

		for (int m = 0; m < AXES; m++) {
			const real *gradient = fields->gradient[m];
			uint32_t choice = adjoint->branches[e] >> (LIMITER_BITS * m) &
					  ((1u << LIMITER_BITS) - 1);
			real per_own = 1.0 / (gradient[e] + TINY);
			real below = gradient[model->mesh->neighbour[m][0][e]];
			real above = gradient[model->mesh->neighbour[m][1][e]];
			real width = fields->width[m][e], jump = gradient[e] * width;
			/* The limiter is this sum, or a constant. */
			real below_part = 0.0, above_part = 0.0, smooth, jump_bar, smooth_bar;

			adjoint->gradient[m][e] = adjoint->width[m][e] = 0.0;
			adjoint->neighbour[m][0][e] = adjoint->neighbour[m][1][e] = 0.0;
			if (!choice)
				continue;
			if (choice == LIMITER_MEAN)
				below_part = above_part = 0.5;
			if (choice == LIMITER_BELOW)
				below_part = p->limiter_slope;
			if (choice == LIMITER_ABOVE)
				above_part = p->limiter_slope;
			smooth = choice == LIMITER_MAX ? p->limiter_max :
				 (below_part * below + above_part * above) * per_own;
			linear += jump * (1.0 - smooth);
			quadratic += jump * jump * (1.0 - smooth * smooth);

			jump_bar = linear_bar * (1.0 - smooth) +
				   2.0 * quadratic_bar * jump * (1.0 - smooth * smooth);
			smooth_bar = -jump * (linear_bar + 2.0 * quadratic_bar * jump * smooth);
			adjoint->width[m][e] = jump_bar * gradient[e];
			adjoint->gradient[m][e] = jump_bar * width;
			if (choice == LIMITER_MIN || choice == LIMITER_MAX)
				continue;
			adjoint->gradient[m][e] -= smooth_bar * smooth * per_own;
			adjoint->neighbour[m][0][e] = smooth_bar * below_part * per_own;
			adjoint->neighbour[m][1][e] = smooth_bar * above_part * per_own;
		}
		total_add(&sums->of[BY_LINEAR_VISCOSITY], -density * linear * adjoint->linear[e]);
		total_add(&sums->of[BY_QUADRATIC_VISCOSITY],
			  density * quadratic * adjoint->quadratic[e]);
		adjoint->volume[e] -= density * (linear * linear_bar + quadratic * quadratic_bar);
	}
}
