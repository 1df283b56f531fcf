/* SPDX-License-Identifier: MIT */
/* Tests the store on a real GPU. Without a device the test is skipped. */
#include <config.h>

#include <reel/gpu.h>

#include "helpers/pool-support.h"
#include "helpers/store-suite.h"

#define SLAB ((size_t)2 << 20)
#define PAST_THE_BUDGET 24

static struct reel_gpu_device device;

static reel_store *open_leaf(uint64_t bytes, size_t slot_bytes)
{
	struct reel_gpu_store_options options = {.bytes = bytes, .slot_bytes = slot_bytes};
	reel_store *store;

	return reel_store_gpu_open(&store, &options) ? NULL : store;
}

static reel_store *open_alone(void)
{
	return open_leaf(2 * SUITE_TOTAL_BYTES, SUITE_MAX_BYTES);
}

static reel_store *open_checked(void)
{
	reel_store *leaf = open_alone(), *store;

	return leaf && !reel_store_checksum_open(&store, leaf) ? store : NULL;
}

static void a_tape_spills_to_it(void)
{
	reel_store *leaf = open_leaf(64 * SLAB, SLAB);
	struct reel_pool_options options = {.hard_budget = 8 * SLAB, .store = leaf};
	uint64_t words = PAST_THE_BUDGET * SLAB / 8;
	struct reel_gpu_stats stats;
	reel_pool *pool;
	reel_tape tape;

	if (!ok(leaf, "ran on %s: a store opens", device.name)) {
		tap_note("%s", reel_error_text(0));
		return;
	}
	pool = open_pool(options);
	for (unsigned turn = 0; turn < 2; turn++) {
		tape = open_tape(pool, 0);
		push_words(&tape, 0, words);
		is_int(wrong_words(&tape, 0, words), 0, "ran on %s: a tape comes back", device.name);
		reel_tape_close(&tape);
		reel_pool_trim(pool, turn ? SIZE_MAX : 0);
	}
	reel_gpu_get_stats(leaf, &stats);
	ok(stats.puts > PAST_THE_BUDGET - 8 && stats.gets > PAST_THE_BUDGET - 8,
	   "ran on %s: %llu slabs went there, %llu came back", device.name,
	   (unsigned long long)stats.puts, (unsigned long long)stats.gets);
	is_int(stats.copied_bytes, 0, "ran on %s: slabs travel without a copy", device.name);
	is_string(stats.problem, "", "ran on %s: the driver reported no error", device.name);
	close_pool(pool, "a tape on a GPU");
}

int main(void)
{
	char name[160];

	tap_begin();
	if (reel_gpu_describe(0, &device))
		tap_skip_all("no device: %s", reel_error_text(0));
	snprintf(name, sizeof name, "ran on %s: gpu", device.name);
	store_suite(name, open_alone);
	snprintf(name, sizeof name, "ran on %s: checksum(gpu)", device.name);
	store_suite(name, open_checked);
	a_tape_spills_to_it();
	return tap_end();
}
