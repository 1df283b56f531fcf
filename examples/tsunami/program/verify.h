/* SPDX-License-Identifier: MIT */
/*
 * Tests of the gradient in the run at hand.
 *
 * Taylor: along one direction d of both controls, |J(x + h d) - J(x) - h <g, d>|
 * must shrink as h^2. d is a fixed sum of plane waves, TAYLOR_DISPLACEMENT
 * metres high in the displacement and TAYLOR_DEPTH of the depth. h runs
 * down the decades from 1; there the remainder is still quadratic, and
 * TAYLOR_DECADES further down it is still far above rounding. The slope is
 * a least-squares fit over all of them.
 *
 * Dot product: with M the tangent-linear map from the controls to the gauge,
 * <M d, w> = <d, M* w> for fixed weights w, up to rounding.
 */
#ifndef TSUNAMI_VERIFY_H
#define TSUNAMI_VERIFY_H

#include "gradient/reversal.h"

#define TAYLOR_DECADES 5
#define TAYLOR_SIZES (TAYLOR_DECADES + 1)
#define TAYLOR_DISPLACEMENT 0.1 /* [m] */
#define TAYLOR_DEPTH 1.0e-3     /* part of the depth */
#define TAYLOR_TOLERANCE 0.05   /* of the slope, whose value is 2 */
#define DOT_PRODUCT_TOLERANCE 1.0e-12

struct verification {
	double size[TAYLOR_SIZES];
	double difference[TAYLOR_SIZES]; /* |J(x + h d) - J(x)| */
	double remainder[TAYLOR_SIZES];
	double taylor_slope;
	long double tangent_product, adjoint_product;
	double dot_product_error; /* relative */
	double forward_seconds, reverse_seconds; /* of its sweeps: the tapes' memory is warm */
};

/*
 * Test the gradient at the controls, where the gauge recorded gauge[], by such a reversal. The
 * model is of the whole grid. Called by all ranks; the result is the same on each.
 */
struct verification verify_gradient(const struct model *model, const struct controls *controls,
				    const double *gauge, const struct controls *gradient,
				    int threads, struct reversal *reversal);

int verification_passed(const struct verification *verification);
void verification_print(const struct verification *verification);

#endif
