/* SPDX-License-Identifier: MIT */
/*
 * Compares long random sequences of all operations with a plain stack of notes, which knows the
 * value of each pop.
 *
 * TEST_SEEDS=N runs N sequences for each kind of pool. A failure prints TEST_SEED=N, which runs
 * only that sequence.
 */
#include <config.h>

#include <errno.h>
#include <stdalign.h>


#include "helpers/late-store.h"
#include "helpers/support.h"

enum { OPERATIONS = 300, LARGEST = 4000, HOLDS = 4, MARKS = 8, DEFAULT_SEEDS = 100 };

struct record {
	char bytes[20];
};

struct large {
	char bytes[300];
};

struct wide {
	alignas(32) char bytes[96];
};

REEL_RECORD(record, struct record);
REEL_RECORD(large, struct large);
REEL_RECORD(wide, struct wide);

enum shape { WORD, CHAR, RECORD, LARGE, WIDE, BIT, BITS, SPAN, RESERVED, WIDE_SPAN, ARRAY, CURSOR,
	     SHAPES };

struct note {
	enum shape shape;
	bool refused;
	/* Number of elements or bits. */
	unsigned n;
	/* fill() makes the value from this number. */
	uint64_t number;
	/* Bytes on the tape before the push. */
	uint64_t bytes;
};

/* A mark, with the number of notes at the mark. */
struct place {
	reel_mark mark;
	size_t notes;
};

/* The state that a replay restores. */
struct state {
	struct note *notes;
	size_t count;
	size_t capacity;
	struct place marks[MARKS];
	unsigned marked;
	/* Marks below this one are from outside of the innermost hold. */
	unsigned outside;
};

struct run {
	uint64_t random;
	reel_tape tapes[2];
	reel_tape *tape;
	struct state now;
	struct state held[HOLDS];
	unsigned holds;
	/* The tape is a reader, which replays to this state if no hold is open. */
	bool is_reader;
	struct state frozen;
	/* The line of the first check that failed, or 0. */
	int failed;
};

#define EXPECT(run, condition)                                                                     \
	do {                                                                                       \
		if (!(condition) && !(run)->failed)                                                \
			(run)->failed = __LINE__;                                                  \
	} while (0)

static unsigned below(struct run *run, unsigned n)
{
	return (unsigned)(scramble(run->random++) % n);
}

static void *scratch(void)
{
	static uint64_t memory[LARGEST * sizeof(struct wide) / 8];

	return memory;
}

/* ---- The stack of notes ---- */

static void add_note(struct state *state, struct note note)
{
	if (state->count == state->capacity) {
		state->capacity = 2 * state->capacity + 16;
		state->notes = realloc(state->notes, state->capacity * sizeof note);
		if (!state->notes)
			abort();
	}
	state->notes[state->count++] = note;
}

static struct state copy_of(const struct state *state)
{
	struct state copy = *state;

	copy.capacity = copy.count;
	copy.notes = malloc(copy.count * sizeof *copy.notes + 1);
	if (!copy.notes)
		abort();
	if (copy.count)
		memcpy(copy.notes, state->notes, copy.count * sizeof *copy.notes);
	return copy;
}

static void drop_notes(struct state *state, size_t count)
{
	state->count = count;
	while (state->marked && state->marks[state->marked - 1].notes > count)
		state->marked--;
	if (state->outside > state->marked)
		state->outside = state->marked;
}

static bool any_refused(const struct run *run)
{
	const struct state *now = &run->now;

	for (unsigned i = 0; i < run->holds; i++)
		if (run->held[i].count && run->held[i].notes[run->held[i].count - 1].refused)
			return true;
	return now->count && now->notes[now->count - 1].refused;
}

/* ---- Pushes ---- */

/* Returns a number of elements for a span or an array: mostly a few, sometimes very many. */
static unsigned some_elements(struct run *run)
{
	return below(run, 20) ? below(run, 30) : below(run, LARGEST);
}

