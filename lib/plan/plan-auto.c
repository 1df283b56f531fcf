/* SPDX-License-Identifier: MIT */
/*
 * Plans that learn. The caller tells the schedule the bytes and the times of steps, states, memory
 * and the store as it measures them (reel_schedule_learn()), and the schedule decides by them while
 * the first forward sweep is under way.
 *
 * It records steps from the first on while their tapes have room in memory. After that it goes on
 * recording if there is a store that takes and returns tapes faster than the steps could be run
 * again. Otherwise it runs steps without recording them and keeps states: in the store as far as it
 * is fast enough, else in memory. For these it takes memory from the tapes, the last one first. At
 * a state that it could keep it has four choices: leave the state out, keep it, give up the tape
 * recorded last for it, or give up the state that is missed least. It assumes that the loop ends a
 * few steps later, and takes the choice after which the reverse sweep takes the least time.
 *
 * If steps are recorded only to be reversed next, states alone are kept. A binomial schedule of all
 * states that memory and the store have room for would have the store write again and again. So
 * where the end is known, the forward sweep keeps a state for the store as often as the store takes
 * one, and the gaps between these are reversed in memory.
 *
 * In the reverse sweep a gap between two states is recorded at once where its tape has room.
 * Otherwise it is divided into groups of steps, each of which is recorded at once, and the groups
 * are reversed by a binomial schedule. The size of a group divides the memory between the tape of
 * one group and the states.
 */
#include "config.h"

#include <errno.h>

#include "os/integer.h"
#include "plan.h"

/* Parts of the memory that steps are recorded in: a tape that is given up has one of these. */
#define CHUNKS 16
/* The states at the beginning of these parts take up at most this share of the memory. */
#define STATE_SHARE 8
/* Maximum number of steps that run one by one before a plan of a known end decides. */
#define MAX_LEARNT 8
/* The stretch to the next state that could be kept costs at most this part of all advances. */
#define PART 64
/* Repetitions of steps for which the groups are chosen by a formula. */
#define MAX_REPETITIONS 40
#define NEVER 1e300

/* Numbers of states, and of steps on the tape, that are held. */
struct use {
	int64_t states, steps;
};

/* The room that is left for the reversal of a gap. */
struct room {
	double memory; /* bytes for tapes */
	double states; /* bytes for states: those that memory or the store has room for */
	int64_t slots; /* number of slots for states */
};

struct grouping {
	int64_t steps;   /* number of steps recorded at once */
	int64_t slots;   /* for states besides the one below the gap */
	double advances; /* number of steps that run again, or NEVER: a step has no room */
};

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static double smaller(double a, double b)
{
	return a < b ? a : b;
}

/* The whole number below x, which is 0 or more. */
static double whole(double x)
{
	return x < (double)REEL_MAX_STEPS ? (double)(int64_t)x : x;
}

/* ---- Costs ---- */

static bool has_limit(const struct reel_costs *costs)
{
	return costs->memory_bytes > 0;
}

static double advance_seconds(const struct reel_costs *costs)
{
	return costs->advance_seconds > 0 ? costs->advance_seconds
	       : costs->record_seconds > 0 ? costs->record_seconds : 1;
}

static double record_seconds(const struct reel_costs *costs)
{
	return costs->record_seconds > 0 ? costs->record_seconds : advance_seconds(costs);
}

static double reverse_seconds(const struct reel_costs *costs)
{
	return costs->reverse_seconds > 0 ? costs->reverse_seconds : record_seconds(costs);
}

/* The rate at which the tier gives bytes back; if it is not known, that at which it takes them. */
static double read_bandwidth(const struct reel_cost_tier *tier)
{
	return tier->read_bandwidth > 0 ? tier->read_bandwidth : tier->write_bandwidth;
}

/*
 * Bytes that may lie in the store after `steps` steps were run: it takes them in the time of these
 * steps, and gives them back in no more time.
 */
