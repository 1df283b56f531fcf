/* SPDX-License-Identifier: MIT */
#include <config.h>

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "os/counter.h"
#include "helpers/pool-support.h"

#define MAX_SLABS 64

static void ignore_errors(const reel_tape *tape, int error, const char *message, void *context)
{
	(void)tape;
	(void)error;
	(void)message;
	(void)context;
}

static reel_pool *open_with_budget(size_t hard, size_t soft)
{
	struct reel_pool_options options = small_options();

	options.hard_budget = hard;
	options.soft_budget = soft;
	return open_pool(options);
}

/* Pushes values until one is refused. Returns the number of those before it. */
static uint64_t push_until_refused(reel_tape *tape, uint64_t seed)
{
	uint64_t n = 0;

	while (push_values(tape, seed, n, 1), !reel_tape_error(tape))
		n++;
	return n;
}

/* Fills a tape, checks the memory that it has, and pops all. */
static bool takes_exactly(size_t budget, size_t whole_slabs)
{
	reel_pool *pool = open_with_budget(budget, 0);
	uint64_t slab_bytes = (1 + whole_slabs) * small_slab();
	reel_tape tape;
	bool exact;
	uint64_t n;

	reel_tape_open(&tape, pool, 0);
	n = push_until_refused(&tape, 1);
	exact = n == values_in(pool, whole_slabs) && reel_tape_error(&tape) == -EDQUOT &&
		stats_of(pool).resident_bytes == slab_bytes &&
		stats_of(pool).peak_resident_bytes == slab_bytes && stats_of(pool).refused == 1 &&
		reel_pop(&tape, uint64_t) == UINT64_MAX && pop_values(&tape, 1, 0, n) &&
		reel_tape_is_empty(&tape);
	reel_tape_close(&tape);
	return pool_is_whole(pool) && reel_pool_close(pool) == 0 && exact;
}

static void the_hard_budget_is_exact(void)
{
	bool to_the_slab = true, between = true;

	for (size_t whole = 0; whole < 6; whole++) {
		to_the_slab &= takes_exactly((1 + whole) * small_slab(), whole);
		between &= takes_exactly((2 + whole) * small_slab() - 1, whole);
	}
	ok(to_the_slab, "a budget of n slabs takes n slabs, and the next push is refused");
	ok(between, "a byte short of n slabs, it takes n - 1");
}

static void a_refused_tape_goes_on_after_it_was_popped(void)
{
	reel_pool *pool = open_with_budget(2 * small_slab(), 0);
	reel_tape tape;
	uint64_t n;

	reel_tape_open(&tape, pool, 0);
	n = push_until_refused(&tape, 1);
	(void)reel_pop(&tape, uint64_t);
	is_int(reel_tape_clear_error(&tape), -EDQUOT, "the error is the budget's");
	ok(pop_values(&tape, 1, 0, n), "all before it was kept");
	is_int(push_until_refused(&tape, 2), n, "the tape takes as much again");
	reel_tape_close(&tape);
	reel_pool_close(pool);
}

static void a_span_above_the_budget_is_refused_at_once(void)
{
	reel_pool *pool = open_with_budget(4 * small_slab(), 0);
	struct reel_slab *slab;
	uint64_t resident;

	reel_pool_take(pool, REEL_SLAB_WHOLE, 0, &slab);
	reel_pool_give(pool, slab);
	resident = stats_of(pool).resident_bytes;
	is_int(reel_pool_take(pool, REEL_SLAB_LARGE, 4 * small_slab() + 1, &slab), -EDQUOT,
	       "what no giving back could make room for is refused");
	is_int(stats_of(pool).resident_bytes, resident, "a refusal costs no idle memory");
	is_int(reel_pool_take(pool, REEL_SLAB_LARGE, 4 * small_slab(), &slab), 0,
	       "what is all of the budget is taken");
	reel_pool_give(pool, slab);
	reel_pool_close(pool);
}

static void take_and_give(reel_pool *pool, enum reel_slab_kind kind, size_t bytes, unsigned n)
{
	struct reel_slab *slab[MAX_SLABS];

	for (unsigned i = 0; i < n; i++)
		if (reel_pool_take(pool, kind, bytes, &slab[i]))
			abort();
	for (unsigned i = 0; i < n; i++)
		reel_pool_give(pool, slab[i]);
}

