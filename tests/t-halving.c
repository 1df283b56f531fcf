/* SPDX-License-Identifier: MIT */
/* Parallel reversal: every row of the tables of halving, and what splits and starts are. */
#include <config.h>

#include <errno.h>

#include "plan-support.h"
#include "table.h"

#include "plan.h"

static struct reel_halving costs_of(const struct table *table, enum reel_halving_rule rule)
{
	return (struct reel_halving){.rule = rule,
				     .record_cost = whole(table, "record_cost"),
				     .reverse_cost = whole(table, "reverse_cost")};
}

static struct reel_halving_report simulated(const struct reel_halving *halving, int64_t steps)
{
	struct reel_halving_report report;

	if (reel_halving_simulate(halving, steps, &report))
		report.makespan = -1;
	return report;
}

static bool halving_row_is_right(const struct table *table)
{
	struct reel_halving halving = costs_of(table, REEL_HALVING_MIDDLE);
	struct reel_halving_report report = simulated(&halving, whole(table, "n_steps"));
	double busy = (double)report.work / (double)(report.peak_workers * report.makespan);

	return report.peak_workers == whole(table, "peak_processors") &&
	       report.peak_checkpoints == whole(table, "peak_checkpoints") &&
	       report.peak_resources == whole(table, "peak_resources") &&
	       report.work == whole(table, "total_work") &&
	       report.makespan == whole(table, "makespan") &&
	       fabs(busy - value(table, "busy_fraction")) < 1e-4;
}

/* What the rules that are to take the fewest resources take, for their costs. */
static bool least_resources_are_taken(const struct table *table, const char *column)
{
	int64_t record = whole(table, "record_cost"), reverse = whole(table, "reverse_cost");
	struct reel_halving halving = costs_of(table, reverse == 2 ? REEL_HALVING_POWER
								   : REEL_HALVING_GOLDEN);

	if (record != 1 || reverse > 2)
		return true;
	return simulated(&halving, whole(table, "n_steps")).peak_resources ==
	       whole(table, column);
}

static void halving_takes_what_the_table_says(void)
{
	struct table table;

	open_table(&table, "parallel_halving");
	while (next_row(&table)) {
		judge(&table, halving_row_is_right(&table));
		judge(&table, least_resources_are_taken(&table, "optimal_resources"));
	}
	close_table(&table, 120, "workers, states, both, work and time of each row");
	open_table(&table, "parallel_reversal_splits");
	while (next_row(&table))
		judge(&table, least_resources_are_taken(&table, "min_resources"));
	close_table(&table, 128, "the fewest resources for short blocks");
}

static bool serial_column_is_right(const struct table *table, int64_t steps)
{
	int64_t slots = whole(table, "resources_rho") - 1;
	int64_t turns = steps * (whole(table, "record_cost") + whole(table, "reverse_cost"));
	int64_t serial = turns + (slots ? reel_binomial_advances(steps, slots) : 0);
	double ratio = value(table, "ratio");

	return serial == whole(table, "serial_binomial_time_with_rho_minus_1_slots") &&
	       fabs((double)serial / value(table, "makespan") - ratio) < 1e-4;
}

/* Where all costs are 1 the golden section is the tree that the table was made with. */
static bool reversal_row_is_right(const struct table *table)
{
	struct reel_halving halving = costs_of(table, REEL_HALVING_GOLDEN);
	int64_t steps = whole(table, "max_steps_no_slowdown");
	struct reel_halving_report report;

	if (reel_halving_most_steps(&halving, whole(table, "resources_rho")) != steps)
		return false;
	if (!serial_column_is_right(table, steps))
		return false;
	if (steps > 20000)
		return true;
	report = simulated(&halving, steps);
	if (report.makespan != whole(table, "makespan"))
		return false;
	if (halving.reverse_cost > 1 || isnan(value(table, "constructed_peak_resources")))
		return true;
	return report.peak_resources == whole(table, "constructed_peak_resources") &&
	       report.peak_workers == whole(table, "constructed_peak_processors") &&
	       report.peak_checkpoints == whole(table, "constructed_peak_checkpoints") &&
	       (steps == 1 ||
		reel_halving_split(&halving, 0, steps) == whole(table, "first_checkpoint_at"));
}

static void resources_reverse_as_many_steps_as_the_table_says(void)
{
	struct table table;

	open_table(&table, "parallel_reversal");
	while (next_row(&table))
		judge(&table, reversal_row_is_right(&table));
	close_table(&table, 80, "steps, times, and the golden section of each row");
}

