/* SPDX-License-Identifier: MIT */
/*
 * Runs whose states are stored with loss. The gradient is a little off, by less the smaller the
 * tolerance; it has the same bits whatever the tier, in a second run and after a restart; and the
 * snapshots take up few bytes of the budget, whose end is met as without loss.
 */
#include <config.h>

#include <reel/plan.h>

#include <math.h>

#include "helpers/pool-support.h"
#include "helpers/support.h"

enum { ROWS = 40, COLUMNS = 50, CELLS = ROWS * COLUMNS, STEPS = 60 };

/* A wave: elevation and velocity, then bytes that are no field. */
struct state {
	double height[CELLS], speed[CELLS];
	int64_t step;
	char words[24];
};

static const struct reel_field fields[] = {
	{REEL_FIELD_DOUBLE, 2, {ROWS, COLUMNS}},
	{REEL_FIELD_DOUBLE, 2, {ROWS, COLUMNS}},
};

struct loop {
	int64_t stops_at; /* record() fails at this step; -1: nowhere */
	int damaged;      /* states whose other bytes did not come back */
};

static size_t right_of(size_t i)
{
	return i % COLUMNS + 1 < COLUMNS ? i + 1 : i + 1 - COLUMNS;
}

static size_t below(size_t i)
{
	return i / COLUMNS + 1 < ROWS ? i + COLUMNS : i % COLUMNS;
}

static void step(struct state *x)
{
	for (size_t i = 0; i < CELLS; i++)
		x->speed[i] += 0.1 * (x->height[right_of(i)] + x->height[below(i)] -
				      2 * x->height[i]) - 0.02 * x->height[i] * x->height[i];
	for (size_t i = 0; i < CELLS; i++)
		x->height[i] += 0.1 * x->speed[i];
	x->step++;
}

static void reverse_step(struct state *bar, const double *height)
{
	for (size_t i = 0; i < CELLS; i++)
		bar->speed[i] += 0.1 * bar->height[i];
	for (size_t i = 0; i < CELLS; i++) {
		bar->height[right_of(i)] += 0.1 * bar->speed[i];
		bar->height[below(i)] += 0.1 * bar->speed[i];
		bar->height[i] -= (0.2 + 0.04 * height[i]) * bar->speed[i];
	}
}

static int advance(void *context, void *state, int64_t first, int64_t last)
{
	struct loop *loop = context;
	struct state *x = state;

	loop->damaged += x->step != first || strcmp(x->words, "come back as they were") != 0;
	for (int64_t i = first; i < last; i++)
		step(x);
	return 0;
}

static int record(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	struct loop *loop = context;
	struct state *x = state;

	loop->damaged += x->step != first || strcmp(x->words, "come back as they were") != 0;
	for (int64_t i = first; i < last; i++) {
		double *kept = reel_push_span(tape, double, CELLS);

		if (!kept || i == loop->stops_at)
			return kept ? -ECANCELED : reel_tape_error(tape);
		memcpy(kept, x->height, sizeof x->height);
		step(x);
	}
	return 0;
}

static int reverse(void *context, void *adjoint, int64_t first, int64_t last, reel_tape *tape)
{
	(void)context;
	for (int64_t i = last; i-- > first;) {
		const double *kept = reel_pop_span(tape, double, CELLS);

		if (!kept)
			return reel_tape_error(tape);
		reverse_step(adjoint, kept);
	}
	return 0;
}

static int save(void *context, const void *state, void *snapshot)
{
	(void)context;
	memcpy(snapshot, state, sizeof(struct state));
	return 0;
}

static int load(void *context, void *state, const void *snapshot)
{
	(void)context;
	memcpy(state, snapshot, sizeof(struct state));
	return 0;
}

static void set_start(struct state *x, struct state *bar)
{
	memset(x, 0, sizeof *x);
	memset(bar, 0, sizeof *bar);
	strcpy(x->words, "come back as they were");
	for (size_t i = 0; i < CELLS; i++) {
		x->height[i] = sin(0.2 * (double)(i % COLUMNS)) * cos(0.1 * (double)(i / COLUMNS));
		bar->height[i] = i % 7 ? 0 : 1;
	}
}

/* ---- Runs ---- */

struct scheme {
	double tolerance; /* 0: without loss */
	const char *store;
	size_t slots;
	bool copies;
	enum reel_planner planner;
	size_t budget;       /* of the pool; 0: without limit */
	int repetitions;     /* gradients that are computed before */
	size_t disk_slots;   /* of a second tier; 0: there is none */
	unsigned first_tier; /* that loses */
};

