/* SPDX-License-Identifier: MIT */
/*
 * How far a run is: the steps that the plan still takes, and the time that they will take.
 *
 * The steps of the model lie in BINS bins of equal width. For each bin and each kind of piece the
 * run counts the steps that the plan still takes and those that it has taken, with their time. So
 * each step counts with its own cost. The time of a step that was not measured yet is estimated
 * from the same step in pieces of another kind, and from the ratio of the kinds elsewhere; at first
 * from the costs of the plan. A piece of many steps tells less of each bin than a short one, so it
 * counts less.
 *
 * Several threads may end pieces at the same time. A lock guards all, in runs that show how far
 * they are; others have no such structure.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/cancel.h"
#include "os/clock.h"
#include "os/error.h"
#include "watch.h"
#include "plan/plan.h"
#include "trace/live.h"
#include "trace/progress-line.h"

#define BINS 64
/* Time between two descriptions, and two calls of the callback, in ns. */
#define CALL_NS (REEL_SECOND_NS / 5)

struct pieces {
	double left[BINS];  /* number of steps that the plan still takes */
	double taken[BINS]; /* number of steps that were measured, as they count */
	double ns[BINS];    /* their time, likewise */
};

struct reel_run_progress {
	bool shows; /* lines on stderr */
	struct reel_live_object live;

	pthread_mutex_t lock; /* guards the following */
	int64_t width;    /* number of steps in a bin */
	bool knows_left;  /* `left` is counted: the number of steps is known */
	struct pieces kind[REEL_PIECE_KINDS];
	bool reverses;       /* in the reverse sweep */
	int64_t done; /* state that the forward sweep has reached, or number of steps reversed */
	int64_t sweep_steps; /* the part of it that this process has done in this sweep */
	uint64_t begun;      /* time at which the forward sweep began */
	uint64_t sweep;      /* time at which this sweep began */
	double sweep_ns;     /* time of all pieces in this sweep */
	/* The latest description, and its time; 0: the run is in no sweep. */
	struct reel_progress latest;
	uint64_t described;
};

/* ---- Bins ---- */

static unsigned bin_of(const struct reel_run_progress *progress, int64_t step)
{
	int64_t bin = step / progress->width;

	REEL_ASSERT(step >= 0);
	return bin < BINS ? (unsigned)bin : BINS - 1;
}

/* Adds `amount`, spread evenly over the steps, and nothing below 0. */
static void spread(const struct reel_run_progress *progress, double bins[BINS], int64_t first,
		   int64_t last, double amount)
{
	double each = amount / (double)(last - first);

	REEL_ASSERT(first <= last);
	while (first < last) {
		unsigned bin = bin_of(progress, first);
		int64_t end = bin == BINS - 1 ? last : (bin + 1) * progress->width;

		end = end < last ? end : last;
		bins[bin] += each * (double)(end - first);
		bins[bin] = bins[bin] > 0 ? bins[bin] : 0;
		first = end;
	}
}

/* While the end of the loop is unknown, its steps may need wider bins. */
static void make_room(struct reel_run_progress *progress, int64_t last)
{
	while (last > BINS * progress->width) {
		for (unsigned k = 0; k < REEL_PIECE_KINDS; k++) {
			struct pieces *kind = &progress->kind[k];

			for (unsigned b = 0; b < BINS; b++) {
				bool both = 2 * b + 1 < BINS;

				kind->taken[b] =
					both ? kind->taken[2 * b] + kind->taken[2 * b + 1] : 0;
				kind->ns[b] = both ? kind->ns[2 * b] + kind->ns[2 * b + 1] : 0;
			}
		}
		progress->width *= 2;
	}
}

/* ---- The time left ---- */

static void add_left(void *context, const reel_action *action)
{
	const reel_run *run = context;
	reel_action piece;

	REEL_ASSERT(run->steps != REEL_UNKNOWN_STEPS);
	if (action->kind >= REEL_PIECE_KINDS)
		return;
	piece = reel_run_piece_of(run, action);
	spread(run->progress, run->progress->kind[action->kind].left, piece.first, piece.last,
	       (double)(piece.last - piece.first));
}

static void forget_left(struct reel_run_progress *progress)
{
	for (unsigned k = 0; k < REEL_PIECE_KINDS; k++)
		memset(progress->kind[k].left, 0, sizeof progress->kind[k].left);
	progress->knows_left = false;
}

