/* SPDX-License-Identifier: MIT */
#include <config.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helpers/pool-support.h"
#include "scheduler.h"

#define MOST (4 * REEL_MAGAZINE_SLABS)

static reel_pool *open_with_magazines(unsigned slabs)
{
	struct reel_pool_options options = small_options();

	options.magazine_slabs = slabs;
	return open_pool(options);
}

static void take_slabs(reel_pool *pool, struct reel_slab **slab, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (reel_pool_take(pool, REEL_SLAB_WHOLE, 0, &slab[i]))
			abort();
}

static void give_slabs(reel_pool *pool, struct reel_slab **slab, unsigned n)
{
	while (n-- > 0)
		reel_pool_give(pool, slab[n]);
}

static struct reel_cache *own_cache(reel_pool *pool)
{
	return pthread_getspecific(pool->cache_key);
}

static struct idle shared(reel_pool *pool, enum reel_slab_kind kind)
{
	return count_idle(pool, &pool->warm[kind], kind, true);
}

/* Gives three magazines full back. Two have to stay here, and one in the shared list. */
static bool keeps_two_magazines(unsigned size)
{
	reel_pool *pool = open_with_magazines(size);
	struct reel_slab *slab[MOST];
	struct idle idle;
	bool keeps;

	take_slabs(pool, slab, 3 * size);
	give_slabs(pool, slab, 3 * size);
	idle = shared(pool, REEL_SLAB_WHOLE);
	keeps = own_cache(pool)->loaded[REEL_SLAB_WHOLE].count == size &&
		own_cache(pool)->previous[REEL_SLAB_WHOLE].count == size &&
		idle.chains == 1 && idle.slabs == size;
	return pool_is_whole(pool) && reel_pool_close(pool) == 0 && keeps;
}

static void two_magazines_of_any_size_are_kept(void)
{
	bool kept = true;

	for (unsigned size = 1; size <= REEL_MAGAZINE_SLABS; size++)
		kept &= keeps_two_magazines(size);
	ok(kept, "a thread keeps two magazines, and sends others off whole, for sizes of 1 to 16");
}

/* Takes and gives a magazine full ten times. Returns the number of calls of the shared list. */
static uint64_t shared_takes_while_oscillating(unsigned size, unsigned fill)
{
	reel_pool *pool = open_with_magazines(size);
	struct reel_slab *slab[MOST];
	uint64_t before, after;

	take_slabs(pool, slab, 4 * size);
	give_slabs(pool, slab, 4 * size);
	take_slabs(pool, slab, fill + size);
	before = stats_of(pool).shared_takes;
	for (int i = 0; i < 10; i++) {
		give_slabs(pool, slab + fill, size);
		take_slabs(pool, slab + fill, size);
	}
	after = stats_of(pool).shared_takes;
	give_slabs(pool, slab, fill + size);
	reel_pool_close(pool);
	return after - before;
}

static void oscillating_takes_nothing_from_the_shared_list(void)
{
	uint64_t most = 0;

	for (unsigned size = 1; size <= REEL_MAGAZINE_SLABS; size++)
		for (unsigned fill = 0; fill <= 3 * size; fill++) {
			uint64_t takes = shared_takes_while_oscillating(size, fill);

			most = takes > most ? takes : most;
		}
	is_int(most, 0, "going up and down by a magazine at any fill is the thread's own affair");
}

static void a_shared_take_brings_a_whole_magazine(void)
{
	reel_pool *pool = open_with_magazines(3);
	struct reel_slab *slab[9];

	take_slabs(pool, slab, 9);
	give_slabs(pool, slab, 9);
	reel_pool_flush(pool);
	take_slabs(pool, slab, 9);
	is_int(stats_of(pool).shared_takes, 9 + 3, "nine slabs come in three takes of three");
	give_slabs(pool, slab, 9);
	reel_pool_close(pool);
}

static void *use_both_kinds(void *pool)
{
	struct reel_slab *first, *whole[4];

	reel_pool_take(pool, REEL_SLAB_FIRST, 0, &first);
	take_slabs(pool, whole, 4);
	give_slabs(pool, whole, 4);
	reel_pool_give(pool, first);
	return NULL;
}

static void a_thread_that_ends_leaves_its_slabs_to_others(void)
{
	reel_pool *pool = open_with_magazines(2);

	run_thread(use_both_kinds, pool);
	is_int(shared(pool, REEL_SLAB_WHOLE).slabs, 4, "a thread's whole slabs outlive it");
	is_int(shared(pool, REEL_SLAB_FIRST).slabs, 4, "a thread's first slabs outlive it");
	is_int(count_caches(pool, true), 0, "a thread that ends gives up its cache");
	use_both_kinds(pool);
	is_int(stats_of(pool).fresh_slabs, 8, "the next thread carves none");
	is_int(count_caches(pool, false), 1, "the next thread takes over the cache");
	is_int(count_caches(pool, true), 1, "no other thread gets the cache meanwhile");
	is_int(stats_of(pool).takes, 10, "the takes of both are counted");
	ok(pool_is_whole(pool), "the pool is whole");
	reel_pool_close(pool);
}

