/* SPDX-License-Identifier: MIT */
/*
 * Measures a loop's costs by a clock of the test, which only callbacks and pools move on, by the
 * times that the test gives them.
 */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <time.h>

#include <reel/plan.h>

#include "plan/costs.h"
#include "pool/pool.h"
#include "helpers/support.h"

#define RECORDS 3

static int64_t nanoseconds;

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	(void)clock;
	now->tv_sec = (time_t)(nanoseconds / 1000000000);
	now->tv_nsec = (long)(nanoseconds % 1000000000);
	return 0;
}

/* The time of a KiB that a pool takes from the system, 0 in most tests; and the bytes taken. */
static int64_t nanoseconds_of_kilobyte;
static uint64_t fresh_bytes;

int __real_reel_supply_take(struct reel_pool *pool, enum reel_slab_kind kind,
			    struct reel_slab **chain);
int __wrap_reel_supply_take(struct reel_pool *pool, enum reel_slab_kind kind,
			    struct reel_slab **chain);
int __wrap_reel_supply_take(struct reel_pool *pool, enum reel_slab_kind kind,
			    struct reel_slab **chain)
{
	struct reel_pool_stats before, after;
	uint64_t bytes;
	int error;

	reel_pool_get_stats(pool, &before);
	error = __real_reel_supply_take(pool, kind, chain);
	reel_pool_get_stats(pool, &after);
	bytes = (after.fresh_slabs - before.fresh_slabs) * after.slab_bytes;
	fresh_bytes += bytes;
	nanoseconds += nanoseconds_of_kilobyte * (int64_t)(bytes >> 10);
	return error;
}

struct state {
	double x;
	int64_t step;
};

struct run {
	/* Nanoseconds of a step; each thirtieth call takes a thousand times as long. */
	int64_t advance, record, reverse, save, load;
	int64_t calls;
	int64_t failing_call; /* 0: none */
	int64_t last_step;    /* the highest that was run */
	int64_t recorded;     /* highest number of steps in one call */
	bool pops_too_little;
	bool out_of_step;     /* a range was run from a wrong state */
};

static int take(struct run *run, int64_t time, int64_t steps)
{
	run->calls++;
	nanoseconds += time * steps * (run->calls % 30 == 0 ? 1000 : 1);
	return run->calls == run->failing_call ? -ECANCELED : 0;
}

static int run_steps(struct run *run, struct state *state, int64_t first, int64_t last)
{
	run->out_of_step = run->out_of_step || state->step != first;
	if (last > run->last_step)
		run->last_step = last;
	state->step = last;
	state->x += (double)(last - first);
	return 0;
}

static int advance(void *context, void *state, int64_t first, int64_t last)
{
	struct run *run = context;

	run_steps(run, state, first, last);
	return take(run, run->advance, last - first);
}

static int record(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	struct run *run = context;

	run_steps(run, state, first, last);
	for (int64_t i = 0; i < RECORDS * (last - first); i++)
		reel_push(tape, (uint64_t)i);
	if (last - first > run->recorded)
		run->recorded = last - first;
	return take(run, run->record, last - first);
}

static int reverse(void *context, void *adjoint, int64_t first, int64_t last, reel_tape *tape)
{
	struct run *run = context;

	*(double *)adjoint += 1;
	for (int64_t i = run->pops_too_little; i < RECORDS * (last - first); i++)
		reel_pop(tape, uint64_t);
	return take(run, run->reverse, last - first);
}

static int save(void *context, const void *state, void *snapshot)
{
	struct run *run = context;

	memcpy(snapshot, state, sizeof(struct state));
	return take(run, run->save, 1);
}

static int load(void *context, void *state, const void *snapshot)
{
	struct run *run = context;

	memcpy(state, snapshot, sizeof(struct state));
	return take(run, run->load, 1);
}

static const reel_model saved = {sizeof(struct state), advance, record, reverse, save, load};
static const reel_model copied = {sizeof(struct state), advance, record, reverse, NULL, NULL};
static const struct run usual = {
	.advance = 3000, .record = 5000, .reverse = 7000, .save = 400, .load = 600};
static const struct state start = {0.5, 0};

struct outcome {
	int error;
	struct reel_costs costs;
	struct state state;
	double adjoint;
	uint64_t wrong_words;
	uint64_t bytes;
};