static double bytes_in_store(const struct reel_costs *costs, int64_t steps)
{
	double bytes = 0;

	for (unsigned t = 0; t < costs->tiers; t++) {
		const struct reel_cost_tier *tier = &costs->tier[t];
		double rate = tier->write_bandwidth > 0 ? tier->write_bandwidth
							: REEL_ASSUMED_BANDWIDTH;

		if (read_bandwidth(tier) > 0)
			rate = smaller(rate, read_bandwidth(tier));
		rate *= (double)steps * advance_seconds(costs);
		bytes += tier->bytes ? smaller(rate, (double)tier->bytes) : rate;
	}
	return bytes;
}

/* Seconds to transfer bytes that memory has no room for; NEVER: no tier has room for them. */
static double transfer_seconds(const struct reel_costs *costs, double bytes, bool writes)
{
	double seconds = 0;

	for (unsigned t = 0; t < costs->tiers && bytes > 0; t++) {
		const struct reel_cost_tier *tier = &costs->tier[t];
		double part = tier->bytes ? smaller((double)tier->bytes, bytes) : bytes;
		double bandwidth = writes ? tier->write_bandwidth : read_bandwidth(tier);

		seconds += bandwidth > 0 ? part / bandwidth : 0;
		bytes -= part;
	}
	return bytes > 0 ? NEVER : seconds;
}

static bool has_recorded(const reel_schedule *schedule)
{
	return schedule->costs.record_seconds > 0;
}

/*
 * Returns true if a step is recorded only to be reversed next: by the flag, or since it has left
 * nothing on the tape, so that the program keeps its data elsewhere.
 */
static bool reverses_at_once(const reel_schedule *schedule)
{
	return schedule->plan->problem.flags & REEL_REVERSE_AT_ONCE ||
	       (has_recorded(schedule) && !schedule->costs.tape_bytes);
}

/* Returns true if the forward sweep keeps no tape, except for its last steps. */
static bool keeps_states_only(const reel_schedule *schedule)
{
	return schedule->is_saved || reverses_at_once(schedule);
}

/* Number of steps that are recorded before they are reversed. */
static int64_t max_recorded(const reel_schedule *schedule)
{
	bool is_open = schedule->steps == REEL_UNKNOWN_STEPS;

	REEL_ASSERT(is_open || schedule->steps >= 0);
	if (reverses_at_once(schedule))
		return 1;
	return schedule->is_saved ? 1 + (is_open ? schedule->at : schedule->steps) / CHUNKS
				  : REEL_MAX_STEPS;
}

static double tape_bytes(const reel_schedule *schedule)
{
	return reverses_at_once(schedule) ? 0 : (double)schedule->costs.tape_bytes;
}

static double state_bytes(const reel_schedule *schedule)
{
	return (double)(schedule->costs.state_bytes + !schedule->costs.state_bytes);
}

static struct room room_beside(const reel_schedule *schedule, struct use use)
{
	const struct reel_costs *costs = &schedule->costs;
	double memory = has_limit(costs) ? (double)costs->memory_bytes : NEVER;
	bool is_open = schedule->steps == REEL_UNKNOWN_STEPS;
	double stored = bytes_in_store(costs, is_open ? schedule->at : schedule->steps);
	double used = (double)use.states * state_bytes(schedule) +
		      (double)use.steps * tape_bytes(schedule);

	return (struct room){.memory = memory - larger(0, used - stored),
			     .states = memory + stored - used,
			     .slots = schedule->plan->problem.tier[0].slots - use.states};
}

/* All that the schedule holds, and some states more. */
static struct use all_and(const reel_schedule *schedule, int64_t states)
{
	REEL_ASSERT((int64_t)schedule->in_use[0] + states >= 0);
	return (struct use){schedule->in_use[0] + states, schedule->tape_steps};
}

/*
 * The room for the reversal of a gap, which holds some states already. If states alone are kept,
 * those in a gap have no more room than the memory: in the store each would be waited for. If more
 * states are below than now seem to have room, the store was faster before, and has them.
 */
