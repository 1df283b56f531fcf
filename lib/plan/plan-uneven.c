/* SPDX-License-Identifier: MIT */
/*
 * Plans with the least time for uneven steps, which differ in time and in the bytes of their states
 * and tapes, with a budget of memory and a store behind it. The dynamic programme of
 * Beaumont, Eyraud-Dubois, Herrmann, Joly and Shilova (2019, "Optimal checkpointing for
 * heterogeneous chains") is extended: a state or a tape may also be kept in the store. A state or
 * a tape stays where it is kept until its last use, and all steps above a kept state are reversed
 * before a state below it is loaded.
 *
 * The least times to reverse the steps s to t - 1 from the working state s, with m free bytes, are
 *
 *	free(s, t, m) = min(record(s) + free(s + 1, t, m - tape(s)) + reverse(s),
 *			    the same with all m bytes, and the tape in the store,
 *			    held(memory, s, t, m - state(s)),
 *			    store(state(s)) + held(store, s, t, m))
 *	held(where, s, t, m) = min(free(s, t, m) with the bytes of the copy, which is given up,
 *				   min over k of advance(s, k) + free(k, t, m) + load(where) +
 *					   held(where, s, k, m))
 *
 * where held() has a copy of state s besides. A step needs room for its tape and its work while it
 * is recorded and reversed. The tables have entries for some numbers of bytes, a level apart. The
 * list of actions is made with exact bytes, so it uses the memory that the tables have rounded off.
 * With REEL_UNEVEN_OWN_STATES, k is s + 1 alone.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "os/error.h"
#include "os/integer.h"
#include "plan.h"

/* Number of entries that are computed at once. */
#define BLOCK 4u
/*
 * The sums of two times that the tables may take, and their entries, limit the levels. With these
 * limits a plan of 200 steps takes at most 0.95 % longer than with 4,000 levels.
 */
#define MAX_SUMS 1.9e8
#define MAX_ENTRIES 8e6
#define MIN_LEVELS 32u
/* Sums of the bytes of all steps do not overflow. */
#define MAX_BYTES ((uint64_t)1 << 50)

enum place { IN_MEMORY, IN_STORE, PLACES };

/* The times of all ranges of steps. */
struct table {
	const struct reel_uneven_problem *uneven;
	size_t steps;
	unsigned places;      /* PLACES, or 1 if there is no store */
	uint64_t bytes;       /* of memory, as far as they could be used */
	uint64_t level_bytes; /* of a level */
	size_t row;           /* number of times in a row */
	/*
	 * Entry m of a row has m levels and the odd bytes of its first state, less than a level.
	 * The odd bytes are such that the choice to keep a tape or a state leads to an entry of
	 * exactly the bytes that remain. Only free(k, t) is read at an entry with fewer bytes.
	 */
	uint64_t *free_odd, *held_odd[PLACES];
	/*
	 * Fewest free bytes while the state or the tape of a step and of each step below it is in
	 * memory. A state takes a level more, for the bytes that are rounded off.
	 */
	uint64_t *least_left;
	/* Sums of the times of the steps before each state: to advance; to record and reverse. */
	double *advanced, *recorded;
	double unit; /* all times are divided by it, so that no float overflows */
	float *free, *held[PLACES];
	const float *zeros; /* a row of them */
};

/* ---- Rows ---- */

/* Rows that end at the same step are neighbours. */
static float *free_row(const struct table *table, size_t first, size_t last)
{
	REEL_ASSERT(first < last && last <= table->steps);
	return table->free + (last * (last - 1) / 2 + first) * table->row;
}

/* Rows that begin at the same step are neighbours. */
static float *held_row(const struct table *table, unsigned place, size_t first, size_t last)
{
	REEL_ASSERT(first < last && last <= table->steps);
	return table->held[place] +
	       (first * (2 * table->steps - first - 1) / 2 + last - 1) * table->row;
}

static bool only_own_states(const struct table *table)
{
	return table->uneven->flags & REEL_UNEVEN_OWN_STATES;
}

