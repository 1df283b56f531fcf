/* SPDX-License-Identifier: MIT */
/*
 * Steps that binomial plans run again, beside the two binomial schemes of Enzyme's own header
 * (EnzymeCkptRevolve and EnzymeCkptBinomial). Their rules are counted here, not their code.
 *
 * A number of slots is the same for all three: it includes the slot of the first state, and neither
 * slot -2 nor slot -1, which the driver uses besides. Steps are those of FORWARD actions. All three
 * run the last step once more without a derivative, which is in no count here.
 */
#include <config.h>

#include "helpers/enzyme-driver.h"
#include "helpers/plan-support.h"

enum { MAX_STEPS = 2000, MAX_SLOTS = 30 };

/* ---- The rules of Enzyme's schemes ---- */

/*
 * Both schemes reverse `steps` steps, whose first state is in one of `slots` slots, in this way:
 * they advance some steps, reverse the rest with one slot less, and then what they advanced with
 * all slots. They differ in how far they advance.
 */
typedef int64_t rule(int64_t steps, int64_t slots);

/*
 * C(slots + turns, slots): number of steps that can be reversed if no step is run more than `turns`
 * times. Without a slot it is the step of the state at hand.
 */
static int64_t reach(int64_t slots, int64_t turns)
{
	int64_t steps = 1;

	if (slots < 0 || turns < 0)
		return 0;
	for (int64_t i = 1; i <= slots; i++)
		steps = steps * (turns + i) / i;
	return steps;
}

static int64_t fewest_turns(int64_t steps, int64_t slots)
{
	int64_t turns = 0;

	while (reach(slots, turns) < steps)
		turns++;
	return turns;
}

/*
 * EnzymeCkptRevolve, of Checkpointing.jl's form of Revolve. The bound of the second case is that
 * form's; the one of Griewank and Walther has slots - 2 in place of slots - 1.
 */
static int64_t advance_of_revolve(int64_t steps, int64_t slots)
{
	int64_t turns = fewest_turns(steps, slots);
	int64_t low = reach(slots - 2, turns - 1);
	int64_t bound = slots == 3 ? turns : slots < 3 ? 0 : low * (slots - 1);
	int64_t advance = steps - reach(slots - 1, turns - 1) - low;

	if (steps <= reach(slots, turns - 1) + low)
		advance = reach(slots, turns - 2);
	else if ((reach(slots, turns) - steps) * turns <= bound)
		advance = reach(slots, turns - 1);
	return advance > 0 ? advance : 1;
}

/*
 * EnzymeCkptBinomial: the middle of all numbers of steps with which no step is run more than the
 * fewest turns. One step is left to each slot that is not used yet. The last slot has all steps
 * but the one that is reversed.
 */
static int64_t advance_of_binomial(int64_t steps, int64_t slots)
{
	int64_t turns, low, high, middle;

	if (slots > steps)
		slots = steps;
	if (slots == 1)
		return steps - 1;
	turns = fewest_turns(steps, slots);
	low = steps - reach(slots - 1, turns);
	high = reach(slots, turns - 1);
	low = low < 1 ? 1 : low;
	high = high > steps - 1 ? steps - 1 : high;
	middle = (low + high) / 2;
	return middle > steps - slots + 1 ? steps - slots + 1 : middle;
}

/* advances[slots][steps] */
static void count(int64_t (*advances)[MAX_STEPS + 1], rule *advance_of)
{
	for (int64_t slots = 1; slots <= MAX_SLOTS; slots++)
		for (int64_t steps = 2; steps <= MAX_STEPS; steps++) {
			int64_t advance = advance_of(steps, slots);

			/* With one slot, all steps but one have to be advanced from its state. */
			if (advance < 1 || advance >= steps || (slots == 1 && advance < steps - 1))
				abort();
			advances[slots][steps] = advance + advances[slots - 1][steps - advance] +
						 advances[slots][advance];
		}
}

