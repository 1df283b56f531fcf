/* SPDX-License-Identifier: MIT */
/*
 * Runs random operations on many tapes in a small memory, and compares them with a list of the
 * pushed values: values of all shapes, marks, holds, moves, and hand-overs between threads.
 */
#include <config.h>

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/annotate.h"
#include "helpers/late-store.h"
#include "spill/thread/thread.h"
#include "helpers/pool-support.h"
#include "helpers/store-fault.h"

/* ---- Values ---- */

struct wide {
	_Alignas(32) uint64_t word[4];
};

REEL_RECORD(wide, struct wide);

struct pair {
	double value;
	uint64_t id;
};

REEL_RECORD(pair, struct pair);

enum shape { WORD, FLOAT, BIT, BITS, RECORD, SPAN, WIDE_SPAN, ARRAY, SHAPES };

/* A push in the model. */
struct entry {
	uint64_t seed;
	uint16_t n;
	uint8_t shape;
};

#define MAX_ENTRIES 4096
#define MAX_WORDS 96

static void push_entry(reel_tape *tape, struct entry entry)
{
	uint64_t array[3 * MAX_WORDS], *span;
	struct wide *wide;

	switch ((enum shape)entry.shape) {
	case WORD:
		reel_push(tape, scramble(entry.seed));
		return;
	case FLOAT:
		reel_push(tape, (float)(entry.seed % 100000));
		return;
	case BIT:
		reel_push_bit(tape, entry.seed & 1);
		return;
	case BITS:
		reel_push_bits(tape, entry.seed & 0xfff, 12);
		return;
	case RECORD:
		reel_push_record(tape, pair, ((struct pair){(double)entry.n, entry.seed}));
		return;
	case SPAN:
		span = reel_push_span(tape, uint64_t, entry.n);
		for (unsigned i = 0; span && i < entry.n; i++)
			span[i] = scramble(entry.seed + i);
		return;
	case WIDE_SPAN:
		wide = reel_push_span(tape, struct wide, entry.n / 8 + 1);
		for (unsigned i = 0; wide && i <= entry.n / 8; i++)
			wide[i].word[3] = scramble(entry.seed + i);
		return;
	case ARRAY:
		for (unsigned i = 0; i < 3u * entry.n; i++)
			array[i] = scramble(entry.seed + i);
		reel_push_array(tape, array, 3u * entry.n);
		return;
	case SHAPES:
		return;
	}
}

static bool are_words(const uint64_t *words, struct entry entry, size_t n)
{
	for (size_t i = 0; words && i < n; i++)
		if (words[i] != scramble(entry.seed + i))
			return false;
	return words != NULL;
}

static bool pops_wide(reel_tape *tape, struct entry entry)
{
	const struct wide *wide = reel_pop_span(tape, struct wide, entry.n / 8 + 1);

	for (unsigned i = 0; wide && i <= entry.n / 8; i++)
		if ((uintptr_t)wide % 32 || wide[i].word[3] != scramble(entry.seed + i))
			return false;
	return wide != NULL;
}

static bool pops(reel_tape *tape, struct entry entry)
{
	uint64_t array[3 * MAX_WORDS];
	struct pair pair;

	switch ((enum shape)entry.shape) {
	case WORD:
		return reel_pop(tape, uint64_t) == scramble(entry.seed);
	case FLOAT:
		return reel_pop(tape, float) == (float)(entry.seed % 100000);
	case BIT:
		return reel_pop_bit(tape) == (entry.seed & 1);
	case BITS:
		return reel_pop_bits(tape, 12) == (entry.seed & 0xfff);
	case RECORD:
		pair = reel_pop_record(tape, pair);
		return pair.value == (double)entry.n && pair.id == entry.seed;
	case SPAN:
		return are_words(reel_pop_span(tape, uint64_t, entry.n), entry, entry.n);
	case WIDE_SPAN:
		return pops_wide(tape, entry);
	case ARRAY:
		reel_pop_array(tape, array, 3u * entry.n);
		return are_words(array, entry, 3u * entry.n);
	case SHAPES:
		break;
	}
	return false;
}

/* ---- A tape and its model ---- */

struct actor {
	reel_tape *tape;
	struct entry entry[MAX_ENTRIES];
	unsigned count;
};

static _Atomic unsigned wrong;
static _Atomic unsigned errors;

static void note_error(const reel_tape *tape, int error, const char *message, void *context)
{
	(void)tape;
	(void)context;
	if (errors++ == 0)
		tap_note("error %d: %s", error, message);
}

