/* SPDX-License-Identifier: MIT */
/* The choice by cost: small cases computed by hand, all alternatives of short loops, errors. */
#include <config.h>

#include "helpers/plan-support.h"

#include "plan/costs.h"

/* Returns the choice; all 0 if there is no choice. */
static struct reel_choice choose(const struct reel_costs *costs)
{
	struct reel_choice choice;
	int error = reel_costs_choose(costs, &choice);

	if (error)
		tap_note("no choice: %s: %s", strerror(-error), choice.reason);
	return choice;
}

static bool says(const struct reel_choice *choice, const char *words)
{
	if (strstr(choice->reason, words))
		return true;
	tap_note("it says: %s", choice->reason);
	return false;
}

/* ---- By hand ---- */

static void all_tapes_are_kept_where_they_fit(void)
{
	struct reel_costs costs = {.steps = 10, .tape_bytes = 100, .memory_bytes = 1000};
	struct reel_choice choice = choose(&costs);

	is_int(choice.best.planner, REEL_STORE_ALL, "ten tapes of 100 bytes in 1000 bytes");
	ok(!choice.best.spills && choice.best.segment_steps == 1, "the tapes are in memory");
	ok(close_to(choice.best.makespan, 20), "a step is recorded in 1 s and reversed in 1 s");
	is_int(choice.best.peak_memory_bytes, 1000, "all of the memory");
	is_int(choice.best.problem.steps, 10, "ten steps");
	costs.memory_bytes = 0;
	costs.reverse_seconds = 3;
	costs.record_seconds = 2;
	choice = choose(&costs);
	ok(choice.best.planner == REEL_STORE_ALL && close_to(choice.best.makespan, 50),
	   "memory 0 is without limit");
}

static struct reel_prediction predicted(const struct reel_costs *costs, enum reel_planner planner,
					int64_t segment, int64_t slots)
{
	struct reel_prediction prediction = {.planner = planner, .tapes = 1,
					     .segment_steps = segment};
	struct reel_costs filled = reel_costs_filled(costs);
	int error;

	prediction.problem = (struct reel_problem){.steps = costs->steps / segment, .tiers = 1,
						   .tier = {{slots, 0, 0}}};
	error = planner == REEL_STORE_ALL ? reel_predict_store_all(&filled, &prediction)
					  : reel_predict(&filled, &prediction);
	if (error)
		tap_note("no prediction: %s", strerror(-error));
	return prediction;
}

static int refused(const struct reel_costs *costs, const char *words)
{
	struct reel_choice choice;
	int error = reel_costs_choose(costs, &choice);

	return error && (choice.best.segment_steps || !says(&choice, words)) ? 0 : error;
}

/* Only the first use of memory takes touch_seconds a byte; later tapes and states use it again. */
static void memory_is_touched_once(void)
{
	struct reel_costs costs = {
		.steps = 20, .state_bytes = 10, .tape_bytes = 100, .touch_seconds = 0.01};
	struct reel_choice choice;

	ok(close_to(predicted(&costs, REEL_STORE_ALL, 1, 0).makespan, 40 + 20),
	   "twenty tapes of 100 bytes, a byte in 0.01 s");
	ok(close_to(predicted(&costs, REEL_BINOMIAL, 5, 3).makespan, 40 + 15 + 5 + 0.3),
	   "a tape of five steps, and three states, whose memory is used again");
	costs.memory_bytes = 500;
	costs.tiers = 1;
	ok(close_to(predicted(&costs, REEL_STORE_ALL, 1, 0).makespan, 40 + 5),
	   "spilled tapes go through the same memory");
	costs.memory_bytes = costs.tiers = 0;
	costs.touch_seconds = 1;
	choice = choose(&costs);
	ok(choice.best.peak_memory_bytes < 2000, "less memory is taken where it takes long");
	costs.touch_seconds = -1;
	is_int(refused(&costs, "a time is not"), -EINVAL, "a time below 0 is refused");
}

