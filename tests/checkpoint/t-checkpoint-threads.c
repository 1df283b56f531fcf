/* SPDX-License-Identifier: MIT */
/*
 * Tests several threads on one run: strands of a reverse sweep at the same time, and snapshots that
 * are stored, loaded and dropped while another thread reads ahead. The stores complete late.
 */
#include <config.h>

#include <limits.h>

#include "helpers/late-store.h"
#include "helpers/pool-support.h"
#include "helpers/recurrence.h"
#include "checkpoint/snapshot/snapshot.h"

enum { WORKERS = 4 };

/* ---- Strands of a reverse sweep ---- */

enum { GAPS = 24, GAP = 6, STEPS = GAPS * GAP, MAX_ACTIONS = 16 * GAPS };

/* The actions of a gap, without its two REVERSEs, which follow in the order of the tapes. */
struct job {
	reel_action action[16];
	unsigned actions;
	reel_tape tape[2];
	int error;
	bool done;
};

struct sweep {
	reel_run *run;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct job job[GAPS];
	unsigned given, taken;
	bool over;
};

static reel_action make(enum reel_action_kind kind, int64_t first, int64_t last)
{
	return (reel_action){.kind = kind, .first = first, .last = last};
}

static reel_action of_slot(enum reel_action_kind kind, unsigned tier, unsigned slot, int64_t state,
			   bool last_use)
{
	return (reel_action){.kind = kind, .first = state, .last = state, .tier = tier, .slot = slot,
			     .last_use = last_use};
}

/* The upper half of a gap is recorded from a state that is stored and dropped in between. */
static size_t reverse_gap(reel_action *to, unsigned gap)
{
	int64_t first = (int64_t)gap * GAP, middle = first + GAP / 2, last = first + GAP;
	const reel_action actions[] = {
		of_slot(REEL_ACTION_LOAD, 0, gap, first, false),
		make(REEL_ACTION_ADVANCE, first, middle),
		of_slot(REEL_ACTION_STORE, 1, gap, middle, false),
		of_slot(REEL_ACTION_LOAD, 1, gap, middle, false),
		make(REEL_ACTION_RECORD, middle, last),
		make(REEL_ACTION_REVERSE, middle, last),
		of_slot(REEL_ACTION_DROP, 1, gap, middle, false),
		of_slot(REEL_ACTION_LOAD, 0, gap, first, true),
		of_slot(REEL_ACTION_DROP, 0, gap, first, false),
		make(REEL_ACTION_RECORD, first, middle),
		make(REEL_ACTION_REVERSE, first, middle),
	};

	memcpy(to, actions, sizeof actions);
	return COUNT(actions);
}

/* Returns a plan of equal gaps, the last one of which is recorded in the forward sweep. */
static reel_plan *plan_of_gaps(reel_action *actions)
{
	struct reel_problem problem = {.steps = STEPS, .tiers = 2, .tier = {{GAPS, 0, 0}, {GAPS, 0, 0}}};
	unsigned gap = 0;
	size_t count = 0;
	reel_plan *plan;

	for (; gap < GAPS - 1; gap++) {
		actions[count++] = of_slot(REEL_ACTION_STORE, 0, gap, (int64_t)gap * GAP, false);
		actions[count++] = make(REEL_ACTION_ADVANCE, (int64_t)gap * GAP, (int64_t)(gap + 1) * GAP);
	}
	actions[count++] = make(REEL_ACTION_RECORD, (int64_t)gap * GAP, STEPS);
	actions[count++] = make(REEL_ACTION_REVERSE, (int64_t)gap * GAP, STEPS);
	while (gap-- > 0)
		count += reverse_gap(actions + count, gap);
	if (reel_plan_open_actions(&plan, &problem, actions, count)) {
		printf("Bail out! no plan\n");
		exit(EXIT_FAILURE);
	}
	return plan;
}

static struct job *take_job(struct sweep *sweep)
{
	struct job *job = NULL;

	pthread_mutex_lock(&sweep->lock);
	while (sweep->taken == sweep->given && !sweep->over)
		pthread_cond_wait(&sweep->changed, &sweep->lock);
	if (sweep->taken < sweep->given)
		job = &sweep->job[sweep->taken++];
	pthread_mutex_unlock(&sweep->lock);
	return job;
}

