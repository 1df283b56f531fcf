/* SPDX-License-Identifier: MIT */
/*
 * Gradients of the digits asked for: random loops whose states are stored with loss, linear and
 * not. The bound of the error holds in 999 of 1,000, and is at most 10 times the error in the
 * median; a chaotic loop keeps its states as they are.
 */
#include <config.h>

#include <reel/plan.h>

#include <math.h>

#include "helpers/support.h"

enum { MAX_CELLS = 400, MAX_STEPS = 40, MAX_COMPONENTS = 30, MAX_LOOPS = 10000 };

static uint64_t random_state;

static double uniform(double low, double high)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return low + (high - low) * (double)(random_state >> 11) / 9007199254740992.0;
}

/* x <- x + h (A x + b sin(c x) + controls), on a ring. */
struct loop {
	int cells, steps, components;
	double rate, coupling, bend, wave;
	double control[MAX_COMPONENTS], gradient[MAX_COMPONENTS];
};

static void step(const struct loop *loop, double *x)
{
	double first = x[0], last = x[loop->cells - 1], before = last;

	for (int k = 0; k < loop->cells; k++) {
		double now = x[k], after = k + 1 < loop->cells ? x[k + 1] : first;
		double force = loop->control[k % loop->components] * (1 + now * now);

		x[k] = now + loop->rate * (loop->coupling * (before + after - 2 * now) +
					   loop->bend * sin(loop->wave * now) + 0.1 * force);
		before = now;
	}
}

static void reverse_step(struct loop *loop, const double *x, double *bar)
{
	double sum[MAX_CELLS];

	for (int k = 0; k < loop->cells; k++) {
		int below = k > 0 ? k - 1 : loop->cells - 1, above = (k + 1) % loop->cells;
		double own = loop->control[k % loop->components];

		sum[k] = bar[k] + loop->rate * (loop->coupling * (bar[below] + bar[above] -
								  2 * bar[k]) +
						(loop->bend * loop->wave * cos(loop->wave * x[k]) +
						 0.2 * own * x[k]) * bar[k]);
		loop->gradient[k % loop->components] += 0.1 * loop->rate * (1 + x[k] * x[k]) * bar[k];
	}
	memcpy(bar, sum, (size_t)loop->cells * sizeof *bar);
}

static int advance(void *context, void *state, int64_t first, int64_t last)
{
	for (int64_t i = first; i < last; i++)
		step(context, state);
	return 0;
}

static int record(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	const struct loop *loop = context;
	size_t cells = (size_t)loop->cells;

	for (int64_t i = first; i < last; i++) {
		double *kept = reel_push_span(tape, double, cells);

		if (!kept)
			return reel_tape_error(tape);
		memcpy(kept, state, cells * sizeof *kept);
		step(loop, state);
	}
	return 0;
}

static int reverse(void *context, void *adjoint, int64_t first, int64_t last, reel_tape *tape)
{
	struct loop *loop = context;

	for (int64_t i = last; i-- > first;) {
		const double *kept = reel_pop_span(tape, double, (size_t)loop->cells);

		if (!kept)
			return reel_tape_error(tape);
		reverse_step(loop, kept, adjoint);
	}
	return 0;
}

static void bail_out(void)
{
	printf("Bail out! %s\n", reel_error_text(0));
	exit(EXIT_FAILURE);
}

/* ---- Gradients ---- */

struct setting {
	struct loop loop;
	double start[MAX_CELLS];
	unsigned slots;
	unsigned digits;
};

static struct setting random_setting(void)
{
	struct setting setting = {.slots = 1 + (unsigned)uniform(0, 8), .digits = 2 + (unsigned)uniform(0, 7)};
	struct loop *loop = &setting.loop;
	double phase = uniform(0, 6), waves = floor(uniform(1, 6));

	loop->cells = 8 + (int)uniform(0, MAX_CELLS - 8);
	loop->steps = 2 + (int)uniform(0, MAX_STEPS - 2);
	loop->components = 1 + (int)uniform(0, uniform(0, 1) < 0.3 ? 3 : MAX_COMPONENTS);
	loop->components = loop->components < loop->cells ? loop->components : loop->cells;
	loop->rate = uniform(0.02, 0.2);
	loop->coupling = uniform(0, 1.5);
	loop->bend = uniform(0, 1) < 0.3 ? 0 : uniform(0, 2);
	loop->wave = uniform(0.5, 3);
	for (int c = 0; c < loop->components; c++)
		loop->control[c] = uniform(-1, 1);
	for (int k = 0; k < loop->cells; k++)
		setting.start[k] = sin(phase + 6.2831853 * waves * k / loop->cells) +
				   uniform(-0.01, 0.01);
	return setting;
}

