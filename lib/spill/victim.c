/* SPDX-License-Identifier: MIT */
/*
 * A ranking looks at all slabs and notes those that will be needed last. What it
 * found is used up before the next one, so that the cost of one is shared by up
 * to REEL_MAX_VICTIMS slabs, however long the tapes are. A slab may have changed
 * since: who uses it moves its state, which tells.
 */
#include "config.h"

#include "offload.h"
#include "os/clock.h"

/* One in so many parts. */
#define RANKING_SHARE 16

/*
 * Seconds until a slab is needed: its depth below the top over the rate at which
 * slabs are popped, of late. A tape that is not popped is as slow as one slab a
 * second, so that of two such tapes the deeper slab goes first. A slab above
 * the top is kept by a hold, and needed after all below it have been popped.
 */
double reel_reuse_distance(const struct reel_offload *offload, const struct reel_slab *slab)
{
	/* Relaxed, all: an estimate, of a slab that may be another tape's by now. */
	const struct reel_tape_io *tape_io = reel_tape_io_of(offload, slab);
	uint32_t slab_index = atomic_load_explicit(&reel_slab_io_of(offload, slab)->slab_index,
						   memory_order_relaxed);
	uint32_t top = atomic_load_explicit(&tape_io->top, memory_order_relaxed);
	uint32_t highest = atomic_load_explicit(&tape_io->highest, memory_order_relaxed);
	double depth =
		slab_index <= top
			? top - slab_index
			: (double)top + (highest > slab_index ? highest - slab_index : 0) + 1;

	return depth / (tape_io->rate + 1);
}

static void measure_rates(struct reel_offload *offload, uint64_t now)
{
	/* Acquire: pairs with the release in add_tape_io() of tape-io.c. */
	struct reel_tape_io *tape_io =
		atomic_load_explicit(&offload->tape_ios, memory_order_acquire);
	double seconds = (double)(now - offload->ranked_at) * 1e-9;

	for (; tape_io; tape_io = tape_io->next) {
		uint64_t popped = atomic_load_explicit(&tape_io->popped, memory_order_relaxed);

		if (seconds > 0)
			tape_io->rate = (tape_io->rate +
					(double)(popped - tape_io->popped_before) / seconds) / 2;
		tape_io->popped_before = popped;
	}
	offload->ranked_at = now;
}

/* Insert it at its place; the nearest of too many falls out. */
static void note(struct reel_victims *found, struct reel_slab *slab, double reuse_distance)
{
	unsigned extent = found->count;

	if (extent == REEL_MAX_VICTIMS) {
		if (reuse_distance <= found->of[extent - 1].reuse_distance)
			return;
		extent--;
	} else {
		found->count++;
	}
	for (; extent > 0 && found->of[extent - 1].reuse_distance < reuse_distance; extent--)
		found->of[extent] = found->of[extent - 1];
	found->of[extent].slab = slab;
	found->of[extent].reuse_distance = reuse_distance;
}

static void look_at(struct reel_offload *offload, struct reel_slab *slab)
{
	enum reel_slab_state state = reel_slab_state_of(slab);

	if (state == REEL_SLAB_DIRTY)
		note(&offload->dirty_victims, slab, reel_reuse_distance(offload, slab));
	else if (state == REEL_SLAB_CLEAN)
		note(&offload->clean_victims, slab, reel_reuse_distance(offload, slab));
}

static size_t slabs_in_table(struct reel_offload *offload)
{
	return atomic_load_explicit(&offload->pool->table_used, memory_order_relaxed);
}

static void rank_victims(struct reel_offload *offload)
{
	size_t slabs = slabs_in_table(offload);
	uint64_t began = reel_clock_ns();

	measure_rates(offload, began);
	offload->dirty_victims.count = offload->dirty_victims.next = 0;
	offload->clean_victims.count = offload->clean_victims.next = 0;
	for (size_t i = 0; i < slabs; i++)
		look_at(offload, &offload->pool->table[i]);
	offload->ranking_ns = reel_clock_ns() - began;
}

/*
 * Where nobody waits, a ranking that found nothing would be repeated for each slab that
 * is asked for in advance: surveys may take a part of the time only.
 */
static bool ranking_is_due(const struct reel_offload *offload)
{
	return reel_clock_ns() - offload->ranked_at > RANKING_SHARE * offload->ranking_ns;
}

/*
 * Those that have come nearer since the ranking than the one asked for are passed over; so is
 * one that has just been read for an owner who has not looked at it yet.
 */
static struct reel_slab *next_of(struct reel_offload *offload, struct reel_victims *candidates,
				 enum reel_slab_state state, double min_distance)
{
	while (candidates->next < candidates->count) {
		struct reel_slab *slab = candidates->of[candidates->next++].slab;

		if (reel_slab_state_of(slab) == state &&
		    reel_reuse_distance(offload, slab) > min_distance &&
		    !reel_read_is_awaited_for(offload, slab))
			return slab;
	}
	return NULL;
}

struct reel_slab *reel_victim_next(struct reel_offload *offload, enum reel_slab_state state,
				   double min_distance)
{
	struct reel_victims *candidates = state == REEL_SLAB_DIRTY
						     ? &offload->dirty_victims
						     : &offload->clean_victims;
	struct reel_slab *slab = next_of(offload, candidates, state, min_distance);

	if (slab || (min_distance > REEL_MIN_DISTANCE && !ranking_is_due(offload)))
		return slab;
	rank_victims(offload);
	return next_of(offload, candidates, state, min_distance);
}

/* Whether the store's copy is not that of what is there now. */
static bool is_stale(enum reel_slab_state state)
{
	return state == REEL_SLAB_EMPTY || state == REEL_SLAB_OPEN || state == REEL_SLAB_DIRTY ||
	       state == REEL_SLAB_LOST;
}

/* None of these states turns into one in which the copy counts without a new put. */
void reel_victim_drop_stale(struct reel_offload *offload)
{
	size_t slabs = slabs_in_table(offload);

	atomic_store_explicit(&offload->stale, 0, memory_order_relaxed);
	for (size_t i = 0; i < slabs; i++) {
		struct reel_slab *slab = &offload->pool->table[i];

		if (offload->slab_io[i].stored && is_stale(reel_slab_state_of(slab)))
			reel_offload_drop_copy(offload, slab);
	}
}
