/* SPDX-License-Identifier: MIT */
/*
 * Tests sweeps by several threads: with any plan, number of threads, number of tapes at a time and
 * memory, the gradient is bitwise equal to the gradient by one plain tape.
 */
#include <config.h>

#include <reel/omp.h>
#include <reel/extend.h>
#include <reel/plan.h>

#include <omp.h>
#include <sched.h>
#include <unistd.h>

#include "os/annotate.h"
#include "checkpoint/run/run-lookahead.h"
#include "helpers/cancel-support.h"
#include "helpers/late-store.h"
#include "helpers/recurrence.h"
#include "omp/runtime/team.h"
#include "helpers/store-fault.h"

/* ---- A model that several threads may run ---- */

/* A state that is larger than the recurrence's state, so that its memory matters. */
struct field {
	struct state state;
	double history[300];
};

enum { HISTORY = 300 };

struct shared {
	struct run run;
	int64_t stopping_record;
	/* Steps before this one push `ballast` more values. */
	int64_t light_from;
	int ballast;
	bool saves_fail;
	/* Flags for threads that wait for an event. */
	_Atomic bool recorded_ahead, tried;
	/* A state whose loads fail at first, and the number of loads that still fail. */
	struct field unloadable;
	_Atomic int refusals;
	reel_tape glutton;
	_Atomic int64_t advanced, recorded, reversed, reversing, overlaps;
	_Atomic int64_t opened, closed;
};

static void step_field(const struct shared *shared, struct field *field, int64_t step)
{
	field->history[step % HISTORY] = field->state.x[0];
	primal_step(&shared->run, &field->state, step);
	field->state.x[1] += 1e-3 * field->history[(step + 7) % HISTORY];
	if (scramble((uint64_t)step) % 8 == 0)
		sched_yield();
}

static int ballast(const struct shared *shared, int64_t step)
{
	return step < shared->light_from ? shared->ballast : 0;
}

static int advance_field(void *context, void *state, int64_t first, int64_t last)
{
	struct shared *shared = context;

	for (int64_t step = first; step < last; step++) {
		if (step == shared->run.failing_advance)
			return -ECANCELED;
		step_field(shared, state, step);
	}
	atomic_fetch_add(&shared->advanced, last - first);
	return 0;
}

static int record_field(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	struct shared *shared = context;
	struct field *field = state;

	for (int64_t step = first; step < last; step++) {
		if (step == shared->run.failing_record)
			return -EDOM;
		if (step == shared->stopping_record)
			return 7;
		if (step + 1 == shared->run.excess)
			reel_push(tape, 1.0);
		push_state(tape, &field->state);
		reel_push(tape, field->history[(step + 7) % HISTORY]);
		for (int i = 0; i < ballast(shared, step); i++)
			reel_push(tape, i);
		step_field(shared, field, step);
	}
	atomic_fetch_add(&shared->recorded, last - first);
	return 0;
}

/* Computes another number than the adjoint of the history, which depends on all popped values. */
static int reverse_field(void *context, void *adjoint, int64_t first, int64_t last, reel_tape *tape)
{
	struct shared *shared = context;
	struct state *bar = adjoint;

	if (atomic_fetch_add(&shared->reversing, 1))
		atomic_fetch_add(&shared->overlaps, 1);
	for (int64_t step = last; step-- > first;) {
		double past;
		int wrong = 0;

		if (step == shared->run.failing_reverse) {
			atomic_fetch_sub(&shared->reversing, 1);
			return -ERANGE;
		}
		for (int i = ballast(shared, step); i-- > 0;)
			wrong += i != reel_pop(tape, int);
		past = reel_pop(tape, double);
		reverse_step(&shared->run, bar, step, tape);
		bar->x[0] += wrong;
		bar->x[1] += 1e-3 * past;
	}
	atomic_fetch_add(&shared->reversed, last - first);
	atomic_fetch_sub(&shared->reversing, 1);
	return 0;
}

static int save_field(void *context, const void *state, void *snapshot)
{
	if (((struct shared *)context)->saves_fail)
		return -ENOMEM;
	memcpy(snapshot, state, sizeof(struct field));
	return 0;
}

static int load_field(void *context, void *state, const void *snapshot)
{
	(void)context;
	memcpy(state, snapshot, sizeof(struct field));
	return 0;
}

static void *open_field(void *context)
{
	atomic_fetch_add(&((struct shared *)context)->opened, 1);
	return malloc(sizeof(struct field));
}

static void close_field(void *context, void *state)
{
	atomic_fetch_add(&((struct shared *)context)->closed, 1);
	free(state);
}

static const reel_model plain = {sizeof(struct field), advance_field, record_field,
				 reverse_field,        NULL,          NULL};
static const reel_model with_save = {sizeof(struct field), advance_field, record_field,
				     reverse_field,        save_field,    load_field};

static struct shared no_fault(void)
{
	struct shared shared = {.run = no_failure, .stopping_record = -1};

	return shared;
}

static struct field begun(void)
{
	struct field field = {.state = start};

	return field;
}

static struct state right_gradient(double coupling, int64_t steps)
{
	struct shared shared = no_fault();
	struct field field = begun();
	struct state bar = seed;
	reel_tape tape = {0};

	shared.run.coupling = coupling;
	record_field(&shared, &field, 0, steps, &tape);
	reverse_field(&shared, &bar, 0, steps, &tape);
	reel_tape_close(&tape);
	return bar;
}

static bool is_right(const struct state *bar, const struct shared *shared, int64_t steps)
{
	struct state right = right_gradient(shared->run.coupling, steps);

	return !memcmp(bar, &right, sizeof right) && !shared->overlaps;
}

/* ---- Runs ---- */

/* Runs both sweeps. If `threads` is 0, the reverse sweep is serial. */
static int sweep_both(reel_run *run, struct shared *shared, struct state *bar, int threads,
		      unsigned tapes, struct reel_omp_stats *stats)
{
	struct reel_omp_options options = {.threads = threads, .tapes = tapes};
	struct field field = begun();
	int error = reel_run_forward(run, shared, &field);

	*bar = seed;
	if (error)
		return error;
	if (threads == 0)
		return reel_run_reverse(run, shared, &field, bar);
	return reel_omp_run_reverse(run, shared, &field, bar, &options, stats);
}

static bool two_gradients(reel_run *run, int64_t steps, int threads, unsigned tapes)
{
	struct shared shared = no_fault();
	bool right = true;

	for (int pass = 0; pass < 2; pass++) {
		struct state bar;

		right = right && !sweep_both(run, &shared, &bar, threads, tapes, NULL) &&
			is_right(&bar, &shared, steps);
		shared.run.coupling *= 1.5;
	}
	return right;
}

/* ---- Gradients ---- */

