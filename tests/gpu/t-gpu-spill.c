/* SPDX-License-Identifier: MIT */
/*
 * Tapes on pools whose slabs go to a GPU, on the fake device, with delays from many seeds. Pushed
 * values come back, frames travel without a copy, and no frame is touched before its event.
 * TEST_SEEDS=N runs N seeds; TEST_SEED=S runs only random schedules, from the seed S on.
 */
#include <config.h>

#include <stdio.h>
#include <unistd.h>

#include <reel/parcel.h>

#include "helpers/gpu-support.h"
#include "spill/thread/thread.h"
#include "helpers/pool-support.h"

enum { TAPES = 2, FRAMES = 6, FRAMES_OF_TWO_THREADS = 16 };

struct parts {
	reel_pool *pool;
	reel_store *leaf;
};

/* Slabs of a page, which can be adopted, or of less, which cannot. */
static struct parts open_parts(size_t slab_bytes, unsigned frames, uint64_t gpu_slabs,
			       unsigned depth)
{
	struct parts parts;
	struct reel_pool_options options = {
		.slab_bytes = slab_bytes,
		.first_slab_bytes = slab_bytes / FIRST_SLABS,
		.hard_budget = frames * slab_bytes,
	};
	reel_store *first = gpu_store(gpu_slabs * 4096, 4096, depth, &parts.leaf);

	if (!first)
		abort();
	options.store = before_memory(first);
	parts.pool = open_pool(options);
	return parts;
}

static struct reel_gpu_stats gpu_stats(const struct parts *parts)
{
	struct reel_gpu_stats stats;

	reel_offload_settle(reel_offload_of(parts->pool));
	reel_gpu_get_stats(parts->leaf, &stats);
	return stats;
}

/* Sweeps over two tapes at once, and pushes again in between. Returns the number of wrong words. */
static unsigned sweep(reel_pool *pool, uint64_t words)
{
	reel_tape tape[TAPES] = {{0}};
	unsigned wrong = 0;

	for (unsigned i = 0; i < TAPES; i++)
		reel_tape_open(&tape[i], pool, 0);
	for (unsigned part = 0; part < 3; part++)
		for (unsigned i = 0; i < TAPES; i++)
			push_words(&tape[i], part * words, (part + 1) * words);
	for (unsigned i = 0; i < TAPES; i++) {
		wrong += wrong_words(&tape[i], words, 3 * words);
		push_words(&tape[i], words, 2 * words);
	}
	for (unsigned i = TAPES; i-- > 0;) {
		wrong += wrong_words(&tape[i], 0, 2 * words);
		wrong += reel_tape_error(&tape[i]) != 0;
		reel_tape_close(&tape[i]);
	}
	return wrong;
}

static struct {
	unsigned wrong, wrongs, left, in_gpu, in_memory;
	uint64_t pageable, copied;
	size_t max_registered;
} seen;

static void one_seed(uint64_t seed, size_t slab_bytes)
{
	struct parts parts;
	struct reel_gpu_stats stats;

	open_fake((struct fake_options){.seed = seed, .delay_us = seed % 4 ? 0 : 30,
					.late = seed % 3 == 1});
	parts = open_parts(slab_bytes, FRAMES, 4 + seed % 32, 1 + (unsigned)(seed % 4));
	seen.wrong += sweep(parts.pool, 5 * slab_bytes / 8);
	if (seed % 2)
		reel_pool_trim(parts.pool, 0);
	seen.wrong += sweep(parts.pool, 3 * slab_bytes / 8);
	stats = gpu_stats(&parts);
	seen.copied += stats.copied_bytes;
	seen.in_gpu += stats.puts > 0;
	seen.in_memory += stats.failed_puts > 0 || stats.used_bytes > 0;
	if (fake_device_registered_bytes() > seen.max_registered)
		seen.max_registered = fake_device_registered_bytes();
	seen.wrong += reel_pool_close(parts.pool) != 0;
	seen.wrongs += fake_device_wrongs();
	seen.pageable += fake_device_pageable_bytes();
	seen.left += !close_fake();
}

