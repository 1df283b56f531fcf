/* SPDX-License-Identifier: MIT */
/* Tests the check mode of adjoints: it reports each conflict with its place, and nothing else. */
#include <config.h>

#include <errno.h>

#include "adjoint/adjoint.h"
#include "helpers/adjoint-support.h"

#define ELEMENTS 1000
#define SHARED_ADDS 2000

static struct reel_adjoint_options checked(enum reel_adjoint_policy policy)
{
	record_reports();
	return (struct reel_adjoint_options){
		.policy = policy, .flags = REEL_ADJOINT_CHECKED, .name = "x_bar"};
}

static void add_one(reel_adjoint *adjoint, unsigned lane, size_t i)
{
	reel_adjoint_view view = reel_adjoint_lane(adjoint, lane);

	reel_adjoint_add(&view, i, 1);
}

/* ---- In order, on one thread ---- */

static void a_conflict_is_named(void)
{
	double array[ELEMENTS] = {0};
	reel_adjoint *adjoint = open_adjoint(array, ELEMENTS, checked(REEL_ADJOINT_OWNER));
	struct reel_adjoint_conflict conflict;

	tap_case("two lanes at one element");
	reel_adjoint_begin(adjoint, 4);
	for (size_t i = 0; i < ELEMENTS; i++)
		add_one(adjoint, i % 4, i);
	reel_adjoint_phase(adjoint, -7);
	add_one(adjoint, 3, 17);
	add_one(adjoint, 3, 17);
	add_one(adjoint, 0, 18);
	ok(!reel_adjoint_get_conflict(adjoint, &conflict), "there is no conflict before");
	add_one(adjoint, 1, 17);
	add_one(adjoint, 2, 18);
	ok(reel_adjoint_get_conflict(adjoint, &conflict), "the conflict is found");
	is_int(conflict.index, 17, "the conflict has its index");
	is_int(conflict.lanes[0], 3, "the lane that was first");
	is_int(conflict.lanes[1], 1, "the one that came");
	is_int(conflict.phase, -7, "the conflict has its phase");
	is_int(stats_of(adjoint).conflicts, 2, "other conflicts are counted");
	ok(reported.calls == 1 && strstr(reported.message,
					 "x_bar: element 17 is used by lanes 3 and 1 in phase -7"),
	   "the conflict is reported once");
	is_int(reel_adjoint_end(adjoint), -EADDRINUSE, "the conflict is an error at the end");
	is_string(reel_error_text(0), reported.message,
		  "the error at the end has the words of the report");
	is_double(array[17], 4, "the sum is right");
	reel_adjoint_close(adjoint);
}

static void phases_separate(void)
{
	double array[ELEMENTS] = {0};
	reel_adjoint *adjoint = open_adjoint(array, ELEMENTS, checked(REEL_ADJOINT_OWNER));
	struct reel_adjoint_conflict conflict;

	tap_case("lanes at one element in different phases and sweeps");
	for (int again = 0; again < 3; again++) {
		reel_adjoint_begin(adjoint, 4);
		for (int phase = 2; phase >= 0; phase--)
			for (unsigned lane = 0; lane < 4; lane++) {
				reel_adjoint_phase(adjoint, phase);
				add_one(adjoint, lane, lane + (size_t)phase);
			}
		reel_adjoint_phase(adjoint, 1);
		add_one(adjoint, 3, 0);
		is_int(reel_adjoint_end(adjoint), 0, "no conflict");
	}
	ok(!reel_adjoint_get_conflict(adjoint, &conflict), "there is no report of a conflict");
	reel_adjoint_begin(adjoint, 2);
	reel_adjoint_phase(adjoint, 1);
	add_one(adjoint, 0, 5);
	reel_adjoint_phase(adjoint, 1);
	add_one(adjoint, 1, 5);
	is_int(reel_adjoint_end(adjoint), -EADDRINUSE, "the same phase again is no other phase");
	reel_adjoint_close(adjoint);
}