struct outcome {
	int error;
	char text[200];
	struct state bar;
	struct loop loop;
	struct reel_run_stats stats;
	size_t peak;
};

static void bail_out(void)
{
	printf("Bail out! %s\n", reel_error_text(0));
	exit(EXIT_FAILURE);
}

static reel_plan *plan_of(const struct scheme *scheme)
{
	struct reel_problem problem = {.steps = STEPS, .tiers = scheme->disk_slots ? 2 : 1,
				       .tier = {{.slots = (int64_t)scheme->slots},
						{.slots = (int64_t)scheme->disk_slots}}};
	const struct reel_problem loop = {.steps = STEPS};
	reel_plan *plan;

	if (scheme->planner == REEL_AUTO ? reel_plan_open_auto(&plan, &loop, NULL)
					 : reel_plan_open(&plan, scheme->planner, &problem))
		bail_out();
	return plan;
}

static struct outcome gradient(const struct scheme *scheme, const char *restart, int64_t stops_at,
			       bool resumes)
{
	struct reel_pool_options pool_options = {.slab_bytes = 4096,
						 .hard_budget = scheme->budget};
	struct reel_loss loss = {.field = fields, .fields = COUNT(fields),
				 .tolerance = scheme->tolerance,
				 .first_tier = scheme->first_tier};
	reel_model model = {.state_bytes = sizeof(struct state), .advance = advance,
			    .record = record, .reverse = reverse};
	struct reel_run_options options = {.loss = scheme->tolerance > 0 ? &loss : NULL,
					   .restart = restart, .restart_seconds = 1e-9,
					   .adjoint_bytes = restart ? sizeof(struct state) : 0};
	struct outcome outcome = {.loop.stops_at = stops_at};
	reel_plan *plan = plan_of(scheme);
	static struct state x;
	struct reel_pool_stats pool;
	reel_run *run = NULL;

	if (scheme->copies) {
		model.save = save;
		model.load = load;
	}
	if (reel_pool_open(&options.pool, &pool_options) ||
	    (scheme->store && reel_store_open(&options.store[0], scheme->store, ".")) ||
	    reel_run_open(&run, plan, &model, &options))
		bail_out();
	for (int i = 0; i <= scheme->repetitions && !outcome.error; i++) {
		set_start(&x, &outcome.bar);
		if (resumes)
			outcome.error = reel_run_resume(run, &outcome.loop, &outcome.bar);
		if (!outcome.error && !reel_run_is_reversing(run))
			outcome.error = reel_run_forward(run, &outcome.loop, &x);
		if (!outcome.error)
			outcome.error = reel_run_reverse(run, &outcome.loop, &x, &outcome.bar);
	}
	snprintf(outcome.text, sizeof outcome.text, "%s", reel_error_text(outcome.error));
	reel_run_get_stats(run, &outcome.stats);
	reel_run_close(run);
	reel_pool_get_stats(options.pool, &pool);
	outcome.peak = pool.peak_resident_bytes;
	reel_pool_close(options.pool);
	reel_plan_close(plan);
	return outcome;
}

static double difference(const struct state *a, const struct state *b)
{
	double largest = 0, error = 0;

	for (size_t i = 0; i < CELLS; i++) {
		largest = fmax(largest, fabs(a->height[i]));
		error = fmax(error, fabs(a->height[i] - b->height[i]));
	}
	return error / largest;
}

/* ---- Cases ---- */

static struct outcome right;

static void the_error_goes_with_the_tolerance(enum reel_planner planner)
{
	const char *name = reel_planner_name(planner);
	double before = 1;

	for (double tolerance = 1e-2; tolerance > 1e-13; tolerance *= 1e-2) {
		struct scheme scheme = {.tolerance = tolerance, .slots = 8, .planner = planner};
		struct outcome outcome = gradient(&scheme, NULL, -1, false);
		double error = difference(&right.bar, &outcome.bar);

		ok(!outcome.error && !outcome.loop.damaged && error < 50 * tolerance &&
		   error < before && error > 0, "%s, tolerance %.0e: the gradient is off by %.1e, "
		   "states have %.2f of their bytes", name, tolerance, error,
		   (double)outcome.stats.kept_bytes / (double)outcome.stats.rounded_bytes);
		before = error;
	}
}

static void states_are_small(void)
{
	struct scheme scheme = {.slots = 16, .planner = REEL_BINOMIAL};
	struct outcome whole = gradient(&scheme, NULL, -1, false), small;

	scheme.tolerance = 1e-4;
	small = gradient(&scheme, NULL, -1, false);
	ok(!whole.stats.rounded_bytes && small.stats.kept_bytes * 5 < small.stats.rounded_bytes &&
	   small.stats.peak_snapshot_bytes * 4 < whole.stats.peak_snapshot_bytes &&
	   small.peak * 2 < whole.peak, "snapshots take up %zu instead of %zu KiB, the pool %zu "
	   "instead of %zu", (size_t)small.stats.peak_snapshot_bytes >> 10,
	   (size_t)whole.stats.peak_snapshot_bytes >> 10, small.peak >> 10, whole.peak >> 10);
}

