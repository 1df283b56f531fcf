/* SPDX-License-Identifier: MIT */
#include <config.h>

#include <errno.h>
#include <stdalign.h>
#include <string.h>

#include "subject.h"
#include "helpers/support.h"

#define NONE_REFUSED UINT64_MAX
#define MAX_WORDS 64
/* A tape does not grow above this number of its pool's slabs, and of bytes. */
#define MAX_SLABS 48
#define MAX_BYTES ((uint64_t)1 << 20)

struct record {
	char bytes[20];
};

struct wide {
	alignas(32) char bytes[96];
};

REEL_RECORD(record, struct record);
REEL_RECORD(wide, struct wide);

/* One value, as its position determines it. */
struct value {
	enum subject_shape shape;
	unsigned n;               /* elements or bits */
	uint64_t number;
};

/* ---- Expected values ---- */

static enum subject_shape shape_of(uint32_t shapes, uint64_t number)
{
	unsigned which = (unsigned)(number % (unsigned)__builtin_popcount(shapes));

	for (unsigned shape = 0;; shape++)
		if (shapes >> shape & 1 && which-- == 0)
			return (enum subject_shape)shape;
}

static unsigned elements_of(const struct subject *subject, enum subject_shape shape,
			    uint64_t number)
{
	unsigned n = (unsigned)(number >> 40);

	switch (shape) {
	case BITS:
		return n % 33;
	case SPAN:
	case RESERVED:
	case ARRAY:
		return n % MAX_WORDS;
	case WIDE_SPAN:
		return n % 5;
	case GIANT:
		return (unsigned)(subject->stage->draw->pool.slab_bytes / 8) *
		       (number >> 32 & 15 ? 0 : 1 + n % 3) + 8;
	default:
		return 1;
	}
}

/* The last one may have begun where nothing was pushed yet. */
static uint64_t rise_of(const struct subject_state *now, uint64_t position)
{
	unsigned i = now->rises;

	while (i && now->rise[i - 1].from > position)
		i--;
	return i ? now->rise[i - 1].number : 0;
}

static struct value value_at(const struct subject *subject, uint64_t position)
{
	uint64_t rise = rise_of(&subject->now, position);
	struct value value = {.number = scramble(subject->stage->draw->seed << 48 ^
						 subject->number << 40 ^ rise << 20 ^ position)};

	value.shape = shape_of(subject->stage->draw->shapes, value.number);
	value.n = elements_of(subject, value.shape, value.number);
	value.number ^= subject->skew;
	return value;
}

static uint64_t word_at(uint64_t number, size_t i)
{
	return number + i * 0x9e3779b97f4a7c15u;
}

static uint64_t word_of(const struct value *value, size_t i)
{
	return word_at(value->number, i);
}

void subject_write(void *target, uint64_t number, size_t bytes)
{
	uint64_t word;

	for (size_t at = 0; at < bytes; at += sizeof word) {
		word = word_at(number, at / sizeof word);
		memcpy((char *)target + at, &word,
		       bytes - at < sizeof word ? bytes - at : sizeof word);
	}
}

static void write_value(void *target, const struct value *value, size_t bytes)
{
	subject_write(target, value->number, bytes);
}

enum verdict subject_judge(const void *source, uint64_t number, size_t bytes)
{
	bool right = true, ones = true;
	uint64_t word, seen;

	if (!source)
		return ONES;
	for (size_t at = 0; at < bytes; at += sizeof word) {
		size_t n = bytes - at < sizeof word ? bytes - at : sizeof word;

		word = seen = word_at(number, at / sizeof word);
		memcpy(&seen, (const char *)source + at, n);
		right &= seen == word;
		seen = UINT64_MAX;
		memcpy(&seen, (const char *)source + at, n);
		ones &= seen == UINT64_MAX;
	}
	return (enum verdict)((right ? RIGHT : 0) | (ones ? ONES : 0));
}

static enum verdict judge(const void *source, const struct value *value, size_t bytes)
{
	return subject_judge(source, value->number, bytes);
}

static enum verdict judge_bits(uint64_t bits, const struct value *value)
{
	uint64_t mask = ((uint64_t)1 << value->n) - 1;

