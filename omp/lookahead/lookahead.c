/* SPDX-License-Identifier: MIT */
/*
 * Walks through a plan and gives its actions to the threads of a sweep. All threads of the sweep
 * run work(); one of them at a time walks. An action is in the queue from walk() until it and all
 * earlier actions are done. A thread sleeps only while another thread runs an action or walks, so
 * the sweep never waits for itself. The results equal the results of a serial sweep, to the last
 * bit.
 */
#include "config.h"

#include "lookahead.h"
#include "omp/runtime/caller.h"
#include "omp/runtime/team-size.h"
#include "os/assert.h"
#include "os/error.h"
#include "os/integer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- The state and the tape of an action ---- */

static int take_action(struct ahead_sweep *sweep, reel_action *action)
{
	int error = 0;

	if (sweep->has_next)
		*action = sweep->next;
	else
		error = reel_run_take(sweep->run, action);
	sweep->has_next = false;
	if (error)
		snprintf(sweep->text, sizeof sweep->text, "%s", reel_error_text(error));
	return error;
}

/* Takes the tapes below `limit` in turn. */
static struct ahead_tape *next_tape(struct ahead_sweep *sweep)
{
	sweep->next_tape++;
	sweep->next_tape %= atomic_load_explicit(&sweep->limit, memory_order_relaxed);
	REEL_ASSERT(sweep->next_tape < sweep->ahead_tapes);
	return &sweep->ahead_tape[sweep->next_tape];
}

/*
 * If the next action reverses the steps of the entry and none below, an ahead tape, which has no
 * other steps, can take them.
 */
static void choose_recorded(struct ahead_sweep *sweep, struct ahead_action *entry)
{
	REEL_ASSERT(!sweep->recorded_tape && !sweep->has_next);
	entry->ahead_tape = &sweep->kept;
	sweep->error = take_action(sweep, &sweep->next);
	sweep->has_next = !sweep->error;
	if (sweep->has_next && sweep->next.kind == REEL_ACTION_REVERSE &&
	    sweep->next.first == entry->action.first)
		entry->ahead_tape = sweep->recorded_tape = next_tape(sweep);
}

/* A RECORD or REVERSE has an ahead tape, no other action has. */
static void choose_uses(struct ahead_sweep *sweep, struct ahead_action *entry)
{
	const reel_action *action = &entry->action;
	enum reel_action_kind kind = action->kind;
	bool copies = kind == REEL_ACTION_LOAD || kind == REEL_ACTION_STORE;

	entry->uses[0] = &entry->state->resource;
	if (copies)
		entry->uses[1] = entry->uses[0];
	else if (entry->ahead_tape)
		entry->uses[1] = &entry->ahead_tape->resource;
	if (copies || kind == REEL_ACTION_DROP)
		entry->uses[0] = &sweep->slot[(action->slot * REEL_MAX_TIERS + action->tier) %
					      AHEAD_SLOTS];
	else if (kind == REEL_ACTION_REVERSE)
		entry->uses[0] = &sweep->reverse_chain;
}

/* Takes the next action into `entry`. Returns false if there is none, or with sweep->error set. */
static bool prepare(struct ahead_sweep *sweep, struct ahead_action *entry)
{
	REEL_ASSERT(sweep->walking);
	*entry = (struct ahead_action){.sweep = sweep, .number = sweep->number};
	sweep->error = take_action(sweep, &entry->action);
	sweep->finished = !sweep->error && entry->action.kind == REEL_ACTION_DONE;
	if (sweep->error || sweep->finished)
		return false;
	if (entry->action.kind == REEL_ACTION_LOAD)
		sweep->next_state = (sweep->next_state + 1) % sweep->states;
	entry->state = &sweep->state[sweep->next_state];
	if (entry->action.kind == REEL_ACTION_RECORD) {
		choose_recorded(sweep, entry);
	} else if (entry->action.kind == REEL_ACTION_REVERSE) {
		entry->ahead_tape = sweep->recorded_tape ? sweep->recorded_tape : &sweep->kept;
		sweep->recorded_tape = NULL;
		sweep->at_first_step |= entry->action.first == 0;
	}
	choose_uses(sweep, entry);
	return !sweep->error;
}