void reel_progress_count(reel_run *run)
{
	if (!run->progress || run->steps == REEL_UNKNOWN_STEPS)
		return;
	make_room(run->progress, run->steps);
	forget_left(run->progress);
	run->progress->knows_left = reel_run_walk_plan(run, add_left, run);
}

static double sum(const double bins[BINS])
{
	double all = 0;

	for (unsigned b = 0; b < BINS; b++)
		all += bins[b];
	return all;
}

/* Time of a step in a piece of this kind, in this bin; 0: it was not measured. */
static double measured(const struct pieces *kind, unsigned bin)
{
	REEL_ASSERT(bin < BINS);
	return kind->taken[bin] > 0 ? kind->ns[bin] / kind->taken[bin] : 0;
}

/*
 * Returns the time of a step in a piece of this kind over that in a piece of the reference, from
 * the bins in which both were measured; `planned` if there are none.
 */
static double compare(const struct pieces *kind, const struct pieces *reference, double planned)
{
	double ns = 0, reference_ns = 0;

	for (unsigned b = 0; b < BINS; b++) {
		ns += measured(reference, b) > 0 ? kind->ns[b] : 0;
		reference_ns += kind->taken[b] * measured(reference, b);
	}
	/* A clock of coarse ticks may have measured nothing. */
	return ns > 0 && reference_ns > 0 ? ns / reference_ns : planned;
}

/* Time of a step of the reference in this bin, if need be from other kinds, or the mean. */
static double time_in(const struct reel_run_progress *progress, const struct pieces *reference,
		      const double cost[REEL_PIECE_KINDS], unsigned bin)
{
	double taken = sum(reference->taken);

	REEL_ASSERT(bin < BINS);
	if (measured(reference, bin) > 0)
		return measured(reference, bin);
	for (unsigned k = 0; k < REEL_PIECE_KINDS; k++)
		if (measured(&progress->kind[k], bin) > 0)
			return measured(&progress->kind[k], bin) / cost[k];
	return taken > 0 ? sum(reference->ns) / taken : 0;
}

/*
 * Returns the time of all pieces that are left, one after the other, in ns; below 0: not known. All
 * kinds are compared with ADVANCE, or with RECORD in a plan that has no ADVANCE.
 */
static double time_left(const struct reel_run_progress *progress,
			const struct reel_problem *problem)
{
	const double planned[REEL_PIECE_KINDS] = {
		[REEL_ACTION_ADVANCE] = reel_or_one(problem->advance_cost),
		[REEL_ACTION_RECORD] = reel_or_one(problem->record_cost),
		[REEL_ACTION_REVERSE] = reel_or_one(problem->reverse_cost),
	};
	unsigned first = sum(progress->kind[REEL_ACTION_ADVANCE].taken) > 0 ? REEL_ACTION_ADVANCE
									    : REEL_ACTION_RECORD;
	const struct pieces *reference = &progress->kind[first];
	double cost[REEL_PIECE_KINDS], left = 0;

	if (!progress->knows_left)
		return -1;
	for (unsigned k = 0; k < REEL_PIECE_KINDS; k++)
		cost[k] = compare(&progress->kind[k], reference, planned[k] / planned[first]);
	for (unsigned b = 0; b < BINS; b++) {
		double step = time_in(progress, reference, cost, b);

		for (unsigned k = 0; k < REEL_PIECE_KINDS; k++) {
			double known = measured(&progress->kind[k], b);

			left += progress->kind[k].left[b] * (known > 0 ? known : cost[k] * step);
		}
	}
	REEL_ASSERT(left >= 0);
	return left;
}

double reel_progress_left(const reel_run *run)
{
	return run->progress ? time_left(run->progress, &run->plan->problem) : -1;
}

/* ---- Telling ---- */

