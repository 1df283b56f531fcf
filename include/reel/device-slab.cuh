/* SPDX-License-Identifier: MIT */
/*
 * Slabs of the tapes in kernels: taking, linking and leaving them. These functions run rarely; the
 * fast path of a push or a pop is in reel/device.cuh.
 *
 * A warp's slabs are a chain. Each slab has a link to the slab below and one to the slab above, and
 * the state of the warp has a link to the lowest slab. The top of a lane may be anywhere in the
 * chain.
 *
 * If a link is 0, the first lanes that come to it together extend it: one of them marks the link as
 * busy, takes a free slab and stores it in the link. Another lane that comes to the
 * busy link waits, so that a warp never takes more slabs than it needs. So an arena that is large
 * enough is large enough for every order of the lanes. If there is no free slab, the link stays
 * refused, so that all lanes count the same rows as lost.
 *
 * All warps share the free slabs. The lanes of a warp, which are not in step, share its links. Each
 * word of a row belongs to one lane.
 */
#ifndef REEL_DEVICE_SLAB_CUH
#define REEL_DEVICE_SLAB_CUH

#include <reel/arena.h>
#include <reel/device-warp.cuh>

/* ---- Within ---- */

#define REEL_DEVICE_ZERO ((uint64_t)1 << 32) /* beside a top: the row reads as zero */

REEL_DEVICE reel_arena_header *reel_device_header(unsigned char *base)
{
	return (reel_arena_header *)base;
}

REEL_DEVICE reel_arena_slab *reel_device_slab(unsigned char *base, uint32_t slab)
{
	return (reel_arena_slab *)(base + reel_device_header(base)->slabs_offset) + slab;
}

REEL_DEVICE void reel_device_note(unsigned char *base, uint32_t fault)
{
	uint32_t *faults = &reel_device_header(base)->faults;

	if (!(reel_device_load(faults) & fault))
		atomicOr(faults, fault);
}

/* Returns NULL, and notes a fault, if the arena has other words or no room for this warp. */
REEL_DEVICE reel_arena_warp *reel_device_state(unsigned char *base, uint32_t word_bytes)
{
	reel_arena_header *header = reel_device_header(base);

	if (header->word_bytes != word_bytes) {
		reel_device_note(base, REEL_DEVICE_WORD);
		return nullptr;
	}
	if (reel_device_warp() >= header->warps) {
		reel_device_note(base, REEL_DEVICE_WARPS);
		atomicMax(&header->warps_needed,
			  gridDim.x * gridDim.y * gridDim.z * reel_device_block_warps());
		return nullptr;
	}
	return (reel_arena_warp *)(base + header->warps_offset) + reel_device_warp();
}

REEL_DEVICE reel_arena_saved *reel_device_saved(unsigned char *base, const reel_arena_warp *warp)
{
	reel_arena_header *header = reel_device_header(base);

	return (reel_arena_saved *)(base + header->saved_offset) +
	       (warp - (const reel_arena_warp *)(base + header->warps_offset));
}

/* ---- Within: free slabs ---- */

/*
 * Returns a slab that a warp gave back, or 0. The upper half of `given` counts its changes. So the
 * swap fails if other lanes took the slab and gave it back meanwhile: its link may have changed.
 */
REEL_DEVICE uint32_t reel_device_take_given(unsigned char *base)
{
	reel_arena_header *header = reel_device_header(base);
	/* Acquire: pairs with the release in reel_device_give(). Makes the link visible. */
	uint64_t seen = reel_device_acquire(&header->given);

	while ((uint32_t)seen) {
		uint32_t slab = (uint32_t)seen;
		/* Stale if another lane took the slab meanwhile; the swap fails then. */
		uint32_t below = reel_device_load(&reel_device_slab(base, slab)->below);
		uint64_t old = reel_device_swap_if(&header->given, seen,
						   ((seen >> 32) + 1) << 32 | below);

		if (old == seen)
			return slab;
		seen = old;
	}
	return 0;
}

/*
 * Returns a slab, or 0 if none is free. All warps may come here at once, when they push for the
 * first time: one addition takes a slab from the queue, where a swap would fail for all but one. If
 * the arena has a slab for each slab that its warps ever want at once, none is refused: the queue
 * still has an entry for each lane that found the list empty.
 */