static void run_seeds(size_t slab_bytes, unsigned seeds, const char *what)
{
	memset(&seen, 0, sizeof seen);
	for (uint64_t seed = 0; seed < seeds; seed++)
		one_seed(seed, slab_bytes);
	is_int(seen.wrong, 0, "fake device: %s come back, with %u seeds", what, seeds);
	is_int(seen.in_gpu, seeds, "fake device: all runs used it");
	is_int(seen.wrongs, 0, "fake device: nothing was touched before its event");
	is_int(seen.pageable, 0, "fake device: no copy was of memory that is not pinned");
	is_int(seen.left, 0, "fake device: nothing is left on it");
}

static unsigned seeds_of_env(unsigned otherwise)
{
	return (unsigned)number_from_environment("TEST_SEEDS", otherwise);
}

static void slabs_of_a_page_travel_by_themselves(void)
{
	run_seeds(small_slab(), seeds_of_env(is_brief() ? 20 : 200), "slabs that are pinned");
	is_int(seen.copied, 0, "fake device: none of them was copied");
	ok(seen.max_registered > 0 && seen.max_registered <= FRAMES * small_slab(),
	   "fake device: no more was pinned than the budget: %zu bytes", seen.max_registered);
}

static void slabs_of_less_are_copied(void)
{
	run_seeds(512, seeds_of_env(is_brief() ? 10 : 100), "slabs that cannot be pinned");
	ok(seen.copied > 0, "fake device: they were copied, to pinned memory");
}

/* If a pinned frame went back to the system, the device would use another page than the pool. */
static void trimmed_frames_are_released_first(void)
{
	struct parts parts;
	struct reel_gpu_stats stats;
	size_t pinned;

	open_fake((struct fake_options){.seed = 3});
	parts = open_parts(small_slab(), FRAMES, 64, 2);
	is_int(sweep(parts.pool, 5 * small_slab() / 8), 0, "fake device: a sweep");
	reel_offload_settle(reel_offload_of(parts.pool));
	pinned = fake_device_registered_bytes();
	reel_pool_trim(parts.pool, 0);
	ok(pinned && fake_device_registered_bytes() == 0,
	   "fake device: %zu bytes were pinned, none is after a trim", pinned);
	is_int(sweep(parts.pool, 5 * small_slab() / 8), 0, "fake device: another sweep");
	stats = gpu_stats(&parts);
	is_int(stats.copied_bytes, 0, "fake device: the frames were pinned anew");
	close_pool_at_rest(parts.pool, "a trim");
	close_fake_after("a trim");
}

/* ---- A thread releases frames that other threads had adopted ---- */

static struct {
	reel_pool *pool;
	_Atomic unsigned wrong;
	_Atomic unsigned sweeping;
} shared;

static void *sweep_or_trim(void *number)
{
	unsigned turns = is_brief() ? 3 : 8;

	if (*(unsigned *)number == 0) {
		while (shared.sweeping) {
			reel_pool_trim(shared.pool, 0);
			usleep(200);
		}
		return NULL;
	}
	for (unsigned turn = 0; turn < turns; turn++)
		shared.wrong += sweep(shared.pool, 5 * small_slab() / 8);
	shared.sweeping--;
	return NULL;
}

static void a_thread_trims_while_others_spill(void)
{
	struct parts parts;

	open_fake((struct fake_options){.seed = 5});
	parts = open_parts(small_slab(), FRAMES_OF_TWO_THREADS, 64, 3);
	shared.pool = parts.pool;
	shared.sweeping = 2;
	run_threads(3, sweep_or_trim);
	is_int(shared.wrong, 0, "fake device: two threads' tapes come back while a third one trims");
	is_int(gpu_stats(&parts).copied_bytes, 0, "fake device: all frames were pinned anew");
	close_pool_at_rest(parts.pool, "trims by another thread");
	close_fake_after("trims by another thread");
}

/* ---- Random schedules of tapes, parcels, trims, stores and errors ---- */

enum { ACTORS = 3, PARCELS = 4, ACTIONS = 80, CALLS = 300, OPERATIONS = 120 };

static struct {
	reel_pool *pool;
	uint64_t seed, parcel_words; /* at most */
	bool fails; /* a call of the driver, or an operation of the device */
	_Atomic unsigned wrong, errors;
} schedule;