static size_t bytes_of(const struct note *note)
{
	static const size_t sizes[SHAPES] = {
		[WORD] = 8,  [CHAR] = 1,  [RECORD] = sizeof(struct record),
		[LARGE] = sizeof(struct large), [WIDE] = sizeof(struct wide),
		[SPAN] = 4, [RESERVED] = 8, [WIDE_SPAN] = sizeof(struct wide), [ARRAY] = 3,
		[CURSOR] = 8};

	return sizes[note->shape] * note->n;
}

static unsigned elements_for(struct run *run, enum shape shape)
{
	switch (shape) {
	case BITS:
		return below(run, 33);
	case SPAN:
	case RESERVED:
	case ARRAY:
		return some_elements(run);
	case WIDE_SPAN:
		return below(run, 6);
	case CURSOR:
		return below(run, 40);
	default:
		return 1;
	}
}

static void push_span(struct run *run, const struct note *note, void *span)
{
	EXPECT(run, !span == (reel_tape_error(run->tape) != 0));
	if (span)
		fill(span, bytes_of(note), note->number);
}

/* Returns true if nothing was pushed. */
static bool push_reserved(struct run *run, const struct note *note)
{
	uint64_t *span = reel_reserve(run->tape, uint64_t, note->n + below(run, 10));

	push_span(run, note, span);
	if (span)
		reel_commit(run->tape, uint64_t, note->n);
	return !span;
}

/* Each value of the loop is a push, and any of them may be the first refused one. */
static void push_by_cursor(struct run *run, struct note note)
{
	reel_cursor c = reel_push_cursor(run->tape);
	unsigned n = note.n;

	note.shape = WORD;
	note.n = 1;
	for (unsigned i = 0; i < n; i++) {
		uint64_t word;

		fill(&word, 8, note.number);
		c = reel_cursor_push(run->tape, c, word);
		note.refused = reel_tape_error(run->tape);
		add_note(&run->now, note);
		note.bytes += note.refused ? 0 : 8;
		note.number++;
	}
	reel_cursor_close(run->tape, c);
}

#define PUSH_FILLED(run, note, type, push)                                                         \
	do {                                                                                       \
		type x;                                                                            \
		fill(&x, sizeof x, (note)->number);                                                \
		push;                                                                              \
	} while (0)

static void push(struct run *run)
{
	reel_tape *tape = run->tape;
	struct note note = {.shape = below(run, SHAPES), .bytes = reel_tape_bytes(tape),
			    .number = scramble(run->random)};

	note.n = elements_for(run, note.shape);
	switch (note.shape) {
	case WORD:
		PUSH_FILLED(run, &note, uint64_t, reel_push(tape, x));
		break;
	case CHAR:
		PUSH_FILLED(run, &note, unsigned char, reel_push(tape, x));
		break;
	case RECORD:
		PUSH_FILLED(run, &note, struct record, reel_push_record(tape, record, x));
		break;
	case LARGE:
		PUSH_FILLED(run, &note, struct large, reel_push_record(tape, large, x));
		break;
	case WIDE:
		PUSH_FILLED(run, &note, struct wide, reel_push_record(tape, wide, x));
		break;
	case BIT:
		reel_push_bit(tape, note.number & 1);
		break;
	case BITS:
		reel_push_bits(tape, note.number, note.n);
		break;
	case SPAN:
		push_span(run, &note, reel_push_span(tape, float, note.n));
		break;
	case RESERVED:
		if (push_reserved(run, &note))
			return;
		break;
	case WIDE_SPAN:
		push_span(run, &note, reel_push_span(tape, struct wide, note.n));
		break;
	case ARRAY:
		fill(scratch(), bytes_of(&note), note.number);
		reel_push_array(tape, (char(*)[3])scratch(), note.n);
		break;
	default:
		push_by_cursor(run, note);
		return;
	}
	note.refused = reel_tape_error(tape);
	add_note(&run->now, note);
}

