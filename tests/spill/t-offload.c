/* SPDX-License-Identifier: MIT */
/* Tests the offload thread: the slabs that it writes, evicts and keeps ready, and its errors. */
#include <config.h>

#include <errno.h>

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "helpers/held-store.h"
#include "helpers/spill-support.h"
#include "helpers/store-fault.h"
#include "helpers/store-verbs.h"
#include "os/clock.h"

/* ---- Amounts ---- */

/* Returns the words that fill the inline window of a tape, its first slabs, and `slabs` others. */
static uint64_t words_on(unsigned slabs)
{
	return INLINE_WORDS + (1 + slabs) * SLAB_WORDS;
}

/*
 * The soft budget has eight slabs. The first slabs of the tape take one of them, and the span of
 * the other tape takes `span_slabs`. The rest is for sealed slabs that are in memory alone.
 */
static void only_the_soft_budget_is_in_memory_alone(unsigned span_slabs, unsigned in_memory_alone)
{
	enum { SLABS = 12 };
	struct late_store *late = late_open(15);
	reel_pool *pool = open_pool(spilling(&late->store, 32, 8));
	reel_tape tape = open_tape(pool, 0), other = open_tape(pool, 0);

	tap_case("a tape above the soft budget");
	if (span_slabs)
		fill(reel_push_span(&other, char, span_slabs * SLAB), span_slabs * SLAB, 1);
	push_words(&tape, 0, words_on(SLABS));
	settle(pool);
	is_int(reel_offload_of(pool)->dirty_bytes, in_memory_alone * SLAB,
	       "beside %u slabs in a span so many bytes are sealed", span_slabs);
	is_int(late->puts, SLABS - 1 - in_memory_alone, "and no more than the others was put");
	is_int(stats_of(pool).stalls, 0, "for which nobody waited");
	is_int(wrong_words(&tape, 0, words_on(SLABS)), 0, "all comes back");
	reel_tape_close(&tape);
	reel_tape_close(&other);
	close_all(pool, late, "a tape above the soft budget");
}

#define MAX_TAKEN 32

/* Takes all frames that are ready, and returns their number. */
static unsigned take_ready(reel_pool *pool, struct reel_slab **taken)
{
	unsigned n = 0;

	while (n < MAX_TAKEN && pool->warm_chains &&
	       !reel_pool_take(pool, REEL_SLAB_WHOLE, 0, &taken[n]))
		n++;
	return n;
}

static void give_all(reel_pool *pool, struct reel_slab **taken, unsigned n)
{
	while (n-- > 0)
		reel_pool_give(pool, taken[n]);
}

/* Slabs that were read ahead can be evicted at once. */
static void frames_are_ready_while_a_tape_grows(unsigned hard, unsigned soft, unsigned ready)
{
	struct late_store *late = late_open(16);
	reel_pool *pool = open_pool(spilling(&late->store, hard, soft));
	reel_tape tape = open_tape(pool, 0);
	struct reel_slab *before[MAX_TAKEN], *after[MAX_TAKEN];
	unsigned n, m;

	tap_case("frames that are ready");
	push_words(&tape, 0, words_on(80));
	is_int(wrong_words(&tape, words_on(40), words_on(80)), 0, "half of it comes back");
	settle(pool);
	n = take_ready(pool, before);
	tap_note("%u frames were ready, %zu clean", n, reel_offload_of(pool)->clean);
	push_words(&tape, words_on(40), words_on(42));
	settle(pool);
	m = take_ready(pool, after);
	is_int(m, ready, "with budgets of %u and %u slabs so many are ready", hard, soft);
	settle(pool);
	is_int(pool->warm_chains, 0, "but none as long as it does not grow");
	give_all(pool, before, n);
	give_all(pool, after, m);
	is_int(wrong_words(&tape, 0, words_on(42)), 0, "all comes back");
	reel_tape_close(&tape);
	close_all(pool, late, "frames that are ready");
}

