/* SPDX-License-Identifier: MIT */
/*
 * A survey looks at all slabs and notes those that will be needed last. What it
 * found is used up before the next one, so that the cost of one is shared by up
 * to REEL_SURVEYED slabs, however long the tapes are. A slab may have changed
 * since: who uses it moves its state, which tells.
 */
#include "config.h"

#include "offload.h"

/* One in so many parts. */
#define SURVEY_SHARE 16

/*
 * Seconds until a slab is needed: its depth below the top over the rate at which
 * slabs are popped, of late. A tape that is not popped is as slow as one slab a
 * second, so that of two such tapes the deeper slab goes first. A slab above
 * the top is kept by a hold, and needed after all below it have been popped.
 */
double reel_survey_remoteness(const struct reel_offload *offload, const struct reel_slab *slab)
{
	/* Relaxed, all: an estimate, of a slab that may be another tape's by now. */
	const struct reel_client *client = reel_client_of(offload, slab);
	uint32_t rank = atomic_load_explicit(&reel_residence_of(offload, slab)->rank,
					     memory_order_relaxed);
	uint32_t top = atomic_load_explicit(&client->top, memory_order_relaxed);
	uint32_t highest = atomic_load_explicit(&client->highest, memory_order_relaxed);
	double depth = rank <= top ? top - rank
				   : (double)top + (highest > rank ? highest - rank : 0) + 1;

	return depth / (client->rate + 1);
}

static void measure_rates(struct reel_offload *offload, uint64_t now)
{
	/* Acquire: pairs with the release in add_client() of client.c. */
	struct reel_client *client = atomic_load_explicit(&offload->clients, memory_order_acquire);
	double seconds = (double)(now - offload->surveyed_at) * 1e-9;

	for (; client; client = client->next) {
		uint64_t popped = atomic_load_explicit(&client->popped, memory_order_relaxed);

		if (seconds > 0)
			client->rate = (client->rate +
					(double)(popped - client->popped_before) / seconds) / 2;
		client->popped_before = popped;
	}
	offload->surveyed_at = now;
}

/* Insert it at its place; the nearest of too many falls out. */
static void note(struct reel_candidates *found, struct reel_slab *slab, double remoteness)
{
	unsigned place = found->count;

	if (place == REEL_SURVEYED) {
		if (remoteness <= found->of[place - 1].remoteness)
			return;
		place--;
	} else {
		found->count++;
	}
	for (; place > 0 && found->of[place - 1].remoteness < remoteness; place--)
		found->of[place] = found->of[place - 1];
	found->of[place].slab = slab;
	found->of[place].remoteness = remoteness;
}

static void look_at(struct reel_offload *offload, struct reel_slab *slab)
{
	enum reel_slab_state state = reel_slab_state_of(slab);

	if (state == REEL_SLAB_SEALED)
		note(&offload->farthest_sealed, slab, reel_survey_remoteness(offload, slab));
	else if (state == REEL_SLAB_CLEAN)
		note(&offload->farthest_clean, slab, reel_survey_remoteness(offload, slab));
}

static size_t slabs_in_table(struct reel_offload *offload)
{
	return atomic_load_explicit(&offload->pool->table_used, memory_order_relaxed);
}

static void survey(struct reel_offload *offload)
{
	size_t slabs = slabs_in_table(offload);
	uint64_t began = reel_offload_now();

	measure_rates(offload, began);
	offload->farthest_sealed.count = offload->farthest_sealed.next = 0;
	offload->farthest_clean.count = offload->farthest_clean.next = 0;
	for (size_t i = 0; i < slabs; i++)
		look_at(offload, &offload->pool->table[i]);
	offload->survey_ns = reel_offload_now() - began;
}

/*
 * Where nobody waits, a survey that found nothing would be repeated for each slab that
 * is asked for in advance: surveys may take a part of the time only.
 */
static bool survey_is_due(const struct reel_offload *offload)
{
	return reel_offload_now() - offload->surveyed_at > SURVEY_SHARE * offload->survey_ns;
}

/*
 * Those that have come nearer since the survey than the one asked for are passed over; so is
 * one that has just been read for an owner who has not looked at it yet.
 */
static struct reel_slab *next_of(struct reel_offload *offload, struct reel_candidates *candidates,
				 enum reel_slab_state state, double farther_than)
{
	while (candidates->next < candidates->count) {
		struct reel_slab *slab = candidates->of[candidates->next++].slab;

		if (reel_slab_state_of(slab) == state &&
		    reel_survey_remoteness(offload, slab) > farther_than &&
		    !reel_prefetch_is_awaited(offload, slab))
			return slab;
	}
	return NULL;
}

struct reel_slab *reel_survey_next(struct reel_offload *offload, enum reel_slab_state state,
				   double farther_than)
{
	struct reel_candidates *candidates = state == REEL_SLAB_SEALED
						     ? &offload->farthest_sealed
						     : &offload->farthest_clean;
	struct reel_slab *slab = next_of(offload, candidates, state, farther_than);

	if (slab || (farther_than > REEL_ANY_DISTANCE && !survey_is_due(offload)))
		return slab;
	survey(offload);
	return next_of(offload, candidates, state, farther_than);
}

/* Whether the store's copy is not that of what is there now. */
static bool is_stale(enum reel_slab_state state)
{
	return state == REEL_SLAB_EMPTY || state == REEL_SLAB_OPEN || state == REEL_SLAB_SEALED ||
	       state == REEL_SLAB_LOST;
}

/* None of these states turns into one in which the copy counts without a new put. */
void reel_survey_drop_stale(struct reel_offload *offload)
{
	size_t slabs = slabs_in_table(offload);

	atomic_store_explicit(&offload->stale, 0, memory_order_relaxed);
	for (size_t i = 0; i < slabs; i++) {
		struct reel_slab *slab = &offload->pool->table[i];

		if (offload->residence[i].stored && is_stale(reel_slab_state_of(slab)))
			reel_offload_drop_copy(offload, slab);
	}
}
