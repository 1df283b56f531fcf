/* SPDX-License-Identifier: MIT */
/*
 * Measures the loop and the machine for a plan that learns (REEL_AUTO), and tells its schedule in
 * the forward sweep: the times of steps, the bytes of states and tapes, the memory, and the rate at
 * which the store of the pool takes slabs. It keeps the measurements of the reverse sweep for the
 * next forward sweep. States with loss count as whole until a forward sweep has stored some: those
 * at its beginning may be smaller than all others. Also drops the tape of steps that such a plan
 * forgets. The thread that owns the run runs these functions. On several ranks all tell their
 * schedules the same numbers, since they walk through one plan.
 */
#include "config.h"

#include "sweep.h"

#include <errno.h>
#include <stdlib.h>

#include "os/clock.h"
#include "os/error.h"
#include "os/integer.h"
#include "os/memory-limit.h"
#include "plan/plan.h"
#include "tape/tape.h"
#include "checkpoint/run/run-loss.h"
#include "checkpoint/run/run-packer.h"
#include "trace/trace.h"

/* The part of the memory that is left free, and the number of slabs, if they are more. */
#define UNUSED 8
#define UNUSED_SLABS 3
/* Packed states are taken to be this much larger than those that are known. */
#define MARGIN 1.1
/* A bit of each value, as a part of a whole state of doubles. */
#define BIT (1.0 / 64)
/* Fewer steps do not show that later ones push more. */
#define LAST_STEPS 4
/* The schedule learns again when the loop is longer by this part. */
#define LATER 16
/* The memory that ranks agree on: each counts its bytes in parts of its own memory. */
#define COMMON_MEMORY ((uint64_t)1 << 40)
#define MAX_PART ((int64_t)1 << 62)
/* Stands for an unknown rate: the lowest rate of all ranks counts. */
#define UNKNOWN 1e300

/* The place on the tape at which a tape of the schedule begins. */
struct start {
	int64_t step;
	reel_mark mark;
};

struct reel_run_learning {
	struct reel_costs costs; /* as the schedule was told last, kept for the next sweep */
	/* The steps of the model that were counted before their times were measured. */
	struct reel_run_counts before;
	uint64_t beside;         /* bytes that other users of the pool had when the sweep began */
	int64_t next;            /* the state from which on the schedule learns again */
	/* At the last look, or when the reverse sweep began: */
	uint64_t at_ns, moved, stall_ns;
	/* At the last look: */
	uint64_t tape_bytes;
	int64_t steps_on_tape;
	/*
	 * The largest state of those seen last took up this part of its bytes when it was packed to
	 * `tolerance`, in this sweep or an earlier one. 0: not known.
	 */
	double packed;
	double tolerance;
	struct start *start; /* of the tapes of the schedule, the last one last */
	size_t starts, room;
};

int reel_learning_open(reel_run *run)
{
	if (!reel_plan_learns(run->plan))
		return 0;
	run->learning = calloc(1, sizeof *run->learning);
	return run->learning ? 0 : reel_fail(-ENOMEM, "no memory for a run");
}

void reel_learning_close(reel_run *run)
{
	if (run->learning)
		free(run->learning->start);
	free(run->learning);
}

/* ---- Memory ---- */

/*
 * Looks how many bytes the packed states of this sweep take up at most: a mean would leave no room
 * for the states of a loop that begins smoothly.
 */
static void see_packed(reel_run *run)
{
	struct reel_run_learning *learning = run->learning;
	uint64_t packed;

	/* Snapshots that find no room are stored by the next action. */
	if (reel_packer_finish(run, NULL))
		return;
	/* Relaxed: a counter, which orders nothing. */
	packed = atomic_load_explicit(&run->largest_kept, memory_order_relaxed);
	if (!packed)
		return;
	REEL_ASSERT(run->loss && run->model.state_bytes > 0);
	learning->packed = (double)packed / (double)run->model.state_bytes;
	learning->tolerance = run->loss->tolerance;
}

/*
 * The part of its bytes that a packed state takes up: more than the largest of those did that are
 * known, whose tolerance may be another one. Half the tolerance is a bit more for each value.
 */
static double packed_part(const reel_run *run)
{
	const struct reel_run_learning *learning = run->learning;
	double part = MARGIN * learning->packed, tolerance = learning->tolerance;

	if (!reel_loss_in(run, 0) || !(learning->packed > 0) || !(run->loss->tolerance > 0))
		return 1;
	for (; run->loss->tolerance < tolerance && part < 1; tolerance /= 2)
		part += BIT;
	return part < 1 ? part : 1;
}