/* Each slab has one span, and room for another half span. */
static void as_much_is_put_as_was_pushed(size_t words, size_t aligned)
{
	enum { SPANS = 20 };
	struct late_store *late = late_open(17);
	reel_tape tape;
	reel_pool *pool;
	unsigned wrong = 0;

	tap_case("slabs that are not full");
	late->align = 512;
	pool = open_pool(spilling(&late->store, 8, 4));
	tape = open_tape(pool, 0);
	for (unsigned i = 0; i < SPANS; i++)
		fill(reel_push_span(&tape, uint64_t, words), words * 8, i);
	settle(pool);
	ok(late->puts > SPANS / 2, "are put: %u", late->puts);
	is_int(stats_of(pool).written_bytes, late->puts * aligned, "of %zu bytes %zu each", words * 8,
	       aligned);
	for (unsigned i = SPANS; i-- > 0;)
		wrong += !is_filled(reel_pop_span(&tape, uint64_t, words), words * 8, i);
	is_int(wrong, 0, "all comes back");
	reel_tape_close(&tape);
	close_all(pool, late, "slabs that are not full");
}

/* Before the puts end, the owner comes back to the last slab, or closes its tape. */
static void a_put_ends_after_its_slab_was(bool left, int error)
{
	struct held_store *held = held_open();
	reel_pool *pool = open_pool(spilling(&held->store, 16, 4));
	reel_tape tape = open_tape(pool, 0);

	tap_case("four slabs that are being put");
	push_words(&tape, 0, words_on(9));
	while (held_transfers(held) < 4)
		sched_yield();
	is_int(wrong_words(&tape, words_on(4) - 1, words_on(9)), 0, "the last of them can be popped");
	is_int(reel_slab_state_of(tape.slab), REEL_SLAB_PINNED_WRITING, "while it is put");
	if (left)
		reel_tape_close(&tape);
	held_end(held, error);
	settle(pool);
	is_int(stats_of(pool).failed_puts, error ? 4 : 0, "the puts ended with error %d", error);
	if (!left) {
		is_int(reel_slab_state_of(tape.slab), error ? REEL_SLAB_OPEN : REEL_SLAB_PINNED,
		       "it is %s", error ? "in memory alone" : "in the store, too");
		is_int(reel_offload_of(pool)->dirty_bytes, error ? 3 * SLAB : 0,
		       "and so are those below it");
		is_int(reel_offload_of(pool)->clean, error ? 0 : 3, "nothing else is counted");
		push_words(&tape, words_on(4) - 1, words_on(60));
		is_int(wrong_words(&tape, 0, words_on(60)), 0, "the tape goes on");
	}
	reel_tape_close(&tape);
	close_pool_at_rest(pool, left ? "puts of slabs that were left" : "puts of a slab in use");
}

/* A read ahead fails after the owner has closed its tape. */
static void a_get_fails_when_its_slab_was_left(void)
{
	struct held_store *held = held_open();
	reel_pool *pool = open_pool(spilling(&held->store, 16, 8));
	reel_tape tape = open_tape(pool, 0);
	unsigned slabs = 40, wrong = 0;

	tap_case("a slab that is being read in advance");
	held_release(held);
	push_words(&tape, 0, words_on(slabs) - 1);
	settle(pool);
	held_hold_gets(held);
	for (; reel_slab_state_of(tape.slab->below->below) != REEL_SLAB_READ_QUEUED &&
	       reel_slab_state_of(tape.slab->below->below) != REEL_SLAB_READING; slabs--)
		wrong += wrong_words(&tape, words_on(slabs - 1) - 1, words_on(slabs) - 1);
	while (!held_gets(held))
		sched_yield();
	is_int(wrong, 0, "what is in memory comes back");
	reel_tape_close(&tape);
	held_end_gets(held, -EIO);
	close_pool_at_rest(pool, "a get of a slab that was left");
}

/* Runs rounds while the offload thread is paused. All slabs that can be evicted have copies. */
static void rounds_that_evict(reel_pool *pool)
{
	struct reel_offload *offload = reel_offload_of(pool);
	struct reel_slab *taken[2 * MAX_TAKEN];
	unsigned n = take_ready(pool, taken);

	ok(!reel_write_round(offload), "a round for nobody does nothing");
	offload->growth_hint = true;
	ok(reel_write_round(offload), "one that makes frames ready says so");
	n += take_ready(pool, taken + n);
	offload->has_waiters = true;
	ok(reel_write_round(offload), "one that frees a frame for who waits says so");
	is_int(pool->warm_chains, 1, "it is one frame");
	offload->lacks_frame = true;
	ok(!reel_write_round(offload), "where a frame is ready there is nothing to do");
	ok(!offload->lacks_frame, "and it is not stuck");
	give_all(pool, taken, n);
}