	return (enum verdict)((bits == (value->number & mask) ? RIGHT : 0) |
			      (bits == mask ? ONES : 0));
}

/* ---- Errors as told ---- */

/* In checked mode the notes of earlier pushes may have been lost. */
static bool is_refusal(const struct subject *subject, int error)
{
	const struct stress_stage *stage = subject->stage;

	return stress_is_refusal(stage, error) ||
	       (stage->draw->flags && stress_is_loss(stage, error));
}

static bool is_lost(const struct subject *subject)
{
	return reel_tape_refused(&subject->tape) > UINT64_MAX / 8;
}

/* The store could not give a slab back: nothing on the tape can be told any more. */
static void check_loss(const struct subject *subject)
{
	if (!subject->stage->store.loses && !stress_in_child)
		stress_fail("tape %llu was lost with error %d, without a fault",
			    (unsigned long long)subject->number, reel_tape_error(&subject->tape));
}

static void begin(struct subject *subject)
{
	subject->now = (struct subject_state){.refused_from = NONE_REFUSED, .came_down = true};
	subject->holds = subject->marks = subject->outside = 0;
}

static void reopen(struct subject *subject)
{
	reel_tape_close(&subject->tape);
	if (reel_tape_open(&subject->tape, subject->stage->pool, subject->stage->draw->flags))
		stress_fail("a tape does not open");
	begin(subject);
}

/* Returns whether the tape was lost, and is a new one now. */
static bool gave_up(struct subject *subject)
{
	if (!is_lost(subject))
		return false;
	check_loss(subject);
	stress_lost++;
	subject->stage->lost++;
	reopen(subject);
	return true;
}

static void note_push(struct subject *subject, const struct value *value)
{
	struct subject_state *now = &subject->now;
	int error = reel_tape_error(&subject->tape);

	if (error && now->refused_from == NONE_REFUSED) {
		/* An array that is refused half-way goes back to where it began: to a lost slab. */
		if (!is_lost(subject) && !is_refusal(subject, error))
			stress_fail("a push on tape %llu was refused with error %d",
				    (unsigned long long)subject->number, error);
		now->refused_from = now->height;
		stress_refused++;
	}
	if (!error)
		now->sum ^= value->number;
	now->height++;
}

/* ---- Pushing ---- */

static void begin_rise(struct subject *subject)
{
	struct subject_state *now = &subject->now;

	if (!now->came_down || now->rises == MAX_RISES)
		return;
	now->rise[now->rises].from = now->height;
	now->rise[now->rises++].number = ++subject->last_rise;
	now->came_down = false;
}

static void push_bulk(reel_tape *tape, const struct value *value)
{
	uint64_t words[MAX_WORDS];
	size_t bytes = value->n * sizeof *words;
	void *span;

	switch (value->shape) {
	case SPAN:
	case GIANT:
		span = reel_push_span(tape, uint64_t, value->n);
		break;
	case RESERVED:
		/* A reservation that is refused counts nothing, so that a push must follow. */
		span = reel_tape_error(tape) ? NULL : reel_reserve(tape, uint64_t, value->n + 3);
		if (span) {
			write_value(span, value, bytes);
			reel_commit(tape, uint64_t, value->n);
			return;
		}
		span = reel_push_span(tape, uint64_t, value->n);
		break;
	case WIDE_SPAN:
		bytes = value->n * sizeof(struct wide);
		span = reel_push_span(tape, struct wide, value->n);
		break;
	default:
		write_value(words, value, bytes);
		reel_push_array(tape, words, value->n);
		return;
	}
	if (span)
		write_value(span, value, bytes);
}

static void push(struct subject *subject)
{
	reel_tape *tape = &subject->tape;
	struct value value;
	struct record record;
	struct wide wide;
	unsigned char byte;

	begin_rise(subject);
	value = value_at(subject, subject->now.height);
	switch (value.shape) {
	case WORD:
		reel_push(tape, word_of(&value, 0));
		break;
	case CHAR:
		write_value(&byte, &value, 1);
		reel_push(tape, byte);
		break;
	case BIT:
		reel_push_bit(tape, value.number & 1);
		break;
	case BITS:
		reel_push_bits(tape, value.number, value.n);
		break;
	case RECORD:
		write_value(&record, &value, sizeof record);
		reel_push_record(tape, record, record);
		break;
	case WIDE:
		write_value(&wide, &value, sizeof wide);
		reel_push_record(tape, wide, wide);
		break;
	default:
		push_bulk(tape, &value);
	}
	note_push(subject, &value);
}

