/* SPDX-License-Identifier: MIT */
#include "account.h"

#include <math.h>
#include <stdio.h>

#include <reel.h>

static const char *plural(int64_t number)
{
	return number == 1 ? "" : "s";
}

static void print_plan(const struct layout *layout)
{
	const struct reel_problem *problem = &layout->problem;

	printf("Plan            %s", reel_planner_name(layout->planner));
	if (problem->tiers)
		printf(", %lld state%s in memory", (long long)problem->tier[0].slots,
		       plural(problem->tier[0].slots));
	if (layout->has_disk && problem->tier[1].slots > layout->segments)
		printf(", any number on the disk");
	else if (layout->has_disk)
		printf(", %lld on the disk", (long long)problem->tier[1].slots);
	if (layout->spills)
		printf(", what exceeds the budget on the disk");
	printf("; %lld segment%s of %lld step%s\n", (long long)layout->segments,
	       plural(layout->segments), (long long)layout->segment, plural(layout->segment));
}

static void print_count(const char *what, uint64_t planned, uint64_t done)
{
	if (planned || done)
		printf("  %-22s %10llu %10llu\n", what, (unsigned long long)planned,
		       (unsigned long long)done);
}

static void print_counts(const struct counts *planned, const struct counts *done)
{
	static const char *const tier[] = {"memory", "disk"};

	printf("                            planned       done\n");
	print_count("steps run", (uint64_t)planned->advanced, (uint64_t)done->advanced);
	print_count("steps run and recorded", (uint64_t)planned->recorded,
		    (uint64_t)done->recorded);
	print_count("steps reversed", (uint64_t)planned->reversed, (uint64_t)done->reversed);
	for (int t = 0; t < 2; t++) {
		char what[32];

		snprintf(what, sizeof(what), "states stored, %s", tier[t]);
		print_count(what, planned->stores[t], done->stores[t]);
		snprintf(what, sizeof(what), "states loaded, %s", tier[t]);
		print_count(what, planned->loads[t], done->loads[t]);
	}
}

static void print_memory(const struct checkpointing_use *use, uint64_t full_tape_bytes)
{
	printf("Memory          at most %.1f MB of states and %.1f MB of tape, %.1f MB in all; "
	       "the whole tape has %.1f MB\n", (double)use->snapshot_bytes / 1e6,
	       (double)use->tape_bytes / 1e6, (double)use->resident_bytes / 1e6,
	       (double)full_tape_bytes / 1e6);
	if (use->disk_bytes)
		printf("Disk            %.1f MB written, %llu wait%s, %.2f s\n",
		       (double)use->disk_bytes / 1e6, (unsigned long long)use->waits,
		       plural((int64_t)use->waits), use->wait_seconds);
}

static void print_costs(const struct costs *costs, int has_disk)
{
	printf("Measured        a step takes %.3g ms to run, %.3g to record, %.3g to reverse; a "
	       "state %.2g ms to copy", 1e3 * costs->advance, 1e3 * costs->record,
	       1e3 * costs->reverse, 1e3 * costs->copy);
	if (has_disk)
		printf(", %.2g to the disk, %.2g back", 1e3 * costs->disk_write,
		       1e3 * costs->disk_read);
	puts("");
}

static void print_way(const struct choice *way)
{
	const struct layout *layout = &way->layout;

	printf("%s", reel_planner_name(layout->planner));
	if (layout->spills)
		printf(", spilled");
	if (layout->problem.tiers)
		printf(" of %lld states", (long long)layout->problem.tier[0].slots);
	if (layout->has_disk)
		printf(" and %lld on the disk", (long long)layout->problem.tier[1].slots);
}

static void print_prediction(const struct checkpointing_use *use, double seconds)
{
	printf("Makespan        predicted %.2f s, took %.2f s: %+.1f %%\n", use->choice.seconds,
	       seconds, 100.0 * (seconds / use->choice.seconds - 1.0));
	if (!isfinite(use->runner_up.seconds))
		return;
	printf("Runner-up       ");
	print_way(&use->runner_up);
	printf(": %.2f s, %+.1f %%\n", use->runner_up.seconds,
	       100.0 * (use->runner_up.seconds / use->choice.seconds - 1.0));
}

void account_print(const struct checkpointing_use *use, uint64_t full_tape_bytes, double seconds,
		   int audited)
{
	print_plan(&use->layout);
	print_counts(&use->planned, &use->done);
	print_memory(use, full_tape_bytes);
	if (use->is_measured) {
		print_costs(&use->costs, use->costs.disk_write > 0.0);
		print_prediction(use, seconds);
	}
	if (audited)
		puts("Audit           all states that were reached again are bitwise the same");
}