static struct room room_in_gap(const reel_schedule *schedule, struct use below, int64_t inside)
{
	struct room room = room_beside(schedule, below);
	double memory = (double)schedule->costs.memory_bytes;

	REEL_ASSERT(inside >= 0);
	if (reverses_at_once(schedule) && has_limit(&schedule->costs))
		room.states = room.states < 0 ? memory / 2 : smaller(room.states, memory);
	room.states -= (double)inside * state_bytes(schedule);
	room.slots -= inside;
	return room;
}

/* The room for the gap that is reversed next, with or without the state that is held last. */
static struct room room_now(const reel_schedule *schedule, bool without_last)
{
	int64_t inside = (int64_t)schedule->levels - (int64_t)schedule->swept;
	int64_t last = without_last ? 1 : 0;

	REEL_ASSERT(inside >= 0);
	if (!inside || !reverses_at_once(schedule))
		return room_in_gap(schedule, all_and(schedule, -last), 0);
	return room_in_gap(schedule, all_and(schedule, -inside), inside - last);
}

/* ---- Groups ---- */

/* The binomial coefficient (s + t) over t. */
static double binomial(double s, int64_t t)
{
	double product = 1;

	REEL_ASSERT(s >= 0 && t >= 0);
	for (int64_t i = 1; i <= t; i++)
		product *= (s + (double)i) / (double)i;
	return product;
}

/* Number of steps of a group whose tape has room beside the states of `slots` slots. */
static double steps_beside(const reel_schedule *schedule, double slots, struct room room)
{
	double tape = tape_bytes(schedule), bytes = room.states - slots * state_bytes(schedule);

	REEL_ASSERT(slots >= 0);
	if (!(tape > 0))
		return (double)max_recorded(schedule);
	return smaller((double)max_recorded(schedule), whole(smaller(bytes, room.memory) / tape));
}

/* Returns true if groups cover the steps when each step runs again at most `times` times. */
static bool covers(const reel_schedule *schedule, double slots, struct room room, int64_t times,
		   double steps)
{
	return steps_beside(schedule, slots, room) * binomial(slots + 1, times) >= steps;
}

/*
 * Returns the number of slots with which the fewest steps run again if none runs again more than
 * `times` times; below 0: there is no such number. Of n bytes for tapes and states, states take up
 * n times / (times + 1) where the most steps are covered, and n (times - 1) / times where the
 * fewest run again.
 */
static double slots_for(const reel_schedule *schedule, struct room room, int64_t times,
			double steps, double most)
{
	double all = room.states / state_bytes(schedule), low = most, high = most;

	REEL_ASSERT(all >= 0 && most >= 0);
	if (tape_bytes(schedule) > 0) {
		low = smaller(most, whole(all * (double)(times - 1) / (double)times));
		high = smaller(most, whole(all * (double)times / (double)(times + 1)));
	}
	if (covers(schedule, low, room, times, steps))
		return low;
	if (!covers(schedule, high, room, times, steps))
		high = smaller(most, high + 1);
	if (!covers(schedule, high, room, times, steps))
		return -1;
	while (low < high) {
		double middle = whole((low + high) / 2);

		if (covers(schedule, middle, room, times, steps))
			high = middle;
		else
			low = middle + 1;
	}
	return high;
}

/* The groups of a gap of `steps` steps whose first state is held besides the room. */
static struct grouping group(const reel_schedule *schedule, int64_t steps, struct room room)
{
	double all = (double)steps, tape = tape_bytes(schedule), size, most;
	struct grouping found = {.steps = reel_min_i64(steps, max_recorded(schedule))};

