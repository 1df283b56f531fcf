/* SPDX-License-Identifier: MIT */
/* Compares the planners with every row of tables of optima and of other programs' counts. */
#include <config.h>

#include <reel/plan.h>

#include "helpers/plan-support.h"
#include "helpers/table.h"

#include "plan/plan.h"

/* Schedules with more steps are counted by formula. */
#define MAX_WALKED 20000

/* ---- Binomial ---- */

static bool binomial_row_is_right(const struct table *table)
{
	int64_t steps = whole(table, "n_steps"), slots = whole(table, "s_slots");
	double stores = value(table, "min_stores_among_optimal");
	struct reel_problem problem = one_tier(steps, slots);
	struct reel_schedule_report report;

	if (reel_binomial_advances(steps, slots) != whole(table, "min_advances"))
		return false;
	if (steps > MAX_WALKED)
		return true;
	report = checked(REEL_BINOMIAL, &problem, steps);
	if (isnan(stores))
		stores = slots == 1 ? 1 : value(table, "adolc_stores");
	return report.advances == whole(table, "min_advances") && report.recorded == steps &&
	       (double)report.stores[0] == stores &&
	       report.loads[0] == steps - 1;
}

static void binomial_schedules_have_the_least_advances_and_stores(void)
{
	struct table table;

	open_table(&table, "binomial_optimum");
	while (next_row(&table))
		judge(&table, binomial_row_is_right(&table));
	close_table(&table, 278, "advances, stores and loads of each row are reproduced");
	is_int(reel_binomial_advances(100000000, 100), 498659124, "10^8 steps, 100 slots");
	is_int(reel_binomial_advances(10000000, 2), 29804240404, "10^7 steps, 2 slots");
	is_int(reel_binomial_advances(REEL_MAX_STEPS, 2), 1086983719266232369, "2^40 steps");
	is_int(reel_binomial_advances((int64_t)1 << 32, 1), 9223372034707292160, "2^32, 1 slot");
	is_int(reel_binomial_advances(((int64_t)1 << 32) + 1, 1), INT64_MAX,
	       "advances of a step more cannot be counted");
	is_int(reel_binomial_advances(REEL_MAX_STEPS, 1), INT64_MAX,
	       "advances of 2^40 steps cannot be counted");
}

static void a_schedule_of_a_million_steps_has_the_least_advances(void)
{
	for (int64_t slots = 4; slots <= 64; slots *= 4) {
		struct reel_problem problem = one_tier(1000000, slots);

		is_int(checked(REEL_BINOMIAL, &problem, 1000000).advances,
		       reel_binomial_advances(1000000, slots), "10^6 steps, %lld slots",
		       (long long)slots);
	}
}

/* ---- Mixed ---- */

static int64_t mixed_runs(int64_t steps, int64_t memory, int64_t tape_states)
{
	struct reel_problem problem = one_tier(steps, memory);
	struct reel_schedule_report report;

	problem.tape_states = tape_states;
	report = checked(REEL_MIXED, &problem, steps);
	return report.advances + report.recorded;
}

static void mixed_schedules_have_the_least_forward_steps(void)
{
	struct table table;

	open_table(&table, "mixed_sized_optimum");
	while (next_row(&table))
		judge(&table, mixed_runs(whole(&table, "n_steps"), whole(&table, "memory_units"),
					 whole(&table, "tape_size_in_states")) ==
				      whole(&table, "min_total_forward_steps"));
	close_table(&table, 135, "rows with tapes of several sizes are reproduced");
	open_table(&table, "mixed_optimum");
	while (next_row(&table))
		judge(&table, mixed_runs(whole(&table, "n_steps"), whole(&table, "s_units"), 1) ==
				      whole(&table, "mixed_total_forward_steps"));
	close_table(&table, 100, "rows with tapes of a state's size are reproduced");
}

/* ---- Tiers ---- */

