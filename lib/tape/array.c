/* SPDX-License-Identifier: MIT */
/*
 * Pushes and pops of arrays, which are copied. The owner of the tape runs these functions.
 *
 * An array may lie in several windows, each filled to its end before the next one. A pop begins at
 * the end of the array and finds the same pieces, because all windows but the first were empty when
 * the array was pushed. Each piece but the last is a multiple of 8 bytes.
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "os/integer.h"
#include "pool/pool.h"
#include "os/stream.h"
#include "tape.h"

static size_t window_room(const reel_tape *tape)
{
	return (size_t)(reel_window_end(tape) - tape->top);
}

static void copy_piece(const reel_tape *tape, char *slot, const char *source, size_t bytes)
{
	REEL_ASSERT(slot == tape->top && REEL_ROUND(bytes) <= window_room(tape));
	/* Mutants survive: a copy past the cache writes the same bytes. */
	if (bytes >= REEL_LARGE_ARRAY && reel_tape_bytes(tape) >= tape->pool->stream_above)
		reel_stream(slot, source, bytes);
	else
		memcpy(slot, source, bytes);
}

static bool push_pieces(reel_tape *tape, const char *source, size_t bytes, const char *call_site)
{
	size_t done = 0;

	while (done < bytes) {
		char *slot = reel_tape_room(tape, sizeof(uint64_t), call_site);
		size_t piece;

		if (!slot)
			return false;
		piece = reel_min_size(window_room(tape), bytes - done);
		REEL_ASSERT(piece % 8 == 0 || done + piece == bytes);
		reel_tape_profile(tape, piece, call_site);
		copy_piece(tape, slot, source + done, piece);
		tape->top = slot + REEL_ROUND(piece);
		done += piece;
	}
	return true;
}

static reel_type array_of(size_t size, enum reel_kind kind)
{
	return (reel_type){"array", size, 0, kind};
}

/* False: nothing of the array is on the tape. */
static bool push(reel_tape *tape, const void *source, size_t n, size_t size, enum reel_kind kind,
		 const char *call_site)
{
	const reel_type type = array_of(size, kind);
	struct reel_position before;

	if (REEL_TOO_MANY(n, size)) {
		reel_tape_fail(tape, -EOVERFLOW,
			       "array of %zu elements of %zu bytes at %s is too large", n, size,
			       call_site);
		return false;
	}
	if (!reel_tape_takes_pushes(tape) || !reel_check_push(tape, &type, n, call_site))
		return false;
	before = reel_tape_return_position(tape);
	if (push_pieces(tape, source, n * size, call_site))
		return true;
	/* There was room for a part of the array at most. */
	reel_tape_restore(tape, before);
	reel_check_undo(tape);
	return false;
}

void reel_push_array_slow(reel_tape *tape, const void *source, size_t n, size_t size,
			  enum reel_kind kind, const char *call_site)
{
	if (push(tape, source, n, size, kind, call_site))
		return;
	reel_tape_refuse(tape, reel_tape_refused_bits(n, size));
	reel_tape_report(tape);
}

static bool pop_pieces(reel_tape *tape, char *target, size_t bytes, const char *call_site)
{
	size_t left = REEL_ROUND(bytes);

	while (left) {
		size_t piece;

		if (!reel_tape_topmost(tape, sizeof(uint64_t), call_site))
			return false;
		piece = reel_min_size((size_t)reel_window_filled(tape), left);
		tape->top -= piece;
		left -= piece;
		REEL_ASSERT(left % 8 == 0 && left < bytes);
		memcpy(target + left, tape->top, reel_min_size(piece, bytes - left));
	}
	return true;
}

void reel_pop_array_slow(reel_tape *tape, void *target, size_t n, size_t size,
			 enum reel_kind kind, const char *call_site)
{
	const reel_type type = array_of(size, kind);
	bool absurd = REEL_TOO_MANY(n, size);

	if (!reel_tape_pops_refused(tape, reel_tape_refused_bits(n, size))) {
		if (absurd)
			reel_tape_fail_out_of_step(tape, -EBADMSG,
						   "pop of an array of %zu elements of %zu bytes "
						   "at %s does not mirror its push", n, size,
						   call_site);
		else if (reel_check_compare(tape, &type, n, call_site, true) &&
			 pop_pieces(tape, target, n * size, call_site))
			return;
	}
	/* Mutants survive (boundary): UBSan alone sees a null target of 0 bytes. */
	if (n > 0 && !absurd)
		memset(target, 0xff, n * size);
	reel_tape_report(tape);
}
