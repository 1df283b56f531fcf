/* SPDX-License-Identifier: MIT */
/*
 * Operations on two tapes of one pool, by two threads in turn, compared with plain arrays of the
 * pushed data. The first bytes choose the pool, its budget and its store.
 */
#include <config.h>

#include <complex.h>
#include <errno.h>
#include <pthread.h>
#include <stdalign.h>

#include "fuzz.h"
#include "helpers/late-store.h"
#include "helpers/support.h"
#include "targets.h"
#include "helpers/store-fault.h"
#include "pool/pool.h"

enum { TAPES = 2, HOLDS = 3, MARKS = 6, MAX_ITEMS = 4096, MAX_BYTES = 1 << 18 };

struct odd { char bytes[20]; };
struct large { char bytes[300]; };
struct wide { alignas(32) char bytes[96]; };
struct triple { char bytes[3]; };

REEL_RECORD(odd, struct odd);
REEL_RECORD(large, struct large);
REEL_RECORD(wide, struct wide);

/* X(name, type): one value. */
#define SCALARS(X)                                                                                 \
	X(signed_byte, signed char)                                                                \
	X(half, uint16_t)                                                                          \
	X(integer, int)                                                                            \
	X(word, uint64_t)                                                                          \
	X(single, float)                                                                           \
	X(number, double)                                                                          \
	X(pair, double _Complex)                                                                   \
	X(pointer, const char *)
#define RECORDS(X)                                                                                 \
	X(odd, struct odd)                                                                         \
	X(large, struct large)                                                                     \
	X(wide, struct wide)
/* Spans. */
#define SPANS(X)                                                                                   \
	X(halves, uint16_t)                                                                        \
	X(singles, float)                                                                          \
	X(words, uint64_t)                                                                         \
	X(wides, struct wide)

enum kind {
#define KIND(name, type) OF_##name,
	SCALARS(KIND) RECORDS(KIND) SPANS(KIND) RESERVED, ARRAY, TRIPLES, BIT, BITS, BYTE,
	KINDS
};

static const size_t element_bytes[KINDS] = {
#define ELEMENT(name, type) [OF_##name] = sizeof(type),
	SCALARS(ELEMENT) RECORDS(ELEMENT) SPANS(ELEMENT)
	[RESERVED] = sizeof(double), [ARRAY] = sizeof(double), [TRIPLES] = sizeof(struct triple),
	[BIT] = sizeof(uint64_t), [BITS] = sizeof(uint64_t), [BYTE] = sizeof(uint64_t)};

/* One push. Bits are kept as a word. */
struct item {
	enum kind kind;
	bool refused;
	unsigned n;
	size_t at; /* place of its bytes in the data of the model */
	uint64_t height; /* bytes on the tape before the push; UINT64_MAX: not known */
};

struct place {
	reel_mark mark;
	unsigned items;
	unsigned holds; /* number of holds at that time */
};

/* The plain array, and all other data that a replay restores. */
struct model {
	unsigned count;
	size_t bytes;
	struct item item[MAX_ITEMS];
	unsigned char data[MAX_BYTES];
	unsigned marked;
	/* Marks below this number are from outside of the innermost hold. */
	unsigned outside;
	struct place mark[MARKS];
};

struct subject {
	/* The tape is in place[where]. */
	reel_tape place[2];
	unsigned where;
	struct model now;
	struct model held[HOLDS];
	unsigned holds;
	/* The store has lost something: a pop gives the right value, or all ones. */
	bool lost;
};

static struct subject subjects[TAPES];
static struct fuzz_input *input;
static reel_pool *pool;
/* Checked mode is on; there is a store; it may lose data; it may be full. */
static bool checked, stores, loses, fills;
/* The number of bytes of the largest push. */
static size_t largest;
static uint64_t values;

static reel_tape *tape_of(struct subject *subject)
{
	return &subject->place[subject->where];
}

/* ---- The model ---- */