/* Idle memory of one kind fills the budget, and the test takes a slab of another kind. */
static void idle_memory_makes_room(enum reel_slab_kind idle, enum reel_slab_kind wanted,
				   const char *what)
{
	reel_pool *pool = open_with_budget(8 * small_slab(), 0);
	struct reel_slab *slab;

	take_and_give(pool, idle, small_slab(), 8);
	is_int(stats_of(pool).resident_bytes, 8 * small_slab(), "%s: the budget is all idle",
	       what);
	is_int(reel_pool_take(pool, wanted, small_slab(), &slab), 0,
	       "%s is given back before a push is refused", what);
	reel_pool_give(pool, slab);
	ok(pool_is_whole(pool), "the pool is whole");
	reel_pool_close(pool);
}

static void slabs_that_were_given_back_are_used_again(void)
{
	reel_pool *pool = open_with_budget(4 * small_slab(), 0);
	struct reel_slab *slab;

	take_and_give(pool, REEL_SLAB_WHOLE, 0, 4);
	reel_pool_trim(pool, 0);
	take_and_give(pool, REEL_SLAB_WHOLE, 0, 4);
	is_int(stats_of(pool).fresh_slabs, 4, "a slab without memory gets it again");
	is_int(stats_of(pool).resident_bytes, 4 * small_slab(),
	       "memory that a slab gets again is charged again");
	reel_pool_trim(pool, 0);
	reel_pool_take(pool, REEL_SLAB_LARGE, 4 * small_slab(), &slab);
	for (int i = 0; i < 3; i++) {
		struct reel_slab *none;

		is_int(reel_pool_take(pool, REEL_SLAB_WHOLE, 0, &none), -EDQUOT,
		       "a slab does not get memory that is above the budget");
	}
	reel_pool_give(pool, slab);
	ok(pool_is_whole(pool), "the slab without memory is not lost");
	reel_pool_close(pool);
}

static void at_most_so_much_is_resident_after(size_t keep, size_t left)
{
	reel_pool *pool = open_pool(small_options());
	uint64_t whole = 9, n = values_in(pool, whole), before, trimmed;
	reel_tape used, idle;

	reel_tape_open(&used, pool, 0);
	push_values(&used, 1, 0, n);
	reel_tape_open(&idle, pool, 0);
	push_values(&idle, 2, 0, n);
	reel_tape_close(&idle);
	before = stats_of(pool).resident_bytes;
	trimmed = reel_pool_trim(pool, keep);
	is_int(stats_of(pool).resident_bytes, left, "trim to %zu bytes leaves %zu", keep, left);
	ok(trimmed == before - left && trimmed == stats_of(pool).trimmed_bytes,
	   "a trim returns and counts what it gave back");
	ok(pop_values(&used, 1, 0, n), "a tape keeps its values");
	reel_tape_close(&used);
	ok(pool_is_whole(pool), "the pool is whole");
	reel_pool_close(pool);
}

/* Two tapes have nine whole slabs and a frame of first slabs each. One tape is in use. */
static void trim_gives_back_down_to_what_is_kept(void)
{
	size_t slab = small_slab(), used = 9 + 2;

	at_most_so_much_is_resident_after(SIZE_MAX, 20 * slab);
	at_most_so_much_is_resident_after(20 * slab, 20 * slab);
	at_most_so_much_is_resident_after(20 * slab - 1, 19 * slab);
	at_most_so_much_is_resident_after(16 * slab + slab / 2, 16 * slab);
	at_most_so_much_is_resident_after(used * slab, used * slab);
	at_most_so_much_is_resident_after(0, used * slab);
}

static void trim_gives_giants_back(void)
{
	reel_pool *pool = open_pool(small_options());

	take_and_give(pool, REEL_SLAB_LARGE, 5 * small_slab(), 2);
	is_int(stats_of(pool).peak_resident_bytes, 10 * small_slab(), "two giants were resident");
	is_int(reel_pool_trim(pool, 5 * small_slab()), 5 * small_slab(), "one giant is enough");
	is_int(reel_pool_trim(pool, 0), 5 * small_slab(), "the other giant goes, too");
	is_int(reel_pool_trim(pool, 0), 0, "there is nothing left to give back");
	reel_pool_close(pool);
}