/* ---- Pops ---- */

static bool is_right(const struct note *note, const void *bytes)
{
	return note->refused ? all_ones(bytes, bytes_of(note))
			     : is_filled(bytes, bytes_of(note), note->number);
}

static bool is_right_span(const struct note *note, const void *span)
{
	return note->refused ? !span : span && is_filled(span, bytes_of(note), note->number);
}

static bool are_right_bits(const struct note *note, uint64_t bits)
{
	uint64_t mask = ((uint64_t)1 << note->n) - 1;

	return bits == (note->refused ? mask : (note->number & mask));
}

static bool pops_right(reel_tape *tape, const struct note *note)
{
	uint64_t word;
	unsigned char byte;
	struct record record;
	struct large large;
	struct wide wide;

	switch (note->shape) {
	case WORD:
		word = reel_pop(tape, uint64_t);
		return is_right(note, &word);
	case CHAR:
		byte = reel_pop(tape, unsigned char);
		return is_right(note, &byte);
	case RECORD:
		record = reel_pop_record(tape, record);
		return is_right(note, &record);
	case LARGE:
		large = reel_pop_record(tape, large);
		return is_right(note, &large);
	case WIDE:
		wide = reel_pop_record(tape, wide);
		return is_right(note, &wide);
	case BIT:
		return are_right_bits(note, reel_pop_bit(tape));
	case BITS:
		return are_right_bits(note, reel_pop_bits(tape, note->n));
	case SPAN:
		return is_right_span(note, reel_pop_span(tape, float, note->n));
	case RESERVED:
		return is_right_span(note, reel_pop_span(tape, uint64_t, note->n));
	case WIDE_SPAN:
		return is_right_span(note, reel_pop_span(tape, struct wide, note->n));
	default:
		reel_pop_array(tape, (char(*)[3])scratch(), note->n);
		return is_right(note, scratch());
	}
}

static void pop(struct run *run)
{
	struct note note;

	if (!run->now.count)
		return;
	note = run->now.notes[run->now.count - 1];
	EXPECT(run, pops_right(run->tape, &note));
	EXPECT(run, reel_tape_bytes(run->tape) == note.bytes);
	drop_notes(&run->now, run->now.count - 1);
}

static void pop_by_cursor(struct run *run)
{
	struct state *now = &run->now;
	reel_cursor c = reel_pop_cursor(run->tape);

	while (now->count && now->notes[now->count - 1].shape == WORD) {
		uint64_t word;

		c = reel_cursor_pop(run->tape, c, &word);
		EXPECT(run, is_right(&now->notes[now->count - 1], &word));
		drop_notes(now, now->count - 1);
	}
	reel_cursor_close(run->tape, c);
}

static void look(struct run *run)
{
	const struct note *note;
	struct record record;
	uint64_t word;

	if (!run->now.count)
		return;
	note = &run->now.notes[run->now.count - 1];
	switch (note->shape) {
	case WORD:
		word = reel_look(run->tape, uint64_t);
		EXPECT(run, is_right(note, &word));
		break;
	case RECORD:
		record = reel_look_record(run->tape, record);
		EXPECT(run, is_right(note, &record));
		break;
	case BIT:
		EXPECT(run, are_right_bits(note, reel_look(run->tape, bool)));
		break;
	default:
		break;
	}
}

/* ---- Marks, holds, errors ---- */

static void mark(struct run *run)
{
	struct state *now = &run->now;

	if (now->marked < MARKS)
		now->marks[now->marked++] = (struct place){reel_tape_mark(run->tape), now->count};
}

static void rewind_to_mark(struct run *run)
{
	struct state *now = &run->now;
	const struct place *place;

	if (now->marked == now->outside)
		return;
	place = &now->marks[now->outside + below(run, now->marked - now->outside)];
	EXPECT(run, reel_tape_rewind(run->tape, place->mark) == 0);
	if (place->notes < now->count && now->notes[place->notes].shape != WORD)
		EXPECT(run, reel_tape_bytes(run->tape) == now->notes[place->notes].bytes);
	drop_notes(now, place->notes);
}

