/* SPDX-License-Identifier: MIT */
/*
 * Tests that each pattern of examples/omp gives the derivative that differences give, with any
 * teams that record and reverse it, and bitwise if the order of additions is fixed.
 */
#include "config.h"

#include "helpers/omp-reports.h"
#include "helpers/support.h"

#include "../../examples/omp/patterns.h"

enum bits { SAME_BITS, ROUNDED, AS_FAR_AS_IT_WENT };

static const struct pattern {
	const char *name;
	enum bits bits;
	void (*primal)(double *x, const double *a);
	void (*forward)(reel_lane *root, double *x, const double *a);
	int (*reverse)(reel_lane *root, double *x_bar, const double *a, double *a_bar);
} patterns[] = {
#define ENTRY(name, bits) {#name, bits, primal_##name, forward_##name, reverse_##name},
	PATTERNS(ENTRY)
};

/* A point, a direction or a gradient in x, and in a the weights of the results. */
struct vector {
	double x[N], a[N];
};

static struct vector point, direction;
static double weight[N];
static int dynamic; /* OMP_DYNAMIC of the environment */

static const int teams[] = {1, 2, 3, 5};

static double random_between(double low, double high)
{
	static uint64_t n;

	return low + (high - low) * 0x1p-64 * (double)scramble(n++);
}

static void choose_point(void)
{
	for (int i = 0; i < N; i++) {
		point.x[i] = random_between(.8, 1.2);
		point.a[i] = random_between(.8, 1.2);
		direction.x[i] = random_between(-1, 1);
		direction.a[i] = random_between(-1, 1);
		weight[i] = random_between(.5, 1.5);
	}
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-12 * fmax(1, fabs(b));
}

/* ---- By differences ---- */

static double objective(const struct pattern *pattern, double h)
{
	struct vector at = point;
	double sum = 0;

	for (int i = 0; i < N; i++) {
		at.x[i] += h * direction.x[i];
		at.a[i] += h * direction.a[i];
	}
	pattern->primal(at.x, at.a);
	for (int i = 0; i < N; i++)
		sum += weight[i] * at.x[i];
	return sum;
}

/* Compares with central differences, whose error falls by a factor of 4 if h is halved. */
static void test_taylor(const struct pattern *pattern, const struct vector *gradient)
{
	double slope = 0, error[2];

	for (int i = 0; i < N; i++)
		slope += gradient->x[i] * direction.x[i] + gradient->a[i] * direction.a[i];
	for (int k = 0; k < 2; k++) {
		double h = 2e-3 / (k + 1);

		error[k] = fabs((objective(pattern, h) - objective(pattern, -h)) / (2 * h) - slope);
	}
	ok(error[1] < 1e-3 * fabs(slope) && error[1] < error[0] / 3.5,
	   "%s: differences tend to the derivative, %g: off by %.1e, then %.1e", pattern->name,
	   slope, error[0], error[1]);
}

/* Returns true if elements that no iteration has reached are unchanged. */
static bool is_as_far_as_it_went(const struct vector *result, const struct vector *gradient)
{
	bool good = true;

	for (int i = 0; i < N; i++) {
		double x_bar = weight[i], a_bar = 0;

		if (result->x[i] != point.x[i])
			x_bar = step_reverse(point.x[i], point.a[i], weight[i], &a_bar);
		good &= gradient->x[i] == x_bar && gradient->a[i] == a_bar;
	}
	return good;
}

/* ---- By teams ---- */

/* Returns true if the pattern was recorded and reversed without an error, and left no values. */
static bool run(const struct pattern *pattern, int threads, int threads_back, struct vector *result,
		struct vector *gradient)
{
	bool good;
	reel_lane *root;

	reel_lane_open(&root, NULL, 0);
	*result = point;
	omp_set_dynamic(dynamic);
	omp_set_num_threads(threads);
	pattern->forward(root, result->x, result->a);
	memset(gradient, 0, sizeof *gradient);
	memcpy(gradient->x, weight, sizeof weight);
	omp_set_num_threads(threads_back);
	good = pattern->reverse(root, gradient->x, point.a, gradient->a) == 0 &&
	       reel_lane_error(root) == 0 && reel_lane_is_empty(root);
	reel_lane_close(root);
	return good;
}

static bool agree(const struct vector *a, const struct vector *b, bool to_the_bit)
{
	bool good = true;

	if (to_the_bit)
		return memcmp(a, b, sizeof *a) == 0;
	for (int i = 0; i < N; i++)
		good &= near(a->x[i], b->x[i]) && near(a->a[i], b->a[i]);
	return good;
}

static bool computes(const struct pattern *pattern, const struct vector *result)
{
	struct vector expected = point;

	omp_set_num_threads(1);
	pattern->primal(expected.x, expected.a);
	return agree(result, &expected, false);
}

static const char *const claims[] = {
	[SAME_BITS] = "the same one, to the last bit",
	[ROUNDED] = "the same one, but for rounding",
	[AS_FAR_AS_IT_WENT] = "that of the iterations that were done",
};

static void test_teams(const struct pattern *pattern, const struct vector *gradient, int times)
{
	const bool as_far = pattern->bits == AS_FAR_AS_IT_WENT;
	int failed = 0, differ = 0, computed = 0;

	for (int k = 0; k < times; k++) {
		for (unsigned i = 0; i < COUNT(teams); i++) {
			int threads = teams[((unsigned)k + i / 2) % COUNT(teams)];
			struct vector result, seen;

			failed += !run(pattern, threads, teams[i], &result, &seen);
			computed += as_far || computes(pattern, &result);
			differ += as_far ? !is_as_far_as_it_went(&result, &seen)
					 : !agree(&seen, gradient, pattern->bits == SAME_BITS);
		}
	}
	is_int(failed, 0, "%s: teams of 1 to 5 record and reverse it, %d times", pattern->name,
	       times);
	is_int(computed, times * (int)COUNT(teams), "%s: what is recorded is the program's result",
	       pattern->name);
	is_int(differ, 0, "%s: the gradient is %s", pattern->name, claims[pattern->bits]);
}

static void test_pattern(const struct pattern *pattern, int times)
{
	struct vector result, gradient;

	tap_case(pattern->name);
	ok(run(pattern, 1, 1, &result, &gradient), "%s: one thread records and reverses it",
	   pattern->name);
	if (pattern->bits == AS_FAR_AS_IT_WENT)
		ok(is_as_far_as_it_went(&result, &gradient),
		   "%s: the derivative is that of the iterations that were done", pattern->name);
	else
		test_taylor(pattern, &gradient);
	test_teams(pattern, &gradient, times);
}

int main(void)
{
	int times = is_brief() ? 8 : 50;

	tap_begin();
	if (OMP_IS_UNSEEN)
		tap_skip_all("ThreadSanitizer cannot see into libgomp");
	dynamic = omp_get_dynamic();
	omp_set_max_active_levels(2);
	choose_point();
	for (unsigned i = 0; i < COUNT(patterns); i++)
		test_pattern(&patterns[i], times);
	return tap_end();
}