/* ---- Popping ---- */

static enum verdict pop_bulk(reel_tape *tape, const struct value *value)
{
	uint64_t words[MAX_WORDS];
	size_t bytes = value->n * sizeof *words;
	const void *span;

	switch (value->shape) {
	case SPAN:
	case RESERVED:
	case GIANT:
		span = reel_pop_span(tape, uint64_t, value->n);
		return judge(span, value, bytes);
	case WIDE_SPAN:
		span = reel_pop_span(tape, struct wide, value->n);
		return (uintptr_t)span % 32 ? WRONG
					    : judge(span, value, value->n * sizeof(struct wide));
	default:
		reel_pop_array(tape, words, value->n);
		return judge(words, value, bytes);
	}
}

static enum verdict pop_value(reel_tape *tape, const struct value *value)
{
	uint64_t word;
	unsigned char byte;
	struct record record;
	struct wide wide;

	switch (value->shape) {
	case WORD:
		word = reel_pop(tape, uint64_t);
		return judge(&word, value, sizeof word);
	case CHAR:
		byte = reel_pop(tape, unsigned char);
		return judge(&byte, value, 1);
	case BIT:
		return judge_bits(reel_pop_bit(tape), &(struct value){BIT, 1, value->number});
	case BITS:
		return judge_bits(reel_pop_bits(tape, value->n), value);
	case RECORD:
		record = reel_pop_record(tape, record);
		return judge(&record, value, sizeof record);
	case WIDE:
		wide = reel_pop_record(tape, wide);
		return judge(&wide, value, sizeof wide);
	default:
		return pop_bulk(tape, value);
	}
}

/* The model goes down to this height: marks and rises above it end. */
static void come_down(struct subject *subject, uint64_t height)
{
	struct subject_state *now = &subject->now;

	now->height = height;
	now->came_down = true;
	while (now->rises > 1 && now->rise[now->rises - 1].from >= height)
		now->rises--;
	while (subject->marks && subject->mark[subject->marks - 1].height > height)
		subject->marks--;
	if (subject->outside > subject->marks)
		subject->outside = subject->marks;
	if (now->refused_from >= height)
		now->refused_from = NONE_REFUSED;
}

/* The sum without the values from `height` on. */
static void subtract_down_to(struct subject *subject, uint64_t height)
{
	struct subject_state *now = &subject->now;

	while (now->height > height) {
		uint64_t position = now->height - 1;

		if (position < now->refused_from)
			now->sum ^= value_at(subject, position).number;
		now->height = position;
		while (now->rises > 1 && now->rise[now->rises - 1].from >= position)
			now->rises--;
	}
}

static bool was_refused(const struct subject *subject, uint64_t position)
{
	return position >= subject->now.refused_from;
}

/*
 * The error of a refused push sticks until it is cleared, and pushes are refused until
 * then, though those that were refused have been popped.
 */
static void keep_refusing(struct subject *subject)
{
	if (reel_tape_error(&subject->tape) && subject->now.refused_from == NONE_REFUSED)
		subject->now.refused_from = subject->now.height;
}

static bool pop(struct subject *subject)
{
	uint64_t position = subject->now.height - 1;
	struct value value = value_at(subject, position);
	bool refused = was_refused(subject, position);
	enum verdict verdict = pop_value(&subject->tape, &value);

	if (is_lost(subject) && verdict != WRONG)
		return !gave_up(subject);
	if (!(verdict & (refused ? ONES : RIGHT)))
		stress_fail("tape %llu, position %llu: shape %d of %u is %s, error %d",
			    (unsigned long long)subject->number, (unsigned long long)position,
			    (int)value.shape, value.n,
			    refused ? "there, though it was refused"
			    : verdict == ONES ? "all ones" : "wrong",
			    reel_tape_error(&subject->tape));
	if (!refused)
		subject->now.sum ^= value.number;
	come_down(subject, position);
	keep_refusing(subject);
	return true;
}