	if (found.steps == steps && all * tape <= room.memory)
		return found;
	found.advances = NEVER;
	/*
	 * If the store turns out to be slower than it was, more states are held than have room.
	 * Steps without a tape are reversed nevertheless.
	 */
	if (!(tape > 0))
		room.states = larger(room.states, 0);
	else if (room.memory < tape || room.states < tape)
		return found;
	most = smaller(whole((room.states - tape) / state_bytes(schedule)), (double)room.slots);
	if (most < 0)
		return found;
	for (int64_t times = 1; times <= MAX_REPETITIONS; times++) {
		double slots = slots_for(schedule, room, times, all, most);

		if (slots < 0)
			continue;
		size = steps_beside(schedule, slots, room);
		found.steps = (int64_t)size;
		found.slots = (int64_t)slots;
		found.advances = (double)times * all - size * binomial(slots + 2, times - 1);
		return found;
	}
	size = steps_beside(schedule, 0, room);
	found.steps = (int64_t)size;
	found.advances = all * all / size / 2;
	return found;
}

/* ---- Gaps ---- */

static bool is_tape(const struct level *level)
{
	REEL_ASSERT(level->first <= level->last);
	return level->tier == TAPE_TIER;
}

static void add_level(struct use *use, const struct level *level)
{
	if (is_tape(level))
		use->steps += level->last - level->first;
	else
		use->states++;
}

/* A choice for the levels, at a working state from which the sweep goes on to `end`. */
struct change {
	int64_t end;
	bool keeps;       /* the working state becomes a level */
	unsigned without; /* this level, a state, gives its slot to the working state; 0: none */
	unsigned forgets; /* this level, a tape, is given up; 0: none */
};

/* Level 0 stays: its number says that the change gives nothing up. */
static bool gives_up(const struct change *change, unsigned k)
{
	return k > 0 && (k == change->without || k == change->forgets);
}

/* The first step above the gap that begins at level k. */
static int64_t end_of_gap(const reel_schedule *schedule, const struct change *change, unsigned k)
{
	do
		k++;
	while (k < schedule->levels && gives_up(change, k));
	if (k < schedule->levels)
		return schedule->level[k].first;
	return change->keeps ? schedule->at : change->end;
}

static double advances_of_gap(const reel_schedule *schedule, int64_t steps, struct use use)
{
	return steps > 0 ? group(schedule, steps, room_in_gap(schedule, use, 0)).advances : 0;
}

/* The time of all advances of the reverse sweep after the change. */
static double seconds_after(const reel_schedule *schedule, const struct change *change)
{
	double advances = 0, forgotten = 0;
	struct use use = {0};

	for (unsigned k = 0; k < schedule->levels; k++) {
		const struct level *level = &schedule->level[k];

		if (gives_up(change, k)) {
			forgotten += (double)(level->last - level->first);
			continue;
		}
		add_level(&use, level);
		if (!is_tape(level))
			advances += advances_of_gap(
				schedule, end_of_gap(schedule, change, k) - level->first, use);
	}
	use.states++;
	if (change->keeps)
		advances += advances_of_gap(schedule, change->end - schedule->at, use);
	return advances * advance_seconds(&schedule->costs) +
	       forgotten * record_seconds(&schedule->costs);
}

/* Returns true if level k is a state between two gaps, which become one gap without it. */
static bool can_be_without(const reel_schedule *schedule, unsigned k)
{
	const struct level *level = &schedule->level[k];
	bool is_base = k + 1 < schedule->levels && is_tape(&level[1]) &&
		       level[1].first == level->first;

	return k > 0 && !is_tape(level) && !is_base && !is_tape(&level[-1]);
}

/*
 * Returns how many of the lowest states are not given up: the store has them, so that memory would
 * gain nothing. If slots are short, any state makes room for another.
 */
static double states_to_stay(const reel_schedule *schedule)
{
	bool lacks_slots = schedule->in_use[0] == schedule->plan->problem.tier[0].slots;

	if (lacks_slots || !reverses_at_once(schedule))
		return 0;
	return bytes_in_store(&schedule->costs, schedule->at) / state_bytes(schedule);
}

