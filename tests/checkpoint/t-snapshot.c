/* SPDX-License-Identifier: MIT */
/*
 * Tests snapshots when another thread acts at the worst moment: the test makes its calls when
 * memory was just refused, or while a store holds transfers back. Linked with
 * --wrap=reel_budget_charge.
 */
#include <config.h>

#include <sched.h>

#include "helpers/held-store.h"
#include "helpers/spill-support.h"
#include "checkpoint/snapshot/snapshot.h"
#include "helpers/store-fault.h"

enum { TIERS = 2, BYTES = 200 };

static struct reel_snapshots snapshots;
static struct held_store *held;
static reel_pool *memory;

/* Called once, after the pool has refused memory. */
static void (*after_refusal)(void);

int __real_reel_budget_charge(struct reel_pool *pool, size_t bytes);
int __wrap_reel_budget_charge(struct reel_pool *pool, size_t bytes);

int __wrap_reel_budget_charge(struct reel_pool *pool, size_t bytes)
{
	int error = __real_reel_budget_charge(pool, bytes);
	void (*happens)(void) = error ? after_refusal : NULL;

	if (happens) {
		after_refusal = NULL;
		happens();
	}
	return error;
}

/*
 * Opens snapshots: tier 0 is memory, tier 1 a store that holds all transfers back. The budget has
 * room for `max_snapshots`; 0: for all.
 */
static void begin(unsigned max_snapshots)
{
	struct reel_pool_options options = small_options();
	reel_store *store[TIERS] = {NULL};

	options.hard_budget = max_snapshots * small_slab();
	memory = open_pool(options);
	held = held_open();
	store[1] = &held->store;
	if (reel_snapshots_open(&snapshots, memory, BYTES, TIERS, store, REEL_MAX_PUTS, 2)) {
		printf("Bail out! no snapshots\n");
		exit(EXIT_FAILURE);
	}
}

static void end(const char *after)
{
	held_release(held);
	reel_snapshots_close(&snapshots);
	close_pool(memory, after);
}

static int store_one(unsigned tier, unsigned slot)
{
	void *data;
	int error = reel_snapshot_reserve(&snapshots, tier, slot, slot, BYTES, &data);

	if (error)
		return error;
	fill(data, BYTES, slot);
	reel_snapshot_commit(&snapshots, tier, slot);
	return 0;
}

static bool read_one(unsigned tier, unsigned slot, bool is_load)
{
	const void *data;
	bool right;

	if (reel_snapshot_pin(&snapshots, tier, slot, slot, is_load, &data))
		return false;
	right = is_filled(data, BYTES, slot);
	reel_snapshot_unpin(&snapshots, tier, slot);
	return right;
}

static bool load_one(unsigned tier, unsigned slot)
{
	return read_one(tier, slot, true);
}

static void end_the_put(void)
{
	held_release(held);
}

static void a_put_ends_after_a_refusal(void)
{
	tap_case("a put that ends when memory has just been refused");
	begin(1);
	is_int(store_one(1, 0), 0, "is started");
	after_refusal = end_the_put;
	is_int(store_one(1, 1), 0, "its memory is taken for the next snapshot");
	ok(!after_refusal, "which had been refused");
	ok(load_one(1, 0) && load_one(1, 1), "both are as they were stored");
	end("a put that ends");
}

static void drop_the_first(void)
{
	reel_snapshot_drop(&snapshots, 0, 0, 0);
}

static void somebody_gives_a_buffer_back(void)
{
	tap_case("a buffer that another thread gives back when memory has just been refused");
	begin(1);
	is_int(store_one(0, 0), 0, "a snapshot in memory");
	after_refusal = drop_the_first;
	is_int(store_one(0, 1), 0, "makes room for the next one");
	ok(!after_refusal, "which had been refused");
	is_int(store_one(0, 2), -EDQUOT, "if nobody gives one back there is none");
	end("a buffer given back");
}

/* Returns the number of bytes of tier 1 that are not in its store. */
static size_t to_put(void)
{
	struct reel_offload *offload = reel_offload_of(snapshots.tier[1].pool);

	return offload->dirty_bytes + offload->writing_bytes;
}

static void *release_when_held(void *number)
{
	while (held_transfers(held) < (uintptr_t)number)
		sched_yield();
	held_release(held);
	return NULL;
}

