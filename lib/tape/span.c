/* SPDX-License-Identifier: MIT */
/*
 * Spans, whose elements lie in one piece. The owner of the tape runs these functions.
 *
 * If the elements need an alignment above 8 bytes, padding comes first, then the elements, then a
 * word: the number of bytes from the old top to the word. The pop needs this word to find the old
 * top. Such spans always lie on a slab, because moving the tape would change the alignment of the
 * buffer inside the struct.
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "tape.h"

typedef uint64_t extent_word;

static bool too_many(const reel_type *type, size_t n)
{
	return REEL_TOO_MANY(n, type->size);
}

/* Mutants survive (constant): alignments are powers of two, and tops multiples of 8. */
static bool over_aligned(const reel_type *type)
{
	return type->align > 8;
}

static size_t element_bytes(const reel_type *type, size_t n)
{
	return REEL_ROUND(n * type->size);
}

/* Tops are multiples of 8, so the padding and the word fill at most `align` bytes together. */
static size_t max_bytes(const reel_type *type, size_t n)
{
	return element_bytes(type, n) + (over_aligned(type) ? type->align : 0);
}

/* Mutants survive (constant): alignments are powers of two, and tops multiples of 8. */
static char *align_up(char *address, size_t align)
{
	REEL_ASSERT((align & (align - 1)) == 0);
	return address + (-(uintptr_t)address & (align - 1));
}

static char *elements(const reel_type *type, char *top)
{
	return over_aligned(type) ? align_up(top, type->align) : top;
}

static char *room(reel_tape *tape, const reel_type *type, size_t n, const char *call_site)
{
	if (!too_many(type, n))
		return over_aligned(type)
			       ? reel_tape_room_on_slab(tape, max_bytes(type, n), call_site)
			       : reel_tape_room(tape, max_bytes(type, n), call_site);
	reel_tape_fail(tape, -EOVERFLOW, "span of %zu elements of %zu bytes at %s is too large", n,
		       type->size, call_site);
	return NULL;
}

static void advance(reel_tape *tape, const reel_type *type, size_t n)
{
	char *end = elements(type, tape->top) + element_bytes(type, n);
	extent_word extent = (extent_word)(end - tape->top);

	/* The same condition as in pop_padded(), which refuses any other extent. */
	REEL_ASSERT(!over_aligned(type) || extent - element_bytes(type, n) < type->align);
	REEL_ASSERT(!over_aligned(type) || tape->slab);
	if (over_aligned(type)) {
		memcpy(end, &extent, sizeof extent);
		end += sizeof extent;
	}
	tape->top = end;
	REEL_ASSERT(reel_window_is_sound(tape));
}

static char *reserve(reel_tape *tape, const reel_type *type, size_t n, const char *call_site)
{
	char *top = room(tape, type, n, call_site);

	REEL_ASSERT(!top || (size_t)(reel_window_end(tape) - top) >= max_bytes(type, n));
	return top ? elements(type, top) : NULL;
}

void *reel_reserve_slow(reel_tape *tape, const reel_type *type, size_t n, const char *call_site)
{
	char *span = reserve(tape, type, n, call_site);

	reel_tape_report(tape);
	return span;
}

static bool commit(reel_tape *tape, const reel_type *type, size_t n, const char *call_site)
{
	char *top = room(tape, type, n, call_site);

	if (top && reel_check_push(tape, type, n, call_site)) {
		reel_tape_profile(tape, max_bytes(type, n), call_site);
		advance(tape, type, n);
		return true;
	}
	reel_tape_refuse(tape, reel_tape_refused_bits(n, type->size));
	reel_tape_report(tape);
	return false;
}

void reel_commit_slow(reel_tape *tape, const reel_type *type, size_t n, const char *call_site)
{
	commit(tape, type, n, call_site);
}

void *reel_push_span_slow(reel_tape *tape, const reel_type *type, size_t n, const char *call_site)
{
	char *span = reserve(tape, type, n, call_site);

	return commit(tape, type, n, call_site) ? span : NULL;
}

static void *does_not_mirror(reel_tape *tape, const reel_type *type, size_t n,
			     const char *call_site)
{
	reel_tape_fail_out_of_step(tape, -EBADMSG,
				   "pop of a span of %zu elements of %zu bytes at %s does not "
				   "mirror its push (REEL_CHECKED=1 names the push)",
				   n, type->size, call_site);
	return NULL;
}

static char *pop_padded(reel_tape *tape, const reel_type *type, size_t n, const char *call_site)
{
	char *end = reel_tape_topmost(tape, sizeof(extent_word), call_site);
	size_t bytes = element_bytes(type, n);
	extent_word extent;

	if (!end)
		return NULL;
	memcpy(&extent, end, sizeof extent);
	/*
	 * Unsigned: an extent below `bytes` wraps, so the first comparison refuses it as well. The
	 * padding ends where values lie, at a multiple of 8.
	 */
	if (extent - bytes >= type->align || extent % sizeof extent ||
	    extent + sizeof extent > reel_window_filled(tape))
		return does_not_mirror(tape, type, n, call_site);
	tape->top = end - extent;
	REEL_ASSERT(reel_window_is_sound(tape) && tape->slab);
	return end - bytes;
}

static char *pop_plain(reel_tape *tape, size_t bytes, const char *call_site)
{
	char *span = bytes ? reel_tape_topmost(tape, bytes, call_site) : tape->top;

	if (bytes && span)
		tape->top = span;
	REEL_ASSERT(reel_window_is_sound(tape));
	return span;
}

static const void *pop_span(reel_tape *tape, const reel_type *type, size_t n, const char *call_site)
{
	if (reel_tape_pops_refused(tape, reel_tape_refused_bits(n, type->size)) ||
	    !reel_check_compare(tape, type, n, call_site, true))
		return NULL;
	if (too_many(type, n))
		return does_not_mirror(tape, type, n, call_site);
	if (over_aligned(type))
		return pop_padded(tape, type, n, call_site);
	return pop_plain(tape, element_bytes(type, n), call_site);
}

const void *reel_pop_span_slow(reel_tape *tape, const reel_type *type, size_t n,
			       const char *call_site)
{
	const void *span = pop_span(tape, type, n, call_site);

	reel_tape_report(tape);
	return span;
}