/* Costs 1, 1, 2: a power of 2 takes the fewest resources for all lengths. */
static void powers_of_two_take_the_fewest_resources(void)
{
	struct reel_halving halving = {.reverse_cost = 2};
	unsigned wrong = 0;

	for (int64_t steps = 1; steps <= 1024; steps++) {
		int64_t resources = simulated(&halving, steps).peak_resources;

		wrong += reel_halving_most_steps(&halving, resources) < steps ||
			 reel_halving_most_steps(&halving, resources - 1) >= steps;
	}
	is_int(wrong, 0, "1 to 1024 steps");
}

static void golden_sections_take_the_fewest_resources(void)
{
	struct reel_halving halving = {.rule = REEL_HALVING_GOLDEN};
	unsigned wrong = 0;

	for (int64_t steps = 1; steps < 300; steps++) {
		int64_t resources = simulated(&halving, steps).peak_resources;

		wrong += reel_halving_most_steps(&halving, resources) < steps ||
			 reel_halving_most_steps(&halving, resources - 1) >= steps;
	}
	is_int(wrong, 0, "1 to 299 steps");
}

/* ---- Splits and starts ---- */

static bool splits_in_two(const struct reel_halving *halving, int64_t first, int64_t last)
{
	int64_t middle = reel_halving_split(halving, first, last);

	if (last - first < 2)
		return middle == first;
	return middle > first && middle < last;
}

static void every_split_leaves_two_parts(void)
{
	for (int rule = 0; rule < REEL_HALVING_RULES; rule++) {
		unsigned wrong = 0;

		for (int64_t reverse = 1; reverse < 6; reverse++) {
			struct reel_halving halving = {.rule = (enum reel_halving_rule)rule,
						       .advance_cost = 2, .record_cost = 7,
						       .reverse_cost = reverse};

			for (int64_t steps = 0; steps < 500; steps++)
				wrong += !splits_in_two(&halving, 1000, 1000 + steps);
			wrong += !splits_in_two(&halving, 0, REEL_MOST_STEPS);
			wrong += !splits_in_two(&halving, 5, REEL_MOST_STEPS - 5);
		}
		is_int(wrong, 0, "%s", reel_halving_rule_name((enum reel_halving_rule)rule));
	}
}

static void splits_and_starts_are_as_computed_by_hand(void)
{
	struct reel_halving power = {.reverse_cost = 2};
	struct reel_halving middle = {.rule = REEL_HALVING_MIDDLE, .record_cost = 3,
				      .reverse_cost = 2};
	struct reel_halving golden = {.rule = REEL_HALVING_GOLDEN};
	struct reel_halving lopsided = {.advance_cost = 1 << 30};
	struct reel_halving costly = {.advance_cost = 1 << 30, .record_cost = 1 << 30,
				      .reverse_cost = 1 << 30};

	is_int(reel_halving_split(&power, 10, 26), 18, "16 steps: 8 and 8");
	is_int(reel_halving_split(&power, 10, 27), 11, "17 steps: 1 and 16");
	is_int(reel_halving_split(&middle, 10, 17), 13, "7 steps: 3 and 4");
	is_int(reel_halving_split(&golden, 10, 18), 15, "8 steps: 5 and 3");
	is_int(reel_halving_start(&middle, 10, 13), 16, "5 advances' time are 2.5 reversals: 3");
	is_int(reel_halving_start(&middle, 10, 14), 17, "6 are 3");
	is_int(reel_halving_start(&power, 0, 1), 2, "a recording is less than a reversal");
	is_int(reel_halving_start(&costly, 0, REEL_MOST_STEPS), 2 * REEL_MOST_STEPS,
	       "the largest costs of the longest loop are no more than they are");
	is_int(reel_halving_start(&lopsided, 0, REEL_MOST_STEPS), INT64_MAX,
	       "a start that cannot be counted is never reached");
	is_int(reel_halving_most_steps(&power, 0), 0, "without resources no step");
	is_int(reel_halving_most_steps(&power, 1), 1, "a worker reverses one");
	is_int(reel_halving_most_steps(&power, 11), 1024, "11 resources reverse 1024");
	is_int(reel_halving_most_steps(&power, 1000), REEL_MOST_STEPS, "many reverse all");
}

/*
 * What an executor does with splits and starts: the chain goes down a step a time, and a
 * sweep that starts where it is told has recorded its step when the chain comes to it.
 */
