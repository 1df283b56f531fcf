/* SPDX-License-Identifier: MIT */
/* Tests tapes that are larger than their pool's memory: values come back, within the budget. */
#include <config.h>

#include <errno.h>

#include <sched.h>
#include <unistd.h>

#include "helpers/held-store.h"
#include "helpers/spill-support.h"
#include "helpers/store-fault.h"

static void all_comes_back(void)
{
	struct late_store *late = late_open(1);
	reel_pool *pool = open_pool(spilling(&late->store, 16, 8));
	reel_tape tape = open_tape(pool, 0);
	uint64_t n = 200 * SLAB_WORDS;

	tap_case("a tape of 200 slabs in memory for 16");
	push_words(&tape, 0, n);
	is_int(reel_tape_error(&tape), 0, "all was pushed");
	ok(late->puts >= 184, "what has no room was put: %u slabs", late->puts);
	is_int(wrong_words(&tape, 0, n), 0, "all comes back");
	ok(reel_tape_is_empty(&tape), "the tape is empty");
	ok(stats_of(pool).peak_resident_bytes <= 16 * SLAB, "never more than the budget resident");
	reel_tape_close(&tape);
	close_all(pool, late, "200 slabs");
}

static void no_transfer_below_the_soft_budget(void)
{
	struct late_store *late = late_open(2);
	reel_pool *pool = open_pool(spilling(&late->store, 32, 16));
	reel_tape tape = open_tape(pool, 0);
	uint64_t n = 14 * SLAB_WORDS;

	tap_case("a tape below the soft budget");
	for (int i = 0; i < 10; i++) {
		push_words(&tape, 0, n);
		is_int(wrong_words(&tape, 0, n), 0, "all comes back");
	}
	reel_offload_settle(reel_offload_of(pool));
	is_int(late->puts, 0, "nothing was put");
	reel_tape_close(&tape);
	close_all(pool, late, "a small tape");
}

/* Pops and pushes around a depth. RESIDENT slabs lie above the top slab that is not resident. */
static void oscillate(unsigned percent_of_resident)
{
	enum { HARD = 32, SOFT = 24, RESIDENT = HARD };
	struct late_store *late = late_open(3);
	reel_pool *pool = open_pool(spilling(&late->store, HARD, SOFT));
	reel_tape tape = open_tape(pool, 0);
	uint64_t top = 100 * SLAB_WORDS;
	uint64_t low = top - RESIDENT * SLAB_WORDS * percent_of_resident / 100;
	unsigned puts = 0, gets = 0, wrong = 0;

	tap_case("an oscillation");
	push_words(&tape, 0, top);
	for (int i = 0; i < 12; i++) {
		/* While the slab at the low point is being put, the tape turns at another place. */
		if (i < 2)
			reel_offload_settle(reel_offload_of(pool));
		if (i == 1) {
			puts = late->puts;
			gets = late->gets;
		}
		wrong += wrong_words(&tape, low, top);
		push_words(&tape, low, top);
	}
	reel_offload_settle(reel_offload_of(pool));
	is_int(wrong, 0, "all comes back");
	if (percent_of_resident <= 60) {
		is_int(late->puts - puts, 0, "of %u %% of what is resident puts nothing",
		       percent_of_resident);
		is_int(late->gets - gets, 0, "of %u %% of what is resident gets nothing",
		       percent_of_resident);
	} else {
		tap_note("%u %%: %u puts, %u gets in 11 oscillations of %u slabs",
			 percent_of_resident, late->puts - puts, late->gets - gets,
			 (unsigned)((top - low) / SLAB_WORDS));
		ok(late->puts - puts <= 11 * (top - low) / SLAB_WORDS + 11,
		   "of %u %% puts no slab twice", percent_of_resident);
		/* Slabs that were requested ahead when the tape turned round may be read again. */
		ok(late->gets - gets <= 11 * ((top - low) / SLAB_WORDS + 32),
		   "of %u %% gets no slab twice", percent_of_resident);
	}
	is_int(wrong_words(&tape, 0, top), 0, "and so does the rest");
	reel_tape_close(&tape);
	close_all(pool, late, "an oscillation");
}

