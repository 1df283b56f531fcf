/* SPDX-License-Identifier: MIT */
/*
 * The slabs below the top, on a pool with a store. The owner of the tape runs these functions while
 * the offload thread runs the functions of lib/spill.
 *
 * A slab of another state than OPEN belongs to a tape with a `demand`. The tape takes one when it
 * seals its first slab, and keeps it until it is closed. A reader shares the slabs of its recording
 * with others, so it pins and unpins them.
 */
#include "config.h"

#include "spill/owner/slab-owner.h"
#include "tape.h"

/* After SLABS_IN_TIME slabs without a wait the tape requests one slab less. */
#define SLABS_IN_TIME 64

/* Returns true if the slab belongs to the recording that the tape reads. */
static bool is_shared(const reel_tape *tape, const struct reel_slab *slab)
{
	return slab->holds == 0 && reel_hold_reader(tape);
}

/* ---- Sealing ---- */

/* All bytes of a slab that a hold keeps, because values above the present top are replayed. */
static size_t worth_storing(const reel_tape *tape, const struct reel_slab *slab)
{
	if (slab->holds != tape->holds)
		return slab->bytes;
	if (slab == tape->slab)
		return (size_t)reel_window_filled(tape);
	return tape->slab && tape->slab->below == slab ? (size_t)tape->slab->below_offset
						       : slab->bytes;
}

/* Without a `demand`, for want of memory, the slab stays open. */
void reel_below_retain(reel_tape *tape, struct reel_slab *slab)
{
	REEL_ASSERT(slab->holds <= tape->holds);
	if (!reel_slab_spills(tape->pool, slab))
		return;
	if (is_shared(tape, slab)) {
		reel_reader_unpin(tape, slab);
		return;
	}
	if (!tape->demand)
		tape->demand = reel_demand_take(reel_offload_of(tape->pool));
	if (tape->demand)
		reel_slab_seal(tape->pool, slab, tape->demand, slab->slab_index,
			       worth_storing(tape, slab), tape->layout);
}

void reel_below_seal(reel_tape *tape)
{
	struct reel_slab *slab = tape->slab;

	if (slab && tape->flags & REEL_TAPE_KEEPS_BELOW)
		slab = slab->below;
	if (!slab)
		return;
	reel_below_retain(tape, slab);
	if (is_shared(tape, slab) || reel_slab_is_readable(slab))
		return;
	atomic_store_explicit(&tape->demand->top, slab->slab_index + 1, memory_order_relaxed);
	tape->demand->slabs_popped_in_row = 0;
	reel_slab_tell_of_growth(tape->pool);
}

/* ---- Acquiring ---- */

int reel_below_acquire(reel_tape *tape, struct reel_slab *slab)
{
	struct reel_demand *demand = tape->demand;
	int error;

	if (!reel_slab_spills(tape->pool, slab))
		return 0;
	error = is_shared(tape, slab) ? reel_reader_pin(tape, slab)
				      : reel_slab_acquire(tape->pool, slab, demand,
							  REEL_FOREVER);
	if (!demand)
		return error;
	/* Relaxed is enough: the offload thread estimates reuse distances with it. */
	atomic_store_explicit(&demand->top, slab->slab_index, memory_order_relaxed);
	if (++demand->hits_in_row % SLABS_IN_TIME == 0 && demand->ahead > REEL_MIN_AHEAD)
		demand->ahead--;
	return error;
}

/* ---- Read-ahead ---- */

/* Requests nothing after less than one whole slab: such a tape is likely to go up again. */
void reel_below_read_ahead(reel_tape *tape)
{
	struct reel_demand *demand = tape->demand;
	struct reel_slab *slab;
	unsigned ahead;

	if (!demand || reel_offload_of(tape->pool)->orphaned)
		return;
	atomic_fetch_add_explicit(&demand->popped, 1, memory_order_relaxed);
	/* Mutants survive (arithmetic): only 0 counts, which comes again after 2^32 slabs. */
	if (demand->slabs_popped_in_row++ == 0 || !tape->slab)
		return;
	slab = tape->slab->below;
	ahead = reel_demand_slabs_ahead(reel_offload_of(tape->pool), demand);
	/* A large slab counts as often as a whole slab has room in it. */
	for (size_t i = 0; i < ahead && slab; slab = slab->below) {
		if (reel_slab_spills(tape->pool, slab) && !reel_demand_request(demand, slab))
			break;
		i += slab->bytes <= tape->pool->slab_bytes ? 1
							   : slab->bytes / tape->pool->slab_bytes;
	}
	reel_demand_end_requests(reel_offload_of(tape->pool), demand);
}

void reel_below_end(reel_tape *tape)
{
	if (!tape->demand)
		return;
	REEL_ASSERT(!tape->slab && !tape->spare);
	reel_wakeup_signal(&reel_offload_of(tape->pool)->work);
	reel_demand_give(reel_offload_of(tape->pool), tape->demand);
	/* Mutants survive (statement): reel_tape_close() sets the whole tape to 0. */
	tape->demand = NULL;
}
