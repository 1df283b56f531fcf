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
	if (layout->planner != REEL_STORE_ALL && !layout_learns(layout))
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

/* The counts of a plan that learns are not known beforehand. */
static void print_count(const struct layout *layout, const char *what, uint64_t planned,
			uint64_t done)
{
	if (!planned && !done)
		return;
	printf("  %-22s", what);
	if (!layout_learns(layout))
		printf(" %10llu", (unsigned long long)planned);
	printf(" %10llu\n", (unsigned long long)done);
}

static void print_counts(const struct checkpointing_use *use)
{
	static const char *const tier[] = {"memory", "disk"};
	const struct layout *layout = &use->layout;
	const struct counts *planned = &use->planned, *done = &use->done;

	if (!layout_learns(layout))
		printf("                            planned       done\n");
	print_count(layout, "steps run", (uint64_t)planned->advanced, (uint64_t)done->advanced);
	print_count(layout, "steps run and recorded", (uint64_t)planned->recorded,
		    (uint64_t)done->recorded);
	print_count(layout, "steps reversed", (uint64_t)planned->reversed,
		    (uint64_t)done->reversed);
	for (int t = 0; t < 2; t++) {
		char what[32];

		snprintf(what, sizeof(what), "states stored, %s", tier[t]);
		print_count(layout, what, planned->stores[t], done->stores[t]);
		snprintf(what, sizeof(what), "states loaded, %s", tier[t]);
		print_count(layout, what, planned->loads[t], done->loads[t]);
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

void account_print(const struct checkpointing_use *use, uint64_t full_tape_bytes, int audited,
		   const struct digits *digits)
{
	print_plan(&use->layout);
	print_counts(use);
	if (use->gpu.name)
		print_gpu(use, full_tape_bytes);
	else
		print_memory(use, full_tape_bytes);
	print_disk(use);
	if (digits)
		digits_print(digits, use->rounded_bytes, use->kept_bytes);
	else if (use->rounded_bytes)
		printf("Rounding        states in 1/%.0f of their bytes\n",
		       (double)use->rounded_bytes / (double)use->kept_bytes);
	print_look_ahead(&use->look_ahead);
	if (audited)
		puts("Audit           all states that were reached again are bitwise the same");
}