/* Both tiers are in stores whose transfers end late, or in memory. */
static void gradients_of_a_plan(enum reel_planner planner, int64_t steps, bool on_stores,
				int max_threads, unsigned max_tapes)
{
	reel_plan *plan = plan_for(planner, steps, 4);
	struct late_store *late[2] = {NULL};
	struct reel_run_options options = {0};
	unsigned wrong = 0, sweeps = 0;
	reel_run *run;

	for (int tier = 0; on_stores && tier < (int)tiers_of(planner); tier++) {
		late[tier] = late_open((uint64_t)(steps + tier));
		options.store[tier] = &late[tier]->store;
	}
	run = open_checkpoint(plan, &plain, &options);
	for (int threads = 1; threads <= max_threads; threads++)
		for (unsigned tapes = 1 + (unsigned)threads % stride_of(1); tapes <= max_tapes;
		     tapes += stride_of(1), sweeps++)
			wrong += !two_gradients(run, steps, threads, tapes);
	is_int(wrong, 0, "%s: %lld steps%s, up to %d threads and %u tapes: %u times two gradients",
	       reel_planner_name(planner), (long long)steps, on_stores ? " on stores" : "",
	       max_threads, max_tapes, sweeps);
	reel_run_close(run);
	for (int tier = 0; tier < 2; tier++) {
		if (late[tier])
			ok(!late[tier]->wrongs && !late[tier]->used, "the store was used rightly");
		free(late[tier]);
	}
	reel_plan_close(plan);
}

static void every_plan_gives_the_gradient(void)
{
	static const int64_t short_ones[] = {0, 1, 2, 3, 17};

	tap_case("a gradient");
	for (enum reel_planner planner = 0; planner < REEL_PLANNERS; planner++) {
		for (size_t i = 0; i < COUNT(short_ones); i++)
			gradients_of_a_plan(planner, short_ones[i], i % 2, 3, 2);
		gradients_of_a_plan(planner, 60, false, 8, 4);
		gradients_of_a_plan(planner, 60, true, 8, 4);
	}
	gradients_of_a_plan(REEL_BINOMIAL, 500, true, 3, 3);
}

static const reel_action mixed_ranges[] = {
	{.kind = REEL_ACTION_STORE, .first = 0},
	{.kind = REEL_ACTION_ADVANCE, .first = 0, .last = 4},
	{.kind = REEL_ACTION_STORE, .first = 4, .slot = 1},
	{.kind = REEL_ACTION_ADVANCE, .first = 4, .last = 8},
	{.kind = REEL_ACTION_RECORD, .first = 8, .last = 10},
	{.kind = REEL_ACTION_RECORD, .first = 10, .last = 12},
	{.kind = REEL_ACTION_REVERSE, .first = 9, .last = 12},
	{.kind = REEL_ACTION_REVERSE, .first = 8, .last = 9},
	{.kind = REEL_ACTION_LOAD, .first = 4, .slot = 1},
	{.kind = REEL_ACTION_RECORD, .first = 4, .last = 5},
	{.kind = REEL_ACTION_RECORD, .first = 5, .last = 6},
	{.kind = REEL_ACTION_RECORD, .first = 6, .last = 8},
	{.kind = REEL_ACTION_REVERSE, .first = 5, .last = 8},
	{.kind = REEL_ACTION_REVERSE, .first = 4, .last = 5},
	{.kind = REEL_ACTION_DROP, .first = 4, .slot = 1},
	{.kind = REEL_ACTION_LOAD, .first = 0},
	{.kind = REEL_ACTION_ADVANCE, .first = 0, .last = 2},
	{.kind = REEL_ACTION_RECORD, .first = 2, .last = 4},
	{.kind = REEL_ACTION_REVERSE, .first = 3, .last = 4},
	{.kind = REEL_ACTION_REVERSE, .first = 2, .last = 3},
	{.kind = REEL_ACTION_LOAD, .first = 0, .last_use = true},
	{.kind = REEL_ACTION_DROP, .first = 0},
	{.kind = REEL_ACTION_RECORD, .first = 0, .last = 2},
	{.kind = REEL_ACTION_REVERSE, .first = 0, .last = 2},
};

/* No planner makes these actions: one REVERSE for several records, and several for one. */
static void any_plan_will_do(void)
{
	struct reel_problem problem = {.steps = 12, .tiers = 1, .tier = {{2, 0, 0}}};
	struct reel_run_options options = {.segment_steps = 5};
	reel_run *run;
	reel_plan *plan;
	unsigned wrong = 0;

	tap_case("a plan of one's own");
	is_int(reel_plan_open_actions(&plan, &problem, mixed_ranges, COUNT(mixed_ranges)), 0,
	       "a plan of one's own is opened");
	run = open_checkpoint(plan, &plain, &options);
	for (int threads = 2; threads <= 4; threads++)
		for (unsigned tapes = 1; tapes <= 4; tapes++)
			wrong += !two_gradients(run, 60, threads, tapes);
	is_int(wrong, 0, "a plan of one's own gives the gradient");
	reel_run_close(run);
	reel_plan_close(plan);
}

static void it_does_what_the_plan_says(void)
{
	reel_plan *plan = plan_for(REEL_MULTISTAGE, 80, 4);
	struct late_store *late = late_open(5);
	struct reel_run_options options = {.store = {NULL, &late->store}};
	struct reel_run_stats serial, parallel;
	struct shared shared = no_fault();
	struct reel_omp_stats stats;
	struct state bar;
	reel_run *run = open_checkpoint(plan, &plain, &options);

	tap_case("the counts of a sweep");
	is_int(sweep_both(run, &shared, &bar, 0, 0, NULL), 0, "one thread");
	reel_run_get_stats(run, &serial);
	is_int(sweep_both(run, &shared, &bar, 3, 3, &stats), 0, "three threads");
	reel_run_get_stats(run, &parallel);
	is_int(parallel.advanced, serial.advanced, "advances");
	is_int(parallel.recorded, 80, "records");
	is_int(parallel.reversed, 80, "reversals");
	for (unsigned tier = 0; tier < 2; tier++) {
		is_int(parallel.stores[tier], serial.stores[tier], "stores to tier %u", tier);
		is_int(parallel.loads[tier], serial.loads[tier], "loads from tier %u", tier);
	}
	is_int(stats.threads, 3, "the threads");
	is_int(stats.dropped + stats.pauses, 0, "nothing wanted memory");
	ok(stats.max_tapes >= 1 && stats.max_tapes <= 3, "there are at most three tapes at once");
	is_int(atomic_load(&shared.recorded), 160, "the model has counted the same");
	is_int(sweep_both(run, &shared, &bar, 5, 2, &stats), 0, "five threads, and two tapes");
	is_int(stats.threads, 3, "one thread more than tapes is used");
	reel_run_close(run);
	is_int(late->wrongs, 0, "the store was used rightly");
	free(late);
	reel_plan_close(plan);
}

static void the_number_of_threads_is_chosen(void)
{
	reel_plan *plan = plan_for(REEL_BINOMIAL, 6, 3);
	struct reel_omp_options options = {0};
	int max_threads = omp_get_max_threads(), first = 0, one = 0, wrong = 0;
	struct shared shared = no_fault();
	reel_run *run = open_checkpoint(plan, &plain, NULL);

	tap_case("the number of threads");
	omp_set_num_threads(2);
	for (int i = 0; i < 200; i++) {
		struct field field = begun();
		struct state bar = seed;
		struct reel_omp_stats stats = {0};

		wrong += reel_run_forward(run, &shared, &field) ||
			 reel_omp_run_reverse(run, &shared, &field, &bar, &options, &stats) ||
			 !is_right(&bar, &shared, 6);
		first = i ? first : stats.threads;
		one += stats.threads == 1;
	}
	omp_set_num_threads(max_threads);
	is_int(first, 2, "is OpenMP's in the first sweep");
	ok(one > 0, "one thread is tried in a later one");
	is_int(wrong, 0, "all gradients are right");
	reel_run_close(run);
	reel_plan_close(plan);
}

static _Atomic(void *) told_context;