static void copy_model(struct model *to, const struct model *from)
{
	to->count = from->count;
	to->bytes = from->bytes;
	memcpy(to->item, from->item, from->count * sizeof *from->item);
	memcpy(to->data, from->data, from->bytes);
	to->marked = from->marked;
	to->outside = from->outside;
	memcpy(to->mark, from->mark, sizeof from->mark);
}

static void cut_model(struct model *model, unsigned count)
{
	if (count < model->count)
		model->bytes = model->item[count].at;
	model->count = count;
	while (model->marked && model->mark[model->marked - 1].items > count)
		model->marked--;
	if (model->outside > model->marked)
		model->outside = model->marked;
}

static struct item *top_of(struct model *model)
{
	return model->count ? &model->item[model->count - 1] : NULL;
}

static bool is_of_bits(enum kind kind)
{
	return kind == BIT || kind == BITS || kind == BYTE;
}

static size_t bytes_of(const struct item *item)
{
	return element_bytes[item->kind] * (is_of_bits(item->kind) ? 1 : item->n);
}

/* Draws data that is without a pattern, all the same, or smooth. */
static void draw_data(void *data, size_t bytes)
{
	unsigned char *byte = data;
	uint64_t number = values++;

	if (number % 4 < 2)
		fill(data, bytes, number << 16);
	else
		for (size_t i = 0; i < bytes; i++)
			byte[i] = (unsigned char)(number % 4 == 2 ? number : i / 8 + number);
}

/* ---- Pushes ---- */

static unsigned draw_count(enum kind kind)
{
	switch (kind) {
	case BIT:
		return 1;
	case BYTE:
		return 8;
	case BITS:
		return fuzz_below(input, 33);
	case OF_wides:
		return fuzz_below(input, 6);
	case OF_halves:
	case OF_singles:
	case OF_words:
	case RESERVED:
	case ARRAY:
	case TRIPLES: {
		unsigned n = fuzz_byte(input);

		return n < 224 ? n / 4 : (n - 223) * 100;
	}
	default:
		return 1;
	}
}

static bool has_room(const struct model *model, size_t bytes)
{
	return model->count < MAX_ITEMS && bytes <= MAX_BYTES - model->bytes;
}

static struct item *add_item(struct model *model, enum kind kind, unsigned n, uint64_t height)
{
	struct item item = {.kind = kind, .n = n, .at = model->bytes, .height = height};
	size_t bytes = bytes_of(&item);

	if (!has_room(model, bytes))
		return NULL;
	model->item[model->count++] = item;
	model->bytes += bytes;
	if (largest < bytes)
		largest = bytes;
	return top_of(model);
}

static void push_bits(reel_tape *tape, const struct item *item, unsigned char *data)
{
	uint64_t bits;

	memcpy(&bits, data, sizeof bits);
	if (item->kind == BIT)
		reel_push_bit(tape, bits & 1);
	else if (item->kind == BYTE)
		reel_push_bits(tape, (uint8_t)bits, 8);
	else
		reel_push_bits(tape, bits, item->n);
	bits &= ((uint64_t)1 << item->n) - 1;
	memcpy(data, &bits, sizeof bits);
}

static void fill_span(void *span, const unsigned char *data, size_t bytes)
{
	if (span && bytes)
		memcpy(span, data, bytes);
}

/* Returns false if the room was refused. Then nothing may be pushed. */
static bool push_reserved(reel_tape *tape, const struct item *item, const unsigned char *data)
{
	double *room = reel_reserve(tape, double, item->n + fuzz_below(input, 9));

	if (!room)
		return false;
	memcpy(room, data, bytes_of(item));
	reel_commit(tape, double, item->n);
	return true;
}

