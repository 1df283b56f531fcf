/* SPDX-License-Identifier: MIT */
/*
 * The checkpoint scheme for Enzyme, with a driver that asks and obeys as Enzyme's does: loops of
 * known and unknown ends over all planners, both layouts of regions, callbacks, address spaces,
 * loops within loops, and what goes wrong.
 */
#include <config.h>

#include <signal.h>
#include <sys/wait.h>

#include <stdint.h>

/* As Enzyme's header declares it, which a program may include beside Reel's. */
typedef struct EnzymeCheckpointScheme EnzymeCheckpointScheme;
const EnzymeCheckpointScheme *__enzyme_checkpoint_builtin(int64_t mode);

#include <reel/enzyme.h>

#include "helpers/enzyme-driver.h"
#include "helpers/plan-support.h"
#include "helpers/pool-support.h"
#include "helpers/recurrence.h"

/* ---- The state, as the driver hands it out ---- */

struct callbacks {
	void (*enter)(const struct callbacks *, void *, void *);
	void (*save)(const struct callbacks *, void *, void *, int64_t);
	void (*restore)(const struct callbacks *, void *, void *, int64_t);
	void (*sync)(const struct callbacks *, void *, void *);
	void (*leave)(const struct callbacks *, void *, void *);
	void *own;
};

enum layout { EARLY, LATER, WITH_CALLBACK, ONE_REGION, NO_REGION };

struct loop {
	const struct reel_enzyme_table *table;
	struct reel_enzyme_options *options;
	enum layout layout;
	uint32_t space; /* of the second region */
	int64_t steps;
	bool is_while;
	struct run run;
	struct state state, bar;
	struct driver driver;
};

/* The objects of a program that saves them itself: one number, by slot. */
static double object_of_slot[64];

static void save_object(const struct callbacks *callbacks, void *data, void *shadow, int64_t slot)
{
	(void)callbacks;
	(void)shadow;
	if (slot < -2 || slot + 2 >= (int64_t)COUNT(object_of_slot))
		abort();
	object_of_slot[slot + 2] = *(double *)data;
}

static void restore_object(const struct callbacks *callbacks, void *data, void *shadow,
			   int64_t slot)
{
	(void)callbacks;
	(void)shadow;
	*(double *)data = object_of_slot[slot + 2];
}

static const struct callbacks of_object = {.save = save_object, .restore = restore_object};

/* In the early layout regions follow each other without their last two members. */
static uint64_t put_regions(struct loop *loop, void *regions)
{
	double *x = loop->state.x;
	struct region later[] = {
		{x, 2 * sizeof *x, 0, 0, x, NULL},
		{x + 2, (LENGTH - 2) * sizeof *x, loop->space, 0, NULL, NULL},
		{NULL, 0, 0, 0, NULL, NULL},
	};
	size_t head = offsetof(struct region, shadow);

	if (loop->layout == ONE_REGION)
		later[0].bytes = sizeof loop->state;
	if (loop->layout == WITH_CALLBACK) {
		later[1].bytes -= sizeof *x;
		later[2] = (struct region){x + LENGTH - 1, 0, 0, 1, NULL, &of_object};
	}
	if (loop->layout == EARLY)
		for (size_t i = 0; i < COUNT(later); i++)
			memcpy((char *)regions + i * head, &later[i], head);
	else
		memcpy(regions, later, sizeof later);
	return loop->layout == ONE_REGION ? 1 : COUNT(later);
}

static uint64_t bytes_of(const struct loop *loop)
{
	if (loop->layout == NO_REGION)
		return 0;
	return sizeof loop->state - (loop->layout == WITH_CALLBACK ? sizeof(double) : 0);
}

static void store(void *program, int64_t slot, int64_t number)
{
	struct loop *loop = program;
	struct region regions[3];
	uint64_t n;

	if (loop->table->save_state)
		loop->table->save_state(loop->driver.scheme, slot, number, &loop->state);
	if (!loop->table->store || loop->layout == NO_REGION)
		return;
	n = put_regions(loop, regions);
	loop->table->store(loop->driver.scheme, slot, number, regions, n);
}

static void restore(void *program, int64_t slot, int64_t number)
{
	struct loop *loop = program;
	struct region regions[3];
	uint64_t n;

	if (loop->table->load_state)
		loop->table->load_state(loop->driver.scheme, slot, number, &loop->state);
	if (!loop->table->restore || loop->layout == NO_REGION)
		return;
	n = put_regions(loop, regions);
	memset(&loop->state, 0xff, sizeof loop->state);
	loop->table->restore(loop->driver.scheme, slot, number, regions, n);
}

/* ---- The loop ---- */

static void step(void *program, int64_t number)
{
	struct loop *loop = program;

	primal_step(&loop->run, &loop->state, number);
}

