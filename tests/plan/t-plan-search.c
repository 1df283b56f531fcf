/* SPDX-License-Identifier: MIT */
/*
 * For short loops no sequence of actions is cheaper than those of the planners. The search knows
 * the actions and their costs, but no recursion: a state may be in any tiers, in any order, stored
 * again, and dropped at any time.
 */
#include <config.h>

#include "helpers/cheapest.h"
#include "helpers/plan-support.h"

#define MAX_SHELVES 3
/* The cost of an advance, so that a tenth of an advance is a whole number. */
#define UNIT 10

/* A shelf keeps the states of a tier, or tapes of steps. All shelves are bits of one word. */
struct search {
	unsigned steps;
	unsigned shelves;
	unsigned capacity[MAX_SHELVES];
	unsigned store[MAX_SHELVES];
	unsigned load[MAX_SHELVES];
	/* The size of a tape in states; tapes take up slots of shelf 0. */
	unsigned tape_states;
};

/* A place in the search: the working state (`steps`: none), the steps left, the kept objects. */
struct place {
	unsigned working;
	unsigned left;
	unsigned kept[MAX_SHELVES];
};

static uint32_t encode(const struct search *search, const struct place *place)
{
	uint32_t code = place->working << 4 | place->left;

	for (unsigned s = 0; s < search->shelves; s++)
		code = code << search->steps | place->kept[s];
	return code;
}

static struct place decode(const struct search *search, uint32_t code)
{
	struct place place = {0};

	for (unsigned s = search->shelves; s-- > 0; code >>= search->steps)
		place.kept[s] = code & ((1u << search->steps) - 1);
	place.left = code & 15;
	place.working = code >> 4;
	return place;
}

static bool fits(const struct search *search, const struct place *place)
{
	unsigned slots = (unsigned)__builtin_popcount(place->kept[0]);

	if (search->tape_states)
		return slots + search->tape_states *
				       (unsigned)__builtin_popcount(place->kept[1]) <=
		       search->capacity[0];
	for (unsigned s = 0; s < search->shelves; s++)
		if ((unsigned)__builtin_popcount(place->kept[s]) > search->capacity[s])
			return false;
	return true;
}

/* Reverses the last step left, which is recorded. */
static void reverse(const struct search *search, struct place place, unsigned cost)
{
	place.left--;
	for (unsigned s = 0; s < search->shelves; s++)
		place.kept[s] &= (1u << place.left) - 1;
	cheapest_reach(encode(search, &place), cost);
}

static void run_step(const struct search *search, struct place place, unsigned cost)
{
	unsigned step = place.working;

	if (step >= place.left)
		return;
	if (step == place.left - 1) {
		place.working = search->steps;
		reverse(search, place, cost);
		return;
	}
	place.working++;
	cheapest_reach(encode(search, &place), cost + UNIT);
	place.kept[1] |= 1u << step;
	if (search->tape_states && fits(search, &place))
		cheapest_reach(encode(search, &place), cost);
}

static void use_shelf(const struct search *search, const struct place *from, unsigned shelf,
		      unsigned cost)
{
	for (unsigned state = 0; state < from->left; state++) {
		struct place place = *from;

		if (place.kept[shelf] >> state & 1) {
			place.working = state;
			cheapest_reach(encode(search, &place), cost + search->load[shelf]);
			place.working = from->working;
			place.kept[shelf] &= ~(1u << state);
			cheapest_reach(encode(search, &place), cost);
		} else if (state == from->working) {
			place.kept[shelf] |= 1u << state;
			if (fits(search, &place))
				cheapest_reach(encode(search, &place), cost + search->store[shelf]);
		}
	}
}

static bool visit(const void *context, uint32_t code, unsigned cost)
{
	const struct search *search = context;
	struct place place = decode(search, code);
	unsigned shelves = search->tape_states ? 1 : search->shelves;

	if (place.left == 0)
		return true;
	if (search->tape_states && place.kept[1] >> (place.left - 1) & 1)
		reverse(search, place, cost);
	run_step(search, place, cost);
	for (unsigned s = 0; s < shelves; s++)
		use_shelf(search, &place, s, cost);
	return false;
}

/* The least cost of all actions but recording and reversing. */
static unsigned min_cost(const struct search *search)
{
	struct place start = {.left = search->steps};

	return cheapest_cost((size_t)1 << (8 + search->steps * search->shelves),
			     encode(search, &start), search, visit);
}

static int64_t max_steps(void)
{
	return is_exhaustive() ? 8 : 6;
}

static const unsigned costs[][2] = {{1, 1},   {5, 5},  {20, 20}, {0, 30},
				    {30, 0},  {50, 10}, {10, 50}, {100, 100}};

static struct search search_of(const struct reel_problem *problem)
{
	struct search search = {.steps = (unsigned)problem->steps, .shelves = problem->tiers};

	for (unsigned t = 0; t < problem->tiers; t++) {
		search.capacity[t] = (unsigned)problem->tier[t].slots;
		search.store[t] = (unsigned)lround(UNIT * problem->tier[t].store_cost);
		search.load[t] = (unsigned)lround(UNIT * problem->tier[t].load_cost);
	}
	return search;
}