static void a_round_says_whether_anything_was_done(void)
{
	struct held_store *held = held_open();
	reel_pool *pool = open_pool(spilling(&held->store, 32, 8));
	reel_tape tape = open_tape(pool, 0);

	tap_case("a round");
	reel_offload_pause(reel_offload_of(pool));
	/* An owner adds its slab to the count before it seals it. */
	reel_offload_of(pool)->dirty_bytes += 9 * SLAB;
	ok(!reel_write_round(reel_offload_of(pool)), "that finds nothing sealed does nothing");
	reel_offload_of(pool)->dirty_bytes -= 9 * SLAB;
	push_words(&tape, 0, words_on(31));
	ok(reel_write_round(reel_offload_of(pool)), "that puts slabs says so");
	is_int(held_transfers(held), 4, "and puts as many as the store wants at once");
	ok(!reel_write_round(reel_offload_of(pool)), "the next one has to wait");
	reel_offload_resume(reel_offload_of(pool));
	held_release(held);
	settle(pool);
	reel_offload_pause(reel_offload_of(pool));
	rounds_that_evict(pool);
	reel_offload_resume(reel_offload_of(pool));
	is_int(wrong_words(&tape, 0, words_on(31)), 0, "all comes back");
	reel_tape_close(&tape);
	close_pool_at_rest(pool, "rounds");
}

/*
 * The tape fills the hard budget of 16 slabs: the pool has cut one into first slabs, 14 are sealed,
 * and the top slab is open.
 */
static void more_is_written_where_memory_is_used_up(void)
{
	struct held_store *held = held_open();
	reel_pool *pool = open_pool(spilling(&held->store, 16, 12));
	reel_tape tape = open_tape(pool, 0);

	tap_case("memory that is used up");
	reel_offload_pause(reel_offload_of(pool));
	push_words(&tape, 0, words_on(15));
	is_int(reel_offload_of(pool)->dirty_bytes, 14 * SLAB, "slabs are sealed");
	reel_offload_of(pool)->growth_hint = false;
	reel_write_round(reel_offload_of(pool));
	is_int(reel_offload_of(pool)->dirty_bytes, 11 * SLAB,
	       "what is above the soft budget is written");
	reel_offload_of(pool)->growth_hint = true;
	reel_write_round(reel_offload_of(pool));
	is_int(reel_offload_of(pool)->dirty_bytes, 10 * SLAB, "and more while the tape grows");
	reel_offload_resume(reel_offload_of(pool));
	held_release(held);
	is_int(wrong_words(&tape, 0, words_on(15)), 0, "all comes back");
	reel_tape_close(&tape);
	close_pool_at_rest(pool, "memory that is used up");
}

/* ---- Statistics ---- */

static unsigned wanted_depth;

static void depth_capacity(reel_store *store, struct reel_store_capacity *capacity)
{
	late_capacity(store, capacity);
	capacity->best_depth = wanted_depth;
}

static void so_many_puts_are_under_way(unsigned wanted, unsigned most)
{
	struct late_store *late = late_open(19);
	struct reel_store_verbs verbs = *late->store.verbs;
	reel_pool *pool;

	verbs.capacity = depth_capacity;
	late->store.verbs = &verbs;
	wanted_depth = wanted;
	pool = open_pool(spilling(&late->store, 8, 4));
	is_int(reel_offload_of(pool)->put_depth, most,
	       "a store that wants %u puts at once gets", wanted);
	close_all(pool, late, "a pool that was not used");
}

static void stalls_are_counted(void)
{
	enum { TEN_MS = 10000000 };
	struct late_store *late = late_open(20);
	reel_pool *pool = open_pool(spilling(&late->store, 8, 4));
	struct timespec first, last;
	uint64_t now, begun;

	tap_case("a stall");
	clock_gettime(CLOCK_MONOTONIC, &first);
	begun = now = reel_clock_ns();
	clock_gettime(CLOCK_MONOTONIC, &last);
	ok(now >= (uint64_t)first.tv_sec * 1000000000u + (uint64_t)first.tv_nsec &&
		   now <= (uint64_t)last.tv_sec * 1000000000u + (uint64_t)last.tv_nsec,
	   "the time is in nanoseconds of the monotonic clock");
	reel_offload_note_stall(reel_offload_of(pool), REEL_TRACE_WAIT_FOR_SLAB, now - TEN_MS);
	reel_offload_note_stall(reel_offload_of(pool), REEL_TRACE_WAIT_FOR_SLAB, now - TEN_MS);
	now = reel_clock_ns();
	is_int(stats_of(pool).stalls, 2, "two are counted");
	ok(stats_of(pool).stall_ns >= 2 * TEN_MS &&
		   stats_of(pool).stall_ns <= 2 * (TEN_MS + now - begun),
	   "and how long they took, %llu ns", (unsigned long long)stats_of(pool).stall_ns);
	close_all(pool, late, "stalls");
}