/* Returns the state that is missed least, by the gaps around it alone; 0: no state can be. */
static unsigned least_missed(const reel_schedule *schedule)
{
	const struct change none = {.keeps = true, .end = schedule->at};
	double stay = states_to_stay(schedule);
	struct use use = {0}, use_below = {0};
	double least = NEVER, below = 0;
	unsigned found = 0;

	for (unsigned k = 0; k < schedule->levels; k++) {
		int64_t first = schedule->level[k].first;
		int64_t last = end_of_gap(schedule, &none, k);
		double above = 0, merged;

		add_level(&use, &schedule->level[k]);
		if (!is_tape(&schedule->level[k]))
			above = advances_of_gap(schedule, last - first, use);
		if (k >= stay && can_be_without(schedule, k)) {
			merged = advances_of_gap(schedule, last - schedule->level[k - 1].first,
						 use_below) - below - above;
			if (merged < least) {
				least = merged;
				found = k;
			}
		}
		use_below = use;
		below = above;
	}
	return found;
}

/*
 * Returns the level of the tape that was recorded last and has a state below it; 0: none. Data that
 * the program keeps elsewhere stay.
 */
static unsigned last_tape(const reel_schedule *schedule)
{
	if (reverses_at_once(schedule))
		return 0;
	for (unsigned k = schedule->levels; k-- > 1;)
		if (is_tape(&schedule->level[k]))
			return is_tape(&schedule->level[k - 1]) ? 0 : k;
	return 0;
}

/* ---- The first forward sweep, of an unknown end ---- */

static bool top_is_tape(const reel_schedule *schedule)
{
	return schedule->levels > 0 && is_tape(&schedule->level[schedule->levels - 1]);
}

/* Returns true if some steps so far were neither recorded nor are to be recorded next. */
static bool has_gap(const reel_schedule *schedule)
{
	return schedule->at > schedule->tape_steps;
}

/* Returns true if one step more, and a state, have room in memory. */
static bool next_step_fits(const reel_schedule *schedule)
{
	struct use use = all_and(schedule, 1);

	REEL_ASSERT(use.states > 0 && use.steps >= 0);
	use.steps++;
	return room_beside(schedule, use).memory >= tape_bytes(schedule);
}

/* Returns true if the store takes and returns the tape of a step faster than it runs again. */
static bool spilling_pays(const reel_schedule *schedule, double steps, double bytes,
			  double advances)
{
	const struct reel_costs *costs = &schedule->costs;
	double record = steps * record_seconds(costs), reverse = steps * reverse_seconds(costs);

	if (!costs->tiers || steps > (double)max_recorded(schedule))
		return false;
	return larger(record, transfer_seconds(costs, bytes, true)) +
		       larger(reverse, transfer_seconds(costs, bytes, false)) <=
	       record + reverse + advances * advance_seconds(costs);
}

static bool records_next(const reel_schedule *schedule)
{
	if (schedule->plan->problem.flags & REEL_REVERSE_AT_ONCE)
		return false;
	if (!has_recorded(schedule))
		return true;
	if (keeps_states_only(schedule))
		return false;
	if (!has_limit(&schedule->costs))
		return true;
	if (next_step_fits(schedule) && !has_gap(schedule))
		return true;
	return spilling_pays(schedule, 1, tape_bytes(schedule), 1);
}

/* Number of steps of a tape that can be given up alone. */
static int64_t chunk_steps(const reel_schedule *schedule)
{
	double tape = tape_bytes(schedule), memory = (double)schedule->costs.memory_bytes;
	double steps;

	if (!(tape > 0) || !has_limit(&schedule->costs))
		return REEL_MAX_STEPS;
	steps = larger(memory / CHUNKS / tape, STATE_SHARE * state_bytes(schedule) / tape);
	steps = smaller(steps, memory / 2 / tape);
	return (int64_t)larger(1, larger(steps, (double)schedule->at / PART));
}

