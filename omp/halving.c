/* SPDX-License-Identifier: MIT */
/*
 * A part is a range of segments whose first state is known. It is halved until one
 * segment is left, which is recorded; each lower half becomes a part of its own, with a
 * snapshot. A part goes on only when it has to, by where the reverse chain is: one that
 * came down too fast is laid aside with its state, or else snapshots would pile up.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <reel/halving.h>
#include <reel/omp.h>

#include "buffer.h"
#include "team.h"

struct state {
	void *data;
	struct reel_omp_buffer memory; /* closed: the program's */
	struct state *next;
};

struct part {
	struct tree *tree;
	int64_t first, last;
	int64_t start; /* where the reverse chain is when this part goes on */
	/* Of its first segment: a snapshot until it is begun, then a state. */
	struct reel_omp_buffer snapshot;
	struct state *state;
	reel_tape tape;
	struct part *next;
};

struct tree {
	const struct reel_omp_halving *halving;
	const reel_model *model;
	const struct reel_omp_options *options;
	reel_pool *pool;
	void *context;
	void *adjoint;
	int64_t segment_steps, segments;
	struct reel_halving rule;
	struct state of_caller;

	/* Guards all below. */
	pthread_mutex_t lock;
	int64_t end; /* segments from here on have been reversed */
	/* The highest segments first, which are needed first. */
	struct part *waiting, *recorded;
	int64_t running; /* threads that do something */
	bool over;
	pthread_cond_t changed; /* there is something to do, or it is over */
	struct state *unused;
	/* The part that failed, by its last segment, and how; parts above it go on. */
	int64_t failed;
	int error;
	int64_t snapshots, states, begun;
	struct reel_omp_halving_stats stats;
};

static int64_t step_of(const struct tree *tree, int64_t segment)
{
	return segment == tree->segments ? tree->halving->steps : segment * tree->segment_steps;
}

/* ---- Counts ---- */

static void raise(int64_t *most, int64_t now)
{
	if (now > *most)
		*most = now;
}

/* Under the lock, after one of these counts has changed. */
static void note_peaks(struct tree *tree)
{
	raise(&tree->stats.peak_workers, tree->running);
	raise(&tree->stats.peak_states, tree->snapshots + tree->states);
	raise(&tree->stats.peak_resources, tree->snapshots + tree->begun);
}

static void change(struct tree *tree, int64_t *count, int64_t by)
{
	pthread_mutex_lock(&tree->lock);
	*count += by;
	note_peaks(tree);
	pthread_mutex_unlock(&tree->lock);
}

static void count_steps(struct tree *tree, int64_t *counter, int64_t first, int64_t last)
{
	change(tree, counter, step_of(tree, last) - step_of(tree, first));
}

/* ---- Failures ---- */

/* A serial sweep comes to the part with the higher segments first. */
static void fail(struct tree *tree, const struct part *part, int error)
{
	pthread_mutex_lock(&tree->lock);
	if (part->last > tree->failed) {
		tree->failed = part->last;
		tree->error = error;
	}
	pthread_mutex_unlock(&tree->lock);
}

/* ---- States and snapshots ---- */

static int open_state(struct tree *tree, struct state *state)
{
	if (!tree->options->open_state) {
		int error = reel_omp_buffer_open(&state->memory, tree->pool,
						 tree->model->state_bytes);

		state->data = state->memory.data;
		return error;
	}
	pthread_mutex_lock(&tree->lock);
	state->data = tree->options->open_state(tree->context);
	pthread_mutex_unlock(&tree->lock);
	return state->data ? 0 : -ENOMEM;
}

static void close_state(struct tree *tree, struct state *state)
{
	if (state->memory.data)
		reel_omp_buffer_close(&state->memory);
	else
		tree->options->close_state(tree->context, state->data);
	free(state);
}

static int take_state(struct tree *tree, struct state **taken)
{
	struct state *state;
	int error;

	pthread_mutex_lock(&tree->lock);
	state = tree->unused;
	if (state)
		tree->unused = state->next;
	pthread_mutex_unlock(&tree->lock);
	if (!state) {
		state = calloc(1, sizeof *state);
		error = state ? open_state(tree, state) : -ENOMEM;
		if (error) {
			free(state);
			return error;
		}
	}
	change(tree, &tree->states, 1);
	*taken = state;
	return 0;
}

