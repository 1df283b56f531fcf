/* SPDX-License-Identifier: MIT */
/*
 * Stops a thread inside an operation of the pool, at each place where another thread may run, and
 * tests that other threads continue as reel/pool.h promises. Threads run in turns
 * (stress/scheduler.h), so the test knows the threads that wait for the stopped one, and does not
 * depend on time.
 */
#include <config.h>

#include <sched.h>
#include <stdio.h>

#include "helpers/late-store.h"
#include "spill/thread/thread.h"
#include "helpers/pool-support.h"
#include "spill/owner/slab-owner.h"
#include "scheduler.h"

#define OTHERS 2
#define TURNS 12
#define MAX_STEPS 2000

/* An operation in which a thread stops. */
struct operation {
	const char *name;
	void (*prepare)(void);
	void (*run)(void);
	/* With a store, beyond the budget: threads that wait for a frame may wait for this one. */
	bool stored;
};

static reel_pool *pool;
static struct reel_slab *slab[8];
static reel_tape tape;
static uint64_t height;

static void leave_stuck(const char *why)
{
	printf("Bail out! %s\n", why);
	scheduler_print();
	exit(EXIT_FAILURE);
}

/* ---- Operations ---- */

static void nothing(void)
{
}

static void take_slabs(void)
{
	for (unsigned i = 0; i < COUNT(slab); i++)
		if (reel_pool_take(pool, REEL_SLAB_WHOLE, 0, &slab[i]))
			slab[i] = NULL;
}

static void give_slabs(void)
{
	for (unsigned i = 0; i < COUNT(slab); i++) {
		if (slab[i])
			reel_pool_give(pool, slab[i]);
		slab[i] = NULL;
	}
}

static void take_and_give_slabs(void)
{
	take_slabs();
	give_slabs();
}

static void flush(void)
{
	reel_pool_flush(pool);
}

static void trim(void)
{
	reel_pool_trim(pool, 0);
}

static void use_giant(void)
{
	struct reel_slab *large;

	if (!reel_pool_take(pool, REEL_SLAB_LARGE, 3 * small_slab(), &large))
		reel_pool_give(pool, large);
}

static void read_stats(void)
{
	(void)stats_of(pool);
}

static void retire(void)
{
	reel_cache_retire(pthread_getspecific(pool->cache_key));
	pthread_setspecific(pool->cache_key, NULL);
}

static void push_tape(void)
{
	push_values(&tape, 1, height, values_in(pool, 30));
	height += values_in(pool, 30);
}

static void pop_tape(void)
{
	pop_values(&tape, 1, 0, height);
	height = 0;
}

static void drop_tape(void)
{
	reel_tape_close(&tape);
	height = 0;
}

static const struct operation operations[] = {
	{"take", nothing, take_slabs, false},
	{"give", take_slabs, give_slabs, false},
	{"flush", take_and_give_slabs, flush, false},
	{"trim", take_and_give_slabs, trim, false},
	{"take and give of a giant", nothing, use_giant, false},
	{"reading the counters", take_and_give_slabs, read_stats, false},
	{"the end of a thread", take_and_give_slabs, retire, false},
	{"a push that waits for frames", nothing, push_tape, true},
	{"a pop that waits for slabs", push_tape, pop_tape, true},
	{"dropping slabs", push_tape, drop_tape, true},
};

/* ---- The stopped thread, and the others ---- */

static const struct operation *stopped;
static bool others_push;
static uint64_t stop_at, steps;
static _Atomic bool over;
static _Atomic unsigned turns;
/* The state after the other threads had finished. */
static bool still_stopped, needed;
static char place[64];

static void *stop_inside(void *unused)
{
	(void)unused;
	stopped->prepare();
	scheduler_stop_at(stop_at);
	stopped->run();
	steps = scheduler_steps_since();
	scheduler_stop_at(0);
	over = true;
	give_slabs();
	if (height)
		pop_tape();
	reel_tape_close(&tape);
	return NULL;
}