/* After 2^31 sweeps and phases their numbers run out, and begin again. */
static void epochs_run_out(void)
{
	double array[ELEMENTS] = {0};
	reel_adjoint *adjoint = open_adjoint(array, ELEMENTS, checked(REEL_ADJOINT_OWNER));
	struct reel_adjoint_conflict conflict;

	tap_case("epochs that run out");
	reel_adjoint_begin(adjoint, 2);
	add_one(adjoint, 1, 17);
	is_int(reel_adjoint_end(adjoint), 0, "a sweep");
	adjoint->phase = (uint64_t)UINT32_MAX << 32;
	reel_adjoint_begin(adjoint, 2);
	add_one(adjoint, 0, 17);
	ok(!reel_adjoint_get_conflict(adjoint, &conflict), "the first uses are forgotten");
	add_one(adjoint, 1, 17);
	ok(reel_adjoint_get_conflict(adjoint, &conflict), "a conflict is found as before");
	reel_adjoint_end(adjoint);
	reel_adjoint_close(adjoint);
}

static void other_policies_may_share(enum reel_adjoint_policy policy)
{
	double array[ELEMENTS] = {0};
	reel_adjoint *adjoint = open_adjoint(array, ELEMENTS, checked(policy));
	struct reel_adjoint_conflict conflict = {0};

	reel_adjoint_begin(adjoint, 2);
	add_one(adjoint, 0, 999);
	add_one(adjoint, 1, 999);
	is_int(reel_adjoint_end(adjoint), 0, "two lanes at one element are no error");
	is_int(reported.calls, 0, "there is nothing to report");
	ok(reel_adjoint_get_conflict(adjoint, &conflict) && conflict.index == 999,
	   "the conflict says that OWNER would not do");
	is_double(array[999], 2, "the sum is right");
	reel_adjoint_close(adjoint);
}

static void spans_and_takes_are_uses(void)
{
	double array[ELEMENTS] = {0}, *span;
	reel_adjoint *adjoint = open_adjoint(array, ELEMENTS, checked(REEL_ADJOINT_OWNER));
	struct reel_adjoint_conflict conflict = {0};
	reel_adjoint_view view;

	tap_case("a span, and a take of its last element");
	reel_adjoint_begin(adjoint, 2);
	view = reel_adjoint_lane(adjoint, 0);
	span = reel_adjoint_span(&view, 10, 90);
	span[89] += 2;
	view = reel_adjoint_lane(adjoint, 1);
	reel_adjoint_add_span(&view, 100, 10, array);
	is_double(reel_adjoint_take(&view, 99), 2, "what it takes is right");
	ok(reel_adjoint_get_conflict(adjoint, &conflict),
	   "a span and a take of its last element are in conflict");
	is_int(conflict.index, 99, "the conflict has the index of the element that was taken");
	reel_adjoint_end(adjoint);
	reel_adjoint_close(adjoint);
}

static void indices_are_checked(enum reel_adjoint_policy policy)
{
	double array[ELEMENTS + 1] = {0}, values[3] = {1, 1, 1};
	reel_adjoint *adjoint = open_adjoint(array, ELEMENTS, checked(policy));
	reel_adjoint_view view;

	reel_adjoint_begin(adjoint, 2);
	view = reel_adjoint_lane(adjoint, 1);
	reel_adjoint_add(&view, ELEMENTS, 1);
	ok(reported.calls == 1 &&
		   strstr(reported.message, "x_bar: lane 1 uses 1 elements from index 1000"),
	   "an index out of range is reported");
	reel_adjoint_add(&view, SIZE_MAX, 1);
	reel_adjoint_add_span(&view, ELEMENTS - 2, 3, values);
	reel_adjoint_add(&view, ELEMENTS - 2, 1);
	is_int(reel_adjoint_end(adjoint), -ERANGE, "the index out of range is an error at the end");
	is_double(array[ELEMENTS], 0, "nothing is added there");
	is_double(array[ELEMENTS - 2], 1, "what is in range is");
	reel_adjoint_close(adjoint);
}

