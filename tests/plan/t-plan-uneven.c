/* SPDX-License-Identifier: MIT */
/*
 * Plans of uneven steps, judged by two searches. For few steps, one of them tries all actions and
 * knows no recursion. For up to twelve steps, the other one tries all plans that keep each object
 * until its last use, and counts bytes, not levels.
 */
#include <config.h>

#include <math.h>

#include "helpers/cheapest.h"
#include "helpers/plan-support.h"

#define MAX_STEPS 12

/* ---- Random problems; times and bytes are small integers, so that sums are exact ---- */

struct problem {
	struct reel_uneven_problem uneven;
	struct reel_uneven_step step[REEL_MAX_UNEVEN_STEPS];
};

static uint64_t state_of_random;

static unsigned draw(unsigned below)
{
	state_of_random = state_of_random * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)((state_of_random >> 33) % below);
}

static void draw_uneven(struct problem *problem, size_t steps, uint64_t seed)
{
	uint64_t sum = 0;

	*problem = (struct problem){.uneven = {.steps = steps}};
	problem->uneven.step = problem->step;
	state_of_random = seed;
	draw(1);
	for (size_t i = 0; i < steps; i++) {
		struct reel_uneven_step *step = &problem->step[i];

		step->advance = draw(20);
		step->record = step->advance + draw(10);
		step->reverse = draw(30);
		step->state_bytes = 1 + draw(8);
		step->tape_bytes = 1 + draw(20);
		step->work_bytes = draw(4);
		sum += step->tape_bytes;
	}
	problem->uneven.memory_bytes = 1 + draw((unsigned)sum + 10);
	if (seed % 3) {
		problem->uneven.store_bandwidth = 1.0 / (1 + draw(3));
		problem->uneven.load_bandwidth = 1.0 / (1 + draw(3));
	}
}

/* ---- All actions ---- */

enum { IN_MEMORY, IN_STORE, TAPE_IN_MEMORY, TAPE_IN_STORE, SHELVES };

/* The working state (`steps`: none), the steps left, and a bit for each kept state or tape. */
struct place {
	unsigned working, left, kept[SHELVES];
};

static uint32_t encode(const struct reel_uneven_problem *uneven, const struct place *place)
{
	uint32_t code = place->working << 3 | place->left;

	for (unsigned s = 0; s < SHELVES; s++)
		code = code << uneven->steps | place->kept[s];
	return code;
}

static struct place decode(const struct reel_uneven_problem *uneven, uint32_t code)
{
	struct place place = {0};

	for (unsigned s = SHELVES; s-- > 0; code >>= uneven->steps)
		place.kept[s] = code & ((1u << uneven->steps) - 1);
	place.left = code & 7;
	place.working = code >> 3;
	return place;
}

static uint64_t used(const struct reel_uneven_problem *uneven, const struct place *place)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < uneven->steps; i++) {
		bytes += place->kept[IN_MEMORY] >> i & 1 ? uneven->step[i].state_bytes : 0;
		bytes += place->kept[TAPE_IN_MEMORY] >> i & 1 ? uneven->step[i].tape_bytes : 0;
	}
	return bytes;
}

/* The time is a whole number, as all times of the problems are. */
static void reach(const struct reel_uneven_problem *uneven, const struct place *place, double time)
{
	if (used(uneven, place) <= uneven->memory_bytes)
		cheapest_reach(encode(uneven, place), (unsigned)lround(time));
}

static double transfer(double bandwidth, uint64_t bytes)
{
	return (double)bytes / bandwidth;
}

static void run_step(const struct reel_uneven_problem *uneven, struct place place, double time)
{
	unsigned i = place.working;
	const struct reel_uneven_step *step = &uneven->step[i];
	uint64_t bytes = used(uneven, &place);

	if (i >= place.left)
		return;
	place.working++;
	if (bytes + step->work_bytes <= uneven->memory_bytes)
		reach(uneven, &place, time + step->advance);
	if (bytes + step->work_bytes + step->tape_bytes > uneven->memory_bytes)
		return;
	place.kept[TAPE_IN_MEMORY] |= 1u << i;
	reach(uneven, &place, time + step->record);
}

