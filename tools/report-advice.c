/* SPDX-License-Identifier: MIT */
/*
 * Advice of a report: sentences that name the slow parts and which setting would help. Each rule
 * gives the figure that it follows from.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include <reel/plan.h>

#include "profile.h"
#include "report.h"

/* Waits of a smaller part of the time are not worth a sentence. */
#define MIN_SHARE 0.03

struct wait {
	enum activity activity;
	const char *format; /* of the seconds, and of the share in percent */
};

static const struct wait waits[] = {
	{WAITING_FOR_MEMORY, "Pushes waited %s for memory, %.0f %% of the time of the thread that "
			     "waited longest: the store "
			     "took less than the sweep pushed. A faster store, compression "
			     "(REEL_STORE=lz4,file), or a larger "
			     "budget (REEL_BUDGET) shortens that; a profile (REEL_PROFILE) says "
			     "which lines push most."},
	{WAITING_FOR_SLAB,
	 "Pops waited %s for slabs that the store had, %.0f %% of the time of the thread that "
	 "waited "
	 "longest. A larger budget keeps more of them in memory; on the way down the store is read "
	 "ahead, so "
	 "where it is busy all the time a faster one, or compression, helps as well."},
	{WAITING_FOR_PUTS,
	 "Threads waited %s until the store had taken their data, %.0f %% of the time of the "
	 "thread that waited longest: a faster store, or more slots in memory for the plan."},
	{WAITING_FOR_THREADS,
	 "Threads waited %s for each other between phases, %.0f %% of the time of the thread that "
	 "waited "
	 "longest: lanes differ in length, or phases are short. More lanes than threads even out "
	 "the former; "
	 "REEL_PARALLEL_FOR chooses one thread where phases are too short for more."},
	{WAITING_FOR_RANK, "Calls of MPI waited %s for other ranks, %.0f %% of the time of the "
			   "thread that waited longest: "
			   "ranks have more or less to do, or messages are many and short."},
};

static void busiest(const struct report *report, enum activity activity, double *all, double *most)
{
	*all = *most = 0;
	for (int i = 0; i < report->tracks; i++) {
		double seconds = report->track[i].busy[activity];

		*all += seconds;
		*most = seconds > *most ? seconds : *most;
	}
}

/*
 * Returns the pool with the largest peak, of those that a slightly larger budget would keep in
 * memory; NULL: there is none.
 */
static const struct series *tight_pool(const struct report *report)
{
	const struct series *tight = NULL;

	for (int i = 0; i < report->in_use.count; i++) {
		const struct series *pool = &report->in_use.one[i];

		if (pool->greatest > pool->hard_budget &&
		    pool->greatest < 1.25 * pool->hard_budget &&
		    (!tight || pool->greatest > tight->greatest))
			tight = pool;
	}
	return tight;
}

static int advise_on_waits(const struct report *report, void (*say)(const char *sentence))
{
	char text[768], seconds[24];
	int said = 0;

	for (unsigned i = 0; i < sizeof waits / sizeof *waits; i++) {
		double all, most;

		busiest(report, waits[i].activity, &all, &most);
		if (most < MIN_SHARE * report_seconds(report))
			continue;
		snprintf(text, sizeof text, waits[i].format, report_text(SECONDS, all, seconds),
			 100 * most / report_seconds(report));
		say(text);
		said++;
	}
	return said;
}

static int advise_on_store(const struct report *report, void (*say)(const char *sentence))
{
	const struct sum *put = report_sum(report, "put");
	const struct series *tight = tight_pool(report);
	int64_t failed = report_sum(report, "failed put")->count +
			 report_sum(report, "failed get")->count;
	char text[512], written[16], stored[16];
	int said = 0;

	if (failed) {
		snprintf(text, sizeof text,
			 "The store failed %lld transfers. Slabs that could not be written stayed "
			 "in memory, and "
			 "failed reads were repeated; errors of the tapes name lost slabs.",
			 (long long)failed);
		say(text);
		said++;
	}
	if (report->store_busy > 0.9 && put->count) {
		snprintf(text, sizeof text,
			 "The store was busy %.0f %% of the time (%s bytes written as %s): it "
			 "decides how long "
			 "this takes. Compression, a faster disk or a larger budget helps; more "
			 "threads do "
			 "not.",
			 100 * report->store_busy, bytes_text(put->bytes, written),
			 bytes_text(put->stored_bytes, stored));
		say(text);
		said++;
	}
	if (put->count && tight) {
		snprintf(text, sizeof text,
			 "Tapes, parcels and snapshots had %s bytes at their peak, a little more "
			 "than the budget of %s: "
			 "with REEL_BUDGET=%.0fM nothing is written to the store.",
			 bytes_text((int64_t)tight->greatest, written),
			 bytes_text((int64_t)tight->hard_budget, stored),
			 ceil(1.4 * tight->greatest / (1 << 20)));
		say(text);
		said++;
	}
	return said;
}

/*
 * Returns how many steps were advanced again. Each reverse sweep that has ended had a forward
 * sweep, which advances each step once, whatever the plan is.
 */
static double advanced_again(const struct report *report)
{
	double again = report->steps[ADVANCING];

	for (int i = 0; i < report->loops; i++)
		again -= report->loop[i].steps * fmax(report->loop[i].runs, 1);
	return fmax(again, 0);
}