static bool push_item(reel_tape *tape, const struct item *item, unsigned char *data)
{
	switch (item->kind) {
#define PUSH(name, type)                                                                           \
	case OF_##name: {                                                                          \
		type x;                                                                            \
		memcpy(&x, data, sizeof x);                                                        \
		reel_push(tape, x);                                                                \
		break;                                                                             \
	}
		SCALARS(PUSH)
#define PUSH_RECORD(name, type)                                                                    \
	case OF_##name: {                                                                          \
		type x;                                                                            \
		memcpy(&x, data, sizeof x);                                                        \
		reel_push_record(tape, name, x);                                                   \
		break;                                                                             \
	}
		RECORDS(PUSH_RECORD)
#define PUSH_SPAN(name, type)                                                                      \
	case OF_##name:                                                                            \
		fill_span(reel_push_span(tape, type, item->n), data, bytes_of(item));              \
		break;
		SPANS(PUSH_SPAN)
	case ARRAY:
		reel_push_array(tape, (double *)(void *)data, item->n);
		break;
	case TRIPLES:
		reel_push_array(tape, (struct triple *)(void *)data, item->n);
		break;
	case RESERVED:
		return push_reserved(tape, item, data);
	default:
		push_bits(tape, item, data);
		break;
	}
	return true;
}

#define OUT_OF_STEP (UINT64_MAX / 8 + 1)

/* Returns true if a push was refused for lack of room, which loses nothing. */
static bool is_refusal(int error)
{
	return error == -EDQUOT || (error == -ENOSPC && fills);
}

static int any_error(struct subject *subject)
{
	int error = reel_tape_error(tape_of(subject));

	FUZZ_EXPECT(!error || is_refusal(error) || loses);
	if (error && !is_refusal(error))
		subject->lost = true;
	/* An earlier error hides a later loss, except for this one. */
	if (reel_tape_refused(tape_of(subject)) == OUT_OF_STEP) {
		FUZZ_EXPECT(error && loses);
		subject->lost = true;
	}
	return error;
}

/* Aligned for all types that are copied from it. */
static alignas(64) unsigned char scratch[64 << 10];

static void push_kind(struct subject *subject, enum kind kind)
{
	reel_tape *tape = tape_of(subject);
	struct model *model = &subject->now;
	struct item *item = add_item(model, kind, draw_count(kind), reel_tape_bytes(tape));

	if (!item)
		return;
	FUZZ_EXPECT(bytes_of(item) <= sizeof scratch);
	draw_data(scratch, bytes_of(item));
	if (!push_item(tape, item, scratch)) {
		FUZZ_EXPECT(any_error(subject));
		cut_model(model, model->count - 1);
		return;
	}
	memcpy(model->data + item->at, scratch, bytes_of(item));
	item->refused = any_error(subject);
}

static void push_any(struct subject *subject)
{
	push_kind(subject, fuzz_below(input, KINDS));
}

/* Each value is a push, and the first one may already be refused. */
static void push_by_cursor(struct subject *subject)
{
	reel_tape *tape = tape_of(subject);
	reel_cursor c = reel_push_cursor(tape);

	for (unsigned n = fuzz_below(input, 40); n > 0; n--) {
		struct model *model = &subject->now;
		uint64_t height = model->count ? top_of(model)->height + 8 : reel_tape_bytes(tape);
		struct item *item = add_item(model, OF_word, 1, height);
		uint64_t word;

		if (!item)
			break;
		draw_data(&word, sizeof word);
		memcpy(model->data + item->at, &word, sizeof word);
		c = reel_cursor_push(tape, c, word);
		item->refused = any_error(subject);
		/* The height is not known while a cursor is open. */
		item->height = UINT64_MAX;
	}
	reel_cursor_close(tape, c);
}

/* ---- Pops ---- */

static bool is_right(const struct subject *subject, const struct item *item, const void *data)
{
	const unsigned char *right = subject->now.data + item->at;
	size_t bytes = bytes_of(item);

	if (!item->refused && (!bytes || !memcmp(right, data, bytes)))
		return true;
	return (item->refused || subject->lost) && all_ones(data, bytes);
}

/* A span that was refused is NULL. */
static bool is_right_span(const struct subject *subject, const struct item *item, const void *span)
{
	if (!span)
		return item->refused || subject->lost;
	return !item->refused && is_right(subject, item, span);
}