/* The time of the sweep includes waits for stores, and work of threads at the same time. */
static struct reel_progress describe(reel_run *run, const struct reel_run_progress *progress,
				     uint64_t now)
{
	double seconds = 1e-9 * (double)(now - progress->begun);
	double sweep = 1e-9 * (double)(now - progress->sweep);
	double left = time_left(progress, &run->plan->problem);
	struct reel_pool_stats pool;
	struct reel_run_stats stats = {0};

	REEL_ASSERT(now >= progress->begun && now >= progress->sweep);
	if (left >= 0 && progress->sweep_ns > 0)
		left *= sweep / progress->sweep_ns;
	else
		left = -1;
	reel_pool_get_stats(run->options.pool, &pool);
	reel_snapshots_get_stats(&run->snapshots, &stats);
	return (struct reel_progress){
		.reverses = progress->reverses,
		.done = progress->done,
		.steps = run->steps,
		.share = left < 0 ? -1 : seconds / (seconds + left),
		.seconds = seconds,
		.seconds_left = left,
		.steps_per_second = sweep > 0 ? (double)progress->sweep_steps / sweep : 0,
		.resident_bytes = pool.resident_bytes,
		.written_bytes = pool.written_bytes + stats.put_bytes,
	};
}

/* The time that has passed since the description was made is not left any more. */
static void write_live(const struct reel_live_object *object, FILE *answer)
{
	struct reel_run_progress *progress =
		(struct reel_run_progress *)((const char *)object -
					     offsetof(struct reel_run_progress, live));
	struct reel_progress now;
	uint64_t described;
	double since, left;

	pthread_mutex_lock(&progress->lock);
	now = progress->latest;
	/* Pieces may have ended since then, that followed too soon to be described. */
	now.reverses = progress->reverses;
	now.done = progress->done;
	described = progress->described;
	pthread_mutex_unlock(&progress->lock);
	if (!described)
		return;
	since = 1e-9 * (double)(reel_clock_ns() - described);
	now.seconds += since;
	left = now.seconds_left > since ? now.seconds_left - since : 0;
	fprintf(answer, "run reverses=%d done=%" PRId64, now.reverses, now.done);
	if (now.steps != REEL_UNKNOWN_STEPS)
		fprintf(answer, " steps=%" PRId64, now.steps);
	/* If the run takes longer than it was said to, nobody knows how much is left. */
	if (now.share >= 0 && (left > 0 || (now.reverses && now.done == now.steps)))
		fprintf(answer, " share=%.4f seconds_left=%.3f", now.seconds / (now.seconds + left),
			left);
	fprintf(answer, " seconds=%.3f steps_per_second=%.6g\n", now.seconds,
		now.steps_per_second);
}

/* Returns true if the run is to be told of. Requires progress->lock. */
static bool describe_if_due(reel_run *run, struct reel_run_progress *progress, uint64_t now)
{
	bool is_last = progress->reverses && progress->done == run->steps;

	if (now - progress->described < CALL_NS && !is_last)
		return false;
	progress->latest = describe(run, progress, now);
	progress->described = now;
	return true;
}

/* ---- Calls of a run ---- */

/* A step that is taken again counts once. */
static void note_done(struct reel_run_progress *progress, const reel_action *piece, int64_t steps)
{
	int64_t from = progress->done > piece->first ? progress->done : piece->first;

	if (piece->kind == REEL_ACTION_REVERSE) {
		progress->done = steps - piece->first;
		progress->sweep_steps += piece->last - piece->first;
	} else if (!progress->reverses && piece->last > from) {
		progress->done = piece->last;
		progress->sweep_steps += piece->last - from;
	}
}

static double weight_of(const struct reel_run_progress *progress, const reel_action *piece)
{
	double bins = 1 + bin_of(progress, piece->last - 1) - bin_of(progress, piece->first);

	return 1 / (bins * bins);
}

/* Requires progress->lock. */
static void add_piece(reel_run *run, struct reel_run_progress *progress, const reel_action *piece,
		      uint64_t ns)
{
	struct pieces *kind = &progress->kind[piece->kind];
	double steps = (double)(piece->last - piece->first), weight;

	REEL_ASSERT(piece->first >= 0 && piece->first < piece->last);
	if (run->steps == REEL_UNKNOWN_STEPS)
		make_room(progress, piece->last);
	if (progress->knows_left)
		spread(progress, kind->left, piece->first, piece->last, -steps);
	weight = weight_of(progress, piece);
	spread(progress, kind->taken, piece->first, piece->last, weight * steps);
	spread(progress, kind->ns, piece->first, piece->last, weight * (double)ns);
	progress->sweep_ns += (double)ns;
	note_done(progress, piece, run->steps);
}

