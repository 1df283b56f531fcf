/* SPDX-License-Identifier: MIT */
/*
 * Tests the progress of runs: the estimated time left against the real one, the calls of the
 * callback, and the lines on stderr.
 */
#include "config.h"

#include "helpers/plan-support.h"

#include <fcntl.h>
#include <sys/wait.h>

#include "checkpoint/watch/watch.h"

#define STEPS 300
#define SLOTS 12
/* No plan here has more pieces. */
#define MAX_PIECES 20000

/* ---- A loop whose steps take a known time ---- */

/* Times in ns. The last step takes `growth` times as long as the first one. */
struct costs {
	double growth, record, reverse;
};

static double time_of(const struct costs *costs, const reel_action *piece)
{
	static const double ms = 1e6;
	double all = 0;

	for (int64_t step = piece->first; step < piece->last; step++)
		all += ms * (1 + (costs->growth - 1) * (double)step / STEPS);
	return piece->kind == REEL_ACTION_RECORD    ? costs->record * all
	       : piece->kind == REEL_ACTION_REVERSE ? costs->reverse * all
						    : all;
}

/* Carries a piece out. Each step pushes one value. */
static void carry_out(double *state, const reel_action *piece, reel_tape *tape)
{
	for (int64_t step = piece->first; step < piece->last; step++) {
		if (piece->kind == REEL_ACTION_REVERSE) {
			(void)reel_pop(tape, double);
			continue;
		}
		if (piece->kind == REEL_ACTION_RECORD)
			reel_push(tape, *state);
		*state += 1;
	}
}

static void ignore(void *context, const struct reel_progress *progress)
{
	(void)context;
	(void)progress;
}

/* The estimated time left after each piece, and the real time. */
struct history {
	int pieces;
	double left[MAX_PIECES], taken[MAX_PIECES]; /* taken: time since the beginning */
};

static void sweep(reel_run *run, const struct costs *costs, double *state, struct history *history)
{
	reel_action piece = {.kind = REEL_ACTION_DONE};
	double taken = 0;
	bool turned = false;

	history->pieces = 0;
	*state = 0;
	reel_run_start(run, NULL, state, NULL);
	for (;;) {
		if (reel_run_next(run, &piece))
			return;
		if (history->pieces && history->pieces < MAX_PIECES)
			history->left[history->pieces] = reel_progress_left(run);
		if (piece.kind == REEL_ACTION_DONE && turned)
			return;
		if (piece.kind == REEL_ACTION_DONE) {
			turned = true;
			continue;
		}
		carry_out(state, &piece, reel_run_tape(run));
		if (piece.kind == REEL_ACTION_ADVANCE && piece.last == STEPS &&
		    reel_run_steps(run) == REEL_UNKNOWN_STEPS)
			reel_run_end_loop(run);
		taken += time_of(costs, &piece);
		reel_run_set_time(run, (uint64_t)time_of(costs, &piece));
		history->pieces++;
		history->taken[history->pieces] = taken;
	}
}

/* Returns the largest error of the time left, over the time left and a step, in the second half. */
static double greatest_error(const struct history *history)
{
	double all = history->taken[history->pieces], greatest = 0;

	for (int i = 1; i < history->pieces; i++) {
		double left = all - history->taken[i];

		if (history->taken[i] > all / 2)
			greatest = fmax(greatest, fabs(history->left[i] - left) / (left + all / STEPS));
	}
	return greatest;
}

static void estimates(const char *name, enum reel_planner planner, int64_t steps,
		      const struct costs *costs)
{
	static struct history history;
	struct reel_problem problem = one_tier(steps, SLOTS);
	struct reel_run_options options = {.progress = ignore};
	double state, error;
	reel_plan *plan;
	reel_run *run;

	problem.record_cost = problem.reverse_cost = 1;
	plan = open_plan(planner, &problem);
	if (reel_run_open(&run, plan, &(reel_model){.state_bytes = sizeof state}, &options))
		abort();
	for (int times = 0; times < 2; times++) {
		sweep(run, costs, &state, &history);
		error = greatest_error(&history);
		ok(history.pieces > 1 && error < 0.25,
		   "%s, growth %g, costs %g and %g: the time left is off by at most %.0f %%", name,
		   costs->growth, costs->record, costs->reverse, 100 * error);
	}
	reel_run_close(run);
	reel_plan_close(plan);
}

static void test_estimates(void)
{
	static const struct costs costs[] = {
		{1, 1, 1}, {1, 2, 4}, {10, 1, 1}, {10, 1.5, 3}, {0.1, 1.5, 3}, {0.1, 1, 8}};

	tap_case("the time left");
	for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
		estimates("binomial", REEL_BINOMIAL, STEPS, &costs[i]);
		estimates("all stored", REEL_STORE_ALL, STEPS, &costs[i]);
		estimates("online", REEL_ONLINE, REEL_UNKNOWN_STEPS, &costs[i]);
	}
}

