/* SPDX-License-Identifier: MIT */
/*
 * Repeat levels, and looks, which are levels that the next push or pop ends. The thread that owns
 * the stack runs these functions.
 *
 * A level moves the thread's tape to a layer and holds all layers. The bit word stays in
 * reel_adstack_tape.
 */
#include "stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Move the thread's tape to a new layer, and hold all layers. The bit word stays. */
static void cover(void)
{
	struct adstack_layer *layer = reel_adstack_allocate(sizeof *layer, "a repeat level");
	struct adstack_layer *held;

	layer->open = true;
	layer->base = reel_adstack.stack.base;
	layer->above = reel_adstack.stack.base + reel_tape_bytes(reel_adstack_own());
	layer->bits = reel_adstack_tape.bits;
	layer->below = reel_adstack.stack.layers;
	reel_tape_move(&layer->tape, reel_adstack_own());
	reel_adstack_tape.bits = layer->bits;
	reel_adstack.stack.layers = layer;
	reel_adstack.stack.base = layer->above;
	for (held = layer; held; held = held->below)
		if (reel_tape_hold(&held->tape))
			reel_adstack_fail(-ENOMEM, "no memory for a repeat level");
}

void reel_adstack_come_back(void)
{
	struct adstack_layer *layer = reel_adstack.stack.layers;
	uint64_t bits = reel_adstack_tape.bits;

	REEL_ASSERT(layer->above == reel_adstack.stack.base);
	reel_tape_close(reel_adstack_own());
	reel_tape_move(reel_adstack_own(), &layer->tape);
	reel_adstack_tape.bits = bits;
	reel_adstack.stack.base = layer->base;
	reel_adstack.stack.layers = layer->below;
	free(layer);
}

static void replay_layers(void)
{
	for (struct adstack_layer *layer = reel_adstack.stack.layers; layer; layer = layer->below)
		reel_tape_replay(&layer->tape);
}

static void release_layers(struct adstack_layer *layer)
{
	for (; layer; layer = layer->below)
		reel_tape_release(&layer->tape);
}

static struct adstack_layer *innermost_level(const char *caller)
{
	struct adstack_layer *layer = reel_adstack.stack.layers;

	while (layer && !layer->open)
		layer = layer->below;
	if (!layer)
		reel_adstack_fail(-EINVAL,
				  "%s: no repeat level is open; adStack_startRepeat() opens one",
				  caller);
	return layer;
}

void reel_adstack_start_repeat(void)
{
	reel_adstack_ready();
	cover();
	reel_adstack.stack.levels++;
	reel_adstack_fresh_tape();
	reel_adstack_find_reader();
}

/* Drops the values that were pushed in the level, and the layers of levels that ended in it. */
void reel_adstack_reset_repeat(void)
{
	struct adstack_layer *level;

	reel_adstack_ready();
	level = innermost_level("adStack_resetRepeat");
	while (reel_adstack.stack.layers != level)
		reel_adstack_come_back();
	if (reel_tape_bytes(reel_adstack_own()) || reel_adstack_tape.slab ||
	    reel_adstack_tape.ledger)
		reel_adstack_fresh_tape();
	reel_adstack_settle();
	replay_layers();
	reel_adstack_tape.bits = level->bits;
	reel_adstack_find_reader();
}

/* Values that were pushed in the level and not popped stay, above the current read position. */
void reel_adstack_end_repeat(void)
{
	struct adstack_layer *level;

	reel_adstack_ready();
	level = innermost_level("adStack_endRepeat");
	level->open = false;
	reel_adstack.stack.levels--;
	release_layers(level);
	reel_adstack_settle();
	reel_adstack_find_reader();
}

unsigned reel_adstack_repeat_level(void)
{
	return reel_adstack.stack.levels;
}

/* ---- Looks ---- */

/* The thread's tape stays without a window, so each push and pop takes the slow path. */
static void begin_look(void)
{
	reel_adstack_ready();
	cover();
	reel_adstack.looking = true;
	reel_adstack_reader = NULL;
	reel_adstack_tape.floor = REEL_FALSE_FLOOR;
}

void reel_adstack_end_look(void)
{
	struct adstack_layer *layer = reel_adstack.stack.layers;

	if (!reel_adstack.looking)
		return;
	reel_adstack.looking = false;
	replay_layers();
	release_layers(layer);
	reel_adstack_tape.bits = layer->bits;
	reel_adstack_come_back();
	reel_adstack_find_reader();
}

void reel_adstack_look(void *target, size_t bytes, enum reel_adstack_type type)
{
	if (!reel_adstack.looking)
		begin_look();
	if (!bytes)
		return;
	reel_adstack_check_pop(type, bytes);
	reel_adstack_take(target, bytes, type);
}