static int advise_on_plan(const struct report *report, void (*say)(const char *sentence))
{
	double advance = report_sum(report, "advance")->ns;
	double record = report_sum(report, "record")->ns;
	double reverse = report_sum(report, "reverse")->ns, all = advance + record + reverse;
	double again = advanced_again(report);
	char text[512], seconds[24];

	if (all <= 0 || report->steps[ADVANCING] <= 0)
		return 0;
	advance *= again / report->steps[ADVANCING];
	if (advance < 0.2 * all)
		return 0;
	snprintf(text, sizeof text,
		 "Steps that were advanced again from stored states took about %s, %.0f %% of the "
		 "time of "
		 "the plan's actions. More slots for states, in memory or on a disk, have fewer "
		 "steps run "
		 "again: `reel plan` says how many for how much memory.",
		 report_text(SECONDS, 1e-9 * advance, seconds), 100 * advance / all);
	say(text);
	return 1;
}

/* Seconds that a step took in an action of the plan. */
static double seconds_a_step(const struct report *report, enum activity kind)
{
	double ns = report_sum(report, report_activities[kind].name)->ns;

	return report->steps[kind] > 0 ? 1e-9 * ns / report->steps[kind] : 0;
}

/* The best fixed plan by the costs of this run, and the time that the plan took. */
static void compare_with_fixed(const struct report *report, void (*say)(const char *sentence))
{
	const struct learnt *learnt = &report->learnt;
	const struct sum *put = report_sum(report, "put");
	struct reel_costs costs = {
		.steps = (int64_t)report->loop[0].steps,
		.advance_seconds = seconds_a_step(report, ADVANCING),
		.record_seconds = seconds_a_step(report, RECORDING),
		.reverse_seconds = seconds_a_step(report, REVERSING),
		.state_bytes = (uint64_t)learnt->state_bytes,
		.tape_bytes = (uint64_t)learnt->tape_bytes,
		.memory_bytes = (uint64_t)learnt->memory_bytes,
		.tiers = put->ns > 0,
	};
	double runs = fmax(report->loop[0].runs, 1), seconds = 0;
	struct reel_choice choice;
	char text[512], took[24], best[24];

	if (costs.tiers)
		costs.tier[0].write_bandwidth = costs.tier[0].read_bandwidth =
			(double)put->bytes / (1e-9 * put->ns);
	for (int kind = 0; kind < PLANNED_ACTIVITIES; kind++)
		seconds += report->steps[kind] * seconds_a_step(report, (enum activity)kind) / runs;
	if (reel_costs_choose(&costs, &choice))
		return;
	snprintf(text, sizeof text,
		 "The actions of the plan took %s in a gradient. By these costs the best fixed "
		 "plan takes %s: %s, of segments of %lld steps%s.",
		 report_text(SECONDS, seconds, took),
		 report_text(SECONDS, choice.best.makespan, best),
		 reel_planner_name(choice.best.planner), (long long)choice.best.segment_steps,
		 choice.best.spills ? ", spilled" : "");
	say(text);
}

/* A plan that learns says how it came to its choices. */
static void tell_what_was_learnt(const struct report *report, void (*say)(const char *sentence))
{
	const struct learnt *learnt = &report->learnt;
	char text[512], state[24], tape[24], memory[24], moved[64] = "It recorded all steps.";

	if (learnt->step < 0 || report->loops != 1)
		return;
	if (learnt->first_advance >= 0)
		snprintf(moved, sizeof moved, "From step %.0f on it kept states.",
			 learnt->first_advance);
	snprintf(text, sizeof text,
		 "The plan learnt until step %.0f: a state of %s bytes and a tape of %s, in memory "
		 "of %s. %s It gave up the tape of %.0f steps.",
		 learnt->step, report_text(BYTES, learnt->state_bytes, state),
		 report_text(BYTES, learnt->tape_bytes, tape),
		 report_text(BYTES, learnt->memory_bytes, memory), moved, learnt->forgotten);
	say(text);
	compare_with_fixed(report, say);
}

static void tell_what_was_saved(const struct report *report, void (*say)(const char *sentence))
{
	const struct sum *rounded = report_sum(report, "states rounded");
	char text[256], before[16], after[16];

	if (!rounded->count || !rounded->stored_bytes)
		return;
	snprintf(text, sizeof text,
		 "Stored states were rounded, and took up 1/%.1f of their bytes: %s of %s.",
		 (double)rounded->bytes / (double)rounded->stored_bytes,
		 bytes_text(rounded->stored_bytes, after), bytes_text(rounded->bytes, before));
	say(text);
	if (!(report->bound.gradients > 0))
		return;
	snprintf(text, sizeof text,
		 "The gradient is off by at most %.1e of its largest component, after %.0f "
		 "gradients.", report->bound.error, report->bound.gradients);
	say(text);
}

static int advise_on_refusals(const struct report *report, void (*say)(const char *sentence))
{
	int64_t refused = report->refused_by_budget;
	char text[256];

	if (!refused)
		return 0;
	snprintf(text, sizeof text,
		 "%lld requests for memory were refused at the hard budget: raise REEL_BUDGET, or "
		 "give the pool "
		 "a store (REEL_SPILL_DIR).",
		 (long long)refused);
	say(text);
	return 1;
}

void report_advise(const struct report *report, void (*say)(const char *sentence))
{
	int said = advise_on_refusals(report, say) + advise_on_waits(report, say) +
		   advise_on_store(report, say) + advise_on_plan(report, say);

	tell_what_was_learnt(report, say);
	tell_what_was_saved(report, say);
	if (!said)
		say("Nothing here waits for long: neither the budget, the store, the plan nor the "
		    "threads "
		    "hold this run up.");
	if (report->in_use.count > MAX_SHOWN) {
		char text[96];

		snprintf(text, sizeof text,
			 "Of %d pools, the page shows the memory of the first %d.",
			 report->in_use.count, MAX_SHOWN);
		say(text);
	}
	if (report->dropped)
		say("The beginning is missing: the trace was full. REEL_TRACE=FILE,SIZE with a "
		    "larger SIZE keeps more.");
}