/* ---- The callback ---- */

struct told {
	int calls, wrong;
	struct reel_progress first, last;
	double state;
};

static int advance(void *context, void *state, int64_t first, int64_t last)
{
	(void)context;
	*(double *)state += (double)(last - first);
	return 0;
}

static int record(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	for (int64_t step = first; step < last; step++) {
		reel_push(tape, *(double *)state);
		advance(context, state, step, step + 1);
	}
	return 0;
}

static int reverse(void *context, void *adjoint, int64_t first, int64_t last, reel_tape *tape)
{
	(void)context;
	(void)adjoint;
	/* Takes so long that the callback is due between the first and the last step. */
	usleep(2000);
	while (last-- > first)
		(void)reel_pop(tape, double);
	return 0;
}

static const reel_model model = {.state_bytes = sizeof(double), .advance = advance,
				 .record = record, .reverse = reverse};

static void note(void *context, const struct reel_progress *progress)
{
	struct told *told = context;

	told->first = told->calls ? told->first : *progress;
	told->calls++;
	told->wrong += progress->done < 1 || progress->done > STEPS || progress->steps != STEPS ||
		       progress->share > 1 || progress->seconds < 0 ||
		       progress->seconds < told->last.seconds ||
		       progress->reverses < told->last.reverses || progress->resident_bytes == 0;
	told->last = *progress;
}

static void test_callback(void)
{
	struct reel_problem problem = one_tier(STEPS, SLOTS);
	struct reel_run_options options = {.progress = note};
	reel_plan *plan = open_plan(REEL_BINOMIAL, &problem);
	struct told told = {0};
	reel_run *run;

	tap_case("the callback");
	if (reel_run_open(&run, plan, &model, &options))
		abort();
	is_int(reel_run_forward(run, &told, &told.state), 0, "forward");
	is_int(reel_run_reverse(run, &told, &told.state, NULL), 0, "reverse");
	ok(told.calls > 1, "it is called %d times", told.calls);
	is_int(told.wrong, 0, "with numbers that hold together");
	ok(told.last.reverses && told.last.done == STEPS, "the last time at the end");
	ok(told.last.share > 0.999 && told.last.seconds_left < 1e-3, "when nothing is left");
	reel_run_close(run);
	reel_plan_close(plan);
}

static int reverse_and_end(void *context, void *adjoint, int64_t first, int64_t last,
			   reel_tape *tape)
{
	if (first == 100)
		reel_save_now(1);
	return reverse(context, adjoint, first, last, tape);
}

static void test_resumed(void)
{
	struct reel_problem problem = one_tier(STEPS, SLOTS);
	double adjoint = 0;
	struct reel_run_options options = {.restart = "run.restart", .progress = note,
					   .adjoint_bytes = sizeof adjoint};
	reel_plan *plan = open_plan(REEL_BINOMIAL, &problem);
	reel_model ending = model;
	struct told told = {0};
	pid_t child;
	reel_run *run;

	tap_case("a run that is resumed in its reverse sweep");
	ending.reverse = reverse_and_end;
	child = fork_with_timeout();
	if (child == 0) {
		reel_run_open(&run, plan, &ending, &options);
		reel_run_forward(run, &told, &told.state);
		is_int(reel_run_reverse(run, &told, &told.state, &adjoint), -EINTR, "it is ended");
		tap_child_end();
	}
	ok(tap_child_passed(child), "it was ended at step 100");
	if (reel_run_open(&run, plan, &model, &options))
		abort();
	is_int(reel_run_resume(run, &told, &adjoint), 0, "it is resumed");
	is_int(reel_run_reverse(run, &told, &told.state, &adjoint), 0, "and reversed");
	ok(told.first.reverses && told.first.done >= STEPS - 100,
	   "the first call says that %lld steps are reversed", (long long)told.first.done);
	ok(told.wrong == 0 && told.last.done == STEPS, "and the last one all");
	reel_run_close(run);
	reel_plan_close(plan);
}

static int fail_at_last(void *context, void *adjoint, int64_t first, int64_t last, reel_tape *tape)
{
	return first == 0 ? -EIO : reverse(context, adjoint, first, last, tape);
}

static void test_failed(void)
{
	struct reel_problem problem = one_tier(STEPS, SLOTS);
	struct reel_run_options options = {.progress = note};
	reel_plan *plan = open_plan(REEL_BINOMIAL, &problem);
	reel_model failing = model;
	struct told told = {0};
	reel_run *run;

	tap_case("a last piece that fails");
	failing.reverse = fail_at_last;
	if (reel_run_open(&run, plan, &failing, &options))
		abort();
	reel_run_forward(run, &told, &told.state);
	is_int(reel_run_reverse(run, &told, &told.state, NULL), -EIO, "the sweep fails");
	ok(told.last.done < STEPS, "the failed piece is not counted as done");
	reel_run_close(run);
	reel_plan_close(plan);
}