static bool hierarchical_row_is_right(const struct table *table)
{
	struct reel_problem problem =
		problem_of(whole(table, "n_steps"), whole(table, "slots_ram"),
			   whole(table, "slots_disk"), value(table, "write_disk"),
			   value(table, "read_disk"));
	struct reel_schedule_report report = checked(REEL_HIERARCHICAL, &problem, problem.steps);
	double exact = value(table, "exact_dijkstra");

	return close_to(report.makespan, value(table, "hrevolve_makespan_uf1_ub1")) &&
	       report.advances == whole(table, "advances") &&
	       report.stores[1] == whole(table, "disk_writes") &&
	       report.loads[1] == whole(table, "disk_reads") &&
	       report.loads[0] == whole(table, "ram_reads") &&
	       (isnan(exact) || close_to(report.makespan, exact));
}

static void hierarchical_schedules_take_the_least_time(void)
{
	struct table table;

	open_table(&table, "hrevolve_costs");
	while (next_row(&table))
		judge(&table, hierarchical_row_is_right(&table));
	close_table(&table, 108, "makespan, advances, writes and reads of each row");
}

static bool disk_row_is_right(const struct table *table)
{
	struct reel_problem problem =
		problem_of(whole(table, "n_steps"), whole(table, "slots_ram"), UNLIMITED,
			   value(table, "write_disk"), value(table, "read_disk"));
	struct reel_schedule_report report = checked(REEL_DISK_REVOLVE, &problem, problem.steps);

	return close_to(report.makespan, value(table, "diskrevolve_makespan_uf1_ub1")) &&
	       report.advances == whole(table, "advances") &&
	       report.stores[1] == whole(table, "disk_writes") &&
	       report.loads[1] == whole(table, "disk_reads");
}

static bool periodic_row_is_right(const struct table *table)
{
	struct reel_problem problem =
		problem_of(whole(table, "n_steps"), whole(table, "slots_ram"), UNLIMITED,
			   value(table, "write_disk"), value(table, "read_disk"));
	struct reel_schedule_report report = checked(REEL_PERIODIC, &problem, problem.steps);

	return close_to(report.makespan, value(table, "periodic_makespan")) &&
	       report.advances == whole(table, "periodic_advances") &&
	       report.stores[1] == whole(table, "periodic_disk_writes") &&
	       report.loads[1] == whole(table, "periodic_disk_reads");
}

static void an_unlimited_last_tier_gives_disk_revolve_and_its_period(void)
{
	struct table table;

	open_table(&table, "diskrevolve_costs");
	while (next_row(&table))
		judge(&table, disk_row_is_right(&table));
	close_table(&table, 144, "makespan, advances, writes and reads of Disk-Revolve");
	open_table(&table, "diskrevolve_costs");
	while (next_row(&table))
		judge(&table, periodic_row_is_right(&table));
	close_table(&table, 144, "makespan, advances, writes and reads of even gaps");
}

/* The table's program does not know the end in advance, and reads more from the last tier. */
static bool two_level_row_is_right(const struct table *table)
{
	int64_t steps = whole(table, "n_steps");
	struct reel_problem problem = problem_of(REEL_UNKNOWN_STEPS,
						 whole(table, "extra_ram_slots"), UNLIMITED, 1, 1);
	struct reel_schedule_report report;

	problem.period = whole(table, "period");
	report = checked(REEL_TWO_LEVEL, &problem, steps);
	return report.advances == whole(table, "advances") &&
	       report.recorded == whole(table, "recorded_steps") &&
	       report.stores[1] == whole(table, "disk_writes") &&
	       report.loads[1] <= whole(table, "disk_reads") &&
	       report.stores[0] == whole(table, "ram_writes") &&
	       report.loads[0] + report.loads[1] ==
		       whole(table, "ram_reads") + whole(table, "disk_reads") &&
	       report.peak_slots[1] == whole(table, "max_disk");
}

/* With a known end the last gap is not run twice, and the last step belongs to the gap before. */
static bool two_level_with_known_end_is_right(const struct table *table)
{
	int64_t steps = whole(table, "n_steps"), period = whole(table, "period");
	int64_t slots = whole(table, "extra_ram_slots") + 1;
	int64_t gaps = (steps - 2) / period;
	struct reel_problem problem = problem_of(steps, slots - 1, UNLIMITED, 1, 1);
	int64_t wanted = gaps * (period + reel_binomial_advances(period, slots)) +
			 reel_binomial_advances(steps - gaps * period, slots);

	problem.period = period;
	return checked(REEL_TWO_LEVEL, &problem, steps).advances == wanted &&
	       wanted < whole(table, "advances");
}

