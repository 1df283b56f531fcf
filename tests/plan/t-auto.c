/* SPDX-License-Identifier: MIT */
/*
 * Plans that learn, on simulated machines. A simulation carries the actions out with a clock and a
 * pile of bytes, of which the top is in memory and the bottom in a store, which writes and reads in
 * the background. It tells the schedule only what has been seen so far. Its time is compared with
 * the time of the best fixed plan, which reel_costs_choose() finds by knowing all from the first.
 */
#include <config.h>

#include "helpers/plan-support.h"

#include "plan/plan.h"

#define STATE 0
#define TAPE 1
/* Number of slots of each tier. */
#define SLOTS 1024

/* A state, or the tape of some steps. The pile is in the order of the steps. */
struct item {
	int64_t first;
	double bytes;
	unsigned slot; /* of a state */
	int kind;
};

struct machine {
	struct reel_costs costs; /* as they are; costs.steps is the length of the loop */
	struct reel_costs known; /* as they were seen so far */
	double now;
	struct item *pile;
	size_t items, room;
	double total;   /* bytes of the pile */
	double written; /* of these, from the bottom, in the store */
	double away;    /* of these, from the bottom, not in memory */
	bool reads;     /* in the reverse sweep */
	double peak;    /* maximum of the bytes in memory */
	const char *wrong;
};

_Noreturn static void bail_out(void)
{
	printf("Bail out! no memory\n");
	exit(EXIT_FAILURE);
}

static double write_rate(const struct machine *machine)
{
	return machine->costs.tiers ? machine->costs.tier[0].write_bandwidth : 0;
}

/* The store works for a time: it reads first if memory has room, else it writes. */
static void work(struct machine *machine, double seconds)
{
	double memory = (double)machine->costs.memory_bytes;

	machine->now += seconds;
	if (!machine->costs.tiers)
		return;
	if (machine->reads && machine->away > 0) {
		double rate = machine->costs.tier[0].read_bandwidth;
		double room = memory - (machine->total - machine->away);
		double bytes = fmax(0, fmin(rate * seconds, fmin(room, machine->away)));

		machine->away -= bytes;
		seconds -= bytes / rate;
	}
	machine->written = fmin(machine->total, machine->written + write_rate(machine) * seconds);
}

/* Bytes come to the top of the pile; what is in the store may leave memory for them. */
static void push(struct machine *machine, double bytes)
{
	double memory = (double)machine->costs.memory_bytes;
	double over = machine->total - machine->away + bytes - memory;

	if (over > machine->written - machine->away && write_rate(machine) > 0) {
		double seconds = (over - (machine->written - machine->away)) / write_rate(machine);

		machine->now += seconds;
		machine->written += seconds * write_rate(machine);
	}
	if (over > 0)
		machine->away += fmin(over, machine->written - machine->away);
	machine->total += bytes;
	if (machine->total - machine->away > memory * (1 + 1e-9))
		machine->wrong = "memory is exceeded";
	if (machine->total - machine->away > machine->peak)
		machine->peak = machine->total - machine->away;
}

/* Bytes are needed at a place of the pile: what is above and away is read. */
static void need(struct machine *machine, double from)
{
	if (machine->away <= from)
		return;
	machine->now += (machine->away - from) / machine->costs.tier[0].read_bandwidth;
	machine->away = from;
	machine->known.tier[0].read_bandwidth = machine->costs.tier[0].read_bandwidth;
}

/* Bytes that begin at a place of the pile are gone. */
static void take_out(struct machine *machine, double from, double bytes)
{
	machine->away -= fmax(0, fmin(machine->away - from, bytes));
	machine->written -= fmax(0, fmin(machine->written - from, bytes));
	machine->total -= bytes;
}

static double place_of(const struct machine *machine, size_t item)
{
	double bytes = 0;

	for (size_t i = 0; i < item; i++)
		bytes += machine->pile[i].bytes;
	return bytes;
}

static void add_item(struct machine *machine, struct item item)
{
	if (machine->items == machine->room) {
		machine->room = 2 * machine->room + 64;
		machine->pile = realloc(machine->pile, machine->room * sizeof *machine->pile);
		if (!machine->pile)
			bail_out();
	}
	machine->pile[machine->items++] = item;
}