static uint64_t next_random(uint64_t *state)
{
	return scramble(++*state);
}

static void push_at_random(struct actor *actor, uint64_t *random, unsigned n)
{
	for (; n && actor->count < MAX_ENTRIES; n--) {
		uint64_t seed = next_random(random);
		struct entry entry = {seed, (uint16_t)(1 + seed % MAX_WORDS),
				      (uint8_t)(seed >> 32) % SHAPES};

		push_entry(actor->tape, entry);
		actor->entry[actor->count++] = entry;
	}
}

static void pop_some(struct actor *actor, unsigned n)
{
	for (; n && actor->count; n--)
		wrong += !pops(actor->tape, actor->entry[--actor->count]);
}

static void go_there_and_back(struct actor *actor, uint64_t *random, unsigned n)
{
	reel_mark mark = reel_tape_mark(actor->tape);
	unsigned count = actor->count;

	push_at_random(actor, random, n);
	pop_some(actor, n / 2 < actor->count - count ? n / 2 : actor->count - count);
	wrong += reel_tape_rewind(actor->tape, mark) != 0;
	actor->count = count;
}

/* Replays a hold. Pops leave the entries of the model in place. */
static void replay(struct actor *actor, uint64_t *random, unsigned n)
{
	unsigned count = actor->count, low;

	wrong += reel_tape_hold(actor->tape) != 0;
	pop_some(actor, n);
	low = actor->count;
	if (count + n / 4 < MAX_ENTRIES) {
		struct actor *branch = calloc(1, sizeof *branch);

		branch->tape = actor->tape;
		push_at_random(branch, random, n / 4);
		pop_some(branch, n / 4);
		free(branch);
	}
	wrong += reel_tape_replay(actor->tape) != 0;
	actor->count = count;
	if (n % 2) {
		pop_some(actor, count - low);
		actor->count = low;
	}
	wrong += reel_tape_release(actor->tape) != 0;
}

static void move(struct actor *actor)
{
	reel_tape *to = malloc(sizeof *to);

	reel_tape_move(to, actor->tape);
	wrong += !is_zero(actor->tape);
	free(actor->tape);
	actor->tape = to;
}

static void act(struct actor *actor, uint64_t *random)
{
	uint64_t choice = next_random(random);
	unsigned n = 1 + (unsigned)(choice >> 32) % 200;

	switch (choice % 12) {
	case 0:
		move(actor);
		break;
	case 1:
		go_there_and_back(actor, random, n);
		break;
	case 2:
		replay(actor, random, n);
		break;
	case 3:
	case 4:
	case 5:
	case 6:
		pop_some(actor, n + n / 4);
		break;
	default:
		push_at_random(actor, random, n);
	}
}

static struct actor *new_actor(reel_pool *pool, unsigned flags)
{
	struct actor *actor = calloc(1, sizeof *actor);

	if (!actor || !(actor->tape = calloc(1, sizeof *actor->tape)))
		abort();
	reel_tape_open(actor->tape, pool, flags);
	return actor;
}

static void end_actor(struct actor *actor, bool empty)
{
	if (empty) {
		pop_some(actor, actor->count);
		wrong += !reel_tape_is_empty(actor->tape);
	}
	wrong += reel_tape_error(actor->tape) != 0;
	reel_tape_close(actor->tape);
	free(actor->tape);
	free(actor);
}

/* ---- Threads that hand their tapes to each other ---- */

enum { THREADS = 2, ACTORS = 4 };

static struct {
	reel_pool *pool;
	unsigned flags;
	unsigned steps;
	uint64_t seed;
	pthread_mutex_t lock;
	struct actor *between;
} stage = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Exchanges a tape of this thread with a tape that the other thread has left. */
static void exchange(struct actor **actor)
{
	struct actor *taken;

	reel_tape_hand_over((*actor)->tape);
	pthread_mutex_lock(&stage.lock);
	taken = stage.between;
	stage.between = *actor;
	pthread_mutex_unlock(&stage.lock);
	*actor = taken ? taken : new_actor(stage.pool, stage.flags);
}

static void *play(void *number)
{
	uint64_t random = stage.seed + ((uint64_t)*(unsigned *)number << 32);
	struct actor *actor[ACTORS];

	for (unsigned i = 0; i < ACTORS; i++)
		actor[i] = new_actor(stage.pool, stage.flags);
	for (unsigned step = 0; step < stage.steps; step++) {
		unsigned i = next_random(&random) % ACTORS;

		if (next_random(&random) % 16 == 0)
			exchange(&actor[i]);
		act(actor[i], &random);
	}
	for (unsigned i = 0; i < ACTORS; i++)
		end_actor(actor[i], i % 2);
	return NULL;
}