/* With nine tapes and a state, one step runs twice; with two segments of five, five steps do. */
static void a_byte_less_and_one_step_is_run_again(void)
{
	struct reel_costs costs = {
		.steps = 10, .state_bytes = 10, .tape_bytes = 100, .memory_bytes = 999};
	struct reel_choice choice = choose(&costs);

	is_int(choice.best.planner, REEL_MIXED, "a byte less: mixed");
	is_int(choice.best.segment_steps, 1, "steps one by one");
	ok(close_to(choice.best.makespan, 21), "one second more");
	is_int(choice.best.peak_memory_bytes, 910, "nine tapes and a state");
	is_int(choice.best.advances, 1, "one step is run again");
	is_int(choice.runner_up.planner, REEL_BINOMIAL, "the runner-up");
	is_int(choice.runner_up.segment_steps, 5, "the runner-up has two segments");
	ok(close_to(choice.runner_up.makespan, 25),
	   "the runner-up takes five seconds more than all tapes");
	is_int(choice.runner_up.peak_memory_bytes, 510, "two segments take little memory");
	ok(says(&choice, "binomial takes 25 s, 4 s more: it runs 5 steps without recording them, "
			 "not 1, in 510 bytes of memory, not 910 bytes, and stores and loads 20 bytes"),
	   "the reason says why it lost");
}

/* With 1,000 segments a segment's tape does not fit; with the disk the loop is a sixth faster. */
static void long_loops_use_the_disk(void)
{
	struct reel_costs costs = {.steps = 100000,
				   .advance_seconds = 0.01,
				   .record_seconds = 0.03,
				   .reverse_seconds = 0.02,
				   .state_bytes = 10 << 20,
				   .tape_bytes = 200 << 20,
				   .memory_bytes = (uint64_t)16 << 30,
				   .tiers = 1,
				   .tier = {{.bytes = (uint64_t)200 << 30,
					     .write_bandwidth = 1 << 30,
					     .read_bandwidth = (double)((uint64_t)2 << 30)}}};
	struct reel_choice choice = choose(&costs);

	ok(choice.best.planner != REEL_BINOMIAL && choice.best.makespan < 6100,
	   "a loop of many long segments keeps states on the disk: %.0f s", choice.best.makespan);
	costs.memory_bytes = (uint64_t)1 << 30;
	choice = choose(&costs);
	ok(choice.best.planner == REEL_BINOMIAL && says(&choice, "no other planner"),
	   "where only more segments fit, the reason says so: %s", choice.reason);
}

static void a_sweep_that_spills_takes_the_longer_of_two_times(void)
{
	struct reel_costs costs = {.steps = 10,
				   .state_bytes = 1000,
				   .tape_bytes = 100,
				   .memory_bytes = 500,
				   .tiers = 1,
				   .tier = {{.write_bandwidth = 100, .read_bandwidth = 50}}};
	struct reel_choice choice = choose(&costs);

	ok(choice.best.planner == REEL_STORE_ALL && choice.best.spills, "no state fits: spilled");
	ok(close_to(choice.best.makespan, 20), "500 bytes in 5 s and 10 s, beside 10 s and 10 s");
	is_int(choice.best.written_bytes[1], 500, "what does not fit is written");
	is_int(choice.best.read_bytes[1], 500, "what does not fit is read");
	is_int(choice.best.peak_memory_bytes, 500, "spilled tapes take all of the memory");
	is_int(choice.runner_up.segment_steps, 0, "there is no other way");
	ok(says(&choice, "no other planner"),
	   "the reason says that there is no other way");
	costs.tier[0].latency = 1;
	choice = choose(&costs);
	ok(close_to(choice.best.makespan, 21), "a second of latency counts where reading is slow");
	costs.tier[0].bytes = 300;
	costs.tiers = 2;
	costs.tier[1] = (struct reel_cost_tier){.write_bandwidth = 10, .read_bandwidth = 10};
	choice = choose(&costs);
	ok(close_to(choice.best.makespan, 24 + 27), "a full tier passes the rest to the next one");
	is_int(choice.best.written_bytes[2], 200, "the next tier gets 200 bytes");
}

static void workers_record_ahead_of_the_reverse_chain(void)
{
	struct reel_costs costs = {.steps = 8,
				   .record_seconds = 3,
				   .reverse_seconds = 1,
				   .state_bytes = 1,
				   .tape_bytes = 10,
				   .memory_bytes = 43,
				   .workers = 2};
	struct reel_choice choice = choose(&costs);

	is_int(choice.best.planner, REEL_BINOMIAL, "a state of each segment");
	is_int(choice.best.tapes, 2, "two tapes");
	is_int(choice.best.segment_steps, 1, "each tape is of one step");
	ok(close_to(choice.best.makespan, 7 + 3 + 16),
	   "the sweep, one recording, half of the work");
	is_int(choice.best.peak_memory_bytes, 27, "two tapes and seven states");
	ok(says(&choice, "mixed takes 36 s, 10 s more"), "one worker with four tapes is slower");
	costs.record_seconds = 1;
	costs.reverse_seconds = 4;
	choice = choose(&costs);
	is_int(choice.best.tapes, 2, "there are two tapes where reversing is slow");
	ok(close_to(choice.best.makespan, 7 + 1 + 32),
	   "no more than the time of recording is hidden");
}