/* A copy of state `first` serves to run up to the states below the one that is returned. */
static size_t turns_below(const struct table *table, size_t first, size_t last)
{
	return only_own_states(table) ? reel_min_size(first + 2, last) : last;
}

/* The time of these steps, by the sums `advanced` or `recorded` of the table. */
static float time_of(const double *sums, size_t first, size_t last)
{
	return (float)(sums[last] - sums[first]);
}

static float transfer_of(const struct table *table, double bandwidth, uint64_t bytes)
{
	return (float)((double)bytes / bandwidth / table->unit);
}

/* The first entry that has these bytes, where the rows have `odd` bytes. */
static size_t entry_with(const struct table *table, uint64_t bytes, uint64_t odd)
{
	uint64_t level = table->level_bytes;
	uint64_t entry = bytes > odd ? (bytes - odd + level - 1) / level : 0;

	return (size_t)reel_min_u64(entry, table->row);
}

/*
 * Entry m of a row with `odd` bytes has room for `bytes` and for entry m - N of a row with
 * `next_odd` bytes. Returns the least N.
 */
static size_t entries_for(const struct table *table, uint64_t odd, uint64_t bytes,
			  uint64_t next_odd)
{
	return entry_with(table, bytes + next_odd, odd);
}

/* The time of a load of a state. */
static float load_of(const struct table *table, unsigned place, size_t state)
{
	return place == IN_MEMORY ? 0
				  : transfer_of(table, table->uneven->load_bandwidth,
						table->uneven->step[state].state_bytes);
}

static float store_of(const struct table *table, size_t state)
{
	return transfer_of(table, table->uneven->store_bandwidth,
			   table->uneven->step[state].state_bytes);
}

/* The time to put the tape of a step to the store and to get it back. */
static float tape_trip_of(const struct table *table, size_t step)
{
	uint64_t bytes = table->uneven->step[step].tape_bytes;

	return transfer_of(table, table->uneven->store_bandwidth, bytes) +
	       transfer_of(table, table->uneven->load_bandwidth, bytes);
}

static float record_of(const struct table *table, size_t step)
{
	return (float)((table->uneven->step[step].record + table->uneven->step[step].reverse) /
		       table->unit);
}

static float lower(float a, float b)
{
	return b < a ? b : a;
}

/*
 * best[m] = min(best[m], cost + a[m] + b[m]) for the first entries. Blocks of a constant size
 * become vectors of the machine. The function is not inlined, because gcc then keeps some addresses
 * of the inner loop on the stack, and the plan takes a fifth longer.
 */
__attribute__((noinline)) static void relax_sum(float *restrict best, const float *restrict a,
						const float *restrict b, float cost, size_t entries)
{
	size_t m = 0;

	for (; m + BLOCK <= entries; m += BLOCK)
		for (size_t i = 0; i < BLOCK; i++)
			best[m + i] = lower(best[m + i], cost + a[m + i] + b[m + i]);
	for (; m < entries; m++)
		best[m] = lower(best[m], cost + a[m] + b[m]);
}

/* best[m] = min(best[m], cost + a[m - back]), to the end of the row */
static void relax_back(const struct table *table, float *best, const float *a, float cost,
		       size_t from, size_t back)
{
	from = from > back ? from : back;
	relax_sum(best + from, a + (from - back), table->zeros, cost, table->row - from);
}

/* The least times of plans that record the first step now. */
static void fill_recorded(const struct table *table, size_t first, size_t last)
{
	const struct reel_uneven_step *step = &table->uneven->step[first];
	float *row = free_row(table, first, last), time = record_of(table, first);
	uint64_t odd = table->free_odd[first], next_odd = table->free_odd[first + 1];
	size_t need = entry_with(table, step->tape_bytes + step->work_bytes, odd);

	for (size_t m = 0; m < table->row; m++)
		row[m] = m >= need && first + 1 == last ? time : INFINITY;
	if (first + 1 == last)
		return;
	relax_back(table, row, free_row(table, first + 1, last), time, need,
		   entries_for(table, odd, step->tape_bytes, next_odd));
	if (table->places > 1)
		relax_back(table, row, free_row(table, first + 1, last),
			   time + tape_trip_of(table, first), need,
			   entries_for(table, odd, 0, next_odd));
}