static pthread_barrier_t meeting;

static void *use_at_the_same_time(void *pool)
{
	use_both_kinds(pool);
	pthread_barrier_wait(&meeting);
	return NULL;
}

static void threads_at_the_same_time_have_caches_of_their_own(void)
{
	reel_pool *pool = open_with_magazines(2);
	pthread_t thread;

	pthread_barrier_init(&meeting, NULL, 2);
	pthread_create(&thread, NULL, use_at_the_same_time, pool);
	use_at_the_same_time(pool);
	is_int(count_caches(pool, false), 2, "two threads have two caches");
	pthread_join(thread, NULL);
	ok(pool_is_whole(pool), "the pool is whole");
	pthread_barrier_destroy(&meeting);
	reel_pool_close(pool);
}

static void *take_one(void *pool)
{
	struct reel_slab *slab;

	take_slabs(pool, &slab, 1);
	return slab;
}

static void a_slab_may_be_given_by_another_thread_than_took_it(void)
{
	reel_pool *pool = open_with_magazines(2);
	pthread_t thread;
	void *slab;

	pthread_create(&thread, NULL, take_one, pool);
	pthread_join(thread, &slab);
	is_int(stats_of(pool).slabs_in_use, 1, "a slab outlives the thread that took it");
	reel_pool_give(pool, slab);
	is_int(stats_of(pool).slabs_in_use, 0, "the slab is given back by another thread");
	ok(pool_is_whole(pool), "the pool is whole");
	reel_pool_close(pool);
}

static void close_tape(void *tape)
{
	reel_tape_close(tape);
}

/* The tape is closed after the cache of the thread was given up, so the thread gets a new one. */
static void *leave_a_tape(void *context)
{
	struct {
		reel_pool *pool;
		pthread_key_t key;
		reel_tape tape;
	} *thread = context;

	reel_tape_open(&thread->tape, thread->pool, 0);
	push_values(&thread->tape, 1, 0, values_in(thread->pool, 3));
	pthread_setspecific(thread->key, &thread->tape);
	return NULL;
}

static void a_tape_may_be_closed_by_a_destructor(void)
{
	struct {
		reel_pool *pool;
		pthread_key_t key;
		reel_tape tape;
	} thread = {.pool = open_with_magazines(2)};

	pthread_key_create(&thread.key, close_tape);
	run_thread(leave_a_tape, &thread);
	is_int(stats_of(thread.pool).slabs_in_use, 0, "a tape is closed as its thread ends");
	is_int(count_caches(thread.pool, true), 0, "the thread leaves no cache in use");
	ok(pool_is_whole(thread.pool), "the pool is whole");
	pthread_key_delete(thread.key);
	reel_pool_close(thread.pool);
}

static void *outlive_the_pool(void *pool)
{
	use_both_kinds(pool);
	pthread_barrier_wait(&meeting);
	pthread_barrier_wait(&meeting);
	return NULL;
}

static void a_pool_may_end_before_its_threads(void)
{
	reel_pool *pool = open_with_magazines(2);
	pthread_t thread;

	pthread_barrier_init(&meeting, NULL, 2);
	pthread_create(&thread, NULL, outlive_the_pool, pool);
	pthread_barrier_wait(&meeting);
	is_int(reel_pool_close(pool), 0, "a pool closes though a thread has magazines of it");
	pthread_barrier_wait(&meeting);
	is_int(pthread_join(thread, NULL), 0, "the thread with magazines ends later");
	pthread_barrier_destroy(&meeting);
}

/* ---- A pool that is closed while its threads end ---- */

/* Calls the destructor, as if the system had called it just before the key was deleted. */
static void *end_late(void *pool)
{
	void *cache;

	use_both_kinds(pool);
	cache = own_cache(pool);
	pthread_barrier_wait(&meeting);
	pthread_barrier_wait(&meeting);
	reel_cache_retire(cache);
	return NULL;
}

static void a_thread_may_end_after_its_pool(void)
{
	reel_pool *pool = open_with_magazines(2);
	pthread_t thread;

	pthread_barrier_init(&meeting, NULL, 2);
	pthread_create(&thread, NULL, end_late, pool);
	pthread_barrier_wait(&meeting);
	is_int(reel_pool_close(pool), 0, "a pool closes while a thread ends");
	pthread_barrier_wait(&meeting);
	is_int(pthread_join(thread, NULL), 0, "the thread that ends finds the pool gone");
	pthread_barrier_destroy(&meeting);
}

static void *retire(void *cache)
{
	reel_cache_retire(cache);
	return NULL;
}

static void a_thread_that_ends_leaves_the_caches_of_others(void)
{
	reel_pool *pool = open_with_magazines(2);
	struct reel_cache *cache;

	use_both_kinds(pool);
	cache = own_cache(pool);
	run_thread(retire, cache);
	is_int(cache->loaded[REEL_SLAB_WHOLE].count, 2,
	       "memory of a pool that is gone may be a cache of another thread, which keeps its slabs");
	is_int(count_caches(pool, true), 1, "the other thread keeps its cache");
	reel_pool_close(pool);
}