static void two_level_schedules_keep_a_state_each_period(void)
{
	struct table table;

	open_table(&table, "twolevel_periodic");
	while (next_row(&table)) {
		judge(&table, two_level_row_is_right(&table));
		judge(&table, two_level_with_known_end_is_right(&table));
	}
	close_table(&table, 90, "all counts of each row, and fewer advances with a known end");
}

/* The first tier has the busiest states: the other one has no more accesses than in the table. */
static bool multistage_row_is_right(const struct table *table)
{
	struct reel_problem problem =
		problem_of(whole(table, "n_steps"), whole(table, "slots_ram"),
			   whole(table, "slots_disk"), 1, 1);
	struct reel_schedule_report report = checked(REEL_MULTISTAGE, &problem, problem.steps);

	return report.advances == whole(table, "advances") &&
	       report.stores[0] + report.stores[1] <=
		       whole(table, "ram_writes") + whole(table, "disk_writes") &&
	       report.loads[0] + report.loads[1] ==
		       whole(table, "ram_reads") + whole(table, "disk_reads") &&
	       report.stores[1] == whole(table, "disk_writes") &&
	       report.loads[1] == whole(table, "disk_reads");
}

static void multistage_schedules_keep_the_busiest_states_in_the_first_tier(void)
{
	struct table table;

	open_table(&table, "multistage_access_counts");
	while (next_row(&table))
		judge(&table, multistage_row_is_right(&table));
	close_table(&table, 28, "advances, writes and reads of each row");
}

/* ---- Online ---- */

/* The advances if the end is learnt before the last step. */
static int64_t online_advances(int64_t steps, int64_t slots)
{
	struct reel_problem problem = one_tier(REEL_UNKNOWN_STEPS, slots);
	reel_plan *plan = open_plan(REEL_ONLINE, &problem);
	int64_t advances = 0;
	reel_schedule *schedule;
	reel_action action;

	schedule = open_schedule(plan);
	do {
		if (reel_schedule_next(schedule, &action) == -EAGAIN &&
		    action.last >= steps - 1) {
			action.last = steps - 1;
			reel_schedule_end(schedule, steps, steps - 1);
		}
		if (action.kind == REEL_ACTION_ADVANCE)
			advances += action.last - action.first;
	} while (action.kind != REEL_ACTION_DONE);
	reel_schedule_close(schedule);
	reel_plan_close(plan);
	return advances;
}

/* The table has the advances of other programs: pyrevolve, and two that double a stride. */
static void online_schedules_have_few_advances(void)
{
	double ours = 0, theirs = 0;
	struct table table;

	open_table(&table, "online_costs");
	while (next_row(&table)) {
		int64_t advances = online_advances(whole(&table, "n_steps"),
						   whole(&table, "s_slots"));
		double optimum = (double)whole(&table, "offline_min_advances");

		ours += (double)advances / optimum;
		theirs += (double)whole(&table, "pyrevolve_online_advances") / optimum;
		judge(&table, (double)advances <= 1.14 * optimum &&
				      advances <= whole(&table, "half_reserved_doubling_then_"
								"optimal_reverse"));
	}
	ok(ours < theirs, "%.4f times the optimum on average, pyrevolve %.4f", ours / 146,
	   theirs / 146);
	close_table(&table, 146, "advances of each row");
}

int main(void)
{
	tap_begin();
	binomial_schedules_have_the_least_advances_and_stores();
	a_schedule_of_a_million_steps_has_the_least_advances();
	mixed_schedules_have_the_least_forward_steps();
	hierarchical_schedules_take_the_least_time();
	an_unlimited_last_tier_gives_disk_revolve_and_its_period();
	two_level_schedules_keep_a_state_each_period();
	multistage_schedules_keep_the_busiest_states_in_the_first_tier();
	online_schedules_have_few_advances();
	return tap_end();
}