/* A dropped copy makes room, so failed puts are tried again. */
static void failures_are_forgotten(void)
{
	struct late_store *late = late_open(21);
	reel_pool *pool = open_pool(spilling(&late->store, 8, 4));
	reel_tape tape = open_tape(pool, 0);
	struct reel_offload *offload = reel_offload_of(pool);
	struct reel_slab *slab;

	tap_case("failures");
	push_words(&tape, 0, words_on(20));
	settle(pool);
	reel_offload_pause(offload);
	slab = tape.slab->below->below->below->below;
	ok(reel_slab_io_of(offload, slab)->stored, "a slab is in the store");
	offload->failure = -EIO;
	offload->failed_puts_in_row = 3;
	reel_offload_drop_copy(offload, tape.slab);
	is_int(offload->failure, -EIO, "one that has no copy drops none");
	reel_offload_forget_failures(offload);
	is_int(offload->failure, 0, "a failure is forgotten");
	is_int(offload->failed_puts_in_row, 0, "and how often it came");
	reel_offload_resume(offload);
	is_int(wrong_words(&tape, words_on(10), words_on(20)), 0, "half comes back");
	settle(pool);
	reel_offload_pause(offload);
	push_words(&tape, words_on(10), words_on(10) + 1);
	offload->failure = -EIO;
	reel_offload_drop_stale(offload);
	is_int(offload->failure, 0, "and so it is when a copy is dropped");
	reel_offload_resume(offload);
	is_int(wrong_words(&tape, 0, words_on(10) + 1), 0, "all comes back");
	reel_tape_close(&tape);
	close_all(pool, late, "failures");
}

/* ---- Victims ---- */

/* Pushes until a push is refused. Returns the number of words that were not. */
static uint64_t push_until_refused(reel_tape *tape, uint64_t from)
{
	uint64_t n = from;

	while (push_words(tape, n, n + 1), !reel_tape_error(tape))
		n++;
	return n;
}

static struct reel_slab *farthest_clean(struct reel_offload *offload)
{
	/* The list of victims is used up, so all slabs are ranked again. */
	offload->clean_victims.next = offload->clean_victims.count;
	return reel_victim_next(offload, REEL_SLAB_CLEAN, REEL_MIN_DISTANCE);
}

/* The slab was read for its owner, which has not run since. An evicted slab would be read again. */
static void a_slab_that_is_awaited_is_no_victim(void)
{
	struct late_store *late = late_open(23);
	reel_pool *pool = open_pool(spilling(&late->store, 16, 4));
	struct reel_offload *offload = reel_offload_of(pool);
	reel_tape tape = open_tape(pool, 0);
	struct reel_demand *demand;
	struct reel_slab *slab;

	tap_case("a clean slab");
	push_words(&tape, 0, words_on(12));
	settle(pool);
	reel_offload_pause(offload);
	slab = farthest_clean(offload);
	ok(slab != NULL, "is a victim");
	demand = reel_demand_of(offload, slab);
	atomic_store(&demand->awaited, slab);
	ok(farthest_clean(offload) != slab, "but not while its owner waits for it");
	atomic_store(&demand->awaited, NULL);
	ok(farthest_clean(offload) == slab, "and is one again afterwards");
	reel_offload_resume(offload);
	is_int(wrong_words(&tape, 0, words_on(12)), 0, "all comes back");
	reel_tape_close(&tape);
	close_all(pool, late, "a clean slab");
}

static struct reel_slab *find_slab(reel_pool *pool, enum reel_slab_state state)
{
	for (size_t i = 0; i < pool->table_used; i++)
		if (reel_slab_state_of(&pool->table[i]) == state)
			return &pool->table[i];
	return NULL;
}

/*
 * Pops all slabs that are in memory, and drops their copies. If a transfer fails, the offload
 * thread drops stale copies, and the copy of a lost slab. After this function there are none.
 */
