/* SPDX-License-Identifier: MIT */
/* Step 5: the loops over cells are parallel, in both sweeps. */
#include <errno.h>
#include <math.h>
#include <reel.h>
#include <stdio.h>

enum { N = 10000, STEPS = 1000, CREST = 2500, GAUGE = 2700 };

/* The derivatives by u, and J, which a resumed run prints without calculating it again. */
struct adjoint {
	double u[N + 1], J;
};

static void start(double *u)
{
	for (int i = 1; i <= N; i++)
		u[i] = 1 + exp(-pow((i - CREST) / 100.0, 2));
}

/* Without a tape, the primal alone. A refused span is the tape's error, which ends the sweep. */
static void step(double *u, reel_tape *tape)
{
	static double row[N + 1];
	double *old = row;

	u[0] = u[N];
	if (tape)
		old = reel_push_span(tape, double, N + 1);
	if (!old)
		return;
#pragma omp parallel
	{
#pragma omp for
		for (int i = 0; i <= N; i++)
			old[i] = u[i];
#pragma omp for
		for (int i = 1; i <= N; i++)
			u[i] -= 0.1 * u[i] * (u[i] - old[i - 1]);
	}
}

static void step_reverse(double *u_bar, reel_tape *tape)
{
	static double to_left[N + 1];
	const double *old = reel_pop_span(tape, double, N + 1);

	if (!old)
		return;
#pragma omp parallel
	{
#pragma omp for
		for (int i = 1; i <= N; i++) {
			to_left[i] = 0.1 * old[i] * u_bar[i];
			u_bar[i] *= 1 - 0.1 * (2 * old[i] - old[i - 1]);
		}
#pragma omp for
		for (int i = 1; i <= N; i++)
			u_bar[i - 1] += to_left[i];
	}
	u_bar[N] += u_bar[0];
	u_bar[0] = 0;
}

/* Steps first to last - 1 of a model: run, recorded, reversed. */
static int advance(void *context, void *u, int64_t first, int64_t last)
{
	(void)context;
	for (int64_t i = first; i < last; i++)
		step((double *)u, NULL);
	return 0;
}

static int record(void *context, void *u, int64_t first, int64_t last, reel_tape *tape)
{
	(void)context;
	for (int64_t i = first; i < last; i++)
		step((double *)u, tape);
	return 0;
}

static int reverse(void *context, void *adjoint, int64_t first, int64_t last, reel_tape *tape)
{
	(void)context;
	for (int64_t i = last; i-- > first;)
		step_reverse(((struct adjoint *)adjoint)->u, tape);
	return 0;
}

int main(void)
{
	static double u[N + 1];
	static struct adjoint bar;
	reel_model model = {sizeof u, advance, record, reverse, NULL, NULL};
	struct reel_problem problem = {.steps = STEPS, .tiers = 1, .tier = {{.slots = 20}}};
	struct reel_run_options options = {.restart = "wave.restart", .adjoint_bytes = sizeof bar};
	double sum = 0;
	int error;
	reel_plan *plan;
	reel_run *run;

	error = reel_plan_open(&plan, REEL_BINOMIAL, &problem);
	if (!error)
		error = reel_run_open(&run, plan, &model, &options);
	if (!error)
		error = reel_run_resume(run, NULL, &bar);
	if (error == -ENOENT)                 /* nothing to go on from */
		error = 0;
	if (!error && !reel_run_is_reversing(run)) {
		start(u);
		error = reel_run_forward(run, NULL, u);
		bar.J = u[GAUGE];
		bar.u[GAUGE] = 1;
	}
	if (!error)
		error = reel_run_reverse(run, NULL, u, &bar);
	if (error) {
		fprintf(stderr, "%s\n", reel_error_text(error));
		return 1;
	}
	for (int i = 1; i <= N; i++)
		sum += bar.u[i];
	printf("J = %.17g, dJ/du = %.17g at the crest, %.17g in all\n", bar.J, bar.u[CREST], sum);
	reel_run_close(run);
	reel_plan_close(plan);
	return 0;
}
