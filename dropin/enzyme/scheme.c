/* SPDX-License-Identifier: MIT */
/*
 * Enzyme's table. It asks for one action after the other, and calls store() and restore() where an
 * action says so. The first turn is the last question of the forward sweep: Enzyme keeps the state
 * before the last step in slot -2 then, and the last state in slot -1 when the reverse sweep
 * begins.
 */
#include "config.h"

#include "enzyme.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/assert.h"
#include "os/error.h"
#include "os/signals.h"

/* The version of Enzyme's interface that the tables have. */
#define INTERFACE 1

/* A loop that could not be opened, for which there is not even memory. */
static struct enzyme_loop no_loop = {.error = -ENOMEM};

/* ---- Errors ---- */

void reel_enzyme_fail(struct enzyme_loop *loop, int error, const char *what)
{
	if (loop->error)
		return;
	loop->error = error;
	REEL_UNSIGNALLED;
	fprintf(stderr, "reel: Enzyme's loop ends here: %s: %s\n", what, reel_error_text(error));
}

/* For errors that no action can prevent: a derivative would be taken from a wrong state. */
_Noreturn static void give_up(void)
{
	fputs("reel: the program is aborted, since a state of Enzyme's loop cannot be given back\n",
	      stderr);
	abort();
}

/* ---- Actions ---- */

/* Enzyme's slots have one number: the second tier's slots come after the first tier's. */
static int64_t slot_of(const struct enzyme_loop *loop)
{
	return (loop->action.tier ? loop->first_slots : 0) + loop->action.slot;
}

static void say(struct reel_enzyme_action *action, int32_t flag, int64_t first, int64_t iteration,
		int64_t slot)
{
	*action = (struct reel_enzyme_action){.flag = flag, .iteration = iteration,
					      .startiteration = first, .cpnum = slot};
}

/* Where a state has no regions, Enzyme calls neither store() nor restore(). */
static void copy_nothing(struct enzyme_loop *loop)
{
	bool is_copy = loop->action.kind == REEL_ACTION_STORE ||
		       loop->action.kind == REEL_ACTION_LOAD;

	if (!is_copy || loop->is_copied || loop->bytes)
		return;
	loop->place = (struct state_place){.n = 0};
	/* The next question returns its error. */
	(void)reel_run_copy(loop->run, loop);
}

/* Each step is recorded and reversed by Enzyme in one action. */
static int take(struct enzyme_loop *loop)
{
	int error;

	copy_nothing(loop);
	error = reel_run_next(loop->run, &loop->action);

	if (!error && loop->action.kind == REEL_ACTION_RECORD) {
		REEL_ASSERT(loop->action.last == loop->action.first + 1);
		error = reel_run_next(loop->run, &loop->action);
		REEL_ASSERT(error || loop->action.kind == REEL_ACTION_REVERSE);
	}
	return error;
}

static void say_action(struct enzyme_loop *loop, struct reel_enzyme_action *out)
{
	const reel_action *action = &loop->action;

	switch (action->kind) {
	case REEL_ACTION_STORE:
	case REEL_ACTION_LOAD:
		loop->is_copied = false;
		say(out, action->kind == REEL_ACTION_STORE ? ENZYME_STORE : ENZYME_RESTORE,
		    action->first, action->first, slot_of(loop));
		break;
	case REEL_ACTION_ADVANCE:
		say(out, ENZYME_FORWARD, action->first, action->last, 0);
		break;
	case REEL_ACTION_REVERSE:
		say(out, loop->has_turned ? ENZYME_UTURN : ENZYME_FIRSTUTURN, action->first,
		    action->last, 0);
		loop->has_turned = true;
		break;
	default:
		say(out, ENZYME_DONE, 0, 0, 0);
	}
}

static void next_action(void *state, struct reel_enzyme_action *out)
{
	struct enzyme_loop *loop = state;
	int error = loop->error ? loop->error : take(loop);

	if (error) {
		reel_enzyme_fail(loop, error, "no action");
		say(out, ENZYME_ERROR, 0, 0, 0);
		return;
	}
	say_action(loop, out);
}