static void pop_what_is_in_memory(reel_pool *pool, reel_tape *tape)
{
	struct reel_slab *lowest;

	settle(pool);
	reel_offload_pause(reel_offload_of(pool));
	do
		(void)reel_pop(tape, uint64_t);
	while (reel_slab_state_of(tape->slab->below) < REEL_SLAB_EVICTING);
	/* Pushes make the copies of this slab, and of the spare above it, stale. */
	lowest = tape->slab;
	while (tape->slab == lowest)
		reel_push(tape, (uint64_t)0);
	while (tape->slab != lowest)
		(void)reel_pop(tape, uint64_t);
	reel_offload_drop_stale(reel_offload_of(pool));
	reel_offload_resume(reel_offload_of(pool));
}

/* No owner reads the copy of a lost slab, so another slab may use its room. */
static void a_slab_that_is_lost_leaves_its_room(void)
{
	struct reel_fault_rule broken = {.fault = REEL_FAULT_ERROR, .persistent = true,
					 .error = -EIO};
	struct reel_slab *lost;
	reel_store *memory, *store;
	reel_pool *pool;
	reel_tape tape;

	tap_case("a slab that is lost");
	if (reel_store_memory_open(&memory, UINT64_MAX) ||
	    reel_store_fault_open(&store, memory, &broken, 1))
		abort();
	pool = open_pool(spilling(store, 8, 4));
	tape = open_tape(pool, 0);
	push_words(&tape, 0, words_on(20));
	pop_what_is_in_memory(pool, &tape);
	while (!reel_tape_error(&tape))
		(void)reel_pop(&tape, uint64_t);
	is_int(reel_tape_error(&tape), -EIO, "gives the error of its get");
	settle(pool);
	reel_offload_pause(reel_offload_of(pool));
	lost = find_slab(pool, REEL_SLAB_LOST);
	ok(lost && reel_slab_io_of(reel_offload_of(pool), lost)->stored, "is still in the store");
	reel_offload_drop_stale(reel_offload_of(pool));
	ok(lost && !reel_slab_io_of(reel_offload_of(pool), lost)->stored,
	   "until copies are dropped that nobody reads");
	reel_offload_resume(reel_offload_of(pool));
	reel_tape_close(&tape);
	close_pool_at_rest(pool, "a slab that is lost");
}

/*
 * The copies of the first tape fill the store. There are too few to be dropped before a put fails,
 * and the slabs of the second tape are others.
 */
static void a_full_store_drops_what_nobody_reads(void)
{
	reel_store *memory;
	reel_tape first, second;
	reel_pool *pool;

	tap_case("a full store");
	if (reel_store_memory_open(&memory, 12 * SLAB))
		abort();
	pool = open_pool(spilling(memory, 8, 4));
	first = open_tape(pool, 0);
	push_until_refused(&first, 0);
	is_int(reel_tape_error(&first), -ENOSPC, "refuses a push");
	reel_tape_close(&first);
	second = open_tape(pool, 0);
	push_words(&second, 0, words_on(14));
	is_int(reel_tape_error(&second), 0, "the next tape gets their room");
	is_int(wrong_words(&second, 0, words_on(14)), 0, "and comes back");
	reel_tape_close(&second);
	close_pool_at_rest(pool, "a full store");
}

/* The child of a fork has no offload thread that answers. */
static void nobody_answers_in_a_child(void)
{
	struct late_store *late = late_open(22);
	reel_pool *pool = open_pool(spilling(&late->store, 8, 4));
	int error = -ENOMEM;

	tap_case("a child");
	reel_offload_orphan(reel_offload_of(pool));
	ok(!reel_offload_await_frame(reel_offload_of(pool), 1, &error),
	   "does not wait for a frame");
	is_int(error, -ENOMEM, "the reason stays");
	is_int(stats_of(pool).stalls, 0, "and it is no stall");
	reel_offload_of(pool)->orphaned = false;
	close_all(pool, late, "an orphan");
}

/* ---- Many waiters ---- */

/* Number of tapes that wait for a slab: one for each ticket. The soft budget is one slab. */
#define WAITERS REEL_TICKETS

static reel_tape waiting[WAITERS + 1];
static _Atomic unsigned waiters_wrong;

static void push_spans(reel_tape *tape, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++)
		fill(reel_push_span(tape, uint64_t, SLAB_WORDS), SLAB, i);
}