/* There is memory for all snapshots. */
static void puts_wait_for_others(void)
{
	pthread_t thread;
	void *data;

	tap_case("as many puts as may be under way");
	begin(0);
	snapshots.max_puts = 2;
	is_int(store_one(1, 0), 0, "one is started");
	if (pthread_create(&thread, NULL, release_when_held, (void *)2))
		abort();
	is_int(store_one(1, 1), 0, "and another one");
	is_int(reel_snapshot_reserve(&snapshots, 1, 2, 2, BYTES, &data), 0, "a third is prepared");
	ok(to_put() <= reel_supply_large_bytes(BYTES), "when one of them has ended");
	fill(data, BYTES, 2);
	reel_snapshot_commit(&snapshots, 1, 2);
	pthread_join(thread, NULL);
	ok(load_one(1, 0) && load_one(1, 1) && load_one(1, 2), "all can be loaded");
	end("puts that wait");
}

/* Lets all transfers end, and returns true if the snapshot in this slot of tier 1 is in memory. */
static bool stays(unsigned slot)
{
	settle(snapshots.tier[1].pool);
	return reel_parcel_is_in_memory(snapshots.tier[1].slot[slot].parcel);
}

static void the_last_load_lets_go(void)
{
	tap_case("a snapshot that is loaded before it has been put");
	begin(0);
	is_int(store_one(1, 0), 0, "is stored");
	ok(reel_snapshot_read_ahead(&snapshots, 1, 0, 0) &&
		   reel_snapshot_read_ahead(&snapshots, 1, 0, 0),
	   "two loads of it are to come");
	ok(load_one(1, 0), "the first one");
	held_release(held);
	ok(stays(0), "when it has been put it stays in memory for the second one");
	ok(load_one(1, 0), "the second one");
	ok(!stays(0) && !snapshots.ahead, "then its memory is free");
	held->holds = true;
	is_int(store_one(1, 1), 0, "of another one");
	ok(reel_snapshot_read_ahead(&snapshots, 1, 1, 1) && load_one(1, 1),
	   "the last load comes first");
	held_release(held);
	ok(!stays(1) && !snapshots.ahead, "its memory is free after the put");
	end("loads before puts");
}

/* A restart file is written between the announcement of a load and the load. */
static void a_restart_file_leaves_what_is_announced(void)
{
	tap_case("a snapshot that is written to a restart file before its load");
	begin(0);
	held_release(held);
	is_int(store_one(1, 0), 0, "is stored");
	ok(!stays(0), "and leaves memory");
	ok(reel_snapshot_read_ahead(&snapshots, 1, 0, 0) && stays(0), "it is read for its load");
	ok(read_one(1, 0, false) && stays(0), "a restart file leaves it in memory");
	is_int(snapshots.ahead, 1, "its load is still to come");
	ok(load_one(1, 0), "the load");
	ok(!stays(0) && !snapshots.ahead, "then its memory is free");
	end("a restart file");
}

/* The fork waits for the transfers. */
static void a_child_waits_for_nothing(void)
{
	pthread_t thread;
	pid_t child;

	tap_case("a fork while a snapshot is put");
	begin(0);
	is_int(store_one(1, 0), 0, "is stored");
	if (pthread_create(&thread, NULL, release_when_held, (void *)1))
		abort();
	child = fork_with_timeout();
	if (child == 0) {
		reel_snapshots_empty(&snapshots);
		is_int(snapshots.memory_bytes, 0, "the child has emptied its slots");
		tap_child_end();
	}
	ok(tap_child_passed(child), "its child does not wait for it");
	pthread_join(thread, NULL);
	ok(load_one(1, 0), "the parent has it");
	end("a fork");
}

/* ---- A store that counts requests for the end of its transfers ---- */

static struct {
	reel_store store;
	reel_store *below;
	bool may_be_busy;
	unsigned closed_while_busy;
	unsigned failing_gets; /* number of next gets that fail, and write wrong data */
} watched;

static void watched_put(reel_store *store, reel_transfer *transfer)
{
	(void)store;
	watched.may_be_busy = true;
	reel_store_put(watched.below, transfer);
}

static void watched_get(reel_store *store, reel_transfer *transfer)
{
	(void)store;
	watched.may_be_busy = true;
	if (!watched.failing_gets) {
		reel_store_get(watched.below, transfer);
		return;
	}
	watched.failing_gets--;
	memset(transfer->data, 0xff, transfer->bytes);
	reel_transfer_complete(transfer, -EIO);
}

