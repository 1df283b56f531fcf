/* SPDX-License-Identifier: MIT */
/*
 * The reverse sweep of a checkpointed loop by one thread and by two: 4,096 numbers, each
 * stepped by itself, at a price that is nearly all recording. n is numbers times steps.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include <reel/omp.h>

#include "common/bench.h"

#define NUMBERS 4096
#define STEPS 3200
#define QUICK_STEPS 640
#define SEGMENT 16

struct line {
	double x[NUMBERS];
};

struct loop {
	unsigned tapes; /* 0: serial */
	reel_plan *plan;
	reel_run *run;
	struct line *state, *adjoint;
};

/* The step and its derivative; as dear as a chemical rate or a material law. */
static double step_number(double x, double *derivative)
{
	double s = sin(x), e = exp(-0.5 * x * x);

	*derivative = 0.9 * cos(x) - 0.1 * x * e;
	return 0.9 * s + 0.1 * e;
}

static int advance(void *context, void *state, int64_t first, int64_t last)
{
	struct line *line = state;
	double derivative;

	(void)context;
	for (int64_t step = first; step < last; step++)
		for (int i = 0; i < NUMBERS; i++)
			line->x[i] = step_number(line->x[i], &derivative);
	return 0;
}

static int record(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	struct line *line = state;

	(void)context;
	for (int64_t step = first; step < last; step++) {
		double *derivative = reel_push_span(tape, double, NUMBERS);

		if (!derivative)
			return reel_tape_error(tape);
		for (int i = 0; i < NUMBERS; i++)
			line->x[i] = step_number(line->x[i], &derivative[i]);
	}
	return 0;
}

static int reverse(void *context, void *adjoint, int64_t first, int64_t last, reel_tape *tape)
{
	struct line *bar = adjoint;

	(void)context;
	for (int64_t step = last; step-- > first;) {
		const double *derivative = reel_pop_span(tape, double, NUMBERS);

		if (!derivative)
			return reel_tape_error(tape);
		for (int i = 0; i < NUMBERS; i++)
			bar->x[i] *= derivative[i];
	}
	return 0;
}

static const reel_model model = {
	.state_bytes = sizeof(struct line),
	.advance = advance,
	.record = record,
	.reverse = reverse,
};

/* A state for each segment: each step is run twice in all. */
static void open_loop(struct loop *loop, size_t n)
{
	int64_t segments = (int64_t)(n / NUMBERS / SEGMENT);
	struct reel_problem problem = {
		.steps = segments, .tiers = 1, .tier = {{segments, 0, 0}}};
	struct reel_run_options options = {.segment_steps = SEGMENT};

	if (reel_plan_open(&loop->plan, REEL_BINOMIAL, &problem) ||
	    reel_run_open(&loop->run, loop->plan, &model, &options))
		abort();
}

static void go_forward(void *context, size_t n)
{
	struct loop *loop = context;

	if (!loop->run)
		open_loop(loop, n);
	for (int i = 0; i < NUMBERS; i++) {
		loop->state->x[i] = bench_value((size_t)i);
		loop->adjoint->x[i] = 1;
	}
	if (reel_run_forward(loop->run, NULL, loop->state))
		abort();
}

static double go_back(void *context, size_t n)
{
	struct loop *loop = context;
	struct reel_omp_options options = {.threads = 2, .tapes = loop->tapes};
	int error;

	(void)n;
	if (loop->tapes)
		error = reel_omp_run_reverse(loop->run, NULL, loop->state, loop->adjoint, &options,
					     NULL);
	else
		error = reel_run_reverse(loop->run, NULL, loop->state, loop->adjoint);
	if (error)
		abort();
	return loop->adjoint->x[1];
}

static void close_loop(void *context, size_t n)
{
	struct loop *loop = context;

	(void)n;
	reel_run_close(loop->run);
	reel_plan_close(loop->plan);
	loop->run = NULL;
}

void bench_lookahead(void)
{
	static struct loop loops[] = {{.tapes = 0}, {.tapes = 1}, {.tapes = 2}, {.tapes = 4}};
	static const struct measure_variant variants[] = {
		{"one thread", go_back, go_forward, close_loop, &loops[0]},
		{"two threads, 1 tape", go_back, go_forward, close_loop, &loops[1]},
		{"two threads, 2 tapes", go_back, go_forward, close_loop, &loops[2]},
		{"two threads, 4 tapes", go_back, go_forward, close_loop, &loops[3]},
	};
	static const struct bench_case one = {"lookahead/line",
					      variants,
					      COUNT_OF(variants),
					      0,
					      {NUMBERS * QUICK_STEPS, NUMBERS * STEPS},
					      NUMBERS * QUICK_STEPS,
					      7};
	struct line *lines;

	if (!bench_wants(&one, 1))
		return;
	lines = bench_memory(2 * sizeof *lines);
	for (size_t i = 0; i < COUNT_OF(loops); i++) {
		loops[i].state = lines;
		loops[i].adjoint = lines ? lines + 1 : NULL;
	}
	bench_run(&one);
	bench_memory_free(lines, 2 * sizeof *lines);
}