static void hold(struct run *run)
{
	if (run->holds == HOLDS)
		return;
	EXPECT(run, reel_tape_hold(run->tape) == 0);
	run->held[run->holds++] = copy_of(&run->now);
	run->now.outside = run->now.marked;
}

static void replay(struct run *run)
{
	if (!run->holds && !run->is_reader)
		return;
	EXPECT(run, reel_tape_replay(run->tape) == 0);
	free(run->now.notes);
	run->now = copy_of(run->holds ? &run->held[run->holds - 1] : &run->frozen);
	run->now.outside = run->now.marked;
}

static void release(struct run *run)
{
	struct state *held;

	if (!run->holds)
		return;
	EXPECT(run, reel_tape_release(run->tape) == 0);
	held = &run->held[--run->holds];
	if (run->now.outside > held->outside)
		run->now.outside = held->outside;
	free(held->notes);
}

static void move(struct run *run)
{
	reel_tape *to = run->tape == &run->tapes[0] ? &run->tapes[1] : &run->tapes[0];

	reel_tape_move(to, run->tape);
	run->tape = to;
}

static void open_reader(struct run *run, reel_tape *reader, reel_recording *recording)
{
	EXPECT(run, reel_reader_open(reader, recording) == 0);
}

/*
 * Freezes the tape and continues with a reader. Another reader pops all values, or is closed before
 * the end.
 */
static void freeze(struct run *run)
{
	reel_tape *reader = run->tape == &run->tapes[0] ? &run->tapes[1] : &run->tapes[0];
	size_t left = run->now.count ? below(run, (unsigned)run->now.count) : 0;
	reel_recording *recording;
	reel_tape other;
	int error = reel_tape_freeze(run->tape, &recording);

	if (error) {
		int sticky = reel_tape_error(run->tape);

		EXPECT(run, error == (sticky ? sticky : -EBUSY));
		EXPECT(run, sticky || run->is_reader || run->holds);
		return;
	}
	run->is_reader = true;
	run->now.marked = run->now.outside = 0;
	run->frozen = copy_of(&run->now);
	open_reader(run, reader, recording);
	open_reader(run, &other, recording);
	reel_recording_close(recording);
	for (size_t i = run->now.count; i-- > left;)
		EXPECT(run, pops_right(&other, &run->now.notes[i]));
	reel_tape_close(&other);
	run->tape = reader;
}

static void clear_error(struct run *run)
{
	int error = reel_tape_error(run->tape);

	EXPECT(run, error == 0 || error == -EDQUOT);
	EXPECT(run, reel_tape_clear_error(run->tape) == (any_refused(run) ? -EBUSY : error));
}

static void many(struct run *run, void (*operation)(struct run *run))
{
	for (unsigned i = below(run, 60); i > 0; i--)
		operation(run);
}

static void operate(struct run *run)
{
	switch (below(run, 21)) {
	case 20:
		if (below(run, 5) == 0)
			freeze(run);
		break;
	case 0:
		many(run, push);
		break;
	case 1:
		many(run, pop);
		break;
	case 2:
		mark(run);
		break;
	case 3:
		rewind_to_mark(run);
		break;
	case 4:
		hold(run);
		break;
	case 5:
		replay(run);
		break;
	case 6:
		release(run);
		break;
	case 7:
		move(run);
		break;
	case 8:
		clear_error(run);
		break;
	case 9:
		pop_by_cursor(run);
		break;
	case 10:
	case 11:
		look(run);
		break;
	case 12:
	case 13:
	case 14:
	case 15:
		pop(run);
		break;
	default:
		push(run);
		break;
	}
}