static int record_next(reel_schedule *schedule, reel_action *action)
{
	const struct level *top = &schedule->level[schedule->levels - 1];
	bool goes_on = top_is_tape(schedule) && top->last == schedule->at;
	bool is_full = goes_on && top->last - top->first >= chunk_steps(schedule);
	bool has_slot = schedule->in_use[0] < schedule->plan->problem.tier[0].slots;

	REEL_ASSERT(schedule->at >= schedule->tape_steps);
	if (has_slot && has_limit(&schedule->costs) && (is_full || !goes_on) &&
	    !reel_schedule_top_holds_working_state(schedule)) {
		reel_schedule_push_level(schedule, 0, action);
		return 0;
	}
	reel_schedule_record_step(schedule, action);
	return schedule->steps == REEL_UNKNOWN_STEPS ? -EAGAIN : 0;
}

/* Returns true if a step can be recorded beside all that is held and `more` states. */
static bool leaves_room(const reel_schedule *schedule, int64_t more)
{
	struct room room = room_beside(schedule, all_and(schedule, more));
	double tape = tape_bytes(schedule);

	return room.slots >= 0 && room.memory >= tape && room.states >= tape;
}

/*
 * Returns true if all states below the working state are kept, and the working state has room. Then
 * no step runs again but to be recorded.
 */
static bool keeps_all_states(const reel_schedule *schedule)
{
	int64_t states = schedule->in_use[0];

	if (reel_schedule_top_holds_working_state(schedule))
		states--;
	return reverses_at_once(schedule) && states == schedule->at && leaves_room(schedule, 1);
}

/*
 * Returns the number of steps to the next state that could be kept. If the loop ends there, their
 * reversal from the state below adds little. It adds to each gap, though, so every state is kept
 * while all have room.
 */
static int64_t stretch_at(const reel_schedule *schedule)
{
	double most = advances_of_gap(schedule, schedule->at, (struct use){1, 0}) / PART;
	int64_t stretch = 1;

	if (keeps_all_states(schedule))
		return 1;
	while (stretch < schedule->at / CHUNKS &&
	       advances_of_gap(schedule, 2 * stretch, all_and(schedule, 0)) <= most)
		stretch *= 2;
	return stretch;
}

/* Takes the change instead of the best one so far if less time is left after it. */
static void consider(const reel_schedule *schedule, struct change change, struct change *best,
		     double *least)
{
	double seconds = seconds_after(schedule, &change);

	REEL_ASSERT(seconds >= 0);
	if (seconds < *least) {
		*best = change;
		*least = seconds;
	}
}

/* Takes the best choice for a loop that ends after one stretch more. */
static int keep_or_leave(reel_schedule *schedule, reel_action *action)
{
	const struct change leave = {.end = schedule->at + stretch_at(schedule)};
	struct change change = leave, best = leave;
	unsigned tape = last_tape(schedule);
	double least = NEVER;

	/* The steps behind a tape need a state. */
	if (!top_is_tape(schedule))
		consider(schedule, change, &best, &least);
	change.forgets = tape;
	if (tape && !(top_is_tape(schedule) && tape != schedule->levels - 1))
		consider(schedule, change, &best, &least);
	change.keeps = true;
	if (tape && tape != schedule->levels - 1)
		consider(schedule, change, &best, &least);
	change.forgets = 0;
	if (leaves_room(schedule, 1))
		consider(schedule, change, &best, &least);
	change.without = least_missed(schedule);
	if (change.without)
		consider(schedule, change, &best, &least);
	if (!(least < NEVER) && top_is_tape(schedule))
		return record_next(schedule, action);
	if (best.forgets) {
		reel_schedule_forget(schedule, best.forgets, action);
		return 0;
	}
	if (best.without) {
		reel_schedule_pop_level(schedule, best.without, action);
		return 0;
	}
	if (best.keeps) {
		reel_schedule_push_level(schedule, 0, action);
		return 0;
	}
	return reel_schedule_sweep_to(schedule, best.end, action);
}

/*
 * Gives up a tape or a state if a step could not be recorded beside them; and, if a restart file is
 * written, the tape of the step from which the schedule has learnt. Returns false: neither.
 */