static void note_context(void *context, const struct reel_progress *progress)
{
	atomic_store(&told_context, progress->reverses ? context : NULL);
}

static void the_progress_of_a_sweep(void)
{
	reel_plan *plan = plan_for(REEL_MULTISTAGE, 80, 4);
	struct reel_run_options run_options = {.progress = note_context};
	struct reel_omp_options options = {.threads = 2};
	struct shared forward = no_fault(), back = no_fault();
	struct field field = begun();
	struct state bar = seed;
	reel_run *run = open_checkpoint(plan, &plain, &run_options);

	tap_case("how far a sweep is");
	is_int(reel_run_forward(run, &forward, &field), 0, "forward");
	is_int(reel_omp_run_reverse(run, &back, &field, &bar, &options, NULL), 0, "reverse");
	is_pointer(atomic_load(&told_context), &back, "is told with the context of the sweep");
	reel_run_close(run);
	reel_plan_close(plan);
}

/* Two records wait for each other: a sweep that makes only one at a time hangs. */
struct rendezvous {
	struct shared shared;
	_Atomic int come;
};

static int record_in_company(void *context, void *state, int64_t first, int64_t last,
			     reel_tape *tape)
{
	struct rendezvous *rendezvous = context;

	if (first >= 4 && first < 8) {
		/*
		 * The record waits until its partner has come. A third record may come before the
		 * first one has looked, so the condition is "at least both".
		 */
		int both = (atomic_fetch_add(&rendezvous->come, 1) | 1) + 1;

		while (atomic_load(&rendezvous->come) < both)
			sched_yield();
	}
	return record_field(&rendezvous->shared, state, first, last, tape);
}

static int advance_in_company(void *context, void *state, int64_t first, int64_t last)
{
	return advance_field(&((struct rendezvous *)context)->shared, state, first, last);
}

static int reverse_in_company(void *context, void *adjoint, int64_t first, int64_t last,
			      reel_tape *tape)
{
	return reverse_field(&((struct rendezvous *)context)->shared, adjoint, first, last, tape);
}

static void records_are_made_at_the_same_time(void)
{
	static const reel_model model = {.state_bytes = sizeof(struct field),
					 .advance = advance_in_company,
					 .record = record_in_company,
					 .reverse = reverse_in_company};
	struct reel_omp_options options = {.threads = 2, .tapes = 2};
	struct rendezvous rendezvous = {.shared = no_fault()};
	reel_plan *plan = plan_for(REEL_BINOMIAL, 12, 12);
	reel_run *run = open_checkpoint(plan, &model, NULL);
	struct field field = begun();
	struct reel_omp_stats stats;
	struct state bar = seed;

	tap_case("RECORDs that wait for each other");
	is_int(reel_run_forward(run, &rendezvous, &field), 0, "forward");
	is_int(reel_omp_run_reverse(run, &rendezvous, &field, &bar, &options, &stats), 0,
	       "are made by two threads at once");
	ok(is_right(&bar, &rendezvous.shared, 12), "the gradient is right");
	ok(stats.ahead >= 2 && stats.max_tapes == 2, "the counts say that two threads recorded");
	reel_run_close(run);
	reel_plan_close(plan);
}

static void await(_Atomic bool *event)
{
	while (!atomic_load(event))
		sched_yield();
}

/* ---- States and contexts of the program ---- */

static void the_program_makes_states(void)
{
	struct reel_omp_options options = {.threads = 3, .tapes = 2, .open_state = open_field,
					   .close_state = close_field};
	reel_plan *plan = plan_for(REEL_BINOMIAL, 50, 4);
	reel_run *run = open_checkpoint(plan, &with_save, NULL);
	struct shared shared = no_fault();
	struct field field = begun();
	struct state bar = seed;

	tap_case("a model that saves and loads");
	is_int(reel_run_forward(run, &shared, &field), 0, "forward");
	is_int(reel_omp_run_reverse(run, &shared, &field, &bar, NULL, NULL), -EINVAL,
	       "has to make its states itself");
	is_int(reel_omp_run_reverse(run, &shared, &field, &bar, &options, NULL), 0,
	       "is reversed in those it makes");
	ok(is_right(&bar, &shared, 50), "the gradient is right");
	is_int(shared.opened, 3, "one state more than tapes");
	is_int(shared.closed, 3, "all were closed");
	reel_run_close(run);
	reel_plan_close(plan);
}

/* Each state has a context, and callbacks must never get it with another state. */
static int advance_counting(void *context, void *state, int64_t first, int64_t last)
{
	struct run *run = context;
	struct shared shared = {.run = *run, .stopping_record = -1};

	run->advanced += last - first;
	return advance_field(&shared, state, first, last);
}

static int record_counting(void *context, void *state, int64_t first, int64_t last,
			   reel_tape *tape)
{
	struct run *run = context;
	struct shared shared = {.run = *run, .stopping_record = -1};

	run->recorded += last - first;
	return record_field(&shared, state, first, last, tape);
}

static int reverse_counting(void *context, void *adjoint, int64_t first, int64_t last,
			    reel_tape *tape)
{
	struct run *run = context;
	struct shared shared = {.run = *run, .stopping_record = -1};

	run->reversed += last - first;
	return reverse_field(&shared, adjoint, first, last, tape);
}

static void each_state_has_a_context(void)
{
	static const reel_model model = {.state_bytes = sizeof(struct field),
					 .advance = advance_counting, .record = record_counting,
					 .reverse = reverse_counting};
	struct run of_state[4] = {no_failure, no_failure, no_failure, no_failure};
	void *contexts[4] = {&of_state[0], &of_state[1], &of_state[2], &of_state[3]};
	struct reel_omp_options options = {.threads = 4, .tapes = 3, .contexts = contexts};
	reel_plan *plan = plan_for(REEL_BINOMIAL, 60, 4);
	reel_run *run = open_checkpoint(plan, &model, NULL);
	struct run serial = no_failure;
	struct shared shared = no_fault();
	struct field field = begun();
	struct state bar = seed;
	int64_t recorded = 0;

	tap_case("contexts");
	is_int(reel_run_forward(run, &serial, &field), 0, "forward");
	is_int(reel_omp_run_reverse(run, &serial, &field, &bar, &options, NULL), 0,
	       "one for each state");
	ok(is_right(&bar, &shared, 60), "the gradient is right");
	for (int i = 0; i < 4; i++) {
		recorded += of_state[i].recorded;
		is_int(of_state[i].reversed, 0, "state %d reverses nothing", i);
	}
	is_int(recorded + serial.recorded, 60, "the RECORDs of the threads are all there are");
	is_int(serial.reversed, 60, "the reversals are the context's");
	reel_run_close(run);
	reel_plan_close(plan);
}

/* ---- Failures ---- */

/* Returns true if the sweep has the error and the text of a serial sweep with the same faults. */
static bool says_the_same(reel_run *run, struct shared *faults, int threads, unsigned tapes)
{
	struct shared shared = no_fault();
	struct field field = begun();
	char message[2][512];
	struct state bar;
	int error[2];

	for (int pass = 0; pass < 2; pass++) {
		struct reel_omp_options options = {.threads = threads, .tapes = tapes};

		shared.run = no_failure;
		shared.stopping_record = -1;
		field = begun();
		bar = seed;
		if (reel_run_forward(run, &shared, &field))
			return false;
		shared.run = faults->run;
		shared.stopping_record = faults->stopping_record;
		error[pass] =
			pass ? reel_omp_run_reverse(run, &shared, &field, &bar, &options, NULL)
			     : reel_run_reverse(run, &shared, &field, &bar);
		snprintf(message[pass], sizeof message[pass], "%s", reel_error_text(error[pass]));
		if (reel_run_is_reversing(run))
			return false;
	}
	return error[0] == error[1] && !strcmp(message[0], message[1]);
}

