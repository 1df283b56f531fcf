/* SPDX-License-Identifier: MIT */
/*
 * Pushes and pops of arrays, which are copied and may lie on several slabs. The thread that owns
 * the stack runs these functions. The pieces fill each window to its last byte, so values that
 * follow each other on the stack have no gap between them.
 */
#include "stack.h"

#include <errno.h>
#include <string.h>

#include "pool/pool.h"
#include "os/stream.h"

static void copy_piece(char *slot, const char *source, size_t bytes)
{
	const reel_tape *tape = reel_adstack_own();

	if (bytes >= REEL_LARGE_ARRAY && reel_tape_bytes(tape) >= tape->pool->stream_above)
		reel_stream(slot, source, bytes);
	else
		memcpy(slot, source, bytes);
}

static void push_pieces(const char *source, size_t bytes, enum reel_adstack_type type)
{
	reel_tape *tape = reel_adstack_own();

	while (bytes) {
		char *slot = reel_tape_room(tape, 1, NULL);
		size_t piece;

		if (!slot)
			reel_adstack_fail(tape->error, "%s after an error",
					  reel_adstack_types[type].push);
		piece = (size_t)(reel_window_end(tape) - slot);
		if (piece > bytes)
			piece = bytes;
		reel_tape_profile(tape, piece, NULL);
		copy_piece(slot, source, piece);
		tape->top = slot + piece;
		source += piece;
		bytes -= piece;
	}
}

REEL_COLD static void push_slow(const void *source, size_t bytes, enum reel_adstack_type type)
{
	const struct adstack_type *known = &reel_adstack_types[type];

	reel_adstack_ready();
	if (!bytes)
		return;
	reel_check_push(reel_adstack_own(), &known->type, bytes, known->push);
	push_pieces(source, bytes, type);
	if (reel_adstack.counts)
		reel_adstack_count_push(type, bytes);
}

void reel_adstack_push_array(const void *source, size_t bytes, enum reel_adstack_type type)
{
	char *top = reel_adstack_tape.top;

	if (REEL_UNLIKELY(bytes == 0 || bytes >= REEL_LARGE_ARRAY ||
			  reel_above(top, bytes, reel_adstack_tape.ceiling))) {
		push_slow(source, bytes, type);
		return;
	}
	reel_adstack_tape.top = top + bytes;
	memcpy(top, source, bytes);
}

REEL_COLD static void pop_slow(void *target, size_t bytes, enum reel_adstack_type type)
{
	reel_adstack_ready();
	if (!bytes)
		return;
	reel_adstack_check_pop(type, bytes);
	reel_adstack_take(target, bytes, type);
	if (reel_adstack.counts)
		reel_adstack_count_pop(type, bytes);
}

void reel_adstack_pop_array(void *target, size_t bytes, enum reel_adstack_type type)
{
	char *top = reel_adstack_tape.top;

	if (REEL_UNLIKELY(bytes == 0 || reel_under(top, bytes, reel_adstack_tape.floor))) {
		pop_slow(target, bytes, type);
		return;
	}
	top -= bytes;
	reel_adstack_tape.top = top;
	memcpy(target, top, bytes);
}

void reel_adstack_push_bytes(const void *source, size_t bytes)
{
	reel_adstack_push_array(source, bytes, REEL_ADSTACK_Bytes);
}

void reel_adstack_pop_bytes(void *target, size_t bytes)
{
	reel_adstack_pop_array(target, bytes, REEL_ADSTACK_Bytes);
}