/* The bytes that a snapshot takes up in the pool: whole pages. */
static uint64_t snapshot_bytes(const reel_run *run)
{
	size_t bytes = (size_t)(packed_part(run) * (double)run->model.state_bytes);

	return reel_supply_large_bytes(bytes ? bytes : 1);
}

/* A budget of auto. The system's files are read once: a program may open a run for each loop. */
static uint64_t system_bytes(void)
{
	static _Atomic uint64_t known;
	struct reel_memory_limit limit;
	/* Relaxed, both: the number guards no other data, and all threads compute the same one. */
	uint64_t bytes = atomic_load_explicit(&known, memory_order_relaxed);

	if (bytes)
		return bytes;
	reel_memory_limit(&limit, "");
	bytes = reel_memory_share(&limit, REEL_AUTO_PERCENT);
	atomic_store_explicit(&known, bytes, memory_order_relaxed);
	return bytes;
}

static uint64_t memory_bytes(const reel_run *run)
{
	uint64_t bytes = reel_soft_budget(run->options.pool), unused;

	bytes = reel_min_u64(bytes, reel_budget_bound(run->options.pool));
	if (bytes > SIZE_MAX / 2)
		bytes = system_bytes();
	bytes -= reel_min_u64(bytes, run->learning->beside);
	unused = reel_min_u64(bytes / 2, UNUSED_SLABS * run->options.pool->slab_bytes);
	bytes -= reel_max_u64(bytes / UNUSED, unused);
	return bytes + !bytes;
}

/* ---- Measured costs ---- */

/* Sets *seconds to the time of a step, without waits for the store, if one was carried out. */
static void see_time(const reel_run *run, enum reel_action_kind kind, double *seconds)
{
	/* Relaxed, all: counters, which order nothing. */
	uint64_t steps = atomic_load_explicit(&run->counts[kind], memory_order_relaxed) -
			 run->learning->before.of[kind];
	uint64_t ns = atomic_load_explicit(&run->ns[kind], memory_order_relaxed) -
		      atomic_load_explicit(&run->waited_ns[kind], memory_order_relaxed);

	if (steps)
		*seconds = 1e-9 * (double)(ns + !ns) / (double)steps *
			   (double)run->options.segment_steps;
}

/* The memory that the tape takes up. The top slab is full if no other step has room in it. */
static uint64_t tape_memory(const reel_run *run, uint64_t step)
{
	const struct reel_slab *slab = run->tape.slab;
	uint64_t bytes = slab ? reel_window_filled(&run->tape) : reel_tape_bytes(&run->tape);

	if (slab && slab->bytes - bytes < step)
		bytes = slab->bytes;
	while (slab && (slab = slab->below))
		bytes += slab->bytes;
	return bytes;
}

/* The memory of the tape of a segment: of all on the tape, or of the last if they push more. */
static uint64_t segment_bytes(reel_run *run)
{
	struct reel_run_learning *learning = run->learning;
	uint64_t bytes = reel_tape_bytes(&run->tape), each = learning->costs.tape_bytes;
	int64_t steps = run->steps_on_tape, more = steps - learning->steps_on_tape;
	uint64_t segment = (uint64_t)run->options.segment_steps;

	REEL_ASSERT(steps >= 0 && segment > 0);
	if (steps > 0 && bytes > 0)
		each = tape_memory(run, bytes / (uint64_t)steps) * segment / (uint64_t)steps;
	if (more >= LAST_STEPS && bytes > learning->tape_bytes)
		each = reel_max_u64(each, (bytes - learning->tape_bytes) * segment /
						  (uint64_t)more);
	learning->tape_bytes = bytes;
	learning->steps_on_tape = steps;
	return each;
}

/* Returns the bytes that the store has taken; in the reverse sweep, that it has given back. */
static uint64_t moved_bytes(const reel_run *run, const struct reel_pool_stats *stats)
{
	return run->phase == REEL_RUN_REVERSE ? stats->read_bytes : stats->written_bytes;
}

static void begin_to_see_store(reel_run *run, const struct reel_pool_stats *stats)
{
	run->learning->at_ns = reel_clock_ns();
	run->learning->moved = moved_bytes(run, stats);
	run->learning->stall_ns = stats->stall_ns;
}