/* Measures on a tape that holds some words, and without an adjoint if `adjoint` is false. */
static struct outcome measure(struct run *run, const reel_model *model, struct reel_costs costs,
			      bool adjoint)
{
	reel_pool *pool = open_pool((struct reel_pool_options){0});
	reel_tape tape = open_tape(pool, 0);
	struct outcome outcome = {.costs = costs, .state = start};
	uint64_t before;

	push_words(&tape, 0, 10);
	before = reel_tape_bytes(&tape);
	outcome.error = reel_costs_measure(&outcome.costs, &tape, model, run, &outcome.state,
					   adjoint ? &outcome.adjoint : NULL);
	outcome.bytes = reel_tape_bytes(&tape) - before;
	outcome.wrong_words = outcome.bytes ? 10 : wrong_words(&tape, 0, 10);
	reel_tape_close(&tape);
	reel_pool_close(pool);
	return outcome;
}

static bool is_seconds(double seen, double nanoseconds_wanted)
{
	return fabs(seen * 1e9 - nanoseconds_wanted) < 1e-6 * nanoseconds_wanted;
}

static bool is_as_before(const struct outcome *outcome)
{
	return outcome->state.x == start.x && outcome->state.step == start.step &&
	       outcome->bytes == 0 && outcome->wrong_words == 0;
}

static void the_costs_are_what_the_callbacks_take(void)
{
	struct run run = usual;
	struct outcome outcome = measure(&run, &saved, (struct reel_costs){.steps = 1000}, true);

	is_int(outcome.error, 0, "measured");
	ok(is_seconds(outcome.costs.advance_seconds, 3000), "an advance (%g s)",
	   outcome.costs.advance_seconds);
	ok(is_seconds(outcome.costs.record_seconds, 5000), "a recording (%g s)",
	   outcome.costs.record_seconds);
	ok(is_seconds(outcome.costs.reverse_seconds, 7000), "a reversal (%g s)",
	   outcome.costs.reverse_seconds);
	ok(is_seconds(outcome.costs.copy_seconds, 500), "half of a store and a load (%g s)",
	   outcome.costs.copy_seconds);
	is_int(outcome.costs.state_bytes, sizeof(struct state), "a state");
	is_int(outcome.costs.tape_bytes, 8 * RECORDS, "the tape of a step");
	is_int(outcome.costs.steps, 1000, "the steps are the caller's");
	ok(is_as_before(&outcome), "state and tape are as they were");
	ok(!run.out_of_step, "steps are run from their state");
	ok(run.recorded * run.advance > 500000, "%lld steps are run at a time: a millisecond",
	   (long long)run.recorded);
	ok(outcome.adjoint > 0, "the adjoint is used");
}

static void without_an_adjoint_reversing_is_not_measured(void)
{
	struct run run = usual;
	struct reel_costs costs = {.steps = 1000, .reverse_seconds = 42};
	struct outcome outcome = measure(&run, &copied, costs, false);

	is_int(outcome.error, 0, "measured without an adjoint");
	ok(outcome.costs.reverse_seconds == 42, "reverse_seconds is the caller's");
	ok(is_seconds(outcome.costs.record_seconds, 5000), "a recording is measured");
	ok(is_as_before(&outcome), "state and tape are as they were");
	ok(outcome.costs.copy_seconds == 0, "a plain copy takes no time by this clock");
}

static void loop_and_memory_limit_what_is_run(void)
{
	struct run run = usual;
	struct outcome outcome = measure(&run, &saved, (struct reel_costs){.steps = 5}, true);

	is_int(outcome.error, 0, "a loop of five steps");
	ok(run.last_step <= 5, "no step beyond the end of the loop is run");
	ok(is_seconds(outcome.costs.advance_seconds, 3000), "the time is that of a step");
	run = usual;
	outcome = measure(&run, &saved,
			  (struct reel_costs){.steps = 1000, .memory_bytes = 100 * 8 * RECORDS},
			  true);
	is_int(outcome.error, 0, "memory for a hundred tapes");
	ok(run.recorded > 20 && run.recorded <= 50, "half of it is used (%lld)",
	   (long long)run.recorded);
	run = (struct run){0};
	outcome = measure(&run, &saved, (struct reel_costs){.steps = 1}, true);
	is_int(outcome.error, 0, "measuring a step that takes no time comes to an end");
	ok(outcome.costs.advance_seconds == 0, "a step that takes no time costs none");
}

