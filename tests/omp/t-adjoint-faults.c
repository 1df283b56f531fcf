/* SPDX-License-Identifier: MIT */
/* Tests adjoints without memory: one allocation after another fails. */
#include <config.h>

#include <errno.h>

#include "helpers/adjoint-support.h"
#include "helpers/refusals.h"

#define ELEMENTS 3000
#define LANES 5

static void add_to_all(reel_adjoint *adjoint, unsigned lane, void *context)
{
	reel_adjoint_view view = reel_adjoint_lane(adjoint, lane);

	(void)context;
	for (size_t i = 0; i < ELEMENTS; i++)
		reel_adjoint_add(&view, i, lane);
}

/* Sweeps without threads, which would also need memory. */
static int sweep_alone(reel_adjoint *adjoint)
{
	int error = reel_adjoint_begin(adjoint, LANES);

	if (error)
		return error;
	for (unsigned lane = 0; lane < LANES; lane++)
		add_to_all(adjoint, lane, NULL);
	return reel_adjoint_end(adjoint);
}

static unsigned wrong_sums(const double *array, double wanted)
{
	unsigned wrong = 0;

	for (size_t i = 0; i < ELEMENTS; i++)
		wrong += array[i] != wanted;
	return wrong;
}

/*
 * An adjoint allocates the object, a list of lanes, LANES - 1 copies, and in check mode a table of
 * the lanes that used each element.
 */
static void each_allocation_fails(enum reel_adjoint_policy policy, unsigned flags)
{
	unsigned needed = flags & REEL_ADJOINT_CHECKED ? LANES + 2 : LANES + 1;
	unsigned others = 0, wrong = 0, silent = 0, opened = 0, later = 0;

	for (unsigned k = 0; k < needed; k++) {
		struct reel_adjoint_options options = {.policy = policy, .flags = flags};
		double array[ELEMENTS] = {0};
		reel_adjoint *adjoint = NULL;
		int error;

		refuse_from(k + 1, true);
		error = reel_adjoint_open(&adjoint, array, ELEMENTS, &options);
		if (!error) {
			opened++;
			error = sweep_alone(adjoint);
			silent += !*reel_error_text(0);
			wrong += wrong_sums(array, error ? 0 : 10);
			if (!error)
				others += stats_of(adjoint).policy != REEL_ADJOINT_ATOMIC;
			stop_refusing();
			later += sweep_alone(adjoint) != 0;
			later += stats_of(adjoint).policy != REEL_ADJOINT_PRIVATE;
			wrong += wrong_sums(array, error ? 10 : 20);
			reel_adjoint_close(adjoint);
		}
		stop_refusing();
		others += error && error != -ENOMEM;
		others += policy == REEL_ADJOINT_PRIVATE && !error;
	}
	is_int(opened, LANES, "open needs what it needs");
	is_int(others, 0, "PRIVATE has no memory, or it is ATOMIC instead");
	is_int(silent, 0, "each refusal has a message");
	is_int(wrong, 0, "sums are right, or untouched");
	is_int(later, 0, "the next sweep is PRIVATE");
}

static void an_array_that_is_too_large(void)
{
	double array[1];
	/* The array is never touched. There are not even addresses for copies of it. */
	size_t n = SIZE_MAX / 4 / sizeof *array;
	struct reel_adjoint_options options = {.budget = SIZE_MAX};
	reel_adjoint *adjoint;

	tap_case("an array as large as all addresses");
	if (SIZE_MAX <= UINT32_MAX) {
		tap_skip(6, "the other half of all addresses has room for a copy");
		return;
	}
	adjoint = open_adjoint(array, n, options);
	is_int(reel_adjoint_begin(adjoint, 2), 0, "a sweep without room for copies begins");
	is_int(stats_of(adjoint).policy, REEL_ADJOINT_ATOMIC,
	       "the sweep without room for copies is ATOMIC");
	is_int(reel_adjoint_end(adjoint), 0, "the sweep without room for copies ends");
	reel_adjoint_close(adjoint);
	options.flags = REEL_ADJOINT_CHECKED;
	is_int(reel_adjoint_open(&adjoint, array, n, &options), -ENOMEM,
	       "there is no memory to check the array");
	options.flags = 0;
	options.policy = REEL_ADJOINT_PRIVATE;
	adjoint = open_adjoint(array, n, options);
	is_int(reel_adjoint_begin(adjoint, 2), -ENOMEM, "there is no memory to make copies");
	reel_adjoint_close(adjoint);
	options.budget = 0;
	adjoint = open_adjoint(array, n, options);
	is_int(reel_adjoint_begin(adjoint, 2), -EDQUOT,
	       "copies are beyond the budget that there is");
	reel_adjoint_close(adjoint);
}

int main(void)
{
	tap_begin();
	tap_case("AUTOMATIC");
	each_allocation_fails(REEL_ADJOINT_AUTOMATIC, 0);
	tap_case("AUTOMATIC, checked");
	each_allocation_fails(REEL_ADJOINT_AUTOMATIC, REEL_ADJOINT_CHECKED);
	tap_case("PRIVATE");
	each_allocation_fails(REEL_ADJOINT_PRIVATE, 0);
	an_array_that_is_too_large();
	return tap_end();
}