static bool are_right_bits(const struct subject *subject, const struct item *item, uint64_t bits)
{
	uint64_t mask = ((uint64_t)1 << item->n) - 1, right;

	memcpy(&right, subject->now.data + item->at, sizeof right);
	if (!item->refused && bits == right)
		return true;
	return (item->refused || subject->lost) && bits == mask;
}

static const void *pop_span(reel_tape *tape, const struct item *item)
{
	switch (item->kind) {
#define POP_SPAN(name, type)                                                                       \
	case OF_##name:                                                                            \
		return reel_pop_span(tape, type, item->n);
		SPANS(POP_SPAN)
	default:
		return reel_pop_span(tape, double, item->n);
	}
}

static bool is_span(enum kind kind)
{
	return kind >= OF_halves && kind <= RESERVED;
}

/* Asks for an error first, since the pop of the value may have caused it. */
#define CHECK(subject, right)                                                                      \
	do {                                                                                       \
		any_error(subject);                                                                \
		FUZZ_EXPECT(right);                                                                \
	} while (0)

static void take_item(struct subject *subject, const struct item *item)
{
	reel_tape *tape = tape_of(subject);

	switch (item->kind) {
#define POP(name, type)                                                                            \
	case OF_##name: {                                                                          \
		type x = reel_pop(tape, type);                                                     \
		CHECK(subject, is_right(subject, item, &x));                                       \
		break;                                                                             \
	}
		SCALARS(POP)
#define POP_RECORD(name, type)                                                                     \
	case OF_##name: {                                                                          \
		type x = reel_pop_record(tape, name);                                              \
		CHECK(subject, is_right(subject, item, &x));                                       \
		break;                                                                             \
	}
		RECORDS(POP_RECORD)
	case ARRAY:
		reel_pop_array(tape, (double *)(void *)scratch, item->n);
		CHECK(subject, is_right(subject, item, scratch));
		break;
	case TRIPLES:
		reel_pop_array(tape, (struct triple *)(void *)scratch, item->n);
		CHECK(subject, is_right(subject, item, scratch));
		break;
	case BIT: {
		uint64_t bit = reel_pop_bit(tape);
		CHECK(subject, are_right_bits(subject, item, bit));
		break;
	}
	case BITS: {
		uint64_t bits = reel_pop_bits(tape, item->n);
		CHECK(subject, are_right_bits(subject, item, bits));
		break;
	}
	case BYTE: {
		uint64_t byte = reel_pop_bits(tape, 8);
		CHECK(subject, are_right_bits(subject, item, byte));
		break;
	}
	default: {
		const void *span = pop_span(tape, item);
		CHECK(subject, is_right_span(subject, item, span));
		break;
	}
	}
}

static void pop(struct subject *subject)
{
	struct item *item = top_of(&subject->now);

	if (!item)
		return;
	take_item(subject, item);
	if (!subject->lost && item->height != UINT64_MAX)
		FUZZ_EXPECT(reel_tape_bytes(tape_of(subject)) == item->height);
	cut_model(&subject->now, subject->now.count - 1);
}

/* Reads two spans at the same time. */
static void pop_two_spans(struct subject *subject)
{
	struct model *model = &subject->now;
	struct item *upper, *lower;
	const void *upper_span, *lower_span;

	if (model->count < 2)
		return;
	upper = &model->item[model->count - 1];
	lower = upper - 1;
	if (!is_span(upper->kind) || !is_span(lower->kind))
		return;
	upper_span = pop_span(tape_of(subject), upper);
	lower_span = pop_span(tape_of(subject), lower);
	any_error(subject);
	FUZZ_EXPECT(is_right_span(subject, upper, upper_span));
	FUZZ_EXPECT(is_right_span(subject, lower, lower_span));
	cut_model(model, model->count - 2);
}