/* The number of entries between a row of held() and the row of free() for the same bytes. */
static size_t entries_of_state(const struct table *table, unsigned place, size_t state)
{
	uint64_t bytes = place == IN_MEMORY ? table->uneven->step[state].state_bytes : 0;

	return entries_for(table, table->free_odd[state], bytes, table->held_odd[place][state]);
}

/*
 * A state that is held may be given up at once. In memory it leaves its bytes. Before the splits,
 * the rows of held() are empty.
 */
static void fill_given_up(const struct table *table, size_t first, size_t last, bool empty)
{
	const float *row = free_row(table, first, last), all = row[table->row - 1];

	for (unsigned place = 0; place < table->places; place++) {
		float *held = held_row(table, place, first, last);
		size_t entries = entries_of_state(table, place, first);
		size_t end = table->row - entries;

		if (empty)
			memcpy(held, row + entries, end * sizeof *held);
		else
			relax_sum(held, row + entries, table->zeros, 0, end);
		/* More memory than all of it is of no use. */
		for (size_t m = end; m < table->row; m++)
			held[m] = empty ? all : lower(held[m], all);
	}
}

/*
 * Plans that run steps again from the state that is held. A turn at state k takes the advance to
 * it, at least held(place, first, k) for the steps below it, and the time to record and reverse the
 * steps above it once. This bound rises with k, because a plan for the steps below k + 1 without
 * its actions for step k is a plan for the steps below k. An entry that takes no more than the
 * bound is not looked at again: `from` and `end` close in past it. No plan of all steps reaches an
 * entry with fewer bytes than `least_left`.
 */
static void fill_splits(const struct table *table, unsigned place, size_t first, size_t last)
{
	float *held = held_row(table, place, first, last), load = load_of(table, place, first);
	const float *below = held_row(table, place, first, first + 1);
	uint64_t level = table->level_bytes, odd = table->held_odd[place][first];
	size_t from = entry_with(table, table->least_left[first], odd + level);
	size_t end = table->row, turns = turns_below(table, first, last);

	for (size_t k = first + 1; k < turns && end > from; k++, below += table->row) {
		float time = time_of(table->advanced, first, k) + load;
		float bound = time + time_of(table->recorded, k, last);
		uint64_t work = table->uneven->step[k - 1].work_bytes;
		size_t back = odd < table->free_odd[k];

		while (end > from && held[end - 1] <= bound + below[end - 1])
			end--;
		while (end > from && (from < back || from * level + odd < work ||
				      held[from] <= bound + below[from]))
			from++;
		relax_sum(held + from, free_row(table, k, last) + (from - back), below + from, time,
			  end - from);
	}
}

static void fill_free(const struct table *table, size_t first, size_t last)
{
	float *row = free_row(table, first, last);

	for (unsigned place = 0; place < table->places; place++)
		relax_back(table, row, held_row(table, place, first, last),
			   place == IN_STORE ? store_of(table, first) : 0, 0,
			   entries_of_state(table, place, first));
}

static void fill(const struct table *table)
{
	for (size_t first = table->steps; first-- > 0;)
		for (size_t last = first + 1; last <= table->steps; last++) {
			/* Such plans are made of the steps to the end, and of single steps. */
			if (only_own_states(table) && last > first + 1 && last < table->steps)
				continue;
			fill_recorded(table, first, last);
			fill_given_up(table, first, last, true);
			for (unsigned place = 0; place < table->places; place++)
				fill_splits(table, place, first, last);
			fill_free(table, first, last);
			fill_given_up(table, first, last, false);
		}
}

/* ---- Levels ---- */