static void remove_item(struct machine *machine, size_t item)
{
	machine->items--;
	memmove(&machine->pile[item], &machine->pile[item + 1],
		(machine->items - item) * sizeof *machine->pile);
}

static size_t item_of(const struct machine *machine, int kind, unsigned slot)
{
	for (size_t i = machine->items; i-- > 0;)
		if (machine->pile[i].kind == kind && (kind == TAPE || machine->pile[i].slot == slot))
			return i;
	return 0;
}

static void record(struct machine *machine, const reel_action *action)
{
	double each = (double)machine->costs.tape_bytes;
	struct item *top;

	if (!machine->items || machine->pile[machine->items - 1].kind != TAPE)
		add_item(machine, (struct item){.first = action->first, .kind = TAPE});
	top = &machine->pile[machine->items - 1];
	for (int64_t i = action->first; i < action->last; i++) {
		work(machine, machine->costs.record_seconds);
		push(machine, each);
		top->bytes += each;
	}
}

static void reverse(struct machine *machine, const reel_action *action)
{
	struct item *top = &machine->pile[machine->items - 1];
	double each = (double)machine->costs.tape_bytes;

	machine->reads = true;
	for (int64_t i = action->first; i < action->last; i++) {
		need(machine, machine->total - each);
		work(machine, machine->costs.reverse_seconds);
		take_out(machine, machine->total - each, each);
		top->bytes -= each;
	}
	if (top->bytes < each / 2)
		machine->items--;
}

static void forget(struct machine *machine, const reel_action *action)
{
	size_t item = item_of(machine, TAPE, 0);
	double bytes = (double)(action->last - action->first) * (double)machine->costs.tape_bytes;
	double from = place_of(machine, item) + machine->pile[item].bytes - bytes;

	take_out(machine, from, bytes);
	machine->pile[item].bytes -= bytes;
	if (machine->pile[item].bytes < 1)
		remove_item(machine, item);
}

static void use_slot(struct machine *machine, const reel_action *action)
{
	double bytes = (double)machine->costs.state_bytes;
	unsigned slot = action->slot + action->tier * SLOTS;
	size_t item;

	if (action->kind == REEL_ACTION_STORE) {
		push(machine, bytes);
		add_item(machine, (struct item){action->first, bytes, slot, STATE});
		return;
	}
	item = item_of(machine, STATE, slot);
	if (action->kind == REEL_ACTION_LOAD) {
		need(machine, place_of(machine, item));
		return;
	}
	take_out(machine, place_of(machine, item), bytes);
	remove_item(machine, item);
}

static void act(struct machine *machine, const reel_action *action)
{
	switch (action->kind) {
	case REEL_ACTION_ADVANCE:
		work(machine, machine->costs.advance_seconds *
				      (double)(action->last - action->first));
		machine->known.advance_seconds = machine->costs.advance_seconds;
		break;
	case REEL_ACTION_RECORD:
		record(machine, action);
		machine->known.record_seconds = machine->costs.record_seconds;
		machine->known.tape_bytes = machine->costs.tape_bytes;
		break;
	case REEL_ACTION_REVERSE:
		reverse(machine, action);
		machine->known.reverse_seconds = machine->costs.reverse_seconds;
		break;
	case REEL_ACTION_FORGET:
		forget(machine, action);
		break;
	case REEL_ACTION_STORE:
	case REEL_ACTION_LOAD:
	case REEL_ACTION_DROP:
		use_slot(machine, action);
		break;
	case REEL_ACTION_DONE:
		break;
	}
	if (machine->costs.tiers && machine->written > 0)
		machine->known.tier[0].write_bandwidth = write_rate(machine);
}

/* ---- Loops ---- */

/* The loop and the program that a simulation runs on a machine. */
struct way {
	bool knows_end;  /* the number of steps is known from the first */
	bool is_saved;   /* restart files are written */
	unsigned flags;  /* of the problem */
	bool is_second;  /* an earlier gradient has shown what the machine is like */
};