/*
 * The rate at which the store takes slabs, or gives them back. It is known if pushes or pops have
 * waited for the store for a good part of the time. Otherwise the store may have moved all that
 * there was to move, and is only known to be no slower. An unknown rate is 0: the plan assumes one,
 * and that the store gives slabs back as fast as it takes them. If states alone are kept, the plan
 * gives the store no more than this, so where nothing has waited, more is tried.
 */
static void see_store(reel_run *run)
{
	struct reel_run_learning *learning = run->learning;
	struct reel_cost_tier *tier = &learning->costs.tier[0];
	double *known = run->phase == REEL_RUN_REVERSE ? &tier->read_bandwidth
						       : &tier->write_bandwidth;
	bool has_states_only = !learning->costs.tape_bytes;
	double assumed = *known > 0 ? *known : tier->write_bandwidth, rate;
	uint64_t passed = reel_clock_ns() - learning->at_ns + 1, waited;
	struct reel_pool_stats stats;

	learning->costs.tiers = reel_pool_has_store(run->options.pool);
	if (!learning->costs.tiers)
		return;
	reel_pool_get_stats(run->options.pool, &stats);
	REEL_ASSERT(moved_bytes(run, &stats) >= learning->moved);
	rate = 1e9 * (double)(moved_bytes(run, &stats) - learning->moved) / (double)passed;
	waited = stats.stall_ns - learning->stall_ns;
	if (!(assumed > 0) && has_states_only)
		assumed = REEL_ASSUMED_BANDWIDTH;
	if (rate > 0 && (waited > passed / 2 || (assumed > 0 && rate > assumed)))
		*known = rate;
	else if (has_states_only && !waited && 2 * rate > assumed)
		*known = 2 * assumed;
	begin_to_see_store(run, &stats);
}

static void look(reel_run *run)
{
	struct reel_costs *costs = &run->learning->costs;

	REEL_ASSERT(run->phase == REEL_RUN_FORWARD);
	costs->state_bytes = snapshot_bytes(run);
	costs->memory_bytes = memory_bytes(run);
	costs->tape_bytes = segment_bytes(run);
	see_time(run, REEL_ACTION_ADVANCE, &costs->advance_seconds);
	see_time(run, REEL_ACTION_RECORD, &costs->record_seconds);
	see_store(run);
}

void reel_learn_reverse_end(reel_run *run)
{
	if (!run->learning)
		return;
	see_time(run, REEL_ACTION_REVERSE, &run->learning->costs.reverse_seconds);
	see_store(run);
	see_packed(run);
}

/* ---- Ranks ---- */

static int64_t part_of(double bytes, uint64_t memory)
{
	double part = bytes / (double)memory * (double)COMMON_MEMORY;

	REEL_ASSERT(memory > 0);
	return part < (double)MAX_PART ? (int64_t)part : MAX_PART;
}

/*
 * Collective: the rank whose steps, states and tapes need most decides, each in parts of the memory
 * of its rank.
 */
static int agree(const reel_run *run, struct reel_costs *costs)
{
	uint64_t memory = costs->memory_bytes;
	struct reel_cost_tier *tier = &costs->tier[0];
	int64_t values[] = {
		(int64_t)(1e9 * costs->advance_seconds),
		(int64_t)(1e9 * costs->record_seconds),
		(int64_t)(1e9 * costs->reverse_seconds),
		part_of((double)costs->state_bytes, memory),
		part_of((double)costs->tape_bytes, memory),
		costs->tiers,
		-part_of(tier->write_bandwidth > 0 ? tier->write_bandwidth : UNKNOWN, memory),
		-part_of(tier->read_bandwidth > 0 ? tier->read_bandwidth : UNKNOWN, memory),
	};
	int error = reel_group_max(&run->group, values, (int)(sizeof values / sizeof *values));

	if (error)
		return error;
	costs->advance_seconds = 1e-9 * (double)values[0];
	costs->record_seconds = 1e-9 * (double)values[1];
	costs->reverse_seconds = 1e-9 * (double)values[2];
	costs->memory_bytes = COMMON_MEMORY;
	costs->state_bytes = (uint64_t)values[3];
	costs->tape_bytes = (uint64_t)values[4];
	costs->tiers = (unsigned)values[5];
	tier->write_bandwidth = -values[6] < MAX_PART ? (double)-values[6] : 0;
	tier->read_bandwidth = -values[7] < MAX_PART ? (double)-values[7] : 0;
	return 0;
}

/* ---- Learning ---- */