static void slabs_that_are_no_pages_stay(void)
{
	size_t bytes = small_slab() + small_slab() / 2;
	struct reel_pool_options options = {.slab_bytes = bytes, .magazine_slabs = 2};
	reel_pool *pool = open_pool(options);
	struct reel_slab *lower, *upper;

	reel_pool_take(pool, REEL_SLAB_WHOLE, 0, &lower);
	reel_pool_take(pool, REEL_SLAB_WHOLE, 0, &upper);
	memset(upper->frame, 7, bytes);
	reel_pool_give(pool, lower);
	is_int(reel_pool_trim(pool, 0), 0, "half a page cannot be given back");
	is_int(stats_of(pool).resident_bytes, 2 * bytes, "half a page stays charged");
	is_int(upper->frame[0], 7, "the other half has another owner");
	reel_pool_give(pool, upper);
	ok(pool_is_whole(pool), "the pool is whole");
	reel_pool_close(pool);
}

/*
 * This thread gives 16 slabs back. Its two magazines keep two each. The other slabs go to the pool,
 * which gives the memory of those above the soft budget to the system.
 */
/* ---- Memory that is on its way to the system ---- */

static _Atomic bool is_returning, may_return;

/* The system takes its time. */
static void return_slowly(struct reel_frame_listener *listener, void *frame)
{
	(void)listener;
	(void)frame;
	is_returning = true;
	while (!may_return)
		sched_yield();
}

static void ignore_taken(struct reel_frame_listener *listener, void *frame, size_t bytes)
{
	(void)listener;
	(void)frame;
	(void)bytes;
}

static void ignore_closed(struct reel_frame_listener *listener)
{
	(void)listener;
}

static void *take_two(void *pool)
{
	take_and_give(pool, REEL_SLAB_LARGE, 2 * small_slab(), 1);
	return NULL;
}

/* Returns the error, if any. */
static void *take_three(void *pool)
{
	static int error;
	struct reel_slab *slab;

	error = reel_pool_take(pool, REEL_SLAB_LARGE, 3 * small_slab(), &slab);
	if (!error)
		reel_pool_give(pool, slab);
	return error ? &error : NULL;
}

/* Returns true if a thread that is short of memory gets it when the one that holds it goes on. */
static bool awaits(reel_pool *pool, pthread_t holder, _Atomic bool *may_go)
{
	pthread_t waits;
	void *error;

	if (pthread_create(&waits, NULL, take_three, pool))
		abort();
	/* Longer than a refusal takes. */
	usleep(20000);
	*may_go = true;
	pthread_join(holder, NULL);
	pthread_join(waits, &error);
	return !error;
}

static void memory_that_goes_back_is_awaited(void)
{
	struct reel_frame_listener slow = {ignore_taken, return_slowly, ignore_closed};
	struct reel_pool_options options = small_options();
	pthread_t trims;
	reel_pool *pool;
	pid_t child;

	tap_case("memory that another thread gives back to the system");
	options.hard_budget = 8 * small_slab();
	pool = open_pool(options);
	take_and_give(pool, REEL_SLAB_LARGE, 7 * small_slab(), 1);
	reel_pool_listen(pool, &slow);
	if (pthread_create(&trims, NULL, take_two, pool))
		abort();
	while (!is_returning)
		sched_yield();
	child = fork_with_timeout();
	if (!child) {
		ok(take_three(pool) != NULL, "the child of a fork is refused: it has no such thread");
		tap_child_end();
	}
	ok(tap_child_passed(child), "and does not wait");
	ok(awaits(pool, trims, &may_return),
	   "a thread that is short of memory waits until it has gone");
	close_pool_at_rest(pool, "memory that goes back");
}

#if REEL_YIELD_POINTS
/* A thread that looks at an idle slab of 16 times its size stops before it puts the slab back. */
static _Thread_local bool stops;
static _Atomic bool has_stopped, may_go_on;

bool reel_yield_hook(const char *function, int line);
bool reel_yield_hook(const char *function, int line)
{
	(void)line;
	if (!stops || strcmp(function, "freelist_push") != 0)
		return false;
	stops = false;
	has_stopped = true;
	while (!may_go_on)
		sched_yield();
	return true;
}