/* Carries out an action. If other threads hold the memory for a moment, tries again. */
static int carry_out(struct sweep *sweep, struct run *run, const reel_action *action,
		     struct state *state, reel_tape *tape)
{
	int error;

	while ((error = reel_run_carry_out(sweep->run, action, run, state, NULL, tape)) == -EDQUOT)
		sched_yield();
	return error;
}

static void *work(void *argument)
{
	struct sweep *sweep = argument;
	struct run run = no_failure;
	struct state state;
	struct job *job;

	while ((job = take_job(sweep))) {
		reel_tape *tape = job->tape;

		for (unsigned i = 0; i < job->actions && !job->error; i++) {
			job->error = carry_out(sweep, &run, &job->action[i], &state, tape);
			tape += job->action[i].kind == REEL_ACTION_RECORD;
		}
		pthread_mutex_lock(&sweep->lock);
		job->done = true;
		pthread_cond_broadcast(&sweep->changed);
		pthread_mutex_unlock(&sweep->lock);
	}
	return NULL;
}

/* Collects the actions of the next job. Returns false if there are none. */
static bool gather(struct sweep *sweep, struct job *job)
{
	reel_action action;

	for (unsigned reverses = 0; reverses < 2;) {
		if (reel_run_take(sweep->run, &action) || action.kind == REEL_ACTION_DONE)
			return false;
		if (action.kind == REEL_ACTION_REVERSE)
			reverses++;
		else
			job->action[job->actions++] = action;
	}
	return true;
}

static void give_job(struct sweep *sweep)
{
	pthread_mutex_lock(&sweep->lock);
	sweep->given++;
	pthread_cond_broadcast(&sweep->changed);
	pthread_mutex_unlock(&sweep->lock);
}

static int reverse_job(struct sweep *sweep, struct run *run, unsigned which, struct state *bar)
{
	int64_t first = (int64_t)(GAPS - 2 - which) * GAP;
	struct job *job = &sweep->job[which];
	int error;

	pthread_mutex_lock(&sweep->lock);
	while (!job->done)
		pthread_cond_wait(&sweep->changed, &sweep->lock);
	pthread_mutex_unlock(&sweep->lock);
	error = job->error;
	for (int half = 2; half-- > 0 && !error;) {
		reel_action action = make(REEL_ACTION_REVERSE, first + half * (GAP / 2),
					  first + (half + 1) * (GAP / 2));

		error = reel_run_carry_out(sweep->run, &action, run, NULL, bar,
					   &job->tape[1 - half]);
	}
	return error;
}

/* Each worker has one job ahead. Adjoints are computed in order. */
static int reverse_side_by_side(struct sweep *sweep, struct run *run, struct state *bar)
{
	reel_action turn;
	unsigned given = 0, reversed = 0;
	int error = reel_run_take(sweep->run, &turn);

	if (!error)
		error = reel_run_carry_out(sweep->run, &turn, run, NULL, bar, NULL);
	while (!error && reversed < GAPS - 1) {
		while (given < GAPS - 1 && given < reversed + 2 * WORKERS) {
			error = gather(sweep, &sweep->job[given++]) ? error : -EPROTO;
			give_job(sweep);
		}
		error = error ? error : reverse_job(sweep, run, reversed++, bar);
	}
	if (!error)
		error = reel_run_take(sweep->run, &turn);
	return !error && turn.kind != REEL_ACTION_DONE ? -EPROTO : error;
}

static void clear_jobs(struct sweep *sweep, reel_pool *tapes)
{
	for (unsigned i = 0; i < GAPS; i++) {
		memset(&sweep->job[i], 0, sizeof sweep->job[i]);
		reel_tape_open(&sweep->job[i].tape[0], tapes, 0);
		reel_tape_open(&sweep->job[i].tape[1], tapes, 0);
	}
	sweep->given = sweep->taken = 0;
	sweep->over = false;
}