/* ---- Operations ---- */

static bool is_high(const struct subject *subject)
{
	uint64_t bytes = reel_tape_bytes(&subject->tape);

	return bytes > MAX_BYTES || bytes > MAX_SLABS * subject->stage->draw->pool.slab_bytes;
}

static void push_many(struct subject *subject, struct stress_random *random)
{
	for (unsigned n = 1 + stress_below(random, 120); n && !is_high(subject); n--)
		push(subject);
}

static void pop_many(struct subject *subject, struct stress_random *random)
{
	for (unsigned n = 1 + stress_below(random, 120); n && subject->now.height; n--)
		if (!pop(subject))
			return;
}

static void pop_all(struct subject *subject, struct stress_random *random)
{
	(void)random;
	while (subject->now.height && pop(subject))
		;
}

static void push_by_cursor(struct subject *subject, struct stress_random *random)
{
	unsigned n = stress_below(random, 60);
	reel_cursor c;
	struct value value;

	begin_rise(subject);
	c = reel_push_cursor(&subject->tape);
	for (; n; n--) {
		value = value_at(subject, subject->now.height);
		if (value.shape != WORD)
			break;
		c = reel_cursor_push(&subject->tape, c, word_of(&value, 0));
		note_push(subject, &value);
	}
	reel_cursor_close(&subject->tape, c);
}

static void look(struct subject *subject, struct stress_random *random)
{
	uint64_t position = subject->now.height - 1, word;
	struct value value;
	enum verdict verdict;

	(void)random;
	if (!subject->now.height)
		return;
	value = value_at(subject, position);
	if (value.shape != WORD)
		return;
	word = reel_look(&subject->tape, uint64_t);
	verdict = judge(&word, &value, sizeof word);
	if (is_lost(subject)) {
		gave_up(subject);
		return;
	}
	if (!(verdict & (was_refused(subject, position) ? ONES : RIGHT)))
		stress_fail("tape %llu, position %llu: a look sees %llx",
			    (unsigned long long)subject->number, (unsigned long long)position,
			    (unsigned long long)word);
}

static void mark(struct subject *subject, struct stress_random *random)
{
	(void)random;
	if (subject->marks == MAX_MARKS)
		return;
	subject->mark[subject->marks].mark = reel_tape_mark(&subject->tape);
	subject->mark[subject->marks++].height = subject->now.height;
}

static void must_succeed(struct subject *subject, int error, const char *what)
{
	if (error && !is_lost(subject))
		stress_fail("tape %llu: %s ends with %d", (unsigned long long)subject->number, what,
			    error);
}

static void rewind_to_mark(struct subject *subject, struct stress_random *random)
{
	unsigned inside = subject->marks - subject->outside;
	unsigned which;
	uint64_t height;

	if (!inside)
		return;
	which = subject->outside + stress_below(random, inside);
	height = subject->mark[which].height;
	must_succeed(subject, reel_tape_rewind(&subject->tape, subject->mark[which].mark),
		     "a rewind");
	if (gave_up(subject))
		return;
	subtract_down_to(subject, height);
	come_down(subject, height);
	keep_refusing(subject);
}

static void hold(struct subject *subject, struct stress_random *random)
{
	(void)random;
	if (subject->holds == MAX_HOLDS)
		return;
	must_succeed(subject, reel_tape_hold(&subject->tape), "a hold");
	subject->held[subject->holds++] = subject->now;
	subject->outside = subject->marks;
}

static void replay(struct subject *subject, struct stress_random *random)
{
	(void)random;
	if (!subject->holds)
		return;
	must_succeed(subject, reel_tape_replay(&subject->tape), "a replay");
	if (gave_up(subject))
		return;
	subject->now = subject->held[subject->holds - 1];
	subject->now.came_down = true;
	subject->marks = subject->outside;
	if (!reel_tape_error(&subject->tape))
		subject->now.refused_from = NONE_REFUSED;
	keep_refusing(subject);
}

