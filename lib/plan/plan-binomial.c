/* SPDX-License-Identifier: MIT */
/*
 * Binomial schedules in closed form (Griewank and Walther 2000, Algorithm 799), and the planner
 * that uses the slots of all tiers for one such schedule. The functions calculate; any thread
 * runs them.
 *
 * beta(s, r) = C(s + r, s) is the number of steps that can be reversed with s slots, the first of
 * which holds the first state, if no step is run more than r times without being recorded. To
 * reverse more steps than beta(s, r - 1) and at most beta(s, r), a schedule advances to a split:
 * the steps above it are reversed with s - 1 slots, those below it with s slots. The number of
 * advances is least for all splits in an interval; the split taken has the least number of
 * stores as well.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "plan.h"

/* For the least r with steps <= beta(slots, r). */
struct binomial {
	int64_t r;
	int64_t enough;  /* beta(slots, r) */
	int64_t too_few; /* beta(slots, r - 1) */
};

/* For REEL_MAX_STEPS steps and at least two slots the products stay below 2^63. */
static struct binomial min_repetition(int64_t steps, int64_t slots)
{
	struct binomial beta = {0, 1, 0};

	REEL_ASSERT(slots >= 2 && steps > 0 && steps <= REEL_MAX_STEPS);
	while (beta.enough < steps) {
		beta.r++;
		beta.too_few = beta.enough;
		beta.enough = beta.enough * (slots + beta.r) / beta.r;
	}
	REEL_ASSERT(beta.too_few < steps && steps <= beta.enough);
	return beta;
}

/* Each other state is advanced to from the first: above 2^32 steps the sum overflows. */
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
	beta = min_repetition(steps, slots);
	REEL_ASSERT(beta.enough * beta.r % (slots + 1) == 0);
	return beta.r * steps - beta.enough * beta.r / (slots + 1);
}

/* Returns beta(slots - 1, r), given `beta` = beta(slots, r). */
static int64_t less_a_slot(int64_t beta, int64_t slots, int64_t r)
{
	REEL_ASSERT(beta * slots % (slots + r) == 0);
	return beta * slots / (slots + r);
}

int64_t reel_binomial_split(int64_t steps, int64_t slots)
{
	struct binomial beta;
	int64_t r, above, margin, low;

	REEL_ASSERT(steps >= 2 && slots >= 1);
	if (slots == 1 || steps == 2)
		return steps - 1;
	beta = min_repetition(steps, slots);
	r = beta.r;
	above = less_a_slot(beta.too_few, slots, r - 1);
	margin = less_a_slot(above, slots - 1, r - 1);
	if (steps <= beta.too_few + margin)
		return beta.too_few * (r - 1) / (slots + r - 1);
	low = less_a_slot(less_a_slot(beta.enough, slots, r), slots - 1, r);
	if (steps >= beta.enough - less_a_slot(low, slots - 2, r))
		return beta.too_few;
	REEL_ASSERT(steps - above - margin > 0 && above + margin > 0);
	return steps - above - margin;
}

struct decision reel_binomial_decide_of(int64_t steps, int64_t slots, bool held)
{
	REEL_ASSERT(steps > 0 && slots >= held);
	if (steps == 1)
		return (struct decision){DECIDE_RECORD, 1, 0};
	if (held)
		return (struct decision){DECIDE_ADVANCE, reel_binomial_split(steps, slots), 0};
	if (slots > 0)
		return (struct decision){DECIDE_STORE, 0, 0};
	/* Without a free slot, the steps that are passed are later advanced from a state below. */
	return (struct decision){DECIDE_ADVANCE, steps - 1, 0};
}

struct decision reel_binomial_decide(const reel_schedule *schedule, int64_t steps, bool held)
{
	int64_t slots = schedule->plan->problem.tier[0].slots - schedule->in_use[0] + held;

	return reel_binomial_decide_of(steps, slots, held);
}

const char *reel_problem_of_first_tier(const struct reel_problem *problem)
{
	return problem->tier[0].slots < 1 ? "the first tier has no slot: give it one or more"
					  : NULL;
}

const struct planner reel_planner_binomial = {
	.name = "binomial",
	.problem = reel_problem_of_first_tier,
	.decide = reel_binomial_decide,
};

/* ---- Accesses by depth ---- */

/*
 * The depth of a state is the number of states held below it. A schedule of beta(s, r) steps stores
 * states at depth d beta(d, r - 1) times and loads them beta(d + 1, r - 1) times. Between
 * beta(s, r - 1) and beta(s, r) steps each further step adds one load; each step above
 * beta(s, r - 1) + beta(s - 1, r - 1) steps also adds one store at the same depth.
 *
 * The depths of the loads up to this number are the sequence(s, r), which has beta(s - 1, r - 1)
 * members. It is sequence(s - 1, r), with 1 added to each member, followed by sequence(s, r - 1);
 * if s or r is 1, it is a single 0. beta(d, r - 2) of its members are d. The depths above this
 * number are sequence(s - 1, r + 1), with 1 added to each member, from its end to its beginning.
 */