static unsigned wrong_spans(reel_tape *tape, unsigned from, unsigned to)
{
	unsigned wrong = 0;

	for (unsigned i = to; i-- > from;)
		wrong += !is_filled(reel_pop_span(tape, uint64_t, SLAB_WORDS), SLAB, i);
	return wrong;
}

static void *pop_waiting(void *number)
{
	reel_tape *tape = &waiting[*(unsigned *)number];

	waiters_wrong += wrong_spans(tape, 0, 2);
	reel_tape_hand_over(tape);
	return NULL;
}

/* Returns the number of tapes whose owners wait for a slab. */
static unsigned count_waiters(struct reel_offload *offload)
{
	unsigned n = 0;

	for (struct reel_demand *demand = offload->demands; demand; demand = demand->next)
		n += demand->awaited != NULL;
	return n;
}

/* Each slab except the top of a tape is put and evicted. One slab stays in memory only. */
static void open_waiting(reel_pool *pool)
{
	for (unsigned i = 0; i < COUNT(waiting); i++) {
		waiting[i] = open_tape(pool, 0);
		push_spans(&waiting[i], 0, 2);
		reel_tape_hand_over(&waiting[i]);
	}
	settle(pool);
	reel_offload_pause(reel_offload_of(pool));
	while (reel_evict(reel_offload_of(pool), REEL_MIN_DISTANCE))
		;
}

/* While pops that wait have all tickets, no slab is put. */
static void tickets_run_out(void)
{
	struct held_store *held = held_open();
	reel_pool *pool = open_pool(spilling(&held->store, 100, 1));
	reel_tape grows = open_tape(pool, 0);
	pthread_t popper[COUNT(waiting)];
	unsigned number[COUNT(waiting)];

	tap_case("as many pops that wait as there are tickets");
	held_release(held);
	open_waiting(pool);
	held_hold_gets(held);
	for (unsigned i = 0; i < COUNT(waiting); i++) {
		number[i] = i;
		pthread_create(&popper[i], NULL, pop_waiting, &number[i]);
	}
	while (count_waiters(reel_offload_of(pool)) < WAITERS)
		sched_yield();
	push_spans(&grows, 0, 4);
	reel_offload_resume(reel_offload_of(pool));
	while (held_gets(held) < WAITERS)
		sched_yield();
	held_end_gets(held, 0);
	for (unsigned i = 0; i < COUNT(waiting); i++) {
		pthread_join(popper[i], NULL);
		reel_tape_close(&waiting[i]);
	}
	is_int(waiters_wrong, 0, "all that they wait for comes back");
	is_int(wrong_spans(&grows, 0, 4), 0, "and so does what was pushed meanwhile");
	reel_tape_close(&grows);
	close_pool_at_rest(pool, "as many pops that wait as there are tickets");
}

/* ---- A store that refuses puts ---- */

struct closed_store {
	reel_store store;
	_Atomic unsigned puts;
	/* Number of the put that gives a slab back to the pool. */
	unsigned gives_at;
	reel_pool *pool;
	struct reel_slab *slab;
};

static void closed_put(reel_store *store, reel_transfer *transfer)
{
	struct closed_store *closed = (struct closed_store *)store;

	if (++closed->puts == closed->gives_at) {
		reel_pool_give(closed->pool, closed->slab);
		reel_pool_flush(closed->pool);
	}
	reel_transfer_complete(transfer, -ENOSPC);
}

static void closed_capacity(reel_store *store, struct reel_store_capacity *capacity)
{
	(void)store;
	*capacity = (struct reel_store_capacity){.align = 1, .best_depth = 4, .verified = true};
}

static const struct reel_store_verbs closed_verbs = {.name = "closed", .put = closed_put,
						     .sync = null_sync,
						     .capacity = closed_capacity,
						     .close = null_close};

/* Both budgets are equal, so no slab is put until a thread waits. */
static reel_pool *open_on_closed(struct closed_store *closed)
{
	*closed = (struct closed_store){.store.verbs = &closed_verbs};
	closed->pool = open_pool(spilling(&closed->store, 8, 8));
	return closed->pool;
}