static void watched_drop(reel_store *store, struct reel_extent place)
{
	(void)store;
	reel_store_drop(watched.below, place);
}

static int watched_sync(reel_store *store, int64_t timeout_ns)
{
	(void)store;
	watched.may_be_busy = watched.may_be_busy && timeout_ns >= 0;
	return reel_store_sync(watched.below, timeout_ns);
}

static void watched_capacity(reel_store *store, struct reel_store_capacity *capacity)
{
	(void)store;
	reel_store_get_capacity(watched.below, capacity);
}

static void watched_close(reel_store *store)
{
	(void)store;
	watched.closed_while_busy += watched.may_be_busy;
	reel_store_close(watched.below);
}

static const struct reel_store_verbs watched_verbs = {
	.name = "watched", .put = watched_put, .get = watched_get, .drop = watched_drop,
	.sync = watched_sync, .capacity = watched_capacity, .close = watched_close};

/* Opens snapshots whose tier 0 is the watched store. */
static void begin_watched(void)
{
	reel_store *store = &watched.store;

	watched.store.verbs = &watched_verbs;
	reel_store_memory_open(&watched.below, 1 << 20);
	memory = open_pool(small_options());
	is_int(reel_snapshots_open(&snapshots, memory, BYTES, 1, &store, 2, 2), 0, "has snapshots");
}

/* A load reads twice, and both reads fail. */
static void a_failed_load_leaves_nothing(void)
{
	tap_case("a snapshot that cannot be loaded");
	begin_watched();
	ok(!store_one(0, 0), "is in the store");
	settle(snapshots.tier[0].pool);
	watched.failing_gets = 2;
	ok(!load_one(0, 0), "a load of it fails");
	is_int(watched.failing_gets, 0, "when it was read twice");
	is_int(snapshots.memory_bytes, 0, "and keeps no memory");
	ok(!load_one(0, 0), "the next load says so, too");
	reel_snapshots_close(&snapshots);
	close_pool(memory, "a load that failed");
}

static void a_store_is_idle_when_it_is_closed(void)
{
	tap_case("a store");
	begin_watched();
	ok(!store_one(0, 0) && load_one(0, 0), "which come and go");
	reel_snapshots_close(&snapshots);
	is_int(watched.closed_while_busy, 0, "is asked for the end of all transfers, then closed");
	close_pool(memory, "a store that is closed");
}

/* The checksum of the snapshots is above the codec, and another one is below it. */
static void a_layer_that_may_damage_stands_on_a_codec(void)
{
	static char first[1 << 16];
	struct reel_run_stats stats = {0};
	const void *loaded = NULL;
	void *data;
	reel_store *codec, *store;

	tap_case("a layer that is not verified, on a store that compresses");
	if (reel_store_open(&codec, HAVE_LZ4 ? "lz4,memory=1M" : "memory=1M", NULL) ||
	    reel_store_fault_open(&store, codec, NULL, 0))
		abort();
	memory = open_pool(small_options());
	is_int(reel_snapshots_open(&snapshots, memory, sizeof first, 1, &store, 2, 0), 0,
	       "has snapshots");
	for (unsigned slot = 0; slot < 2; slot++) {
		is_int(reel_snapshot_reserve(&snapshots, 0, slot, slot, sizeof first, &data), 0, "one is stored");
		memset(data, (int)slot, sizeof first);
		reel_snapshot_commit(&snapshots, 0, slot);
	}
	settle(snapshots.tier[0].pool);
	is_int(reel_snapshot_pin(&snapshots, 0, 0, 0, true, &loaded), 0, "the first one is loaded");
	reel_snapshots_get_stats(&snapshots, &stats);
	is_int(stats.got_bytes, sizeof first, "from the store");
	ok(loaded && !memcmp(loaded, first, sizeof first), "and is as it was");
	reel_snapshot_unpin(&snapshots, 0, 0);
	reel_snapshots_close(&snapshots);
	close_pool(memory, "a layer that is not verified");
}

static size_t coarse_align;

static void coarse_capacity(reel_store *store, struct reel_store_capacity *capacity)
{
	(void)store;
	*capacity = (struct reel_store_capacity){.total_bytes = UINT64_MAX, .align = coarse_align,
						 .max_bytes = 50000, .best_depth = 4, .verified = true};
}

