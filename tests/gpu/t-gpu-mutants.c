/* SPDX-License-Identifier: MIT */
/*
 * Programs leave out one call of the driver: each event, each wait and each copy of a store on the
 * GPU in turn. The fake device carries out copies as late as the other calls permit, so that the
 * device, an error or the values must show that the call is missing. Behind a checksum no value may
 * be wrong without an error. Races of other projects:
 *
 *	left out             the race                             where it was
 *	record or wait       memory is used again while a copy    torchtitan PR 2581, trl PR 7195
 *	after a put          reads it,
 *	                     or is freed,                         torchtune#1867
 *	                     or a get is before its put           Megatron-LM#7398
 *	record or wait       data is used before it has come      DeepSpeed#8186, cosmos-rl#317
 *	after a get
 *
 * t-device-drain.cpp does the same with an arena and its kernels.
 */
#include <config.h>

#include "helpers/gpu-support.h"
#include "helpers/mutants.h"
#include "helpers/pool-support.h"
#include "helpers/recurrence.h"
#include "helpers/store-count.h"

enum { FRAMES = 5, SLABS = 16, STEPS = 100, SLOTS = 8, DEPTH = 1 };

static size_t slab_bytes;

static _Atomic unsigned errors;

static void count_error(const reel_tape *tape, int error, const char *message, void *context)
{
	ignore_report(tape, error, message, context);
	errors++;
}

static reel_store *open_store(size_t slot_bytes, reel_store **leaf)
{
	reel_store *store;

	if (reel_store_count_open(&store, gpu_store(64 * slot_bytes, slot_bytes, DEPTH, leaf)))
		abort();
	return store;
}

/* A get whose checksum is wrong fails, or is repeated below the layer that counts. */
static void count_bad_gets(reel_store *store, reel_store *leaf)
{
	struct reel_store_counts counts;
	struct reel_gpu_stats stats;

	reel_store_get_counts(store, &counts);
	reel_gpu_get_stats(leaf, &stats);
	errors += (unsigned)(counts.failed_gets + stats.gets - counts.gets);
}

static void begin(const char *name, uint64_t number, unsigned pause_us)
{
	open_fake((struct fake_options){.late = true});
	fake_device_skip_call(name, number, pause_us);
	errors = 0;
}

static enum verdict end(bool is_right)
{
	bool left = !close_fake();

	return errors || fake_device_wrongs() || left ? SEEN : is_right ? UNSEEN : BY_VALUES;
}

/* Two tapes on one pool: pushes, pops, pushes again. */
static enum verdict tapes(const char *name, uint64_t number, unsigned pause_us)
{
	struct reel_pool_options options = {.slab_bytes = slab_bytes,
					    .first_slab_bytes = slab_bytes / FIRST_SLABS,
					    .hard_budget = FRAMES * slab_bytes};
	uint64_t words = SLABS * slab_bytes / 8;
	reel_tape tape[2];
	reel_store *leaf;
	reel_pool *pool;
	bool right = true;

	begin(name, number, pause_us);
	options.store = open_store(slab_bytes < 4096 ? 4096 : slab_bytes, &leaf);
	pool = open_pool(options);
	for (unsigned i = 0; i < 2; i++) {
		tape[i] = open_tape(pool, 0);
		push_values(&tape[i], i, 0, words);
	}
	for (unsigned i = 0; i < 2; i++) {
		right &= pop_values(&tape[i], i, words / 4, words - words / 4);
		push_values(&tape[i], 2 + i, words / 4, words / 2);
	}
	for (unsigned i = 0; i < 2; i++) {
		right &= pop_values(&tape[i], 2 + i, words / 4, words / 2);
		right &= pop_values(&tape[i], i, 0, words / 4);
		errors += reel_tape_error(&tape[i]) != 0;
		reel_tape_close(&tape[i]);
	}
	reel_offload_settle(reel_offload_of(pool));
	count_bad_gets(options.store, leaf);
	errors += reel_pool_close(pool) != 0;
	return end(right);
}

/* Snapshots of a plan, with a tier on the device. */
static enum verdict snapshots(const char *name, uint64_t number, unsigned pause_us)
{
	struct reel_run_options options = {.puts = 2, .gets = 2};
	struct state state = start, bar = seed, wanted = gradient_by_one_tape(no_failure, STEPS);
	struct run counts = no_failure;
	reel_plan *plan = plan_for(REEL_HIERARCHICAL, STEPS, SLOTS);
	reel_store *leaf;
	reel_run *run;

	begin(name, number, pause_us);
	options.store[1] = open_store(512, &leaf);
	run = open_checkpoint(plan, &copied, &options);
	errors += reel_run_forward(run, &counts, &state) ||
		  reel_run_reverse(run, &counts, &state, &bar);
	reel_store_sync(options.store[1], -1);
	count_bad_gets(options.store[1], leaf);
	reel_run_close(run);
	reel_plan_close(plan);
	return end(!memcmp(&bar, &wanted, sizeof bar));
}

static void leave_out_calls(mutant run, const char *program)
{
	static const char *const names[] = {"cuEventRecord", "cuEventSynchronize",
					    "cuMemcpyDtoHAsync", "cuMemcpyHtoDAsync"};
	/*
	 * A snapshot that is still in memory is loaded from there, so its copy may not be read. Two
	 * puts at a time may still be under way when the program turns round.
	 */
	size_t count = run == snapshots ? COUNT(names) - 1 : COUNT(names);
	unsigned unread = run == snapshots ? 2 : 0;
	unsigned number_of[VERDICTS];

	tap_case(program);
	for (size_t i = 0; i < count; i++) {
		leave_out_each(names[i], run, false, number_of);
		ok(number_of[SEEN] && number_of[UNSEEN] <= unread && !number_of[BY_VALUES],
		   "fake device: %s: %u runs without a %s are seen", program, number_of[SEEN],
		   names[i]);
	}
}

int main(void)
{
	tap_begin();
#ifdef REEL_THREAD_SANITIZER
	tap_skip_all("ThreadSanitizer sees the races before the fake device does");
#endif
	reel_set_error_handler(count_error, NULL);
	slab_bytes = small_slab();
	leave_out_calls(tapes, "slabs that are pinned");
	slab_bytes = 512;
	leave_out_calls(tapes, "slabs that are copied");
	leave_out_calls(snapshots, "snapshots");
	return tap_end();
}