/* Reverses the last step left, which is recorded. The working state is lost or past. */
static void reverse_step(const struct reel_uneven_problem *uneven, struct place place, double time)
{
	unsigned i = --place.left;

	if (!(place.kept[TAPE_IN_MEMORY] >> i & 1) ||
	    used(uneven, &place) + uneven->step[i].work_bytes > uneven->memory_bytes)
		return;
	place.working = place.working > i ? (unsigned)uneven->steps : place.working;
	for (unsigned s = 0; s < SHELVES; s++)
		place.kept[s] &= (1u << i) - 1;
	reach(uneven, &place, time + uneven->step[i].reverse);
}

static void move_item(const struct reel_uneven_problem *uneven, struct place place, unsigned shelf,
		      unsigned i, double time)
{
	struct place to = place;
	uint64_t bytes = shelf < TAPE_IN_MEMORY ? uneven->step[i].state_bytes
						: uneven->step[i].tape_bytes;

	if (place.kept[shelf] >> i & 1) {
		to.kept[shelf] &= ~(1u << i);
		if (shelf <= IN_STORE)
			reach(uneven, &to, time);
		to.kept[shelf ^ 1] |= 1u << i;
		if (uneven->store_bandwidth > 0)
			reach(uneven, &to, time + transfer(shelf & 1 ? uneven->load_bandwidth
								   : uneven->store_bandwidth, bytes));
	}
}

static void use_states(const struct reel_uneven_problem *uneven, struct place place, unsigned i, double time)
{
	const struct reel_uneven_step *step = &uneven->step[i];
	struct place to = place;

	if (place.working == i) {
		to.kept[IN_MEMORY] |= 1u << i;
		reach(uneven, &to, time);
		to = place;
		to.kept[IN_STORE] |= 1u << i;
		if (uneven->store_bandwidth > 0)
			reach(uneven, &to, time + transfer(uneven->store_bandwidth, step->state_bytes));
	}
	to = place;
	to.working = i;
	if (place.kept[IN_MEMORY] >> i & 1)
		reach(uneven, &to, time);
	if (place.kept[IN_STORE] >> i & 1)
		reach(uneven, &to, time + transfer(uneven->load_bandwidth, step->state_bytes));
}

static bool visit(const void *context, uint32_t code, unsigned time)
{
	const struct reel_uneven_problem *uneven = context;
	struct place place = decode(uneven, code);

	if (place.left == 0)
		return true;
	run_step(uneven, place, time);
	reverse_step(uneven, place, time);
	for (unsigned i = 0; i < place.left; i++) {
		use_states(uneven, place, i, time);
		for (unsigned shelf = 0; shelf < SHELVES; shelf++)
			move_item(uneven, place, shelf, i, time);
	}
	return false;
}

/* The least time of all sequences of actions; INFINITY if none fits. */
static double least_of_actions(const struct reel_uneven_problem *uneven)
{
	struct place start = {.left = (unsigned)uneven->steps};
	unsigned time = cheapest_cost((size_t)1 << (6 + SHELVES * uneven->steps),
				      encode(uneven, &start), uneven, visit);

	return time < CHEAPEST_MAX ? (double)time : (double)INFINITY;
}

/* The time of the plan; INFINITY if there is no plan, -1 if the check finds it wrong. */
static double time_of_plan(const struct reel_uneven_problem *uneven)
{
	struct reel_schedule_report report = {0};
	reel_plan *plan = NULL;
	int error = reel_plan_open_uneven(&plan, uneven);

	if (error == -ENOSPC)
		return INFINITY;
	if (!error)
		error = reel_plan_check(plan, NULL, 0, &report);
	reel_plan_close(plan);
	if (!error)
		return report.makespan;
	tap_note("%d: action %lld: %s", error, (long long)report.wrong_action,
		 report.wrong ? report.wrong : "no plan");
	return -1;
}

/* ---- All plans that keep each object until its last use ---- */

#define MAX_BYTES 512
/* Where a copy of the first state of a range is kept: nowhere, in memory or in the store. */
enum { FREE, HELD_IN_MEMORY, HELD_IN_STORE, KINDS };

/* The least times that are known, by range, kind and free bytes; below 0: not known yet. */
static double known[MAX_STEPS][MAX_STEPS + 1][KINDS][MAX_BYTES];