static int64_t chosen(uint64_t random, int64_t steps)
{
	return random % 3 ? (int64_t)(scramble(random) % (uint64_t)steps) : -1;
}

static void callbacks_fail(enum reel_planner planner, int64_t steps)
{
	reel_plan *plan = plan_for(planner, steps, 3);
	struct late_store *late = late_open(9);
	struct reel_run_options options = {0};
	struct shared shared = no_fault();
	unsigned different = 0, again = 0;
	reel_run *run;

	options.store[tiers_of(planner) - 1] = &late->store;
	run = open_checkpoint(plan, &plain, &options);
	for (int64_t step = 0; step < steps; step++) {
		for (int which = 0; which < 5; which++) {
			shared = no_fault();
			*(which == 0   ? &shared.run.failing_advance
			  : which == 1 ? &shared.run.failing_record
			  : which == 2 ? &shared.run.failing_reverse
			  : which == 3 ? &shared.stopping_record
				       : &shared.run.excess) = step + (which == 4);
			different += !says_the_same(run, &shared, 2 + which % 2, 3);
		}
	}
	is_int(different, 0, "%s: at any step, is what a serial sweep fails with",
	       reel_planner_name(planner));
	for (uint64_t random = 0; random < 40; random++) {
		shared = no_fault();
		shared.run.failing_advance = chosen(4 * random, steps);
		shared.run.failing_record = chosen(4 * random + 1, steps);
		shared.run.failing_reverse = chosen(4 * random + 2, steps);
		shared.stopping_record = chosen(4 * random + 3, steps);
		different += !says_the_same(run, &shared, 2 + (int)(random % 4), 4);
		again += !two_gradients(run, steps, 2, 2);
	}
	is_int(different, 0, "%s: of several, it is the first one", reel_planner_name(planner));
	is_int(again, 0, "%s: the sweeps after it are right", reel_planner_name(planner));
	reel_run_close(run);
	is_int(late->wrongs, 0, "the store was used rightly");
	free(late);
	reel_plan_close(plan);
}

/* Actions that are later in the plan fail earlier than others. */
static int record_and_fail(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	struct shared *shared = context;

	if (first == 9) {
		atomic_store(&shared->tried, true);
		return -ECANCELED;
	}
	if (first < 10)
		return -ERANGE;
	if (first == 11)
		return record_field(context, state, first, last, tape);
	await(&shared->tried);
	usleep(5000);
	return -EDOM;
}

static void the_first_error_is_not_the_earliest(void)
{
	struct reel_omp_options options = {.threads = 2, .tapes = 2};
	reel_plan *plan = plan_for(REEL_BINOMIAL, 12, 12);
	struct shared shared = no_fault();
	struct field field = begun();
	struct state bar = seed;
	reel_model model = plain;
	reel_run *run;

	model.record = record_and_fail;
	run = open_checkpoint(plan, &model, NULL);
	record_reports();
	is_int(reel_run_forward(run, &shared, &field), 0, "forward");
	is_int(reel_omp_run_reverse(run, &shared, &field, &bar, &options, NULL), -EDOM,
	       "the first of two errors in order is returned, though the other one was earlier");
	is_int(shared.reversed, 1, "what was not recorded is not reversed");
	is_int(reported.calls, 0, "no tape has anything to report");
	reel_set_error_handler(NULL, NULL);
	reel_run_close(run);
	reel_plan_close(plan);
}

#define RESTART "omp-restart"

static _Atomic unsigned without_file;

/* Takes so long that the other threads have finished all other actions. */
static int reverse_with_file(void *context, void *adjoint, int64_t first, int64_t last,
			     reel_tape *tape)
{
	usleep(2000);
	atomic_fetch_add(&without_file, access(RESTART, F_OK) != 0);
	return reverse_field(context, adjoint, first, last, tape);
}

static void the_restart_file_is_there_to_the_end(void)
{
	struct reel_run_options options = {
		.restart = RESTART, .restart_seconds = 1e-9, .adjoint_bytes = sizeof(struct state)};
	reel_plan *plan = plan_for(REEL_BINOMIAL, 12, 12);
	reel_model model = plain;
	reel_run *run;

	tap_case("a restart file");
	model.reverse = reverse_with_file;
	run = open_checkpoint(plan, &model, &options);
	for (int64_t failing = -1; failing <= 1; failing++) {
		struct shared shared = no_fault();
		struct state bar;

		shared.run.failing_reverse = failing;
		is_int(sweep_both(run, &shared, &bar, 3, 4, NULL), failing < 0 ? 0 : -ERANGE,
		       "a sweep that fails at step %lld returns its error", (long long)failing);
		is_int(access(RESTART, F_OK) == 0, failing >= 0,
		       "the restart file is gone only if no step fails");
	}
	is_int(without_file, 0, "the restart file is there while steps are reversed");
	unlink(RESTART);
	reel_run_close(run);
	reel_plan_close(plan);
}

static void a_save_that_has_no_memory(void)
{
	struct reel_omp_options options = {.threads = 3, .tapes = 2, .open_state = open_field,
					   .close_state = close_field};
	reel_plan *plan = plan_for(REEL_BINOMIAL, 40, 3);
	reel_run *run = open_checkpoint(plan, &with_save, NULL);
	struct shared shared = no_fault();
	struct field field = begun();
	struct state bar = seed;

	is_int(reel_run_forward(run, &shared, &field), 0, "forward");
	shared.saves_fail = true;
	is_int(reel_omp_run_reverse(run, &shared, &field, &bar, &options, NULL), -ENOMEM,
	       "a save may have no memory of its own");
	ok(strstr(reel_error_text(0), "save"), "the message says so: %s", reel_error_text(0));
	reel_run_close(run);
	reel_plan_close(plan);
}

static void faults_of_the_store(void)
{
	static const struct reel_fault_rule kinds[] = {
		{.fault = REEL_FAULT_ERROR, .put = true, .error = -ENOSPC},
		{.fault = REEL_FAULT_ERROR, .put = false, .error = -EIO},
		{.fault = REEL_FAULT_LATE, .put = true},
		{.fault = REEL_FAULT_LATE, .put = false},
		{.fault = REEL_FAULT_FLIP, .put = false, .bit = 9},
		{.fault = REEL_FAULT_VANISH, .put = false},
	};
	reel_plan *plan = plan_for(REEL_BINOMIAL, 30, 4);

	tap_case("a fault of the store");
	for (size_t kind = 0; kind < 2 * COUNT(kinds); kind++) {
		unsigned wrong = 0, errors = 0;

		for (uint64_t at = 0; at < 16; at++) {
			struct reel_fault_rule rule = kinds[kind / 2];
			struct reel_run_options options = {0};
			struct shared shared = no_fault();
			reel_run *run;
			reel_store *memory;
			struct state bar;

			rule.at = at;
			rule.persistent = kind % 2;
			if (reel_store_memory_open(&memory, 1 << 20) ||
			    reel_store_fault_open(&options.store[0], memory, &rule, 1)) {
				printf("Bail out! no faulty store\n");
				exit(EXIT_FAILURE);
			}
			run = open_checkpoint(plan, &plain, &options);
			if (sweep_both(run, &shared, &bar, 3, 3, NULL))
				errors++;
			else
				wrong += !is_right(&bar, &shared, 30);
			reel_run_close(run);
		}
		is_int(wrong, 0, "kind %zu%s never gives a wrong gradient (%u errors)", kind / 2,
		       kind % 2 ? ", persistent," : "", errors);
	}
	reel_plan_close(plan);
}