static reel_run *open_run(const struct setting *setting, reel_plan **plan,
			  const struct reel_loss *loss)
{
	struct reel_problem problem = {.steps = setting->loop.steps, .tiers = 1,
				       .tier[0].slots = setting->slots};
	reel_model model = {.state_bytes = (size_t)setting->loop.cells * sizeof(double),
			    .advance = advance, .record = record, .reverse = reverse};
	struct reel_run_options options = {.loss = loss};
	reel_run *run = NULL;

	if (reel_plan_open(plan, REEL_BINOMIAL, &problem) ||
	    reel_run_open(&run, *plan, &model, &options))
		bail_out();
	return run;
}

static void carry_out(reel_run *run, struct setting *setting)
{
	struct loop *loop = &setting->loop;
	double x[MAX_CELLS], bar[MAX_CELLS];

	memset(loop->gradient, 0, sizeof loop->gradient);
	memcpy(x, setting->start, sizeof x);
	for (int k = 0; k < loop->cells; k++)
		bar[k] = cos(0.05 * k);
	if (reel_run_forward(run, loop, x) || reel_run_reverse(run, loop, x, bar))
		bail_out();
}

struct outcome {
	double error; /* the true one */
	double largest;
	struct reel_accuracy_report report;
	struct reel_run_stats stats;
	int within; /* number of components whose error is within their bound */
	double bounds; /* mean of these bounds, as a part of the report's */
};

static struct outcome compare(struct setting *setting, unsigned again)
{
	struct reel_field field = {REEL_FIELD_DOUBLE, 1, {(size_t)setting->loop.cells}};
	struct reel_loss loss = {.field = &field, .fields = 1};
	double right[MAX_COMPONENTS], bound[MAX_COMPONENTS];
	struct outcome outcome = {0};
	reel_accuracy *accuracy;
	reel_plan *plan;
	reel_run *run = open_run(setting, &plan, &loss);

	carry_out(run, setting);
	memcpy(right, setting->loop.gradient, sizeof right);
	if (reel_accuracy_open(&accuracy, run, setting->digits,
			       (size_t)setting->loop.components))
		bail_out();
	for (unsigned i = 0; i <= again; i++)
		do
			carry_out(run, setting);
		while (reel_accuracy_again(accuracy, setting->loop.gradient) > 0);
	reel_accuracy_get_report(accuracy, &outcome.report);
	reel_accuracy_get_errors(accuracy, bound);
	reel_run_get_stats(run, &outcome.stats);
	for (int c = 0; c < setting->loop.components; c++) {
		double error = fabs(right[c] - setting->loop.gradient[c]);

		outcome.within += error <= bound[c];
		outcome.bounds += bound[c] / outcome.report.error / setting->loop.components;
		outcome.error = fmax(outcome.error, error);
		outcome.largest = fmax(outcome.largest, fabs(right[c]));
	}
	reel_accuracy_close(accuracy);
	reel_run_close(run);
	reel_plan_close(plan);
	return outcome;
}