static void *stop_at_idle_slab(void *pool)
{
	stops = true;
	take_and_give(pool, REEL_SLAB_LARGE, 2 * small_slab(), 1);
	return NULL;
}

static void a_slab_that_is_looked_at_is_awaited(void)
{
	reel_pool *pool = open_with_budget(34 * small_slab(), 0);
	pthread_t looks;

	tap_case("a slab that another thread looks at");
	take_and_give(pool, REEL_SLAB_LARGE, 32 * small_slab(), 1);
	if (pthread_create(&looks, NULL, stop_at_idle_slab, pool))
		abort();
	while (!has_stopped)
		sched_yield();
	ok(awaits(pool, looks, &may_go_on),
	   "a thread that is short of memory waits until the slab is back");
	close_pool_at_rest(pool, "a slab that is looked at");
}
#else
static void a_slab_that_is_looked_at_is_awaited(void)
{
	tap_skip(1, "only builds with yield points stop between a pop and a push");
}
#endif

static void the_soft_budget_gives_back_and_refuses_nothing(void)
{
	reel_pool *pool = open_with_budget(32 * small_slab(), 6 * small_slab());

	take_and_give(pool, REEL_SLAB_WHOLE, 0, 16);
	is_int(stats_of(pool).peak_resident_bytes, 16 * small_slab(), "a soft budget refuses none");
	is_int(stats_of(pool).resident_bytes, 6 * small_slab(), "idle slabs above it go back");
	take_and_give(pool, REEL_SLAB_LARGE, 8 * small_slab(), 1);
	is_int(stats_of(pool).resident_bytes, 6 * small_slab(),
	       "an idle giant above the soft budget goes back");
	take_and_give(pool, REEL_SLAB_WHOLE, 0, 6);
	is_int(stats_of(pool).fresh_slabs, 16 + 1, "slabs below the soft budget stay");
	is_int(stats_of(pool).trimmed_bytes, 18 * small_slab(),
	       "slabs below the soft budget are not given back");
	reel_pool_close(pool);
}

/* Idle slabs are room for slabs that come back from the store. */
static void with_a_store_idle_slabs_stay_above_the_soft_budget(void)
{
	struct reel_pool_options options = small_options();
	reel_pool *pool;

	options.hard_budget = 32 * small_slab();
	options.soft_budget = 6 * small_slab();
	if (reel_store_memory_open(&options.store, UINT64_MAX))
		abort();
	pool = open_pool(options);
	take_and_give(pool, REEL_SLAB_WHOLE, 0, 16);
	is_int(stats_of(pool).resident_bytes, 16 * small_slab(),
	       "idle slabs stay if there is a store");
	take_and_give(pool, REEL_SLAB_LARGE, 8 * small_slab(), 1);
	take_and_give(pool, REEL_SLAB_LARGE, 8 * small_slab(), 1);
	is_int(stats_of(pool).resident_bytes, 24 * small_slab(), "so does a giant");
	is_int(stats_of(pool).fresh_slabs, 16 + 1, "for the next one of its size");
	take_and_give(pool, REEL_SLAB_WHOLE, 0, 32);
	is_int(stats_of(pool).resident_bytes, 32 * small_slab(),
	       "a slab of another size gives it back to the system, if there is no other room");
	is_int(stats_of(pool).trimmed_bytes, 8 * small_slab(), "and nothing else");
	ok(pool_is_whole(pool), "the pool is whole");
	reel_pool_close(pool);
}

static void who_takes_one_slab_leaves_the_others_of_its_chain(void)
{
	reel_pool *pool = open_pool(small_options());
	struct reel_slab *one;

	take_and_give(pool, REEL_SLAB_WHOLE, 0, 4);
	reel_pool_flush(pool);
	is_int(pool->warm_chains, 2, "four slabs are idle in chains of two");
	if (reel_supply_take_one(pool, REEL_SLAB_WHOLE, &one))
		one = NULL;
	ok(one && !one->below, "one of them is taken");
	is_int(pool->warm_chains, 2, "the other slab of its chain stays");
	reel_supply_push_warm(pool, one);
	ok(pool_is_whole(pool), "the pool is whole");
	reel_pool_close(pool);
}