static void workers_who_would_wait_are_not_asked_for(void)
{
	struct reel_costs costs = {.steps = 2000, .record_seconds = 3, .state_bytes = 1,
				   .tape_bytes = 10, .memory_bytes = 10000, .workers = 2};
	struct reel_choice two = choose(&costs), all;

	is_int(two.best.tapes, 2, "recording takes as long as reversing: two tapes at once");
	costs.workers = UINT16_MAX;
	all = choose(&costs);
	ok(all.best.tapes == 2 && close_to(all.best.makespan, two.best.makespan),
	   "there are two tapes though there are 65,535 workers");
}

/* Four steps with a state each in the slower tier: stores wait for a buffer, loads do not wait. */
static void transfers_go_on_beside_the_loop(void)
{
	struct reel_costs costs = {.steps = 4,
				   .advance_seconds = 1,
				   .record_seconds = 2,
				   .reverse_seconds = 3,
				   .copy_seconds = 0.5,
				   .state_bytes = 100,
				   .tape_bytes = 10,
				   .tiers = 1,
				   .tier = {{.write_bandwidth = 100, .read_bandwidth = 50,
					     .latency = 0.5}}};
	struct reel_prediction way = {.planner = REEL_TWO_LEVEL, .tapes = 1, .segment_steps = 1,
				      .problem = {.steps = 4, .period = 1, .tiers = 2,
						  .tier = {{0, 0, 0}, {4, 0, 0}}}};
	struct reel_prediction slow = way, ahead = way;

	costs = reel_costs_filled(&costs);
	is_int(reel_predict(&costs, &way), 0, "a walk with a clock");
	ok(close_to(way.makespan, 27), "two stores wait half a second each (%g s)", way.makespan);
	is_int(way.peak_memory_bytes, 210, "two buffers and a tape");
	is_int(way.advances, 3, "three steps are run again");
	is_int(way.written_bytes[1], 300, "three states are written");
	is_int(way.read_bytes[1], 300, "three states are read");
	costs.tier[0].read_bandwidth = 10;
	is_int(reel_predict(&costs, &slow), 0, "slow reads");
	ok(close_to(slow.makespan, 44), "each read is waited for (%g s)", slow.makespan);
	ahead.tapes = 2;
	is_int(reel_predict(&costs, &ahead), 0, "a prediction with tapes ahead");
	ok(close_to(ahead.makespan, 3 * 1.5 + 3 * 10.5), "the tier is what takes longest (%g s)",
	   ahead.makespan);
	is_int(ahead.peak_memory_bytes, 220, "a tape more");
}

/* The last segment has two steps, not four, and the prediction counts only two. */
static void the_last_segment_is_shorter(void)
{
	struct reel_costs costs = {.steps = 10, .tape_bytes = 1};
	struct reel_prediction way = {.planner = REEL_BINOMIAL, .tapes = 1, .segment_steps = 4,
				      .problem = {.steps = 3, .tiers = 1, .tier = {{2, 0, 0}}}};

	costs = reel_costs_filled(&costs);
	is_int(reel_predict(&costs, &way), 0, "ten steps in segments of four");
	ok(close_to(way.makespan, 8 + 20), "two segments are run again");
	is_int(way.peak_memory_bytes, 4, "a segment's tape");
	way.tapes = 2;
	way.problem.tier[0].slots = 1;
	is_int(reel_predict(&costs, &way), -ENOTSUP, "no look-ahead where states are missing");
}

