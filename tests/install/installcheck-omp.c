/* SPDX-License-Identifier: MIT */
/* A checkpointed gradient of nested sines by an installed libreel-omp, in C and in C++. */
#include <reel/omp.h>
#include <reel/plan.h>

#include <math.h>
#include <stdio.h>

enum { DEPTH = 20000 };

static int advance(void *context, void *state, int64_t first, int64_t last)
{
	double *x = (double *)state;

	(void)context;
	for (; first < last; first++)
		*x = sin(*x);
	return 0;
}

static int record(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	double *x = (double *)state;

	(void)context;
	for (; first < last; first++) {
		reel_push(tape, *x);
		*x = sin(*x);
	}
	return 0;
}

static int reverse(void *context, void *adjoint, int64_t first, int64_t last, reel_tape *tape)
{
	double *x_bar = (double *)adjoint;

	(void)context;
	for (; last > first; last--)
		*x_bar *= cos(reel_pop(tape, double));
	return 0;
}

static int gradient(double *serial, double *parallel)
{
	struct reel_problem problem = {0};
	struct reel_run_options options = {0};
	struct reel_omp_options omp = {0};
	reel_model model = {sizeof(double), advance, record, reverse, NULL, NULL};
	reel_run *run;
	reel_plan *plan;
	double x = 1.0;
	int error;

	problem.steps = DEPTH / 100;
	problem.tiers = 1;
	problem.tier[0].slots = 10;
	options.segment_steps = 100;
	omp.threads = 2;
	if (reel_plan_open(&plan, REEL_BINOMIAL, &problem) ||
	    reel_run_open(&run, plan, &model, &options))
		return -1;
	*serial = *parallel = 1.0;
	error = reel_run_forward(run, NULL, &x);
	if (!error)
		error = reel_run_reverse(run, NULL, &x, serial);
	x = 1.0;
	if (!error)
		error = reel_run_forward(run, NULL, &x);
	if (!error)
		error = reel_omp_run_reverse(run, NULL, &x, parallel, &omp, NULL);
	reel_run_close(run);
	reel_plan_close(plan);
	return error;
}

int main(void)
{
	double serial, parallel;
	int error = gradient(&serial, &parallel);

	if (error || serial != parallel) {
		fprintf(stderr, "error %d, gradients %g and %g\n", error, serial, parallel);
		return 1;
	}
	printf("libreel-omp: gradient of %d nested sines is %g\n", DEPTH, parallel);
	return 0;
}
