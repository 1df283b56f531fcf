/* SPDX-License-Identifier: MIT */
/*
 * How far a run is: what the plan still has to do, and how long that will take.
 *
 * The steps of the model lie in BINS bins of equal width. For each bin and each kind of piece the
 * run counts the steps that the plan still takes and those that it has taken, with their time. So
 * steps of different cost are each reckoned at their own. What was not measured yet is reckoned by
 * what the same steps took in pieces of another kind, and by how the kinds compare elsewhere; at
 * first by the costs of the plan. A piece of many steps tells less of each bin than a short one, so
 * it counts less.
 *
 * Several threads may end pieces at the same time. A lock guards all, in runs that show how far they
 * are; others have no such structure.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "os/bytes.h"
#include "os/cancel.h"
#include "os/clock.h"
#include "os/environment.h"
#include "os/error.h"
#include "os/numerals.h"
#include "os/signals.h"
#include "watch.h"
#include "plan/plan.h"
#include "trace/live.h"

#define BINS 64
/* Between two calls of the callback, and two lines on a terminal, each of which replaces the last. */
#define CALL_NS (REEL_SECOND_NS / 5)
/* Between two lines elsewhere. */
#define LINE_NS (30 * (uint64_t)REEL_SECOND_NS)

struct pieces {
	double left[BINS];  /* number of steps that the plan still takes */
	double taken[BINS]; /* number of steps that were measured, as they count */
	double ns[BINS];    /* their time, likewise */
};

struct reel_run_progress {
	bool shows;       /* lines on stderr */
	bool is_terminal; /* stderr is one */
	/* Held while a line is written, which may take long: nobody else waits to write one. */
	pthread_mutex_t writing;
	bool has_line; /* a line on the terminal that has not ended; `writing` guards it */
	struct reel_live_object live;

	pthread_mutex_t lock; /* guards the following */
	int64_t width;    /* number of steps in a bin */
	bool knows_left;  /* `left` is counted: the number of steps is known */
	struct pieces kind[REEL_PIECE_KINDS];
	bool reverses;       /* in the reverse sweep */
	int64_t done;        /* state that the forward sweep has reached, or number of steps reversed */
	int64_t sweep_steps; /* what of it this process has done in this sweep */
	uint64_t begun;      /* time at which the forward sweep began */
	uint64_t sweep;      /* time at which this sweep began */
	double sweep_ns;     /* time of all pieces in this sweep */
	uint64_t told;       /* time at which the callback was called last */
	uint64_t shown;      /* time of the last line */
	/* For `reel top`: a description, and its time; 0: the run is in no sweep. */
	struct reel_progress latest;
	uint64_t described;
};

/* The run whose lines are shown. Others, as those in its callbacks, show none meanwhile. */
static _Atomic(const struct reel_run_progress *) shown;

/* ---- Bins ---- */

static unsigned bin_of(const struct reel_run_progress *progress, int64_t step)
{
	int64_t bin = step / progress->width;

	return bin < BINS ? (unsigned)bin : BINS - 1;
}

/* Adds `amount`, spread evenly over the steps, and nothing below 0. */
static void spread(const struct reel_run_progress *progress, double bins[BINS], int64_t first,
		   int64_t last, double amount)
{
	double each = amount / (double)(last - first);

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

				kind->taken[b] = both ? kind->taken[2 * b] + kind->taken[2 * b + 1] : 0;
				kind->ns[b] = both ? kind->ns[2 * b] + kind->ns[2 * b + 1] : 0;
			}
		}
		progress->width *= 2;
	}
}

/* ---- What is left ---- */

static void add_left(void *context, const reel_action *action)
{
	const reel_run *run = context;
	reel_action piece;

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
	return kind->taken[bin] > 0 ? kind->ns[bin] / kind->taken[bin] : 0;
}