/* In a memory of 2 sqrt(steps state tape) only the length sqrt(steps state / tape) fits. */
static void segments_are_as_long_as_the_rule_says(void)
{
	struct reel_costs costs = {
		.steps = 10000, .state_bytes = 1000, .tape_bytes = 10, .memory_bytes = 20000};
	struct reel_choice choice = choose(&costs);

	is_int(choice.best.planner, REEL_MIXED, "some tapes are kept");
	is_int(choice.runner_up.segment_steps, 1000, "the runner-up keeps no tapes: ten segments");
	ok(close_to(choice.runner_up.makespan, 20000 + 9000), "nine of them are run again");
	is_int(choice.runner_up.peak_memory_bytes, 19000, "nine states and a segment's tape");
	costs.state_bytes = 10;
	costs.tape_bytes = 1000;
	costs.memory_bytes = 5000;
	choice = choose(&costs);
	is_int(choice.best.segment_steps, 3, "segments are shorter with little memory");
	is_int(choice.best.advances, 3 * (2 * 3334 - 202), "200 slots, 3334 segments");
}

/* The memory holds 50,500 states of a byte, more than a planner's table has slots. */
static void small_states_leave_room_for_tapes(void)
{
	struct reel_costs costs = {
		.steps = 100, .state_bytes = 1, .tape_bytes = 1000, .memory_bytes = 50500};
	struct reel_choice choice = choose(&costs);

	is_int(choice.best.planner, REEL_MIXED, "memory for 50 of 100 tapes");
	ok(choice.best.advances < 60, "%lld steps are run again",
	   (long long)choice.best.advances);
}

/* ---- Too little memory, wrong costs ---- */

static void too_little_memory_is_refused_with_the_least_that_would_do(void)
{
	struct reel_costs costs = {
		.steps = 10, .state_bytes = 10, .tape_bytes = 100, .memory_bytes = 109};
	struct reel_choice choice;

	is_int(refused(&costs, "at least 110 bytes are needed"), -ENOSPC, "a state and a tape");
	costs.memory_bytes = 110;
	choice = choose(&costs);
	is_int(choice.best.peak_memory_bytes, 110, "a state and a tape take 110 bytes");
	is_int(choice.best.advances, 45, "little memory has many steps run again");
	costs.state_bytes = 2000;
	is_int(refused(&costs, "at least 1000 bytes"), -ENOSPC, "large states: all tapes");
	costs.tiers = 1;
	is_int(refused(&costs, "at least 200 bytes"), -ENOSPC,
	       "two tapes of large states, if others are spilled");
	costs.tier[0].bytes = 300;
	is_int(refused(&costs, "at least 700 bytes"), -ENOSPC,
	       "spilled tapes need as much memory as the tier leaves");
	costs.memory_bytes = 699;
	is_int(refused(&costs, "at least 700 bytes"), -ENOSPC,
	       "a byte less than the smallest memory is refused");
	costs.memory_bytes = 700;
	ok(choose(&costs).best.spills, "the smallest memory is enough");
	costs = (struct reel_costs){.steps = (int64_t)1 << 40, .tape_bytes = UINT64_MAX,
				    .state_bytes = UINT64_MAX, .memory_bytes = UINT64_MAX - 1};
	is_int(refused(&costs, "at least"), -ENOSPC, "a sum beyond all numbers is refused");
}