static void slabs_are_asked_for_in_advance(void)
{
	struct late_store *late = late_open(14);
	reel_pool *pool = open_pool(spilling(&late->store, 32, 16));
	reel_tape tape = open_tape(pool, 0);
	uint64_t top = 100 * SLAB_WORDS, low = 40 * SLAB_WORDS;

	tap_case("a tape that is popped");
	push_words(&tape, 0, top);
	is_int(wrong_words(&tape, low, top), 0, "comes back");
	settle(pool);
	is_int(reel_slab_state_of(tape.slab->below), REEL_SLAB_CLEAN,
	       "its next slab is there before it is popped");
	is_int(wrong_words(&tape, 0, low), 0, "and so does the rest");
	reel_tape_close(&tape);
	close_all(pool, late, "slabs in advance");
}

static void replays(void)
{
	struct late_store *late = late_open(4);
	reel_pool *pool = open_pool(spilling(&late->store, 12, 6));
	reel_tape tape = open_tape(pool, 0);
	uint64_t n = 60 * SLAB_WORDS;
	unsigned wrong = 0;

	tap_case("a tape that is replayed");
	push_words(&tape, 0, n);
	reel_tape_hold(&tape);
	for (int i = 0; i < 4; i++) {
		reel_tape_replay(&tape);
		wrong += wrong_words(&tape, n / (unsigned)(i + 1) / 2, n);
		push_words(&tape, 7, 7 + 3 * SLAB_WORDS);
		wrong += wrong_words(&tape, 7, 7 + 3 * SLAB_WORDS);
	}
	reel_tape_replay(&tape);
	reel_tape_release(&tape);
	wrong += wrong_words(&tape, 0, n);
	is_int(wrong, 0, "comes back each time");
	ok(stats_of(pool).peak_resident_bytes <= 12 * SLAB, "within its budget");
	reel_tape_close(&tape);
	close_all(pool, late, "replays");
}

static void rewinds_over_stored_slabs(void)
{
	struct late_store *late = late_open(5);
	reel_pool *pool = open_pool(spilling(&late->store, 8, 4));
	reel_tape tape = open_tape(pool, 0);
	unsigned gets;
	reel_mark mark;

	tap_case("a rewind and a close");
	push_words(&tape, 0, 10 * SLAB_WORDS);
	mark = reel_tape_mark(&tape);
	push_words(&tape, 10 * SLAB_WORDS, 70 * SLAB_WORDS);
	gets = late->gets;
	is_int(reel_tape_rewind(&tape, mark), 0, "the rewind is done");
	ok(late->gets - gets <= 1, "reads nothing that it drops");
	is_int(wrong_words(&tape, 5 * SLAB_WORDS, 10 * SLAB_WORDS), 0, "what was below comes back");
	push_words(&tape, 0, 50 * SLAB_WORDS);
	settle(pool);
	gets = late->gets;
	reel_tape_close(&tape);
	is_int(late->gets, gets, "closing reads nothing");
	close_all(pool, late, "a rewind and a close");
}

/* The two spans that were popped last are readable, whatever other tapes do in between. */
static void two_spans_stay_readable(bool held)
{
	enum { SPAN = 96, SPANS = 150 };
	struct late_store *late = late_open(12);
	reel_pool *pool = open_pool(spilling(&late->store, 12, 4));
	reel_tape tape = open_tape(pool, 0), other = open_tape(pool, 0);
	unsigned wrong = 0;

	tap_case("spans");
	for (unsigned i = 0; i < SPANS; i++)
		fill(reel_push_span(&tape, uint64_t, SPAN), SPAN * 8, i);
	if (held)
		reel_tape_hold(&tape);
	for (unsigned i = SPANS; i > 0; i -= 2) {
		const uint64_t *upper = reel_pop_span(&tape, uint64_t, SPAN);
		const uint64_t *lower = reel_pop_span(&tape, uint64_t, SPAN);

		push_words(&other, 0, 3 * SLAB_WORDS);
		wrong += !is_filled(upper, SPAN * 8, i - 1);
		wrong += !is_filled(lower, SPAN * 8, i - 2);
		wrong += wrong_words(&other, 0, 3 * SLAB_WORDS);
	}
	is_int(wrong, 0, "two spans that were popped%s stay readable", held ? " in a hold" : "");
	reel_tape_close(&tape);
	reel_tape_close(&other);
	close_all(pool, late, "spans");
}