static void close_all(reel_pool *pool, struct late_store *late, const char *after)
{
	reel_offload_settle(reel_offload_of(pool));
	is_int(late->used, 0, "the store is empty after %s", after);
	ok(pool_is_whole(pool), "every slab is in one list after %s", after);
	close_pool_at_rest(pool, after);
	is_int(late->wrongs, 0, "the store was given nothing wrong by %s", after);
	free(late);
}

static reel_pool *pool_of(size_t slab_bytes, size_t slabs, reel_store *store)
{
	return open_pool((struct reel_pool_options){
		.slab_bytes = slab_bytes,
		.first_slab_bytes = slab_bytes % 1024 ? 64 : slab_bytes / 16,
		.hard_budget = slabs * slab_bytes,
		.store = store,
	});
}

/* The budget has four slabs for each tape, also for one between threads. A checked tape is two. */
static void tapes_at_random(unsigned threads, unsigned flags, unsigned steps, uint64_t seed)
{
	struct late_store *late = late_open(seed);
	unsigned tapes = (threads * ACTORS + 1) * (flags ? 2 : 1);

	wrong = errors = 0;
	stage.pool = pool_of(1024, 4 * tapes, &late->store);
	stage.flags = flags;
	stage.steps = steps;
	stage.seed = seed;
	run_threads(threads, play);
	if (stage.between)
		end_actor(stage.between, true);
	stage.between = NULL;
	ok(!wrong && !errors, "%u thread%s%s, seed %llu: all comes back", threads,
	   threads > 1 ? "s" : "", flags ? ", checked" : "", (unsigned long long)seed);
	ok(late->puts > 50 && late->gets > 20, "by way of the store: %u puts, %u gets", late->puts,
	   late->gets);
	close_all(stage.pool, late, "tapes at random");
}

/* ---- Checked mode ---- */

/* Slabs of values and of notes are stored, and the wrong pop is at the bottom. */
static void notes_come_back_from_the_store(void)
{
	struct late_store *late = late_open(5);
	reel_pool *pool = pool_of(1024, 12, &late->store);
	reel_tape tape = open_tape(pool, REEL_CHECKED);
	char call_site[32];
	int line;

	record_reports();
	push_words(&tape, 0, 100);
	line = __LINE__ + 1;
	reel_push(&tape, 1.5);
	push_words(&tape, 100, 5000);
	ok(late->puts > 100, "notes and values are stored");
	is_int(wrong_words(&tape, 100, 5000), 0, "what mirrors comes back");
	(void)reel_pop(&tape, uint64_t);
	is_int(reported.error, -EBADMSG, "what does not is reported");
	snprintf(call_site, sizeof call_site, "t-spill-tapes.c:%d", line);
	ok(strstr(reported.message, call_site) && strstr(reported.message, "double"),
	   "with the call site and the type of its push: %s", reported.message);
	reel_tape_close(&tape);
	close_all(pool, late, "a checked tape");
	reel_set_error_handler(note_error, NULL);
}

/* Number of values in the tape's struct whose last notes are on a slab that is stored. */
#define INSIDE 15

static reel_pool *pool_that_reads_nothing(void)
{
	static const struct reel_fault_rule rule = {
		.fault = REEL_FAULT_ERROR, .persistent = true, .error = -EIO};
	reel_store *store;

	if (reel_store_memory_open(&store, UINT64_MAX) ||
	    reel_store_fault_open(&store, store, &rule, 1))
		abort();
	return pool_of(1024, 12, store);
}