static bool takes_least_time(enum reel_planner planner, const struct reel_problem *problem)
{
	struct search search = search_of(problem);
	double least = min_cost(&search) / (double)UNIT + (double)problem->steps;
	double time = checked(planner, problem, problem->steps).makespan;

	if (close_to(time, least))
		return true;
	tap_note("%lld steps, %lld + %lld slots: %g, %g would do", (long long)problem->steps,
		 (long long)problem->tier[0].slots, (long long)problem->tier[1].slots, time, least);
	return false;
}

static void no_schedule_of_one_tier_is_cheaper(void)
{
	unsigned wrong = 0, cases = 0;

	for (int64_t steps = 1; steps <= max_steps(); steps++)
		for (int64_t slots = 1; slots <= 5; slots++, cases++) {
			struct reel_problem problem = one_tier(steps, slots);

			wrong += !takes_least_time(REEL_BINOMIAL, &problem);
			wrong += !takes_least_time(REEL_HIERARCHICAL, &problem);
			problem.tier[0].store_cost = 0.7;
			problem.tier[0].load_cost = 0.3;
			wrong += !takes_least_time(REEL_HIERARCHICAL, &problem);
		}
	is_int(wrong, 0, "one tier, %u problems", cases);
}

static void no_schedule_of_two_tiers_is_cheaper(void)
{
	unsigned wrong = 0, cases = 0;

	for (int64_t steps = 2; steps < max_steps(); steps++)
		for (unsigned c = 0; c < COUNT(costs); c++)
			for (int64_t slots = 1; slots < 16; slots++, cases++) {
				struct reel_problem problem =
					problem_of(steps, slots % 4, slots / 4,
						   costs[c][0] / (double)UNIT,
						   costs[c][1] / (double)UNIT);

				wrong += !takes_least_time(REEL_HIERARCHICAL, &problem);
			}
	is_int(wrong, 0, "two tiers, %u problems", cases);
}

/* Whether it pays to store a state in the first tier depends on the number of slots there. */
static void no_schedule_of_two_costly_tiers_is_cheaper(void)
{
	unsigned wrong = 0, cases = 0;

	for (int64_t slots = 0; slots < 9; slots++)
		for (unsigned store = 5; store <= 40; store += 5, cases++) {
			struct reel_problem problem =
				problem_of(max_steps() - 1, 1 + slots % 3, 1 + slots / 3,
					   (store + 9) / (double)UNIT, 0.5);

			problem.tier[0].store_cost = store / (double)UNIT;
			problem.tier[0].load_cost = 0.1;
			wrong += !takes_least_time(REEL_HIERARCHICAL, &problem);
		}
	is_int(wrong, 0, "two tiers with costs, %u problems", cases);
}

static void no_schedule_of_three_tiers_is_cheaper(void)
{
	unsigned wrong = 0, cases = 0;

	for (int64_t slots = 1; slots < 27; slots++)
		for (unsigned c = 0; c < COUNT(costs); c++, cases++) {
			struct reel_problem problem =
				problem_of(5, slots % 3, slots / 3 % 3, costs[c][0] / (double)UNIT,
					   costs[c][1] / (double)UNIT);

			problem.tiers = 3;
			problem.tier[2].slots = slots / 9;
			problem.tier[2].store_cost = problem.tier[1].store_cost + 0.4;
			problem.tier[2].load_cost = problem.tier[1].load_cost + 0.9;
			problem.tier[0].load_cost = 0;
			wrong += !takes_least_time(REEL_HIERARCHICAL, &problem);
		}
	is_int(wrong, 0, "three tiers, %u problems", cases);
}

/* Disk-Revolve reads a state of the last tier once, which is best where reading is expensive. */
static void no_schedule_with_an_unlimited_tier_is_cheaper(void)
{
	unsigned wrong = 0, cases = 0;

	for (int64_t steps = 2; steps < max_steps(); steps++)
		for (unsigned c = 0; c < COUNT(costs); c++)
			for (int64_t slots = 1; slots <= 3; slots++, cases++) {
				struct reel_problem problem =
					problem_of(steps, slots, steps, costs[c][0] / (double)UNIT,
						   costs[c][1] / (double)UNIT);

				if (costs[c][1] < costs[c][0])
					continue;
				wrong += !takes_least_time(REEL_DISK_REVOLVE, &problem);
			}
	is_int(wrong, 0, "an unlimited last tier, %u problems", cases);
}

static void no_schedule_that_keeps_tapes_has_fewer_advances(void)
{
	unsigned wrong = 0, cases = 0;

	for (int64_t steps = 1; steps <= max_steps(); steps++)
		for (int64_t memory = 1; memory <= 6; memory++)
			for (int64_t tape = 1; tape <= 4; tape++, cases++) {
				struct reel_problem problem = one_tier(steps, memory);
				struct search search = search_of(&problem);

				problem.tape_states = tape;
				search.shelves = 2;
				search.tape_states = (unsigned)tape;
				wrong += checked(REEL_MIXED, &problem, steps).advances !=
					 (int64_t)min_cost(&search) / UNIT;
			}
	is_int(wrong, 0, "tapes of several sizes, %u problems", cases);
}

int main(void)
{
	tap_begin();
	no_schedule_of_one_tier_is_cheaper();
	no_schedule_of_two_tiers_is_cheaper();
	no_schedule_of_two_costly_tiers_is_cheaper();
	no_schedule_of_three_tiers_is_cheaper();
	no_schedule_with_an_unlimited_tier_is_cheaper();
	no_schedule_that_keeps_tapes_has_fewer_advances();
	cheapest_free();
	return tap_end();
}