/* After a pop has gone beyond the budget, pushes still have to keep it. */
static void an_overdraft_is_paid_back(void)
{
	struct late_store *late = late_open(13);
	reel_pool *pool = open_pool(spilling(&late->store, 8, 4));
	reel_tape tape = open_tape(pool, 0);

	tap_case("an overdraft");
	reel_budget_overdraw(pool, 9 * SLAB);
	is_int(stats_of(pool).peak_resident_bytes, 9 * SLAB, "it was resident");
	push_words(&tape, 0, 60 * SLAB_WORDS);
	is_int(reel_tape_error(&tape), -EDQUOT, "the budget is still one");
	reel_budget_refund(pool, 9 * SLAB);
	reel_tape_close(&tape);
	close_all(pool, late, "an overdraft");
}

/* One tape is idle with all its slabs in memory, while another one grows. */
static void a_tape_at_rest_makes_room(void)
{
	struct late_store *late = late_open(6);
	reel_pool *pool = open_pool(spilling(&late->store, 16, 16));
	reel_tape rests = open_tape(pool, 0), grows = open_tape(pool, 0);

	tap_case("two tapes of one thread");
	push_words(&rests, 0, 12 * SLAB_WORDS);
	push_words(&grows, 0, 40 * SLAB_WORDS);
	is_int(reel_tape_error(&grows), 0, "the second one grows");
	is_int(wrong_words(&rests, 0, 12 * SLAB_WORDS), 0, "the first one comes back");
	is_int(wrong_words(&grows, 0, 40 * SLAB_WORDS), 0, "the second one comes back");
	reel_tape_close(&rests);
	reel_tape_close(&grows);
	close_all(pool, late, "two tapes");
}

struct sweeps {
	reel_pool *pool;
	unsigned wrong[8];
	int error[8];
};

static struct sweeps sweeps;

static void *sweep(void *argument)
{
	unsigned thread = *(unsigned *)argument;
	reel_tape tape = open_tape(sweeps.pool, 0);
	uint64_t from = (uint64_t)thread << 32;

	for (unsigned i = 0; i < 20; i++) {
		uint64_t n = scramble(from + i) % (40 * SLAB_WORDS);

		push_words(&tape, from, from + n);
		sweeps.wrong[thread] += wrong_words(&tape, from + n / 2, from + n);
		push_words(&tape, from + n / 2, from + n);
		sweeps.wrong[thread] += wrong_words(&tape, from, from + n);
	}
	sweeps.error[thread] = reel_tape_error(&tape);
	reel_tape_close(&tape);
	return NULL;
}

static void threads_share_the_store(unsigned threads, unsigned hard)
{
	struct late_store *late = late_open(7);

	tap_case("several threads");
	memset(&sweeps, 0, sizeof sweeps);
	sweeps.pool = open_pool(spilling(&late->store, hard, hard / 2));
	run_threads(threads, sweep);
	for (unsigned i = 0; i < threads; i++) {
		is_int(sweeps.error[i], 0, "%u threads, %u slabs: no error", threads, hard);
		is_int(sweeps.wrong[i], 0, "%u threads, %u slabs: all comes back", threads, hard);
	}
	close_all(sweeps.pool, late, "several threads");
}