static void pop_by_cursor(struct subject *subject)
{
	struct model *model = &subject->now;
	reel_cursor c = reel_pop_cursor(tape_of(subject));

	for (struct item *item; (item = top_of(model)) && item->kind == OF_word;) {
		uint64_t word;

		c = reel_cursor_pop(tape_of(subject), c, &word);
		CHECK(subject, is_right(subject, item, &word));
		cut_model(model, model->count - 1);
	}
	reel_cursor_close(tape_of(subject), c);
}

static void look(struct subject *subject)
{
	const struct item *item = top_of(&subject->now);
	reel_tape *tape = tape_of(subject);

	if (!item)
		return;
	switch (item->kind) {
#define LOOK(name, type)                                                                           \
	case OF_##name: {                                                                          \
		type x = reel_look(tape, type);                                                    \
		CHECK(subject, is_right(subject, item, &x));                                       \
		break;                                                                             \
	}
		SCALARS(LOOK)
#define LOOK_RECORD(name, type)                                                                    \
	case OF_##name: {                                                                          \
		type x = reel_look_record(tape, name);                                             \
		CHECK(subject, is_right(subject, item, &x));                                       \
		break;                                                                             \
	}
		RECORDS(LOOK_RECORD)
	case BIT: {
		uint64_t bit = reel_look(tape, bool);
		CHECK(subject, are_right_bits(subject, item, bit));
		break;
	}
	default:
		break;
	}
}

static void many(struct subject *subject, void (*operation)(struct subject *subject))
{
	for (unsigned n = fuzz_byte(input); n > 0 && !subject->lost; n--)
		operation(subject);
}

static void push_many(struct subject *subject)
{
	enum kind kind = fuzz_below(input, KINDS);

	for (unsigned n = fuzz_byte(input); n > 0 && !subject->lost; n--)
		push_kind(subject, kind);
}

static void pop_many(struct subject *subject)
{
	many(subject, pop);
}

/* ---- Marks and holds ---- */

static void mark(struct subject *subject)
{
	struct model *model = &subject->now;

	if (model->marked < MARKS)
		model->mark[model->marked++] = (struct place){
			reel_tape_mark(tape_of(subject)), model->count, subject->holds};
}

static void rewind_to_mark(struct subject *subject)
{
	struct model *model = &subject->now;
	const struct place *place;

	if (model->marked == model->outside)
		return;
	place = &model->mark[model->outside + fuzz_below(input, model->marked - model->outside)];
	FUZZ_EXPECT(reel_tape_rewind(tape_of(subject), place->mark) == 0);
	cut_model(model, place->items);
}

static void hold(struct subject *subject)
{
	if (subject->holds == HOLDS)
		return;
	FUZZ_EXPECT(reel_tape_hold(tape_of(subject)) == 0);
	copy_model(&subject->held[subject->holds++], &subject->now);
	subject->now.outside = subject->now.marked;
}

static void replay(struct subject *subject)
{
	if (!subject->holds)
		return;
	FUZZ_EXPECT(reel_tape_replay(tape_of(subject)) == 0);
	copy_model(&subject->now, &subject->held[subject->holds - 1]);
	subject->now.outside = subject->now.marked;
}

static void release(struct subject *subject)
{
	const struct model *held;

	if (!subject->holds)
		return;
	FUZZ_EXPECT(reel_tape_release(tape_of(subject)) == 0);
	held = &subject->held[--subject->holds];
	if (subject->now.outside > held->outside)
		subject->now.outside = held->outside;
}

/* ---- Other calls ---- */

static void move(struct subject *subject)
{
	reel_tape *from = tape_of(subject);

	subject->where ^= 1;
	reel_tape_move(tape_of(subject), from);
}

static bool ends_refused(const struct model *model)
{
	return model->count && model->item[model->count - 1].refused;
}

static void clear_error(struct subject *subject)
{
	int error = any_error(subject);
	bool refused = ends_refused(&subject->now);

	for (unsigned i = 0; i < subject->holds; i++)
		refused |= ends_refused(&subject->held[i]);
	FUZZ_EXPECT(reel_tape_clear_error(tape_of(subject)) == (refused ? -EBUSY : error));
}