struct result {
	double seconds;
	double peak;        /* bytes in memory */
	const char *wrong;  /* NULL: nothing */
	struct reel_schedule_report report;
};

/* The actions of a loop, which the checker replays. */
static reel_action *actions;
static size_t count, room;

static void note_action(const reel_action *action)
{
	if (count == room) {
		room = 2 * room + 1024;
		actions = realloc(actions, room * sizeof *actions);
		if (!actions)
			bail_out();
	}
	actions[count++] = *action;
}

static void check_actions(struct reel_problem problem, struct result *result)
{
	reel_plan *plan;

	if (reel_plan_open_actions(&plan, &problem, actions, count - 1))
		bail_out();
	if (reel_plan_check(plan, NULL, problem.steps, &result->report) && !result->wrong)
		result->wrong = result->report.wrong;
	reel_plan_close(plan);
}

/*
 * Takes the next action, and notes it. Ends the loop after `steps` steps. Returns false if the
 * action is an empty one: another one comes next.
 */
static bool take_action(reel_schedule *schedule, int64_t steps, reel_action *action,
			const char **wrong)
{
	if (reel_schedule_next(schedule, action) == -EAGAIN && action->last >= steps) {
		action->last = steps;
		if (reel_schedule_end(schedule, steps, steps))
			*wrong = "the loop does not end";
	}
	if (action->kind <= REEL_ACTION_RECORD && action->first == action->last)
		return false;
	note_action(action);
	return true;
}

/*
 * Runs the loop once, by the plan of the problem. *known is what has been seen before, and then also
 * what it shows.
 */
static struct result run_loop(const struct reel_costs *costs, enum reel_planner planner,
			      struct reel_problem problem, struct way way, struct reel_costs *known)
{
	int64_t steps = costs->steps;
	struct machine machine = {.costs = *costs, .known = *known};
	struct result result = {0};
	reel_plan *plan = open_plan(planner, &problem);
	reel_schedule *schedule = open_schedule(plan);
	reel_action action;

	schedule->is_saved = way.is_saved;
	count = 0;
	do {
		reel_schedule_learn(schedule, &machine.known);
		if (take_action(schedule, steps, &action, &machine.wrong))
			act(&machine, &action);
	} while (action.kind != REEL_ACTION_DONE && !machine.wrong);
	result.seconds = machine.now;
	result.peak = machine.peak;
	result.wrong = machine.wrong;
	*known = machine.known;
	problem.steps = steps;
	check_actions(problem, &result);
	free(machine.pile);
	reel_schedule_close(schedule);
	reel_plan_close(plan);
	return result;
}

static struct result simulate(const struct reel_costs *costs, struct way way)
{
	struct reel_costs known = {.state_bytes = costs->state_bytes,
				   .memory_bytes = costs->memory_bytes, .tiers = costs->tiers};
	struct reel_problem problem = {.steps = way.knows_end ? costs->steps : REEL_UNKNOWN_STEPS,
				       .flags = way.flags, .tiers = 1, .tier[0].slots = SLOTS};
	struct result result = run_loop(costs, REEL_AUTO, problem, way, &known);

	return way.is_second && !result.wrong ? run_loop(costs, REEL_AUTO, problem, way, &known)
					      : result;
}

/* ---- Random machines ---- */

static uint64_t state;

static double uniform(double low, double high)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return low + (high - low) * (double)(state >> 11) / 9007199254740992.0;
}

static double over_magnitudes(double low, double high)
{
	return exp(uniform(log(low), log(high)));
}

/* A step takes 1 s. Half of the machines have a store, of a tenth to ten times the rate of tapes. */
static struct reel_costs random_machine(uint64_t seed)
{
	struct reel_costs costs = {.advance_seconds = 1};
	double tape, state_bytes, memory;