/* The kind with which others are compared: the first one that was measured. */
static unsigned reference_of(const struct reel_run_progress *progress)
{
	unsigned k = 0;

	while (k + 1 < REEL_PIECE_KINDS && sum(progress->kind[k].taken) <= 0)
		k++;
	return k;
}

/*
 * Returns the time of a step in a piece of this kind over that in a piece of the reference, from the
 * bins in which both were measured; `planned` if there are none.
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
static double time_in(const struct reel_run_progress *progress, unsigned reference,
		      const double cost[REEL_PIECE_KINDS], unsigned bin)
{
	const struct pieces *kind = &progress->kind[reference];
	double taken = sum(kind->taken);

	for (unsigned k = 0; k < REEL_PIECE_KINDS; k++) {
		unsigned next = (reference + k) % REEL_PIECE_KINDS;

		if (measured(&progress->kind[next], bin) > 0)
			return measured(&progress->kind[next], bin) / cost[next];
	}
	return taken > 0 ? sum(kind->ns) / taken : 0;
}

/* Time of all pieces that are left, one after the other, in ns; below 0: not known. */
static double time_left(const struct reel_run_progress *progress, const struct reel_problem *problem)
{
	const double planned[REEL_PIECE_KINDS] = {
		[REEL_ACTION_ADVANCE] = reel_or_one(problem->advance_cost),
		[REEL_ACTION_RECORD] = reel_or_one(problem->record_cost),
		[REEL_ACTION_REVERSE] = reel_or_one(problem->reverse_cost),
	};
	unsigned reference = reference_of(progress);
	double cost[REEL_PIECE_KINDS], left = 0;

	if (!progress->knows_left)
		return -1;
	for (unsigned k = 0; k < REEL_PIECE_KINDS; k++)
		cost[k] = compare(&progress->kind[k], &progress->kind[reference],
				  planned[k] / planned[reference]);
	for (unsigned b = 0; b < BINS; b++) {
		double step = time_in(progress, reference, cost, b);

		for (unsigned k = 0; k < REEL_PIECE_KINDS; k++) {
			double known = measured(&progress->kind[k], b);

			left += progress->kind[k].left[b] * (known > 0 ? known : cost[k] * step);
		}
	}
	return left;
}

double reel_progress_left(const reel_run *run)
{
	return run->progress ? time_left(run->progress, &run->plan->problem) : -1;
}

/* ---- Telling ---- */

