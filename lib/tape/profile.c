/* SPDX-License-Identifier: MIT */
/*
 * The pushes that a tape reports to a profile (lib/trace/profile.h). The owner of the tape, or the
 * thread that frees its slabs, runs these functions.
 *
 * While a tape grows on a slab, each stride that the top crosses is counted, and a few of the
 * pushes that cross one are looked at. A slab that is covered is counted by its bytes instead.
 */
#include "config.h"

#include "pool/pool.h"
#include "tape.h"

#define STRIDES 16
#define MIN_STRIDE 4096
/* Parts of `slab->strides`: the number of strides that are counted, and of this stay on a tape. */
#define STRIDES_COUNTED 0xffu
#define STAY_SHIFT 8

/* Parts of `slab->place`. The number is 0 until a push on the slab is looked at. */
#define PLACE_NUMBER 0x0fffu
/* The slab was covered once, so that all its bytes are counted as pushed. */
#define PLACE_COUNTED 0x8000u
/* The bytes of the slab below are counted as held, because this slab covers it. */
#define PLACE_COVERS 0x4000u

_Static_assert(REEL_PLACES <= PLACE_NUMBER + 1, "the number of a place has 12 bits");

static uint16_t place_of(const struct reel_slab *slab)
{
	return slab->place & PLACE_NUMBER;
}

static size_t stride_of(const struct reel_slab *slab)
{
	return slab->bytes / STRIDES > MIN_STRIDE ? slab->bytes / STRIDES : MIN_STRIDE;
}

/*
 * A number from 0 to below 1 for this stay of the slab. The numbers of successive stays are
 * multiples of an irrational number, which are spread more evenly than random ones (Weyl's
 * sequence).
 */
static double fraction_of(const struct reel_slab *slab)
{
	return 0x1p-32 * (double)((slab->strides >> STAY_SHIFT) * UINT32_C(0x9e3779b9));
}

/*
 * Where the top crosses stride number `n`, from 1 on. The first stride begins below the slab, at
 * a place that differs from stay to stay: in the mean, no byte of many short tapes is left out.
 */
static size_t stride_end(const struct reel_slab *slab, uint32_t n)
{
	return (size_t)((n - fraction_of(slab)) * (double)stride_of(slab));
}

static uint32_t strides_counted(const struct reel_slab *slab)
{
	return slab->strides & STRIDES_COUNTED;
}

static uint64_t bytes_counted(const struct reel_slab *slab)
{
	return (uint64_t)strides_counted(slab) * stride_of(slab);
}

char *reel_tape_profile_ceiling(const reel_tape *tape)
{
	const struct reel_slab *slab = tape->slab;
	size_t end;

	if (!slab || slab->place & PLACE_COUNTED)
		return reel_window_end(tape);
	end = stride_end(slab, strides_counted(slab) + 1) / 8 * 8;
	if (end >= slab->bytes)
		return reel_window_end(tape);
	return slab->frame + end > tape->top ? slab->frame + end : tape->top;
}

/*
 * A push that crosses a stride may take the place of those before it, so that each of n strides has
 * the same chance to name the slab: 1 in n. A program that pushes in turns comes to each end of a
 * slab with the same push.
 */
static void choose_place(struct reel_slab *slab, uint32_t crossed, uint32_t n,
			 const char *call_site)
{
	uint32_t draw = (slab->strides >> STAY_SHIFT ^ n << 24) * UINT32_C(0x85ebca6b);
	uint16_t before = place_of(slab), after;

	if (before && (draw ^ draw >> 15) % n >= crossed)
		return;
	after = reel_profile_place(call_site);
	slab->place = (uint16_t)((slab->place & ~PLACE_NUMBER) | after);
	if (before)
		reel_profile_move(before, after, bytes_counted(slab));
}

void reel_tape_note_place(reel_tape *tape, size_t bytes, const char *call_site)
{
	struct reel_slab *slab = tape->slab;
	uint32_t counted, n;

	if (!slab || slab->place & PLACE_COUNTED)
		return;
	counted = n = strides_counted(slab);
	while (n < STRIDES_COUNTED && stride_end(slab, n + 1) < reel_window_filled(tape) + bytes)
		n++;
	if (n == counted)
		return;
	choose_place(slab, n - counted, n, call_site);
	slab->strides += n - counted;
	reel_profile_count(place_of(slab), (int64_t)((n - counted) * stride_of(slab)),
			   (n - counted) * stride_of(slab));
	reel_tape_limits(tape);
}

/*
 * Counts the slab below, which `slab` is put on. A slab below a hold may belong to several tapes,
 * and was counted when it was covered first.
 */
void reel_tape_cover(const reel_tape *tape, struct reel_slab *slab, const char *call_site)
{
	static _Atomic uint32_t stays;
	struct reel_slab *covered = slab->below;
	uint64_t counted;

	slab->place = 0;
	if (!reel_profiles())
		return;
	/* Relaxed is enough: a number that orders nothing. */
	slab->strides = atomic_fetch_add_explicit(&stays, 1, memory_order_relaxed) << STAY_SHIFT;
	if (!covered || covered->holds != tape->holds)
		return;
	if (!place_of(covered))
		covered->place |= reel_profile_place(call_site);
	counted = bytes_counted(covered);
	reel_profile_count(place_of(covered), (int64_t)(slab->below_offset - counted),
			   covered->place & PLACE_COUNTED ? 0 : slab->below_offset - counted);
	covered->strides -= strides_counted(covered);
	covered->place |= PLACE_COUNTED;
	slab->place = PLACE_COVERS;
}

void reel_tape_uncover(struct reel_slab *slab)
{
	if (reel_profiles() && slab->place & PLACE_COVERS)
		reel_profile_count(place_of(slab->below), -(int64_t)slab->below_offset, 0);
	if (reel_profiles() && strides_counted(slab))
		reel_profile_count(place_of(slab), -(int64_t)bytes_counted(slab), 0);
	slab->place &= (uint16_t)~PLACE_COVERS;
	slab->strides -= strides_counted(slab);
}