/* The loop of a `while` has run `steps` steps. */
static void set_nsteps(void *state, int64_t steps)
{
	struct enzyme_loop *loop = state;

	if (loop->error || loop->steps == steps)
		return;
	if (loop->steps != REEL_UNKNOWN_STEPS || steps != loop->action.last ||
	    reel_run_end_loop(loop->run)) {
		reel_fail(-EPROTO, "a step that was run again says that the loop ends after %lld "
				   "steps", (long long)steps);
		reel_enzyme_fail(loop, -EPROTO, "its end");
		return;
	}
	loop->steps = steps;
}

/* ---- States ---- */

static bool is_kept(int64_t slot)
{
	return slot == SLOT_BEFORE_LAST || slot == SLOT_LAST;
}

/* Keeps a state beside the plan's. */
static int keep(struct enzyme_loop *loop, int64_t slot)
{
	reel_parcel **kept = &loop->kept[slot - SLOT_BEFORE_LAST];
	void *data;
	int error = *kept ? reel_parcel_unseal(*kept, &data)
			  : reel_parcel_open(kept, loop->pool, (size_t)loop->bytes, NULL, &data);

	if (error)
		return error;
	error = reel_enzyme_save(loop, NULL, data);
	reel_parcel_seal(*kept);
	return error;
}

static int give_back(struct enzyme_loop *loop, int64_t slot)
{
	reel_parcel *kept = loop->kept[slot - SLOT_BEFORE_LAST];
	const void *data;
	int error = kept ? reel_parcel_pin(kept, &data)
			 : reel_fail(-EPROTO, "a state is asked for that was not stored");

	if (error)
		return error;
	error = reel_enzyme_load(loop, NULL, data);
	reel_parcel_unpin(kept);
	return error;
}

/* The STORE or RESTORE of the last action. */
static int copy(struct enzyme_loop *loop, enum reel_action_kind kind, int64_t slot, int64_t step)
{
	if (loop->action.kind != kind || loop->is_copied || slot_of(loop) != slot ||
	    loop->action.first != step)
		return reel_fail(-EPROTO, "slot %lld is not the slot of the last action",
				 (long long)slot);
	loop->is_copied = true;
	return reel_run_copy(loop->run, loop);
}

static void store(struct enzyme_loop *loop, int64_t slot, int64_t step, struct state_place place)
{
	int error;

	if (loop->error)
		return;
	loop->place = place;
	error = is_kept(slot) ? keep(loop, slot) : copy(loop, REEL_ACTION_STORE, slot, step);
	if (error)
		reel_enzyme_fail(loop, error, "a state cannot be stored");
}

static void restore(struct enzyme_loop *loop, int64_t slot, int64_t step, struct state_place place)
{
	int error = loop->error;

	if (!error) {
		loop->place = place;
		error = is_kept(slot) ? give_back(loop, slot)
				      : copy(loop, REEL_ACTION_LOAD, slot, step);
	}
	if (!error)
		return;
	reel_enzyme_fail(loop, error, "a state cannot be given back");
	/* After slot -2 comes a turn, and after slot -1 the program, without a question. */
	if (is_kept(slot))
		give_up();
}

static void store_regions(void *state, int64_t slot, int64_t step, const void *regions, uint64_t n)
{
	store(state, slot, step, (struct state_place){.regions = regions, .n = n, .slot = slot});
}

static void restore_regions(void *state, int64_t slot, int64_t step, const void *regions,
			    uint64_t n)
{
	restore(state, slot, step, (struct state_place){.regions = regions, .n = n, .slot = slot});
}

/* A snapshot of save() would lack them, and a replay would begin from wrong values. */
static void refuse_regions(void *state, int64_t slot, int64_t step, const void *regions, uint64_t n)
{
	struct enzyme_loop *loop = state;

	(void)slot;
	(void)step;
	(void)regions;
	if (!n || loop->error)
		return;
	reel_fail(-ENOTSUP, "the step writes globals, or has regions, which save() does not know: "
			    "use reel_enzyme_scheme");
	reel_enzyme_fail(loop, -ENOTSUP, "reel_enzyme_env_scheme");
}