/* ---- Memory ---- */

enum { PAGE = 4096, SEGMENT = 100, SEGMENTS = 60 };

struct tight {
	struct state right; /* the gradient without a limit */
	unsigned refused, serial_refused, failed, wrong, loud, kept;
	int64_t dropped, pauses;
};

/* Packed beside the steps, and by any thread. */
static const struct reel_field rounded_fields[] = {
	{REEL_FIELD_BYTES, 1, {sizeof(struct state)}},
	{REEL_FIELD_DOUBLE, 1, {HISTORY}},
};
static const struct reel_loss rounds = {.field = rounded_fields, .fields = 2, .tolerance = 1e-6};

static struct shared with_ballast(void)
{
	struct shared shared = no_fault();

	/* The tape of the forward sweep is small, so the sweep expects more room than there is. */
	shared.light_from = (SEGMENTS - 1) * SEGMENT;
	shared.ballast = 24;
	return shared;
}

static struct state gradient_without_limit(const reel_plan *plan, const struct reel_loss *loss)
{
	struct reel_run_options options = {.segment_steps = SEGMENT, .loss = loss};
	struct shared shared = with_ballast();
	reel_run *run = open_checkpoint(plan, &plain, &options);
	struct state bar;

	if (sweep_both(run, &shared, &bar, 0, 0, NULL)) {
		printf("Bail out! no gradient\n");
		exit(EXIT_FAILURE);
	}
	reel_run_close(run);
	return bar;
}

static void in_so_many_pages(const reel_plan *plan, const struct reel_loss *loss, size_t pages,
			     int threads, unsigned tapes, struct tight *seen)
{
	struct reel_pool_options tight = {.slab_bytes = PAGE, .first_slab_bytes = 256,
					  .hard_budget = pages * PAGE};
	reel_pool *pool = open_pool(tight);
	struct reel_run_options options = {.pool = pool, .segment_steps = SEGMENT, .loss = loss};
	reel_run *run = open_checkpoint(plan, &plain, &options);
	struct shared shared = with_ballast();
	struct reel_omp_stats stats = {0};
	struct state bar;
	int error = sweep_both(run, &shared, &bar, 0, 0, NULL);

	seen->serial_refused += error != 0;
	record_reports();
	error = sweep_both(run, &shared, &bar, threads, tapes, &stats);
	seen->dropped += stats.dropped;
	seen->pauses += stats.pauses;
	seen->refused += error == -EDQUOT || error == -ENOMEM;
	seen->failed += error && error != -EDQUOT && error != -ENOMEM;
	seen->loud += reported.calls > (error ? 1 : 0);
	seen->wrong += !error && (memcmp(&bar, &seen->right, sizeof bar) || shared.overlaps);
	/* The text is the library's own: it names a state or the steps. */
	seen->wrong += error && !strstr(reel_error_text(error), "state") &&
		       !strstr(reel_error_text(error), "steps");
	reel_run_close(run);
	seen->kept += slabs_in_use(pool) != 0;
	reel_pool_close(pool);
}

static void memory_is_tight(enum reel_planner planner, const struct reel_loss *loss)
{
	reel_plan *plan = plan_for(planner, SEGMENTS, 8);
	struct tight seen = {.right = gradient_without_limit(plan, loss)};
	unsigned budgets = 0;

	tap_case(loss ? "a budget, rounded states" : "a budget");
	reel_set_error_handler(record_report, NULL);
	for (size_t pages = 2; pages < 160; pages += pages < 80 ? 1 : stride_of(8), budgets++)
		in_so_many_pages(plan, loss, pages, 2 + (int)(pages % 3), 4, &seen);
	reel_set_error_handler(NULL, NULL);
	ok(seen.refused > 0 && seen.refused < budgets,
	   "%s: small budgets are refused, large ones not", reel_planner_name(planner));
	is_int(seen.failed, 0, "a sweep without memory ends with -EDQUOT or -ENOMEM");
	is_int(seen.wrong, 0, "never gives a wrong gradient, or an error without its text");
	is_int(seen.loud, 0, "actions that are tried again are not reported");
	is_int(seen.kept, 0, "all slabs come back");
	/*
	 * Several threads need more pages: two states for each of four tapes, idle slabs in their
	 * magazines, and a page for each thread that is cut into first slabs.
	 */
	ok(seen.refused <= seen.serial_refused + 24,
	   "refuses hardly more budgets than one thread (%u of %u, one thread %u)", seen.refused,
	   budgets, seen.serial_refused);
	tap_note("%lld tapes given up, %lld pauses", (long long)seen.dropped,
		 (long long)seen.pauses);
	reel_plan_close(plan);
}

/* Step 4 is recorded after step 3 has used the memory, and step 3 is reversed next. */
static int record_too_late(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	struct shared *shared = context;
	int error;

	if (first == 4 && !atomic_exchange(&shared->tried, true))
		await(&shared->recorded_ahead);
	error = record_field(context, state, first, last, tape);
	if (first == 3)
		atomic_store(&shared->recorded_ahead, true);
	return error;
}

/* The tape of step 8 exists until the records of steps 4 and 5 have been tried. */
static int record_to_keep(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	struct shared *shared = context;
	int error;

	if (first == 4)
		await(&shared->recorded_ahead);
	error = record_field(context, state, first, last, tape);
	if (first == 8)
		atomic_store(&shared->recorded_ahead, true);
	if (first == 4)
		atomic_store(&shared->tried, true);
	return error;
}

static int reverse_after_keeping(void *context, void *adjoint, int64_t first, int64_t last,
				 reel_tape *tape)
{
	if (first == 8)
		await(&((struct shared *)context)->tried);
	return reverse_field(context, adjoint, first, last, tape);
}

/* A sweep with memory for few tapes of a step has to pause, and completes. */
static void a_sweep_pauses(const reel_plan *plan, const reel_model *model, int64_t steps,
			   size_t pages, int pages_of_step)
{
	struct reel_pool_options tight = {.slab_bytes = PAGE, .first_slab_bytes = 256,
					  .hard_budget = pages * PAGE};
	reel_pool *pool = open_pool(tight);
	struct reel_run_options options = {.pool = pool};
	reel_run *run = open_checkpoint(plan, model, &options);
	struct shared shared = no_fault();
	struct reel_omp_stats stats;
	struct state bar;

	shared.light_from = steps - 1;
	shared.ballast = pages_of_step * PAGE / 8;
	record_reports();
	is_int(sweep_both(run, &shared, &bar, 2, 2, &stats), 0, "%lld steps in %zu pages",
	       (long long)steps, pages);
	ok(is_right(&bar, &shared, steps), "the gradient is right");
	ok(stats.pauses > 0, "actions without memory were done alone");
	is_int(reported.calls, 0, "nothing was reported");
	reel_set_error_handler(NULL, NULL);
	reel_run_close(run);
	close_pool(pool, "pauses");
}