static int one_sweep(struct sweep *sweep, reel_pool *tapes, struct state *bar)
{
	struct state state = start;
	struct run run = no_failure;
	pthread_t thread[WORKERS];
	int error;

	clear_jobs(sweep, tapes);
	error = reel_run_forward(sweep->run, &run, &state);
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&thread[i], NULL, work, sweep);
	if (!error)
		error = reverse_side_by_side(sweep, &run, bar);
	pthread_mutex_lock(&sweep->lock);
	sweep->over = true;
	pthread_cond_broadcast(&sweep->changed);
	pthread_mutex_unlock(&sweep->lock);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(thread[i], NULL);
	for (unsigned i = 0; i < GAPS; i++) {
		reel_tape_close(&sweep->job[i].tape[0]);
		reel_tape_close(&sweep->job[i].tape[1]);
	}
	return error;
}

/* Uses two stores, one of which refuses every fifth put, and a budget of `pages`, or none if 0. */
static void strands_side_by_side(size_t pages)
{
	static reel_action actions[MAX_ACTIONS];
	static struct sweep sweep;
	struct reel_pool_options budget = small_options();
	struct late_store *first = late_open(pages + 11), *second = late_open(pages + 12);
	struct reel_run_options options = {.store = {&first->store, &second->store}};
	struct state right = gradient_by_one_tape(no_failure, STEPS);
	reel_pool *tapes = open_pool(small_options());
	reel_plan *plan = plan_of_gaps(actions);
	unsigned errors = 0, wrong = 0;

	tap_case(pages ? "strands, where memory is short" : "strands");
	budget.hard_budget = pages * small_slab();
	late_fail(second, pages ? 0 : 5);
	options.pool = open_pool(budget);
	pthread_mutex_init(&sweep.lock, NULL);
	pthread_cond_init(&sweep.changed, NULL);
	is_int(reel_run_open(&sweep.run, plan, &copied, &options), 0, "have a run");
	for (int pass = 0; pass < 20; pass++) {
		struct state bar = seed;
		int error = one_sweep(&sweep, tapes, &bar);

		errors += error != 0;
		wrong += !error && memcmp(&bar, &right, sizeof right) != 0;
	}
	is_int(errors, 0, "run side by side");
	is_int(wrong, 0, "to the right gradient");
	reel_run_close(sweep.run);
	is_int(first->wrongs + second->wrongs + first->used + second->used, 0,
	       "the stores were used rightly");
	reel_plan_close(plan);
	close_pool(options.pool, "strands");
	close_pool(tapes, "strands");
	free(first);
	free(second);
}

/* ---- Snapshots ---- */

enum { TIERS = 2, SLOTS = 4, BYTES = 200, ROUNDS = 6000 };

static struct reel_snapshots snapshots;
static _Atomic unsigned busy;

static void small_puts(reel_store *store, struct reel_store_capacity *capacity)
{
	(void)store;
	*capacity = (struct reel_store_capacity){.total_bytes = UINT64_MAX, .align = 1,
						 .max_bytes = 64, .best_depth = 4, .verified = true};
}

/* Opens a store that gets each snapshot in four pieces. */
static struct late_store *open_pieces(struct reel_store_verbs *verbs, uint64_t random)
{
	struct late_store *late = late_open(random);

	*verbs = *late->store.verbs;
	verbs->capacity = small_puts;
	late->store.verbs = verbs;
	return late;
}

/* A slot of this thread, with the number of its state, or 0. */
struct held {
	unsigned tier, slot;
	uint64_t contents;
};

static bool store_one(struct held *held, uint64_t contents)
{
	void *data;

	if (reel_snapshot_reserve(&snapshots, held->tier, held->slot, held->slot, BYTES, &data))
		return false;
	fill(data, BYTES, contents);
	reel_snapshot_commit(&snapshots, held->tier, held->slot);
	held->contents = contents;
	return true;
}

static bool load_one(const struct held *held)
{
	const void *data;
	bool right;

	if (reel_snapshot_pin(&snapshots, held->tier, held->slot, held->slot, true, &data))
		return false;
	right = is_filled(data, BYTES, held->contents);
	reel_snapshot_unpin(&snapshots, held->tier, held->slot);
	return right;
}

static bool drop_one(struct held *held)
{
	held->contents = 0;
	return !reel_snapshot_drop(&snapshots, held->tier, held->slot, held->slot);
}