static bool make_room(reel_schedule *schedule, reel_action *action)
{
	unsigned tape = last_tape(schedule), state = 0;

	REEL_ASSERT(!tape || is_tape(&schedule->level[tape]));
	if (!(tape && schedule->is_saved) && leaves_room(schedule, 0))
		return false;
	if (!tape)
		state = least_missed(schedule);
	if (tape)
		reel_schedule_forget(schedule, tape, action);
	else if (state)
		reel_schedule_pop_level(schedule, state, action);
	return tape || state;
}

/* Returns true if all steps from the working state on are recorded at once. */
static bool records_rest(const reel_schedule *schedule, int64_t steps, struct room room)
{
	struct grouping grouping = group(schedule, steps, room);
	double bytes = (double)steps * tape_bytes(schedule) - room.memory;

	if (steps == 1 || (grouping.steps == steps && !(grouping.advances > 0)))
		return true;
	return spilling_pays(schedule, (double)steps, bytes, grouping.advances);
}

static int sweep_to_unknown_end(reel_schedule *schedule, reel_action *action)
{
	/* A step that is recorded for the store needs no room beside the others. */
	if (records_next(schedule))
		return record_next(schedule, action);
	if (has_recorded(schedule) && make_room(schedule, action))
		return 0;
	if (reel_schedule_top_holds_working_state(schedule))
		return reel_schedule_sweep_to(schedule, schedule->at + stretch_at(schedule),
					      action);
	if (keeps_all_states(schedule)) {
		reel_schedule_push_level(schedule, 0, action);
		return 0;
	}
	return keep_or_leave(schedule, action);
}

/* ---- The first forward sweep, of a known end ---- */

/* Number of steps that run one by one before a plan of a known end decides. */
static int64_t learnt_steps(const reel_schedule *schedule)
{
	return reel_min_i64(MAX_LEARNT, 1 + schedule->steps / CHUNKS);
}

/*
 * Returns true if one more step is recorded to learn how much memory tapes take up; or how fast the
 * store is, which shows when the memory is full.
 */
static bool learns_more(const reel_schedule *schedule)
{
	const struct reel_costs *costs = &schedule->costs;
	int64_t left = schedule->steps - schedule->at;

	if (reverses_at_once(schedule))
		return false;
	if (!has_recorded(schedule))
		return true;
	if (has_gap(schedule) || schedule->at == 0 || left == 0)
		return false;
	if (schedule->at < learnt_steps(schedule) && next_step_fits(schedule))
		return true;
	return !keeps_states_only(schedule) && costs->tiers &&
	       !(costs->tier[0].write_bandwidth > 0) && has_limit(costs) &&
	       (double)left * tape_bytes(schedule) > (double)costs->memory_bytes;
}

/* Number of states that the store takes in some steps, and that leave slots to those in memory. */
static double states_for_store(const reel_schedule *schedule, int64_t steps)
{
	double state = state_bytes(schedule), slots = (double)room_now(schedule, false).slots;
	double in_memory = (double)schedule->costs.memory_bytes / state;

	return smaller(bytes_in_store(&schedule->costs, steps) / state,
		       slots - smaller(in_memory, slots / 2));
}

/*
 * Returns the number of steps from one state for the store to the next, in the last `steps` steps;
 * or `steps`, if fewer of them run again without such states.
 */
static int64_t period_of_store(const reel_schedule *schedule, int64_t steps)
{
	double states = states_for_store(schedule, steps), advances;
	double memory = (double)schedule->costs.memory_bytes - state_bytes(schedule);
	struct room now = room_now(schedule, false), in_gap;
	int64_t period, gaps;

	REEL_ASSERT(steps > 0);
	if (!(states >= 1) || memory < 0)
		return steps;
	period = 1 + (int64_t)((double)steps / states);
	gaps = (steps - 1) / period;
	in_gap = (struct room){.memory = memory, .states = memory, .slots = now.slots - gaps};
	advances = (double)gaps * ((double)period + group(schedule, period, in_gap).advances) +
		   group(schedule, steps - gaps * period, in_gap).advances;
	return advances < group(schedule, steps, now).advances ? period : steps;
}