static double least_of(const struct reel_uneven_problem *uneven, unsigned kind, size_t first, size_t last,
		       uint64_t bytes);

static double min(double a, double b)
{
	return b < a ? b : a;
}

/* The least time if the first step is recorded now. */
static double least_recorded(const struct reel_uneven_problem *uneven, size_t first, size_t last,
			     uint64_t bytes)
{
	const struct reel_uneven_step *step = &uneven->step[first];
	double time = step->record + step->reverse, least;

	if (step->tape_bytes + step->work_bytes > bytes)
		return INFINITY;
	if (first + 1 == last)
		return time;
	least = least_of(uneven, FREE, first + 1, last, bytes - step->tape_bytes);
	if (uneven->store_bandwidth > 0)
		least = min(least, transfer(uneven->store_bandwidth, step->tape_bytes) +
					   transfer(uneven->load_bandwidth, step->tape_bytes) +
					   least_of(uneven, FREE, first + 1, last, bytes));
	return time + least;
}

/* The least time if the first steps run, the others are reversed, and the first state is loaded. */
static double least_turn(const struct reel_uneven_problem *uneven, unsigned kind, size_t first, size_t last,
			 uint64_t bytes)
{
	double least = INFINITY, time = 0;

	if (kind == HELD_IN_STORE)
		time = transfer(uneven->load_bandwidth, uneven->step[first].state_bytes);
	for (size_t k = first + 1; k < last && uneven->step[k - 1].work_bytes <= bytes; k++) {
		if (k > first + 1 && uneven->flags & REEL_UNEVEN_OWN_STATES)
			break;
		time += uneven->step[k - 1].advance;
		least = min(least, time + least_of(uneven, FREE, k, last, bytes) +
					   least_of(uneven, kind, first, k, bytes));
	}
	return least;
}

/* A copy that is held may be given up, also for a copy elsewhere. */
static double search(const struct reel_uneven_problem *uneven, unsigned kind, size_t first, size_t last,
		     uint64_t bytes)
{
	uint64_t state = uneven->step[first].state_bytes;
	double least = INFINITY;

	if (kind != FREE)
		least = least_turn(uneven, kind, first, last, bytes);
	if (kind == HELD_IN_MEMORY)
		bytes += state;
	least = min(least, least_recorded(uneven, first, last, bytes));
	if (state <= bytes)
		least = min(least, least_turn(uneven, HELD_IN_MEMORY, first, last, bytes - state));
	if (uneven->store_bandwidth > 0)
		least = min(least, transfer(uneven->store_bandwidth, state) +
					   least_turn(uneven, HELD_IN_STORE, first, last, bytes));
	return least;
}

static double least_of(const struct reel_uneven_problem *uneven, unsigned kind, size_t first, size_t last,
		       uint64_t bytes)
{
	double *time = &known[first][last][kind][bytes];

	if (bytes >= MAX_BYTES)
		abort();
	if (*time < 0)
		*time = search(uneven, kind, first, last, bytes);
	return *time;
}

static void forget(void)
{
	for (size_t i = 0; i < sizeof known / sizeof(double); i++)
		(&known[0][0][0][0])[i] = -1;
}

/* ---- Tests ---- */

static bool is_equal(double a, double b)
{
	return (isinf(a) && isinf(b)) || fabs(a - b) <= 1e-5 * b;
}

/*
 * Some are, which give up a kept state and run its steps again from one below it. No plan of this
 * planner does so.
 */
static void hardly_a_sequence_of_actions_is_faster(void)
{
	unsigned seeds = is_brief() ? 300 : 3000, wrong = 0, none = 0;
	static struct problem problem;

	for (uint64_t seed = 0; seed < seeds; seed++) {
		double least, time;

		draw_uneven(&problem, 1 + seed % 4, seed);
		least = least_of_actions(&problem.uneven);
		time = time_of_plan(&problem.uneven);
		none += isinf(least) != 0;
		wrong += !is_equal(time, least);
		if (!is_equal(time, least))
			tap_note("seed %u: %g, %g would do", (unsigned)seed, time, least);
	}
	ok(1000 * wrong <= seeds, "sequences of actions are faster in %u of %u problems", wrong,
	   seeds);
	ok(none < seeds / 2, "%u problems do not fit into their memory", none);
}

