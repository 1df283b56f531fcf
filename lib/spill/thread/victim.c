/* SPDX-License-Identifier: MIT */
/*
 * Chooses victims. A ranking looks at all slabs of the pool and notes those with the greatest reuse
 * distances. They are used up before the next ranking, so that up to REEL_MAX_VICTIMS slabs share
 * its cost. Offload thread only. A victim may have changed since the ranking; then reel_slab_move()
 * fails.
 */
#include "config.h"

#include "os/clock.h"
#include "spill/owner/demand.h"
#include "victim.h"

/* Read-ahead may have rankings take 1 / RANKING_SHARE of the time. */
#define RANKING_SHARE 16
#define RATE_SECONDS 0.05

/*
 * Without a known order a slab is taken to be needed as far in the future as it was used last in
 * the past, but not within a second: one that was just used gives its frame to one that is known to
 * be needed soon.
 * Mutants survive: any slab may be the victim; another order changes the time only.
 */
static double distance_by_age(uint32_t used_at)
{
	return 1 + (uint32_t)(reel_now_ms() - used_at) * 1e-3;
}

/*
 * The depth below the top, divided by the recent number of slabs popped per second. The 1 is added
 * so that, if two tapes are not popped, the deeper slab comes first. A slab above the top is kept
 * by a hold, and is needed after all slabs below it have been popped.
 * Mutants survive: any slab may be the victim; another order changes the time only.
 */
static double distance_on(const struct reel_demand *demand, uint32_t slab_index)
{
	uint32_t top = atomic_load_explicit(&demand->top, memory_order_relaxed);
	uint32_t highest = atomic_load_explicit(&demand->highest, memory_order_relaxed);
	double depth =
		slab_index <= top
			? top - slab_index
			: (double)top + (highest > slab_index ? highest - slab_index : 0) + 1;

	REEL_ASSERT(demand->rate >= 0);
	return depth / (demand->rate + 1);
}

/* Until the nearest reader needs the slab. */
/* Mutants survive: any slab may be the victim; another order changes the time only. */
static double distance_on_recording(const struct reel_demand *recording, uint32_t slab_index)
{
	double nearest = distance_on(recording, slab_index);
	bool is_read = false;

	for (unsigned i = 0; i < REEL_RANKED_READERS; i++) {
		/*
		 * Acquire: pairs with the release in reel_demand_take_reader(). Shows the demand.
		 */
		const struct reel_demand *reader =
			atomic_load_explicit(&recording->reader[i], memory_order_acquire);
		double distance = reader ? distance_on(reader, slab_index) : nearest;

		if (reader && (!is_read || distance < nearest))
			nearest = distance;
		is_read |= reader != NULL;
	}
	return nearest;
}

double reel_reuse_distance(const struct reel_offload *offload, const struct reel_slab *slab)
{
	/* Relaxed, all: this is an estimate, and the slab may belong to another tape by now. */
	const struct reel_demand *demand = reel_demand_of(offload, slab);
	uint32_t slab_index = atomic_load_explicit(&reel_slab_io_of(offload, slab)->slab_index,
						   memory_order_relaxed);

	REEL_ASSERT(demand);
	switch (atomic_load_explicit(&demand->kind, memory_order_relaxed)) {
	case REEL_DEMAND_AGE:
		return distance_by_age(slab_index);
	case REEL_DEMAND_READERS:
		return distance_on_recording(demand, slab_index);
	case REEL_DEMAND_STACK:
	case REEL_DEMAND_HURRIED:
		break;
	}
	return distance_on(demand, slab_index);
}

/*
 * Averages over the last RATE_SECONDS or so, whatever the time between two rankings is: some follow
 * each other within microseconds.
 */