/* ---- Lines ---- */

/* Each callback of the first run has another run. */
static int reverse_with_inner(void *context, void *adjoint, int64_t first, int64_t last,
			      reel_tape *tape)
{
	struct reel_problem problem = one_tier(3, 3);
	reel_plan *plan = open_plan(REEL_BINOMIAL, &problem);
	double state = 0;
	reel_run *run;

	if (reel_run_open(&run, plan, &model, NULL))
		abort();
	reel_run_forward(run, NULL, &state);
	reel_run_reverse(run, NULL, &state, NULL);
	reel_run_close(run);
	reel_plan_close(plan);
	return reverse(context, adjoint, first, last, tape);
}

static int fail(void *context, void *adjoint, int64_t first, int64_t last, reel_tape *tape)
{
	usleep(300000);
	return last == 5 ? -EIO : reverse(context, adjoint, first, last, tape);
}

/* Runs both sweeps in a child, whose stderr is `to`. */
static void run_child(int to, const char *value,
		      int (*back)(void *context, void *adjoint, int64_t first, int64_t last,
				  reel_tape *tape))
{
	struct reel_problem problem = one_tier(8, 8);
	reel_plan *plan = open_plan(REEL_BINOMIAL, &problem);
	reel_model with = model;
	double state = 0;
	reel_run *run;

	with.reverse = back;
	dup2(to, STDERR_FILENO);
	setenv("REEL_PROGRESS", value, 1);
	if (reel_run_open(&run, plan, &with, NULL))
		_exit(1);
	reel_run_forward(run, NULL, &state);
	reel_run_reverse(run, NULL, &state, NULL);
	reel_run_close(run);
	reel_plan_close(plan);
	_exit(0);
}

static bool matches(const char *text, const char *begin, const char *within, int lines)
{
	int seen = 0;

	for (const char *c = text; *c; c++)
		seen += *c == '\n';
	return !strncmp(text, begin, strlen(begin)) && strstr(text, within) && seen == lines;
}

static void show(const char *what, int (*back)(void *, void *, int64_t, int64_t, reel_tape *),
		 const char *value, const char *within, int lines)
{
	char text[4096] = "";
	int file = open("lines", O_RDWR | O_CREAT | O_TRUNC, 0600), status = 1;
	pid_t child = fork_with_timeout();
	ssize_t bytes;

	if (child == 0)
		run_child(file, value, back);
	waitpid(child, &status, 0);
	bytes = pread(file, text, sizeof text - 1, 0);
	close(file);
	ok(status == 0 && bytes >= 0 && matches(text, lines ? "reel: " : "", within, lines), "%s: %s",
	   what, text);
}

static void test_terminal(void)
{
	char text[4096] = "";
	int terminal = posix_openpt(O_RDWR | O_NOCTTY), status = 1;
	size_t all = 0;
	pid_t child;

	tap_case("a terminal");
	if (terminal < 0 || grantpt(terminal) || unlockpt(terminal)) {
		tap_skip(2, "no terminals here");
		return;
	}
	child = fork_with_timeout();
	if (child == 0)
		run_child(open(ptsname(terminal), O_WRONLY | O_NOCTTY), "1", fail);
	while (all < sizeof text - 1) {
		ssize_t bytes = read(terminal, text + all, sizeof text - 1 - all);

		if (bytes <= 0)
			break;
		all += (size_t)bytes;
	}
	waitpid(child, &status, 0);
	close(terminal);
	ok(matches(text, "\rreel: ", "\033[K\rreel: ", 1), "a line is written anew");
	ok(all > 2 && text[all - 1] == '\n', "and ends where the sweep fails");
}

/* The reader of stderr ends before the sweep. */
static void test_broken_pipe(void)
{
	int ends[2], status = 1;
	pid_t child;

	if (pipe(ends))
		abort();
	close(ends[0]);
	child = fork_with_timeout();
	if (child == 0)
		run_child(ends[1], "1", reverse);
	close(ends[1]);
	waitpid(child, &status, 0);
	is_int(status, 0, "a pipe without a reader ends no sweep");
}

int main(void)
{
	tap_begin();
	test_estimates();
	test_callback();
	test_resumed();
	test_failed();
	tap_case("lines");
	show("REEL_PROGRESS=1", reverse, "1", "100 %, reverse sweep: 8 of 8 steps, 0:00 left; ", 1);
	show("of the outer run alone", reverse_with_inner, "1", "8 of 8 steps", 1);
	show("REEL_PROGRESS=0", reverse, "0", "", 0);
	show("empty", reverse, "", "", 0);
	test_broken_pipe();
	test_terminal();
	return tap_end();
}