static void first_slabs_stay_above_the_soft_budget(void)
{
	reel_pool *pool = open_with_budget(0, small_slab());

	take_and_give(pool, REEL_SLAB_FIRST, 0, 16);
	is_int(stats_of(pool).resident_bytes, 4 * small_slab(), "first slabs are not given back");
	ok(pool_is_whole(pool), "first slabs lie where first slabs belong");
	reel_pool_close(pool);
}

static size_t resident_bytes(const char *memory, size_t bytes)
{
	size_t pages = bytes / small_slab(), n = 0;
	unsigned char *in_memory = malloc(pages);

	if (mincore((void *)(uintptr_t)memory, bytes, in_memory))
		abort();
	for (size_t i = 0; i < pages; i++)
		n += in_memory[i] & 1;
	free(in_memory);
	return n * small_slab();
}

#define PAGES_OF_A_SLAB 4

/* These sizes wrap if they are rounded up. A slab of the wrapped size would overlap others. */
static void a_size_that_wraps_is_refused(size_t hard, int error)
{
	reel_pool *pool = open_with_budget(hard, 0);
	struct reel_slab *slab = NULL;
	unsigned wrong = 0;

	for (size_t k = 0; k <= 8192; k++)
		wrong += reel_pool_take(pool, REEL_SLAB_LARGE, SIZE_MAX - k, &slab) != error;
	is_int(wrong, 0, "sizes from SIZE_MAX - 8192 on are refused: %s", strerror(-error));
	is_int(stats_of(pool).resident_bytes, 0, "nothing is charged for refused sizes");
	is_pointer(slab, NULL, "no slab is given for refused sizes");
	reel_pool_close(pool);
}

static struct reel_pool_options page_options(size_t slab_bytes)
{
	return (struct reel_pool_options){
		.slab_bytes = slab_bytes, .first_slab_bytes = slab_bytes, .magazine_slabs = 2};
}

/* Compares the charge of a slab with the resident memory of the system: written, given, trimmed. */
static void what_is_charged_is_resident(enum reel_slab_kind kind, size_t bytes, const char *name)
{
	reel_pool *pool = open_pool(page_options(PAGES_OF_A_SLAB * small_slab()));
	struct reel_slab *slab;
	char *frame;

	reel_pool_take(pool, kind, bytes, &slab);
	frame = slab->frame;
	memset(frame, 1, slab->bytes);
	bytes = slab->bytes;
	is_int(stats_of(pool).resident_bytes, resident_bytes(frame, bytes),
	       "a %s slab in use is charged what is resident", name);
	reel_pool_give(pool, slab);
	is_int(stats_of(pool).resident_bytes, resident_bytes(frame, bytes),
	       "an idle %s slab is charged what is resident", name);
	if (kind == REEL_SLAB_WHOLE) {
		reel_pool_trim(pool, 0);
		is_int(resident_bytes(frame, bytes), 0, "nothing of it is after it was trimmed");
	}
	reel_pool_close(pool);
}

/* With a budget, huge pages would make memory resident that belongs to no slab. */
static void a_small_slab_makes_nothing_else_resident(size_t slab_bytes)
{
	struct reel_pool_options options = page_options(slab_bytes);
	struct reel_slab *slab;
	reel_pool *pool;

	options.hard_budget = 2 * slab_bytes;
	pool = open_pool(options);
	reel_pool_take(pool, REEL_SLAB_WHOLE, 0, &slab);
	memset(slab->frame, 1, slab->bytes);
	is_int(resident_bytes(slab->frame, 2 * REEL_HUGE_PAGE), slab_bytes,
	       "a slab of %zu bytes makes no more resident", slab_bytes);
	reel_pool_give(pool, slab);
	reel_pool_close(pool);
}

#define RACING_THREADS 4
#define RACING_ROUNDS 100
#define RACING_BUDGET 12

static reel_pool *raced;
static _Atomic bool exceeded, lost_values;
static _Atomic uint64_t refusals;

