/* SPDX-License-Identifier: MIT */
/*
 * Checks a plan: replays its actions by the rules of plan.h, without running any step. It
 * does not know how planners work, so that it judges them and the caller's own actions alike. All
 * data of a replay belong to the call. A wrong action is reported in words and never asserted.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"

#define NO_STATE (-1)

/* The slots of a tier, up to the highest one that an action has named. */
struct shelf {
	int64_t *state; /* number of the state in each slot, or NO_STATE */
	uint64_t count;
	int64_t in_use; /* number of slots that hold a state */
};

struct tape_range {
	int64_t first;
	int64_t last;
	unsigned tier; /* of uneven steps: where the tapes wait */
};

struct replay {
	const struct reel_problem *problem;
	const struct reel_uneven_problem *uneven; /* NULL: all steps are alike */
	uint64_t bytes;                 /* of the uneven states and tapes in memory */
	double seconds;                 /* of the actions so far, if the steps are uneven */
	struct reel_schedule_report *report;
	int64_t steps;
	int64_t working; /* number of the working state */
	int64_t end;     /* first of the steps that have been reversed */
	struct shelf shelf[REEL_MAX_TIERS];
	struct tape_range *tape;
	uint64_t tapes, tape_room;
	int64_t tape_steps;
	bool owes_drop;     /* the action before was `loaded`, the last use of its slot */
	reel_action loaded; /* the last LOAD */
	bool out_of_memory;
};

/* ---- The bytes and the time of uneven steps ---- */

static void note_bytes(struct replay *replay, uint64_t besides)
{
	uint64_t bytes = replay->bytes + besides;

	if (bytes > replay->report->peak_bytes)
		replay->report->peak_bytes = bytes;
}

/* A transfer of the bytes of a state or a tape, which are in the store if `tier` is not 0. */
static void move_bytes(struct replay *replay, unsigned tier, double bandwidth, uint64_t bytes)
{
	if (tier)
		replay->seconds += (double)bytes / bandwidth;
}

static void advance_uneven(struct replay *replay, const reel_action *action)
{
	for (int64_t i = action->first; i < action->last && replay->uneven; i++) {
		note_bytes(replay, replay->uneven->step[i].work_bytes);
		replay->seconds += replay->uneven->step[i].advance;
	}
}

static void record_uneven(struct replay *replay, const reel_action *action)
{
	for (int64_t i = action->first; i < action->last && replay->uneven; i++) {
		const struct reel_uneven_step *step = &replay->uneven->step[i];

		note_bytes(replay, step->tape_bytes + step->work_bytes);
		replay->seconds += step->record;
		replay->bytes += action->tier ? 0 : step->tape_bytes;
		move_bytes(replay, action->tier, replay->uneven->store_bandwidth, step->tape_bytes);
	}
}

static void reverse_uneven(struct replay *replay, int64_t first, const struct tape_range *tape)
{
	for (int64_t i = tape->last; i-- > first && replay->uneven;) {
		const struct reel_uneven_step *step = &replay->uneven->step[i];

		move_bytes(replay, tape->tier, replay->uneven->load_bandwidth, step->tape_bytes);
		replay->bytes += tape->tier ? step->tape_bytes : 0;
		note_bytes(replay, step->work_bytes);
		replay->seconds += step->reverse;
		REEL_ASSERT(replay->bytes >= step->tape_bytes);
		replay->bytes -= step->tape_bytes;
	}
}

/* A state is stored, loaded or dropped. */
static void access_uneven(struct replay *replay, const reel_action *action)
{
	const struct reel_uneven_problem *uneven = replay->uneven;
	bool stores = action->kind == REEL_ACTION_STORE;
	uint64_t bytes;

	if (!uneven)
		return;
	bytes = uneven->step[action->first].state_bytes;
	if (action->kind != REEL_ACTION_DROP)
		move_bytes(replay, action->tier,
			   stores ? uneven->store_bandwidth : uneven->load_bandwidth, bytes);
	if (stores && !action->tier)
		replay->bytes += bytes;
	if (action->kind == REEL_ACTION_DROP && !action->tier)
		replay->bytes -= bytes;
	note_bytes(replay, 0);
}

/* ---- Slots and tapes ---- */

/* Makes room for `count` elements of `size` bytes at *array, which has room for *room. */
static bool make_room(void **array, uint64_t *room, uint64_t count, size_t size)
{
	/* Mutants survive (constant): any size of the first array will do. */
	uint64_t wanted = *room ? *room : 16;
	void *grown;

	if (count <= *room)
		return true;
	while (wanted < count)
		wanted *= 2;
	grown = wanted > SIZE_MAX / size ? NULL : realloc(*array, (size_t)wanted * size);
	if (!grown)
		return false;
	REEL_ASSERT(wanted >= count);
	*array = grown;
	*room = wanted;
	return true;
}