static void wrong_costs_are_refused(void)
{
	static const struct {
		struct reel_costs costs;
		const char *words;
	} cases[] = {
		{{.steps = -1}, "has to be known"},
		{{.steps = REEL_MAX_STEPS + 1}, "more than 2^40"},
		{{.steps = 1, .advance_seconds = -1}, "a time is not"},
		{{.steps = 1, .record_seconds = NAN}, "a time is not"},
		{{.steps = 1, .reverse_seconds = INFINITY}, "a time is not"},
		{{.steps = 1, .copy_seconds = -1}, "a time is not"},
		{{.steps = 1, .tiers = REEL_MAX_TIERS}, "more than 3 tiers"},
		{{.steps = 1, .tiers = 1, .tier = {{.write_bandwidth = -1}}}, "of a tier"},
		{{.steps = 1, .tiers = 1, .tier = {{.read_bandwidth = NAN}}}, "of a tier"},
		{{.steps = 1, .tiers = 1, .tier = {{.latency = -1}}}, "of a tier"},
		{{.steps = 1, .tiers = 1, .tier = {{.reserved = {0, 1}}}}, "reserved"},
		{{.steps = 1, .reserved = {0, 0, 1}}, "reserved"},
		{{.steps = 1, .touch_seconds = 1e101}, "a time is not"},
		{{.steps = 1, .advance_seconds = 1e-26}, "a time is not"},
		{{.steps = 9, .record_seconds = 1.1e25}, "a time is not"},
		{{.steps = 1, .tiers = 1, .tier = {{.read_bandwidth = 1e-26}}}, "of a tier"},
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		is_int(refused(&cases[i].costs, cases[i].words), -EINVAL, "%s (%zu)",
		       cases[i].words, i);
	is_int(reel_costs_choose(&(struct reel_costs){0}, &(struct reel_choice){0}), 0,
	       "all zero is right");
}

/* Returns 0, or a positive double of random bits, so that all magnitudes are equally frequent. */
static double any_amount(uint64_t *n)
{
	uint64_t bits = scramble((*n)++) & INT64_MAX;
	double amount;

	memcpy(&amount, &bits, sizeof amount);
	return bits % 3 ? amount : 0;
}

static struct reel_costs any_costs(uint64_t n)
{
	struct reel_costs costs = {.steps = (int64_t)(scramble(n) % 9), .state_bytes = 10,
				   .tape_bytes = 100, .memory_bytes = 350, .tiers = 1};
	double *const amounts[] = {
		&costs.advance_seconds, &costs.record_seconds, &costs.reverse_seconds,
		&costs.copy_seconds, &costs.touch_seconds, &costs.tier[0].write_bandwidth,
		&costs.tier[0].read_bandwidth, &costs.tier[0].latency};

	n *= 10;
	for (size_t i = 0; i < COUNT(amounts); i++)
		if (scramble(n++) % 3 == 0)
			*amounts[i] = any_amount(&n);
	return costs;
}

static bool can_be_planned(const struct reel_prediction *prediction)
{
	reel_plan *plan;
	int error = reel_plan_open(&plan, prediction->planner, &prediction->problem);

	if (!error)
		reel_plan_close(plan);
	return !error && isfinite(prediction->makespan);
}

static void what_is_chosen_can_be_planned(void)
{
	unsigned chosen = 0, refused_costs = 0, unplanned = 0, most = is_brief() ? 300 : 3000;

	for (uint64_t n = 0; n < most; n++) {
		struct reel_costs costs = any_costs(n);
		struct reel_choice choice;
		int error = reel_costs_choose(&costs, &choice);

		chosen += !error;
		refused_costs += error == -EINVAL;
		unplanned += !error && !can_be_planned(&choice.best);
		unplanned += choice.runner_up.segment_steps && !can_be_planned(&choice.runner_up);
	}
	is_int(unplanned, 0, "all plans of %u choices can be opened", chosen);
	ok(chosen > 20 && refused_costs > 20, "costs for which no plan opens are refused: %u of %u",
	   refused_costs, most);
}

static void the_shortest_loops_are_planned(void)
{
	struct reel_costs costs = {.tape_bytes = 100, .memory_bytes = 100};
	struct reel_choice choice = choose(&costs);

	is_int(choice.best.segment_steps, 1, "no steps");
	ok(choice.best.makespan == 0, "no steps take no time");
	costs.steps = 1;
	choice = choose(&costs);
	ok(choice.best.planner == REEL_STORE_ALL && close_to(choice.best.makespan, 2), "one step");
	ok(says(&choice, "no other planner"), "one step has one way");
	costs.steps = 2;
	choice = choose(&costs);
	ok(choice.best.planner == REEL_BINOMIAL && close_to(choice.best.makespan, 5),
	   "two steps with memory for one tape, and states that take none");
}

/* ---- Properties ---- */

/* Returns true if the plan is right, fits and, if nothing overlaps, takes as long as predicted. */
static bool is_kept(const struct reel_costs *costs, const struct reel_prediction *way)
{
	struct reel_schedule_report report;
	reel_plan *plan;
	int error;

	if (costs->memory_bytes && way->peak_memory_bytes > costs->memory_bytes)
		return false;
	if (reel_plan_open(&plan, way->planner, &way->problem))
		return false;
	error = reel_plan_check(plan, NULL, way->problem.steps, &report);
	reel_plan_close(plan);
	if (error || report.reversed != way->problem.steps)
		return false;
	return costs->tiers || costs->workers > 1 || way->spills ||
	       costs->steps % way->segment_steps || close_to(report.makespan, way->makespan);
}

static const struct reel_costs loops[] = {
	{.steps = 100, .state_bytes = 1000, .tape_bytes = 10000},
	{.steps = 100, .state_bytes = 1000, .tape_bytes = 10},
	{.steps = 77, .advance_seconds = 0.1, .record_seconds = 0.3, .reverse_seconds = 0.2,
	 .state_bytes = 300, .tape_bytes = 5000},
	{.steps = 60, .state_bytes = 10, .tape_bytes = 25},
	{.steps = 90, .state_bytes = 100, .tape_bytes = 1000, .workers = 3},
	{.steps = 128, .record_seconds = 4, .state_bytes = 64, .tape_bytes = 64, .workers = 4},
};

static void more_memory_never_takes_longer(void)
{
	for (size_t i = 0; i < COUNT(loops); i++) {
		struct reel_costs costs = loops[i];
		double before = INFINITY;
		unsigned longer = 0, wrong = 0, choices = 0;

		for (double memory = 64; memory < 2e6; memory *= 2.03) {
			struct reel_choice choice;

			costs.memory_bytes = (uint64_t)memory;
			if (reel_costs_choose(&costs, &choice)) {
				wrong += choices > 0;
				continue;
			}
			choices++;
			longer += choice.best.makespan > before * (1 + 1e-8);
			before = choice.best.makespan;
			wrong += !is_kept(&costs, &choice.best);
			wrong += choice.runner_up.segment_steps &&
				 (!is_kept(&costs, &choice.runner_up) ||
				  choice.runner_up.makespan < before * (1 - 1e-8));
		}
		is_int(longer, 0, "loop %zu: more memory never takes longer", i);
		ok(wrong == 0 && choices > 4, "each of %u plans is right and fits", choices);
	}
}

static const struct reel_cost_tier disks[] = {
	{.write_bandwidth = 1000, .read_bandwidth = 1000},
	{.bytes = 5000, .write_bandwidth = 50, .read_bandwidth = 20, .latency = 0.3},
	{.bytes = 2000, .write_bandwidth = 5, .read_bandwidth = 7},
};

static void with_slower_tiers_it_is_some_hundredths_at_most(void)
{
	for (size_t i = 0; i < COUNT(disks); i++) {
		struct reel_costs costs = {.steps = 100, .copy_seconds = 0.05, .state_bytes = 100,
					   .tape_bytes = 700, .tiers = 1, .tier = {disks[i]}};
		double before = INFINITY, worst = 1;
		unsigned wrong = 0;

		for (double memory = 800; memory < 1.5e5; memory *= 1.47) {
			struct reel_choice choice;

			costs.memory_bytes = (uint64_t)memory;
			choice = choose(&costs);
			worst = fmax(worst, choice.best.makespan / before);
			before = fmin(before, choice.best.makespan);
			wrong += !is_kept(&costs, &choice.best) ||
				 (choice.runner_up.segment_steps &&
				  !is_kept(&costs, &choice.runner_up));
		}
		ok(worst < 1.03, "disk %zu: more memory takes at most %g of the time", i, worst);
		is_int(wrong, 0, "each plan is right and fits");
	}
}

/* Chosen by slots alone, a period would grow with the memory, and reads would be waited for. */
static void periods_are_tried(void)
{
	struct reel_costs costs = {.steps = 300, .copy_seconds = 0.05, .state_bytes = 100,
				   .tape_bytes = 700, .memory_bytes = 1171, .tiers = 1,
				   .tier = {disks[1]}};
	double before = choose(&costs).best.makespan, now;

	costs.memory_bytes = 1417;
	now = choose(&costs).best.makespan;
	ok(now <= before, "%g s with little memory, %g s with more", before, now);
}

/* ---- All alternatives ---- */

struct alternatives {
	const struct reel_costs *costs;
	const struct reel_choice *choice;
	unsigned tried, better;
};

/* Returns true if the plan's slots, tapes and transfer buffers fit into the memory. */
static bool fits(const struct reel_costs *costs, const struct reel_prediction *way)
{
	int64_t tapes = way->segment_steps * (int64_t)way->tapes;
	int64_t states = way->problem.tier[0].slots +
			 (way->written_bytes[1] ? TRANSFER_BUFFERS : 0);

	if (tapes > costs->steps)
		tapes = costs->steps;
	return (uint64_t)states * costs->state_bytes + (uint64_t)tapes * costs->tape_bytes <=
	       costs->memory_bytes;
}

static void try_way(struct alternatives *all, struct reel_prediction way)
{
	if (reel_predict(all->costs, &way) || !fits(all->costs, &way))
		return;
	all->tried++;
	if (way.makespan >= all->choice->best.makespan * (1 - 1e-9))
		return;
	all->better++;
	tap_note("%s, %lld steps a segment, %lld slots, %u tapes, period %lld: %g s, chosen %g s",
		 reel_planner_name(way.planner), (long long)way.segment_steps,
		 (long long)way.problem.tier[0].slots, way.tapes, (long long)way.problem.period,
		 way.makespan, all->choice->best.makespan);
}

static void try_slots(struct alternatives *all, struct reel_prediction way)
{
	int64_t count = way.problem.steps;

	for (int p = REEL_BINOMIAL; p < REEL_ONLINE; p++) {
		way.planner = (enum reel_planner)p;
		way.problem.tape_states = 0;
		way.problem.period = 0;
		if (p == REEL_MIXED)
			way.problem.tape_states =
				((int64_t)all->costs->tape_bytes * way.segment_steps +
				 (int64_t)all->costs->state_bytes - 1) /
				(int64_t)all->costs->state_bytes;
		for (; way.problem.period < count; way.problem.period++) {
			try_way(all, way);
			if (p != REEL_TWO_LEVEL && p != REEL_PERIODIC)
				break;
		}
	}
}

/* The problem of a loop in segments of `each` steps, with `slots` slots in memory. */
static struct reel_problem segmented(const struct reel_costs *costs, int64_t each, int64_t slots)
{
	const struct reel_cost_tier *disk = &costs->tier[0];
	double state = (double)costs->state_bytes, unit = (double)each * costs->advance_seconds;
	int64_t disk_slots = (int64_t)(disk->bytes / costs->state_bytes);
	struct reel_problem problem =
		problem_of(reel_segment_count(costs->steps, each), slots, disk_slots,
			   (state / disk->write_bandwidth + disk->latency) / unit,
			   (state / disk->read_bandwidth + disk->latency) / unit);

	problem.tiers = 1 + costs->tiers;
	return problem;
}

static void try_lengths(struct alternatives *all)
{
	const struct reel_costs *costs = all->costs;

	for (int64_t each = 1; each < costs->steps; each++)
		for (unsigned tapes = 1; tapes <= costs->workers; tapes++)
			for (int64_t slots = 0; slots < costs->steps * 3; slots++)
				try_slots(all, (struct reel_prediction){
						       .tapes = tapes,
						       .segment_steps = each,
						       .problem = segmented(costs, each, slots)});
}

/* All kinds of short loops. */
static struct reel_costs short_loop(uint64_t n)
{
	struct reel_costs costs = {
		.steps = 2 + (int64_t)(scramble(n) % 10),
		.record_seconds = 1 + (double)(scramble(n + 100) % 3),
		.reverse_seconds = 1 + (double)(scramble(n + 200) % 3),
		.copy_seconds = (double)(n % 3) / 8,
		.state_bytes = 1 + scramble(n + 300) % 20,
		.tape_bytes = 1 + scramble(n + 400) % 20,
		.workers = n % 4 == 1 ? 3 : 1,
		.tiers = n % 2,
		.tier = {{.bytes = 40 + scramble(n + 500) % 200,
			  .write_bandwidth = 1 + (double)(scramble(n + 600) % 20),
			  .read_bandwidth = 1 + (double)(scramble(n + 700) % 20),
			  .latency = (double)(n % 5) / 4}},
	};

	costs.memory_bytes = costs.state_bytes + costs.tape_bytes + scramble(n + 800) % 60;
	return costs;
}

/* A loop whose tapes together fit nowhere, with a disk that holds some states. */
static struct reel_costs loop_beside_a_disk(uint64_t n)
{
	struct reel_costs costs = {
		.steps = 8 + (int64_t)(scramble(n) % 5),
		.record_seconds = 1 + (double)(scramble(n + 10000) % 2),
		.state_bytes = 20 + scramble(n + 20000) % 20,
		.tape_bytes = 100 + scramble(n + 30000) % 200,
		.tiers = 1,
		.tier = {{.bytes = 40 + scramble(n + 40000) % 300,
			  .write_bandwidth = 2 + (double)(scramble(n + 50000) % 40),
			  .read_bandwidth = 2 + (double)(scramble(n + 60000) % 40),
			  .latency = (double)(n % 5) / 4}},
	};

	costs.memory_bytes = 2 * costs.state_bytes + costs.tape_bytes + scramble(n + 70000) % 100;
	return costs;
}

static void nothing_is_better_for(struct reel_costs (*loop)(uint64_t), uint64_t first,
				  uint64_t last, const char *what)
{
	unsigned tried = 0, better = 0;

	for (uint64_t n = first; n < last; n += is_exhaustive() ? 1 : 5) {
		struct reel_costs costs = loop(n);
		struct reel_choice choice = choose(&costs);
		struct alternatives all = {&costs, &choice, 0, 0};

		costs = reel_costs_filled(&costs);
		try_lengths(&all);
		tried += all.tried;
		better += all.better;
	}
	is_int(better, 0, "%s: none of %u alternatives takes less time", what, tried);
	ok(tried > (is_exhaustive() ? 100 : 20), "there are many alternatives");
}

static void nothing_is_better_than_the_choice(void)
{
	nothing_is_better_for(short_loop, 0, 40, "short loops");
	nothing_is_better_for(short_loop, 220, 240, "where fewer slots are better");
	nothing_is_better_for(loop_beside_a_disk, 0, 20, "beside a disk");
	nothing_is_better_for(loop_beside_a_disk, 183, 193, "where hierarchical plans win");
}

/* Leaves out Disk-Revolve, which does not differ from the other planners in its times. */
static void each_planner_is_best_for_some_loop(void)
{
	unsigned best[REEL_PLANNERS] = {0};

	for (uint64_t n = 0; n < 200; n++) {
		struct reel_costs costs = loop_beside_a_disk(n);
		struct reel_choice choice = choose(&costs);

		best[choice.best.planner] +=
			choice.runner_up.makespan > choice.best.makespan * (1 + 1e-6);
	}
	for (int p = REEL_BINOMIAL; p <= REEL_PERIODIC; p++)
		if (p != REEL_DISK_REVOLVE)
			ok(best[p] > 0, "%s: %u times", reel_planner_name((enum reel_planner)p),
			   best[p]);
}

/* Three steps take two advances, both in two segments and in three. */
static void of_equal_times_the_one_with_less_memory_is_taken(void)
{
	struct reel_costs costs = {
		.steps = 3, .state_bytes = 1, .tape_bytes = 20, .memory_bytes = 59};
	struct reel_choice choice = choose(&costs);

	is_int(choice.best.planner, REEL_MIXED, "two tapes and a state");
	is_int(choice.runner_up.planner, REEL_BINOMIAL, "the runner-up has two advances");
	is_int(choice.runner_up.peak_memory_bytes, 22, "the runner-up has the tape of one step");
}

static void long_loops_are_planned_too(void)
{
	struct reel_costs costs = {.steps = 1000000000, .record_seconds = 2, .state_bytes = 1 << 20,
				   .tape_bytes = 1 << 24, .memory_bytes = (uint64_t)1 << 36};
	struct reel_choice choice = choose(&costs);

	ok(choice.best.planner == REEL_BINOMIAL && is_kept(&costs, &choice.best),
	   "10^9 steps with memory for 4096 of their tapes");
	costs.steps = (int64_t)1 << 40;
	costs.memory_bytes = (uint64_t)1 << 50;
	choice = choose(&costs);
	ok(is_kept(&costs, &choice.best), "2^40 steps");
	ok(choice.best.problem.steps <= 1 << 20, "a long loop has at most 2^20 segments");
}

int main(void)
{
	tap_begin();
	all_tapes_are_kept_where_they_fit();
	memory_is_touched_once();
	a_byte_less_and_one_step_is_run_again();
	long_loops_use_the_disk();
	a_sweep_that_spills_takes_the_longer_of_two_times();
	workers_record_ahead_of_the_reverse_chain();
	workers_who_would_wait_are_not_asked_for();
	transfers_go_on_beside_the_loop();
	the_last_segment_is_shorter();
	segments_are_as_long_as_the_rule_says();
	small_states_leave_room_for_tapes();
	too_little_memory_is_refused_with_the_least_that_would_do();
	wrong_costs_are_refused();
	what_is_chosen_can_be_planned();
	the_shortest_loops_are_planned();
	more_memory_never_takes_longer();
	with_slower_tiers_it_is_some_hundredths_at_most();
	periods_are_tried();
	nothing_is_better_than_the_choice();
	each_planner_is_best_for_some_loop();
	of_equal_times_the_one_with_less_memory_is_taken();
	long_loops_are_planned_too();
	return tap_end();
}
