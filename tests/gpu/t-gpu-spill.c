/* SPDX-License-Identifier: MIT */
/*
 * Tapes on pools whose slabs go to a GPU: on the fake device, with delays from many seeds.
 * What was pushed comes back, straight from the pool's memory and to it, and no frame is
 * touched before its event.
 */
#include <config.h>

#include <unistd.h>

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

/* Sweeps over two tapes at once, with a turn on the way; returns wrong words. */
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

	open_fake((struct fake_options){.seed = seed, .delay_us = seed % 4 ? 0 : 30});
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
	is_int(seen.in_gpu, seeds, "fake device: all went there");
	is_int(seen.wrongs, 0, "fake device: nothing was touched before its event");
	is_int(seen.pageable, 0, "fake device: no copy was of memory that is not pinned");
	is_int(seen.left, 0, "fake device: nothing is left on it");
}

static unsigned seeds_of_env(unsigned otherwise)
{
	const char *text = getenv("TEST_SEEDS");

	return text ? (unsigned)strtoul(text, NULL, 0) : otherwise;
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

/* What is pinned and given back to the system would be another page than the device's. */
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
	is_int(stats.copied_bytes, 0, "fake device: whose frames were pinned anew");
	close_pool_at_rest(parts.pool, "a trim");
	close_fake_after("a trim");
}

/* ---- Frames are released by other threads than those that have them adopted ---- */

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

int main(void)
{
	tap_begin();
	slabs_of_a_page_travel_by_themselves();
	slabs_of_less_are_copied();
	trimmed_frames_are_released_first();
	a_thread_trims_while_others_spill();
	return tap_end();
}