static const reel_action kept_below_a_lane[] = {
	{.kind = REEL_ACTION_STORE, .first = 0},
	{.kind = REEL_ACTION_ADVANCE, .first = 0, .last = 4},
	{.kind = REEL_ACTION_STORE, .first = 4, .slot = 1},
	{.kind = REEL_ACTION_ADVANCE, .first = 4, .last = 8},
	{.kind = REEL_ACTION_STORE, .first = 8, .slot = 2},
	{.kind = REEL_ACTION_ADVANCE, .first = 8, .last = 11},
	{.kind = REEL_ACTION_RECORD, .first = 11, .last = 12},
	{.kind = REEL_ACTION_REVERSE, .first = 11, .last = 12},
	{.kind = REEL_ACTION_LOAD, .first = 8, .slot = 2, .last_use = true},
	{.kind = REEL_ACTION_DROP, .first = 8, .slot = 2},
	{.kind = REEL_ACTION_RECORD, .first = 8, .last = 11},
	{.kind = REEL_ACTION_REVERSE, .first = 8, .last = 11},
	{.kind = REEL_ACTION_LOAD, .first = 4, .slot = 1, .last_use = true},
	{.kind = REEL_ACTION_DROP, .first = 4, .slot = 1},
	{.kind = REEL_ACTION_RECORD, .first = 4, .last = 6},
	{.kind = REEL_ACTION_RECORD, .first = 6, .last = 8},
	{.kind = REEL_ACTION_REVERSE, .first = 6, .last = 8},
	{.kind = REEL_ACTION_REVERSE, .first = 4, .last = 6},
	{.kind = REEL_ACTION_LOAD, .first = 0, .last_use = true},
	{.kind = REEL_ACTION_DROP, .first = 0},
	{.kind = REEL_ACTION_RECORD, .first = 0, .last = 4},
	{.kind = REEL_ACTION_REVERSE, .first = 0, .last = 4},
};

static void who_has_no_memory_waits(void)
{
	struct reel_problem problem = {.steps = 12, .tiers = 1, .tier = {{3, 0, 0}}};
	reel_plan *plan = plan_for(REEL_BINOMIAL, 6, 6);
	reel_model model = plain;

	tap_case("a RECORD without memory");
	model.record = record_too_late;
	a_sweep_pauses(plan, &model, 6, 80, 40);
	reel_plan_close(plan);
	reel_plan_open_actions(&plan, &problem, kept_below_a_lane, COUNT(kept_below_a_lane));
	model.record = record_to_keep;
	model.reverse = reverse_after_keeping;
	a_sweep_pauses(plan, &model, 12, 56, 10);
	reel_plan_close(plan);
}

/* The load fails while step 3 is recorded, and once more after that, when it runs alone. */
static int load_too_late(void *context, void *state, const void *snapshot)
{
	struct shared *shared = context;

	if (!memcmp(snapshot, &shared->unloadable, sizeof shared->unloadable) &&
	    atomic_fetch_sub(&shared->refusals, 1) > 0) {
		await(&shared->recorded_ahead);
		return -ENOMEM;
	}
	return load_field(context, state, snapshot);
}

/*
 * Without a budget a sweep keeps no states from which it could record again, so it gives up no tape
 * for a load.
 */
static void a_load_that_has_no_memory(void)
{
	struct reel_omp_options options = {.threads = 2, .tapes = 2, .open_state = open_field,
					   .close_state = close_field};
	reel_plan *plan = plan_for(REEL_BINOMIAL, 6, 6);
	struct shared shared = no_fault();
	struct field field = begun();
	struct reel_omp_stats stats;
	reel_model model = with_save;
	struct state bar = seed;
	reel_run *run;

	tap_case("a load without memory");
	model.load = load_too_late;
	model.record = record_too_late;
	shared.unloadable = begun();
	advance_field(&shared, &shared.unloadable, 0, 4);
	shared.refusals = 2;
	run = open_checkpoint(plan, &model, NULL);
	is_int(reel_run_forward(run, &shared, &field), 0, "forward");
	is_int(reel_omp_run_reverse(run, &shared, &field, &bar, &options, &stats), -ENOMEM,
	       "is tried again alone, and ends the sweep");
	is_int(stats.dropped, 0, "no tape was given up");
	ok(strstr(reel_error_text(0), "load of steps 4 to 4"), "the message says so: %s",
	   reel_error_text(0));
	is_int(shared.opened, shared.closed, "all states are closed");
	reel_run_close(run);
	reel_plan_close(plan);
}

static int record_the_rest_ahead(void *context, void *state, int64_t first, int64_t last,
				 reel_tape *tape)
{
	int error = record_field(context, state, first, last, tape);

	if (first == 0)
		atomic_store(&((struct shared *)context)->recorded_ahead, true);
	if (first == 4)
		atomic_store(&((struct shared *)context)->tried, true);
	return error;
}

/* After steps 0 to 4 are recorded, in two pieces, another tape takes all memory that is left. */
static int advance_after_the_rest(void *context, void *state, int64_t first, int64_t last)
{
	struct shared *shared = context;

	if (first == 4 && last == 5) {
		await(&shared->recorded_ahead);
		await(&shared->tried);
		while (!reel_tape_error(&shared->glutton))
			reel_push(&shared->glutton, first);
	}
	return advance_field(context, state, first, last);
}

static int reverse_and_release(void *context, void *adjoint, int64_t first, int64_t last,
			       reel_tape *tape)
{
	if (first == 6)
		reel_tape_close(&((struct shared *)context)->glutton);
	return reverse_field(context, adjoint, first, last, tape);
}

static const reel_action several_stores[] = {
	{.kind = REEL_ACTION_STORE, .first = 0},
	{.kind = REEL_ACTION_ADVANCE, .first = 0, .last = 4},
	{.kind = REEL_ACTION_STORE, .first = 4, .slot = 1},
	{.kind = REEL_ACTION_ADVANCE, .first = 4, .last = 7},
	{.kind = REEL_ACTION_RECORD, .first = 7, .last = 8},
	{.kind = REEL_ACTION_REVERSE, .first = 7, .last = 8},
	{.kind = REEL_ACTION_LOAD, .first = 4, .slot = 1},
	{.kind = REEL_ACTION_ADVANCE, .first = 4, .last = 5},
	{.kind = REEL_ACTION_STORE, .first = 5, .slot = 2},
	{.kind = REEL_ACTION_STORE, .first = 5, .slot = 3},
	{.kind = REEL_ACTION_STORE, .first = 5, .slot = 4},
	{.kind = REEL_ACTION_STORE, .first = 5, .slot = 5},
	{.kind = REEL_ACTION_STORE, .first = 5, .slot = 6},
	{.kind = REEL_ACTION_STORE, .first = 5, .slot = 7},
	{.kind = REEL_ACTION_STORE, .first = 5, .slot = 8},
	{.kind = REEL_ACTION_ADVANCE, .first = 5, .last = 6},
	{.kind = REEL_ACTION_RECORD, .first = 6, .last = 7},
	{.kind = REEL_ACTION_REVERSE, .first = 6, .last = 7},
	{.kind = REEL_ACTION_LOAD, .first = 5, .slot = 2, .last_use = true},
	{.kind = REEL_ACTION_DROP, .first = 5, .slot = 2},
	{.kind = REEL_ACTION_DROP, .first = 5, .slot = 3},
	{.kind = REEL_ACTION_DROP, .first = 5, .slot = 4},
	{.kind = REEL_ACTION_DROP, .first = 5, .slot = 5},
	{.kind = REEL_ACTION_DROP, .first = 5, .slot = 6},
	{.kind = REEL_ACTION_DROP, .first = 5, .slot = 7},
	{.kind = REEL_ACTION_DROP, .first = 5, .slot = 8},
	{.kind = REEL_ACTION_RECORD, .first = 5, .last = 6},
	{.kind = REEL_ACTION_REVERSE, .first = 5, .last = 6},
	{.kind = REEL_ACTION_LOAD, .first = 4, .slot = 1, .last_use = true},
	{.kind = REEL_ACTION_DROP, .first = 4, .slot = 1},
	{.kind = REEL_ACTION_RECORD, .first = 4, .last = 5},
	{.kind = REEL_ACTION_REVERSE, .first = 4, .last = 5},
	{.kind = REEL_ACTION_LOAD, .first = 0, .last_use = true},
	{.kind = REEL_ACTION_DROP, .first = 0},
	{.kind = REEL_ACTION_RECORD, .first = 0, .last = 4},
	{.kind = REEL_ACTION_REVERSE, .first = 0, .last = 4},
};

