/* SPDX-License-Identifier: MIT */
/*
 * Decides when an adjoint fixed-point loop ends (Christianson 1994). A call with a negative
 * variation (generated code passes -1) begins a loop. Each later call passes the variation of the
 * last iteration. Loops nest, and each thread has loops of its own.
 */
#include "forms.h"

#include <stdlib.h>

/* A loop ends if its first variation is at most NEGLIGIBLE. */
#define NEGLIGIBLE 1e-10
/* A variation that grows ends the loop, but not in the first PATIENCE iterations. */
#define PATIENCE 5

struct adstack_fixed_point {
	struct adstack_fixed_point *outer;
	/* The first variation (negative before the first one), and the last one. */
	double reference;
	double previous;
	uint64_t iterations;
};

static int begin_loop(void)
{
	struct adstack_fixed_point *loop;

	reel_adstack_begin();
	loop = reel_adstack_allocate(sizeof *loop, "a fixed-point loop");
	loop->outer = reel_adstack.stack.fixed_points;
	loop->reference = -1;
	loop->iterations = 1;
	reel_adstack.stack.fixed_points = loop;
	return 1;
}

static void end_loop(void)
{
	struct adstack_fixed_point *loop = reel_adstack.stack.fixed_points;

	if (loop)
		reel_adstack.stack.fixed_points = loop->outer;
	free(loop);
}

static int go_on(bool iterate)
{
	if (!iterate)
		end_loop();
	else if (reel_adstack.stack.fixed_points)
		reel_adstack.stack.fixed_points->iterations++;
	return iterate;
}

static int too_large(double variation, float least)
{
	if (variation < 0)
		return begin_loop();
	return go_on(variation > (double)least);
}

static int not_reduced(double variation, float reduction)
{
	struct adstack_fixed_point *loop = reel_adstack.stack.fixed_points;
	bool iterate;

	if (variation < 0)
		return begin_loop();
	if (!loop)
		return 0;
	if (loop->reference < 0) {
		loop->reference = variation;
		iterate = variation > NEGLIGIBLE;
	} else {
		iterate = variation > (double)reduction * loop->reference &&
			  !(loop->iterations > PATIENCE && variation > loop->previous);
	}
	loop->previous = variation;
	return go_on(iterate);
}

void reel_adstack_fixed_points_end(void)
{
	while (reel_adstack.stack.fixed_points)
		end_loop();
}

FORM(int, adFixedPoint_tooLarge, (double variation, float least),
     { return too_large(variation, least); })
FORM(int, adFixedPoint_notReduced, (double variation, float reduction),
     { return not_reduced(variation, reduction); })
FORTRAN(int, adfixedpoint_toolarge, (const double *variation, const float *least),
	{ return too_large(*variation, *least); })
FORTRAN(int, adfixedpoint_notreduced, (const double *variation, const float *reduction),
	{ return not_reduced(*variation, *reduction); })