static void no_plan_of_twelve_steps_is_faster(uint64_t flags, const char *kind)
{
	unsigned seeds = is_exhaustive() ? is_brief() ? 300 : 100000 : 30, wrong = 0;
	static struct problem problem;

	for (uint64_t seed = 0; seed < seeds; seed++) {
		double least, time;

		draw_uneven(&problem, 1 + seed % MAX_STEPS, seed);
		problem.uneven.flags = flags;
		forget();
		least = least_of(&problem.uneven, FREE, 0, problem.uneven.steps,
				 problem.uneven.memory_bytes);
		time = time_of_plan(&problem.uneven);
		wrong += !is_equal(time, least);
		if (!is_equal(time, least))
			tap_note("seed %u: %g, %g would do", (unsigned)seed, time, least);
	}
	is_int(wrong, 0, "no plan of up to %d steps%s is faster, in %u problems", MAX_STEPS, kind,
	       seeds);
}

/* These sizes are no multiples of a level. */
static void long_chains_stay_within_their_memory(void)
{
	static struct problem problem;
	double least = 0, time[3];

	draw_uneven(&problem, REEL_MAX_UNEVEN_STEPS / 4, 7);
	for (size_t i = 0; i < problem.uneven.steps; i++) {
		problem.step[i].tape_bytes = 1000003 + draw(9000000);
		problem.step[i].state_bytes = 100003 + draw(1000000);
		least += problem.step[i].record + problem.step[i].reverse;
	}
	problem.uneven.store_bandwidth = problem.uneven.load_bandwidth = 0;
	for (unsigned n = 0; n < 3; n++) {
		problem.uneven.memory_bytes = n < 2 ? (uint64_t)(n + 1) * 100000000 : UINT64_MAX;
		time[n] = time_of_plan(&problem.uneven);
	}
	ok(time[2] == least, "a problem that fits runs each step once");
	ok(time[0] > time[1] && time[1] > least && time[0] < 2 * least,
	   "with less memory it takes %g and %g times as long", time[1] / least, time[0] / least);
}

static void what_is_no_chain_is_refused(void)
{
	static const struct reel_uneven_step good = {1, 1, 1, 10, 10, 0};
	struct reel_uneven_step bad = good;
	struct reel_uneven_problem uneven = {.steps = 1, .step = &bad, .memory_bytes = 100};
	reel_plan *plan;

	bad.advance = -1;
	is_int(reel_plan_open_uneven(&plan, &uneven), -EINVAL, "a time below 0: %s",
	       reel_error_text(0));
	bad = good;
	bad.tape_bytes = UINT64_MAX;
	is_int(reel_plan_open_uneven(&plan, &uneven), -EINVAL, "too many bytes: %s",
	       reel_error_text(0));
	bad = good;
	uneven.load_bandwidth = (double)NAN;
	is_int(reel_plan_open_uneven(&plan, &uneven), -EINVAL, "a bandwidth: %s", reel_error_text(0));
	uneven.load_bandwidth = 0;
	uneven.steps = REEL_MAX_UNEVEN_STEPS + 1;
	is_int(reel_plan_open_uneven(&plan, &uneven), -EINVAL, "too many steps: %s",
	       reel_error_text(0));
	uneven.steps = 1;
	uneven.flags = 2;
	is_int(reel_plan_open_uneven(&plan, &uneven), -EINVAL, "a flag: %s", reel_error_text(0));
	uneven.flags = 0;
	uneven.memory_bytes = 9;
	is_int(reel_plan_open_uneven(&plan, &uneven), -ENOSPC, "no memory: %s", reel_error_text(0));
	uneven.steps = 0;
	is_int(reel_plan_open_uneven(&plan, &uneven), 0, "no steps are planned");
	reel_plan_close(plan);
	is_int(reel_plan_open_uneven(&plan, NULL), -EINVAL, "no problem: %s", reel_error_text(0));
}

int main(void)
{
	tap_begin();
	hardly_a_sequence_of_actions_is_faster();
	no_plan_of_twelve_steps_is_faster(0, "");
	no_plan_of_twelve_steps_is_faster(REEL_UNEVEN_OWN_STATES, " from their own states");
	long_chains_stay_within_their_memory();
	what_is_no_chain_is_refused();
	cheapest_free();
	return tap_end();
}