static void short_steps_are_run_until_their_tape_leaves_the_caches(void)
{
	struct reel_costs loop = {.steps = 1 << 24};
	struct run run = usual;

	is_int(measure(&run, &copied, loop, true).error, 0, "steps of 5 us");
	ok(run.recorded * run.record >= 8000000 && run.recorded * run.record < 32000000,
	   "steps of 5 us are run for 8 ms or a little longer: %lld", (long long)run.recorded);
	run = usual;
	run.advance = run.record = run.reverse = 2;
	is_int(measure(&run, &copied, loop, true).error, 0, "steps of 2 ns");
	ok(run.recorded * RECORDS * 8 >= 16 << 20 && run.recorded * RECORDS * 8 < 32 << 20,
	   "steps of 2 ns are run for 16 MiB of tape: %lld", (long long)run.recorded);
}

/* A MiB of new memory takes a millisecond, so that 20 MiB are enough to measure it. */
static void new_memory_takes_time(void)
{
	struct run run = usual;
	struct outcome outcome;

	nanoseconds_of_kilobyte = 1000;
	fresh_bytes = 0;
	outcome = measure(&run, &copied, (struct reel_costs){.steps = 10}, true);
	is_int(outcome.error, 0, "a loop whose new memory takes time is measured");
	ok(fabs(outcome.costs.touch_seconds * 1e9 - 1000.0 / 1024) < 0.2,
	   "a byte takes about a nanosecond (%g)", outcome.costs.touch_seconds * 1e9);
	/* Two magazines of the measured pool, and less than 64 MiB besides. */
	ok(fresh_bytes < (uint64_t)100 << 20, "no more memory is taken than needed (%g MiB)",
	   (double)fresh_bytes / 0x1p20);
	outcome = measure(&run, &copied, (struct reel_costs){.steps = 10, .memory_bytes = 1 << 22},
			  true);
	ok(outcome.costs.touch_seconds > 0, "a megabyte of four is enough to measure it");
	nanoseconds_of_kilobyte = 0;
	outcome = measure(&run, &copied, (struct reel_costs){.steps = 10}, true);
	ok(outcome.costs.touch_seconds == 0, "a byte of memory that is not new takes no time");
}

/* The budget refuses a push after 2 MiB of the sample. */
static void memory_may_be_refused_meanwhile(void)
{
	reel_pool *pool = open_pool((struct reel_pool_options){
		.slab_bytes = 1 << 16, .first_slab_bytes = 1 << 16, .hard_budget = 1 << 21});
	reel_tape tape = open_tape(pool, 0);
	double seconds = 0;

	nanoseconds_of_kilobyte = 1000;
	is_int(reel_costs_measure_touch(&tape, 0, &seconds), 0, "a refused push is no error");
	ok(fabs(seconds * 1e9 - 1000.0 / 1024) < 0.2, "a byte's time is measured (%g)",
	   seconds * 1e9);
	nanoseconds_of_kilobyte = 0;
	reel_tape_close(&tape);
	close_pool(pool, "a refused push");
}

/* Each call fails but the very last one, after which only the state is left to load. */
static void errors_of_callbacks_end_it(void)
{
	unsigned wrong = 0;
	int64_t calls;

	for (calls = 1;; calls++) {
		struct run run = usual;
		struct outcome outcome;

		run.advance = 400000;
		run.failing_call = calls;
		outcome = measure(&run, &saved, (struct reel_costs){.steps = 10}, true);
		if (run.calls < calls)
			break;
		wrong += outcome.error != -ECANCELED || outcome.costs.advance_seconds != 0 ||
			 outcome.costs.state_bytes != 0 || !is_as_before(&outcome);
	}
	is_int(wrong, 0, "each of %lld calls fails", (long long)calls - 1);
	ok(calls > 50, "many calls fail");
}

static void what_cannot_be_measured_is_refused(void)
{
	struct run run = usual;
	struct outcome outcome = measure(&run, &saved, (struct reel_costs){.steps = 0}, true);

	is_int(outcome.error, -EINVAL, "no steps");
	is_int(run.calls, 0, "nothing is called");
	run.pops_too_little = true;
	outcome = measure(&run, &saved, (struct reel_costs){.steps = 10}, true);
	is_int(outcome.error, -EBADMSG, "a reversal that leaves a value on the tape");
	ok(is_as_before(&outcome), "the tape is as it was, though");
}

int main(void)
{
	tap_begin();
	the_costs_are_what_the_callbacks_take();
	without_an_adjoint_reversing_is_not_measured();
	loop_and_memory_limit_what_is_run();
	short_steps_are_run_until_their_tape_leaves_the_caches();
	new_memory_takes_time();
	memory_may_be_refused_meanwhile();
	errors_of_callbacks_end_it();
	what_cannot_be_measured_is_refused();
	return tap_end();
}
