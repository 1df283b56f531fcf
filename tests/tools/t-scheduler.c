/* SPDX-License-Identifier: MIT */
/*
 * Threads take turns in an order that a seed chooses: the same seed always gives the same order,
 * known faults are found within a few seeds, and threads that cannot go on are reported at once.
 */
#include <config.h>

#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "helpers/late-store.h"
#include "spill/thread/thread.h"
#include "helpers/pool-support.h"
#include "scheduler.h"

#define STUCK 3
#define WRONG 4
#define MAX_SEEDS 500

static const enum schedule schedules[] = {SCHEDULE_RANDOM, SCHEDULE_PCT};
static const char *const schedule_names[] = {"at random", "by priorities"};

static void leave_stuck(const char *why)
{
	(void)why;
	_Exit(STUCK);
}

static void begin(enum schedule schedule, uint64_t seed)
{
	scheduler_begin(&(struct scheduler_options){
		.schedule = schedule, .seed = seed, .max_steps = 100000, .stuck = leave_stuck});
}

/* ---- A seed's interleaving ---- */

static reel_pool *pool;

static void *use_tape(void *number)
{
	uint64_t seed = *(unsigned *)number, top = values_in(pool, 12);
	reel_tape tape = open_tape(pool, 0);
	bool right;

	push_values(&tape, seed, 0, top);
	right = pop_values(&tape, seed, top / 2, top - top / 2);
	push_values(&tape, seed, top / 2, top / 2);
	right &= pop_values(&tape, seed, 0, 2 * (top / 2));
	reel_tape_close(&tape);
	if (!right)
		_Exit(WRONG);
	return NULL;
}

/* Runs tapes on threads that end, with a store that completes late and less memory than needed. */
static struct scheduler_trace run_tapes(enum schedule schedule, uint64_t seed)
{
	struct reel_pool_options options = small_options();
	struct scheduler_trace trace;
	struct late_store *late;

	begin(schedule, seed);
	late = late_open(seed);
	options.hard_budget = 20 * small_slab();
	options.soft_budget = 4 * small_slab();
	options.store = &late->store;
	pool = open_pool(options);
	run_threads(3, use_tape);
	reel_offload_settle(reel_offload_of(pool));
	if (!pool_is_whole(pool) || late->wrongs)
		_Exit(WRONG);
	reel_pool_close(pool);
	trace = scheduler_end();
	free(late);
	return trace;
}

static void a_seed_gives_the_same_each_time(unsigned which)
{
	unsigned runs = is_brief() ? 10 : 100, same = 0;
	struct scheduler_trace first = run_tapes(schedules[which], 7);

	tap_note("%llu steps, %llu hand-overs", (unsigned long long)first.steps,
		 (unsigned long long)first.changes);
	for (unsigned i = 0; i < runs; i++)
		same += run_tapes(schedules[which], 7).hash == first.hash;
	is_int(same, runs, "threads, %s: a seed gives the same steps each time",
	       schedule_names[which]);
}

/* Without yield points there are few steps, and so few different orders. */
static void seeds_differ(unsigned which)
{
	uint64_t hash[20];
	unsigned same = 0;

	for (unsigned seed = 0; seed < COUNT(hash); seed++) {
		hash[seed] = run_tapes(schedules[which], seed).hash;
		for (unsigned before = 0; before < seed; before++)
			same += hash[before] == hash[seed];
	}
	ok(same < COUNT(hash), "threads, %s: %zu seeds give different steps, but for %u pairs",
	   schedule_names[which], COUNT(hash), same);
}

/* ---- Faults that are known ---- */

/* Runs a program with a seed in a child. Returns its exit status, or -1. */
static int end_of(void (*program)(void), enum schedule schedule, uint64_t seed)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		begin(schedule, seed);
		program();
		scheduler_end();
		_Exit(0);
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Tries seeds until one of them finds the fault and another one does not. */
static void is_found(void (*program)(void), int fault, const char *what)
{
	for (unsigned which = 0; which < (is_brief() ? 1 : COUNT(schedules)); which++) {
		unsigned seed = 0, others = 0;
		bool found = false, passed = false;

		for (; seed < MAX_SEEDS && !(found && passed); seed++) {
			int end = end_of(program, schedules[which], seed);

			found |= end == fault;
			passed |= end == 0;
			others += end != fault && end != 0;
		}
		ok(found && passed && !others, "threads, %s: %s is found, in %u seeds",
		   schedule_names[which], what, seed);
	}
}

static pthread_mutex_t lock[2];
static pthread_cond_t changed;
static bool is_there;

static void *lock_both(void *number)
{
	unsigned first = *(unsigned *)number;

	pthread_mutex_lock(&lock[first]);
	pthread_mutex_lock(&lock[!first]);
	pthread_mutex_unlock(&lock[!first]);
	pthread_mutex_unlock(&lock[first]);
	return NULL;
}

static void lock_in_two_orders(void)
{
	run_threads(2, lock_both);
}

/* Releases the lock after it has looked, so that it may miss the wake-up before it sleeps. */
static void *sleep_unlocked(void *unused)
{
	bool there;

	(void)unused;
	pthread_mutex_lock(&lock[0]);
	there = is_there;
	pthread_mutex_unlock(&lock[0]);
	pthread_mutex_lock(&lock[0]);
	if (!there)
		pthread_cond_wait(&changed, &lock[0]);
	pthread_mutex_unlock(&lock[0]);
	return NULL;
}