static void set_layout(struct subject *subject)
{
	static const struct reel_layout layouts[] = {
		{0, 0}, {8, 0}, {8, 3}, {4, 0}, {1, 0}, {16, 0}, {REEL_INCOMPRESSIBLE, 0}, {4, 2}};
	unsigned which = fuzz_below(input, COUNT(layouts));
	int error = reel_tape_set_layout(tape_of(subject), layouts[which]);

	FUZZ_EXPECT(error == (which == COUNT(layouts) - 1 ? -EINVAL : 0));
}

static void trim(struct subject *subject)
{
	(void)subject;
	reel_pool_trim(pool, (size_t)fuzz_byte(input) << 10);
}

/* Makes the tape empty again, and ends its holds. */
static void close_and_open(struct subject *subject)
{
	reel_tape_close(tape_of(subject));
	FUZZ_EXPECT(is_zero(tape_of(subject)));
	FUZZ_EXPECT(!reel_tape_open(tape_of(subject), pool, checked ? REEL_CHECKED : 0));
	subject->holds = 0;
	subject->now.outside = subject->now.marked = 0;
	cut_model(&subject->now, 0);
	subject->now.bytes = 0;
	subject->lost = false;
}

/* ---- Calls that are wrong ---- */

/* The tape takes a mark of an ended hold for one of the present hold if both are equally deep. */
static int rewind_out_of_hold(struct subject *subject)
{
	const struct place *place = &subject->now.mark[0];
	bool refused = place->holds < subject->holds;

	FUZZ_EXPECT(reel_tape_rewind(tape_of(subject), place->mark) == (refused ? -EBUSY : 0));
	if (!refused)
		cut_model(&subject->now, place->items);
	return refused ? -EBUSY : 0;
}

/* Returns the error that the tape has to have if it had none before. */
static int call_wrongly(struct subject *subject, unsigned which)
{
	reel_tape *tape = tape_of(subject);
	const struct model *model = &subject->now;

	switch (which) {
	case 0:
		if (model->count)
			return 0;
		FUZZ_EXPECT(reel_pop(tape, uint64_t) == UINT64_MAX);
		return -ENODATA;
	case 1:
		FUZZ_EXPECT(!reel_push_span(tape, double, SIZE_MAX / 4));
		return -EOVERFLOW;
	case 2:
		reel_push_bits(tape, 1, 33);
		return -EINVAL;
	case 3:
		if (subject->holds)
			return 0;
		FUZZ_EXPECT(reel_tape_replay(tape) == -EINVAL);
		return -EINVAL;
	case 4:
		if (subject->holds)
			return 0;
		FUZZ_EXPECT(reel_tape_release(tape) == -EINVAL);
		return -EINVAL;
	case 5:
		return model->outside ? rewind_out_of_hold(subject) : 0;
	default:
		reel_tape_give_up(tape, -EILSEQ, "what is popped would be wrong");
		return -EILSEQ;
	}
}

/* The first error sticks. */
static void misuse(struct subject *subject)
{
	int before = any_error(subject), told;

	if (subject->lost)
		return;
	told = call_wrongly(subject, fuzz_below(input, 7));
	FUZZ_EXPECT(reel_tape_error(tape_of(subject)) == (before ? before : told));
	if (told)
		close_and_open(subject);
}

static void (*const operations[])(struct subject *subject) = {
	push_any,       push_any,  push_any,      push_any,       push_by_cursor, push_many,
	push_many,      pop,       pop,           pop,            pop_two_spans,  pop_by_cursor,
	pop_many,       look,      mark,          rewind_to_mark, hold,           replay,
	release,        move,      clear_error,   set_layout,     trim,           close_and_open,
	misuse};

/* Bits 0 to 4 choose the operation, bit 5 the tape, bit 6 that the other thread goes on. */
#define OTHER_TAPE 32
#define OTHER_THREAD 64