/* Returns the line of the first check that failed, or 0. */
static int failure_of(reel_pool *pool, unsigned flags, uint64_t seed)
{
	struct run run = {.random = seed << 32};

	run.tape = &run.tapes[0];
	reel_tape_open(run.tape, pool, flags);
	for (unsigned i = 0; i < OPERATIONS && !run.failed; i++)
		operate(&run);
	if (seed % 2)
		while (run.holds)
			release(&run);
	while (run.now.count && !run.failed)
		pop(&run);
	EXPECT(&run, reel_tape_is_empty(run.tape));
	while (run.holds)
		free(run.held[--run.holds].notes);
	free(run.now.notes);
	free(run.frozen.notes);
	reel_tape_close(run.tape);
	EXPECT(&run, slabs_in_use(pool) == 0);
	return run.failed;
}

static const struct {
	const char *name;
	struct reel_pool_options options;
	bool spills;
} pools[] = {
	{"slabs of 64 bytes", {.slab_bytes = 64}, false},
	{"slabs of 128 bytes, first ones of 64", {.slab_bytes = 128, .first_slab_bytes = 64}, false},
	{"slabs of 192 bytes, a budget of 20",
	 {.slab_bytes = 192, .first_slab_bytes = 64, .hard_budget = 192 * 20}, false},
	{"slabs of 1024 bytes, first ones of 256, a budget of 60",
	 {.slab_bytes = 1024, .first_slab_bytes = 256, .hard_budget = 1024 * 60}, false},
	{"slabs of 1024 bytes, all first ones, magazines of one",
	 {.slab_bytes = 1024, .first_slab_bytes = 1024, .magazine_slabs = 1}, false},
	{"slabs of 64 KiB", {.slab_bytes = 65536}, false},
	{"slabs of 64 KiB, first ones of 4 KiB",
	 {.slab_bytes = 65536, .first_slab_bytes = 4096}, false},
	{"default slabs", {0}, false},
	{"a store, slabs of 64 bytes, memory for 5",
	 {.slab_bytes = 64, .hard_budget = 64 * 5, .soft_budget = 64 * 2}, true},
	{"a store, slabs of 256 bytes, memory for 12",
	 {.slab_bytes = 256, .first_slab_bytes = 64, .hard_budget = 256 * 12}, true},
	{"a store, slabs of 1024 bytes, memory for 30, magazines of one",
	 {.slab_bytes = 1024, .first_slab_bytes = 256, .hard_budget = 1024 * 30,
	  .magazine_slabs = 1}, true},
};

static void no_sequence_differs(size_t p, unsigned flags, uint64_t first, uint64_t seeds)
{
	struct late_store *late = pools[p].spills ? late_open(first) : NULL;
	struct reel_pool_options options = pools[p].options;
	unsigned differ = 0;
	reel_pool *pool;

	options.store = late ? &late->store : NULL;
	pool = open_pool(options);

	for (uint64_t seed = first; seed < first + seeds; seed++) {
		int line = failure_of(pool, flags, seed);

		if (line && differ++ < 3)
			tap_note("TEST_SEED=%llu differs at line %d", (unsigned long long)seed,
				 line);
	}
	is_int(differ, 0, "%s%s", pools[p].name, flags ? ", checked" : "");
	close_pool(pool, pools[p].name);
	if (late)
		is_int(late->wrongs, 0, "%s: the store was given nothing wrong", pools[p].name);
	free(late);
}

int main(void)
{
	bool one = getenv("TEST_SEED") != NULL;
	uint64_t first = number_from_environment("TEST_SEED", 1);
	uint64_t seeds = number_from_environment("TEST_SEEDS", DEFAULT_SEEDS);

	tap_begin();
	record_reports();
	for (size_t p = 0; p < COUNT(pools); p++)
		for (unsigned flags = 0; flags <= REEL_CHECKED; flags++)
			no_sequence_differs(p, flags, first, one ? 1 : seeds);
	return tap_end();
}