static void save_env(void *state, int64_t slot, int64_t step, void *env)
{
	store(state, slot, step, (struct state_place){.env = env, .slot = slot});
}

static void load_env(void *state, int64_t slot, int64_t step, void *env)
{
	restore(state, slot, step, (struct state_place){.env = env, .slot = slot});
}

/* ---- Beginning and end ---- */

static void finalize(void *state)
{
	struct enzyme_loop *loop = state;

	if (loop == &no_loop)
		return;
	if (loop->run && loop->options.stats)
		reel_run_get_stats(loop->run, loop->options.stats);
	for (int i = 0; i < KEPT; i++)
		reel_parcel_close(loop->kept[i]);
	reel_run_close(loop->run);
	reel_plan_close(loop->plan);
	free(loop);
}

/* Never NULL: Enzyme would ask it for an action. */
static struct enzyme_loop *open_loop(const struct reel_enzyme_options *options, int64_t steps,
				     uint64_t bytes, int64_t snapshots)
{
	struct enzyme_loop *loop = calloc(1, sizeof *loop);
	int error;

	if (!loop) {
		REEL_UNSIGNALLED;
		fputs("reel: Enzyme's loop ends here: no memory\n", stderr);
		return &no_loop;
	}
	if (options)
		loop->options = *options;
	/* A `for` whose bounds are crossed runs no step. */
	loop->steps = steps == -1 ? REEL_UNKNOWN_STEPS : steps < 0 ? 0 : steps;
	loop->bytes = bytes;
	loop->pool = loop->options.pool ? loop->options.pool : reel_pool_default();
	error = loop->pool ? reel_enzyme_open(loop, snapshots) : -ENXIO;
	if (error)
		reel_enzyme_fail(loop, error, "it cannot begin");
	return loop;
}

static void *init(void *options, int64_t steps, uint64_t bytes)
{
	return open_loop(options, steps, bytes, 0);
}

static void *init_env(void *data, int64_t steps, uint64_t bytes)
{
	const struct reel_enzyme_options *options = data;
	struct enzyme_loop *loop;

	(void)bytes;
	if (options && options->save && options->load)
		return open_loop(options, steps, options->state_bytes, 0);
	loop = open_loop(options, steps, 0, 0);
	reel_fail(-EINVAL, "reel_enzyme_env_scheme needs save() and load() in its options");
	if (loop != &no_loop)
		reel_enzyme_fail(loop, -EINVAL, "it cannot begin");
	return loop;
}

static void set_paths(void *state, const int64_t *paths, uint64_t n)
{
	const struct enzyme_loop *loop = state;

	if (loop->options.set_paths)
		loop->options.set_paths(loop->options.context, paths, n);
}

/* The first member of Enzyme's EnzymeCkptConfig is the number of snapshots; 0: not said. */
static void *init_builtin(void *config, int64_t steps, uint64_t bytes)
{
	return open_loop(NULL, steps, bytes, config ? *(const int64_t *)config : 0);
}

const struct reel_enzyme_table reel_enzyme_scheme = {
	.version = INTERFACE,
	.init = init,
	.next_action = next_action,
	.store = store_regions,
	.restore = restore_regions,
	.set_nsteps = set_nsteps,
	.finalize = finalize,
};

const struct reel_enzyme_table reel_enzyme_env_scheme = {
	.version = INTERFACE,
	.init = init_env,
	.next_action = next_action,
	.store = refuse_regions,
	.restore = refuse_regions,
	.set_nsteps = set_nsteps,
	.finalize = finalize,
	.save_state = save_env,
	.load_state = load_env,
	.set_paths = set_paths,
};

const struct reel_enzyme_table *__enzyme_checkpoint_builtin(int64_t mode)
{
	static const struct reel_enzyme_table table = {
		.version = INTERFACE,
		.init = init_builtin,
		.next_action = next_action,
		.store = store_regions,
		.restore = restore_regions,
		.set_nsteps = set_nsteps,
		.finalize = finalize,
	};

	/* Enzyme's mode is another way to say a plan, which REEL_PLAN says. */
	(void)mode;
	return &table;
}
