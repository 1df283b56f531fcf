/* SPDX-License-Identifier: MIT */
#include "account.h"

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
	if (layout->planner != REEL_STORE_ALL)
		printf(", %lld %s%s in memory", (long long)problem->tier[0].slots,
		       layout->planner == REEL_MIXED ? "slot" : "state",
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
}

static void print_gpu(const struct checkpointing_use *use, uint64_t full_tape_bytes)
{
	printf("Device          %s: at most %.1f MB of tape in %.1f MB of its memory; %llu "
	       "segment%s recorded again for want of it\n", use->gpu.name,
	       (double)use->gpu.tape_bytes / 1e6, (double)use->gpu.memory_bytes / 1e6,
	       (unsigned long long)use->gpu.repeats, plural((int64_t)use->gpu.repeats));
	printf("Memory          at most %.1f MB of states; the whole tape has %.1f MB\n",
	       (double)use->snapshot_bytes / 1e6, (double)full_tape_bytes / 1e6);
}

static void print_disk(const struct checkpointing_use *use)
{
	if (use->disk_bytes)
		printf("Disk            %.1f MB written, %llu wait%s, %.2f s\n",
		       (double)use->disk_bytes / 1e6, (unsigned long long)use->waits,
		       plural((int64_t)use->waits), use->wait_seconds);
}

static void print_look_ahead(const struct look_ahead *use)
{
	if (use->threads)
		printf("Look-ahead      %d thread%s recorded %lld segment%s ahead, on up to %lld "
		       "tape%s at once\n", use->threads, plural(use->threads),
		       (long long)use->ahead, plural(use->ahead), (long long)use->max_tapes,
		       plural(use->max_tapes));
}

static void print_costs(const struct reel_costs *costs)
{
	printf("Measured        a step takes %.3g ms to run, %.3g to record, %.3g to reverse; a "
	       "state %.2g ms to copy, a MB of new memory %.2g ms", 1e3 * costs->advance_seconds,
	       1e3 * costs->record_seconds, 1e3 * costs->reverse_seconds,
	       1e3 * costs->copy_seconds, 1e9 * costs->touch_seconds);
	if (costs->tiers)
		printf("; the disk takes %.3g MB a second and gives %.3g",
		       costs->tier[0].write_bandwidth / 1e6, costs->tier[0].read_bandwidth / 1e6);
	puts("");
}

static void print_choice(const struct reel_choice *choice, double seconds)
{
	double predicted = choice->best.makespan;

	printf("Makespan        predicted %.2f s, took %.2f s: %+.1f %%\n", predicted, seconds,
	       100.0 * (seconds / predicted - 1.0));
	printf("Runner-up       %s\n", choice->reason);
}

void account_print(const struct checkpointing_use *use, uint64_t full_tape_bytes, double seconds,
		   int audited)
{
	print_plan(&use->layout);
	print_counts(&use->planned, &use->done);
	if (use->gpu.name)
		print_gpu(use, full_tape_bytes);
	else
		print_memory(use, full_tape_bytes);
	print_disk(use);
	print_look_ahead(&use->look_ahead);
	if (use->is_measured) {
		print_costs(&use->costs);
		print_choice(&use->choice, seconds);
	}
	if (audited)
		puts("Audit           all states that were reached again are bitwise the same");
}