/* The loss is at the STORE: no tier, and no way to copy a state, changes a bit. */
static void all_ways_have_the_same_bits(void)
{
	struct scheme scheme = {.tolerance = 1e-5, .slots = 6, .planner = REEL_BINOMIAL};
	struct outcome first = gradient(&scheme, NULL, -1, false), other;
	static const char *const stores[] = {NULL, "memory=4M", "file", "lz4,file"};

	for (size_t i = 0; i < COUNT(stores); i++)
		for (int copies = 0; copies < 2; copies++) {
			if (stores[i] && !strncmp(stores[i], "lz4", 3) && !HAVE_LZ4)
				continue;
			scheme.store = stores[i];
			scheme.copies = copies;
			other = gradient(&scheme, NULL, -1, false);
			ok(!other.error && !other.loop.damaged &&
			   !memcmp(&first.bar, &other.bar, sizeof first.bar), "%s%s: the same bits",
			   stores[i] ? stores[i] : "the pool", copies ? ", save()" : "");
		}
}

/* A snapshot is packed after its STORE, and may then find no room. */
static void without_room_a_sweep_ends(void)
{
	struct scheme scheme = {.tolerance = 1e-9, .slots = 12, .planner = REEL_BINOMIAL};
	struct outcome whole = gradient(&scheme, NULL, -1, false);
	int wrong = 0, complete = 0, refused = 0;

	for (scheme.budget = 40 << 10; scheme.budget < 400 << 10; scheme.budget += 4 << 10) {
		struct outcome outcome = gradient(&scheme, NULL, -1, false);

		complete += !outcome.error;
		refused += outcome.error == -EDQUOT && !strncmp(outcome.text, "store of state", 14);
		wrong += outcome.error ? outcome.error != -EDQUOT
				       : memcmp(&whole.bar, &outcome.bar, sizeof whole.bar) != 0;
	}
	ok(!wrong && complete > 3 && refused > 3, "under budgets from 40 to 400 KiB %d gradients "
	   "are complete, and %d are refused since a state has no room", complete, refused);
}

/*
 * A plan that learns takes states for whole until some are stored. It knows their bytes when the
 * reverse sweep begins, and in the next gradient from the beginning.
 */
static void a_plan_that_learns_keeps_more_states(void)
{
	struct scheme scheme = {.tolerance = 1e-6, .planner = REEL_AUTO};
	int64_t whole = 0, first = 0, second = 0;
	int wrong = 0;

	for (scheme.budget = 120 << 10; scheme.budget < 300 << 10; scheme.budget += 20 << 10) {
		struct scheme lossless = {.budget = scheme.budget, .planner = REEL_AUTO};
		struct outcome outcome = gradient(&scheme, NULL, -1, false);

		whole += gradient(&lossless, NULL, -1, false).stats.advanced;
		first += outcome.stats.advanced;
		wrong += outcome.error || !(difference(&right.bar, &outcome.bar) < 50 * 1e-6);
		scheme.repetitions = 1;
		outcome = gradient(&scheme, NULL, -1, false);
		second += outcome.stats.advanced;
		wrong += outcome.error || !(difference(&right.bar, &outcome.bar) < 50 * 1e-6);
		scheme.repetitions = 0;
	}
	ok(!wrong && 5 * first < 4 * whole && second < first, "auto: %lld steps are run again, in "
	   "the next gradient %lld, without loss %lld", (long long)first, (long long)second,
	   (long long)whole);
}

static void tiers_above_lose_nothing(void)
{
	struct scheme scheme = {.tolerance = 1e-2, .slots = 3, .disk_slots = 5,
				.planner = REEL_MULTISTAGE};
	struct outcome all = gradient(&scheme, NULL, -1, false), below, none;

	scheme.first_tier = 1;
	below = gradient(&scheme, NULL, -1, false);
	scheme.first_tier = 2;
	none = gradient(&scheme, NULL, -1, false);
	ok(below.stats.rounded_bytes < all.stats.rounded_bytes && below.stats.rounded_bytes &&
	   difference(&right.bar, &below.bar) > 0, "the second tier alone rounds states");
	ok(!none.stats.rounded_bytes && !memcmp(&right.bar, &none.bar, sizeof none.bar),
	   "or none");
}