/* A push must not replace notes that are lost. */
static void notes_that_are_lost_stay_lost(void)
{
	reel_pool *pool = pool_that_reads_nothing();
	reel_tape tape = open_tape(pool, REEL_CHECKED);
	reel_mark mark;

	record_reports();
	for (int i = 0; i < INSIDE; i++)
		if (i % 2)
			reel_push(&tape, i);
		else
			reel_push(&tape, (double)i);
	mark = reel_tape_mark(&tape);
	push_words(&tape, 0, 4000);
	is_int(reel_tape_rewind(&tape, mark), 0, "a rewind to values that are there");
	is_int(reel_tape_rewind(&tape, mark), 0, "and another one, though notes are lost");
	reel_push(&tape, 1.5);
	is_int(reported.error, -EIO, "a push that cannot be noted is refused");
	ok(strstr(reported.message, "could not be read back"), "it is said why: %s",
	   reported.message);
	(void)reel_pop(&tape, double);
	is_int(reel_tape_clear_error(&tape), -EIO, "the error is cleared");
	(void)reel_pop(&tape, double);
	ok(strstr(reported.message, "the note of its push could not be read back"),
	   "and told again of a pop whose note is lost: %s", reported.message);
	reel_tape_close(&tape);
	close_pool_at_rest(pool, "lost notes");
	reel_set_error_handler(note_error, NULL);
}

/* Returns the words that fill four first slabs, and `slabs` slabs. */
static uint64_t words_of(uint64_t slabs)
{
	return INLINE_WORDS + 4 * 8 + slabs * 128;
}

#define OTHERS 7

/* In a hold a push begins a slab, but first looks at the slab below, unless one is in between. */
static void a_push_that_finds_a_slab_lost_is_refused(void)
{
	reel_pool *pool = pool_that_reads_nothing();
	reel_tape tape = open_tape(pool, 0), other[OTHERS] = {0};

	record_reports();
	push_words(&tape, 0, words_of(3) + 1);
	reel_tape_hold(&tape);
	is_int(wrong_words(&tape, words_of(3), words_of(3) + 1), 0, "the last slab is popped");
	for (unsigned i = 0; i < OTHERS; i++) {
		other[i] = open_tape(pool, 0);
		push_words(&other[i], 0, words_of(3) + 1);
	}
	reel_offload_settle(reel_offload_of(pool));
	for (unsigned i = 0; i < OTHERS; i++)
		reel_tape_close(&other[i]);
	is_int(reel_slab_state_of(tape.slab->below), REEL_SLAB_STORED, "the one below is stored");
	ok(!reel_reserve(&tape, uint64_t, 8), "a push that finds that it is lost is refused");
	is_int(reel_tape_error(&tape), -EIO, "with the error of the store");
	ok(strstr(reported.message, "could not be read back"), "and told: %s", reported.message);
	ok(reel_pop(&tape, uint64_t) == UINT64_MAX, "pops give all ones");
	reel_tape_close(&tape);
	close_pool_at_rest(pool, "a push on what is lost");
	reel_set_error_handler(note_error, NULL);
}

/* ---- Spans larger than a slab ---- */

static bool giant_comes_and_goes(reel_tape *tape, size_t words)
{
	uint64_t *span = reel_push_span(tape, uint64_t, words);
	const uint64_t *popped;

	for (size_t i = 0; span && i < words; i++)
		span[i] = scramble(i);
	popped = reel_pop_span(tape, uint64_t, words);
	for (size_t i = 0; popped && i < words; i++)
		if (popped[i] != scramble(i))
			return false;
	return span && popped;
}

#define PAGE ((size_t)4096)

/*
 * Negates the words of [0, to) that windows show, and counts the words that windows refuse. A write
 * to a slab that is stored, or is being put, would be lost.
 */
static uint64_t negate_words(reel_tape *tape, uint64_t to, bool negated[])
{
	reel_window window = {0};
	uint64_t refused = 0;

	for (uint64_t i = 0; i < to; i++) {
		uint64_t *word;
		int error = reel_tape_window(tape, i * 8, &window);

		if (error) {
			refused += error == -EBUSY;
			continue;
		}
		word = (uint64_t *)(void *)(window.start + (i * 8 - window.height));
		wrong += *word != (negated[i] ? ~scramble(i) : scramble(i));
		*word = ~*word;
		negated[i] = !negated[i];
	}
	return refused;
}

static void windows_show_what_no_store_has(void)
{
	enum { WORDS = 40 * 4096 / 8 };
	static bool negated[WORDS];
	struct late_store *late = late_open(10);
	reel_pool *pool = pool_of(PAGE, 12, &late->store);
	reel_tape tape = open_tape(pool, 0);
	uint64_t refused;

	wrong = 0;
	push_words(&tape, 0, WORDS);
	refused = negate_words(&tape, WORDS, negated);
	ok(refused > WORDS / 2 && refused < WORDS, "most windows of a spilled tape are refused");
	ok(negated[0] && negated[WORDS - 1], "but not the lowest one and the top");
	for (uint64_t i = WORDS; i-- > 0;) {
		wrong += reel_pop(&tape, uint64_t) != (negated[i] ? ~scramble(i) : scramble(i));
		if (i % 500 == 0)
			negate_words(&tape, i, negated);
	}
	is_int(wrong, 0, "what was changed in a window is popped, all else as it was pushed");
	is_int(reel_tape_error(&tape), 0, "without an error");
	reel_tape_close(&tape);
	close_all(pool, late, "windows");
}