/* Sets *latest to the latest description. Returns true if it is to be told. */
static bool note(reel_run *run, const reel_action *piece, uint64_t ns, struct reel_progress *latest)
{
	REEL_UNCANCELLED;
	struct reel_run_progress *progress = run->progress;
	uint64_t now = reel_clock_ns();
	bool is_due;

	pthread_mutex_lock(&progress->lock);
	add_piece(run, progress, piece, ns);
	is_due = describe_if_due(run, progress, now);
	*latest = progress->latest;
	pthread_mutex_unlock(&progress->lock);
	return is_due;
}

void reel_progress_note(reel_run *run, const reel_action *piece, uint64_t ns)
{
	struct reel_progress latest;

	REEL_ASSERT(piece->kind < REEL_PIECE_KINDS);
	if (!run->progress || piece->first >= piece->last || !note(run, piece, ns, &latest))
		return;
	/* The callback may take long, or be left: it is called without a lock. */
	if (run->progress->shows)
		reel_progress_line_show(run, &latest);
	if (run->options.progress)
		run->options.progress(run->sweep.context, &latest);
}

void reel_progress_begin(reel_run *run)
{
	REEL_UNCANCELLED;
	struct reel_run_progress *progress = run->progress;

	if (!progress)
		return;
	pthread_mutex_lock(&progress->lock);
	memset(progress->kind, 0, sizeof progress->kind);
	progress->width = run->steps > BINS ? (run->steps + BINS - 1) / BINS : 1;
	progress->knows_left = progress->reverses = false;
	progress->done = progress->sweep_steps = 0;
	progress->sweep_ns = 0;
	progress->begun = progress->sweep = reel_clock_ns();
	progress->described = 0;
	pthread_mutex_unlock(&progress->lock);
}

void reel_progress_go_on(reel_run *run)
{
	REEL_UNCANCELLED;
	struct reel_run_progress *progress = run->progress;

	if (!progress)
		return;
	if (progress->shows)
		reel_progress_line_begin(run);
	pthread_mutex_lock(&progress->lock);
	progress->sweep = reel_clock_ns();
	/* The time between reel_run_resume() and this sweep does not belong to the run. */
	if (progress->sweep_ns <= 0 && !progress->reverses)
		progress->begun = progress->sweep;
	progress->sweep_ns = 0;
	progress->sweep_steps = 0;
	progress->reverses = run->phase == REEL_RUN_REVERSE;
	/* Relaxed is enough: no piece is under way. */
	if (progress->reverses)
		progress->done = (int64_t)atomic_load_explicit(&run->counts[REEL_ACTION_REVERSE],
							       memory_order_relaxed);
	/* `reel top` shows the run from its beginning; the first call comes after CALL_NS. */
	if (!progress->described) {
		progress->described = progress->sweep;
		progress->latest = (struct reel_progress){
			.steps = run->steps,
			.share = -1,
			.seconds = 1e-9 * (double)(progress->sweep - progress->begun)};
	}
	pthread_mutex_unlock(&progress->lock);
}

void reel_progress_end(reel_run *run)
{
	REEL_UNCANCELLED;

	if (!run->progress)
		return;
	reel_progress_line_end(run);
	pthread_mutex_lock(&run->progress->lock);
	if (run->phase == REEL_RUN_IDLE)
		run->progress->described = 0;
	pthread_mutex_unlock(&run->progress->lock);
}

int reel_progress_open(reel_run *run)
{
	/* A process that is not the first of its group shows no lines. */
	bool shows = run->group.rank == 0 && reel_progress_line_is_wanted();

	if (!shows && !run->options.progress && !reel_is_live())
		return 0;
	run->progress = calloc(1, sizeof *run->progress);
	if (!run->progress)
		return reel_fail(-ENOMEM, "no memory for a run");
	pthread_mutex_init(&run->progress->lock, NULL);
	run->progress->shows = shows;
	run->progress->live.write = write_live;
	reel_live_add(&run->progress->live);
	return 0;
}

void reel_progress_close(reel_run *run)
{
	if (!run->progress)
		return;
	reel_live_remove(&run->progress->live);
	reel_progress_line_end(run);
	pthread_mutex_destroy(&run->progress->lock);
	free(run->progress);
}
