/* SPDX-License-Identifier: MIT */
/*
 * Binomial schedules, in closed form (Griewank and Walther 2000, Algorithm 799).
 *
 * With s slots, the first one holding the first state, and no step run more than r
 * times without being recorded, beta(s, r) = C(s + r, s) steps can be reversed. Of
 * `steps` steps, r being the least number that is enough, those below the split have
 * the s slots again and those above it s - 1. The advances are least for splits in a
 * whole interval; the split taken is the one that has the fewest stores as well.
 */
#include "config.h"

#include "plan.h"

/*
 * beta(slots, r) and beta(slots, r - 1), r being the least that is enough. Products stay
 * below 2^63 for up to REEL_MOST_STEPS steps and two slots or more.
 */
struct binomial {
	int64_t r;
	int64_t enough;
	int64_t too_few;
};

static struct binomial least_repetition(int64_t steps, int64_t slots)
{
	struct binomial beta = {0, 1, 0};

	while (beta.enough < steps) {
		beta.r++;
		beta.too_few = beta.enough;
		beta.enough = beta.enough * (slots + beta.r) / beta.r;
	}
	return beta;
}

/* From the first state to each of the others: above 2^32 steps, more than can be counted. */
static int64_t advances_of_one_slot(int64_t steps)
{
	if (steps > (int64_t)1 << 32)
		return INT64_MAX;
	return steps % 2 ? (steps - 1) / 2 * steps : steps / 2 * (steps - 1);
}

int64_t reel_binomial_advances(int64_t steps, int64_t slots)
{
	struct binomial beta;

	if (steps < 2)
		return 0;
	if (slots == 1)
		return advances_of_one_slot(steps);
	beta = least_repetition(steps, slots);
	return beta.r * steps - beta.enough * beta.r / (slots + 1);
}

/* beta(slots - 1, r) of beta(slots, r). */
static int64_t less_a_slot(int64_t beta, int64_t slots, int64_t r)
{
	return beta * slots / (slots + r);
}

int64_t reel_binomial_split(int64_t steps, int64_t slots)
{
	struct binomial beta;
	int64_t r, above, margin, low;

	if (slots == 1 || steps == 2)
		return steps - 1;
	beta = least_repetition(steps, slots);
	r = beta.r;
	above = less_a_slot(beta.too_few, slots, r - 1);
	margin = less_a_slot(above, slots - 1, r - 1);
	if (steps <= beta.too_few + margin)
		return beta.too_few * (r - 1) / (slots + r - 1);
	low = less_a_slot(less_a_slot(beta.enough, slots, r), slots - 1, r);
	if (steps >= beta.enough - less_a_slot(low, slots - 2, r))
		return beta.too_few;
	return steps - above - margin;
}

struct choice reel_binomial_choose_of(int64_t steps, int64_t slots, bool held)
{
	if (steps == 1)
		return (struct choice){CHOOSE_RECORD, 1, 0};
	if (held)
		return (struct choice){CHOOSE_ADVANCE, reel_binomial_split(steps, slots), 0};
	if (slots > 0)
		return (struct choice){CHOOSE_STORE, 0, 0};
	/* A state below serves for the steps that are passed. */
	return (struct choice){CHOOSE_ADVANCE, steps - 1, 0};
}

struct choice reel_binomial_choose(const reel_schedule *schedule, int64_t steps, bool held)
{
	int64_t slots = schedule->plan->problem.tier[0].slots - schedule->in_use[0] + held;

	return reel_binomial_choose_of(steps, slots, held);
}

static const char *problem_of_first_tier(const struct reel_problem *problem)
{
	return problem->tier[0].slots < 1 ? "the first tier has no slot: give it one or more" : NULL;
}

const struct planner reel_planner_binomial = {
	.name = "binomial",
	.problem = problem_of_first_tier,
	.choose = reel_binomial_choose,
};

/* ---- The same over the slots of all tiers ---- */

static struct choice choose_multistage(const reel_schedule *schedule, int64_t steps, bool held)
{
	const reel_plan *plan = schedule->plan;
	int64_t slots = reel_plan_all_slots(&plan->problem) - schedule->levels + held;
	struct choice choice = reel_binomial_choose_of(steps, slots, held);

	if (choice.kind == CHOOSE_STORE)
		choice.tier = plan->tier_of_depth[schedule->levels];
	return choice;
}

/* How often states with so many below them are stored and loaded. */
static void count_accesses(const reel_plan *plan, uint64_t *accesses)
{
	reel_schedule schedule;
	reel_action action;

	reel_schedule_begin(&schedule, plan);
	do {
		reel_schedule_next(&schedule, &action);
		if (action.kind == REEL_STORE || action.kind == REEL_LOAD)
			accesses[schedule.levels - 1]++;
	} while (action.kind != REEL_DONE);
}

/* Of the depths without a tier, the one with the most accesses; of those, the lowest. */
static unsigned busiest(const uint64_t *accesses, const bool *placed, unsigned depths)
{
	unsigned best = depths;

	for (unsigned d = 0; d < depths; d++)
		if (!placed[d] && (best == depths || accesses[d] > accesses[best]))
			best = d;
	return best;
}

/* The counting walk needs no tiers: all depths are in the first one as yet. */
static int compute_multistage(reel_plan *plan)
{
	unsigned depths = (unsigned)reel_plan_all_slots(&plan->problem);
	uint64_t accesses[REEL_MOST_SLOTS] = {0};
	bool placed[REEL_MOST_SLOTS] = {false};

	count_accesses(plan, accesses);
	for (unsigned t = 0; t < plan->problem.tiers; t++)
		for (int64_t i = 0; i < plan->problem.tier[t].slots; i++) {
			unsigned depth = busiest(accesses, placed, depths);

			placed[depth] = true;
			plan->tier_of_depth[depth] = (uint8_t)t;
		}
	return 0;
}

static const char *problem_of_multistage(const struct reel_problem *problem)
{
	if (problem->steps > REEL_MOST_WALKED_STEPS)
		return "multistage walks through its schedule first: group the steps into at most "
		       "10^8 segments";
	return reel_plan_all_slots(problem) < 1 ? "no tier has a slot: give one to one of them"
						: NULL;
}

const struct planner reel_planner_multistage = {
	.name = "multistage",
	.problem = problem_of_multistage,
	.compute = compute_multistage,
	.choose = choose_multistage,
};