/* If a tape has lost something, only its pops can be checked. */
static void operate(unsigned code)
{
	struct subject *subject = &subjects[code & OTHER_TAPE ? 1 : 0];
	unsigned which = (code % OTHER_TAPE) % COUNT(operations);

	any_error(subject);
	if (!subject->lost)
		operations[which](subject);
	else if (which % 2)
		pop(subject);
	else
		close_and_open(subject);
}

/* Runs operations up to the next one of the other thread, which is left in *code. */
static bool run_turn(unsigned *code)
{
	do {
		operate(*code);
		if (!input->left)
			return false;
		*code = fuzz_byte(input);
	} while (!(*code & OTHER_THREAD));
	return true;
}

/* ---- The other thread ---- */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool started, asked, more;
	unsigned code;
} other = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *run_other(void *unused)
{
	pthread_mutex_lock(&other.lock);
	for (;;) {
		while (!other.asked)
			pthread_cond_wait(&other.changed, &other.lock);
		other.more = run_turn(&other.code);
		other.asked = false;
		pthread_cond_broadcast(&other.changed);
	}
	return unused;
}

static void start_other(void)
{
	pthread_t thread;

	if (other.started)
		return;
	FUZZ_EXPECT(!pthread_create(&thread, NULL, run_other, NULL));
	pthread_detach(thread);
	other.started = true;
}

static void hand_over(void)
{
	for (unsigned t = 0; t < TAPES; t++)
		reel_tape_hand_over(tape_of(&subjects[t]));
}

static bool run_turn_of_other(unsigned *code)
{
	bool more;

	start_other();
	hand_over();
	pthread_mutex_lock(&other.lock);
	other.code = *code;
	other.asked = true;
	pthread_cond_broadcast(&other.changed);
	while (other.asked)
		pthread_cond_wait(&other.changed, &other.lock);
	*code = other.code;
	more = other.more;
	pthread_mutex_unlock(&other.lock);
	return more;
}

static void run_turns(void)
{
	unsigned code = fuzz_byte(input), turn = 0;
	bool more = input->left > 0;

	while (more) {
		more = turn++ % 2 ? run_turn_of_other(&code) : run_turn(&code);
		hand_over();
	}
}

/* ---- Pools ---- */

static struct late_store *late;

static reel_store *with_fault(reel_store *below)
{
	struct reel_fault_rule rule = {.fault = fuzz_below(input, REEL_FAULT_VANISH + 1),
				       .put = fuzz_below(input, 2),
				       .persistent = fuzz_below(input, 2),
				       .at = fuzz_byte(input),
				       .error = -EIO,
				       .bit = fuzz_number(input, 2)};
	reel_store *store, *whole;

	FUZZ_EXPECT(!reel_store_fault_open(&store, below, &rule, 1));
	FUZZ_EXPECT(!reel_store_checksum_open(&whole, store));
	loses = true;
	return whole;
}

static reel_store *open_memory(void)
{
	static const unsigned sizes[] = {1, 4, 64, 1024};
	uint64_t bytes = (uint64_t)sizes[fuzz_below(input, 4)] << 12;
	reel_store *store;

	FUZZ_EXPECT(!reel_store_memory_open(&store, bytes));
	return store;
}

static reel_store *draw_store(void)
{
	static const struct reel_file_options file = {
		.directory = ".", .slot_bytes = 65536, .threads = 1, .flags = REEL_FILE_TMPFS};
	unsigned which = fuzz_below(input, 16);
	reel_store *store = NULL;

	stores = true;
	fills = which < 12;
	late = NULL;
	if (which < 6) {
		store = open_memory();
	} else if (which < 9) {
		store = with_fault(open_memory());
	} else if (which < 12) {
		const char *text = which == 9    ? "lz4,memory=4M"
				   : which == 10 ? "memory=4K,lz4=2,memory=4M"
						 : "lz4=1,memory=64K";

		if (reel_store_open(&store, text, NULL))
			FUZZ_EXPECT(!reel_store_open(&store, "memory=4M", NULL));
	} else if (which < 15) {
		late = late_open(fuzz_byte(input));
		store = &late->store;
	} else {
		FUZZ_EXPECT(!reel_store_file_open(&store, &file));
	}
	return store;
}