REEL_DEVICE uint32_t reel_device_take(unsigned char *base)
{
	reel_arena_header *header = reel_device_header(base);
	uint32_t slab = reel_device_take_given(base), entry;

	/*
	 * Relaxed is enough for both: the host wrote the entries before the launch, and the
	 * addition gives each entry to one lane. The test keeps the counter from running over when
	 * many lanes find the queue empty.
	 */
	if (slab || reel_device_load(&header->queue) >= header->end_slab)
		return slab;
	entry = atomicAdd(&header->queue, 1u);
	return entry < header->end_slab ? entry + reel_device_slab(base, entry)->queued : 0;
}

REEL_DEVICE void reel_device_give(unsigned char *base, uint32_t slab)
{
	reel_arena_header *header = reel_device_header(base);
	uint32_t *below = &reel_device_slab(base, slab)->below;
	uint64_t seen = reel_device_acquire(&header->given), old;

	for (;;) {
		reel_device_store(below, (uint32_t)seen);
		/* Release: pairs with the acquire in reel_device_take_given(), for the link. */
		old = reel_device_swap_if(&header->given, seen, ((seen >> 32) + 1) << 32 | slab);
		if (old == seen)
			return;
		seen = old;
	}
}

/* ---- Within: slabs in a store ---- */

/*
 * If the lowest slabs of a warp are in the store, the warp continues above them. The top of a lane
 * that comes to these slabs counts the rows that the lane is below the bottom slab. The lane notes
 * the slabs that it wanted there; the host brings them back and has the launch repeated.
 */

/* Returns the number of a warp's rows in the store. An empty tape is that far below the bottom. */
REEL_DEVICE uint32_t reel_device_drained(unsigned char *base, const reel_arena_warp *warp)
{
	return warp ? warp->drained * reel_device_header(base)->row_mask : 0;
}

/* Notes that the lane wants the slab of the row that is `depth` rows below the bottom slab. */
REEL_DEVICE void reel_device_miss(unsigned char *base, reel_arena_warp *warp, uint32_t depth)
{
	uint32_t mask = reel_device_header(base)->row_mask;

	reel_device_note(base, REEL_DEVICE_DRAINED);
	atomicMax(&warp->missed, (depth + mask - 1) / mask);
}

/*
 * Returns the top one row higher in the store, where a pushed word is lost. For TOP_SPILLED, which
 * is the same place as row 0 of the bottom slab, returns that row.
 */
REEL_DEVICE uint32_t reel_device_restore_top(unsigned char *base, reel_arena_warp *warp,
					     uint32_t top)
{
	if (top == REEL_DEVICE_TOP_NONE)
		top = REEL_DEVICE_TOP_SPILLED + reel_device_drained(base, warp);
	if (top == REEL_DEVICE_TOP_SPILLED)
		return warp->bottom << reel_device_header(base)->row_shift;
	reel_device_miss(base, warp, top - REEL_DEVICE_TOP_SPILLED);
	return top - 1;
}

/* Returns the top one row lower in the store, with REEL_DEVICE_ZERO. */
REEL_DEVICE uint64_t reel_device_spill_top(unsigned char *base, reel_arena_warp *warp, uint32_t top)
{
	uint32_t depth = top - REEL_DEVICE_TOP_SPILLED;

	if (depth >= reel_device_drained(base, warp)) {
		reel_device_note(base, REEL_DEVICE_UNDERFLOW);
		return REEL_DEVICE_ZERO | top;
	}
	reel_device_miss(base, warp, depth + 1);
	return REEL_DEVICE_ZERO | (top + 1);
}

/* ---- Within: up ---- */

/*
 * Returns the new value of the link: a slab, or REEL_DEVICE_REFUSED. If the link is busy, this lane
 * waits for a lane of its warp, which makes progress whatever this lane does.
 */
REEL_DEVICE uint32_t reel_device_extend(unsigned char *base, reel_arena_warp *warp,
					uint32_t *link, uint32_t below)
{
	uint32_t slab = reel_device_swap_if(link, (uint32_t)0, REEL_DEVICE_BUSY), height = 0;

	while (slab == REEL_DEVICE_BUSY)
		slab = reel_device_acquire(link);
	if (slab)
		return slab;
	slab = reel_device_take(base);
	if (slab) {
		reel_arena_slab *header = reel_device_slab(base, slab);

		if (below)
			height = reel_device_slab(base, below)->height + 1;
		reel_device_store(&header->below, below);
		header->height = height;
		reel_device_store(&header->above, 0);
		atomicMax(&warp->peak, height + 1);
	} else {
		slab = REEL_DEVICE_REFUSED;
	}
	/*
	 * Release: pairs with the acquires of the link here and in reel_device_climb(). Makes the
	 * slab's header visible.
	 */
	reel_device_release(link, slab);
	return slab;
}