/* ---- Waiting. These functions require `sweep->lock`. ---- */

static struct ahead_action *entry_at(struct ahead_sweep *sweep, int64_t number)
{
	return &sweep->queue[number % sweep->places];
}

/*
 * In order of numbers, but a REVERSE first: the other actions only serve the reverse chain. With
 * another order the processes of a run might wait for each other for ever (lookahead.h).
 */
static void add_ready(struct ahead_sweep *sweep, struct ahead_action *entry)
{
	struct ahead_action **at = &sweep->ready;

	REEL_ASSERT(!entry->waits && !entry->done);
	if (entry->action.kind != REEL_ACTION_REVERSE)
		while (*at &&
		       ((*at)->action.kind == REEL_ACTION_REVERSE || (*at)->number < entry->number))
			at = &(*at)->next_ready;
	entry->next_ready = *at;
	*at = entry;
}

/* Wakes a thread for each ready action but the first, which the calling thread takes itself. */
static void wake_others(struct ahead_sweep *sweep)
{
	struct ahead_action *entry = sweep->ready;

	while (entry && (entry = entry->next_ready))
		pthread_cond_signal(&sweep->changed);
}

static void wait_for_others(struct ahead_action *entry)
{
	REEL_ASSERT(entry->uses[0] && entry->uses[0] != entry->uses[1]);
	for (unsigned i = 0; i < 2 && entry->uses[i]; i++) {
		struct ahead_action *last = entry->uses[i]->last;

		entry->uses[i]->last = entry;
		if (!last)
			continue;
		REEL_ASSERT(last->number < entry->number && !last->done);
		last->next_user[last->uses[0] != entry->uses[i]] = entry;
		entry->waits++;
	}
	if (!entry->waits)
		add_ready(entry->sweep, entry);
}

static void let_others_go(struct ahead_action *entry)
{
	for (unsigned i = 0; i < 2 && entry->uses[i]; i++) {
		struct ahead_action *next = entry->next_user[i];

		REEL_ASSERT(next ? next->waits > 0 : entry->uses[i]->last == entry);
		if (!next)
			entry->uses[i]->last = NULL;
		else if (--next->waits == 0)
			add_ready(entry->sweep, next);
	}
}

/* Actions that were skipped or have failed stay in the queue, and so do all after them. */
static void retire(struct ahead_sweep *sweep)
{
	while (sweep->oldest < sweep->number && entry_at(sweep, sweep->oldest)->done)
		sweep->oldest++;
	REEL_ASSERT(sweep->number - sweep->oldest <= sweep->places);
}

/* ---- The threads. These functions require `sweep->lock` and release it while they act. ---- */

static bool has_room(const struct ahead_sweep *sweep)
{
	/* Asked first: the thread that walks writes the other members without the lock. */
	if (sweep->walking)
		return false;
	/*
	 * Taking REEL_ACTION_DONE removes the restart file, so all other actions have to be done
	 * before.
	 */
	if (sweep->at_first_step && sweep->oldest < sweep->number)
		return false;
	/* In a run of one process a sweep that pauses adds no actions: all would be skipped. */
	if (reel_group_is_alone(reel_run_group(sweep->run)) &&
	    atomic_load_explicit(&sweep->stop, memory_order_relaxed) != AHEAD_NONE)
		return false;
	return !sweep->finished && !sweep->error &&
	       sweep->number - sweep->oldest < sweep->places;
}

/*
 * Taking the last action removes the restart files, and the processes of the run agree before. So
 * prepare() runs without the lock.
 */
