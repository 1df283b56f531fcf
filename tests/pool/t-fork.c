/* SPDX-License-Identifier: MIT */
#include <config.h>

#include <unistd.h>

#include "helpers/pool-support.h"

static reel_pool *pool;

/* Whether a new tape takes and returns values, on old slabs and on new ones. */
static bool a_new_tape_works(void)
{
	uint64_t n = values_in(pool, 20);
	reel_tape tape;
	bool works;

	reel_tape_open(&tape, pool, 0);
	push_values(&tape, 7, 0, n);
	works = pop_values(&tape, 7, 0, n) && !reel_tape_error(&tape);
	reel_tape_close(&tape);
	return works;
}

static void a_child_goes_on_with_an_open_tape(void)
{
	uint64_t n;
	reel_tape tape;
	pid_t child;

	pool = open_pool(small_options());
	n = values_in(pool, 5);
	a_new_tape_works();
	reel_tape_open(&tape, pool, 0);
	push_values(&tape, 1, 0, n);
	child = fork_with_timeout();
	if (child == 0) {
		push_values(&tape, 1, n, n);
		ok(pop_values(&tape, 1, 0, 2 * n), "the child's values are its own");
		reel_tape_close(&tape);
		ok(a_new_tape_works(), "the child opens a new tape");
		is_int(stats_of(pool).lost_slabs, 0, "its own magazines are not lost to it");
		ok(pool_is_whole(pool), "its pool is whole");
		is_int(reel_pool_close(pool), 0, "it closes the pool");
		pool = open_pool(small_options());
		ok(a_new_tape_works(), "and opens another one");
		tap_child_end();
	}
	push_values(&tape, 2, n, n);
	ok(tap_child_passed(child), "a child goes on with the tape and the pool");
	ok(pop_values(&tape, 2, n, n) && pop_values(&tape, 1, 0, n),
	   "the parent's tape is not changed by that");
	reel_tape_close(&tape);
	reel_pool_close(pool);
}

static pthread_barrier_t meeting;

/* Two whole slabs in one magazine, one in the other, three first ones. */
#define HELD_WHOLE 3
#define HELD_FIRST 3

static void *hold_magazines(void *unused)
{
	struct reel_slab *whole[HELD_WHOLE], *first[HELD_FIRST];

	(void)unused;
	for (int i = 0; i < HELD_WHOLE; i++)
		reel_pool_take(pool, REEL_SLAB_WHOLE, 0, &whole[i]);
	for (int i = 0; i < HELD_FIRST; i++)
		reel_pool_take(pool, REEL_SLAB_FIRST, 0, &first[i]);
	for (int i = 0; i < HELD_WHOLE; i++)
		reel_pool_give(pool, whole[i]);
	for (int i = 0; i < HELD_FIRST; i++)
		reel_pool_give(pool, first[i]);
	pthread_barrier_wait(&meeting);
	pthread_barrier_wait(&meeting);
	return NULL;
}

static unsigned slabs_in_magazines(void)
{
	unsigned slabs = 0;

	for (struct reel_cache *cache = pool->caches; cache; cache = cache->next)
		for (enum reel_slab_kind kind = 0; kind < REEL_SLAB_LARGE; kind++)
			slabs += cache->loaded[kind].count + cache->previous[kind].count;
	return slabs;
}

/* The fourth first slab came with the third. */
static void slabs_of_vanished_threads_are_counted(void)
{
	pthread_t thread;
	pid_t child;

	pool = open_pool(small_options());
	pthread_barrier_init(&meeting, NULL, 2);
	pthread_create(&thread, NULL, hold_magazines, NULL);
	pthread_barrier_wait(&meeting);
	child = fork_with_timeout();
	if (child == 0) {
		is_int(stats_of(pool).lost_slabs, HELD_WHOLE + HELD_FIRST + 1, "lost slabs");
		is_int(stats_of(pool).slabs_in_use, 0, "slabs in use");
		is_int(count_caches(pool, true), 0, "caches that wait for vanished threads");
		is_int(slabs_in_magazines(), 0, "slabs that their next owners would find there");
		ok(a_new_tape_works(), "the child opens a new tape");
		is_int(reel_pool_close(pool), 0, "the child closes the pool");
		tap_child_end();
	}
	ok(tap_child_passed(child), "the child counts what a thread left behind, and does without");
	is_int(stats_of(pool).lost_slabs, 0, "the parent has lost nothing");
	pthread_barrier_wait(&meeting);
	pthread_join(thread, NULL);
	ok(pool_is_whole(pool), "the parent's pool is whole");
	pthread_barrier_destroy(&meeting);
	reel_pool_close(pool);
}