/* All that could be kept: more memory is not used. */
static uint64_t all_bytes(const struct reel_uneven_problem *uneven)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < uneven->steps; i++)
		sum += uneven->step[i].state_bytes + uneven->step[i].tape_bytes +
		       uneven->step[i].work_bytes;
	return sum;
}

/*
 * fill_splits() looks at fewer entries if more of all bytes fit into memory, so there can be more
 * levels.
 */
static uint32_t max_levels(const struct table *table)
{
	double steps = (double)table->steps, rows = steps * (steps + 1) / 2;
	double unused = 1 - (double)table->bytes / (1 + (double)all_bytes(table->uneven));
	double by_sums = MAX_SUMS / (rows * steps / 3 * table->places * unused);
	double by_entries = MAX_ENTRIES / (rows * (1 + table->places));
	double levels = by_sums < by_entries ? by_sums : by_entries;

	return levels < MIN_LEVELS ? MIN_LEVELS : (uint32_t)levels;
}

/* The odd bytes that remain of a number of levels and `odd` bytes without `bytes`. */
static uint64_t odd_without(const struct table *table, uint64_t odd, uint64_t bytes)
{
	uint64_t level = table->level_bytes;

	return (odd + level - bytes % level) % level;
}

static void measure(struct table *table)
{
	double advanced = 0, recorded = 0;
	uint64_t odd = table->bytes % table->level_bytes, left = table->bytes;

	for (size_t i = 0; i < table->steps; i++) {
		const struct reel_uneven_step *step = &table->uneven->step[i];

		table->free_odd[i] = odd;
		table->held_odd[IN_MEMORY][i] = odd_without(table, odd, step->state_bytes);
		table->held_odd[IN_STORE][i] = odd;
		odd = odd_without(table, odd, step->tape_bytes);
		left -= reel_min_u64(left, reel_max_u64(step->state_bytes + table->level_bytes,
							step->tape_bytes));
		table->least_left[i] = left;
		table->advanced[i] = advanced;
		table->recorded[i] = recorded;
		advanced += step->advance;
		recorded += step->record + step->reverse;
	}
	table->free_odd[table->steps] = 0;
	table->advanced[table->steps] = advanced;
	table->recorded[table->steps] = recorded;
	table->unit = advanced + recorded > 0 ? advanced + recorded : 1;
	for (size_t i = 0; i <= table->steps; i++) {
		table->advanced[i] /= table->unit;
		table->recorded[i] /= table->unit;
	}
}

static void close_table(struct table *table)
{
	free(table->free_odd);
	free(table->advanced);
	free(table->free);
}

static int open_table(struct table *table, const struct reel_uneven_problem *uneven)
{
	size_t steps = uneven->steps, times;

	*table = (struct table){.uneven = uneven, .steps = steps};
	table->bytes = reel_min_u64(all_bytes(uneven), uneven->memory_bytes);
	table->places = uneven->store_bandwidth > 0 && uneven->load_bandwidth > 0 ? PLACES : 1;
	table->level_bytes = table->bytes / max_levels(table) + 1;
	table->row = (size_t)(table->bytes / table->level_bytes) + 1;
	times = steps * (steps + 1) / 2 * table->row;
	table->free_odd = malloc((steps + 1) * 4 * sizeof *table->free_odd);
	table->advanced = malloc((steps + 1) * 2 * sizeof *table->advanced);
	table->free = malloc(((1 + table->places) * times + table->row) * sizeof *table->free);
	if (!table->free_odd || !table->advanced || !table->free) {
		close_table(table);
		return -ENOMEM;
	}
	table->recorded = table->advanced + steps + 1;
	table->least_left = table->free_odd + 3 * (steps + 1);
	for (unsigned place = 0; place < PLACES; place++) {
		table->held_odd[place] = table->free_odd + (1 + place) * (steps + 1);
		table->held[place] = table->free + (1 + place) * times;
	}
	table->zeros = memset(table->free + (1 + table->places) * times, 0,
			      table->row * sizeof *table->zeros);
	measure(table);
	return 0;
}

