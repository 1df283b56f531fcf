/* SPDX-License-Identifier: MIT */
/*
 * The costs of places: a table by the address of the code. A place is owned by one thread while it
 * measures; other threads read only its present choice.
 */
#include "config.h"

#include "team-size.h"

#include <stdatomic.h>

#include "os/assert.h"
#include "os/clock.h"

/* ---- Costs ---- */

/* Work that takes less may lose most of its time by waiting, and its first trial comes at once. */
#define MAX_SMALL_NS 2e5
/*
 * Number of pieces of such work in a trial; of other work it is 1. A trial ends early if a piece
 * takes twice the time of the better size.
 */
#define TRIAL 4
/* The first trial of other work comes after this multiple of the time that the trial takes. */
#define FIRST_SPACING 8
/*
 * A later trial comes after the first multiple. As long as trials confirm the choice, each comes
 * after twice the multiple of the one before, up to the second.
 */
#define MIN_SPACING 32
#define MAX_SPACING 128
/*
 * Above either of these, half of the measured time and work is forgotten. The time is some slices
 * of a scheduler, so that the mean contains the waits for threads that have lost their processor.
 */
#define MAX_NS 2e7
#define MAX_UNITS 1024
/*
 * A piece counts as at most the larger of this time and MAX_FACTOR times the expected time: a
 * program that was stopped for an hour did not lose it by a choice.
 */
#define MAX_PIECE_NS 1e9
#define MAX_FACTOR 1000

/* Time of a unit of work, in ns; 0: not known. */
static double cost_of(const struct reel_team_costs *costs, enum reel_team_size size)
{
	return costs->units[size] > 0 ? costs->ns[size] / costs->units[size] : 0;
}

static enum reel_team_size other_than(enum reel_team_size size)
{
	return size == REEL_ALL_THREADS ? REEL_ONE_THREAD : REEL_ALL_THREADS;
}

/* Number of pieces in a trial, with `units` units of work in each of them. */
static int trial_of(const struct reel_team_costs *costs, double units)
{
	return units * cost_of(costs, costs->better) < MAX_SMALL_NS ? TRIAL : 1;
}

static double time_of_trial(const struct reel_team_costs *costs, int threads, double units)
{
	double known = cost_of(costs, other_than(costs->better));
	/* One thread takes at most this. The work may have become less since the last trial. */
	double limit = threads * cost_of(costs, costs->better);

	return trial_of(costs, units) * units *
	       (known > 0 && (known < limit || costs->better == REEL_ONE_THREAD) ? known : limit);
}

static bool is_due(const struct reel_team_costs *costs, int threads, double units)
{
	double now = units * cost_of(costs, costs->better);
	double trial = time_of_trial(costs, threads, units);

	if (now <= 0)
		return false;
	if (costs->spacing <= 0)
		return now < MAX_SMALL_NS || costs->since > FIRST_SPACING * trial;
	return costs->since > costs->spacing * trial && costs->since > MIN_SPACING * costs->lost;
}

enum reel_team_size reel_team_size_next(const struct reel_team_costs *costs, int threads,
					double units)
{
	if (costs->needs_all)
		return REEL_ALL_THREADS;
	return costs->trial_left || is_due(costs, threads, units) ? other_than(costs->better)
								  : costs->better;
}

static void add_to_trial(struct reel_team_costs *costs, enum reel_team_size size, double units,
			 double ns)
{
	double spacing = costs->spacing > 0 ? 2 * costs->spacing : MIN_SPACING;

	if (!costs->trial_left) {
		costs->trial_left = trial_of(costs, units);
		costs->ns[size] = costs->units[size] = 0;
	}
	costs->ns[size] += ns;
	costs->units[size] += units;
	if (--costs->trial_left && ns <= 2 * units * cost_of(costs, costs->better))
		return;
	costs->spacing = spacing < MAX_SPACING ? spacing : MAX_SPACING;
	costs->trial_left = 0;
	costs->since = 0;
}

static void add(struct reel_team_costs *costs, enum reel_team_size size, double units, double ns)
{
	costs->since += ns;
	costs->turn_ns += ns;
	costs->turn_units += units;
	/*
	 * The very first piece contains work that is done once: threads are made, pages are
	 * touched.
	 */
	if (costs->spacing <= 0 && costs->since <= ns)
		return;
	costs->ns[size] += ns;
	costs->units[size] += units;
	if (costs->ns[size] > MAX_NS || costs->units[size] > MAX_UNITS) {
		costs->ns[size] /= 2;
		costs->units[size] /= 2;
	}
}

/* A turn that ends soon has shown that the trial before it was wrong, and the time that it cost. */
static void change(struct reel_team_costs *costs, enum reel_team_size to)
{
	double lost = costs->turn_ns - costs->turn_units * cost_of(costs, to);

	costs->lost = lost > 0 ? lost : 0;
	costs->turn_ns = costs->turn_units = 0;
	costs->since = 0;
	costs->spacing = MIN_SPACING;
	costs->better = to;
}

static double limited(const struct reel_team_costs *costs, enum reel_team_size size, double units,
		      double ns)
{
	double known = cost_of(costs, size);
	double limit = MAX_FACTOR * units * (known > 0 ? known : cost_of(costs, costs->better));

	limit = limit > MAX_PIECE_NS ? limit : MAX_PIECE_NS;
	return ns < limit ? ns : limit;
}