	state = seed * 0x9E3779B97F4A7C15u + 1;
	for (int i = 0; i < 8; i++)
		uniform(0, 1);
	costs.steps = (int64_t)over_magnitudes(1, 5000);
	costs.record_seconds = uniform(1, 3);
	costs.reverse_seconds = uniform(1, 4);
	tape = over_magnitudes(1e5, 1e7);
	state_bytes = tape * over_magnitudes(0.02, 3);
	memory = tape * over_magnitudes(2, 2.0 * (double)costs.steps + 4) +
		 4 * (state_bytes + tape);
	costs.tape_bytes = (uint64_t)tape;
	costs.state_bytes = (uint64_t)state_bytes;
	costs.memory_bytes = (uint64_t)memory;
	if (uniform(0, 1) < 0.5) {
		costs.tiers = 1;
		costs.tier[0].write_bandwidth =
			tape / costs.record_seconds * over_magnitudes(0.1, 10);
		costs.tier[0].read_bandwidth =
			costs.tier[0].write_bandwidth * over_magnitudes(0.7, 2);
	}
	return costs;
}

/* ---- Against the best fixed plan ---- */

#define MOST 1000

static int machines(void)
{
	return is_brief() ? is_sanitized() ? 20 : 100 : MOST;
}

static int up(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void describe(int seed, const struct reel_costs *costs, const char *what)
{
	double tape = (double)costs->tape_bytes, record = costs->record_seconds;

	tap_note("machine %d: %s: %lld steps, record %.2f, reverse %.2f, memory %.1f tapes, state "
		 "%.2f tapes, write %.2f, read %.2f of a tape in a record", seed, what,
		 (long long)costs->steps, record, costs->reverse_seconds,
		 (double)costs->memory_bytes / tape, (double)costs->state_bytes / tape,
		 costs->tier[0].write_bandwidth * record / tape,
		 costs->tier[0].read_bandwidth * record / tape);
}

/* The bar is 1.10 in 95 of 100 loops. */
static void are_near(double *ratio, int loops, const char *name)
{
	int near = 0;

	for (int i = 0; i < loops; i++)
		near += ratio[i] <= 1.10;
	qsort(ratio, (size_t)loops, sizeof *ratio, up);
	ok(100 * near >= 95 * loops, "%s: %d of %d loops take at most 1.10 of the time of the best "
	   "fixed plan; median %.3f, 95 %% %.3f, the slowest %.3f", name, near, loops,
	   ratio[loops / 2], ratio[loops * 95 / 100], ratio[loops - 1]);
}

/*
 * reel_costs_choose() has no plan for some machines, whose
 * memory it would not fill to the last byte.
 */
static void the_time_is_near_that_of_the_best_fixed_plan(struct way way, const char *name)
{
	static double ratio[MOST];
	int tried = 0;
	bool is_right = true;

	for (int seed = 1; tried < machines(); seed++) {
		struct reel_costs costs = random_machine((uint64_t)seed);
		struct reel_choice choice;
		struct result result;
		char text[64];

		if (reel_costs_choose(&costs, &choice))
			continue;
		result = simulate(&costs, way);
		ratio[tried] = result.seconds / choice.best.makespan;
		is_right = is_right && !result.wrong;
		snprintf(text, sizeof text, "%.3f of %s", ratio[tried],
			 reel_planner_name(choice.best.planner));
		if (result.wrong || ratio[tried] > 1.10)
			describe(seed, &costs, result.wrong ? result.wrong : text);
		tried++;
	}
	ok(is_right, "%s: the actions are right, and the memory is enough", name);
	are_near(ratio, tried, name);
}

/* ---- Loops of other programs ---- */

/* Every length of short loops, with memory from the smallest on. */
static void short_loops_are_right(struct way way, const char *name)
{
	bool is_right = true;

	for (int64_t steps = 0; steps <= 12; steps++)
		for (uint64_t memory = 2; memory <= 30; memory++) {
			struct reel_costs costs = {.steps = steps, .advance_seconds = 1,
						   .record_seconds = 2, .reverse_seconds = 2,
						   .tape_bytes = 200, .state_bytes = 100,
						   .memory_bytes = 200 + 100 * memory};
			struct result result = simulate(&costs, way);

			if (result.wrong)
				tap_note("%lld steps, memory %d: %s", (long long)steps, (int)memory,
					 result.wrong);
			is_right = is_right && !result.wrong && result.report.reversed == steps;
		}
	ok(is_right, "%s: loops of 0 to 12 steps are right with any memory", name);
}

/* A program that keeps the data of one step only has states in all of its memory. */
static void steps_are_reversed_at_once_where_the_program_says_so(void)
{
	struct reel_costs costs = {.steps = 1000, .advance_seconds = 1, .record_seconds = 2,
				   .reverse_seconds = 2, .tape_bytes = 1, .state_bytes = 100,
				   .memory_bytes = 3101};
	struct way way = {.knows_end = true, .flags = REEL_REVERSE_AT_ONCE};
	struct reel_problem problem = one_tier(1000, 31);
	struct result result = simulate(&costs, way);
	int64_t least = checked(REEL_BINOMIAL, &problem, 1000).advances;

	if (result.wrong)
		tap_note("%s", result.wrong);
	ok(!result.wrong && result.report.peak_tape_steps == 1, "one step is recorded at a time");
	is_int(result.report.advances, least, "as few steps run again as in a binomial plan");
	way.knows_end = false;
	result = simulate(&costs, way);
	ok(!result.wrong && result.report.peak_tape_steps == 1 &&
	   result.report.advances - least < 1000 / 5, "about as few if the end is not known: %lld "
	   "and %lld", (long long)result.report.advances, (long long)least);
}

/*
 * In memory, or in a store that is ten times as fast as the steps. With half of the memory the
 * schedule cannot keep all states, and still runs few steps again.
 */
static void all_states_that_have_room_are_kept(void)
{
	struct reel_costs costs = {.steps = 1000, .advance_seconds = 1, .record_seconds = 1,
				   .reverse_seconds = 2, .tape_bytes = 1, .state_bytes = 100,
				   .memory_bytes = 100200};
	struct way way = {.flags = REEL_REVERSE_AT_ONCE};
	struct result result = simulate(&costs, way);

	ok(!result.wrong && result.report.advances <= 1000,
	   "no step runs a third time if all states have room in memory: %lld advances",
	   (long long)result.report.advances);
	costs.memory_bytes = 10100;
	costs.tiers = 1;
	costs.tier[0].write_bandwidth = costs.tier[0].read_bandwidth = 1000;
	result = simulate(&costs, way);
	ok(!result.wrong && result.report.advances <= 1000,
	   "nor if they have room in the store: %lld advances", (long long)result.report.advances);
	costs.memory_bytes = 50101;
	costs.tiers = 0;
	result = simulate(&costs, way);
	ok(!result.wrong && result.report.advances <= 1600,
	   "half of the states save half of the advances: %lld", (long long)result.report.advances);
}

/* The time of the best of some plans: binomial in memory, or of two levels, of some periods. */
static double best_fixed_seconds(const struct reel_costs *costs)
{
	int64_t slots = (int64_t)(costs->memory_bytes / costs->state_bytes) - 1;
	struct way way = {.knows_end = true};
	struct reel_problem problem = one_tier(costs->steps, slots < SLOTS ? slots : SLOTS);
	struct reel_costs known = *costs;
	double best = run_loop(costs, REEL_BINOMIAL, problem, way, &known).seconds, seconds;

	for (int64_t period = 1 + costs->steps / SLOTS; costs->tiers && period < costs->steps; period += 1 + period / 8) {
		problem = problem_of(costs->steps, slots < period ? slots : period, UNLIMITED, 0, 0);
		problem.period = period;
		seconds = run_loop(costs, REEL_TWO_LEVEL, problem, way, &known).seconds;
		best = seconds < best ? seconds : best;
	}
	return best;
}

/* A store takes a fiftieth of a state to ten states in the time of a step. */
static struct reel_costs random_machine_for_states(uint64_t seed)
{
	struct reel_costs costs = random_machine(seed);
	double state_bytes = (double)costs.state_bytes;
	struct reel_cost_tier *tier = &costs.tier[0];

	costs.steps += 10;
	costs.tape_bytes = 1;
	costs.memory_bytes = 1 + costs.state_bytes *
					 (uint64_t)over_magnitudes(4, (double)costs.steps);
	tier->write_bandwidth = costs.tiers ? state_bytes * over_magnitudes(0.02, 10) : 0;
	tier->read_bandwidth = tier->write_bandwidth * uniform(0.7, 2);
	return costs;
}

static void states_take_near_the_time_of_the_best_plan(struct way way, const char *name)
{
	static double ratio[MOST];
	bool is_right = true;

	way.flags = REEL_REVERSE_AT_ONCE;
	for (int i = 0; i < machines(); i++) {
		struct reel_costs costs = random_machine_for_states((uint64_t)i + 1);
		struct result result = simulate(&costs, way);
		char text[32];

		ratio[i] = result.seconds / best_fixed_seconds(&costs);
		is_right = is_right && !result.wrong && result.report.peak_tape_steps <= 1;
		snprintf(text, sizeof text, "%.3f", ratio[i]);
		if (result.wrong || ratio[i] > 1.10)
			describe(i + 1, &costs, result.wrong ? result.wrong : text);
	}
	ok(is_right, "%s: the actions are right, and the memory is enough", name);
	are_near(ratio, machines(), name);
}

/* The store takes 300 states at once, and from then on one state in 50 steps. */
static void a_store_that_gets_slow_costs_few_steps(bool knows_end)
{
	struct reel_costs costs = {.advance_seconds = 1, .state_bytes = 100, .memory_bytes = 1000,
				   .tiers = 1};
	struct reel_problem problem = {.steps = knows_end ? 1000 : REEL_UNKNOWN_STEPS,
				       .flags = REEL_REVERSE_AT_ONCE, .tiers = 1,
				       .tier[0].slots = SLOTS};
	struct result result = {0};
	reel_schedule *schedule;
	reel_plan *plan;
	reel_action action;

	if (reel_plan_open_auto(&plan, &problem, NULL))
		bail_out();
	schedule = open_schedule(plan);
	count = 0;
	do {
		costs.tier[0].write_bandwidth = schedule->at < 300 ? 0 : 2;
		reel_schedule_learn(schedule, &costs);
		take_action(schedule, 1000, &action, &result.wrong);
	} while (action.kind != REEL_ACTION_DONE);
	problem.steps = 1000;
	check_actions(problem, &result);
	ok(!result.wrong && result.report.advances < 8000,
	   "%s end, a store that gets slow: %lld advances", knows_end ? "known" : "unknown",
	   (long long)result.report.advances);
	reel_schedule_close(schedule);
	reel_plan_close(plan);
}

/* A restart file is written where no tape is held: often enough in both sweeps. */
static void tapes_are_short_where_restart_files_are_written(struct way way, const char *name)
{
	struct reel_costs costs = {.steps = 1000, .advance_seconds = 1, .record_seconds = 2,
				   .reverse_seconds = 2, .tape_bytes = 300, .state_bytes = 100,
				   .memory_bytes = 1000000};
	struct result result;

	way.is_saved = true;
	result = simulate(&costs, way);
	ok(!result.wrong && result.report.peak_tape_steps <= 1 + 1000 / 16,
	   "%s: at most a sixteenth of the loop is on the tape: %lld steps", name,
	   (long long)result.report.peak_tape_steps);
}

/* A schedule to which nobody tells anything keeps all tapes. */
static void all_steps_are_recorded_if_nothing_is_known(void)
{
	struct reel_problem problem = one_tier(REEL_UNKNOWN_STEPS, 10);
	struct reel_schedule_report report = checked(REEL_AUTO, &problem, 20);

	ok(report.recorded == 20 && !report.advances && !report.stores[0], "no step runs again");
	problem.steps = 20;
	report = checked(REEL_AUTO, &problem, 20);
	ok(report.recorded == 20 && !report.advances, "nor if the number of steps is known");
}

/* A store takes all where others use the memory; without one there is little to hold. */
static void loops_end_where_there_is_no_memory(void)
{
	for (unsigned tiers = 0; tiers < 2; tiers++) {
		struct reel_costs costs = {.record_seconds = 1, .tape_bytes = 100,
					   .state_bytes = 100, .memory_bytes = 1, .tiers = tiers};
		struct reel_problem problem = {.steps = REEL_UNKNOWN_STEPS};
		struct reel_schedule_report report;
		reel_plan *plan;

		if (reel_plan_open_auto(&plan, &problem, &costs))
			bail_out();
		is_int(reel_plan_check(plan, NULL, 50, &report), 0, "a byte of memory, %u stores",
		       tiers);
		ok(tiers ? !report.advances : report.advances > 50 * 49 / 2 - 10,
		   "%lld advances", (long long)report.advances);
		reel_plan_close(plan);
	}
}

/* A store that takes tapes at once and gives them back slowly is used in the first gradient. */
static void reverse_sweep_shows_how_fast_the_store_gives_back(bool knows_end)
{
	struct reel_costs costs = {.steps = 200, .advance_seconds = 1, .record_seconds = 2,
				   .reverse_seconds = 2, .tape_bytes = 1000, .state_bytes = 100,
				   .memory_bytes = 40000, .tiers = 1,
				   .tier[0] = {.write_bandwidth = 1e4, .read_bandwidth = 20}};
	struct way way = {.knows_end = knows_end};
	struct result first = simulate(&costs, way), second;

	way.is_second = true;
	second = simulate(&costs, way);
	ok(!first.wrong && !first.report.advances, "the first gradient stores tapes");
	ok(!second.wrong && second.report.advances > 100 && second.seconds < first.seconds / 4,
	   "the second runs steps again: %.0f s instead of %.0f s", second.seconds, first.seconds);
}

static void what_is_known_at_first_is_used_at_first(void)
{
	struct reel_problem problem = {.steps = 100};
	struct reel_costs costs = {.record_seconds = 1, .tape_bytes = 100, .state_bytes = 100,
				   .memory_bytes = 2000};
	struct reel_schedule_report report;
	reel_plan *plan;

	if (reel_plan_open_auto(&plan, &problem, &costs))
		bail_out();
	is_int(reel_plan_check(plan, NULL, 100, &report), 0, "a plan of known costs is right");
	ok(report.advances > 80 && report.advances < 100 && report.recorded == 100 &&
	   report.peak_slots[0] * 100 + report.peak_tape_steps * 100 <= 2100,
	   "it records no step only to learn: %lld advances", (long long)report.advances);
	reel_plan_close(plan);
	is_int(reel_plan_open_auto(&plan, NULL, &costs), -EINVAL, "a plan needs a problem");
	problem.tape_states = 2;
	is_int(reel_plan_open_auto(&plan, &problem, &costs), -EINVAL, "tapes are counted in bytes");
}

int main(void)
{
	const struct way unknown = {0}, known = {.knows_end = true};
	const struct way second = {.is_second = true};
	const struct way known_second = {.knows_end = true, .is_second = true};

	tap_begin();
	short_loops_are_right(unknown, "unknown end");
	short_loops_are_right(known, "known end");
	the_time_is_near_that_of_the_best_fixed_plan(unknown, "unknown end");
	the_time_is_near_that_of_the_best_fixed_plan(known, "known end");
	the_time_is_near_that_of_the_best_fixed_plan(second, "unknown end, second gradient");
	the_time_is_near_that_of_the_best_fixed_plan(known_second, "known end, second gradient");
	steps_are_reversed_at_once_where_the_program_says_so();
	all_states_that_have_room_are_kept();
	states_take_near_the_time_of_the_best_plan(unknown, "states alone, unknown end");
	states_take_near_the_time_of_the_best_plan(known, "states alone, known end");
	a_store_that_gets_slow_costs_few_steps(false);
	a_store_that_gets_slow_costs_few_steps(true);
	tapes_are_short_where_restart_files_are_written(unknown, "unknown end");
	tapes_are_short_where_restart_files_are_written(known, "known end");
	all_steps_are_recorded_if_nothing_is_known();
	loops_end_where_there_is_no_memory();
	reverse_sweep_shows_how_fast_the_store_gives_back(false);
	reverse_sweep_shows_how_fast_the_store_gives_back(true);
	what_is_known_at_first_is_used_at_first();
	free(actions);
	return tap_end();
}