static unsigned late_sweeps(const struct reel_halving *halving, int64_t first, int64_t last)
{
	unsigned late = 0;

	while (last - first > 1) {
		int64_t middle = reel_halving_split(halving, first, last);
		int64_t from = reel_halving_start(halving, first, middle);
		int64_t sweep = (middle - 1 - first) * halving->advance_cost +
				halving->record_cost;
		int64_t chain = (from - middle) * halving->reverse_cost;

		late += chain < sweep || chain - sweep >= halving->reverse_cost;
		late += from <= middle;
		late += late_sweeps(halving, first, middle);
		first = middle;
	}
	return late;
}

static void sweeps_start_in_time_and_no_sooner(void)
{
	for (int rule = 0; rule < REEL_HALVING_RULES; rule++) {
		struct reel_halving halving = {.rule = (enum reel_halving_rule)rule,
					       .advance_cost = 3, .record_cost = 5,
					       .reverse_cost = 7};

		is_int(late_sweeps(&halving, 0, 1000), 0, "%s: 1000 steps",
		       reel_halving_rule_name((enum reel_halving_rule)rule));
	}
}

/* The unit of time is of no account. */
static void costs_are_relative(void)
{
	struct reel_halving halving = {.record_cost = 2, .reverse_cost = 3};
	struct reel_halving_report one = simulated(&halving, 777), ten;

	halving = (struct reel_halving){
		.advance_cost = 10, .record_cost = 20, .reverse_cost = 30};
	ten = simulated(&halving, 777);
	ok(ten.makespan == 10 * one.makespan && ten.work == 10 * one.work, "ten times the time");
	ok(ten.peak_workers == one.peak_workers && ten.peak_checkpoints == one.peak_checkpoints,
	   "the same resources");
	is_int(reel_halving_most_steps(&halving, 9), 556, "nine resources, costs 1, 2, 3");
}

/* ---- Names and errors ---- */

static void rules_have_names(void)
{
	enum reel_halving_rule rule;

	for (int r = 0; r < REEL_HALVING_RULES; r++) {
		const char *name = reel_halving_rule_name((enum reel_halving_rule)r);

		ok(!reel_halving_rule_by_name(name, &rule) && (int)rule == r, "%s", name);
	}
	is_int(reel_halving_rule_by_name("thirds", &rule), -EINVAL, "there is no other");
	is_string(reel_halving_rule_name(REEL_HALVING_RULES), "unknown", "nor a number more");
}

static void what_cannot_be_is_refused(void)
{
	static const struct {
		struct reel_halving halving;
		int64_t steps;
	} cases[] = {
		{{.rule = REEL_HALVING_RULES}, 1},
		{{.advance_cost = -1}, 1},
		{{.record_cost = -1}, 1},
		{{.reverse_cost = ((int64_t)1 << 30) + 1}, 1},
		{{.reserved = {0, 1}}, 1},
		{{.reverse_cost = 2}, -1},
		{{.reverse_cost = 2}, REEL_MOST_HALVING_STEPS + 1},
	};
	struct reel_halving thirds = {.advance_cost = 3, .record_cost = 4, .reverse_cost = 3};
	struct reel_halving_report report;

	for (size_t i = 0; i < COUNT(cases); i++)
		is_int(reel_halving_simulate(&cases[i].halving, cases[i].steps, &report), -EINVAL,
		       "case %zu", i);
	is_int(reel_halving_most_steps(&thirds, 3), -EINVAL, "costs between two advances");
	is_int(reel_halving_most_steps(&(struct reel_halving){0}, -1), -EINVAL, "less than 0");
	is_int(reel_halving_simulate(&thirds, 0, &report), 0, "no steps are reversed");
	is_int(report.makespan + report.peak_resources, 0, "by nobody, in no time");
	is_int(simulated(&(struct reel_halving){0}, REEL_MOST_HALVING_STEPS).makespan,
	       2 * REEL_MOST_HALVING_STEPS, "2^20 steps");
}

int main(void)
{
	tap_begin();
	halving_takes_what_the_table_says();
	resources_reverse_as_many_steps_as_the_table_says();
	powers_of_two_take_the_fewest_resources();
	golden_sections_take_the_fewest_resources();
	every_split_leaves_two_parts();
	splits_and_starts_are_as_computed_by_hand();
	sweeps_start_in_time_and_no_sooner();
	costs_are_relative();
	rules_have_names();
	what_cannot_be_is_refused();
	return tap_end();
}
