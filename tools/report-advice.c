/* SPDX-License-Identifier: MIT */
/* What a report says in words: what was slow, and which setting would help. Each rule has its figure. */
#include "config.h"

#include <stdio.h>

#include "profile.h"
#include "report.h"

/* Waits of a smaller part of the time are not worth a sentence. */
#define MIN_SHARE 0.03

struct wait {
	enum activity activity;
	const char *format; /* of the seconds, and of the share in percent */
};

static const struct wait waits[] = {
	{WAITING_FOR_MEMORY,
	 "Pushes waited %.3g s for memory, %.0f %% of the time of the thread that waited longest: the store "
	 "took less than the sweep pushed. A faster store, compression (REEL_STORE=lz4,file), or a larger "
	 "budget (REEL_BUDGET) shortens that; so does a profile (REEL_PROFILE) that says which lines push."},
	{WAITING_FOR_SLAB,
	 "Pops waited %.3g s for slabs that the store had, %.0f %% of the time of the thread that waited "
	 "longest. A larger budget keeps more of them in memory; on the way down the store is read ahead, so "
	 "where it is busy all the time a faster one, or compression, helps as well."},
	{WAITING_FOR_PUTS,
	 "Threads waited %.3g s until the store had taken what they had written, %.0f %% of the time of the "
	 "thread that waited longest: a faster store, or more slots in memory for the plan."},
	{WAITING_FOR_THREADS,
	 "Threads waited %.3g s for each other between phases, %.0f %% of the time of the thread that waited "
	 "longest: lanes differ in length, or phases are short. More lanes than threads even out the former; "
	 "REEL_PARALLEL_FOR chooses one thread where phases are too short for more."},
	{WAITING_FOR_RANK,
	 "Reverse calls waited %.3g s for other ranks, %.0f %% of the time of the thread that waited longest: "
	 "ranks have more or less to do, or messages are many and short."},
};

static double seconds_of(const struct report *report)
{
	return 1e-9 * (report->end_ns - report->begin_ns);
}

static void busiest(const struct report *report, enum activity activity, double *all, double *most)
{
	*all = *most = 0;
	for (int i = 0; i < report->tracks; i++) {
		double seconds = report->track[i].busy[activity];

		*all += seconds;
		*most = seconds > *most ? seconds : *most;
	}
}

static double max_budget(const struct report *report)
{
	double max = 0;

	for (int i = 0; i < report->budgets; i++)
		max = report->budget[i].hard_budget > max ? report->budget[i].hard_budget : max;
	return max;
}

/* The part of the time in which at least one transfer is under way, as far as the bins tell. */
static double store_share(const struct report *report)
{
	double busy = 0;

	for (int bin = 0; bin < BINS; bin++) {
		double most = 0;

		for (int i = 0; i < report->tracks; i++) {
			const struct track *track = &report->track[i];

			most += track->bin[PUTTING][bin] + track->bin[GETTING][bin];
		}
		busy += most < 1 ? most : 1;
	}
	return busy / BINS;
}

static int advise_on_waits(const struct report *report, void (*say)(const char *sentence))
{
	char text[768];
	int said = 0;

	for (unsigned i = 0; i < sizeof waits / sizeof *waits; i++) {
		double all, most;

		busiest(report, waits[i].activity, &all, &most);
		if (most < MIN_SHARE * seconds_of(report))
			continue;
		snprintf(text, sizeof text, waits[i].format, all, 100 * most / seconds_of(report));
		say(text);
		said++;
	}
	return said;
}

static int advise_on_store(const struct report *report, void (*say)(const char *sentence))
{
	const struct sum *put = report_sum(report, "put"), *get = report_sum(report, "get");
	int64_t failed = report_sum(report, "failed put")->count +
			 report_sum(report, "failed get")->count;
	char text[512], written[16], stored[16], budget[16];
	int said = 0;

	if (failed) {
		snprintf(text, sizeof text,
			 "The store failed %lld transfers. What could not be written stayed in memory, and "
			 "what could not be read was asked for again; errors of the tapes say what was lost.",
			 (long long)failed);
		say(text);
		said++;
	}
	if (store_share(report) > 0.9 && put->count) {
		snprintf(text, sizeof text,
			 "The store was busy %.0f %% of the time (%s bytes written as %s, and %s budget): it "
			 "decides how long this takes. Compression, a faster disk or a larger budget helps; "
			 "more threads do not.",
			 100 * store_share(report), bytes_text(put->bytes, written),
			 bytes_text(put->stored_bytes, stored),
			 bytes_text((int64_t)max_budget(report), budget));
		say(text);
		said++;
	}
	if (put->count && !get->count) {
		snprintf(text, sizeof text,
			 "%s bytes were written to the store and none were read back: a budget that is larger "
			 "by a little would have kept them in memory.",
			 bytes_text(put->bytes, written));
		say(text);
		said++;
	}
	return said;
}

static int advise_on_plan(const struct report *report, void (*say)(const char *sentence))
{
	double advance = report_sum(report, "advance")->ns, record = report_sum(report, "record")->ns;
	double reverse = report_sum(report, "reverse")->ns, all = advance + record + reverse;
	char text[512];

	if (all <= 0 || advance < 0.25 * all)
		return 0;
	snprintf(text, sizeof text,
		 "Advancing from stored states took %.3g s, %.0f %% of the time of the plan's actions. More "
		 "slots for states, in memory or on a disk, have fewer steps run again: `reel plan` says how "
		 "many for how much memory.",
		 1e-9 * advance, 100 * advance / all);
	say(text);
	return 1;
}

static int advise_on_refusals(const struct report *report, void (*say)(const char *sentence))
{
	int64_t refused = report_sum(report, "refused")->count;
	char text[256];

	if (!refused)
		return 0;
	snprintf(text, sizeof text,
		 "%lld requests for memory were refused at the hard budget: raise REEL_BUDGET, or give the pool "
		 "a store (REEL_SPILL_DIR).",
		 (long long)refused);
	say(text);
	return 1;
}

void report_advise(const struct report *report, void (*say)(const char *sentence))
{
	int said = advise_on_refusals(report, say) + advise_on_waits(report, say) +
		   advise_on_store(report, say) + advise_on_plan(report, say);

	if (!said)
		say("Nothing here waits for long: neither the budget, the store, the plan nor the threads "
		    "hold this run up.");
	if (report->dropped)
		say("The beginning is missing: the trace was full. A larger REEL_TRACE_SIZE keeps more.");
}