/* ---- The list of actions ---- */

struct list {
	const struct table *table;
	reel_action *action;
	size_t count, room;
	unsigned in_use[PLACES]; /* number of slots, which are dropped in the opposite order */
	unsigned slots[PLACES];  /* maximum of in_use so far */
	int error;
};

/* Adds an action, or lengthens the last one by its steps. */
static void add(struct list *list, reel_action action)
{
	reel_action *last = list->count ? &list->action[list->count - 1] : NULL;

	if (last && last->kind == action.kind && action.kind == REEL_ACTION_RECORD &&
	    last->tier == action.tier && last->last == action.first) {
		last->last = action.last;
		return;
	}
	if (last && last->kind == action.kind && action.kind == REEL_ACTION_REVERSE) {
		last->first = action.first;
		return;
	}
	if (list->count == list->room) {
		size_t room = 2 * list->room + 64;
		reel_action *longer = realloc(list->action, room * sizeof *longer);

		if (!longer) {
			list->error = -ENOMEM;
			return;
		}
		list->action = longer;
		list->room = room;
	}
	list->action[list->count++] = action;
}

static void add_steps(struct list *list, enum reel_action_kind kind, size_t first, size_t last,
		      unsigned tier)
{
	add(list, (reel_action){.kind = kind, .first = (int64_t)first, .last = (int64_t)last,
				.tier = tier});
}

static void add_access(struct list *list, enum reel_action_kind kind, size_t state, unsigned place,
		       bool last_use)
{
	add(list, (reel_action){.kind = kind, .first = (int64_t)state, .last = (int64_t)state,
				.tier = place, .slot = list->in_use[place] - 1,
				.last_use = last_use});
}

/* The times of the table with this number of free bytes. */
static float free_time(const struct table *table, size_t first, size_t last, uint64_t bytes)
{
	uint64_t odd = table->free_odd[first];

	if (first == last)
		return 0;
	return bytes < odd ? INFINITY
			   : free_row(table, first, last)[(bytes - odd) / table->level_bytes];
}

static float held_time(const struct table *table, unsigned place, size_t first, size_t last,
		       uint64_t bytes)
{
	uint64_t odd = table->held_odd[place][first];

	return bytes < odd
		       ? INFINITY
		       : held_row(table, place, first, last)[(bytes - odd) / table->level_bytes];
}

/* The least time with a copy of state `first` that is loaded once at least, and the first turn. */
static float split_time(const struct table *table, unsigned place, size_t first, size_t last,
			uint64_t bytes, size_t *turn)
{
	float best = INFINITY, load = load_of(table, place, first);
	size_t turns = turns_below(table, first, last);
	uint64_t work = 0;

	for (size_t k = first + 1; k < turns; k++) {
		float time = time_of(table->advanced, first, k) + load +
			     free_time(table, k, last, bytes) +
			     held_time(table, place, first, k, bytes);

		if (table->uneven->step[k - 1].work_bytes > work)
			work = table->uneven->step[k - 1].work_bytes;
		if (work <= bytes && time < best) {
			best = time;
			*turn = k;
		}
	}
	return best;
}

static void list_free(struct list *list, size_t first, size_t last, uint64_t bytes);

/* Stores the working state, and reverses the steps above it. `bytes` are free besides. */
static void list_store(struct list *list, unsigned place, size_t first, size_t last, uint64_t bytes)
{
	const struct table *table = list->table;
	uint64_t given_up = place == IN_MEMORY ? table->uneven->step[first].state_bytes : 0;
	size_t turn = last;
	bool splits = true;

	if (++list->in_use[place] > list->slots[place])
		list->slots[place] = list->in_use[place];
	add_access(list, REEL_ACTION_STORE, first, place, false);
	split_time(table, place, first, last, bytes, &turn);
	while (splits) {
		add_steps(list, REEL_ACTION_ADVANCE, first, turn, 0);
		list_free(list, turn, last, bytes);
		last = turn;
		splits = split_time(table, place, first, last, bytes, &turn) <=
				 free_time(table, first, last, bytes + given_up) &&
			 turn < last;
		add_access(list, REEL_ACTION_LOAD, first, place, !splits);
	}
	add_access(list, REEL_ACTION_DROP, first, place, false);
	list->in_use[place]--;
	list_free(list, first, last, bytes + given_up);
}