/*
 * Stores, loads and drops states in the slots of this thread. Each state has the number of its
 * slot. So read_ahead(), which names both numbers, may ask for any slot at any time, also while
 * this thread stores the slot anew.
 */
static void *use_slots(void *argument)
{
	uintptr_t number = (uintptr_t)argument;
	struct held held[TIERS * SLOTS];
	uintptr_t wrong = 0;

	for (unsigned i = 0; i < COUNT(held); i++)
		held[i] = (struct held){i % TIERS, (unsigned)number * SLOTS + i / TIERS, 0};
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		uint64_t random = scramble((uint64_t)number << 32 ^ round);
		struct held *one = &held[random % COUNT(held)];

		if (!one->contents)
			wrong += !store_one(one, scramble(random));
		else if (random >> 32 & 1)
			wrong += !load_one(one);
		else
			wrong += !drop_one(one);
	}
	for (unsigned i = 0; i < COUNT(held); i++)
		wrong += held[i].contents && !load_one(&held[i]);
	busy--;
	return (void *)wrong;
}

static void *read_ahead(void *argument)
{
	(void)argument;
	for (uint64_t round = 0; busy; round++) {
		uint64_t random = scramble(round);
		unsigned slot = (unsigned)(random >> 8) % (WORKERS * SLOTS);

		reel_snapshot_read_ahead(&snapshots, random % TIERS, slot, slot);
		if (random >> 16 & 1)
			sched_yield();
	}
	return NULL;
}

static unsigned use_side_by_side(void)
{
	pthread_t thread[WORKERS], ahead;
	unsigned wrong = 0;

	busy = WORKERS;
	pthread_create(&ahead, NULL, read_ahead, NULL);
	for (uintptr_t i = 0; i < WORKERS; i++)
		pthread_create(&thread[i], NULL, use_slots, (void *)i);
	for (int i = 0; i < WORKERS; i++) {
		void *found;

		pthread_join(thread[i], &found);
		wrong += (unsigned)(uintptr_t)found;
	}
	pthread_join(ahead, NULL);
	return wrong;
}

static void slots_side_by_side(unsigned fails_every)
{
	struct reel_store_verbs verbs[TIERS];
	struct late_store *late[TIERS];
	reel_store *store[TIERS];
	reel_pool *pool = open_pool(small_options());

	tap_case(fails_every ? "slots, where puts fail" : "slots");
	for (unsigned tier = 0; tier < TIERS; tier++) {
		late[tier] = open_pieces(&verbs[tier], fails_every + tier + 1);
		late_fail(late[tier], fails_every);
		store[tier] = &late[tier]->store;
	}
	is_int(reel_snapshots_open(&snapshots, pool, BYTES, TIERS, store, 2, 6), 0, "have stores");
	is_int(use_side_by_side(), 0, "give back what was stored in them");
	reel_snapshots_empty(&snapshots);
	is_int(snapshots.memory_bytes, 0, "and have no buffer when they are empty");
	is_int(snapshots.ahead, 0, "nothing counts as read ahead");
	reel_snapshots_close(&snapshots);
	for (unsigned tier = 0; tier < TIERS; tier++) {
		is_int(late[tier]->wrongs + late[tier]->used, 0, "store %u was used rightly", tier);
		free(late[tier]);
	}
	close_pool(pool, "slots side by side");
}

static void slots_that_cannot_be(void)
{
	reel_store *none[1] = {NULL};
	reel_pool *pool = open_pool(small_options());
	void *data;

	tap_case("a slot's number");
	reel_snapshots_open(&snapshots, pool, BYTES, 1, none, 2, 2);
	is_int(reel_snapshot_reserve(&snapshots, 0, UINT_MAX, 1, BYTES, &data), -ENOMEM,
	       "that no memory suffices for is refused");
	is_int(reel_snapshot_state(&snapshots, 0, UINT_MAX), -1, "it holds nothing");
	reel_snapshots_close(&snapshots);
	close_pool(pool, "a slot that cannot be");
}

int main(void)
{
	tap_begin();
	strands_side_by_side(0);
	strands_side_by_side(WORKERS + 2);
	slots_side_by_side(0);
	slots_side_by_side(7);
	slots_that_cannot_be();
	return tap_end();
}