static void a_push_is_refused_after_four_failures(void)
{
	struct closed_store closed;
	reel_pool *pool = open_on_closed(&closed);
	reel_tape tape = open_tape(pool, 0);
	uint64_t n;

	tap_case("a store that takes nothing");
	for (unsigned i = 1; i <= 2; i++) {
		n = push_until_refused(&tape, 0);
		is_int(reel_tape_error(&tape), -ENOSPC, "its error sticks");
		is_int(closed.puts, 4 * i, "it was asked four times");
		is_int(stats_of(pool).stalls, i, "while the push waited");
		(void)reel_pop(&tape, uint64_t);
		reel_tape_clear_error(&tape);
		is_int(wrong_words(&tape, 0, n), 0, "what was pushed before comes back");
		settle(pool);
	}
	reel_tape_close(&tape);
	close_pool_at_rest(pool, "a store that takes nothing");
}

/* With the third failure a frame comes from another place. */
static void who_waits_anew_is_refused_after_four_failures_more(void)
{
	struct closed_store closed;
	reel_pool *pool = open_on_closed(&closed);
	reel_tape tape = open_tape(pool, 0);
	uint64_t n = 0;

	tap_case("a store that takes nothing, and a frame from elsewhere");
	reel_pool_take(pool, REEL_SLAB_WHOLE, 0, &closed.slab);
	closed.gives_at = 3;
	for (; closed.puts < 3 && !reel_tape_error(&tape); n++)
		push_words(&tape, n, n + 1);
	is_int(reel_tape_error(&tape), 0, "the push that got the frame is not refused");
	settle(pool);
	n = push_until_refused(&tape, n);
	is_int(reel_tape_error(&tape), -ENOSPC, "the next one is");
	is_int(closed.puts, 3 + 4, "after four failures of its own");
	(void)reel_pop(&tape, uint64_t);
	is_int(wrong_words(&tape, 0, n), 0, "what was pushed before comes back");
	reel_tape_close(&tape);
	close_pool_at_rest(pool, "a frame from elsewhere");
}

/* The first push on a slab with a copy in the store takes the slow path, later pushes do not. */
static void a_slab_that_was_read_is_pushed_on(void)
{
	struct late_store *late = late_open(18);
	reel_pool *pool = open_pool(spilling(&late->store, 16, 8));
	reel_tape tape = open_tape(pool, 0);
	uint64_t n = words_on(20) - 10;

	tap_case("a slab that was read back");
	push_words(&tape, 0, words_on(60));
	is_int(wrong_words(&tape, n, words_on(60)), 0, "comes back");
	settle(pool);
	is_int(reel_slab_state_of(tape.slab), REEL_SLAB_PINNED, "and is in the store, too");
	ok(tape.ceiling == REEL_FALSE_CEILING, "pushes take the slow path");
	push_words(&tape, n, n + 1);
	is_int(reel_slab_state_of(tape.slab), REEL_SLAB_OPEN, "after one it is in memory alone");
	ok(tape.ceiling == tape.slab->frame + tape.slab->bytes, "and others are inline");
	is_int(wrong_words(&tape, 0, n + 1), 0, "all comes back");
	reel_tape_close(&tape);
	close_all(pool, late, "a slab that was read back");
}

int main(void)
{
	tap_begin();
	record_reports();
	only_the_soft_budget_is_in_memory_alone(0, 7);
	only_the_soft_budget_is_in_memory_alone(8, 0);
	frames_are_ready_while_a_tape_grows(32, 16, 4);
	frames_are_ready_while_a_tape_grows(16, 12, 2);
	frames_are_ready_while_a_tape_grows(16, 15, 1);
	as_much_is_put_as_was_pushed(320, 2560);
	as_much_is_put_as_was_pushed(321, 3072);
	for (int error = 0; error >= -EIO; error -= EIO) {
		a_put_ends_after_its_slab_was(false, error);
		a_put_ends_after_its_slab_was(true, error);
	}
	a_get_fails_when_its_slab_was_left();
	a_round_says_whether_anything_was_done();
	more_is_written_where_memory_is_used_up();
	so_many_puts_are_under_way(0, 4);
	so_many_puts_are_under_way(5, 5);
	so_many_puts_are_under_way(100, 16);
	stalls_are_counted();
	failures_are_forgotten();
	a_slab_that_is_awaited_is_no_victim();
	a_slab_that_is_lost_leaves_its_room();
	a_full_store_drops_what_nobody_reads();
	nobody_answers_in_a_child();
	tickets_run_out();
	a_push_is_refused_after_four_failures();
	who_waits_anew_is_refused_after_four_failures_more();
	a_slab_that_was_read_is_pushed_on();
	return tap_end();
}