static void walk(struct ahead_sweep *sweep)
{
	while (has_room(sweep)) {
		struct ahead_action *entry = entry_at(sweep, sweep->number);
		bool more;

		sweep->walking = true;
		pthread_mutex_unlock(&sweep->lock);
		more = prepare(sweep, entry);
		pthread_mutex_lock(&sweep->lock);
		sweep->walking = false;
		if (!more)
			return;
		REEL_ASSERT(entry->number == sweep->number);
		sweep->number++;
		wait_for_others(entry);
	}
}

static void run(struct ahead_sweep *sweep, struct ahead_action *entry)
{
	bool done;

	REEL_ASSERT(!sweep->alone && entry->number >= sweep->oldest && entry == sweep->ready);
	sweep->ready = entry->next_ready;
	sweep->running++;
	pthread_mutex_unlock(&sweep->lock);
	done = reel_omp_carry_out(entry);
	pthread_mutex_lock(&sweep->lock);
	entry->done = done;
	let_others_go(entry);
	retire(sweep);
	wake_others(sweep);
	walk(sweep);
	wake_others(sweep);
	sweep->running--;
}

/* Carries out, in order, the actions that are not done. Returns the first error in this order. */
static int catch_up(struct ahead_sweep *sweep)
{
	int error = 0;

	for (; sweep->oldest < sweep->number && !error; sweep->oldest++) {
		struct ahead_action *entry = entry_at(sweep, sweep->oldest);

		REEL_ASSERT(entry->number == sweep->oldest && !entry->waits);
		sweep->pauses += entry->had_no_memory;
		if (!entry->done && !entry->error)
			reel_omp_carry_out(entry);
		error = entry->error;
		if (error) {
			memcpy(sweep->text, entry->text, sizeof sweep->text);
			reel_run_give_up(sweep->run);
		}
	}
	return error;
}

/* No action runs and none is ready, so the sweep has ended, failed, or pauses for memory. */
static void go_on_alone(struct ahead_sweep *sweep)
{
	int error;

	REEL_ASSERT(!sweep->walking && !sweep->reverse_chain.last);
	sweep->running++;
	sweep->alone = true;
	atomic_store_explicit(&sweep->stop, AHEAD_NONE, memory_order_relaxed);
	pthread_mutex_unlock(&sweep->lock);
	error = catch_up(sweep);
	pthread_mutex_lock(&sweep->lock);
	sweep->alone = false;
	if (error)
		sweep->error = error;
	walk(sweep);
	wake_others(sweep);
	sweep->over = sweep->error || (sweep->finished && sweep->oldest == sweep->number);
	sweep->running--;
	if (sweep->over)
		pthread_cond_broadcast(&sweep->changed);
}

/* A thread sleeps only while another thread runs an action, and that thread wakes it. */
static void work(void *argument)
{
	struct ahead_sweep *sweep = argument;

	reel_annotate_acquire(sweep);
	pthread_mutex_lock(&sweep->lock);
	while (!sweep->over) {
		struct ahead_action *entry = sweep->ready;

		if (entry)
			run(sweep, entry);
		else if (!sweep->running)
			go_on_alone(sweep);
		else
			pthread_cond_wait(&sweep->changed, &sweep->lock);
	}
	pthread_mutex_unlock(&sweep->lock);
}

/* ---- Beginning and end ---- */

static const struct reel_omp_options no_options;

static const char *problem_of(const reel_run *run, const struct reel_omp_options *options)
{
	const reel_model *model = reel_run_model(run);

	if (!model->advance)
		return "the run is driven by the program (reel_run_next()): nothing looks ahead";
	if (options->threads < 0)
		return "threads must be at least 1, or 0 for the number that OpenMP chooses";
	if (options->tapes > REEL_OMP_MAX_TAPES)
		return "tapes must be at most REEL_OMP_MAX_TAPES";
	if (!options->open_state != !options->close_state)
		return "open_state() and close_state() go together";
	if (model->save && !options->open_state)
		return "a model with save() and load() needs open_state() and close_state()";
	return reel_reserved_problem(options->reserved, sizeof options->reserved);
}