/*
 * Stores of state 5 find no memory. Two of them can have the memory of states 0 and 4, which are
 * dropped ahead.
 */
static void a_store_that_has_no_memory(void)
{
	struct reel_problem problem = {.steps = 8, .tiers = 1, .tier = {{9, 0, 0}}};
	struct reel_pool_options tight = {.slab_bytes = PAGE, .first_slab_bytes = 256,
					  .hard_budget = 100 * PAGE};
	reel_pool *pool = open_pool(tight);
	struct reel_run_options options = {.pool = pool};
	struct shared shared = no_fault();
	struct reel_omp_stats stats;
	reel_model model = plain;
	reel_run *run;
	struct state bar;
	reel_plan *plan;

	tap_case("a store without memory");
	model.advance = advance_after_the_rest;
	model.record = record_the_rest_ahead;
	model.reverse = reverse_and_release;
	reel_plan_open_actions(&plan, &problem, several_stores, COUNT(several_stores));
	run = open_checkpoint(plan, &model, &options);
	shared.light_from = 7;
	shared.ballast = 10 * PAGE / 8;
	reel_tape_open(&shared.glutton, pool, 0);
	record_reports();
	is_int(sweep_both(run, &shared, &bar, 2, 4, &stats), 0,
	       "the sweep with a store without memory is done");
	ok(is_right(&bar, &shared, 8), "the gradient is right");
	ok(stats.pauses > 0 && stats.dropped > 0, "tapes were given up for the store");
	is_int(reported.calls, 1, "only the tape that took the memory was reported");
	reel_set_error_handler(NULL, NULL);
	reel_run_close(run);
	reel_plan_close(plan);
	close_pool(pool, "a store without memory");
}

static int reverse_too_far(void *context, void *adjoint, int64_t first, int64_t last,
			   reel_tape *tape)
{
	int error = reverse_field(context, adjoint, first, last, tape);

	return first == 3 && reel_pop(tape, int) ? 0 : error;
}

static void what_is_wrong_is_reported(void)
{
	struct reel_pool_options roomy = {.hard_budget = 64 << 20, .slab_bytes = 1 << 16};
	reel_pool *pool = open_pool(roomy);
	struct reel_run_options options = {.pool = pool};
	reel_plan *plan = plan_for(REEL_BINOMIAL, 12, 12);
	struct shared shared = no_fault();
	reel_model model = plain;
	reel_run *run;
	struct state bar;

	tap_case("a pop that mirrors no push");
	model.reverse = reverse_too_far;
	run = open_checkpoint(plan, &model, &options);
	record_reports();
	is_int(sweep_both(run, &shared, &bar, 3, 3, NULL), -ENODATA,
	       "a pop that mirrors no push ends the sweep");
	is_int(reported.calls, 1, "the pop is reported, though the tape was silent before");
	reel_set_error_handler(NULL, NULL);
	reel_run_close(run);
	reel_plan_close(plan);
	close_pool(pool, "an error");
}

static void checked_tapes_change_hands(void)
{
	struct reel_pool_options checked = {.flags = REEL_POOL_CHECKED, .hard_budget = 64 << 20,
					    .slab_bytes = 1 << 16};
	reel_pool *pool = open_pool(checked);
	struct reel_run_options options = {.pool = pool};
	reel_plan *plan = plan_for(REEL_MIXED, 60, 6);
	reel_run *run = open_checkpoint(plan, &plain, &options);

	tap_case("checked mode");
	record_reports();
	ok(two_gradients(run, 60, 4, 3), "checked mode gives the gradient");
	is_int(reported.calls, 0, "there is nothing to report in checked mode");
	reel_set_error_handler(NULL, NULL);
	reel_run_close(run);
	reel_plan_close(plan);
	close_pool(pool, "checked sweeps");
}

/* ---- Teams ---- */

enum { JOBS = 6 };

struct jobs {
	const reel_plan *plan;
	int jobs;
	_Atomic int next, right;
};

/* Threads of a team take jobs until none is left. Then they wait for the others, and help them. */
static void do_jobs(void *argument)
{
	struct jobs *jobs = argument;

	reel_annotate_acquire(jobs);
	while (atomic_fetch_add(&jobs->next, 1) < jobs->jobs) {
		reel_run *run = open_checkpoint(jobs->plan, &plain, NULL);

		atomic_fetch_add(&jobs->right, two_gradients(run, 40, 2, 3));
		reel_run_close(run);
	}
	reel_annotate_release(jobs);
}

static void sweeps_in_a_team(void)
{
	reel_plan *plan = plan_for(REEL_BINOMIAL, 40, 4);

	tap_case("a team of the program");
	for (int count = 1; count <= JOBS; count += JOBS - 1) {
		struct jobs jobs = {.plan = plan, .jobs = count};

		reel_annotate_release(&jobs);
		reel_omp_call(3, do_jobs, &jobs);
		reel_annotate_acquire(&jobs);
		is_int(atomic_load(&jobs.right), count,
		       "a team of the program does %d sweeps", count);
	}
	reel_plan_close(plan);
}

static void more_threads_than_processors(void)
{
	reel_plan *plan = plan_for(REEL_HIERARCHICAL, 80, 4);
	reel_run *run = open_checkpoint(plan, &plain, NULL);

	tap_case("many threads");
	ok(two_gradients(run, 80, 24, 0), "many threads give the gradient");
	ok(two_gradients(run, 80, 24, REEL_OMP_MAX_TAPES),
	   "many threads with many tapes give the gradient");
	reel_run_close(run);
	reel_plan_close(plan);
}

/* ---- A thread that is cancelled ---- */

static int reverse_where_threads_end(void *context, void *adjoint, int64_t first, int64_t last,
				     reel_tape *tape)
{
	pthread_testcancel();
	return reverse_field(context, adjoint, first, last, tape);
}

struct cancelled_sweep {
	reel_plan *plan;
	bool right;
};

static void sweep_while_cancelled(void *argument)
{
	static const reel_model model = {sizeof(struct field), advance_field, record_field,
					 reverse_where_threads_end, NULL, NULL};
	struct cancelled_sweep *sweep = argument;
	reel_run *run = open_checkpoint(sweep->plan, &model, NULL);

	sweep->right = two_gradients(run, 40, 3, 3);
	reel_run_close(run);
}