static void a_full_store_refuses(void)
{
	struct late_store *late = late_open(8);
	reel_pool *pool = open_pool(spilling(&late->store, 8, 4));
	reel_tape tape = open_tape(pool, 0);
	uint64_t pushed, n = 40 * SLAB_WORDS;

	tap_case("a store that takes nothing any more");
	push_words(&tape, 0, 20 * SLAB_WORDS);
	late_fail(late, 1);
	push_words(&tape, 20 * SLAB_WORDS, n);
	is_int(reel_tape_error(&tape), -ENOSPC, "its error sticks to the tape");
	pushed = n - reel_tape_refused(&tape) / 8;
	ok(pushed > 20 * SLAB_WORDS, "after memory was filled");
	for (uint64_t i = n; i-- > pushed;)
		if (reel_pop(&tape, uint64_t) != UINT64_MAX)
			ok(false, "what was refused is all ones");
	is_int(wrong_words(&tape, 0, pushed), 0, "what was pushed before comes back");
	late_fail(late, 0);
	is_int(reel_tape_clear_error(&tape), -ENOSPC, "the error can be cleared");
	push_words(&tape, 0, n);
	is_int(wrong_words(&tape, 0, n), 0, "and the tape goes on when the store does");
	reel_tape_close(&tape);
	close_all(pool, late, "a full store");
}

/* First slabs stay in memory, and the first slabs of four tapes fill it. */
static void a_budget_too_small_for_the_tapes_is_named(void)
{
	struct late_store *late = late_open(20);
	reel_pool *pool = open_pool(spilling(&late->store, 4, 2));
	reel_tape tape[5];

	tap_case("five tapes in the memory of four slabs");
	record_reports();
	for (size_t i = 0; i < COUNT(tape); i++) {
		tape[i] = open_tape(pool, 0);
		push_words(&tape[i], 0, INLINE_WORDS + SLAB_WORDS);
	}
	is_int(reel_tape_error(&tape[4]), -EDQUOT, "the fifth has no room");
	ok(strstr(reported.message, "needs room for 3 slabs of 4096 bytes"),
	   "and what it needs is said: %s", reported.message);
	for (size_t i = 0; i < COUNT(tape); i++)
		reel_tape_close(&tape[i]);
	close_all(pool, late, "too small a budget");
}

static void puts_fail_now_and_then(void)
{
	struct late_store *late = late_open(9);
	reel_pool *pool = open_pool(spilling(&late->store, 10, 6));
	reel_tape tape = open_tape(pool, 0);
	uint64_t n = 80 * SLAB_WORDS;

	tap_case("a store of which every third put fails");
	late_fail(late, 3);
	push_words(&tape, 0, n);
	is_int(reel_tape_error(&tape), 0, "is no error of the tape");
	settle(pool);
	is_int(stats_of(pool).failed_puts, late->puts / 3, "all that failed are counted");
	is_int(wrong_words(&tape, 0, n), 0, "all comes back");
	reel_tape_close(&tape);
	close_all(pool, late, "failing puts");
}

/* In the child values in memory come back, others are all ones, and a new pool works. */
static void go_on_as_a_child(reel_pool *pool, reel_tape *tape, uint64_t n)
{
	struct late_store *late = late_open(11);
	reel_pool *fresh = open_pool(spilling(&late->store, 16, 8));
	reel_tape other = open_tape(fresh, 0);
	unsigned wrong = 0;

	for (uint64_t i = n; i-- > 0;) {
		uint64_t word = reel_pop(tape, uint64_t);

		wrong += word != scramble(i) && (!reel_tape_error(tape) || word != UINT64_MAX);
	}
	is_int(wrong, 0, "a child never gets a wrong value");
	is_int(reel_tape_error(tape), -ECHILD, "it learns that the rest is its parent's");
	reel_tape_close(tape);
	is_int(reel_pool_close(pool), 0, "it can close its parent's pool");
	push_words(&other, 0, n);
	is_int(wrong_words(&other, 0, n), 0, "and go on with a store of its own");
	reel_tape_close(&other);
	close_all(fresh, late, "the child's tape");
	tap_child_end();
}

static void a_fork_leaves_the_store_to_the_parent(void)
{
	struct late_store *late = late_open(10);
	reel_pool *pool = open_pool(spilling(&late->store, 16, 8));
	reel_tape tape = open_tape(pool, 0);
	uint64_t n = 60 * SLAB_WORDS;
	pid_t child;

	tap_case("a fork");
	push_words(&tape, 0, n);
	child = fork();
	if (child == 0 && is_emulated())
		tap_child_end();
	if (child == 0)
		go_on_as_a_child(pool, &tape, n);
	push_words(&tape, n, 2 * n);
	ok(tap_child_passed(child), "the child goes on");
	is_int(wrong_words(&tape, 0, 2 * n), 0, "and so does the parent");
	reel_tape_close(&tape);
	close_all(pool, late, "a fork");
}