static void close_late(void)
{
	if (late)
		FUZZ_EXPECT(!late->wrongs);
	free(late);
	late = NULL;
}

static struct reel_pool_options draw_pool(void)
{
	static const size_t slabs[] = {64, 128, 192, 256, 1024, 4096, 65536, 0};
	struct reel_pool_options options = {.slab_bytes = slabs[fuzz_below(input, COUNT(slabs))]};
	unsigned first = fuzz_below(input, 4), budget = fuzz_byte(input);

	if (options.slab_bytes && options.slab_bytes % (64u << first) == 0)
		options.first_slab_bytes = 64u << first;
	if (options.slab_bytes > 65535)
		options.first_slab_bytes = 0;
	options.magazine_slabs = fuzz_below(input, 17);
	checked = fuzz_below(input, 4) == 3;
	stores = loses = fills = false;
	largest = 0;
	if (budget < 64 || !options.slab_bytes)
		return options;
	options.hard_budget = options.slab_bytes * (budget - 55);
	if (budget % 4 == 1)
		options.soft_budget = options.slab_bytes * (1 + budget % 8);
	if (budget % 4)
		options.store = draw_store();
	return options;
}

/* Returns false if the pool does not open: its store may need larger slabs. */
static bool open_pool_and_tapes(void)
{
	struct reel_pool_options options = draw_pool();

	if (reel_pool_open(&pool, &options)) {
		FUZZ_EXPECT(reel_pool_problem(&options) || options.store);
		reel_store_close(options.store);
		close_late();
		return false;
	}
	for (unsigned t = 0; t < TAPES; t++) {
		struct subject *subject = &subjects[t];

		subject->where = 0;
		subject->holds = 0;
		subject->lost = false;
		subject->now.count = subject->now.marked = subject->now.outside = 0;
		subject->now.bytes = 0;
		FUZZ_EXPECT(!reel_tape_open(tape_of(subject), pool, checked ? REEL_CHECKED : 0));
	}
	return true;
}

/* Pops all that is left. Then nothing is in use any more. */
static void pop_all_and_close(void)
{
	struct reel_pool_stats stats;

	for (unsigned t = 0; t < TAPES; t++) {
		while (subjects[t].now.count)
			pop(&subjects[t]);
		if (!subjects[t].lost)
			FUZZ_EXPECT(reel_tape_is_empty(tape_of(&subjects[t])));
		reel_tape_close(tape_of(&subjects[t]));
	}
	reel_pool_get_stats(pool, &stats);
	FUZZ_EXPECT(stats.slabs_in_use == 0);
	/*
	 * A pop is never refused. If nothing can be moved, it takes memory above the budget: a few
	 * slabs, and for each tape two adjacent spans, which may be larger than a slab and then
	 * have whole pages.
	 */
	if (stores)
		FUZZ_EXPECT(stats.peak_resident_bytes <=
			    stats.hard_budget + 16 * stats.slab_bytes +
				    (largest > stats.slab_bytes ? 2 * TAPES * (largest + 4096) : 0));
	else
		FUZZ_EXPECT(stats.peak_resident_bytes <= stats.hard_budget);
	FUZZ_EXPECT(reel_pool_close(pool) == 0);
	close_late();
}

static void say_nothing(const reel_tape *tape, int error, const char *message, void *context)
{
	(void)tape, (void)context;
	FUZZ_EXPECT(error < 0 && *message);
}

int fuzz_tape(const uint8_t *data, size_t size)
{
	struct fuzz_input all = {data, size};

	input = &all;
	values = 0;
	reel_set_error_handler(say_nothing, NULL);
	if (!open_pool_and_tapes())
		return 0;
	run_turns();
	pop_all_and_close();
	return 0;
}
