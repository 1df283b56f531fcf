/* SPDX-License-Identifier: MIT */
/*
 * Tests runs that are asked to save themselves and to end: by calls, by signals and by a limit of
 * time. A request to end stays for the whole process, so each case has its own child.
 */
#include <config.h>

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "helpers/comma-locale.h"
#include "helpers/recurrence.h"

enum { STEPS = 40 };

#define PATH "restart"

/* Called before callback number `at` of advance, record and reverse together. */
static struct {
	int64_t at, calls;
	void (*ask)(void);
} asking;

static void count_call(void)
{
	if (asking.ask && asking.calls == asking.at)
		asking.ask();
	asking.calls++;
}

static int asking_advance(void *context, void *state, int64_t first, int64_t last)
{
	count_call();
	return advance(context, state, first, last);
}

static int asking_record(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	count_call();
	return record(context, state, first, last, tape);
}

static int asking_reverse(void *context, void *adjoint, int64_t first, int64_t last,
			  reel_tape *tape)
{
	count_call();
	return reverse(context, adjoint, first, last, tape);
}

static const reel_model model = {sizeof(struct state), asking_advance, asking_record,
				 asking_reverse, NULL, NULL};

static void save_now(void)
{
	reel_save_now(0);
}

static void end_now(void)
{
	reel_save_now(1);
}

static void raise_usr1(void)
{
	raise(SIGUSR1);
}

static void raise_term(void)
{
	raise(SIGTERM);
}

struct outcome {
	int error;
	bool right;
	struct reel_run_stats stats;
};

/* Begins or resumes a sweep, and asks before callback `at`. */
static struct outcome sweep(int64_t at, void (*ask)(void))
{
	const struct reel_run_options options = {.restart = PATH, .restart_seconds = 1e6,
						 .adjoint_bytes = sizeof(struct state)};
	reel_plan *plan = plan_for(REEL_BINOMIAL, STEPS, 4);
	reel_run *run = open_checkpoint(plan, &model, &options);
	struct run counts = no_failure;
	struct outcome outcome;
	struct state bar = {{0}};

	asking.at = at;
	asking.calls = 0;
	asking.ask = ask;
	outcome.error = begin_or_resume(run, &counts, &bar);
	outcome.right = is_gradient(&bar, STEPS);
	reel_run_get_stats(run, &outcome.stats);
	reel_run_close(run);
	reel_plan_close(plan);
	return outcome;
}

static bool file_is_there(void)
{
	return access(PATH, F_OK) == 0;
}

/* Returns the number of callbacks of a sweep without a request. */
static int64_t callbacks(void)
{
	sweep(-1, NULL);
	return asking.calls;
}

static bool in_a_child(void (*check)(int64_t at), int64_t at)
{
	pid_t child = fork();

	if (child == 0) {
		check(at);
		tap_child_end();
	}
	return tap_child_passed(child);
}

/* ---- Calls ---- */

static void ends_at(int64_t at)
{
	struct outcome outcome = sweep(at, end_now);

	/* A run that is asked after its last place to save finishes. */
	is_int(outcome.error, file_is_there() ? -EINTR : 0, "its error");
	ok(!outcome.error == outcome.right, "its gradient");
	ok(!outcome.error || strstr(reel_error_text(0), PATH), "what is said: %s",
	   reel_error_text(0));
	if (outcome.error && at < STEPS)
		is_int(sweep(-1, NULL).error, -EINTR, "a later sweep of the process ends, too");
}

static void goes_on(int64_t at)
{
	struct outcome outcome;

	(void)at;
	outcome = sweep(-1, NULL);
	is_int(outcome.error, 0, "it comes to its end");
	ok(outcome.right, "with the same bits");
	ok(!file_is_there(), "and without the file");
}

static void a_run_that_ends_is_gone_on_with(void)
{
	int64_t all = callbacks(), ended = 0;

	tap_case("the end, asked for before each callback");
	for (int64_t at = 0; at < all; at++) {
		ok(in_a_child(ends_at, at), "a run is asked before callback %lld",
		   (long long)at);
		ended += file_is_there();
		ok(in_a_child(goes_on, at), "another one goes on");
	}
	ok(ended > all / 2, "%lld of %lld were saved", (long long)ended, (long long)all);
}

static void saves_and_goes_on(int64_t at)
{
	struct outcome outcome = sweep(at, save_now);

	is_int(outcome.error, 0, "the sweep goes on");
	ok(outcome.right, "to the right gradient");
	is_int((long long)outcome.stats.saves, 1, "it was saved once");
}

/* ---- Signals ---- */

static void saves_by_a_signal(int64_t at)
{
	struct outcome outcome;

	setenv("REEL_SAVE_SIGNAL", "USR1", 1);
	outcome = sweep(at, raise_usr1);
	is_int(outcome.error, 0, "the sweep goes on");
	is_int((long long)outcome.stats.saves, 1, "it was saved once");
}