/* A step with its derivative. */
static void turn(void *program, int64_t number)
{
	struct loop *loop = program;
	reel_tape tape;

	reel_tape_open(&tape, NULL, 0);
	push_state(&tape, &loop->state);
	primal_step(&loop->run, &loop->state, number);
	reverse_step(&loop->run, &loop->bar, number, &tape);
	reel_tape_close(&tape);
}

static int32_t forward_loop(struct loop *loop)
{
	loop->run = no_failure;
	loop->state = start;
	loop->driver = (struct driver){.table = loop->table, .options = loop->options,
				       .bytes = bytes_of(loop), .steps = loop->steps,
				       .is_while = loop->is_while, .program = loop, .step = step,
				       .turn = turn, .store = store, .restore = restore};
	return driver_forward(&loop->driver);
}

static int32_t reverse_loop(struct loop *loop)
{
	loop->bar = seed;
	return driver_reverse(&loop->driver);
}

static void finish(struct loop *loop)
{
	loop->table->finalize(loop->driver.scheme);
}

static bool is_last_state(const struct loop *loop)
{
	struct state state = start;

	for (int64_t step = 0; step < loop->steps; step++)
		primal_step(&loop->run, &state, step);
	return !memcmp(&state, &loop->state, sizeof state);
}

/* A loop of no steps has no turn. */
static bool gives_the_gradient(struct loop *loop)
{
	int32_t flag = forward_loop(loop);
	bool right;

	if (loop->steps == 0)
		right = flag == DONE;
	else
		right = flag == FIRSTUTURN && is_last_state(loop) && reverse_loop(loop) == DONE &&
			is_gradient(&loop->bar, loop->steps) && is_last_state(loop) &&
			loop->driver.turns == loop->steps;
	finish(loop);
	return right;
}

/* ---- Planners ---- */

static const struct {
	const char *plan;
	bool is_while; /* for a loop whose end is not known, too */
	bool has_store;
} plans[] = {
	{NULL, true, false},
	{"binomial:1", false, false},
	{"binomial:4", false, false},
	{"multistage:2:3", false, true},
	{"two-level:3:5", true, true},
	{"hierarchical:2:3", false, true},
	{"disk-revolve:3", false, true},
	{"periodic:3:4", true, true},
	{"online:4", true, false},
	{"all", true, false},
};

static void planners(enum layout layout, const char *name)
{
	static const int64_t lengths[] = {0, 1, 2, 3, 7, 20, 37};

	tap_case(name);
	for (size_t p = 0; p < COUNT(plans); p++) {
		struct reel_enzyme_options options = {.plan = plans[p].plan, .directory = "."};
		unsigned wrong = 0;

		if (plans[p].has_store)
			options.store = "memory=16M";
		for (size_t i = 0; i < COUNT(lengths); i++)
			for (int is_while = 0; is_while <= plans[p].is_while; is_while++) {
				struct loop loop = {.table = &reel_enzyme_scheme,
						    .options = &options, .layout = layout,
						    .steps = lengths[i], .is_while = is_while};

				if ((is_while && lengths[i] == 0) ||
				    (!is_while && options.plan &&
				     !strncmp(options.plan, "online", 6)))
					continue;
				wrong += !gives_the_gradient(&loop);
			}
		is_int(wrong, 0, "%s: the gradient to the bit, and the last state",
		       plans[p].plan ? plans[p].plan : "the default");
	}
}

/* Enzyme runs one step more than the plan counts: plainly, before the first turn. */
static void counts(void)
{
	struct reel_run_stats stats;
	struct reel_enzyme_options options = {.plan = "binomial:4", .stats = &stats};
	struct loop loop = {.table = &reel_enzyme_scheme, .options = &options, .layout = LATER,
			    .steps = 37};
	struct reel_problem problem = {.steps = 37, .tiers = 1, .tier = {{.slots = 4}},
				       .flags = REEL_REVERSE_AT_ONCE};
	struct reel_schedule_report report = checked(REEL_BINOMIAL, &problem, problem.steps);

	tap_case("counts");
	ok(gives_the_gradient(&loop), "a loop");
	is_int(loop.driver.forward_steps, report.advances + 1, "steps are those of the plan");
	is_int(stats.advanced, report.advances, "as the statistics say");
	is_int((long long)stats.stores[0], report.stores[0], "stores");
	is_int((long long)stats.loads[0], report.loads[0], "and loads");
	is_int(stats.reversed, 37, "each step is reversed once");
}