/* The caller's stays as it is: it is the last state. */
static void give_state(struct tree *tree, struct state *state)
{
	pthread_mutex_lock(&tree->lock);
	if (state != &tree->of_caller) {
		state->next = tree->unused;
		tree->unused = state;
	}
	tree->states--;
	pthread_mutex_unlock(&tree->lock);
}

static int save(const struct tree *tree, const struct state *state, void *snapshot)
{
	if (tree->model->save)
		return tree->model->save(tree->context, state->data, snapshot);
	memcpy(snapshot, state->data, tree->model->state_bytes);
	return 0;
}

static int load(const struct tree *tree, struct state *state, const void *snapshot)
{
	if (tree->model->load)
		return tree->model->load(tree->context, state->data, snapshot);
	memcpy(state->data, snapshot, tree->model->state_bytes);
	return 0;
}

/* ---- Parts ---- */

static void choose_start(struct part *part)
{
	part->start = reel_halving_start(&part->tree->rule, part->first, part->last);
}

static struct part *new_part(struct tree *tree, int64_t first, int64_t last)
{
	struct part *part = calloc(1, sizeof *part);

	if (!part)
		return NULL;
	part->tree = tree;
	part->first = first;
	part->last = last;
	choose_start(part);
	reel_tape_open(&part->tape, tree->pool, 0);
	return part;
}

static void drop_snapshot(struct part *part)
{
	if (!part->snapshot.data)
		return;
	reel_omp_buffer_close(&part->snapshot);
	change(part->tree, &part->tree->snapshots, -1);
}

static void free_part(struct part *part)
{
	drop_snapshot(part);
	if (part->state)
		give_state(part->tree, part->state);
	reel_tape_close(&part->tape);
	free(part);
}

static void free_parts(struct part *part)
{
	while (part) {
		struct part *next = part->next;

		free_part(part);
		part = next;
	}
}

/* Under the lock. */
static void insert(struct part **list, struct part *part)
{
	while (*list && (*list)->last > part->last)
		list = &(*list)->next;
	part->next = *list;
	*list = part;
}

/* Under the lock: one that has to go on now, where the chain is, and is not given up. */
static struct part **find_due(struct tree *tree)
{
	struct part **at = &tree->waiting;

	while (*at && (*at)->last > tree->failed && (*at)->start < tree->end)
		at = &(*at)->next;
	return *at && (*at)->last > tree->failed ? at : NULL;
}

/* The lower half becomes a part of its own. */
static int leave_lower(const struct part *part, int64_t middle)
{
	struct tree *tree = part->tree;
	struct part *lower = new_part(tree, part->first, middle);
	int error = -ENOMEM;

	if (lower)
		error = reel_omp_buffer_open(&lower->snapshot, tree->pool,
					     tree->model->state_bytes);
	if (error) {
		free(lower);
		return error;
	}
	change(tree, &tree->snapshots, 1);
	error = save(tree, part->state, lower->snapshot.data);
	if (error) {
		free_part(lower);
		return error;
	}
	pthread_mutex_lock(&tree->lock);
	insert(&tree->waiting, lower);
	if (find_due(tree))
		pthread_cond_signal(&tree->changed);
	pthread_mutex_unlock(&tree->lock);
	return 0;
}

static int advance(struct part *part, int64_t last)
{
	struct tree *tree = part->tree;
	int error = tree->model->advance(tree->context, part->state->data,
					 step_of(tree, part->first), step_of(tree, last));

	if (!error)
		count_steps(tree, &tree->stats.advanced, part->first, last);
	return error;
}

static int record(struct part *part)
{
	struct tree *tree = part->tree;
	void *state = part->state->data;
	int error = tree->model->record(tree->context, state, step_of(tree, part->first),
					step_of(tree, part->last), &part->tape);

	reel_tape_hand_over(&part->tape);
	if (!error)
		error = reel_tape_error(&part->tape);
	if (!error)
		count_steps(tree, &tree->stats.recorded, part->first, part->last);
	if (!error && part->last == tree->segments && tree->halving->turn)
		error = tree->halving->turn(tree->context, state, tree->adjoint);
	return error;
}

/* The snapshot is released when the part that it is for begins. */
static int begin_part(struct part *part)
{
	struct tree *tree = part->tree;
	int error;

	change(tree, &tree->begun, 1);
	change(tree, &tree->stats.sweeps, 1);
	if (!part->snapshot.data) {
		part->state = &tree->of_caller;
		change(tree, &tree->states, 1);
		return 0;
	}
	error = take_state(tree, &part->state);
	if (error)
		return error;
	error = load(tree, part->state, part->snapshot.data);
	drop_snapshot(part);
	return error;
}