/* Records a step, reverses the steps after it and then the step itself. */
static void list_record(struct list *list, size_t first, size_t last, uint64_t bytes,
			unsigned place)
{
	uint64_t tape = place == IN_MEMORY ? list->table->uneven->step[first].tape_bytes : 0;

	add_steps(list, REEL_ACTION_RECORD, first, first + 1, place);
	if (first + 1 < last)
		list_free(list, first + 1, last, bytes - tape);
	add_steps(list, REEL_ACTION_REVERSE, first, first + 1, 0);
}

/* The choices for the step after the working state. */
enum choice { KEEP_TAPE, STORE_TAPE, KEEP_STATE, STORE_STATE, CHOICES };

/* The time of a choice; INFINITY: there is no room for it. */
static float time_of_choice(const struct table *table, enum choice choice, size_t first,
			    size_t last, uint64_t bytes)
{
	const struct reel_uneven_step *step = &table->uneven->step[first];
	bool can_record = step->tape_bytes + step->work_bytes <= bytes;
	bool has_store = table->places > 1;
	size_t unused;

	switch (choice) {
	case KEEP_TAPE:
		return can_record ? record_of(table, first) + free_time(table, first + 1, last,
									bytes - step->tape_bytes)
				  : INFINITY;
	case STORE_TAPE:
		return can_record && has_store && first + 1 < last
			       ? record_of(table, first) + tape_trip_of(table, first) +
					 free_time(table, first + 1, last, bytes)
			       : INFINITY;
	case KEEP_STATE:
		return step->state_bytes <= bytes ? split_time(table, IN_MEMORY, first, last,
							       bytes - step->state_bytes, &unused)
						  : INFINITY;
	case STORE_STATE:
		return has_store ? store_of(table, first) + split_time(table, IN_STORE, first, last,
								       bytes, &unused)
				 : INFINITY;
	case CHOICES:
		break;
	}
	return INFINITY;
}

/* Reverses the steps from the working state `first`. */
static void list_free(struct list *list, size_t first, size_t last, uint64_t bytes)
{
	const struct reel_uneven_step *step = &list->table->uneven->step[first];
	enum choice best = CHOICES;
	float least = INFINITY;

	for (enum choice choice = KEEP_TAPE; choice < CHOICES && !list->error; choice++) {
		float time = time_of_choice(list->table, choice, first, last, bytes);

		if (time < least) {
			least = time;
			best = choice;
		}
	}
	switch (best) {
	case KEEP_TAPE:
		list_record(list, first, last, bytes, IN_MEMORY);
		break;
	case STORE_TAPE:
		list_record(list, first, last, bytes, IN_STORE);
		break;
	case KEEP_STATE:
		list_store(list, IN_MEMORY, first, last, bytes - step->state_bytes);
		break;
	case STORE_STATE:
		list_store(list, IN_STORE, first, last, bytes);
		break;
	case CHOICES:
		REEL_ASSERT(list->error);
	}
}

/* ---- Opening ---- */

static bool is_bandwidth(double bandwidth)
{
	return bandwidth >= 0 && bandwidth < INFINITY;
}

static const char *problem_of_step(const struct reel_uneven_step *step)
{
	if (!reel_is_cost(step->advance) || !reel_is_cost(step->record) ||
	    !reel_is_cost(step->reverse))
		return "a time of a step is below 0, above 1e100 or no number";
	if (step->state_bytes > MAX_BYTES || step->tape_bytes > MAX_BYTES ||
	    step->work_bytes > MAX_BYTES)
		return "a state, a tape or the work of a step has more than 2^50 bytes";
	return NULL;
}