/* As reel_device_extend(); one lane does it for all lanes that come to the link together. */
REEL_DEVICE uint32_t reel_device_extend_together(unsigned char *base, reel_arena_warp *warp,
						 uint32_t *link, uint32_t below)
{
	uint32_t together = __match_any_sync(__activemask(), (unsigned long long)(uintptr_t)link);
	uint32_t slab = 0;

	if (reel_device_is_first(together))
		slab = reel_device_extend(base, warp, link, below);
	/* Makes the slab's header visible to the other lanes, which do not load the link. */
	__syncwarp(together);
	return __shfl_sync(together, slab, reel_device_first_active(together));
}

REEL_DEVICE bool reel_device_is_slab(uint32_t link)
{
	return link != 0 && link < REEL_DEVICE_BUSY;
}

/* Returns the highest slab of the chain, or 0 if the warp has none. */
REEL_DEVICE uint32_t reel_device_highest(unsigned char *base, const reel_arena_warp *warp)
{
	uint32_t slab = 0, above = reel_device_acquire(&warp->bottom);

	while (reel_device_is_slab(above)) {
		slab = above;
		above = reel_device_acquire(&reel_device_slab(base, slab)->above);
	}
	return slab;
}

/*
 * Returns the top with one more refused row counted. The first of each slab's worth of refused rows
 * adds a slab to the number that the warp wanted.
 */
REEL_DEVICE_RARE uint32_t reel_device_refuse(unsigned char *base, uint32_t top, uint32_t word_bytes)
{
	uint32_t mask = reel_device_header(base)->row_mask;
	uint32_t count = top & REEL_DEVICE_TOP_NONE ? top & ~REEL_DEVICE_TOP_NONE : 0;
	reel_arena_warp *warp;

	if (count % mask == 0 && (warp = reel_device_state(base, word_bytes)) != nullptr) {
		uint32_t slab = reel_device_highest(base, warp);
		uint32_t slabs = slab ? reel_device_slab(base, slab)->height + 1 : 0;

		reel_device_note(base, REEL_DEVICE_EXHAUSTED);
		atomicMax(&warp->peak, slabs + count / mask + 1);
	}
	top = REEL_DEVICE_TOP_NONE + count;
	return top + (top + 1 < REEL_DEVICE_TOP_SPILLED);
}

/*
 * Moves a top up from the end of a slab, or from an empty tape. Returns row 0 of the slab above, or
 * a top with one more refused row, or one in the store.
 */
REEL_DEVICE_RARE uint32_t reel_device_climb(unsigned char *base, uint32_t top, uint32_t word_bytes)
{
	uint32_t shift = reel_device_header(base)->row_shift;
	uint32_t slab = top & REEL_DEVICE_TOP_NONE ? 0 : top >> shift, above;
	reel_arena_warp *warp = reel_device_state(base, word_bytes);
	uint32_t *link;

	/* The store has the row that `top` names, or the first row of an empty tape. */
	if ((top >= REEL_DEVICE_TOP_SPILLED || top == REEL_DEVICE_TOP_NONE) &&
	    reel_device_drained(base, warp))
		return reel_device_restore_top(base, warp, top);
	if (top > REEL_DEVICE_TOP_NONE || !warp)
		return reel_device_refuse(base, top, word_bytes);
	link = slab ? &reel_device_slab(base, slab)->above : &warp->bottom;
	/* Acquire: pairs with the release in reel_device_extend(). Makes the header visible. */
	above = reel_device_acquire(link);
	if (above == 0 || above == REEL_DEVICE_BUSY)
		above = reel_device_extend_together(base, warp, link, slab);
	if (above == REEL_DEVICE_REFUSED)
		return reel_device_refuse(base, top, word_bytes);
	return above << shift;
}

/* ---- Within: down ---- */

/*
 * Moves a top down from row 0 of a slab, or from a row that is not on the device. Returns the last
 * row of the slab below, or REEL_DEVICE_ZERO and the top after the pop.
 */