static void a_cancelled_thread_ends_after_its_sweep(void)
{
	struct cancelled_sweep sweep = {.plan = plan_for(REEL_BINOMIAL, 40, 4)};

	tap_case("a thread that is cancelled");
	ok(outlasts_cancellation(sweep_while_cancelled, &sweep) && sweep.right,
	   "ends after its sweep, which gives the gradient");
	reel_plan_close(sweep.plan);
}

/* ---- Loops in loops ---- */

REEL_RECORD(field, struct field);

struct outer {
	struct shared inner;
	reel_plan *plan;
};

enum { INNER_STEPS = 12 };

static int advance_outer(void *context, void *state, int64_t first, int64_t last)
{
	struct outer *outer = context;
	int error = 0;

	for (int64_t step = first; step < last && !error; step++)
		error = advance_field(&outer->inner, state, 0, INNER_STEPS);
	return error;
}

static int record_outer(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	for (int64_t step = first; step < last; step++) {
		reel_push_record(tape, field, *(struct field *)state);
		advance_outer(context, state, step, step + 1);
	}
	return 0;
}

static int reverse_outer(void *context, void *adjoint, int64_t first, int64_t last, reel_tape *tape)
{
	struct reel_omp_options options = {.threads = 2, .tapes = 2};
	struct outer *outer = context;
	int error = 0;

	for (int64_t step = last; step-- > first && !error;) {
		struct field field = reel_pop_record(tape, field);
		reel_run *run;

		error = reel_run_open(&run, outer->plan, &plain, NULL);
		if (error)
			return error;
		error = reel_run_forward(run, &outer->inner, &field);
		if (!error)
			error = reel_omp_run_reverse(run, &outer->inner, &field, adjoint, &options,
						     NULL);
		reel_run_close(run);
	}
	return error;
}

static struct state nested_gradient_by_one_tape(void)
{
	struct shared shared = no_fault();
	struct field field = begun();
	struct state bar = seed;
	reel_tape tape = {0};

	for (int i = 0; i < 9; i++)
		record_field(&shared, &field, 0, INNER_STEPS, &tape);
	for (int i = 0; i < 9; i++)
		reverse_field(&shared, &bar, 0, INNER_STEPS, &tape);
	reel_tape_close(&tape);
	return bar;
}

static void a_loop_in_a_loop(void)
{
	static const reel_model model = {.state_bytes = sizeof(struct field),
					 .advance = advance_outer, .record = record_outer,
					 .reverse = reverse_outer};
	struct reel_omp_options options = {.threads = 3, .tapes = 2};
	struct outer outer = {no_fault(), plan_for(REEL_BINOMIAL, INNER_STEPS, 3)};
	reel_plan *plan = plan_for(REEL_BINOMIAL, 9, 3);
	reel_run *run = open_checkpoint(plan, &model, NULL);
	struct field field = begun();
	struct state bar = seed, right = nested_gradient_by_one_tape();

	tap_case("a loop in a loop");
	is_int(reel_run_forward(run, &outer, &field), 0, "forward");
	is_int(reel_omp_run_reverse(run, &outer, &field, &bar, &options, NULL), 0,
	       "both by several threads");
	ok(!memcmp(&bar, &right, sizeof bar), "two loops, one in the other, give the gradient");
	reel_run_close(run);
	reel_plan_close(outer.plan);
	reel_plan_close(plan);
}

/* ---- Errors ---- */

/* The program drives the loop of the run, which has callbacks or has none. */
static void driven_runs(reel_run *run, struct shared *shared)
{
	struct field field = begun();
	struct state bar = seed;
	reel_plan *plan = plan_for(REEL_BINOMIAL, 10, 3);
	reel_run *bare = open_checkpoint(plan, &(reel_model){.state_bytes = 8}, NULL);
	reel_action action;

	is_int(reel_omp_run_reverse(bare, NULL, &field, &bar, NULL, NULL), -EINVAL,
	       "a run without callbacks");
	ok(strstr(reel_error_text(0), "driven"), "the message says so: %s", reel_error_text(0));
	is_int(reel_run_start(run, shared, &field, &bar), 0, "a run that is driven");
	while (!reel_run_is_reversing(run) && !reel_run_next(run, &action))
		;
	is_int(reel_omp_run_reverse(run, shared, &field, &bar, NULL, NULL), -EINVAL,
	       "is refused in its reverse sweep");
	ok(strstr(reel_error_text(0), "reel_run_next()"), "the message says so: %s",
	   reel_error_text(0));
	reel_run_close(bare);
	reel_plan_close(plan);
}

static void what_is_refused(void)
{
	static const struct reel_omp_options wrong[] = {
		{.threads = -1},
		{.tapes = REEL_OMP_MAX_TAPES + 1},
		{.open_state = open_field},
		{.reserved = {0, 1}},
	};
	static const char *const words[] = {"threads", "tapes", "open_state", "reserved"};
	reel_plan *plan = plan_for(REEL_BINOMIAL, 10, 3);
	reel_run *run = open_checkpoint(plan, &plain, NULL);
	struct shared shared = no_fault();
	struct field field = begun();
	struct state bar = seed;

	tap_case("what is refused");
	for (size_t i = 0; i < COUNT(wrong); i++) {
		is_int(reel_omp_run_reverse(run, &shared, &field, &bar, &wrong[i], NULL), -EINVAL,
		       "a sweep is refused");
		ok(strstr(reel_error_text(-EINVAL), words[i]), "%s", words[i]);
	}
	is_int(reel_omp_run_reverse(NULL, &shared, &field, &bar, NULL, NULL), -EINVAL,
	       "a run is needed");
	is_int(reel_omp_run_reverse(run, &shared, &field, &bar, NULL, NULL), -EINVAL,
	       "a reverse sweep before the forward one");
	ok(strstr(reel_error_text(0), "forward"), "the message says so");
	driven_runs(run, &shared);
	reel_run_close(run);
	reel_plan_close(plan);
}

int main(void)
{
	/*
	 * There are more threads than processors. Annotations tell ThreadSanitizer the order of
	 * threads, so libomp's own tool is not needed.
	 */
	setenv("OMP_WAIT_POLICY", "passive", 1);
	setenv("OMP_TOOL", "disabled", 1);
	tap_begin();
	every_plan_gives_the_gradient();
	any_plan_will_do();
	it_does_what_the_plan_says();
	the_number_of_threads_is_chosen();
	the_progress_of_a_sweep();
	records_are_made_at_the_same_time();
	the_program_makes_states();
	each_state_has_a_context();
	tap_case("a callback that fails");
	callbacks_fail(REEL_BINOMIAL, 25);
	callbacks_fail(REEL_HIERARCHICAL, 25);
	callbacks_fail(REEL_MIXED, 20);
	the_first_error_is_not_the_earliest();
	the_restart_file_is_there_to_the_end();
	a_save_that_has_no_memory();
	faults_of_the_store();
	who_has_no_memory_waits();
	a_load_that_has_no_memory();
	a_store_that_has_no_memory();
	what_is_wrong_is_reported();
	memory_is_tight(REEL_BINOMIAL, NULL);
	memory_is_tight(REEL_MIXED, NULL);
	memory_is_tight(REEL_BINOMIAL, &rounds);
	checked_tapes_change_hands();
	sweeps_in_a_team();
	more_threads_than_processors();
	a_cancelled_thread_ends_after_its_sweep();
	a_loop_in_a_loop();
	what_is_refused();
	return tap_end();
}