/* Pushes a field once a step, which changes smoothly from step to step. */
static void push_field(reel_tape *tape, unsigned steps)
{
	for (unsigned step = 0; step < steps; step++)
		for (unsigned i = 0; i < SLAB_WORDS / 4; i++)
			reel_push(tape, 1.0 + 0.25 * i + 0.5 * step);
}

static uint64_t stored_bytes_with(struct reel_layout layout)
{
	struct reel_pool_options options = {.slab_bytes = SLAB, .hard_budget = 8 * SLAB};
	struct reel_pool_stats stats;
	reel_tape tape = {0};
	reel_pool *pool;

	if (reel_store_open(&options.store, "lz4,memory=64M", NULL))
		return 0;
	pool = open_pool(options);
	reel_tape_open(&tape, pool, 0);
	is_int(reel_tape_set_layout(&tape, layout), 0, "a layout of elements of %u, stride %u",
	       layout.element, layout.stride);
	push_field(&tape, 1000);
	stats = stats_of(pool);
	is_int(stats.written_bytes % SLAB, 0, "whole slabs were written");
	for (unsigned step = 1000; step-- > 0;)
		for (unsigned i = SLAB_WORDS / 4; i-- > 0;)
			if (reel_pop(&tape, double) != 1.0 + 0.25 * i + 0.5 * step)
				ok(false, "it comes back");
	reel_tape_close(&tape);
	close_pool_at_rest(pool, "a layout");
	return stats.stored_bytes * 1000 / (stats.written_bytes + 1);
}

static void a_tape_says_how_it_is_laid_out(void)
{
	reel_tape tape = {0};
	uint64_t plain, strided, raw;

	tap_case("a layout");
	is_int(reel_tape_set_layout(&tape, (struct reel_layout){17, 0}), -EINVAL,
	       "elements of 17 bytes are refused");
	is_int(reel_tape_set_layout(&tape, (struct reel_layout){4, 9}), -EINVAL,
	       "a stride of elements of 4 bytes is refused");
	ok(is_zero(&tape), "and nothing was changed");
	if (!HAVE_LZ4) {
		tap_skip(1, "built without LZ4");
		return;
	}
	plain = stored_bytes_with((struct reel_layout){0});
	strided = stored_bytes_with((struct reel_layout){8, SLAB_WORDS / 4});
	raw = stored_bytes_with((struct reel_layout){REEL_INCOMPRESSIBLE, 0});
	tap_note("per mille stored: %u, with the stride %u", (unsigned)plain, (unsigned)strided);
	is_int(raw, 999, "what is said to be incompressible is stored as it is");
	ok(plain < raw, "what is not is compressed");
	ok(strided < plain, "better so if the stride is known");
}

static void no_alignment(reel_store *store, struct reel_store_capacity *capacity)
{
	(void)store;
	memset(capacity, 0, sizeof *capacity);
}

static void a_store_names_its_alignment(void)
{
	static const struct reel_store_verbs verbs = {.name = "careless", .capacity = no_alignment};
	reel_store store = {&verbs};
	struct reel_pool_options options = {.hard_budget = 64 << 20, .store = &store};
	reel_pool *pool;

	tap_case("a store without an alignment");
	is_int(reel_pool_open(&pool, &options), -EINVAL, "is refused");
	ok(strstr(reel_error_text(-EINVAL), "alignment: a power of two"), "in words");
}

static void slots_of_two_pages(reel_store *store, struct reel_store_capacity *capacity)
{
	(void)store;
	*capacity = (struct reel_store_capacity){.align = 4096, .max_bytes = 8192};
}