/* The scheme keeps nothing of such a state, so it does not matter what a step does to it. */
static void no_regions(void)
{
	struct reel_enzyme_options options = {.plan = "binomial:3"};
	struct loop loop = {.table = &reel_enzyme_scheme, .options = &options,
			    .layout = NO_REGION, .steps = 20};

	tap_case("a state without regions");
	ok(forward_loop(&loop) == FIRSTUTURN && reverse_loop(&loop) == DONE &&
		   loop.driver.turns == 20,
	   "each step is reversed");
	finish(&loop);
	loop.steps = -3;
	is_int(forward_loop(&loop), DONE, "a loop whose bounds are crossed has no step");
	is_int(loop.driver.forward_steps, 0, "and runs none");
	finish(&loop);
}

/* Steps of the forward direction, less the one before the first turn, which Enzyme runs plainly. */
static bool runs_as(struct loop *loop, enum reel_planner planner, int64_t slots, int64_t more)
{
	struct reel_problem problem = {.steps = loop->steps, .tiers = more ? 2 : 1,
				       .tier = {{.slots = slots}, {more, 5, 5}},
				       .flags = REEL_REVERSE_AT_ONCE};
	int64_t advances = checked(planner, &problem, loop->steps).advances;

	return gives_the_gradient(loop) && loop->driver.forward_steps == advances + 1;
}

/* ---- Other ways to copy ---- */

static unsigned copied_to, copied_from, paths_told;

static int copy_space(void *context, void *to, const void *from, size_t bytes, uint32_t space,
		      int to_region)
{
	(void)context;
	copied_to += to_region && space == 3;
	copied_from += !to_region && space == 3;
	memcpy(to, from, bytes);
	return 0;
}

static void address_spaces(void)
{
	struct reel_enzyme_options options = {.plan = "binomial:3", .copy = copy_space};
	struct loop loop = {.table = &reel_enzyme_scheme, .options = &options, .layout = LATER,
			    .space = 3, .steps = 20};

	tap_case("address spaces");
	ok(gives_the_gradient(&loop) && copied_to > 0 && copied_from > 0,
	   "a region of another one is copied by the program");
	options.copy = NULL;
	is_int(forward_loop(&loop), ERROR, "without that it is refused");
	finish(&loop);
}

static int save_env(void *context, const void *env, void *snapshot)
{
	(void)context;
	memcpy(snapshot, env, sizeof(struct state));
	return 0;
}

static int load_env(void *context, void *env, const void *snapshot)
{
	(void)context;
	memcpy(env, snapshot, sizeof(struct state));
	return 0;
}

static void note_paths(void *context, const int64_t *paths, uint64_t n)
{
	(void)context;
	paths_told += n == 3 && paths[1] == 8;
}

static void the_program_copies(void)
{
	struct reel_enzyme_options options = {.plan = "binomial:3",
					      .state_bytes = sizeof(struct state),
					      .save = save_env, .load = load_env,
					      .set_paths = note_paths};
	struct loop loop = {.table = &reel_enzyme_env_scheme, .options = &options,
			    .layout = NO_REGION, .steps = 20};

	tap_case("a state that the program copies");
	ok(gives_the_gradient(&loop) && paths_told == 1, "with what it accesses");
	options.save = NULL;
	is_int(forward_loop(&loop), ERROR, "without save() it is refused");
	finish(&loop);
	options.save = save_env;
	loop.layout = LATER;
	is_int(forward_loop(&loop), ERROR, "and with globals, which save() does not know");
	finish(&loop);
}

/* ---- Annotated loops ---- */

/* The number of snapshots is the first member of Enzyme's own configuration. */
static void annotated_loops(void)
{
	int64_t config[8] = {3};
	struct loop loop = {.table = (const void *)__enzyme_checkpoint_builtin(0), .layout = EARLY,
			    .steps = 20, .options = (struct reel_enzyme_options *)(void *)config};

	tap_case("annotated loops");
	ok(runs_as(&loop, REEL_BINOMIAL, 3, 0), "as many snapshots as Enzyme says");
	config[0] = 0;
	ok(runs_as(&loop, REEL_BINOMIAL, 20, 0), "or as many as have room");
	loop.is_while = true;
	ok(gives_the_gradient(&loop), "also if the end is not known");
	loop.is_while = false;
	setenv("REEL_PLAN", "multistage:1:2", 1);
	setenv("REEL_STORE", "memory=16M", 1);
	ok(runs_as(&loop, REEL_MULTISTAGE, 1, 2), "or what the environment says");
	setenv("REEL_PLAN", "binomial:2", 1);
	loop.is_while = true;
	ok(gives_the_gradient(&loop), "which is for loops of unknown ends, too");
	loop.is_while = false;
	setenv("REEL_PLAN", "twice", 1);
	is_int(forward_loop(&loop), ERROR, "which is refused if it makes no sense");
	finish(&loop);
	unsetenv("REEL_PLAN");
}

/* ---- Errors ---- */