static bool grow_shelf(struct replay *replay, struct shelf *shelf, uint64_t count)
{
	uint64_t before = shelf->count;
	void *state = shelf->state;

	if (!make_room(&state, &shelf->count, count, sizeof *shelf->state)) {
		replay->out_of_memory = true;
		return false;
	}
	shelf->state = state;
	for (uint64_t s = before; s < shelf->count; s++)
		shelf->state[s] = NO_STATE;
	return true;
}

/* Returns the slot of an action; NULL: it does not exist, and *wrong says why. */
static int64_t *slot_of(struct replay *replay, const reel_action *action, const char **wrong)
{
	struct shelf *shelf;

	*wrong = "there is no such tier";
	if (action->tier >= replay->problem->tiers)
		return NULL;
	*wrong = "there is no such slot";
	if (action->slot >= replay->problem->tier[action->tier].slots)
		return NULL;
	*wrong = "there is no memory to replay it";
	shelf = &replay->shelf[action->tier];
	if (!grow_shelf(replay, shelf, (uint64_t)action->slot + 1))
		return NULL;
	*wrong = NULL;
	REEL_ASSERT(action->slot < shelf->count);
	return &shelf->state[action->slot];
}

static const char *check_range(const struct replay *replay, const reel_action *action)
{
	if (action->first < 0 || action->first >= action->last || action->last > replay->steps)
		return "there are no such steps";
	return NULL;
}

static const char *check_run(const struct replay *replay, const reel_action *action)
{
	const char *wrong = check_range(replay, action);

	if (!wrong && replay->working != action->first)
		wrong = "the working state is another one";
	return wrong;
}

static const char *replay_advance(struct replay *replay, const reel_action *action)
{
	const char *wrong = check_run(replay, action);

	if (wrong)
		return wrong;
	if (__builtin_add_overflow(replay->report->advances, action->last - action->first,
				   &replay->report->advances))
		return "more steps are run than can be counted";
	replay->working = action->last;
	advance_uneven(replay, action);
	return NULL;
}

static void push_tape(struct replay *replay, int64_t first, int64_t last, unsigned tier)
{
	void *tape = replay->tape;
	uint64_t room = replay->tape_room;

	if (!make_room(&tape, &room, replay->tapes + 1, sizeof *replay->tape)) {
		replay->out_of_memory = true;
		return;
	}
	replay->tape = tape;
	replay->tape_room = room;
	replay->tape[replay->tapes++] = (struct tape_range){first, last, tier};
	replay->tape_steps += last - first;
	REEL_ASSERT(replay->tapes <= replay->tape_room && replay->tape_steps <= replay->steps);
	/* Mutants survive (boundary): it writes an equal peak once more. */
	if (replay->tape_steps > replay->report->peak_tape_steps)
		replay->report->peak_tape_steps = replay->tape_steps;
}

static const char *replay_record(struct replay *replay, const reel_action *action)
{
	const char *wrong = check_run(replay, action);

	if (wrong)
		return wrong;
	if (action->last > replay->end)
		return "steps are recorded that have been reversed";
	if (replay->tapes && replay->tape[replay->tapes - 1].last > action->first)
		return "steps are recorded above the tape of later ones";
	if (replay->problem->flags & REEL_REVERSE_AT_ONCE && action->last - action->first > 1)
		return "several steps are recorded at once";
	replay->report->recorded += action->last - action->first;
	replay->working = action->last;
	record_uneven(replay, action);
	push_tape(replay, action->first, action->last, action->tier);
	return replay->out_of_memory ? "there is no memory to replay it" : NULL;
}

/* Takes the steps from `first` to replay->end off the tapes. Returns NULL or the mistake. */
static const char *pop_tapes(struct replay *replay, int64_t first)
{
	while (replay->end > first) {
		struct tape_range *top;
		int64_t from;

		if (replay->tapes == 0 || replay->tape[replay->tapes - 1].last != replay->end)
			return "steps are reversed that are not recorded";
		top = &replay->tape[replay->tapes - 1];
		from = top->first > first ? top->first : first;
		reverse_uneven(replay, from, top);
		replay->tape_steps -= top->last - from;
		REEL_ASSERT(from < replay->end && replay->tape_steps >= 0);
		top->last = replay->end = from;
		if (top->first == top->last)
			replay->tapes--;
	}
	return NULL;
}