/* Whether the part is laid aside, or given up: somebody else has it then, or nobody. */
static bool lay_aside(struct part *part)
{
	struct tree *tree = part->tree;
	bool aside;

	choose_start(part);
	pthread_mutex_lock(&tree->lock);
	aside = part->start < tree->end || part->last <= tree->failed;
	if (aside)
		insert(&tree->waiting, part);
	pthread_mutex_unlock(&tree->lock);
	return aside;
}

static int halve(struct part *part)
{
	int64_t middle = reel_halving_split(&part->tree->rule, part->first, part->last);
	int error = leave_lower(part, middle);

	if (!error)
		error = advance(part, middle);
	part->first = middle;
	return error;
}

/* Down to the last segment, which is recorded. False: the part is somebody else's now. */
static bool sweep(struct part *part, int *error)
{
	*error = part->state ? 0 : begin_part(part);
	while (!*error && part->last - part->first > 1) {
		*error = halve(part);
		if (!*error && lay_aside(part))
			return false;
	}
	if (!*error)
		*error = record(part);
	if (part->state)
		give_state(part->tree, part->state);
	part->state = NULL;
	return true;
}

/* ---- The reverse chain ---- */

static int reverse(struct part *part)
{
	struct tree *tree = part->tree;
	int error = tree->model->reverse(tree->context, tree->adjoint, step_of(tree, part->first),
					 step_of(tree, part->last), &part->tape);

	if (!error && !reel_tape_is_empty(&part->tape))
		reel_tape_give_up(&part->tape, -EBADMSG, "reverse popped less than record pushed");
	reel_tape_hand_over(&part->tape);
	if (!error)
		error = reel_tape_error(&part->tape);
	if (!error)
		count_steps(tree, &tree->stats.reversed, part->first, part->last);
	return error;
}

/* ---- What a thread does. All under the lock, but for the callbacks. ---- */

/* The part whose segment the chain is at: no other one is, until it has been reversed. */
static struct part *take_next(struct tree *tree)
{
	struct part *part = tree->recorded;

	if (!part || part->last != tree->end || part->last <= tree->failed)
		return NULL;
	tree->recorded = part->next;
	return part;
}

static void run_chain(struct tree *tree, struct part *part)
{
	int error;

	pthread_mutex_unlock(&tree->lock);
	error = reverse(part);
	if (error)
		fail(tree, part, error);
	pthread_mutex_lock(&tree->lock);
	tree->begun--;
	if (!error)
		tree->end = part->first;
	pthread_mutex_unlock(&tree->lock);
	free_part(part);
	pthread_mutex_lock(&tree->lock);
}

static struct part *take_due(struct tree *tree)
{
	struct part **at = find_due(tree), *part;

	if (!at)
		return NULL;
	part = *at;
	*at = part->next;
	return part;
}

static void run_part(struct tree *tree, struct part *part)
{
	bool recorded;
	int error;

	pthread_mutex_unlock(&tree->lock);
	recorded = sweep(part, &error);
	if (error)
		fail(tree, part, error);
	pthread_mutex_lock(&tree->lock);
	if (recorded)
		insert(&tree->recorded, part);
}

/* False: there is nothing to do now. */
static bool do_something(struct tree *tree)
{
	struct part *next = take_next(tree), *due = next ? NULL : take_due(tree);

	if (!next && !due)
		return false;
	tree->running++;
	note_peaks(tree);
	/* There may be more to do than this. */
	pthread_cond_signal(&tree->changed);
	if (next)
		run_chain(tree, next);
	else
		run_part(tree, due);
	tree->running--;
	return true;
}

/* Who waits waits for one who does something; if nobody does, all is done, or has failed. */
static void work(void *argument)
{
	struct tree *tree = argument;

	reel_annotate_acquire(tree);
	pthread_mutex_lock(&tree->lock);
	while (!tree->over) {
		if (do_something(tree))
			continue;
		if (tree->running)
			pthread_cond_wait(&tree->changed, &tree->lock);
		else
			tree->over = true;
	}
	pthread_cond_broadcast(&tree->changed);
	pthread_mutex_unlock(&tree->lock);
}

/* ---- Beginning and end ---- */

static const struct reel_omp_options no_options;