static void plans_that_are_refused(void)
{
	static const char *const texts[] = {"store-all:3", "mixed:3", "binomial:", "binomial:0",
					    "binomial:3x", "binomial:3:4:5", "none", "online:3:",
					    "binomial:3:4", "binomial: 3", "disk-revolve:3:4"};
	unsigned wrong = 0;

	tap_case("plans that are refused");
	for (size_t i = 0; i < COUNT(texts); i++) {
		struct reel_enzyme_options options = {.plan = texts[i]};
		struct loop loop = {.table = &reel_enzyme_scheme, .options = &options,
				    .layout = LATER, .steps = 20};

		wrong += forward_loop(&loop) != ERROR;
		finish(&loop);
	}
	is_int(wrong, 0, "each with an error and no step");
}

/* The reverse sweep comes to its end, or the process is aborted. No gradient is wrong. */
static void memory_is_used_up(void)
{
	tap_case("a budget that is used up");
	for (unsigned slabs = 1; slabs < 12; slabs++) {
		pid_t child = fork_with_timeout();
		int status;

		if (!child) {
			struct reel_pool_options budget = small_options();
			struct reel_enzyme_options options = {.plan = "binomial:6"};
			struct loop loop = {.table = &reel_enzyme_scheme, .options = &options,
					    .layout = LATER, .steps = 20};
			int32_t flag;

			budget.hard_budget = slabs * budget.slab_bytes;
			options.pool = open_pool(budget);
			freopen("/dev/null", "w", stderr);
			flag = forward_loop(&loop);
			if (flag == FIRSTUTURN)
				flag = reverse_loop(&loop);
			_exit(flag == ERROR ? 1 : is_gradient(&loop.bar, 20) ? 0 : 2);
		}
		waitpid(child, &status, 0);
		ok(WIFSIGNALED(status) ? WTERMSIG(status) == SIGABRT : WEXITSTATUS(status) < 2,
		   "%u slabs: %s", slabs,
		   WIFSIGNALED(status) ? "aborted" : WEXITSTATUS(status) ? "an error" : "enough");
	}
}

static void questions_in_a_wrong_order(void)
{
	struct reel_enzyme_options options = {.plan = "binomial:3"};
	struct loop loop = {.table = &reel_enzyme_scheme, .options = &options, .layout = LATER,
			    .steps = 20};
	struct reel_enzyme_action action;

	tap_case("a wrong order");
	loop.run = no_failure;
	loop.state = start;
	loop.driver.scheme = loop.table->init(&options, 20, bytes_of(&loop));
	loop.table->next_action(loop.driver.scheme, &action);
	is_int(action.flag, STORE, "a state is to be stored");
	store(&loop, action.cpnum + 1, 0);
	loop.table->next_action(loop.driver.scheme, &action);
	is_int(action.flag, ERROR, "another slot is an error");
	finish(&loop);
	loop.driver.scheme = loop.table->init(&options, 20, bytes_of(&loop) + 8);
	loop.table->next_action(loop.driver.scheme, &action);
	store(&loop, action.cpnum, 0);
	loop.table->next_action(loop.driver.scheme, &action);
	is_int(action.flag, ERROR, "so are regions of another size");
	finish(&loop);
	loop.driver.scheme = loop.table->init(&options, 20, bytes_of(&loop));
	loop.table->set_nsteps(loop.driver.scheme, 19);
	loop.table->next_action(loop.driver.scheme, &action);
	is_int(action.flag, ERROR, "and another end");
	finish(&loop);
}

/* A turn of the outer loop runs a loop of its own, with its derivative. */
static void loops_within_loops(void)
{
	struct reel_enzyme_options options = {.plan = "binomial:3"};
	struct loop outer = {.table = &reel_enzyme_scheme, .options = &options, .layout = EARLY,
			     .steps = 12};
	struct loop inner = {.table = &reel_enzyme_scheme, .options = &options, .layout = LATER,
			     .steps = 9};

	tap_case("loops within loops");
	ok(forward_loop(&outer) == FIRSTUTURN && gives_the_gradient(&inner) &&
		   reverse_loop(&outer) == DONE && is_gradient(&outer.bar, 12),
	   "each has a run of its own");
	finish(&outer);
}

int main(void)
{
	tap_begin();
	is_int(reel_enzyme_scheme.version, 1, "the version of the interface");
	planners(EARLY, "regions of the early layout");
	planners(LATER, "regions of the later layout");
	planners(WITH_CALLBACK, "regions with callbacks");
	planners(ONE_REGION, "one region");
	counts();
	no_regions();
	address_spaces();
	the_program_copies();
	annotated_loops();
	plans_that_are_refused();
	memory_is_used_up();
	questions_in_a_wrong_order();
	loops_within_loops();
	return tap_end();
}