/* Marks from before the hold stay good, if the tape is still as high. */
static void release(struct subject *subject, struct stress_random *random)
{
	(void)random;
	if (!subject->holds)
		return;
	must_succeed(subject, reel_tape_release(&subject->tape), "a release");
	if (gave_up(subject))
		return;
	subject->holds--;
	subject->marks = subject->outside = 0;
}

static void move(struct subject *subject, struct stress_random *random)
{
	reel_tape other = {0};

	(void)random;
	reel_tape_move(&other, &subject->tape);
	if (!is_zero(&subject->tape))
		stress_fail("a tape that was moved is not empty");
	reel_tape_move(&subject->tape, &other);
}

static bool has_refused(const struct subject *subject)
{
	const struct subject_state *now = &subject->now;

	for (unsigned i = 0; i < subject->holds; i++)
		if (subject->held[i].refused_from < subject->held[i].height)
			return true;
	return now->refused_from < now->height;
}

static void clear_error(struct subject *subject, struct stress_random *random)
{
	int error = reel_tape_error(&subject->tape);
	int wanted = has_refused(subject) ? -EBUSY : error;
	int cleared = reel_tape_clear_error(&subject->tape);

	(void)random;
	if (cleared != wanted)
		stress_fail("tape %llu: clearing its error gives %d instead of %d",
			    (unsigned long long)subject->number, cleared, wanted);
	if (cleared != -EBUSY)
		subject->now.refused_from = NONE_REFUSED;
}

static void drop(struct subject *subject, struct stress_random *random)
{
	(void)random;
	reopen(subject);
}

static void set_layout(struct subject *subject, struct stress_random *random)
{
	static const struct reel_layout layouts[] = {{0, 0}, {8, 0}, {8, 3}, {4, 0},
						     {REEL_INCOMPRESSIBLE, 0}};

	if (reel_tape_set_layout(&subject->tape, layouts[stress_below(random, COUNT_OF(layouts))]))
		stress_fail("a layout is refused");
}

static const struct {
	const char *name;
	void (*act)(struct subject *subject, struct stress_random *random);
} operations[] = {
	{"pushes", push_many},	    {"pops", pop_many},
	{"pops all", pop_all},	    {"pushes by cursor", push_by_cursor},
	{"looks", look},	    {"marks", mark},
	{"rewinds", rewind_to_mark}, {"holds", hold},
	{"replays", replay},	    {"releases", release},
	{"moves", move},	    {"clears the error", clear_error},
	{"closes", drop},	    {"sets the layout", set_layout},
};

_Static_assert(COUNT_OF(operations) <= MAX_WEIGHTS, "each operation has a weight");

/* Pushes and pops are always there. */
static unsigned weight_of(const struct stress_draw *draw, unsigned operation)
{
	return draw->weight[operation] + (operation == 0 ? 6u : operation == 1 ? 4u : 0u);
}

void subject_act(struct subject *subject, struct stress_worker *worker,
		 struct stress_random *random)
{
	unsigned sum = 0, which;

	for (unsigned i = 0; i < COUNT_OF(operations); i++)
		sum += weight_of(subject->stage->draw, i);
	which = stress_below(random, sum);
	for (unsigned i = 0;; i++) {
		unsigned weight = weight_of(subject->stage->draw, i);

		if (which < weight) {
			stress_at(worker, operations[i].name, subject->number);
			operations[i].act(subject, random);
			gave_up(subject);
			return;
		}
		which -= weight;
	}
}

/* ---- Beginning and end ---- */

void subject_open(struct subject *subject, struct stress_stage *stage, uint64_t number)
{
	*subject = (struct subject){.stage = stage, .number = number};
	reopen(subject);
}

void subject_empty(struct subject *subject)
{
	while (subject->now.height)
		if (!pop(subject))
			break;
	if (subject->now.sum)
		stress_fail("tape %llu: the sum of its values is %llx",
			    (unsigned long long)subject->number,
			    (unsigned long long)subject->now.sum);
	if (!reel_tape_is_empty(&subject->tape))
		stress_fail("tape %llu is not empty", (unsigned long long)subject->number);
}

void subject_close(struct subject *subject)
{
	reel_tape_close(&subject->tape);
}

void subject_forget(struct subject *subject)
{
	subject->skew = 1;
}