static void giants_wait_for_room(void)
{
	struct late_store *late = late_open(6);
	reel_pool *pool = pool_of(PAGE, 24, &late->store);
	reel_tape tape = open_tape(pool, 0);
	uint64_t n = 40 * PAGE / 8;

	record_reports();
	push_words(&tape, 0, n);
	ok(giant_comes_and_goes(&tape, 12 * PAGE / 8), "a giant waits until slabs are stored");
	push_words(&tape, n, 2 * n);
	ok(stats_of(pool).peak_resident_bytes <= 24 * PAGE, "within the budget");
	ok(!reel_push_span(&tape, uint64_t, 24 * PAGE / 8), "one that never fits is refused");
	is_int(reported.error, -EDQUOT, "with the error of the budget");
	ok(!reel_pop_span(&tape, uint64_t, 24 * PAGE / 8), "its pop gives nothing");
	is_int(wrong_words(&tape, 0, 2 * n), 0, "all else comes back");
	is_int(reported.calls, 1, "one error was told");
	reel_tape_close(&tape);
	close_all(pool, late, "giants");
	reel_set_error_handler(note_error, NULL);
}

/* The budget has room for the large slab, but not for the pages that it needs. */
static void a_giant_of_the_last_page_is_refused(void)
{
	struct late_store *late = late_open(7);
	reel_pool *pool = open_pool((struct reel_pool_options){
		.slab_bytes = PAGE, .first_slab_bytes = PAGE / 4, .hard_budget = 10 * PAGE + 128,
		.store = &late->store});
	reel_tape tape = open_tape(pool, 0);

	push_words(&tape, 0, 5 * PAGE / 8);
	is_int(wrong_words(&tape, 0, 5 * PAGE / 8), 0, "slabs are idle");
	ok(!giant_comes_and_goes(&tape, 10 * PAGE / 8 + 8),
	   "a giant whose last page is above the budget is refused");
	reel_tape_close(&tape);
	close_all(pool, late, "a giant of the last page");
	errors = 0;
}

#if defined(REEL_ADDRESS_SANITIZER) || defined(REEL_THREAD_SANITIZER)
static void giants_and_locked_memory(void)
{
	tap_skip(1, "a sanitizer's memory is not to be locked");
}
#else
static void push_a_giant_in_locked_memory(void)
{
	struct late_store *late = late_open(8);
	reel_pool *pool = pool_of(PAGE, 16, &late->store);
	reel_tape tape = open_tape(pool, 0);
	uint64_t n = 30 * PAGE / 8;

	push_words(&tape, 0, n);
	ok(!giant_comes_and_goes(&tape, 8 * PAGE / 8), "it is refused");
	is_int(reel_tape_error(&tape), -EDQUOT, "the error");
	is_int(wrong_words(&tape, 0, n), 0, "what was pushed before comes back");
	reel_tape_close(&tape);
	close_all(pool, late, "a giant in locked memory");
}

/* If the pool cannot give memory back to the system, it has none for a large slab. */
static void giants_and_locked_memory(void)
{
	pid_t child = fork_with_timeout();

	if (child == 0) {
		if (!mlockall(MCL_CURRENT | MCL_FUTURE))
			push_a_giant_in_locked_memory();
		tap_child_end();
	}
	ok(tap_child_passed(child), "a giant in locked memory");
}
#endif

/* ---- Other users of the pool ---- */

static _Atomic bool swept;

static void *sweep_or_trim(void *number)
{
	unsigned thread = *(unsigned *)number;

	while (thread == 0 && !swept)
		reel_pool_trim(stage.pool, scramble(thread) % (16 << 10));
	for (unsigned i = 0; thread > 0 && i < 40; i++) {
		uint64_t n = 100 + scramble(i) % 3000;
		reel_tape tape = open_tape(stage.pool, 0);

		push_words(&tape, i, i + n);
		wrong += wrong_words(&tape, i, i + n);
		wrong += reel_tape_error(&tape) != 0;
		reel_tape_close(&tape);
	}
	if (thread > 0)
		swept = true;
	return NULL;
}