#define HAMMERING_THREADS 3
#define FORKS 50

static _Atomic bool stop;
static _Atomic unsigned failed_children;

static void hammer(void)
{
	while (!stop)
		if (!a_new_tape_works())
			abort();
}

static void fork_and_look(void)
{
	for (int i = 0; i < FORKS; i++) {
		pid_t child = fork_with_timeout();

		if (child == 0) {
			ok(a_new_tape_works(), "the child's tape works");
			reel_pool_trim(pool, 0);
			ok(a_new_tape_works(), "and after trimming the pool");
			tap_child_end();
		}
		failed_children += !tap_child_passed(child);
	}
	stop = true;
}

static void *hammer_or_fork(void *number)
{
	if (*(unsigned *)number < HAMMERING_THREADS)
		hammer();
	else
		fork_and_look();
	return NULL;
}

static void forks_while_threads_hammer_the_pool(void)
{
	pool = open_pool(small_options());
	run_threads(HAMMERING_THREADS + 1, hammer_or_fork);
	is_int(failed_children, 0, "each of %d children works, whatever the threads were doing",
	       FORKS);
	ok(pool_is_whole(pool), "the parent's pool is whole");
	is_int(stats_of(pool).lost_slabs, 0, "and has lost nothing");
	reel_pool_close(pool);
}

/* The list of pools is walked in the child. */
static void pools_come_and_go_around_a_fork(void)
{
	reel_pool *older = open_pool(small_options());
	reel_pool *newer = open_pool(small_options());
	pid_t child;

	pool = open_pool(small_options());
	reel_pool_close(newer);
	child = fork_with_timeout();
	if (child == 0) {
		is_int(reel_pool_close(older), 0, "the oldest pool closes");
		ok(a_new_tape_works(), "the newest one works");
		is_int(reel_pool_close(pool), 0, "and closes");
		tap_child_end();
	}
	ok(tap_child_passed(child), "a child finds the pools that were open, and no other");
	reel_pool_close(pool);
	reel_pool_close(older);
}


static void *open_the_default_pool(void *unused)
{
	(void)unused;
	reel_pool_default();
	return NULL;
}

/* A fork in the middle of the first use, in which another thread has the lock. */
static void forks_while_the_default_pool_is_opened(void)
{
	unsigned failed = 0;

	for (int i = 0; i < FORKS; i++) {
		pid_t child = fork_with_timeout();
		pthread_t thread;

		if (child == 0) {
			setenv("REEL_BUDGET", "24M", 1);
			setenv("REEL_STORE", "memory=256M", 1);
			pthread_create(&thread, NULL, open_the_default_pool, NULL);
			child = fork_with_timeout();
			if (child == 0) {
				ok(reel_pool_default(), "the grandchild has a default pool");
				tap_child_end();
			}
			ok(tap_child_passed(child), "the grandchild ends");
			pthread_join(thread, NULL);
			tap_child_end();
		}
		failed += !tap_child_passed(child);
	}
	is_int(failed, 0, "a fork while another thread opens the default pool, each of %d times",
	       FORKS);
}

int main(void)
{
	tap_begin();
	a_child_goes_on_with_an_open_tape();
	slabs_of_vanished_threads_are_counted();
	forks_while_threads_hammer_the_pool();
	pools_come_and_go_around_a_fork();
	forks_while_the_default_pool_is_opened();
	return tap_end();
}