REEL_DEVICE_RARE uint64_t reel_device_descend(unsigned char *base, uint32_t top,
					      uint32_t word_bytes)
{
	const reel_arena_header *header = reel_device_header(base);
	reel_arena_warp *warp = reel_device_state(base, word_bytes);
	uint32_t slab;

	if (!(top & REEL_DEVICE_TOP_NONE)) {
		slab = reel_device_slab(base, top >> header->row_shift)->below;
		if (slab)
			return slab << header->row_shift | header->row_mask;
		if (reel_device_drained(base, warp))
			return reel_device_spill_top(base, warp, REEL_DEVICE_TOP_SPILLED);
	} else if (top >= REEL_DEVICE_TOP_SPILLED) {
		return reel_device_spill_top(base, warp, top);
	} else if (top > REEL_DEVICE_TOP_NONE + 1) {
		return REEL_DEVICE_ZERO | (top - 1);
	} else if (top == REEL_DEVICE_TOP_NONE + 1) {
		slab = warp ? reel_device_highest(base, warp) : 0;
		return REEL_DEVICE_ZERO | (slab ? slab << header->row_shift | header->row_mask
						: REEL_DEVICE_TOP_NONE);
	}
	reel_device_note(base, REEL_DEVICE_UNDERFLOW);
	return REEL_DEVICE_ZERO | top;
}

/* ---- Within: giving back ---- */

/* Returns the same place on the tape: if `top` is row 0 of a slab, the row below it. */
REEL_DEVICE uint32_t reel_device_leave(unsigned char *base, uint32_t top)
{
	const reel_arena_header *header = reel_device_header(base);
	uint32_t below, drained;

	if (top < REEL_DEVICE_TOP_SPILLED && top & (header->row_mask | REEL_DEVICE_TOP_NONE))
		return top;
	if (!(top & REEL_DEVICE_TOP_NONE)) {
		below = reel_device_slab(base, top >> header->row_shift)->below;
		if (below)
			return below << header->row_shift | header->row_mask;
		top = REEL_DEVICE_TOP_SPILLED;
	}
	drained = reel_device_drained(base, reel_device_state(base, header->word_bytes));
	return top - REEL_DEVICE_TOP_SPILLED < drained ? top : REEL_DEVICE_TOP_NONE;
}

/* Returns the number of slabs on the device that the lane needs; ~0u if it has refused rows. */
REEL_DEVICE uint32_t reel_device_height(unsigned char *base, const reel_arena_warp *warp,
					uint32_t top)
{
	/* A warp with slabs in the store always has a slab on the device above them. */
	uint32_t drained = warp ? warp->drained : 0, least = drained > 0;

	if (top & REEL_DEVICE_TOP_NONE)
		return top >= REEL_DEVICE_TOP_SPILLED || top == REEL_DEVICE_TOP_NONE ? least : ~0u;
	return reel_device_slab(base, top >> reel_device_header(base)->row_shift)->height + 1 -
	       drained;
}

REEL_DEVICE void reel_device_give_above(unsigned char *base, reel_arena_warp *warp, uint32_t kept)
{
	uint32_t *link = &warp->bottom;
	uint32_t slab, above;

	for (; kept > 0 && reel_device_is_slab(*link); kept--)
		link = &reel_device_slab(base, *link)->above;
	if (kept > 0)
		return;
	for (slab = *link; reel_device_is_slab(slab); slab = above) {
		above = reel_device_slab(base, slab)->above;
		reel_device_give(base, slab);
	}
	reel_device_store(link, 0);
}

/* Returns the top, moved out of a slab that may have been given back. */
REEL_DEVICE_RARE uint32_t reel_device_trim(unsigned char *base, uint32_t top, uint32_t lanes,
					   uint32_t word_bytes)
{
	reel_arena_warp *warp = reel_device_state(base, word_bytes);
	uint32_t height, most = 0;

	top = reel_device_leave(base, top);
	height = reel_device_height(base, warp, top);
	for (uint32_t rest = lanes; rest; rest &= rest - 1) {
		uint32_t other = __shfl_sync(lanes, height, reel_device_first_active(rest));

		most = other > most ? other : most;
	}
	__syncwarp(lanes);
	if (warp && reel_device_is_first(lanes))
		reel_device_give_above(base, warp, most);
	__syncwarp(lanes);
	return top;
}

#endif