static void a_run_that_is_stopped_goes_on(size_t disk_slots)
{
	struct scheme scheme = {.tolerance = 1e-5, .slots = 6, .planner = REEL_BINOMIAL,
				.disk_slots = disk_slots, .first_tier = disk_slots > 0};
	struct outcome whole;
	int wrong = 0, differ = 0, resumed = 0;

	if (disk_slots)
		scheme.planner = REEL_MULTISTAGE;
	whole = gradient(&scheme, NULL, -1, false);
	for (int64_t stop = 0; stop < STEPS; stop += is_brief() ? 5 : 1) {
		struct outcome outcome = gradient(&scheme, "loss-restart", stop, false);

		wrong += outcome.error != -ECANCELED;
		outcome = gradient(&scheme, "loss-restart", -1, true);
		if (outcome.error == -ENOENT)
			continue;
		resumed++;
		wrong += outcome.error || !(difference(&whole.bar, &outcome.bar) < 50 * 1e-5);
		/* The last step is recorded first, before the reverse sweep. */
		differ += memcmp(&whole.bar, &outcome.bar, sizeof whole.bar) && stop < STEPS - 1;
	}
	ok(!wrong && resumed > 3, "%d runs go on from their files", resumed);
	is_int(differ, 0, "with the same bits, where they were reversing");
	gradient(&scheme, "loss-restart", 20, false);
	scheme.tolerance = 1e-6;
	is_int(gradient(&scheme, "loss-restart", -1, true).error, -EINVAL,
	       "with another tolerance a file is refused");
	scheme.tolerance = 0;
	is_int(gradient(&scheme, "loss-restart", -1, true).error, -EINVAL, "and without loss");
	gradient(&scheme, "loss-restart", -1, false);
}

static int refusal(struct reel_loss loss, unsigned flags)
{
	struct scheme scheme = {.slots = 3, .planner = REEL_BINOMIAL};
	struct reel_run_options options = {.loss = &loss, .flags = flags};
	reel_model model = {.state_bytes = sizeof(struct state), .advance = advance,
			    .record = record, .reverse = reverse};
	reel_plan *plan = plan_of(&scheme);
	reel_run *run = NULL;
	int error = reel_run_open(&run, plan, &model, &options);

	tap_note("%s", reel_error_text(error));
	reel_run_close(run);
	reel_plan_close(plan);
	return error;
}

static void what_makes_no_sense_is_refused(void)
{
	static const struct reel_field odd[] = {
		{REEL_FIELD_BYTES, 1, {3}},
		{REEL_FIELD_DOUBLE, 1, {2}},
	};
	static const struct reel_field none[] = {{REEL_FIELD_DOUBLE, 0, {2}}};
	static const struct reel_field large[] = {{REEL_FIELD_FLOAT, 2, {CELLS, 5}}};
	struct reel_loss loss = {.field = fields, .fields = COUNT(fields), .tolerance = 1e-3};

	is_int(refusal(loss, 0), 0, "a loss");
	is_int(refusal(loss, REEL_RUN_AUDIT), -EINVAL, "states that are audited");
	loss.tolerance = -1e-3;
	is_int(refusal(loss, 0), -EINVAL, "a tolerance below 0");
	loss.tolerance = (double)NAN;
	is_int(refusal(loss, 0), -EINVAL, "one that is no number");
	loss.tolerance = 1e-3;
	loss.field = odd;
	is_int(refusal(loss, 0), -EINVAL, "doubles at an odd place");
	loss.field = NULL;
	is_int(refusal(loss, 0), -EINVAL, "no list");
	loss.fields = 1;
	loss.field = none;
	is_int(refusal(loss, 0), -EINVAL, "a field without dimensions");
	loss.field = large;
	is_int(refusal(loss, 0), -EINVAL, "a field that is larger than the state");
	loss.field = fields;
	loss.reserved[2] = 1;
	is_int(refusal(loss, 0), -EINVAL, "a member of a later version");
}

int main(void)
{
	struct scheme scheme = {.slots = 8, .planner = REEL_BINOMIAL};

	tap_begin();
	right = gradient(&scheme, NULL, -1, false);
	the_error_goes_with_the_tolerance(REEL_BINOMIAL);
	the_error_goes_with_the_tolerance(REEL_MIXED);
	states_are_small();
	all_ways_have_the_same_bits();
	without_room_a_sweep_ends();
	a_plan_that_learns_keeps_more_states();
	tiers_above_lose_nothing();
	a_run_that_is_stopped_goes_on(0);
	a_run_that_is_stopped_goes_on(6);
	what_makes_no_sense_is_refused();
	return tap_end();
}