static reel_pool *closing;
static sem_t has_left;

static void *use_and_end(void *unused)
{
	use_both_kinds(closing);
	sem_post(&has_left);
	return unused;
}

static void leave_stuck(const char *why)
{
	printf("Bail out! %s\n", why);
	scheduler_print();
	exit(EXIT_FAILURE);
}

/* The threads no longer use the pool, but the program has not joined them. */
static bool closes_while_threads_end(enum schedule schedule, uint64_t seed)
{
	pthread_t thread[2];
	int error;

	scheduler_begin(&(struct scheduler_options){
		.schedule = schedule, .seed = seed, .stuck = leave_stuck});
	closing = open_with_magazines(2);
	for (unsigned i = 0; i < COUNT(thread); i++)
		pthread_create(&thread[i], NULL, use_and_end, NULL);
	for (unsigned i = 0; i < COUNT(thread); i++)
		sem_wait(&has_left);
	error = reel_pool_close(closing);
	for (unsigned i = 0; i < COUNT(thread); i++)
		pthread_join(thread[i], NULL);
	scheduler_end();
	return !error;
}

static void a_pool_may_close_while_its_threads_end(void)
{
	unsigned seeds = is_brief() ? 100 : 1000, closed = 0;

	sem_init(&has_left, 0, 0);
	for (unsigned seed = 0; seed < seeds; seed++)
		closed += closes_while_threads_end(seed % 2 ? SCHEDULE_PCT : SCHEDULE_RANDOM, seed);
	sem_destroy(&has_left);
	is_int(closed, seeds, "a pool closes at any moment of its threads' ends");
}

/* ---- A slab that changes hands twice ends the program ---- */

static void close_a_copy(reel_pool *pool)
{
	reel_tape tape, copy;

	reel_tape_open(&tape, pool, 0);
	push_values(&tape, 1, 0, values_in(pool, 3));
	copy = tape;
	reel_tape_close(&tape);
	reel_tape_close(&copy);
}

/* Imitates two threads that give one slab at the same time, without seeing each other. */
static void take_what_is_in_two_places(reel_pool *pool)
{
	struct reel_slab *slab[2];

	take_slabs(pool, slab, 1);
	reel_pool_give(pool, slab[0]);
	atomic_store_explicit(&slab[0]->state, REEL_SLAB_OPEN, memory_order_relaxed);
	reel_pool_give(pool, slab[0]);
	take_slabs(pool, slab, 2);
}

/* Returns true if the action ends the program with this text. */
static bool is_aborted(void (*act)(reel_pool *pool), const char *words)
{
	char said[256] = "";
	size_t length = 0;
	int channel[2], status;
	ssize_t bytes;
	pid_t child;

	if (pipe(channel))
		abort();
	child = fork();
	if (child == 0) {
		signal(SIGABRT, SIG_DFL);
		dup2(channel[1], STDERR_FILENO);
		act(open_with_magazines(2));
		_exit(0);
	}
	close(channel[1]);
	while ((bytes = read(channel[0], said + length, sizeof said - 1 - length)) > 0)
		length += (size_t)bytes;
	close(channel[0]);
	return waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
	       WTERMSIG(status) == SIGABRT && strstr(said, words);
}

static void what_changes_hands_twice_is_found(void)
{
	ok(is_aborted(close_a_copy, "was given back twice"),
	   "a tape of which a copy was closed gives no slab back again");
	ok(is_aborted(take_what_is_in_two_places, "was handed out twice"),
	   "a slab in two magazines is handed out once");
}

/* Another thread may wait for the frame. */
static void with_a_store_no_thread_keeps_whole_slabs(void)
{
	struct reel_pool_options options = small_options();
	reel_pool *pool;

	options.hard_budget = 16 * small_slab();
	reel_store_memory_open(&options.store, small_slab());
	pool = open_pool(options);
	use_both_kinds(pool);
	is_int(shared(pool, REEL_SLAB_WHOLE).slabs, 4,
	       "whole slabs go to the shared list if there is a store");
	is_int(own_cache(pool)->loaded[REEL_SLAB_FIRST].count, 2,
	       "first slabs go to magazines if there is a store");
	is_int(stats_of(pool).shared_takes, 1, "one take alone found no slab in the shared list");
	reel_pool_close(pool);
}

int main(void)
{
	tap_begin();
	two_magazines_of_any_size_are_kept();
	oscillating_takes_nothing_from_the_shared_list();
	a_shared_take_brings_a_whole_magazine();
	a_thread_that_ends_leaves_its_slabs_to_others();
	threads_at_the_same_time_have_caches_of_their_own();
	a_slab_may_be_given_by_another_thread_than_took_it();
	a_tape_may_be_closed_by_a_destructor();
	a_pool_may_end_before_its_threads();
	a_thread_may_end_after_its_pool();
	a_thread_that_ends_leaves_the_caches_of_others();
	a_pool_may_close_while_its_threads_end();
	with_a_store_no_thread_keeps_whole_slabs();
	what_changes_hands_twice_is_found();
	return tap_end();
}
