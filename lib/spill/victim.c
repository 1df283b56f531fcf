/* SPDX-License-Identifier: MIT */
/*
 * Chooses victims: slabs with the largest reuse distance. A ranking looks at all slabs of the pool;
 * its result is used up before the next ranking, so that up to REEL_MAX_VICTIMS victims share its
 * cost, however long the tapes are. All of it runs in the offload thread.
 *
 * Victims are sorted by falling distance. A victim may have changed since the ranking: the thread
 * that uses it moves its state, and fails if the state is another one.
 */
#include "config.h"

#include "offload.h"
#include "os/clock.h"

/* Rankings for requests in advance take at most one part in this many of the time. */
#define RANKING_SHARE 16

/*
 * The estimated seconds until a slab is needed: its depth below the top over the rate at which
 * slabs were popped of late. A tape that is not popped counts as popped at one slab a second, so
 * that of two such tapes the deeper slab goes first. A slab above the top is kept by a hold, and is
 * needed after all slabs below it.
 */
double reel_reuse_distance(const struct reel_offload *offload, const struct reel_slab *slab)
{
	/* Relaxed is enough, for all: an estimate. The slab may be another tape's by now. */
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
	/* Acquire: pairs with the release in add_tape_io() (tape-io.c). Each record is visible. */
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

/*
 * Inserts a slab by its distance. If there are too many, drops the one with the smallest distance.
 */
static void note(struct reel_victims *found, struct reel_slab *slab, double reuse_distance)
{
	unsigned at = found->count;

	REEL_ASSERT(reuse_distance >= 0 && found->count <= REEL_MAX_VICTIMS);
	if (at == REEL_MAX_VICTIMS) {
		if (reuse_distance <= found->of[at - 1].reuse_distance)
			return;
		at--;
	} else {
		found->count++;
	}
	for (; at > 0 && found->of[at - 1].reuse_distance < reuse_distance; at--)
		found->of[at] = found->of[at - 1];
	found->of[at].slab = slab;
	found->of[at].reuse_distance = reuse_distance;
}

static bool are_sorted(const struct reel_victims *victims)
{
	for (unsigned i = 1; i < victims->count; i++)
		if (victims->of[i].reuse_distance > victims->of[i - 1].reuse_distance)
			return false;
	return true;
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
	REEL_ASSERT_EXPENSIVE(are_sorted(&offload->dirty_victims) &&
			      are_sorted(&offload->clean_victims));
	offload->ranking_ns = reel_clock_ns() - began;
}

/*
 * While no thread waits, a ranking that found no victim would be repeated for each request in
 * advance. So rankings may take only a part of the time.
 */
static bool ranking_is_due(const struct reel_offload *offload)
{
	return reel_clock_ns() - offload->ranked_at > RANKING_SHARE * offload->ranking_ns;
}

/*
 * The next victim. Passes over slabs whose distance is no longer above `min_distance`, and over a
 * slab that was just read for an owner that has not looked at it yet.
 */
static struct reel_slab *next_of(struct reel_offload *offload, struct reel_victims *candidates,
				 enum reel_slab_state state, double min_distance)
{
	REEL_ASSERT(candidates->next <= candidates->count);
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

/* Whether the copy in the store is not a copy of what the slab has now. */
static bool is_stale(enum reel_slab_state state)
{
	return state == REEL_SLAB_EMPTY || state == REEL_SLAB_OPEN || state == REEL_SLAB_DIRTY ||
	       state == REEL_SLAB_LOST;
}

/*
 * No stale state leads to a state in which the copy counts without a new put, so no owner is asked.
 */
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