/* The tape and the parcels of a thread. */
struct actor {
	uint64_t random, serial; /* of tapes and parcels: their values differ */
	reel_tape tape;
	uint64_t tape_serial, pushed, marked;
	bool has_mark;
	reel_mark mark;
	struct item {
		reel_parcel *parcel;
		uint64_t serial, words;
	} item[PARCELS];
};

static uint64_t below(struct actor *actor, uint64_t n)
{
	actor->random = scramble(actor->random);
	return actor->random % n;
}

/* An error is right only if the device fails. */
static bool went_well(int error)
{
	schedule.errors += error != 0;
	schedule.wrong += error != 0 && !schedule.fails;
	return !error;
}

static void renew_tape(struct actor *actor)
{
	reel_tape_close(&actor->tape);
	actor->tape = open_tape(schedule.pool, 0);
	actor->tape_serial = ++actor->serial;
	actor->pushed = 0;
	actor->has_mark = false;
}

/* Each word is right, or all ones on a tape with an error. */
static void pop_some(struct actor *actor, uint64_t n)
{
	bool lost = false;

	for (; n > 0 && actor->pushed > 0; n--) {
		uint64_t word = reel_pop(&actor->tape, uint64_t);

		actor->pushed--;
		lost |= word == UINT64_MAX;
		schedule.wrong += word != UINT64_MAX &&
				  word != value_at(actor->tape_serial, actor->pushed);
	}
	schedule.wrong += lost && !reel_tape_error(&actor->tape);
	actor->has_mark &= actor->pushed >= actor->marked;
}

static void use_tape(struct actor *actor)
{
	uint64_t n = below(actor, 4 * small_slab() / 8);

	switch (below(actor, 8)) {
	case 0:
		actor->mark = reel_tape_mark(&actor->tape);
		actor->marked = actor->pushed;
		actor->has_mark = true;
		break;
	case 1:
		if (actor->has_mark && !reel_tape_rewind(&actor->tape, actor->mark))
			actor->pushed = actor->marked;
		break;
	case 2:
		if (below(actor, 4) == 0)
			renew_tape(actor);
		break;
	case 3:
	case 4:
		pop_some(actor, n);
		break;
	default:
		push_values(&actor->tape, actor->tape_serial, actor->pushed, n);
		actor->pushed += n;
	}
	if (!went_well(reel_tape_error(&actor->tape)))
		renew_tape(actor);
}

static void open_parcel(struct actor *actor, struct item *item)
{
	void *data;

	item->serial = ++actor->serial;
	item->words = 1 + below(actor, schedule.parcel_words);
	if (!went_well(reel_parcel_open(&item->parcel, schedule.pool, 8 * item->words, NULL,
					&data))) {
		item->parcel = NULL;
		return;
	}
	for (uint64_t i = 0; i < item->words; i++)
		((uint64_t *)data)[i] = value_at(item->serial, i);
	went_well(reel_parcel_seal(item->parcel));
}

static void close_parcel(struct item *item)
{
	schedule.wrong += reel_parcel_close(item->parcel) != 0;
	item->parcel = NULL;
}

static void look_at_parcel(struct item *item)
{
	const void *data;

	if (!went_well(reel_parcel_pin(item->parcel, &data))) {
		close_parcel(item);
		return;
	}
	for (uint64_t i = 0; i < item->words; i++)
		schedule.wrong += ((const uint64_t *)data)[i] != value_at(item->serial, i);
	reel_parcel_unpin(item->parcel);
}

static void use_parcel(struct actor *actor)
{
	struct item *item = &actor->item[below(actor, PARCELS)];

	if (!item->parcel) {
		open_parcel(actor, item);
	} else if (below(actor, 4) == 0) {
		close_parcel(item);
	} else {
		if (below(actor, 4) == 0 && went_well(reel_parcel_announce(&item->parcel, 1)))
			use_tape(actor);
		look_at_parcel(item);
	}
}