static const char *problem_with_options(const reel_model *model,
					const struct reel_omp_options *options)
{
	if (options->threads < 0)
		return "threads must be at least 1, or 0 for as many as OpenMP chooses";
	if (!options->open_state != !options->close_state)
		return "open_state() and close_state() go together";
	if (model->save && !options->open_state)
		return "a model with save() and load() needs open_state() and close_state()";
	if (options->contexts)
		return "contexts are for reel_omp_checkpoint_reverse()";
	for (size_t i = 0; i < sizeof options->reserved / sizeof *options->reserved; i++)
		if (options->reserved[i])
			return "reserved must be 0: set the options to 0 before setting some";
	return NULL;
}

const char *reel_omp_halving_problem(const struct reel_omp_halving *halving,
				     const reel_model *model,
				     const struct reel_omp_options *options)
{
	if (!halving || !model)
		return "halving needs a loop and a model";
	if (!model->advance || !model->record || !model->reverse)
		return "a model needs advance(), record() and reverse()";
	if (!model->save != !model->load)
		return "a model has both save() and load(), or neither";
	if (halving->steps < 0 || halving->steps > REEL_MOST_STEPS)
		return "steps must be from 0 to REEL_MOST_STEPS";
	if (halving->segment_steps < 0 || halving->segment_steps > REEL_MOST_STEPS)
		return "segment_steps must be from 1 (or 0) to REEL_MOST_STEPS";
	if (!(isfinite(halving->record_cost) && halving->record_cost >= 0 &&
	      isfinite(halving->reverse_cost) && halving->reverse_cost >= 0))
		return "costs must be numbers above 0, or 0 for 1";
	for (size_t i = 0; i < sizeof halving->reserved / sizeof *halving->reserved; i++)
		if (halving->reserved[i])
			return "reserved must be 0: set the struct to 0 before setting some";
	return problem_with_options(model, options ? options : &no_options);
}

static int run_tree(struct tree *tree)
{
	tree->waiting = new_part(tree, 0, tree->segments);
	if (!tree->waiting)
		return -ENOMEM;
	reel_annotate_release(tree);
	reel_omp_call(tree->stats.threads, work, tree);
	pthread_mutex_lock(&tree->lock);
	pthread_mutex_unlock(&tree->lock);
	return tree->error;
}

static void end(struct tree *tree)
{
	free_parts(tree->waiting);
	free_parts(tree->recorded);
	while (tree->unused) {
		struct state *state = tree->unused;

		tree->unused = state->next;
		close_state(tree, state);
	}
	pthread_cond_destroy(&tree->changed);
	pthread_mutex_destroy(&tree->lock);
}

/* In a unit small enough for the least of the costs that make a difference. */
static struct reel_halving rule_of(const struct reel_omp_halving *halving)
{
	double record = halving->record_cost > 0 ? halving->record_cost : 1;
	double reverse = halving->reverse_cost > 0 ? halving->reverse_cost : 1;
	double units = (1 << 28) / fmax(1, fmax(record, reverse));

	return (struct reel_halving){.rule = REEL_HALVING_MIDDLE,
				     .advance_cost = (int64_t)fmax(1, round(units)),
				     .record_cost = (int64_t)fmax(1, round(record * units)),
				     .reverse_cost = (int64_t)fmax(1, round(reverse * units))};
}

static void lay_out(struct tree *tree, const struct reel_omp_halving *halving)
{
	tree->segment_steps = halving->segment_steps ? halving->segment_steps : 1;
	tree->segments = halving->steps / tree->segment_steps +
			 (halving->steps % tree->segment_steps != 0);
	tree->rule = rule_of(halving);
	tree->end = tree->segments;
	pthread_mutex_init(&tree->lock, NULL);
	pthread_cond_init(&tree->changed, NULL);
}

int reel_omp_halving_reverse(const struct reel_omp_halving *halving, const reel_model *model,
		     reel_pool *pool, void *context, void *state, void *adjoint,
		     const struct reel_omp_options *options, struct reel_omp_halving_stats *stats)
{
	struct tree tree = {.halving = halving, .model = model, .context = context,
			    .adjoint = adjoint, .of_caller = {.data = state},
			    .options = options ? options : &no_options,
			    .pool = pool ? pool : reel_pool_default()};

	if (reel_omp_halving_problem(halving, model, options))
		return -EINVAL;
	if (!tree.pool)
		return -ENOMEM;
	tree.stats.threads = reel_omp_threads(tree.options->threads);
	lay_out(&tree, halving);
	if (tree.segments)
		tree.error = run_tree(&tree);
	else if (halving->turn)
		tree.error = halving->turn(context, state, adjoint);
	end(&tree);
	if (stats)
		*stats = tree.stats;
	return tree.error;
}