/*
 * EnzymeCkptBinomial loads the state of its last slot before it reverses the last step, although
 * the state before that step is at hand. It runs the steps in between once more.
 */
static int64_t steps_that_binomial_repeats(int64_t steps, int64_t slots)
{
	for (; steps > 1 && slots > 1; slots--)
		steps -= advance_of_binomial(steps, slots);
	return slots == 1 ? steps - 1 : 0;
}

/* ---- Reel's scheme ---- */

static void pass_step(void *program, int64_t step)
{
	(void)program;
	(void)step;
}

static void pass_state(void *program, int64_t slot, int64_t step)
{
	(void)program;
	(void)slot;
	(void)step;
}

/* A state without regions: nothing is copied. */
static struct driver run_loop(int64_t steps, int64_t slots)
{
	char plan[32];
	struct reel_enzyme_options options = {.plan = plan};
	struct driver driver = {.table = &reel_enzyme_scheme, .options = &options, .steps = steps,
				.step = pass_step, .turn = pass_step, .store = pass_state,
				.restore = pass_state};

	snprintf(plan, sizeof plan, "binomial:%lld", (long long)slots);
	if (driver_forward(&driver) != FIRSTUTURN || driver_reverse(&driver) != DONE ||
	    driver.turns != steps) {
		printf("Bail out! %s, %lld steps: %s\n", plan, (long long)steps,
		       reel_error_text(0));
		exit(EXIT_FAILURE);
	}
	driver.table->finalize(driver.scheme);
	return driver;
}

static int64_t steps_of_plan(int64_t steps, int64_t slots)
{
	struct reel_problem problem = {.steps = steps, .tiers = 1, .tier = {{.slots = slots}},
				       .flags = REEL_REVERSE_AT_ONCE};

	return checked(REEL_BINOMIAL, &problem, steps).advances;
}

/* ---- Comparison ---- */

static struct {
	unsigned loops, wrong_counts, wrong_slots, above_revolve, above_binomial;
	unsigned below_revolve, below_binomial;
} seen;

static int64_t of_revolve[MAX_SLOTS + 1][MAX_STEPS + 1];
static int64_t of_binomial[MAX_SLOTS + 1][MAX_STEPS + 1];

static void compare(int64_t steps, int64_t slots)
{
	struct driver driver = run_loop(steps, slots);
	int64_t advances = driver.forward_steps - 1;
	int64_t revolve = of_revolve[slots][steps];
	int64_t binomial = of_binomial[slots][steps] + steps_that_binomial_repeats(steps, slots);

	seen.loops++;
	seen.wrong_counts += advances != steps_of_plan(steps, slots);
	seen.wrong_slots += driver.slots > slots;
	seen.above_revolve += advances > revolve;
	seen.above_binomial += advances > binomial;
	seen.below_revolve += advances < revolve;
	seen.below_binomial += advances < binomial;
}

int main(void)
{
	static const int64_t larger[][2] = {{MAX_STEPS, 3}, {1000, 5}, {1999, 12}, {MAX_STEPS, 30}};

	tap_begin();
	count(of_revolve, advance_of_revolve);
	count(of_binomial, advance_of_binomial);
	for (int64_t steps = 1; steps <= 200; steps++) {
		for (int64_t slots = 1; slots <= 12; slots++)
			compare(steps, slots);
		compare(steps, MAX_SLOTS);
	}
	for (size_t i = 0; i < COUNT(larger); i++)
		compare(larger[i][0], larger[i][1]);
	is_int(seen.wrong_counts, 0, "steps that are run are those of the plan, in %u loops",
	       seen.loops);
	is_int(seen.wrong_slots, 0, "no more slots are used than were given");
	is_int(seen.above_revolve, 0, "never more steps than EnzymeCkptRevolve");
	is_int(seen.above_binomial, 0, "never more steps than EnzymeCkptBinomial");
	tap_note("fewer than EnzymeCkptRevolve in %u loops, than EnzymeCkptBinomial in %u",
		 seen.below_revolve, seen.below_binomial);
	return tap_end();
}