static void measure_rates(struct reel_offload *offload, uint64_t now)
{
	struct reel_demand *demand = reel_demand_first(offload);
	double seconds = (double)(now - offload->ranked_at) * 1e-9;

	REEL_ASSERT(now >= offload->ranked_at);
	for (; demand; demand = demand->next) {
		uint64_t popped = atomic_load_explicit(&demand->popped, memory_order_relaxed);

		REEL_ASSERT(popped >= demand->popped_before);
		/* Mutants survive (arithmetic): another order changes the time only. */
		demand->rate =
			(demand->rate * RATE_SECONDS + (double)(popped - demand->popped_before)) /
			(RATE_SECONDS + seconds);
		demand->popped_before = popped;
	}
	offload->ranked_at = now;
}

/* Inserts a slab at its place. If the list is full, the nearest slab drops out. */
static void note(struct reel_victims *found, struct reel_slab *slab, double reuse_distance)
{
	unsigned extent = found->count;

	REEL_ASSERT(extent <= REEL_MAX_VICTIMS);
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

static bool is_descending(const struct reel_victims *victims)
{
	for (unsigned i = 1; i < victims->count; i++)
		if (victims->of[i - 1].reuse_distance < victims->of[i].reuse_distance)
			return false;
	return true;
}

/*
 * If the list has all clean slabs, its end is needed soon, and slabs that come to be clean before
 * it is used up may be better victims.
 */
static void keep_farther_half(struct reel_victims *found)
{
	if (found->count < REEL_MAX_VICTIMS)
		found->count -= found->count / 2;
}

static void rank_victims(struct reel_offload *offload)
{
	size_t slabs = reel_slab_count(offload);
	uint64_t began = reel_clock_ns();

	measure_rates(offload, began);
	offload->dirty_victims.count = offload->dirty_victims.next = 0;
	offload->clean_victims.count = offload->clean_victims.next = 0;
	for (size_t i = 0; i < slabs; i++) {
		struct reel_slab *slab = &offload->pool->table[i];
		enum reel_slab_state state = reel_slab_state_of(slab);

		if (state == REEL_SLAB_DIRTY || state == REEL_SLAB_CLEAN)
			note(state == REEL_SLAB_DIRTY ? &offload->dirty_victims
						      : &offload->clean_victims,
			     slab, reel_reuse_distance(offload, slab));
	}
	keep_farther_half(&offload->clean_victims);
	REEL_ASSERT_EXPENSIVE(is_descending(&offload->dirty_victims));
	REEL_ASSERT_EXPENSIVE(is_descending(&offload->clean_victims));
	/* Mutants survive (statement): it decides only when victims are ranked next. */
	offload->ranking_ns = reel_clock_ns() - began;
}

/*
 * Limits the time for rankings while no thread waits: each slab that is asked for in advance would
 * repeat a ranking that finds no victim.
 * Mutants survive (arithmetic): it decides only when victims are ranked next.
 */
static bool ranking_is_due(const struct reel_offload *offload)
{
	return reel_clock_ns() - offload->ranked_at > RANKING_SHARE * offload->ranking_ns;
}

/*
 * Skips a victim that has changed its state or come too near since the ranking, and a slab that was
 * just read for an owner that still waits for it.
 */
static struct reel_slab *next_of(struct reel_offload *offload, struct reel_victims *candidates,
				 enum reel_slab_state state, double min_distance)
{
	REEL_ASSERT(candidates->next <= candidates->count);
	while (candidates->next < candidates->count) {
		struct reel_slab *slab = candidates->of[candidates->next++].slab;

		if (reel_slab_state_of(slab) == state &&
		    reel_reuse_distance(offload, slab) > min_distance &&
		    !reel_demand_is_awaited(offload, slab))
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

	REEL_ASSERT(state == REEL_SLAB_DIRTY || state == REEL_SLAB_CLEAN);
	if (slab || (min_distance > REEL_MIN_DISTANCE && !ranking_is_due(offload)))
		return slab;
	rank_victims(offload);
	return next_of(offload, candidates, state, min_distance);
}
