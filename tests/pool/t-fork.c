/* SPDX-License-Identifier: MIT */
#include <config.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <reel/parcel.h>

#include "os/annotate.h"
#include "helpers/pool-support.h"

static reel_pool *pool;

/* Returns true if a new tape works, on old slabs and on new ones. */
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
		is_int(stats_of(pool).lost_slabs, 0, "the child's magazines are not lost to it");
		ok(pool_is_whole(pool), "the child's pool is whole");
		is_int(reel_pool_close(pool), 0, "the child closes the pool");
		pool = open_pool(small_options());
		ok(a_new_tape_works(), "the child opens another pool");
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

/* Two whole slabs in one magazine, one in the other, and three first slabs. */
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

/* The fourth first slab was made with the third one. */
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
			ok(a_new_tape_works(), "the child's tape works after a trim of the pool");
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
	is_int(stats_of(pool).lost_slabs, 0, "the parent's pool has lost nothing");
	reel_pool_close(pool);
}

/* The child walks through the list of pools. */
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
		is_int(reel_pool_close(pool), 0, "the newest pool closes");
		tap_child_end();
	}
	ok(tap_child_passed(child), "a child finds the pools that were open, and no other");
	reel_pool_close(pool);
	reel_pool_close(older);
}

/* ---- The default pool with a store ---- */

#define BUDGET "24M"
#define BUDGET_BYTES ((size_t)24 << 20)
#define SPILLED_WORDS (BUDGET_BYTES * 5 / 4 / 8)
/* Number of words that take the same memory with their notes. */
#define CHECKED_WORDS (SPILLED_WORDS / 4)

static bool returns(reel_tape *tape, uint64_t n)
{
	push_words(tape, 0, n);
	return !wrong_words(tape, 0, n) && !reel_tape_error(tape);
}

static bool spills_right(reel_tape *tape)
{
	return returns(tape, SPILLED_WORDS);
}

/* An array skips the buffer inside the tape, and its slab stays with the empty tape. */
static bool an_array_spills_right(reel_tape *tape)
{
	static uint64_t array[1 << 14];
	bool right = true;
	int times = (int)(SPILLED_WORDS / COUNT(array));

	for (int i = 0; i < times; i++) {
		memset(array, i, sizeof array);
		reel_push_array(tape, array, COUNT(array));
	}
	while (times-- > 0) {
		reel_pop_array(tape, array, COUNT(array));
		right &= array[0] == (unsigned)times * (UINT64_MAX / 255);
	}
	return right && !reel_tape_error(tape);
}

static void a_held_stretch_is_right_twice(reel_tape *tape)
{
	reel_tape_hold(tape);
	push_words(tape, 0, SPILLED_WORDS);
	is_int(wrong_words(tape, 0, SPILLED_WORDS), 0, "a tape that begins a hold in the child");
	reel_tape_release(tape);
	is_int(reel_tape_error(tape), 0, "the tape with the hold has no error");
}

static void workers_spill(unsigned generations)
{
	reel_tape of_words = {0}, of_arrays = {0}, held = {0}, fresh = {0}, checked;
	reel_pool *before = reel_pool_default();
	reel_parcel *parcel;
	pid_t worker;
	void *data;

	reel_tape_open(&checked, NULL, REEL_CHECKED);
	ok(spills_right(&of_words) && an_array_spills_right(&of_arrays) && spills_right(&held) &&
	   returns(&checked, CHECKED_WORDS), "tapes spill");
	ok(stats_of(before).written_bytes, "the tapes spill to the store");
	if (!generations)
		return;
	worker = fork_with_timeout();
	if (worker == 0) {
		ok(spills_right(&of_words), "an empty tape of the parent spills in the child");
		ok(an_array_spills_right(&of_arrays),
		   "a tape that was left with a slab spills in the child");
		ok(returns(&checked, CHECKED_WORDS),
		   "a checked tape of the parent works in the child");
		a_held_stretch_is_right_twice(&held);
		ok(spills_right(&fresh), "a tape that is all zero spills in the child");
		ok(reel_pool_default() != before, "the pool of these tapes is the child's own");
		is_int(reel_parcel_open(&parcel, NULL, 64, NULL, &data), 0,
		       "the child's pool takes parcels");
		workers_spill(generations - 1);
		tap_child_end();
	}
	ok(tap_child_passed(worker), "a worker spills to a store of its own");
	ok(spills_right(&of_words) && reel_pool_default() == before, "the parent goes on");
}

/* Values on slabs in memory stay readable in the child. */
static void a_tape_with_values_stays_with_the_parent(reel_tape *tape)
{
	uint64_t kept = 100000, n = SPILLED_WORDS;
	pid_t worker;

	push_words(tape, 0, kept);
	worker = fork_with_timeout();
	if (worker == 0) {
		record_reports();
		push_words(tape, kept, n);
		is_int(reel_tape_error(tape), -ECHILD, "the budget is used up, without the store");
		ok(strstr(reported.message, "child of a fork"), "the text names the fork: %s",
		   reported.message);
		ok(strstr(reported.message, "begin it in the child"), "the text has the remedy");
		n = kept + (n - kept) - reel_tape_refused(tape) / 8;
		while (reel_tape_refused(tape))
			(void)reel_pop(tape, uint64_t);
		is_int(wrong_words(tape, 0, n), 0, "what was taken comes back");
		tap_child_end();
	}
	ok(tap_child_passed(worker), "a child that goes on with a tape is told what its limit is");
	is_int(wrong_words(tape, 0, kept), 0, "the parent's values are as they were");
}

static void a_default_pool_with_a_store(void)
{
	pid_t child = fork_with_timeout();
	struct reel_pool_options options = {.hard_budget = BUDGET_BYTES};
	reel_tape tape = {0};

	if (child == 0) {
		setenv("REEL_BUDGET", BUDGET, 1);
		setenv("REEL_STORE", "memory=256M", 1);
		workers_spill(2);
		a_tape_with_values_stays_with_the_parent(&tape);
		reel_store_open(&options.store, "memory=256M", NULL);
		tape = open_tape(open_pool(options), 0);
		a_tape_with_values_stays_with_the_parent(&tape);
		tap_child_end();
	}
	ok(tap_child_passed(child), "a default pool with a store is opened anew in the child");
}

static void a_default_pool_without_a_store(void)
{
	reel_pool *before = reel_pool_default();
	pid_t child = fork_with_timeout();

	if (child == 0) {
		is_pointer(reel_pool_default(), before, "the child's default pool is the same");
		tap_child_end();
	}
	ok(tap_child_passed(child), "a default pool without a store serves the child, too");
}

static void *open_the_default_pool(void *unused)
{
	(void)unused;
	reel_pool_default();
	return NULL;
}

/* Forks while another thread holds the lock of the first use. */
static void forks_while_the_default_pool_is_opened(void)
{
	unsigned failed = 0;

#ifdef REEL_THREAD_SANITIZER
	tap_skip(1, "ThreadSanitizer hangs in a child whose parent was starting a thread");
	return;
#endif
	for (int i = 0; i < FORKS; i++) {
		pid_t child = fork_with_timeout();
		pthread_t thread;

		if (child == 0) {
			setenv("REEL_BUDGET", BUDGET, 1);
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

/* The last test opens the default pool of this process. */
int main(void)
{
	tap_begin();
	a_child_goes_on_with_an_open_tape();
	slabs_of_vanished_threads_are_counted();
	forks_while_threads_hammer_the_pool();
	pools_come_and_go_around_a_fork();
	a_default_pool_with_a_store();
	forks_while_the_default_pool_is_opened();
	a_default_pool_without_a_store();
	return tap_end();
}