void reel_team_size_add(struct reel_team_costs *costs, enum reel_team_size size, double units,
			double ns)
{
	enum reel_team_size other = other_than(costs->better);

	REEL_ASSERT(units > 0 && ns >= 0);
	ns = limited(costs, size, units, ns);
	if (size == other)
		add_to_trial(costs, size, units, ns);
	else
		add(costs, size, units, ns);
	if (!costs->trial_left && costs->units[other] > 0 &&
	    cost_of(costs, other) < cost_of(costs, costs->better))
		change(costs, other);
}

/* ---- Places ---- */

#define PLACES 256
#define PROBES 8
/*
 * After a piece that takes less time, at most MAX_SKIPPED pieces are not measured, since reading
 * the clock also takes time. How many is random: pieces may differ with a period.
 */
#define MAX_SAMPLED_NS 5000
#define MAX_SKIPPED 14

struct reel_team_place {
	/* The address, or NULL. It is set once. */
	_Atomic(const void *) address;
	_Atomic bool is_owned;
	_Atomic int better; /* an enum reel_team_size, for threads that do not own the place */
	/* The owner's. */
	int threads;
	unsigned to_skip,
		skipped; /* pieces that will not be measured, and were not since the last one */
	uint32_t random;
	struct reel_team_costs costs;
};

static struct reel_team_place places[PLACES];

/* Returns NULL if there is no room for it. */
static struct reel_team_place *place_of(const void *address)
{
	uint64_t hash = (uint64_t)(uintptr_t)address * 0x9e3779b97f4a7c15u >> 32;

	for (unsigned probe = 0; address && probe < PROBES; probe++) {
		struct reel_team_place *place = &places[(hash + probe) % PLACES];
		/* Relaxed is enough, here and below: is_owned guards all that belongs to it. */
		const void *found = atomic_load_explicit(&place->address, memory_order_relaxed);

		if (!found && atomic_compare_exchange_strong_explicit(&place->address, &found,
								      address,
								      memory_order_relaxed,
								      memory_order_relaxed))
			return place;
		if (found == address)
			return place;
	}
	return NULL;
}

/* Makes this thread the owner, unless another one is. */
static bool own(struct reel_team_place *place)
{
	/* Acquire: pairs with the release in disown(). Makes the costs visible. */
	return !atomic_exchange_explicit(&place->is_owned, true, memory_order_acquire);
}

static void disown(struct reel_team_place *place)
{
	/* Relaxed is enough: a number that guards no memory. */
	atomic_store_explicit(&place->better, (int)place->costs.better, memory_order_relaxed);
	/* Release: pairs with the acquire in own(). */
	atomic_store_explicit(&place->is_owned, false, memory_order_release);
}

static bool is_skipped(struct reel_team_place *place)
{
	if (!place->to_skip || place->costs.needs_all)
		return false;
	place->to_skip--;
	place->skipped++;
	return true;
}

static int number_of(int size, int threads)
{
	return size == REEL_ONE_THREAD ? 1 : threads;
}

int reel_team_size_begin(struct reel_team_measure *measure, const void *address, int threads,
			 double units)
{
	struct reel_team_place *place = threads > 1 ? place_of(address) : NULL;

	*measure = (struct reel_team_measure){0};
	if (!place)
		return threads;
	if (!own(place))
		/* Relaxed is enough: a number that guards no memory. */
		return number_of(atomic_load_explicit(&place->better, memory_order_relaxed),
				 threads);
	/* Costs with another number of threads say nothing. */
	if (place->threads != threads) {
		place->threads = threads;
		place->to_skip = place->skipped = 0;
		place->costs = (struct reel_team_costs){0};
	}
	if (is_skipped(place)) {
		threads = number_of((int)place->costs.better, threads);
		disown(place);
		return threads;
	}
	measure->place = place;
	measure->size = reel_team_size_next(&place->costs, threads, units);
	measure->begin = reel_clock_ns();
	return number_of((int)measure->size, threads);
}

void reel_team_size_need_all(struct reel_team_measure *measure)
{
	if (!measure->place)
		return;
	measure->place->costs = (struct reel_team_costs){.needs_all = true};
	measure->place->to_skip = 0;
}

/* A piece of the better size also stands for the pieces before it that were not measured. */
static void add_measured(struct reel_team_place *place, enum reel_team_size size, double units,
			 double ns)
{
	struct reel_team_costs *costs = &place->costs;
	double weight = size == costs->better ? 1 + place->skipped : 1;

	reel_team_size_add(costs, size, weight * units, weight * ns);
	place->skipped = 0;
	place->random = place->random * 1664525 + 1013904223;
	if (size == costs->better && ns < MAX_SAMPLED_NS && costs->spacing > 0 &&
	    !costs->trial_left)
		place->to_skip = (place->random >> 16) % (MAX_SKIPPED + 1);
}

void reel_team_size_end(struct reel_team_measure *measure, int threads, double units)
{
	struct reel_team_place *place = measure->place;

	if (!place)
		return;
	measure->place = NULL;
	if (!place->costs.needs_all && threads == number_of((int)measure->size, place->threads))
		add_measured(place, measure->size, units,
			     (double)(reel_clock_ns() - measure->begin));
	disown(place);
}