static const char *problem_of_uneven(const struct reel_uneven_problem *uneven)
{
	const char *problem;

	if (!uneven || (uneven->steps && !uneven->step))
		return "there is no list of steps";
	if (uneven->steps > REEL_MAX_UNEVEN_STEPS)
		return "there are more than 512 steps: group them";
	if (!is_bandwidth(uneven->store_bandwidth) || !is_bandwidth(uneven->load_bandwidth))
		return "a bandwidth is below 0 or no number; 0: there is no store";
	for (size_t i = 0; i < uneven->steps; i++) {
		problem = problem_of_step(&uneven->step[i]);
		if (problem)
			return problem;
	}
	if (uneven->flags & ~(uint64_t)REEL_UNEVEN_OWN_STATES)
		return "there are unknown flags";
	return reel_reserved_problem(uneven->reserved, sizeof uneven->reserved);
}

/* Fills the table and lists the actions of the least time. 0, -ENOMEM or -ENOSPC. */
static int list_actions(const struct reel_uneven_problem *uneven, struct list *list,
			unsigned *places)
{
	struct table table;
	int error = uneven->steps ? open_table(&table, uneven) : 0;

	*places = 1;
	if (error || !uneven->steps)
		return error;
	*places = table.places;
	fill(&table);
	list->table = &table;
	if (free_time(&table, 0, uneven->steps, table.bytes) < INFINITY)
		list_free(list, 0, uneven->steps, table.bytes);
	else
		list->error = -ENOSPC;
	close_table(&table);
	return list->error;
}

static struct reel_uneven_problem *copy_uneven(const struct reel_uneven_problem *uneven)
{
	size_t bytes = uneven->steps * sizeof *uneven->step;
	struct reel_uneven_problem *copy = malloc(sizeof *copy + bytes);

	if (!copy)
		return NULL;
	*copy = *uneven;
	copy->step = memcpy(copy + 1, uneven->step, bytes);
	return copy;
}

static int fail_for_memory(const struct reel_uneven_problem *uneven)
{
	uint64_t most = 0;
	size_t at = 0;

	for (size_t i = 0; i < uneven->steps; i++)
		if (uneven->step[i].tape_bytes + uneven->step[i].work_bytes > most) {
			most = uneven->step[i].tape_bytes + uneven->step[i].work_bytes;
			at = i;
		}
	return reel_fail(-ENOSPC,
			 "no plan fits into %llu bytes of memory; step %zu alone takes %llu while "
			 "it is recorded",
			 (unsigned long long)uneven->memory_bytes, at, (unsigned long long)most);
}

/* On success the plan owns the actions of the list. */
static int open_plan(reel_plan **plan, const struct reel_uneven_problem *uneven,
		     const struct list *list, unsigned places)
{
	struct reel_problem problem = {.steps = (int64_t)uneven->steps, .tiers = places};
	struct reel_uneven_problem *copy = copy_uneven(uneven);
	int error = -ENOMEM;

	for (unsigned place = 0; place < places; place++)
		problem.tier[place].slots = list->slots[place];
	if (copy)
		error = reel_plan_open_actions(plan, &problem, list->action, list->count);
	if (error)
		free(copy);
	else
		(*plan)->uneven = copy;
	return error;
}

int reel_plan_open_uneven(reel_plan **plan, const struct reel_uneven_problem *uneven)
{
	const char *wrong = problem_of_uneven(uneven);
	struct list list = {0};
	unsigned places;
	int error;

	if (wrong)
		return reel_fail(-EINVAL, "%s", wrong);
	error = list_actions(uneven, &list, &places);
	if (!error)
		error = open_plan(plan, uneven, &list, places);
	if (error)
		free(list.action);
	if (error == -ENOSPC)
		return fail_for_memory(uneven);
	return error ? reel_fail(error, "no memory for a plan") : 0;
}