static int up(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* `again`: for the gradient after the first result. Returns the mean part of states' bytes. */
static double the_bound_holds(unsigned again)
{
	static double ratio[MAX_LOOPS];
	int loops = is_brief() ? is_sanitized() ? 100 : 1000 : MAX_LOOPS;
	int held = 0, bounded = 0, wished = 0, components = 0, within = 0;
	uint64_t gradients = 0;
	double bytes = 0, bounds = 0;

	for (int i = 0; i < loops; i++) {
		struct setting setting;
		struct outcome outcome;

		random_state = (uint64_t)(i + 1) * 0x9E3779B97F4A7C15u;
		setting = random_setting();
		outcome = compare(&setting, again);
		held += outcome.error <= outcome.report.error;
		within += outcome.within;
		components += setting.loop.components;
		bounds += outcome.report.error > 0 ? outcome.bounds : 1;
		wished += outcome.report.error <=
			  pow(10, -(double)setting.digits) * outcome.report.largest * 1.001;
		gradients += outcome.report.gradients;
		bytes += outcome.stats.rounded_bytes
				 ? (double)outcome.stats.kept_bytes /
					   (double)outcome.stats.rounded_bytes
				 : 1;
		if (outcome.error > 0)
			ratio[bounded++] = outcome.report.error / outcome.error;
		if (outcome.error > outcome.report.error)
			tap_note("loop %d: %d components, %d cells, %d steps, %u digits: error "
				 "%.2e, bound %.2e, tolerance %.2e, %u gradients", i,
				 setting.loop.components, setting.loop.cells, setting.loop.steps,
				 setting.digits, outcome.error, outcome.report.error,
				 outcome.report.tolerance, outcome.report.gradients);
	}
	qsort(ratio, (size_t)bounded, sizeof *ratio, up);
	ok(1000 * held >= 999 * loops - 1000, "the bound holds in %d of %d loops", held, loops);
	ok(1000.0 * within >= 999.0 * components && bounds < 0.9 * loops, "the bound of a component "
	   "holds for %d of %d, and is %.2f of that of all in the mean", within, components,
	   bounds / loops);
	is_int(wished, loops, "all bounds are as small as was asked for");
	ok(bounded > loops / 2 && ratio[bounded / 2] <= 10, "the bound is %.1f times the error in "
	   "the median, 10 %% of loops: at most %.1f, 90 %%: %.1f", ratio[bounded / 2],
	   ratio[bounded / 10], ratio[bounded * 9 / 10]);
	tap_note("%.2f gradients a loop; states have %.3f of their bytes",
		 (double)gradients / loops, bytes / loops);
	return bytes / loops;
}

static void later_gradients_are_computed_once(void)
{
	struct setting setting;
	struct outcome first, later;

	random_state = 4711;
	setting = random_setting();
	setting.digits = 5;
	first = compare(&setting, 0);
	later = compare(&setting, 3);
	is_int(later.report.gradients, first.report.gradients + 3, "each later result takes one");
	ok(later.error <= later.report.error && later.report.error <= 1e-5 * later.report.largest,
	   "with a bound: %.1e for an error of %.1e, of %.1e", later.report.error, later.error,
	   later.largest);
}

/* The logistic map: an error of a state doubles in each step. */
static void a_chaotic_loop_keeps_its_states(void)
{
	double gradient[2] = {1, 2}, tolerance;
	struct reel_accuracy_report report;
	reel_accuracy *accuracy;
	unsigned rounds = 0;

	if (reel_accuracy_open(&accuracy, NULL, 6, 2))
		bail_out();
	random_state = 99;
	do {
		tolerance = reel_accuracy_tolerance(accuracy);
		gradient[0] = tolerance > 0 ? uniform(-1, 1) : 0.5;
		gradient[1] = tolerance > 0 ? uniform(-1, 1) : -0.25;
		rounds++;
	} while (reel_accuracy_again(accuracy, gradient) > 0);
	reel_accuracy_get_report(accuracy, &report);
	ok(!(tolerance > 0) && !(report.error > 0) && !(report.tolerance > 0) && rounds < 10,
	   "a gradient that no tolerance settles is computed without loss, after %u", rounds);
	gradient[0] = (double)NAN;
	ok(!reel_accuracy_again(accuracy, gradient), "and so is the next one");
	reel_accuracy_close(accuracy);
	if (reel_accuracy_open(&accuracy, NULL, 6, 2))
		bail_out();
	for (rounds = 0; reel_accuracy_again(accuracy, gradient) > 0 && rounds < 30; rounds++)
		;
	ok(rounds < 30 && !(reel_accuracy_tolerance(accuracy) > 0),
	   "a gradient that is no number is not taken for exact");
	reel_accuracy_close(accuracy);
}

/* A gradient that has another value at each tolerance, over many magnitudes. */
static bool has_false_bound(unsigned digits, size_t components)
{
	double gradient[3], exact[3], tolerance;
	struct reel_accuracy_report report;
	reel_accuracy *accuracy;
	bool is_false = false;

	if (reel_accuracy_open(&accuracy, NULL, digits, components))
		bail_out();
	do {
		tolerance = reel_accuracy_tolerance(accuracy);
		for (size_t c = 0; c < components; c++)
			gradient[c] = uniform(-1, 1) * exp(uniform(0, 10));
	} while (reel_accuracy_again(accuracy, gradient) > 0);
	reel_accuracy_get_report(accuracy, &report);
	for (size_t c = 0; c < components && tolerance > 0; c++) {
		exact[c] = uniform(-1, 1) * exp(uniform(0, 10));
		is_false |= fabs(exact[c] - gradient[c]) > report.error;
	}
	reel_accuracy_close(accuracy);
	return is_false;
}

static void a_chaotic_loop_has_no_false_bound(void)
{
	int loops = 3000, bounds = 0;

	random_state = 12;
	for (int i = 0; i < loops; i++)
		bounds += has_false_bound(1 + (unsigned)i % 8, 1 + (size_t)i % 3);
	ok(1000 * bounds <= 2 * loops, "%d of %d chaotic gradients have a bound", bounds, loops);
}

/* As a root in a step does, where rounding makes its argument negative. */
static void a_gradient_that_is_no_number_asks_for_a_finer_tolerance(void)
{
	double gradient[2] = {1, -2}, tolerance;
	struct reel_accuracy_report report;
	reel_accuracy *accuracy;

	if (reel_accuracy_open(&accuracy, NULL, 4, 2))
		bail_out();
	random_state = 7;
	do {
		tolerance = reel_accuracy_tolerance(accuracy);
		gradient[0] = tolerance > 1e-8 ? (double)NAN : 1 + tolerance * uniform(-1, 1);
	} while (reel_accuracy_again(accuracy, gradient) > 0);
	reel_accuracy_get_report(accuracy, &report);
	ok(report.tolerance > 1e-12 && report.tolerance <= 1e-8 && report.gradients <= 8,
	   "the tolerance is %.1e, after %u gradients", report.tolerance, report.gradients);
	ok(fabs(gradient[0] - 1) <= report.error && report.error <= 1e-4 * report.largest,
	   "and the bound %.1e holds", report.error);
	reel_accuracy_close(accuracy);
}

static void what_makes_no_sense_is_refused(void)
{
	struct setting setting = {.loop = {.cells = 8, .steps = 3, .components = 1}, .slots = 2};
	reel_accuracy *accuracy;
	reel_plan *plan;
	reel_run *run;
	double x[MAX_CELLS] = {0};

	is_int(reel_accuracy_open(&accuracy, NULL, 0, 1), -EINVAL, "no digits");
	is_int(reel_accuracy_open(&accuracy, NULL, 13, 1), -EINVAL, "more than a double has");
	reel_accuracy_close(NULL);
	run = open_run(&setting, &plan, NULL);
	is_int(reel_run_set_tolerance(run, 1e-3), -EINVAL, "a run without loss");
	is_int(reel_accuracy_open(&accuracy, run, 6, 1), -EINVAL, "and digits of it");
	reel_run_close(run);
	reel_plan_close(plan);
	run = open_run(&setting, &plan, &(struct reel_loss){.tolerance = 1e-3});
	is_int(reel_run_set_tolerance(run, 1), -EINVAL, "a tolerance of all");
	if (reel_accuracy_open(&accuracy, run, 6, 1))
		bail_out();
	is_int(reel_accuracy_again(accuracy, x), 1, "a gradient is one of several");
	is_int(reel_run_set_tolerance(run, 0), 0, "no tolerance");
	is_int(reel_accuracy_again(accuracy, x), -EINVAL, "and not the one of the digits");
	reel_accuracy_close(accuracy);
	is_int(reel_run_forward(run, &setting.loop, x), 0, "in a sweep");
	is_int(reel_run_set_tolerance(run, 1e-3), -EINVAL, "it is refused");
	reel_run_close(run);
	reel_plan_close(plan);
}

int main(void)
{
	double first, later;

	tap_begin();
	first = the_bound_holds(0);
	later = the_bound_holds(1);
	ok(later < 0.95 * first, "the next gradients have states of fewer bytes");
	later_gradients_are_computed_once();
	a_chaotic_loop_keeps_its_states();
	a_chaotic_loop_has_no_false_bound();
	a_gradient_that_is_no_number_asks_for_a_finer_tolerance();
	what_makes_no_sense_is_refused();
	return tap_end();
}