/*
 * Keeps a state for the store as often as the store takes one. Before, the first steps run one by
 * one, so that their time is known.
 */
static int sweep_with_states_only(reel_schedule *schedule, reel_action *action)
{
	int64_t last = schedule->steps - 1, state, next;

	if (schedule->at > last || !has_limit(&schedule->costs) || !schedule->costs.tiers)
		return -ENOENT;
	if (top_is_tape(schedule)) {
		reel_schedule_push_level(schedule, 0, action);
		return 0;
	}
	if (schedule->at < reel_min_i64(learnt_steps(schedule), last))
		return reel_schedule_sweep_to(schedule, schedule->at + 1, action);
	state = schedule->level[schedule->levels - 1].first;
	next = state + period_of_store(schedule, schedule->steps - state);
	if (next > last)
		return -ENOENT;
	if (next > schedule->at)
		return reel_schedule_sweep_to(schedule, next, action);
	reel_schedule_push_level(schedule, 0, action);
	return 0;
}

/* Some steps are recorded to learn from, and their tape is given up if not all steps fit. */
static int sweep_to_known_end(reel_schedule *schedule, reel_action *action)
{
	unsigned tape = last_tape(schedule);
	int64_t steps = schedule->steps - schedule->at;

	REEL_ASSERT(steps >= 0);
	if (reverses_at_once(schedule))
		return sweep_with_states_only(schedule, action);
	if (learns_more(schedule))
		return record_next(schedule, action);
	if (!tape || !steps || (!keeps_states_only(schedule) && leaves_room(schedule, 0) &&
		      records_rest(schedule, steps, room_beside(schedule, all_and(schedule, 0)))))
		return -ENOENT;
	reel_schedule_forget(schedule, tape, action);
	return 0;
}

static int sweep(reel_schedule *schedule, reel_action *action)
{
	if (!schedule->levels && (has_limit(&schedule->costs) || keeps_states_only(schedule))) {
		reel_schedule_push_level(schedule, 0, action);
		return 0;
	}
	return schedule->steps == REEL_UNKNOWN_STEPS ? sweep_to_unknown_end(schedule, action)
						     : sweep_to_known_end(schedule, action);
}

/* ---- The reverse sweep ---- */

/* Returns the first state of the last full groups of a gap, at which the gap is divided. */
static int64_t split_of(const reel_schedule *schedule, int64_t first, struct room room)
{
	int64_t steps = schedule->end - first, groups;
	struct grouping grouping = group(schedule, steps, room);

	REEL_ASSERT(grouping.steps > 0);
	if (grouping.steps >= steps)
		return schedule->end - 1;
	groups = (steps - 1) / grouping.steps + 1;
	groups -= reel_binomial_split(groups, grouping.slots + 1);
	return schedule->end - groups * grouping.steps;
}

static struct decision decide(const reel_schedule *schedule, int64_t steps, bool held)
{
	int64_t split = schedule->at;

	if (records_rest(schedule, steps, room_now(schedule, held)))
		return held ? (struct decision){DECIDE_MOVE, 0, 0}
			    : (struct decision){DECIDE_RECORD, steps, 0};
	if (held || (schedule->levels && !top_is_tape(schedule)))
		split = split_of(schedule, schedule->level[schedule->levels - 1].first,
				 room_now(schedule, false));
	return split > schedule->at ? (struct decision){DECIDE_ADVANCE, split - schedule->at, 0}
				    : (struct decision){DECIDE_STORE, 0, 0};
}

static const char *problem_of_auto(const struct reel_problem *problem)
{
	return problem->tape_states ? "auto counts tapes in bytes: tape_states is to be 0"
				    : reel_problem_of_first_tier(problem);
}

const struct planner reel_planner_auto = {
	.name = "auto",
	.problem = problem_of_auto,
	.decide = decide,
	.sweep = sweep,
	.unknown_end = true,
};