/* Each transfer is a multiple of the alignment, and dropped snapshots leave the store. */
static void a_store_with_a_large_alignment(void)
{
	struct late_store *late = late_open(3);
	struct reel_store_verbs verbs = *late->store.verbs;
	reel_store *store = &late->store;
	enum { STATE = 100000 };
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *data;

	tap_case("a store whose alignment is a page, or more");
	verbs.capacity = coarse_capacity;
	late->store.verbs = &verbs;
	memory = open_pool(small_options());
	coarse_align = 2 * page;
	is_int(reel_snapshots_open(&snapshots, memory, STATE, 1, &store, 2, 2), -EINVAL,
	       "more is refused");
	ok(strstr(reel_error_text(-EINVAL), "at most a page"), "%s", reel_error_text(-EINVAL));
	coarse_align = page;
	is_int(reel_snapshots_open(&snapshots, memory, STATE, 1, &store, 2, 2), 0, "has snapshots");
	is_int(reel_snapshot_reserve(&snapshots, 0, 0, 0, STATE, &data), 0, "one is reserved");
	fill(data, STATE, 7);
	reel_snapshot_commit(&snapshots, 0, 0);
	settle(snapshots.tier[0].pool);
	is_int(late->puts, 3, "and put in pieces");
	for (unsigned i = 0; i < late->extents; i++)
		is_int((long long)(late->extent[i].bytes % page), 0, "piece %u is a multiple of it", i);
	is_int(reel_snapshot_pin(&snapshots, 0, 0, 0, true, (const void **)&data), 0,
	       "it is loaded");
	ok(is_filled(data, STATE, 7), "and is as it was");
	reel_snapshot_unpin(&snapshots, 0, 0);
	reel_snapshot_drop(&snapshots, 0, 0, 0);
	settle(snapshots.tier[0].pool);
	is_int(late->used, 0, "when it is dropped, the store is empty");
	reel_snapshots_close(&snapshots);
	is_int(late->wrongs, 0, "the store was used rightly");
	free(late);
	close_pool(memory, "a large alignment");
}

/* The snapshots have three slabs each, and all together four times the budget. */
static void snapshots_in_memory_go_to_the_store_of_the_pool(void)
{
	enum { SLOTS = 32, STATE = 3 * SLAB - 100 };
	struct late_store *late = late_open(9);
	reel_store *none = NULL;
	struct reel_parcel_stats stats;
	unsigned wrong = 0;

	tap_case("snapshots in memory, on a pool with a store");
	memory = open_pool(spilling(&late->store, 24, 8));
	is_int(reel_snapshots_open(&snapshots, memory, STATE, 1, &none, 2, 2), 0, "are opened");
	for (unsigned slot = 0; slot < SLOTS; slot++) {
		void *data;

		wrong += reel_snapshot_reserve(&snapshots, 0, slot, slot, STATE, &data) != 0;
		fill(data, STATE, slot);
		reel_snapshot_commit(&snapshots, 0, slot);
	}
	is_int(wrong, 0, "all are stored");
	ok(stats_of(memory).peak_resident_bytes <= 24 * SLAB, "within the budget");
	for (unsigned slot = SLOTS; slot-- > 0;) {
		const void *data;

		if (slot > 0)
			reel_snapshot_read_ahead(&snapshots, 0, slot - 1, slot - 1);
		wrong += reel_snapshot_pin(&snapshots, 0, slot, slot, true, &data) != 0;
		wrong += !is_filled(data, STATE, slot);
		/* The next snapshot is read meanwhile. */
		settle(memory);
		reel_snapshot_unpin(&snapshots, 0, slot);
		wrong += reel_snapshot_drop(&snapshots, 0, slot, slot) != 0;
	}
	is_int(wrong, 0, "all come back");
	reel_parcel_get_stats(memory, &stats);
	is_int(stats.announced, SLOTS - 1, "loads are announced");
	is_int(stats.hits, SLOTS - 1, "and find what was read ahead");
	reel_snapshots_close(&snapshots);
	close_all(memory, late, "snapshots in memory");
}

int main(void)
{
	tap_begin();
	a_put_ends_after_a_refusal();
	somebody_gives_a_buffer_back();
	puts_wait_for_others();
	the_last_load_lets_go();
	a_restart_file_leaves_what_is_announced();
	a_child_waits_for_nothing();
	a_failed_load_leaves_nothing();
	a_store_is_idle_when_it_is_closed();
	a_layer_that_may_damage_stands_on_a_codec();
	a_store_with_a_large_alignment();
	snapshots_in_memory_go_to_the_store_of_the_pool();
	return tap_end();
}
