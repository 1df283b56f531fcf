/* SPDX-License-Identifier: MIT */
/* Tests eight threads on one pool of tiny slabs; the machine may have fewer processors. */
#include <config.h>

#include "helpers/pool-support.h"

#define THREADS 8
#define MAX_VALUES 600

static reel_pool *pool;
static _Atomic unsigned wrong_tapes;

/* A tape with known values. */
struct work {
	reel_tape tape;
	uint64_t seed;
	uint64_t height;
};

static uint64_t random_below(uint64_t *state, uint64_t bound)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (*state >> 33) % bound;
}

/* Moves the top of the tape to a random height. */
static void sweep(struct work *work, uint64_t *random)
{
	uint64_t height = random_below(random, MAX_VALUES);

	if (height > work->height)
		push_values(&work->tape, work->seed, work->height, height - work->height);
	else if (!pop_values(&work->tape, work->seed, height, work->height - height))
		wrong_tapes++;
	work->height = height;
}

static void finish(struct work *work)
{
	if (!pop_values(&work->tape, work->seed, 0, work->height) ||
	    reel_tape_error(&work->tape) || !reel_tape_is_empty(&work->tape))
		wrong_tapes++;
	reel_tape_close(&work->tape);
}

static void open_tiny_pool(void)
{
	pool = open_pool((struct reel_pool_options){
		.slab_bytes = 256, .first_slab_bytes = 64, .magazine_slabs = 2});
	wrong_tapes = 0;
}

static void close_whole_pool(void)
{
	is_int(wrong_tapes, 0, "every value comes back to its tape");
	ok(pool_is_whole(pool), "the pool is whole");
	is_int(reel_pool_close(pool), 0, "the pool closes");
}

static void *sweep_own_tape(void *number)
{
	uint64_t random = *(unsigned *)number;
	struct work work = {.seed = random};

	reel_tape_open(&work.tape, pool, 0);
	for (int i = 0; i < 3000; i++)
		sweep(&work, &random);
	finish(&work);
	return NULL;
}

static void tapes_of_their_own(void)
{
	tap_case("each thread has a tape of its own");
	open_tiny_pool();
	run_threads(THREADS, sweep_own_tape);
	close_whole_pool();
}

#define TAPES (THREADS + 3)

static _Atomic(struct work *) place[TAPES];

/* Takes a tape from its place, uses it, and puts it back for any thread. */
static void *sweep_any_tape(void *number)
{
	uint64_t random = *(unsigned *)number;

	for (int i = 0; i < 5000; i++) {
		_Atomic(struct work *) *at = &place[random_below(&random, TAPES)];
		struct work *work = atomic_exchange_explicit(at, NULL, memory_order_acquire);

		if (!work)
			continue;
		sweep(work, &random);
		atomic_store_explicit(at, work, memory_order_release);
	}
	return NULL;
}

static void tapes_that_change_hands(void)
{
	static struct work work[TAPES];

	tap_case("tapes are handed from thread to thread");
	open_tiny_pool();
	for (int i = 0; i < TAPES; i++) {
		work[i] = (struct work){.seed = (uint64_t)i};
		reel_tape_open(&work[i].tape, pool, 0);
		place[i] = &work[i];
	}
	run_threads(THREADS, sweep_any_tape);
	for (int i = 0; i < TAPES; i++)
		finish(&work[i]);
	close_whole_pool();
}

static void *sweep_and_exit(void *number)
{
	uint64_t random = *(unsigned *)number;
	struct work work = {.seed = random};

	reel_tape_open(&work.tape, pool, 0);
	for (int i = 0; i < 5; i++)
		sweep(&work, &random);
	finish(&work);
	return NULL;
}

static void threads_that_exit(void)
{
	tap_case("threads exit with full magazines");
	open_tiny_pool();
	for (int i = 0; i < 150; i++)
		run_threads(THREADS, sweep_and_exit);
	ok(count_caches(pool, false) <= THREADS, "there are no more caches than threads at a time");
	close_whole_pool();
}

#define GIANT_VALUES 5000

static void *sweep_giants(void *number)
{
	uint64_t seed = *(unsigned *)number;

	for (int i = 0; i < 60; i++) {
		size_t n = GIANT_VALUES / (1 + (size_t)(seed + (uint64_t)i) % 3);
		reel_tape tape;
		uint64_t *span;
		const uint64_t *same;

		reel_tape_open(&tape, pool, 0);
		span = reel_push_span(&tape, uint64_t, n);
		for (size_t k = 0; k < n; k++)
			span[k] = value_at(seed, k);
		same = reel_pop_span(&tape, uint64_t, n);
		for (size_t k = 0; k < n; k++)
			if (same[k] != value_at(seed, k)) {
				wrong_tapes++;
				break;
			}
		reel_tape_close(&tape);
	}
	return NULL;
}

static void large_slabs(void)
{
	tap_case("spans larger than a slab");
	open_tiny_pool();
	run_threads(THREADS, sweep_giants);
	close_whole_pool();
}

static _Atomic bool stop, torn;

/* Trims the pool, and checks that slabs in use are between 0 and the maximum of all tapes. */
static void *trim_and_look(void *unused)
{
	(void)unused;
	while (!stop) {
		struct reel_pool_stats stats = stats_of(pool);

		if (stats.slabs_in_use < 1 || stats.slabs_in_use > stats.takes)
			torn = true;
		reel_pool_trim(pool, 0);
	}
	return NULL;
}

static void *sweep_with_giants(void *number)
{
	sweep_own_tape(number);
	return sweep_giants(number);
}

static void trimming_and_looking_meanwhile(void)
{
	struct work work = {.height = 0};
	pthread_t observer;

	tap_case("one thread trims the pool and reads its counters");
	pool = open_pool(small_options());
	wrong_tapes = 0;
	stop = false;
	reel_tape_open(&work.tape, pool, 0);
	push_values(&work.tape, 0, 0, work.height = values_in(pool, 1));
	pthread_create(&observer, NULL, trim_and_look, NULL);
	run_threads(THREADS, sweep_with_giants);
	stop = true;
	pthread_join(observer, NULL);
	ok(!torn, "a slab that stays in use is always counted");
	finish(&work);
	close_whole_pool();
}

int main(void)
{
	tap_begin();
	tapes_of_their_own();
	tapes_that_change_hands();
	threads_that_exit();
	large_slabs();
	trimming_and_looking_meanwhile();
	return tap_end();
}