static int look_ahead(reel_run *run, void *context, void *state, void *adjoint,
		      const struct reel_omp_options *options, struct reel_omp_stats *stats)
{
	struct ahead_sweep all = {
		.run = run, .context = context, .adjoint = adjoint, .options = options};
	struct ahead_sweep *sweep = &all;
	int error = reel_omp_sweep_open(sweep, state);

	if (error)
		return error == -EAGAIN ? reel_run_reverse(run, context, state, adjoint) : error;
	/* Each ahead tape keeps one thread busy, and one more thread advances to the next tape. */
	/* Mutants survive (boundary): it writes an equal number once more. */
	if (stats->threads > (int)sweep->ahead_tapes + 1)
		stats->threads = (int)sweep->ahead_tapes + 1;
	reel_run_look_ahead(run, context);
	reel_annotate_release(sweep);
	reel_omp_call(stats->threads, work, sweep);
	pthread_mutex_lock(&sweep->lock);
	REEL_ASSERT(!sweep->running && (sweep->error || sweep->oldest == sweep->number));
	error = sweep->error;
	pthread_mutex_unlock(&sweep->lock);
	stats->actions = atomic_load_explicit(&sweep->actions, memory_order_relaxed);
	stats->ahead = atomic_load_explicit(&sweep->ahead, memory_order_relaxed);
	stats->dropped = atomic_load_explicit(&sweep->dropped, memory_order_relaxed);
	stats->max_tapes =
		(int64_t)atomic_load_explicit(&sweep->max_tapes, memory_order_relaxed);
	stats->pauses = sweep->pauses;
	if (error)
		reel_fail(error, "%s", sweep->text);
	reel_omp_sweep_close(sweep);
	return error;
}

static int reverse(reel_run *run, void *context, void *state, void *adjoint,
		   const struct reel_omp_options *options, struct reel_omp_stats *stats)
{
	const struct reel_run_group *group = reel_run_group(run);
	const char *problem = problem_of(run, options);
	/*
	 * Without contexts, callbacks that run at the same time would send in one communicator, and
	 * receive each other's messages.
	 */
	unsigned serial = stats->threads == 1 || !reel_run_is_reversing(run) ||
			  reel_run_flags(run) & REEL_RUN_AUDIT ||
			  (!reel_group_is_alone(group) && !options->contexts);
	int error = reel_group_agree(group, problem ? reel_fail(-EINVAL, "%s", problem) : 0,
				     &serial);

	if (error)
		return error;
	if (serial)
		return reel_run_reverse(run, context, state, adjoint);
	return look_ahead(run, context, state, adjoint, options, stats);
}

int reel_omp_run_reverse(reel_run *run, void *context, void *state, void *adjoint,
			 const struct reel_omp_options *options, struct reel_omp_stats *stats)
{
	struct reel_team_measure measure = {0};
	struct reel_omp_stats ignored;
	int threads, error;
	double steps;

	if (!run)
		return reel_fail(-EINVAL, "a sweep needs a run");
	if (!options)
		options = &no_options;
	if (!stats)
		stats = &ignored;
	threads = reel_omp_threads(options->threads);
	steps = (double)reel_run_steps(run);
	/* Not in several processes, which have to agree, and whose times differ. */
	if (options->threads == 0 && reel_run_is_reversing(run) && steps > 0 &&
	    !(reel_run_flags(run) & REEL_RUN_AUDIT) && reel_group_is_alone(reel_run_group(run)))
		threads = reel_team_size_begin(&measure, REEL_CALLER, threads, steps);
	*stats = (struct reel_omp_stats){.threads = threads};
	error = reverse(run, context, state, adjoint, options, stats);
	/* A sweep that could not look ahead had one thread. */
	reel_team_size_end(&measure, error ? 0 : stats->actions ? threads : 1, steps);
	return error;
}