static void trimming_does_no_harm(void)
{
	struct late_store *late = late_open(9);

	wrong = 0;
	stage.pool = pool_of(PAGE, 6, &late->store);
	run_threads(2, sweep_or_trim);
	is_int(wrong, 0, "all comes back while another thread trims the pool");
	close_all(stage.pool, late, "trimming");
}

/* Leaves the pool n descriptors, as if it had nearly all of its 2^20 slabs. */
static void leave_descriptors(reel_pool *pool, size_t n)
{
	pool->table_used = reel_supply_table_bytes() / sizeof(struct reel_slab) - n;
}

static void the_last_descriptor_is_used(void)
{
	reel_store *store;
	reel_pool *pool;
	reel_tape rests, grows;
	uint64_t n = 30 * PAGE / 8, pushed = 0;

	if (reel_store_memory_open(&store, UINT64_MAX))
		abort();
	pool = pool_of(PAGE, 12, store);
	leave_descriptors(pool, 60);
	rests = open_tape(pool, 0);
	grows = open_tape(pool, 0);
	push_words(&rests, 0, n);
	while (push_words(&grows, pushed, pushed + 1), !reel_tape_error(&grows))
		pushed++;
	ok(pushed > 10 * PAGE / 8, "a tape grows until there is no slab left");
	(void)reel_pop(&grows, uint64_t);
	is_int(wrong_words(&rests, 0, n), 0, "a tape all of which is stored comes back then");
	is_int(wrong_words(&grows, 0, pushed), 0, "and so does the other one");
	reel_tape_close(&rests);
	reel_tape_close(&grows);
	/* pool_is_whole() would fail, because most descriptors never existed. */
	ok(offload_is_at_rest(reel_offload_of(pool)), "nothing is left of them in the store");
	close_pool(pool, "the last descriptor");
	errors = 0;
}

/* The whole budget is in whole slabs, one of which could be cut into first slabs. */
static void no_descriptor_is_left_for_first_slabs(void)
{
	enum { SLABS = 12 };
	struct reel_slab *slab[SLABS];
	size_t used;
	reel_store *store;
	reel_pool *pool;
	reel_tape tape;

	if (reel_store_memory_open(&store, UINT64_MAX))
		abort();
	pool = pool_of(PAGE, SLABS, store);
	for (unsigned i = 0; i < SLABS; i++)
		if (reel_pool_take(pool, REEL_SLAB_WHOLE, 0, &slab[i]))
			abort();
	for (unsigned i = 0; i < SLABS; i++)
		reel_pool_give(pool, slab[i]);
	reel_pool_flush(pool);
	used = pool->table_used;
	leave_descriptors(pool, 0);
	record_reports();
	tape = open_tape(pool, 0);
	push_words(&tape, 0, INLINE_WORDS + 1);
	is_int(reel_tape_error(&tape), -ENOMEM, "a tape without a first slab takes no more");
	ok(strstr(reported.message, "no memory for a slab"), "and says so: %s", reported.message);
	(void)reel_pop(&tape, uint64_t);
	is_int(wrong_words(&tape, 0, INLINE_WORDS), 0, "what is inside it comes back");
	reel_tape_clear_error(&tape);
	pool->table_used = used;
	push_words(&tape, 0, INLINE_WORDS + 1);
	is_int(wrong_words(&tape, 0, INLINE_WORDS + 1), 0, "with descriptors a slab is cut up");
	reel_tape_close(&tape);
	close_pool_at_rest(pool, "a tape without a first slab");
	reel_set_error_handler(note_error, NULL);
}

int main(void)
{
	const char *seeds = getenv("TEST_SEEDS");
	uint64_t most = seeds ? strtoull(seeds, NULL, 10) : 3;

	tap_begin();
	reel_set_error_handler(note_error, NULL);
	for (uint64_t seed = 0; seed < most; seed++) {
		tapes_at_random(1, 0, 400, seed);
		tapes_at_random(THREADS, 0, 250, seed);
		tapes_at_random(THREADS, REEL_CHECKED, 120, seed);
	}
	notes_come_back_from_the_store();
	notes_that_are_lost_stay_lost();
	a_push_that_finds_a_slab_lost_is_refused();
	windows_show_what_no_store_has();
	giants_wait_for_room();
	a_giant_of_the_last_page_is_refused();
	giants_and_locked_memory();
	trimming_does_no_harm();
	the_last_descriptor_is_used();
	no_descriptor_is_left_for_first_slabs();
	return tap_end();
}