/* ---- With threads ---- */

struct rows {
	size_t shared; /* an element that all lanes use; ELEMENTS: none */
	unsigned lanes;
};

/*
 * Each lane adds to its own elements, and to the shared one, so often that a sum is lost without
 * atomics.
 */
static void add_rows(reel_adjoint *adjoint, unsigned lane, void *context)
{
	reel_adjoint_view view = reel_adjoint_lane(adjoint, lane);
	const struct rows *rows = context;

	for (size_t i = lane; i < ELEMENTS; i += rows->lanes)
		if (i != rows->shared)
			reel_adjoint_add(&view, i, 1);
	for (int again = 0; again < SHARED_ADDS && rows->shared < ELEMENTS; again++)
		reel_adjoint_add(&view, rows->shared, 1);
}

static void threads_conflict_or_do_not(void)
{
	unsigned missed = 0, false_alarms = 0, wrong = 0;

	tap_case("lanes on two and three threads");
	for (size_t random = 0; random < 100; random++) {
		struct rows rows = {random % 2 ? (size_t)scramble(random) % ELEMENTS : ELEMENTS, 3};
		double array[ELEMENTS] = {0};
		reel_adjoint *adjoint =
			open_adjoint(array, ELEMENTS, checked(REEL_ADJOINT_OWNER));
		int error = sweep(adjoint, add_rows, &rows, 3, 2 + random / 2 % 2, 0);
		struct reel_adjoint_conflict conflict = {0};

		if (rows.shared == ELEMENTS)
			false_alarms += error || reel_adjoint_get_conflict(adjoint, &conflict);
		else
			missed += error != -EADDRINUSE ||
				  !reel_adjoint_get_conflict(adjoint, &conflict) ||
				  conflict.index != rows.shared || reported.calls != 1 ||
				  conflict.lanes[0] == conflict.lanes[1] ||
				  stats_of(adjoint).conflicts < 2;
		for (size_t i = 0; i < ELEMENTS; i++)
			wrong += array[i] != (i == rows.shared ? 3 * SHARED_ADDS : 1);
		reel_adjoint_close(adjoint);
	}
	is_int(missed, 0, "each conflict is found, with its index");
	is_int(false_alarms, 0, "no other conflict is reported");
	is_int(wrong, 0, "sums are right");
}

/* ---- The environment ---- */

static void the_environment_asks(void)
{
	struct reel_adjoint_options options = checked(REEL_ADJOINT_OWNER);
	double array[2] = {0};
	reel_adjoint *adjoint;

	tap_case("REEL_CHECKED");
	options.flags = 0;
	for (int value = 0; value < 2; value++) {
		record_reports();
		setenv("REEL_CHECKED", value ? "1" : "0", 1);
		adjoint = open_adjoint(array, 2, options);
		reel_adjoint_begin(adjoint, 2);
		add_one(adjoint, 0, 1);
		add_one(adjoint, 1, 1);
		is_int(reel_adjoint_end(adjoint), value ? -EADDRINUSE : 0, "%d", value);
		reel_adjoint_close(adjoint);
	}
	unsetenv("REEL_CHECKED");
}

int main(void)
{
	tap_begin();
	a_conflict_is_named();
	phases_separate();
	epochs_run_out();
	tap_case("PRIVATE");
	other_policies_may_share(REEL_ADJOINT_PRIVATE);
	tap_case("ATOMIC");
	other_policies_may_share(REEL_ADJOINT_ATOMIC);
	spans_and_takes_are_uses();
	tap_case("indices, OWNER");
	indices_are_checked(REEL_ADJOINT_OWNER);
	tap_case("indices, PRIVATE");
	indices_are_checked(REEL_ADJOINT_PRIVATE);
	tap_case("indices, ATOMIC");
	indices_are_checked(REEL_ADJOINT_ATOMIC);
	threads_conflict_or_do_not();
	the_environment_asks();
	return tap_end();
}
