/* SPDX-License-Identifier: MIT */
/*
 * How far a run is, as lines on stderr: one that is written anew on a terminal, a new one every 30
 * seconds elsewhere. Several threads may end pieces of the run at the same time.
 */
#include "config.h"

#include "progress-line.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "os/assert.h"
#include "os/bytes.h"
#include "os/cancel.h"
#include "os/environment.h"
#include "os/numerals.h"
#include "os/signals.h"

/* Between two lines that are not on a terminal. */
#define LINE_SECONDS 30

/* The run whose lines are shown. Relaxed everywhere: the address is compared, not followed. */
static _Atomic(const void *) shown;
/*
 * Only threads of the run that is shown take this lock. A line may take long: no other thread waits
 * to write one. If a fork leaves it locked in the child, `shown` is a run of the parent there, and
 * no run of the child takes it.
 */
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;
/* `writing` guards these. */
static bool is_terminal;     /* stderr is one */
static bool has_line;        /* a line on the terminal that has not ended */
static double shown_seconds; /* of the sweep, at the last line */

static bool is_shown(const void *run)
{
	return atomic_load_explicit(&shown, memory_order_relaxed) == run;
}

/*
 * Steps that are run again cost more than others, so the steps that are left over the rate so far
 * are not the time left. The rate is shown only where there is no time left that it would
 * contradict.
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
static bool is_in_background(void)
{
	pid_t foreground = is_terminal ? tcgetpgrp(STDERR_FILENO) : -1;

	return foreground >= 0 && foreground != getpgrp();
}

static bool is_due(const struct reel_progress *now)
{
	bool is_last = now->reverses && now->done == now->steps;

	REEL_ASSERT(now->seconds >= 0);
	/* Another forward sweep of the run begins its time anew. */
	if (now->seconds < shown_seconds)
		shown_seconds = 0;
	if (!is_terminal && !is_last && now->seconds - shown_seconds < LINE_SECONDS)
		return false;
	shown_seconds = now->seconds;
	return true;
}

/* The codes return to the first column, and clear the line right of the cursor. */
static void put(const struct reel_progress *now)
{
	char text[256];

	put_line(text, sizeof text, now);
	if (is_terminal)
		fprintf(stderr, "\r%.*s\033[K", columns(), text);
	else
		fprintf(stderr, "%s\n", text);
	fflush(stderr);
	has_line = is_terminal;
}

void reel_progress_line_show(void *run, const struct reel_progress *now)
{
	REEL_UNCANCELLED;
	REEL_UNSIGNALLED;

	REEL_ASSERT(run && now->done >= 0 && now->share <= 1);
	if (!is_shown(run) || pthread_mutex_trylock(&writing))
		return;
	if (is_shown(run) && !is_in_background() && is_due(now))
		put(now);
	pthread_mutex_unlock(&writing);
}

void reel_progress_line_begin(const void *run)
{
	REEL_UNCANCELLED;
	const void *other = NULL;

	REEL_ASSERT(run);
	if (!atomic_compare_exchange_strong_explicit(&shown, &other, run, memory_order_relaxed,
						     memory_order_relaxed))
		return;
	pthread_mutex_lock(&writing);
	is_terminal = isatty(STDERR_FILENO);
	shown_seconds = 0;
	pthread_mutex_unlock(&writing);
}

void reel_progress_line_end(const void *run)
{
	REEL_UNCANCELLED;
	REEL_UNSIGNALLED;

	if (!is_shown(run))
		return;
	pthread_mutex_lock(&writing);
	if (has_line)
		fputc('\n', stderr);
	has_line = false;
	atomic_store_explicit(&shown, NULL, memory_order_relaxed);
	pthread_mutex_unlock(&writing);
}

bool reel_progress_line_is_wanted(void)
{
	const char *text = reel_environment("REEL_PROGRESS");

	return text && strcmp(text, "0");
}