static void *act(void *number)
{
	struct actor actor = {.random = schedule.seed * ACTORS + *(unsigned *)number,
			      .serial = *(unsigned *)number * 1000};

	renew_tape(&actor);
	for (unsigned i = 0; i < ACTIONS; i++) {
		if (below(&actor, 16) == 0)
			reel_pool_trim(schedule.pool, below(&actor, 4) * small_slab());
		else if (below(&actor, 3) == 0)
			use_parcel(&actor);
		else
			use_tape(&actor);
	}
	pop_some(&actor, UINT64_MAX);
	went_well(reel_tape_error(&actor.tape));
	reel_tape_close(&actor.tape);
	for (unsigned i = 0; i < PARCELS; i++)
		if (actor.item[i].parcel)
			close_parcel(&actor.item[i]);
	return NULL;
}

static reel_store *open_tiers(uint64_t random, reel_store **leaf)
{
	struct reel_file_options file = {.directory = ".", .slot_bytes = 2 * small_slab(),
					 .threads = 2,
					 .flags = REEL_FILE_TMPFS | REEL_FILE_BUFFERED};
	reel_store *next, *first;

	first = gpu_store(4096 * (2 + random % 40), 4096, 1 + (unsigned)(random >> 8) % 4, leaf);
	if (!first)
		went_well(-ENODEV);
	if ((random >> 16) % 3)
		return before_memory(first);
	if (reel_store_file_open(&next, &file))
		abort();
	return before(first, next);
}

/* In three of eight schedules a call fails, once or for good, or an operation. Half are late. */
static void one_schedule(uint64_t seed)
{
	uint64_t random = scramble(seed);
	unsigned threads = 1 + (unsigned)(seed % ACTORS);
	struct reel_pool_options options = small_options();
	reel_store *leaf;

	schedule.seed = seed;
	schedule.fails = seed % 8 > 4;
	open_fake((struct fake_options){.seed = random >> 48, .late = (random >> 40) % 2,
					.delay_us = (random >> 41) % 8 ? 0 : 30});
	if (seed % 8 == 7)
		fake_device_fail_operation(random % OPERATIONS, REEL_CU_ILLEGAL_ADDRESS);
	else if (schedule.fails)
		fake_device_fail_call(random % CALLS, REEL_CU_LAUNCH_FAILED, seed % 8 == 6);
	options.slab_bytes = (random >> 20) % 4 ? small_slab() : 512;
	/* Idle slabs below a page stay, so they leave no memory for parcels of several slabs. */
	schedule.parcel_words = options.slab_bytes < small_slab() ? 64 : 2 * small_slab() / 8;
	options.first_slab_bytes = options.slab_bytes / FIRST_SLABS;
	options.hard_budget = (6 * threads + (random >> 24) % 4) * small_slab();
	options.store = open_tiers(random >> 32, &leaf);
	schedule.pool = open_pool(options);
	run_threads(threads, act);
	schedule.wrong += reel_pool_close(schedule.pool) != 0;
	seen.wrongs += fake_device_wrongs();
	seen.pageable += fake_device_pageable_bytes();
	seen.left += !close_fake() && !schedule.fails;
}

static void random_schedules(void)
{
	unsigned seeds = seeds_of_env(is_brief() ? 100 : 2000);
	uint64_t first = number_from_environment("TEST_SEED", 0);

	memset(&seen, 0, sizeof seen);
	reel_set_error_handler(ignore_report, NULL);
	for (uint64_t seed = first; seed < first + seeds && !schedule.wrong; seed++)
		one_schedule(seed);
	if (schedule.wrong)
		tap_note("seed %llu", (unsigned long long)schedule.seed);
	is_int(schedule.wrong, 0, "fake device: nothing is wrong in %u random schedules", seeds);
	is_int(seen.wrongs, 0, "fake device: nothing was touched before its event");
	is_int(seen.pageable, 0, "fake device: no copy was of memory that is not pinned");
	is_int(seen.left, 0, "fake device: nothing is left on it");
	ok(schedule.errors > 0, "fake device: %u errors, when it failed", schedule.errors);
}

int main(void)
{
	tap_begin();
	random_schedules();
	if (getenv("TEST_SEED"))
		return tap_end();
	slabs_of_a_page_travel_by_themselves();
	slabs_of_less_are_copied();
	trimmed_frames_are_released_first();
	a_thread_trims_while_others_spill();
	return tap_end();
}