/* Each of four threads takes a third of the budget, and keeps it for a while. */
static void *race_for_the_budget(void *number)
{
	uint64_t seed = *(unsigned *)number;
	uint64_t wanted = values_in(raced, RACING_BUDGET / 3 - 1);

	for (int round = 0; round < RACING_ROUNDS; round++) {
		uint64_t n = 0;
		reel_tape tape;

		reel_tape_open(&tape, raced, 0);
		while (n < wanted && (push_values(&tape, seed, n, 1), !reel_tape_error(&tape)))
			n++;
		sched_yield();
		if (stats_of(raced).resident_bytes > RACING_BUDGET * small_slab())
			exceeded = true;
		if (reel_tape_error(&tape)) {
			refusals += reel_tape_error(&tape) == -EDQUOT;
			(void)reel_pop(&tape, uint64_t);
		}
		if (!pop_values(&tape, seed, 0, n) || !reel_tape_is_empty(&tape))
			lost_values = true;
		reel_tape_close(&tape);
	}
	return NULL;
}

static void the_budget_holds_while_threads_race_for_it(void)
{
	raced = open_with_budget(RACING_BUDGET * small_slab(), 0);
	run_threads(RACING_THREADS, race_for_the_budget);
	tap_note("%llu pushes refused", (unsigned long long)refusals);
	ok(!exceeded && stats_of(raced).peak_resident_bytes <= RACING_BUDGET * small_slab(),
	   "never more than the budget is resident");
	ok(!lost_values, "what was pushed before a refusal comes back");
	is_int(stats_of(raced).refused, refusals, "refusals are those that the tapes saw");
	ok(pool_is_whole(raced), "the pool is whole");
	reel_pool_close(raced);
}

#define RAISES 5000

static _Atomic uint64_t raised[RAISES];
static _Atomic unsigned raisers;

/* Two threads raise the same figure, to 1 and to 2, at the same time. */
static void *raise_each(void *number)
{
	for (unsigned i = 0; i < RAISES; i++) {
		raisers++;
		for (unsigned spins = 1; raisers < 2 * (i + 1); spins++)
			if (spins % 1000 == 0)
				sched_yield();
		reel_counter_raise(&raised[i], 1 + *(unsigned *)number);
	}
	return NULL;
}

static void the_larger_figure_stays_whoever_comes_first(void)
{
	unsigned wrong = 0;

	run_threads(2, raise_each);
	for (unsigned i = 0; i < RAISES; i++)
		wrong += raised[i] && raised[i] != 2;
	is_int(wrong, 0, "the larger of two figures stays, whoever comes first");
}

int main(void)
{
	tap_begin();
	reel_set_error_handler(ignore_errors, NULL);
	the_hard_budget_is_exact();
	a_refused_tape_goes_on_after_it_was_popped();
	a_span_above_the_budget_is_refused_at_once();
	a_size_that_wraps_is_refused(4 * small_slab(), -EDQUOT);
	a_size_that_wraps_is_refused(SIZE_MAX, -ENOMEM);
	idle_memory_makes_room(REEL_SLAB_LARGE, REEL_SLAB_WHOLE, "an idle giant");
	idle_memory_makes_room(REEL_SLAB_WHOLE, REEL_SLAB_LARGE, "an idle slab");
	idle_memory_makes_room(REEL_SLAB_WHOLE, REEL_SLAB_FIRST, "an idle slab, for first ones,");
	slabs_that_were_given_back_are_used_again();
	trim_gives_back_down_to_what_is_kept();
	trim_gives_giants_back();
	slabs_that_are_no_pages_stay();
	memory_that_goes_back_is_awaited();
	a_slab_that_is_looked_at_is_awaited();
	the_soft_budget_gives_back_and_refuses_nothing();
	with_a_store_idle_slabs_stay_above_the_soft_budget();
	who_takes_one_slab_leaves_the_others_of_its_chain();
	first_slabs_stay_above_the_soft_budget();
	what_is_charged_is_resident(REEL_SLAB_FIRST, 0, "first");
	what_is_charged_is_resident(REEL_SLAB_WHOLE, 0, "whole");
	what_is_charged_is_resident(REEL_SLAB_LARGE, 10 * small_slab() + 1, "giant");
	a_small_slab_makes_nothing_else_resident(small_slab());
	a_small_slab_makes_nothing_else_resident(REEL_HUGE_PAGE + REEL_HUGE_PAGE / 2);
	the_budget_holds_while_threads_race_for_it();
	the_larger_figure_stays_whoever_comes_first();
	return tap_end();
}
