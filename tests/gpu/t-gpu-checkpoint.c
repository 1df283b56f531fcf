/* SPDX-License-Identifier: MIT */
/* Snapshots of checkpointed sweeps go to a GPU as a tier of the plan, on the fake device. */
#include <config.h>

#include "helpers/gpu-support.h"
#include "os/os.h"
#include "helpers/recurrence.h"

enum { STEPS = 40, SLOTS = 3 };

enum behind { NOTHING, MEMORY };

static struct reel_gpu_stats stats;
static size_t registered_bytes;

/* Tier 0 is memory. Tier 1 is the GPU, with another store behind it for refused puts. */
static bool gradient_is_right(uint64_t random, enum reel_planner planner, uint64_t slots,
			      enum behind behind, struct reel_run_stats *of_run)
{
	struct reel_run_options options = {.puts = 2, .gets = 2};
	struct state state = start, bar = seed, wanted;
	struct run counts = no_failure;
	reel_plan *plan = plan_for(planner, STEPS, SLOTS);
	reel_store *leaf;
	reel_run *run;
	bool right;

	open_fake((struct fake_options){.seed = random, .late = random % 3 == 1});
	options.store[1] = gpu_store(slots * 512, 512, 2, &leaf);
	if (behind == MEMORY)
		options.store[1] = before_memory(options.store[1]);
	wanted = gradient_by_one_tape(no_failure, STEPS);
	run = open_checkpoint(plan, &copied, &options);
	right = !reel_run_forward(run, &counts, &state) &&
		!reel_run_reverse(run, &counts, &state, &bar);
	reel_run_get_stats(run, of_run);
	reel_gpu_get_stats(leaf, &stats);
	registered_bytes = fake_device_registered_bytes();
	reel_run_close(run);
	reel_plan_close(plan);
	right &= !memcmp(&bar, &wanted, sizeof bar);
	right &= !fake_device_wrongs() && !fake_device_pageable_bytes();
	return close_fake() && right;
}

static void tiers_on_the_device(enum reel_planner planner)
{
	unsigned seeds = is_brief() ? 5 : 40, wrong = 0;
	struct reel_run_stats of_run;
	uint64_t copied_bytes = 0, gets = 0;

	for (unsigned random = 0; random < seeds; random++) {
		wrong += !gradient_is_right(random, planner, 64, MEMORY, &of_run);
		wrong += stats.puts == 0;
		gets += stats.gets;
		copied_bytes += stats.copied_bytes;
	}
	is_int(wrong, 0, "fake device: %s, with a tier there, %u seeds", reel_planner_name(planner),
	       seeds);
	ok(gets > 0, "fake device: %llu snapshots came back from it", (unsigned long long)gets);
	is_int(copied_bytes, 0, "fake device: buffers of snapshots travel without a copy");
}

static void what_it_has_no_room_for_goes_on(void)
{
	struct reel_run_stats of_run;

	ok(gradient_is_right(7, REEL_HIERARCHICAL, 2, MEMORY, &of_run),
	   "fake device: with room for two snapshots the others go to the next store");
	ok(stats.puts > 0 && of_run.failed_puts == 0 && of_run.put_bytes > stats.put_bytes,
	   "fake device: %llu bytes of %llu go to it", (unsigned long long)stats.put_bytes,
	   (unsigned long long)of_run.put_bytes);
}

/* The memory of snapshots goes back to the pool, and from there perhaps to the system. */
static void memory_of_snapshots_is_released(void)
{
	struct reel_run_stats of_run;
	bool right = gradient_is_right(8, REEL_MULTISTAGE, 1, NOTHING, &of_run);

	ok(right && of_run.failed_puts > 0,
	   "fake device: snapshots that it refuses stay in memory, after %llu puts in vain",
	   (unsigned long long)of_run.failed_puts);
	/* Four idle buffers, and that of a snapshot which is dropped when it has arrived. */
	ok(registered_bytes <= 5 * reel_os_page_bytes(),
	   "fake device: in the end only memory that is kept is pinned: %zu bytes",
	   registered_bytes);
}

int main(void)
{
	tap_begin();
	tiers_on_the_device(REEL_HIERARCHICAL);
	tiers_on_the_device(REEL_MULTISTAGE);
	what_it_has_no_room_for_goes_on();
	memory_of_snapshots_is_released();
	return tap_end();
}