void reel_learning_begin(reel_run *run)
{
	struct reel_run_learning *learning = run->learning;
	struct reel_pool_stats stats;

	if (!learning)
		return;
	reel_pool_get_stats(run->options.pool, &stats);
	/* With a store the data of others give way. */
	learning->beside = reel_pool_has_store(run->options.pool)
				   ? 0 : stats.slabs_in_use * stats.slab_bytes;
	learning->next = 0;
	begin_to_see_store(run, &stats);
	learning->tape_bytes = 0;
	learning->steps_on_tape = 0;
	learning->starts = 0;
	learning->before = reel_run_get_counts(run);
	run->schedule->is_saved = run->options.restart;
}

void reel_learning_resume(reel_run *run)
{
	struct reel_run_learning *learning = run->learning;
	struct reel_costs *costs;
	double scale;

	if (!learning)
		return;
	REEL_ASSERT(run->schedule->tape_steps == 0);
	reel_learning_begin(run);
	costs = &learning->costs;
	*costs = run->schedule->costs;
	if (reel_group_is_alone(&run->group))
		return;
	scale = (double)memory_bytes(run) / (double)COMMON_MEMORY;
	costs->tape_bytes = (uint64_t)((double)costs->tape_bytes * scale);
	costs->tier[0].write_bandwidth *= scale;
	costs->tier[0].read_bandwidth *= scale;
}

/* Times and tapes are of a step of the model. */
static void trace_costs(const reel_run *run)
{
	const struct reel_costs *costs = &run->learning->costs;
	int64_t segment = run->options.segment_steps;
	double scale = 1e9 / (double)segment;

	REEL_TRACE(LEARN, 0, reel_run_step_of(run, run->schedule->at),
		   (int64_t)costs->state_bytes, (int64_t)costs->tape_bytes / segment,
		   (int64_t)costs->memory_bytes, (int64_t)(scale * costs->advance_seconds),
		   (int64_t)(scale * costs->record_seconds));
}

static int tell(reel_run *run)
{
	struct reel_costs costs = run->learning->costs;
	int error = reel_group_is_alone(&run->group) ? 0 : agree(run, &costs);

	if (error)
		return error;
	reel_schedule_learn(run->schedule, &costs);
	trace_costs(run);
	reel_ahead_begin(run);
	return 0;
}

int reel_learn(reel_run *run)
{
	struct reel_run_learning *learning = run->learning;

	if (!learning || run->phase != REEL_RUN_FORWARD || !reel_schedule_learns(run->schedule) ||
	    run->schedule->at < learning->next)
		return 0;
	look(run);
	learning->next = run->schedule->at + 1 + run->schedule->at / LATER;
	return tell(run);
}

int reel_learn_reverse_begin(reel_run *run)
{
	struct reel_pool_stats stats;

	if (!run->learning)
		return 0;
	reel_pool_get_stats(run->options.pool, &stats);
	begin_to_see_store(run, &stats);
	see_packed(run);
	run->learning->costs.state_bytes = snapshot_bytes(run);
	return tell(run);
}

/* ---- Tapes that are forgotten ---- */

int reel_learn_start(reel_run *run, const reel_action *record)
{
	struct reel_run_learning *learning = run->learning;
	size_t room = learning ? 2 * learning->room + 16 : 0;
	struct start *start;

	if (!learning || !reel_schedule_begins_tape(run->schedule, record->first))
		return 0;
	REEL_ASSERT(learning->starts <= learning->room);
	if (learning->starts == learning->room) {
		start = realloc(learning->start, room * sizeof *start);
		if (!start)
			return reel_fail(-ENOMEM, "no memory for a run");
		learning->start = start;
		learning->room = room;
	}
	learning->start[learning->starts++] =
		(struct start){record->first, reel_tape_mark(&run->tape)};
	return 0;
}

void reel_learn_forget(reel_run *run, const reel_action *forget)
{
	struct reel_run_learning *learning = run->learning;
	const struct start *start;

	REEL_ASSERT(learning && learning->starts > 0);
	start = &learning->start[--learning->starts];
	REEL_ASSERT(start->step == forget->first);
	REEL_TRACE(FORGET, 0, reel_run_step_of(run, forget->first),
		   reel_run_step_of(run, forget->last));
	reel_run_take_back(run, forget, start->mark);
	learning->tape_bytes = reel_tape_bytes(&run->tape);
	learning->steps_on_tape = run->steps_on_tape;
}