/* Returns beta(slots, r). The products stay below 2^63, as in min_repetition(). */
static int64_t beta_of(int64_t slots, int64_t r)
{
	int64_t few = slots < r ? slots : r, many = slots < r ? r : slots, beta = 1;

	REEL_ASSERT(few >= 0);
	for (int64_t k = 1; k <= few; k++)
		beta = beta * (many + k) / k;
	return beta;
}

/* Adds `each` to counts[d] for each of the first `length` members d of sequence(slots, r). */
static void add_sequence(int64_t *counts, int64_t slots, int64_t r, int64_t length, int64_t each)
{
	while (length > 0 && slots > 1 && r > 1) {
		int64_t deeper = beta_of(slots - 2, r - 1);

		if (length < deeper) {
			slots--;
			counts++;
			continue;
		}
		for (int64_t d = 0; d < slots - 1; d++)
			counts[d + 1] += each * beta_of(d, r - 2);
		length -= deeper;
		r--;
	}
	REEL_ASSERT(length >= 0 && slots >= 1);
	counts[0] += each * length;
}

static void set_accesses(int64_t slots, int64_t r, struct accesses *accesses)
{
	for (int64_t d = 0; d < slots; d++) {
		accesses->stores[d] = beta_of(d, r - 1);
		accesses->loads[d] = beta_of(d + 1, r - 1);
	}
}

static int64_t sum_of(const int64_t *counts, int64_t depths)
{
	int64_t sum = 0;

	for (int64_t d = 0; d < depths; d++)
		sum += counts[d];
	return sum;
}

static void count_accesses(int64_t steps, int64_t slots, struct accesses *accesses)
{
	struct binomial beta;

	if (steps < 2)
		return;
	if (slots == 1) {
		accesses->stores[0] = 1;
		accesses->loads[0] = steps - 1;
		return;
	}
	beta = min_repetition(steps, slots);
	if (steps - beta.too_few < beta_of(slots - 1, beta.r - 1)) {
		set_accesses(slots, beta.r - 1, accesses);
		add_sequence(accesses->loads, slots, beta.r, steps - beta.too_few, 1);
	} else {
		set_accesses(slots, beta.r, accesses);
		add_sequence(accesses->stores + 1, slots - 1, beta.r + 1, beta.enough - steps, -1);
		add_sequence(accesses->loads + 1, slots - 1, beta.r + 1, beta.enough - steps, -1);
	}
	/* The last step is recorded in the forward sweep, each other step after one LOAD. */
	REEL_ASSERT_EXPENSIVE(sum_of(accesses->loads, slots) == steps - 1);
	REEL_ASSERT_EXPENSIVE(sum_of(accesses->stores, slots) <= steps - 1);
}

int reel_binomial_accesses(int64_t steps, int64_t slots, struct accesses *accesses)
{
	REEL_ASSERT(slots > 0);
	accesses->stores = calloc(2 * (size_t)slots, sizeof *accesses->stores);
	if (!accesses->stores)
		return -ENOMEM;
	accesses->loads = accesses->stores + slots;
	count_accesses(steps, slots, accesses);
	return 0;
}

/* ---- One binomial schedule over the slots of all tiers ---- */

static struct decision choose_multistage(const reel_schedule *schedule, int64_t steps, bool held)
{
	const reel_plan *plan = schedule->plan;
	int64_t slots = reel_plan_all_slots(&plan->problem) - schedule->levels + held;
	struct decision decision = reel_binomial_decide_of(steps, slots, held);

	REEL_ASSERT(slots >= 0);
	if (decision.kind == DECIDE_STORE)
		decision.tier = plan->tier_of_depth[schedule->levels];
	return decision;
}

/* Returns the depth with the most accesses among those without a tier; the lowest of equal ones. */
static unsigned busiest(const struct accesses *accesses, const bool *placed, unsigned depths)
{
	unsigned best = depths;
	int64_t most = -1;

	for (unsigned d = 0; d < depths; d++)
		if (!placed[d] && accesses->stores[d] + accesses->loads[d] > most) {
			best = d;
			most = accesses->stores[d] + accesses->loads[d];
		}
	return best;
}

static int compute_multistage(reel_plan *plan)
{
	unsigned depths = (unsigned)reel_plan_all_slots(&plan->problem);
	struct accesses accesses;
	bool *placed = calloc(depths, sizeof *placed);

	if (!placed || reel_binomial_accesses(plan->problem.steps, depths, &accesses)) {
		free(placed);
		return -ENOMEM;
	}
	for (unsigned t = 0; t < plan->problem.tiers; t++)
		for (int64_t i = 0; i < plan->problem.tier[t].slots; i++) {
			unsigned depth = busiest(&accesses, placed, depths);

			REEL_ASSERT(depth < depths);
			placed[depth] = true;
			plan->tier_of_depth[depth] = (uint8_t)t;
		}
	free(accesses.stores);
	free(placed);
	return 0;
}

static const char *problem_of_multistage(const struct reel_problem *problem)
{
	return reel_plan_all_slots(problem) < 1 ? "no tier has a slot: give one to one of them"
						: NULL;
}

const struct planner reel_planner_multistage = {
	.name = "multistage",
	.problem = problem_of_multistage,
	.compute = compute_multistage,
	.decide = choose_multistage,
};