static void ends_by_a_signal(int64_t at)
{
	setenv("REEL_END_SIGNAL", "SIGTERM", 1);
	is_int(sweep(at, raise_term).error, -EINTR, "it ends");
	ok(file_is_there(), "and has left its file");
}

static volatile sig_atomic_t own_handler;

static void note_signal(int signal)
{
	(void)signal;
	own_handler = 1;
}

static bool is_said(const char *text)
{
	char line[256];
	FILE *file = fopen("said", "r");
	bool found = false;

	fflush(stderr);
	while (file && !found && fgets(line, sizeof line, file))
		found = strstr(line, text);
	if (file)
		fclose(file);
	return found;
}

static void a_handler_stays(int64_t at)
{
	if (!freopen("said", "w", stderr))
		abort();
	signal(SIGUSR1, note_signal);
	setenv("REEL_SAVE_SIGNAL", "USR1", 1);
	is_int((long long)sweep(at, raise_usr1).stats.saves, 0, "nothing is saved");
	ok(own_handler, "the program's handler was called");
	ok(is_said("REEL_SAVE_SIGNAL=USR1 is ignored: the program handles"), "which is said");
}

static void one_signal_for_both_is_refused(int64_t at)
{
	if (!freopen("said", "w", stderr))
		abort();
	setenv("REEL_SAVE_SIGNAL", "USR1", 1);
	setenv("REEL_END_SIGNAL", "SIGUSR1", 1);
	is_int(sweep(at, raise_usr1).error, 0, "the sweep is saved and goes on");
	ok(is_said("REEL_END_SIGNAL=SIGUSR1 is ignored: REEL_SAVE_SIGNAL names the same signal"),
	   "the second variable is ignored for the right reason");
}

static void wrong_words_are_refused(int64_t at)
{
	(void)at;
	if (!freopen("said", "w", stderr))
		abort();
	setenv("REEL_SAVE_SIGNAL", "KILL", 1);
	setenv("REEL_END_SIGNAL", "9", 1);
	setenv("REEL_END_AFTER", "an hour", 1);
	ok(sweep(-1, NULL).right, "the sweep is as if they were not set");
	ok(is_said("REEL_SAVE_SIGNAL=KILL is ignored: it must be USR1"), "one line says why");
	ok(is_said("REEL_END_SIGNAL=9 is ignored: "), "and another one");
	ok(is_said("REEL_END_AFTER=an hour is ignored: it must be a number"), "and a third one");
}

/* ---- Time, and a file that cannot be written ---- */

static void wait_a_little(void)
{
	const struct timespec little = {.tv_nsec = 20000000};

	nanosleep(&little, NULL);
}

static void ends_after_a_time(int64_t at)
{
	setenv("REEL_END_AFTER", "0.01", 1);
	is_int(sweep(at, wait_a_little).error, -EINTR, "it ends");
	ok(file_is_there(), "and has left its file");
}

static void what_cannot_be_saved_does_not_end(int64_t at)
{
	const struct rlimit none = {10, 10};
	struct outcome outcome;

	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &none);
	outcome = sweep(at, end_now);
	is_int(outcome.error, 0, "the sweep goes on");
	ok(outcome.right, "to the right gradient");
	ok(outcome.stats.failed_saves > 0 && outcome.stats.failed_saves < 5,
	   "without trying at each action: %d times", (int)outcome.stats.failed_saves);
}

/* ---- All ---- */

static void alone(const char *what, void (*check)(int64_t at))
{
	unlink(PATH);
	tap_case(what);
	/* In the forward sweep, and in the reverse sweep. */
	ok(in_a_child(check, 2), "%s, early", what);
	unlink(PATH);
	ok(in_a_child(check, STEPS + 20), "%s, late", what);
	unlink(PATH);
}

int main(void)
{
	tap_begin();
	record_reports();
	/* The environment is read once in a process, and until here only children have read it. */
	alone("a call that saves", saves_and_goes_on);
	alone("a signal that saves", saves_by_a_signal);
	alone("a signal that ends", ends_by_a_signal);
	alone("a signal of the program's own", a_handler_stays);
	alone("one signal for both", one_signal_for_both_is_refused);
	alone("words that are none", wrong_words_are_refused);
	alone("a limit of time", ends_after_a_time);
	if (use_comma_locale())
		alone("a limit of time, where the locale has a decimal comma", ends_after_a_time);
	else
		tap_skip(2, "no locale with a decimal comma can be made here");
	setlocale(LC_NUMERIC, "C");
	alone("a file that cannot be written", what_cannot_be_saved_does_not_end);
	a_run_that_ends_is_gone_on_with();
	return tap_end();
}