static const char *replay_reverse(struct replay *replay, const reel_action *action)
{
	const char *wrong = check_range(replay, action);

	if (wrong)
		return wrong;
	if (action->last > replay->end)
		return "steps are reversed twice";
	if (action->last < replay->end)
		return "steps are reversed before later ones";
	replay->report->reversed += action->last - action->first;
	return pop_tapes(replay, action->first);
}

/* The steps of a FORGET are those recorded last. */
static const char *replay_forget(struct replay *replay, const reel_action *action)
{
	const char *wrong = check_range(replay, action);
	int64_t last = action->last;

	if (wrong)
		return wrong;
	while (replay->tapes && last > action->first &&
	       replay->tape[replay->tapes - 1].last == last) {
		last = replay->tape[--replay->tapes].first;
		replay->tape_steps -= replay->tape[replay->tapes].last - last;
	}
	return last == action->first ? NULL : "steps are forgotten that were not recorded last";
}

static const char *replay_store(struct replay *replay, const reel_action *action)
{
	int64_t *peak = &replay->report->peak_slots[action->tier % REEL_MAX_TIERS];
	const char *wrong;
	int64_t *slot = slot_of(replay, action, &wrong);

	if (!slot)
		return wrong;
	if (*slot != NO_STATE)
		return "a state is stored in a slot that is in use";
	if (replay->working != action->first)
		return "the working state is another one";
	*slot = action->first;
	access_uneven(replay, action);
	replay->report->stores[action->tier]++;
	if (++replay->shelf[action->tier].in_use > *peak)
		*peak = replay->shelf[action->tier].in_use;
	return NULL;
}

/* Returns the slot of an action that holds its state; NULL: it does not, and *wrong says why. */
static int64_t *held_slot_of(struct replay *replay, const reel_action *action, const char *if_empty,
			     const char **wrong)
{
	int64_t *slot = slot_of(replay, action, wrong);

	if (slot && (*slot == NO_STATE || *slot != action->first))
		*wrong = *slot == NO_STATE ? if_empty : "the slot holds another state";
	return *wrong ? NULL : slot;
}

static const char *replay_load(struct replay *replay, const reel_action *action)
{
	const char *wrong;
	int64_t *slot = held_slot_of(replay, action, "a slot is loaded that is empty", &wrong);

	if (!slot)
		return wrong;
	replay->working = *slot;
	access_uneven(replay, action);
	replay->report->loads[action->tier]++;
	replay->owes_drop = action->last_use;
	replay->loaded = *action;
	return NULL;
}

static const char *replay_drop(struct replay *replay, const reel_action *action)
{
	const char *wrong;
	int64_t *slot = held_slot_of(replay, action, "a slot is dropped that is empty", &wrong);

	if (!slot)
		return wrong;
	*slot = NO_STATE;
	access_uneven(replay, action);
	replay->shelf[action->tier].in_use--;
	REEL_ASSERT(replay->shelf[action->tier].in_use >= 0);
	return NULL;
}

static const char *replay_done(const struct replay *replay)
{
	REEL_ASSERT(!replay->tapes == !replay->tape_steps);
	if (replay->tapes)
		return "it ends with a tape that has not been reversed";
	if (replay->end > 0)
		return "it ends before all steps have been reversed";
	for (unsigned t = 0; t < REEL_MAX_TIERS; t++)
		if (replay->shelf[t].in_use)
			return "it ends with a slot in use";
	return NULL;
}

static bool is_drop_of(const reel_action *action, const reel_action *load)
{
	return action->kind == REEL_ACTION_DROP && action->tier == load->tier &&
	       action->slot == load->slot;
}

static const char *replay_kind(struct replay *replay, const reel_action *action)
{
	switch (action->kind) {
	case REEL_ACTION_ADVANCE:
		return replay_advance(replay, action);
	case REEL_ACTION_RECORD:
		return replay_record(replay, action);
	case REEL_ACTION_REVERSE:
		return replay_reverse(replay, action);
	case REEL_ACTION_STORE:
		return replay_store(replay, action);
	case REEL_ACTION_LOAD:
		return replay_load(replay, action);
	case REEL_ACTION_DROP:
		return replay_drop(replay, action);
	case REEL_ACTION_DONE:
		return replay_done(replay);
	case REEL_ACTION_FORGET:
		return replay_forget(replay, action);
	}
	return "there is no such action";
}