static void *wake_others(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&lock[0]);
	is_there = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock[0]);
	return NULL;
}

static void *sleep_or_wake(void *number)
{
	return *(unsigned *)number ? wake_others(NULL) : sleep_unlocked(NULL);
}

static void lose_a_wake_up(void)
{
	is_there = false;
	run_threads(2, sleep_or_wake);
}

/* Waits without a loop, so that it takes any wake-up for the one that it waited for. */
static void *take_what_came(void *number)
{
	if (*(unsigned *)number)
		return wake_others(NULL);
	pthread_mutex_lock(&lock[0]);
	if (!is_there)
		pthread_cond_wait(&changed, &lock[0]);
	if (!is_there)
		_Exit(WRONG);
	pthread_mutex_unlock(&lock[0]);
	return NULL;
}

static void trust_a_wake_up(void)
{
	is_there = false;
	run_threads(2, take_what_came);
}

/* A stack without a tag: its head may go and come back unseen. */
static struct node {
	struct node *_Atomic next;
	_Atomic bool owned;
} nodes[3];
static struct node *_Atomic head;

static void push_node(struct node *node)
{
	struct node *seen = head;

	node->owned = false;
	do {
		node->next = seen;
		scheduler_step(__func__, __LINE__);
	} while (!atomic_compare_exchange_strong(&head, &seen, node));
}

static struct node *pop_node(void)
{
	struct node *seen = head, *next;

	while (seen) {
		next = seen->next;
		scheduler_step(__func__, __LINE__);
		if (!atomic_compare_exchange_strong(&head, &seen, next))
			continue;
		if (atomic_exchange(&seen->owned, true))
			_Exit(WRONG);
		return seen;
	}
	return NULL;
}

static void *exchange_nodes(void *unused)
{
	(void)unused;
	for (int i = 0; i < 4; i++) {
		struct node *one = pop_node(), *other = pop_node();

		if (one)
			push_node(one);
		if (other)
			push_node(other);
	}
	return NULL;
}

static void use_a_stack_without_a_tag(void)
{
	for (unsigned i = 0; i < COUNT(nodes); i++) {
		nodes[i].next = head;
		head = &nodes[i];
	}
	run_threads(3, exchange_nodes);
}

/* ---- Time, barriers, ends ---- */

static void a_wait_ends_by_its_time(void)
{
	struct timespec before, after;
	sem_t never;
	int error;

	sem_init(&never, 0, 0);
	begin(SCHEDULE_PCT, 1);
	clock_gettime(CLOCK_REALTIME, &before);
	before.tv_sec += 3600;
	error = sem_timedwait(&never, &before) ? errno : 0;
	clock_gettime(CLOCK_REALTIME, &after);
	scheduler_end();
	sem_destroy(&never);
	is_int(error, ETIMEDOUT, "an hour's wait ends when no thread can run");
	ok(after.tv_sec >= before.tv_sec, "the wait does not end before its hour");
}

static pthread_key_t key;
static _Atomic unsigned ended;

static void note_end(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&lock[0]);
	ended++;
	pthread_mutex_unlock(&lock[0]);
}

static void *have_a_key(void *unused)
{
	pthread_setspecific(key, &key);
	return unused;
}

static void destructors_are_scheduled(void)
{
	if (pthread_key_create(&key, note_end))
		abort();
	for (uint64_t seed = 0; seed < 20; seed++) {
		begin(SCHEDULE_RANDOM, seed);
		run_threads(3, have_a_key);
		scheduler_end();
	}
	pthread_key_delete(key);
	is_int(ended, 60, "a thread's destructors run before it has ended");
}

/* ---- A thread that stops ---- */

static sem_t wanted;

static void *stop_or_wait(void *number)
{
	if (*(unsigned *)number) {
		sem_wait(&wanted);
	} else {
		scheduler_stop_at(2);
		scheduler_step("first", 0);
		scheduler_step("second", 0);
		sem_post(&wanted);
	}
	return NULL;
}

static void a_thread_that_stops_goes_on_if_it_is_needed(void)
{
	sem_init(&wanted, 0, 0);
	begin(SCHEDULE_RANDOM, 3);
	run_threads(2, stop_or_wait);
	ok(scheduler_was_needed(),
	   "other threads that wait for a stopped thread need the scheduler");
	scheduler_end();
	sem_destroy(&wanted);
}

int main(void)
{
	tap_begin();
	for (unsigned i = 0; i < 2; i++)
		pthread_mutex_init(&lock[i], NULL);
	pthread_cond_init(&changed, NULL);
	for (unsigned which = 0; which < COUNT(schedules); which++) {
		a_seed_gives_the_same_each_time(which);
		seeds_differ(which);
	}
	is_found(lock_in_two_orders, STUCK, "a deadlock");
	is_found(lose_a_wake_up, STUCK, "a wake-up that is lost");
	is_found(trust_a_wake_up, WRONG, "a spurious wake-up that is trusted");
	is_found(use_a_stack_without_a_tag, WRONG, "a stack without a tag");
	a_wait_ends_by_its_time();
	destructors_are_scheduled();
	a_thread_that_stops_goes_on_if_it_is_needed();
	return tap_end();
}