static void a_store_takes_a_slab_at_once(void)
{
	static const struct reel_store_verbs verbs = {.name = "slots", .capacity = slots_of_two_pages};
	reel_store store = {&verbs};
	struct reel_pool_options options = {.hard_budget = 64 << 20, .slab_bytes = 8192, .store = &store};
	reel_pool *pool;

	tap_case("a store whose slots are smaller than slabs");
	ok(!reel_pool_problem(&options), "a slab may be as large as a slot");
	options.slab_bytes = 12288;
	is_int(reel_pool_open(&pool, &options), -EINVAL, "a larger one is refused");
	ok(strstr(reel_error_text(-EINVAL), "choose smaller slabs") &&
	   strstr(reel_error_text(-EINVAL), "slot_bytes"), "the text says what to set");
}

/* A file that is opened without slot_bytes takes slabs that are larger than a pool's default. */
static void a_file_takes_slabs_of_any_size(void)
{
	const struct reel_file_options file = {.directory = ".", .flags = REEL_FILE_TMPFS};
	struct reel_pool_options options = {.slab_bytes = 5 << 20, .hard_budget = 20 << 20};
	uint64_t n = 8 * options.slab_bytes / sizeof(uint64_t);
	unsigned wrong = 0;
	reel_tape tape = {0};
	reel_pool *pool;

	tap_case("slabs of 5 MiB on a file");
	if (reel_store_file_open(&options.store, &file))
		abort();
	pool = open_pool(options);
	reel_tape_open(&tape, pool, 0);
	for (uint64_t i = 0; i < n; i++)
		reel_push(&tape, i);
	for (uint64_t i = n; i-- > 0;)
		wrong += reel_pop(&tape, uint64_t) != i;
	ok(stats_of(pool).written_bytes > 0, "go there");
	is_int(wrong, 0, "all comes back");
	is_int(reel_tape_error(&tape), 0, "there is no error");
	reel_tape_close(&tape);
	close_pool_at_rest(pool, "slabs of 5 MiB on a file");
}

/* The checksum of the pool is above the codec, and another one is below it. */
static void a_layer_that_may_damage_stands_on_a_codec(void)
{
	struct reel_pool_options options = {.slab_bytes = SLAB, .hard_budget = 8 * SLAB};
	uint64_t n = 40 * SLAB_WORDS;
	unsigned wrong = 0;
	reel_store *codec;
	reel_tape tape = {0};
	reel_pool *pool;

	tap_case("a layer that is not verified");
	if (reel_store_open(&codec, HAVE_LZ4 ? "lz4,memory=64M" : "memory=64M", NULL) ||
	    reel_store_fault_open(&options.store, codec, NULL, 0))
		abort();
	pool = open_pool(options);
	reel_tape_open(&tape, pool, 0);
	for (uint64_t i = 0; i < n; i++)
		reel_push(&tape, i);
	ok(!HAVE_LZ4 || stats_of(pool).stored_bytes < stats_of(pool).written_bytes,
	   "stands on a store that compresses");
	for (uint64_t i = n; i-- > 0;)
		wrong += reel_pop(&tape, uint64_t) != i;
	is_int(wrong, 0, "all comes back");
	is_int(reel_tape_error(&tape), 0, "there is no error");
	reel_tape_close(&tape);
	close_pool_at_rest(pool, "a layer that is not verified");
}

int main(void)
{
	tap_begin();
	a_store_names_its_alignment();
	a_store_takes_a_slab_at_once();
	record_reports();
	a_file_takes_slabs_of_any_size();
	all_comes_back();
	no_transfer_below_the_soft_budget();
	oscillate(50);
	oscillate(60);
	oscillate(100);
	oscillate(200);
	slabs_are_asked_for_in_advance();
	replays();
	rewinds_over_stored_slabs();
	a_tape_at_rest_makes_room();
	two_spans_stay_readable(false);
	two_spans_stay_readable(true);
	an_overdraft_is_paid_back();
	threads_share_the_store(2, 16);
	threads_share_the_store(3, 12);
	threads_share_the_store(8, 32);
	a_full_store_refuses();
	a_budget_too_small_for_the_tapes_is_named();
	puts_fail_now_and_then();
	a_fork_leaves_the_store_to_the_parent();
	a_tape_says_how_it_is_laid_out();
	a_layer_that_may_damage_stands_on_a_codec();
	return tap_end();
}