static void take_and_give(void)
{
	struct reel_slab *own[3] = {NULL};

	for (unsigned i = 0; i < COUNT(own); i++)
		if (reel_pool_take(pool, i ? REEL_SLAB_WHOLE : REEL_SLAB_FIRST, 0, &own[i]))
			own[i] = NULL;
	for (unsigned i = 0; i < COUNT(own); i++)
		if (own[i])
			reel_pool_give(pool, own[i]);
}

static void push_and_pop(unsigned number)
{
	reel_tape own = open_tape(pool, 0);

	push_values(&own, 2 + number, 0, values_in(pool, 8));
	if (!reel_tape_error(&own) && !pop_values(&own, 2 + number, 0, values_in(pool, 8)))
		leave_stuck("a value is wrong");
	reel_tape_close(&own);
}

static void note_place(void)
{
	const char *at = scheduler_stopped();

	snprintf(place, sizeof place, "%s", at ? at : "its end");
}

static void *go_on(void *number)
{
	while (!over && !scheduler_stopped())
		sched_yield();
	note_place();
	for (unsigned i = 0; i < TURNS; i++) {
		if (others_push)
			push_and_pop(*(unsigned *)number);
		else
			take_and_give();
		turns++;
	}
	/* The others have finished. From here on the stopped thread may be woken. */
	if (turns == OTHERS * TURNS) {
		needed = scheduler_was_needed();
		still_stopped = scheduler_stopped() != NULL;
		scheduler_resume();
	}
	return NULL;
}

static void *run_one(void *number)
{
	unsigned other = *(unsigned *)number - 1;

	return *(unsigned *)number ? go_on(&other) : stop_inside(NULL);
}

static void open_everything(struct late_store **late)
{
	struct reel_pool_options options = small_options();

	*late = NULL;
	options.hard_budget = (stopped->stored ? 24 : 64) * small_slab();
	if (stopped->stored) {
		*late = late_open(1);
		options.store = &(*late)->store;
		options.soft_budget = options.hard_budget / 4;
	}
	pool = open_pool(options);
	tape = open_tape(pool, 0);
}

static bool close_everything(struct late_store *late)
{
	bool whole;

	if (reel_offload_of(pool))
		reel_offload_settle(reel_offload_of(pool));
	whole = pool_is_whole(pool) && !reel_pool_close(pool);
	free(late);
	return whole;
}

/* Stops at the n-th step. Returns true if all is right. Sets `needed` if a thread had to wait. */
static bool run_stopped_at(uint64_t n)
{
	struct late_store *late;
	bool whole;

	stop_at = n;
	turns = 0;
	needed = still_stopped = false;
	over = false;
	scheduler_begin(&(struct scheduler_options){
		.schedule = SCHEDULE_RANDOM, .seed = n, .stuck = leave_stuck});
	open_everything(&late);
	run_threads(1 + OTHERS, run_one);
	whole = close_everything(late);
	scheduler_end();
	return whole && turns == OTHERS * TURNS;
}

static bool has_yield_points(void)
{
	return REEL_YIELD_POINTS;
}

/* Stops at each step of the operation in turn, or at some steps if there are many. */
static void stop_everywhere(const struct operation *operation, bool push)
{
	unsigned places = 0, went_on = 0, waited = 0;
	unsigned few = is_brief() ? 2 : 16;
	bool right = true;
	uint64_t n = 0;

	stopped = operation;
	others_push = push;
	do {
		n += 1 + places / (operation->stored ? few : 64);
		right &= run_stopped_at(n);
		places++;
		went_on += still_stopped;
		waited += needed;
		if (needed)
			tap_note("others wait for it at %s", place);
	} while (n < steps && n < MAX_STEPS);
	tap_note("%s, %u steps: others went on at %u, waited at %u", operation->name,
		 (unsigned)steps, went_on, waited);
	ok(right, "a thread stops inside: %s; nothing is lost", operation->name);
	if (!operation->stored)
		ok(!waited && went_on + 1 >= places, "others go on with %s",
		   push ? "tapes" : "slabs");
}

int main(void)
{
	tap_begin();
	if (!has_yield_points())
		tap_skip_all("configure --enable-yield-points is needed");
	for (unsigned i = 0; i < COUNT(operations); i++) {
		stop_everywhere(&operations[i], false);
		stop_everywhere(&operations[i], true);
	}
	return tap_end();
}
