/* SPDX-License-Identifier: MIT */
/*
 * The slow path of a pop. The thread that owns the stack runs these functions.
 *
 * The bytes of a stack are one sequence, on any number of slabs and layers. Bytes that were pushed
 * as one value may therefore be popped as several values, and the other way round.
 */
#include "stack.h"

#include <errno.h>
#include <string.h>

#include "pool/pool.h"

void reel_adstack_find_reader(void)
{
	struct adstack_layer *layer = reel_adstack.stack.layers;

	if (!layer || !layer->open || reel_adstack.looking)
		layer = NULL;
	while (layer && !reel_tape_bytes(&layer->tape))
		layer = layer->below;
	reel_adstack_reader = layer;
}

static bool has_notes(const reel_tape *tape)
{
	const reel_tape *notes = reel_check_entries(tape);

	return notes && reel_tape_bytes(notes);
}

static bool above_ended_level(void)
{
	return reel_adstack.stack.layers && !reel_adstack.stack.layers->open;
}

void reel_adstack_settle(void)
{
	while (above_ended_level() && !reel_tape_bytes(reel_adstack_own()) &&
	       !has_notes(reel_adstack_own()))
		reel_adstack_come_back();
	if (above_ended_level() || reel_adstack.counts)
		reel_adstack_tape.flags |= REEL_TAPE_WATCHED;
	else
		reel_adstack_tape.flags &= ~REEL_TAPE_WATCHED;
	reel_tape_limits(reel_adstack_own());
}

/* Returns the topmost tape with notes: without own values, a level pops values of a layer. */
static reel_tape *noted_tape(void)
{
	struct adstack_layer *layer = reel_adstack.stack.layers;

	if (has_notes(reel_adstack_own()))
		return reel_adstack_own();
	while (layer && !has_notes(&layer->tape))
		layer = layer->below;
	return layer ? &layer->tape : reel_adstack_own();
}

void reel_adstack_check_pop(enum reel_adstack_type type, size_t n)
{
	const struct adstack_type *known = &reel_adstack_types[type];

	if (reel_adstack_tape.ledger || reel_adstack.looking)
		reel_check_compare(noted_tape(), &known->type, n, known->pop, true);
}

/* Returns the topmost tape that is not empty, or NULL. */
static reel_tape *filled_tape(void)
{
	if (reel_tape_bytes(reel_adstack_own()))
		return reel_adstack_own();
	for (struct adstack_layer *layer = reel_adstack.stack.layers; layer; layer = layer->below)
		if (reel_tape_bytes(&layer->tape))
			return &layer->tape;
	return NULL;
}

/* Takes the topmost bytes that lie in one window, at most `most`, and returns their number. */
static size_t take_piece(size_t most, const char **piece, enum reel_adstack_type type)
{
	reel_tape *tape = filled_tape();
	uint64_t bytes;

	if (!tape || !reel_tape_topmost(tape, 1, reel_adstack_types[type].pop))
		reel_adstack_fail(-ENODATA, "%s: the stack is empty", reel_adstack_types[type].pop);
	bytes = reel_window_filled(tape);
	if (bytes > most)
		bytes = most;
	tape->top -= bytes;
	*piece = tape->top;
	return (size_t)bytes;
}

void reel_adstack_take(void *target, size_t bytes, enum reel_adstack_type type)
{
	uint64_t left = reel_adstack_bytes();

	if (left < bytes)
		reel_adstack_fail(-ENODATA,
				  "%s of %zu bytes from a stack of %llu: more popped than pushed, "
				  "unless by another thread or task (reel_adstack_segment_enter)",
				  reel_adstack_types[type].pop, bytes, (unsigned long long)left);
	while (bytes) {
		const char *piece;
		size_t taken = take_piece(bytes, &piece, type);

		bytes -= taken;
		memcpy((char *)target + bytes, piece, taken);
	}
	if (above_ended_level())
		reel_adstack_settle();
	reel_adstack_find_reader();
}

const char *reel_adstack_pop_gathered(size_t bytes, enum reel_adstack_type type)
{
	reel_adstack_ready();
	reel_adstack_check_pop(type, bytes);
	reel_adstack_take(reel_adstack.gathered, bytes, type);
	if (reel_adstack.counts)
		reel_adstack_count_pop(type, bytes);
	return reel_adstack.gathered;
}

const char *reel_adstack_pop_slow(size_t bytes, enum reel_adstack_type type)
{
	const char *slot = reel_adstack_read(bytes);

	return slot ? slot : reel_adstack_pop_gathered(bytes, type);
}