/* After a RECORD the tape of its last step takes up no memory, since it is reversed at once. */
static bool memory_exceeded(const struct replay *replay, const reel_action *action)
{
	int64_t kept = replay->tape_steps - (action->kind == REEL_ACTION_RECORD);
	int64_t each = replay->problem->tape_states;
	int64_t free_slots;

	if (replay->uneven)
		return replay->report->peak_bytes > replay->uneven->memory_bytes;
	if (!each || !kept || !replay->problem->tiers)
		return false;
	REEL_ASSERT(kept > 0);
	free_slots = replay->problem->tier[0].slots - replay->shelf[0].in_use;
	return kept > free_slots / each;
}

static const char *replay_action(struct replay *replay, const reel_action *action)
{
	bool owed = replay->owes_drop;
	const char *wrong;

	replay->owes_drop = false;
	if (replay->problem->flags & REEL_REVERSE_AT_ONCE && replay->tapes &&
	    action->kind != REEL_ACTION_REVERSE)
		return "a step is recorded that the next action does not reverse";
	if (owed && !is_drop_of(action, &replay->loaded))
		return "the last use of a slot is not followed by its DROP";
	wrong = replay_kind(replay, action);
	if (!wrong && memory_exceeded(replay, action))
		wrong = replay->uneven
				? "states, tapes and work take up more than the memory"
				: "states and tapes take up more than the slots of the first tier";
	return wrong;
}

/* Ends a loop of an unknown end in the action that passes the state replay->steps. */
static void meet_end(struct replay *replay, reel_schedule *schedule, reel_action *action)
{
	if (action->last < replay->steps)
		return;
	REEL_ASSERT(action->kind <= REEL_ACTION_RECORD && action->first <= replay->steps);
	action->last = replay->steps;
	/* The loop ends before the step that was to be recorded. */
	if (action->first == action->last)
		action->kind = REEL_ACTION_ADVANCE;
	if (reel_schedule_end(schedule, replay->steps, replay->steps))
		action->kind = REEL_ACTION_DONE;
}

/* An ADVANCE without steps, which is passed over; but its state has to exist. */
static bool is_empty_advance(const struct replay *replay, const reel_action *action)
{
	return action->kind == REEL_ACTION_ADVANCE && action->first == action->last &&
	       action->first >= 0 && action->first <= replay->steps;
}

static void replay_all(struct replay *replay, reel_schedule *schedule)
{
	struct reel_schedule_report *report = replay->report;
	reel_action action;

	do {
		if (reel_schedule_next(schedule, &action) == -EAGAIN)
			meet_end(replay, schedule, &action);
		if (is_empty_advance(replay, &action))
			continue;
		report->wrong = replay_action(replay, &action);
		if (report->wrong)
			report->wrong_action = report->actions;
		report->actions += action.kind != REEL_ACTION_DONE;
	} while (!report->wrong && action.kind != REEL_ACTION_DONE);
	REEL_ASSERT(report->wrong || replay->out_of_memory ||
		    report->recorded >= report->reversed);
}

/* Returns the time that one worker takes by the costs of the problem. */
static double makespan_of(const struct reel_problem *problem,
			  const struct reel_schedule_report *report)
{
	double advances = (double)report->advances;

	for (unsigned t = 0; t < problem->tiers; t++)
		advances += (double)report->stores[t] * problem->tier[t].store_cost +
			    (double)report->loads[t] * problem->tier[t].load_cost;
	return reel_or_one(problem->advance_cost) * advances +
	       reel_or_one(problem->record_cost) * (double)report->recorded +
	       reel_or_one(problem->reverse_cost) * (double)report->reversed;
}

int reel_plan_check(const reel_plan *plan, const struct reel_problem *problem, int64_t steps,
		    struct reel_schedule_report *report)
{
	struct replay replay = {.problem = problem ? problem : &plan->problem,
				.uneven = plan->uneven, .report = report};
	reel_schedule *schedule = NULL;
	int error;

	memset(report, 0, sizeof *report);
	replay.steps = plan->problem.steps == REEL_UNKNOWN_STEPS ? steps : plan->problem.steps;
	replay.end = replay.steps;
	if (replay.steps < 0)
		return -EINVAL;
	error = reel_schedule_open(&schedule, plan);
	if (error)
		return error;
	replay_all(&replay, schedule);
	reel_schedule_close(schedule);
	report->makespan = replay.uneven ? replay.seconds : makespan_of(replay.problem, report);
	for (unsigned t = 0; t < REEL_MAX_TIERS; t++)
		free(replay.shelf[t].state);
	free(replay.tape);
	if (replay.out_of_memory)
		return -ENOMEM;
	return report->wrong ? -EBADMSG : 0;
}