/* Waits for stores, and what threads do at the same time, are in the time of the sweep. */
static struct reel_progress describe(reel_run *run, const struct reel_run_progress *progress,
				     uint64_t now)
{
	double seconds = 1e-9 * (double)(now - progress->begun);
	double sweep = 1e-9 * (double)(now - progress->sweep);
	double left = time_left(progress, &run->plan->problem);
	struct reel_pool_stats pool;
	struct reel_run_stats stats = {0};

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

/*
 * Steps that are run again cost more than others, so the steps that are left over the rate so far are
 * not the time left. The rate is shown only where there is no time left that it would contradict.
 */
static void put_time_left(char *text, size_t size, double seconds, double steps_per_second)
{
	const double longest = 1e9;
	long long whole = seconds < longest ? (long long)(seconds + 0.5) : 0;

	if (seconds < 0 || seconds >= longest)
		snprintf(text, size, "time left not known, %.3g steps/s so far", steps_per_second);
	else if (whole < 3600)
		snprintf(text, size, "%lld:%02lld left", whole / 60, whole % 60);
	else
		snprintf(text, size, "%lld:%02lld:%02lld left", whole / 3600, whole / 60 % 60,
			 whole % 60);
}

static void put_place(char *text, size_t size, const struct reel_progress *now)
{
	char share[16] = "";

	if (now->share >= 0)
		snprintf(share, sizeof share, "%.0f %%, ", 100 * now->share);
	if (now->steps == REEL_UNKNOWN_STEPS)
		snprintf(text, size, "step %lld", (long long)now->done);
	else
		snprintf(text, size, "%s%s sweep: %lld of %lld steps", share,
			 now->reverses ? "reverse" : "forward", (long long)now->done,
			 (long long)now->steps);
}

static void put_line(char *text, size_t size, const struct reel_progress *now)
{
	REEL_POINT_NUMERALS;
	char place[96], left[64], resident[24], written[24];

	put_place(place, sizeof place, now);
	put_time_left(left, sizeof left, now->seconds_left, now->steps_per_second);
	reel_bytes_text(resident, sizeof resident, (double)now->resident_bytes, true);
	reel_bytes_text(written, sizeof written, (double)now->written_bytes, true);
	snprintf(text, size, "reel: %s, %s; %s in memory, %s written", place, left, resident,
		 written);
}

/* A line that is longer than the terminal is wide could not be written anew. */
static int columns(void)
{
	struct winsize size;

	return !ioctl(STDERR_FILENO, TIOCGWINSZ, &size) && size.ws_col > 1 ? size.ws_col - 1 : 79;
}

/* The system would stop a process in the background that writes to its terminal. */
static bool is_in_background(const struct reel_run_progress *progress)
{
	pid_t foreground = progress->is_terminal ? tcgetpgrp(STDERR_FILENO) : -1;

	return foreground >= 0 && foreground != getpgrp();
}

/* The codes return to the first column, and clear what is right of the cursor. */
static void show(struct reel_run_progress *progress, const struct reel_progress *now)
{
	REEL_UNSIGNALLED;
	char text[256];

	if (is_in_background(progress) || pthread_mutex_trylock(&progress->writing))
		return;
	put_line(text, sizeof text, now);
	if (progress->is_terminal)
		fprintf(stderr, "\r%.*s\033[K", columns(), text);
	else
		fprintf(stderr, "%s\n", text);
	fflush(stderr);
	progress->has_line = progress->is_terminal;
	pthread_mutex_unlock(&progress->writing);
}

static void end_line(struct reel_run_progress *progress)
{
	REEL_UNCANCELLED;
	REEL_UNSIGNALLED;

	pthread_mutex_lock(&progress->writing);
	if (progress->has_line)
		fputc('\n', stderr);
	progress->has_line = false;
	pthread_mutex_unlock(&progress->writing);
}

/* Relaxed is enough, here and below: the address is compared, not followed. */
static bool may_show(const struct reel_run_progress *progress)
{
	return atomic_load_explicit(&shown, memory_order_relaxed) == progress;
}

static void stop_showing(struct reel_run_progress *progress)
{
	const struct reel_run_progress *mine = progress;

	end_line(progress);
	atomic_compare_exchange_strong_explicit(&shown, &mine, NULL, memory_order_relaxed,
						memory_order_relaxed);
}

static bool is_due(uint64_t *last, uint64_t now, uint64_t interval)
{
	if (now - *last < interval)
		return false;
	*last = now;
	return true;
}

/* A description of the run, and who gets it. */
struct telling {
	bool calls, shows, is_last;
	struct reel_progress now;
};

/* Requires progress->lock. */
static void note_for_top(struct reel_run_progress *progress, const struct reel_progress *now,
			 uint64_t time)
{
	progress->latest = *now;
	progress->described = time;
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

/* Requires progress->lock. */
static void describe_if_due(reel_run *run, struct reel_run_progress *progress, uint64_t now,
			    struct telling *telling)
{
	uint64_t interval = progress->is_terminal ? CALL_NS : LINE_NS;
	bool for_top;

	telling->is_last = progress->reverses && progress->done == run->steps;
	telling->calls = run->options.progress &&
			 (is_due(&progress->told, now, CALL_NS) || telling->is_last);
	telling->shows = (is_due(&progress->shown, now, interval) || telling->is_last) &&
			 may_show(progress);
	for_top = reel_is_live() && (now - progress->described >= CALL_NS || telling->is_last);
	if (telling->calls || telling->shows || for_top)
		telling->now = describe(run, progress, now);
	if (for_top)
		note_for_top(progress, &telling->now, now);
}

/* ---- What a run calls ---- */

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

/* A thread that is cancelled while it writes a line would keep the lock. */
static void note(reel_run *run, const reel_action *piece, uint64_t ns, struct telling *telling)
{
	REEL_UNCANCELLED;
	struct reel_run_progress *progress = run->progress;
	uint64_t now = reel_clock_ns();

	pthread_mutex_lock(&progress->lock);
	add_piece(run, progress, piece, ns);
	describe_if_due(run, progress, now, telling);
	pthread_mutex_unlock(&progress->lock);
	if (telling->shows)
		show(progress, &telling->now);
	if (telling->is_last)
		stop_showing(progress);
}

void reel_progress_note(reel_run *run, const reel_action *piece, uint64_t ns)
{
	struct telling telling;

	REEL_ASSERT(piece->kind < REEL_PIECE_KINDS);
	if (!run->progress || piece->first >= piece->last)
		return;
	note(run, piece, ns, &telling);
	/* The callback may take long, or be left: it is called without a lock. */
	if (telling.calls)
		run->options.progress(run->sweep.context, &telling.now);
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
	progress->begun = progress->sweep = progress->told = progress->shown = reel_clock_ns();
	progress->described = 0;
	pthread_mutex_unlock(&progress->lock);
}

static void claim(const struct reel_run_progress *progress)
{
	const struct reel_run_progress *other = NULL;

	if (progress->shows)
		atomic_compare_exchange_strong_explicit(&shown, &other, progress,
							memory_order_relaxed, memory_order_relaxed);
}

void reel_progress_go_on(reel_run *run)
{
	REEL_UNCANCELLED;
	struct reel_run_progress *progress = run->progress;

	if (!progress)
		return;
	claim(progress);
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
		progress->done = atomic_load_explicit(&run->reversed, memory_order_relaxed);
	/* The first piece is to be described, however soon it ends. */
	if (reel_is_live() && !progress->described)
		note_for_top(progress, &(struct reel_progress){.steps = run->steps, .share = -1,
			     .seconds = 1e-9 * ((double)(progress->sweep - progress->begun) - CALL_NS)},
			     progress->sweep - CALL_NS);
	pthread_mutex_unlock(&progress->lock);
}

void reel_progress_end(reel_run *run)
{
	REEL_UNCANCELLED;

	if (!run->progress)
		return;
	stop_showing(run->progress);
	pthread_mutex_lock(&run->progress->lock);
	if (run->phase == REEL_RUN_IDLE)
		run->progress->described = 0;
	pthread_mutex_unlock(&run->progress->lock);
}

/* A process that is not the first of its group shows no lines. */
static bool is_shown(const reel_run *run)
{
	const char *text = reel_environment("REEL_PROGRESS");

	return text && strcmp(text, "0") && run->group.rank == 0;
}

int reel_progress_open(reel_run *run)
{
	bool shows = is_shown(run);

	if (!shows && !run->options.progress && !reel_is_live())
		return 0;
	run->progress = calloc(1, sizeof *run->progress);
	if (!run->progress)
		return reel_fail(-ENOMEM, "no memory for a run");
	pthread_mutex_init(&run->progress->lock, NULL);
	pthread_mutex_init(&run->progress->writing, NULL);
	run->progress->shows = shows;
	run->progress->is_terminal = isatty(STDERR_FILENO);
	run->progress->live.write = write_live;
	reel_live_add(&run->progress->live);
	return 0;
}

void reel_progress_close(reel_run *run)
{
	if (!run->progress)
		return;
	reel_live_remove(&run->progress->live);
	stop_showing(run->progress);
	pthread_mutex_destroy(&run->progress->lock);
	pthread_mutex_destroy(&run->progress->writing);
	free(run->progress);
}
