/* SPDX-License-Identifier: MIT */
/*
 * REEL_STATS=live: a process answers with its statistics and with the progress of its run, also if
 * many readers ask at once, if it forks or ends, and if the program closes descriptors. With an
 * argument, the program is a process for `reel top` to look at (tests/tools/t-top.sh).
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif
#include <sys/un.h>
#include <sys/wait.h>

#include "helpers/plan-support.h"
#include "helpers/spill-support.h"
#include "os/clock.h"
#include "trace/live.h"

#include <reel/run.h>

enum { SLABS = 40, HARD_SLABS = 10 };

#define WORDS (SLAB / sizeof(uint64_t))

/* ---- Asking ---- */

/* Finds the socket of a process. Returns false if the process has none, or several. */
static bool find_socket(pid_t process, struct sockaddr_un *name)
{
	char pattern[REEL_LIVE_NAME + 32], directory[REEL_LIVE_NAME];
	glob_t found;
	bool one;

	if (reel_live_directory(directory, false))
		return false;
	snprintf(pattern, sizeof pattern, "%s/%ld-*", directory, (long)process);
	one = !glob(pattern, 0, NULL, &found) && found.gl_pathc == 1;
	*name = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (one)
		snprintf(name->sun_path, sizeof name->sun_path, "%s", found.gl_pathv[0]);
	globfree(&found);
	return one;
}

/* Asks the process from a socket of this name. Returns the socket, or -1 if no process is there. */
static int send_to(pid_t process, const char *own_name)
{
	struct sockaddr_un name, own = {.sun_family = AF_UNIX};
	int reader;

	if (!find_socket(process, &name))
		return -1;
	reader = socket(AF_UNIX, SOCK_DGRAM, 0);
	snprintf(own.sun_path, sizeof own.sun_path, "%s", own_name);
	unlink(own_name);
	if (bind(reader, (const struct sockaddr *)&own, sizeof own))
		abort();
	if (sendto(reader, "?", 1, 0, (const struct sockaddr *)&name, sizeof name) == 1)
		return reader;
	close(reader);
	return -1;
}

/* Returns the answer of the process; an empty text if there is none. */
static const char *ask(pid_t process)
{
	static _Thread_local char answer[1 << 18];
	static _Atomic unsigned readers;
	char own_name[32];
	ssize_t length = 0;
	int reader;

	snprintf(own_name, sizeof own_name, "reader-%u", readers++);
	reader = send_to(process, own_name);
	if (reader >= 0) {
		length = recv(reader, answer, sizeof answer - 1, 0);
		close(reader);
		unlink(own_name);
	}
	answer[length > 0 ? length : 0] = '\0';
	return answer;
}

static bool is_whole(const char *answer)
{
	size_t length = strlen(answer);

	return length > 5 && !strncmp(answer, "process pid=", 12) &&
	       !strcmp(answer + length - 5, "\nend\n");
}

static unsigned count_lines(const char *answer, const char *object)
{
	unsigned lines = 0;

	for (const char *at = answer; (at = strstr(at, object)); at++)
		lines += at > answer && at[-1] == '\n';
	return lines;
}

/* The number `name` of the first line of such an object; -1 if it has no such number. */
static double figure(const char *answer, const char *object, const char *name)
{
	const char *line = strstr(answer, object), *end = line ? strchr(line + 1, '\n') : NULL;
	char text[64];
	const char *at;

	snprintf(text, sizeof text, " %s=", name);
	at = line ? strstr(line, text) : NULL;
	return at && at < end ? strtod(at + strlen(text), NULL) : -1;
}

/* ---- Figures ---- */

static reel_pool *open_spilling(void)
{
	struct reel_pool_options options = {.slab_bytes = SLAB, .first_slab_bytes = SLAB,
					    .hard_budget = HARD_SLABS * SLAB};

	const char *shared = getenv("SHARED_BUDGET");

	if (shared)
		snprintf(options.shared_budget, sizeof options.shared_budget, "%s", shared);
	if (reel_store_memory_open(&options.store, UINT64_MAX))
		abort();
	return open_pool(options);
}

static void figures_are_those_of_the_pool(void)
{
	reel_pool *pool = open_spilling();
	reel_tape tape = open_tape(pool, 0);
	struct reel_pool_stats stats;
	const char *answer;

	tap_case("figures");
	push_words(&tape, 0, SLABS * WORDS);
	settle(pool);
	answer = ask(getpid());
	stats = stats_of(pool);
	ok(is_whole(answer), "there is an answer");
	is_int(count_lines(answer, "pool "), 1, "the answer has a pool");
	is_int((long long)figure(answer, "pool ", "in_use_bytes"),
	       (long long)(stats.slabs_in_use * SLAB), "bytes of tapes");
	is_int((long long)figure(answer, "pool ", "resident_bytes"),
	       (long long)stats.resident_bytes, "bytes in memory");
	is_int((long long)figure(answer, "pool ", "hard_budget"), (long long)stats.hard_budget,
	       "the budget");
	is_int((long long)figure(answer, "pool ", "written_bytes"), (long long)stats.written_bytes,
	       "bytes written");
	is_int((long long)figure(answer, "pool ", "stall_ns"), (long long)stats.stall_ns, "waits");
	ok(stats.in_store_bytes >= (SLABS - HARD_SLABS) * SLAB &&
		   stats.in_store_bytes <= stats.written_bytes,
	   "the slabs that are not in memory are in the store");
	is_int((long long)figure(answer, "pool ", "in_store_bytes"),
	       (long long)stats.in_store_bytes, "bytes in the store");
	is_int((long long)wrong_words(&tape, 0, SLABS * WORDS), 0, "the tape is popped");
	settle(pool);
	answer = ask(getpid());
	is_int((long long)figure(answer, "pool ", "read_bytes"),
	       (long long)stats_of(pool).read_bytes, "bytes read");
	reel_tape_close(&tape);
	settle(pool);
	answer = ask(getpid());
	is_int((long long)figure(answer, "pool ", "in_use_bytes"), 0,
	       "a closed tape has no bytes in use");
	is_int((long long)figure(answer, "pool ", "in_store_bytes"), 0,
	       "a closed tape has no bytes in the store");
	reel_pool_close(pool);
	answer = ask(getpid());
	ok(is_whole(answer) && !count_lines(answer, "pool "), "a closed pool is not in the answer");
}

/* ---- Runs ---- */

enum { STEPS = 5 };

/* Takes longer than the time between two descriptions of a run. */
static void take_time(void)
{
	usleep(250000);
}

static unsigned looks, wrong_places, wrong_seconds, shares, wrong_shares;
static bool reverses;
static double began;

/* Looks at the run while the piece of these steps is carried out. */
static void look_at_run(int64_t first, int64_t last)
{
	const char *answer = ask(getpid());
	double seconds = figure(answer, "\nrun ", "seconds");

	looks++;
	wrong_places += (int64_t)figure(answer, "\nrun ", "done") !=
				(reverses ? STEPS - last : first) ||
			(int)figure(answer, "\nrun ", "reverses") != reverses ||
			(int)figure(answer, "\nrun ", "steps") != STEPS ||
			count_lines(answer, "run ") != 1;
	shares += figure(answer, "\nrun ", "share") > 0;
	wrong_seconds += seconds < 0 || seconds > reel_clock_seconds() - began + 0.001;
	take_time();
}

/* Makes the last piece take longer than expected: then no share and no time left is known. */
static void outlast(void)
{
	unsigned tries = 200;

	while (figure(ask(getpid()), "\nrun ", "share") >= 0 && --tries)
		usleep(50000);
	wrong_shares += !tries || figure(ask(getpid()), "\nrun ", "seconds_left") >= 0;
}

static int advance_slowly(void *context, void *state, int64_t first, int64_t last)
{
	(void)context;
	look_at_run(first, last);
	*(double *)state += (double)(last - first);
	return 0;
}

static int record_slowly(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	reel_push(tape, *(double *)state);
	return advance_slowly(context, state, first, last);
}

static int reverse_slowly(void *context, void *adjoint, int64_t first, int64_t last,
			  reel_tape *tape)
{
	(void)context;
	(void)adjoint;
	if (!first)
		outlast();
	look_at_run(first, last);
	return reel_pop(tape, double) < 0 ? -EILSEQ : 0;
}

/* The run opens the first pool of the process. */
static void run_slowly(void)
{
	struct reel_problem problem = one_tier(STEPS, STEPS);
	const reel_model model = {sizeof(double), advance_slowly, record_slowly, reverse_slowly,
				  NULL, NULL};
	double state = 0, adjoint = 1;
	reel_plan *plan;
	reel_run *run;

	if (reel_plan_open(&plan, REEL_BINOMIAL, &problem) ||
	    reel_run_open(&run, plan, &model, NULL))
		abort();
	began = reel_clock_seconds();
	is_int(reel_run_forward(run, NULL, &state), 0, "the forward sweep");
	reverses = true;
	is_int(reel_run_reverse(run, NULL, &state, &adjoint), 0, "the reverse sweep");
	ok(looks > 2 * STEPS, "the run is looked at in %u pieces", looks);
	is_int(wrong_places, 0, "each answer has the right place of the run");
	is_int(wrong_seconds, 0, "no answer makes the run older than it is");
	ok(shares > 0, "%u answers have a share of the run", shares);
	is_int(wrong_shares, 0, "a piece that takes longer than expected has no share");
	ok(!count_lines(ask(getpid()), "run "), "a run that has ended is not shown");
	reel_run_close(run);
	reel_plan_close(plan);
}

static void a_run_is_where_it_is(void)
{
	struct sockaddr_un name;
	pid_t child;

	tap_case("a run");
	child = fork_with_timeout();
	if (!child) {
		run_slowly();
		tap_child_end();
	}
	ok(tap_child_passed(child), "the answers say where a run is");
	if (find_socket(child, &name))
		unlink(name.sun_path);
}

static void write_much(const struct reel_live_object *object, FILE *answer)
{
	(void)object;
	fprintf(answer, "much text=%*d\n", 2 * REEL_LIVE_MAX_ANSWER, 0);
}

static void too_long_an_answer_says_so(void)
{
	struct reel_live_object much = {.write = write_much};
	reel_pool *pool = open_pool((struct reel_pool_options){0});
	const char *answer;

	tap_case("too long an answer");
	reel_live_add(&much);
	answer = ask(getpid());
	ok(is_whole(answer) && count_lines(answer, "left_out ") && !count_lines(answer, "pool "),
	   "an answer that is too long leaves all out, and says so");
	reel_live_remove(&much);
	is_int(count_lines(ask(getpid()), "pool "), 1, "a shorter one leaves nothing out");
	reel_pool_close(pool);
}

/* ---- Threads ---- */

static _Atomic unsigned wrong_answers, working;

static void *use_pools(void *unused)
{
	for (unsigned i = 0; i < 30; i++) {
		reel_pool *pool = open_spilling();
		reel_tape tape = open_tape(pool, 0);

		push_words(&tape, 0, SLABS * WORDS);
		wrong_answers += wrong_words(&tape, 0, SLABS * WORDS) != 0;
		reel_tape_close(&tape);
		reel_pool_close(pool);
	}
	working--;
	return unused;
}

static void *ask_often(void *unused)
{
	while (working)
		wrong_answers += !is_whole(ask(getpid()));
	return unused;
}

static void *use_or_ask(void *number)
{
	return *(unsigned *)number % 2 ? ask_often(NULL) : use_pools(NULL);
}

static void many_ask_at_once(void)
{
	tap_case("threads");
	working = 3;
	run_threads(6, use_or_ask);
	is_int(wrong_answers, 0, "all answers are whole while pools come and go");
}

/* The reader asks for more answers than the system keeps for it. */
static void who_does_not_read_is_given_up(void)
{
	struct sockaddr_un name;
	int reader = send_to(getpid(), "sleeper");

	tap_case("a reader that does not read");
	find_socket(getpid(), &name);
	for (int i = 0; i < 12; i++)
		while (sendto(reader, "?", 1, MSG_DONTWAIT, (const struct sockaddr *)&name,
			      sizeof name) < 0)
			usleep(1000);
	ok(is_whole(ask(getpid())), "such a reader does not keep the thread for ever");
	close(reader);
	unlink("sleeper");
}

/* ---- Processes ---- */

static void a_child_has_its_own(void)
{
	reel_pool *pool = open_pool((struct reel_pool_options){0});
	pid_t parent = getpid(), child;
	struct sockaddr_un name;

	tap_case("a fork");
	child = fork_with_timeout();
	if (!child) {
		reel_pool *own;

		ok(!find_socket(getpid(), &name), "a child without a pool has no socket");
		ok(is_whole(ask(parent)), "the parent of such a child has a socket");
		own = open_pool((struct reel_pool_options){0});
		is_int(count_lines(ask(getpid()), "pool "), 1, "a child with a pool has a socket");
		is_int((long long)figure(ask(getpid()), "process ", "pid"), getpid(),
		       "the socket is the child's own");
		reel_pool_close(own);
		tap_child_end();
	}
	ok(tap_child_passed(child), "the child passes");
	/* The child has ended by _exit(), which runs no destructor. */
	if (find_socket(child, &name))
		unlink(name.sun_path);
	is_int(count_lines(ask(parent), "pool "), 1, "the parent still answers");
	reel_pool_close(pool);
}

/* The child has no thread and no handlers of fork(), so it must leave the socket alone. */
static void a_bare_child_leaves_all_to_its_parent(void)
{
#ifdef SYS_fork
	reel_pool *pool = open_pool((struct reel_pool_options){0});
	pid_t child;

	tap_case("a child without handlers");
	fflush(stdout);
	child = (pid_t)syscall(SYS_fork);
	if (!child)
		exit(0);
	waitpid(child, NULL, 0);
	ok(is_whole(ask(getpid())), "when such a child has ended, its parent answers");
	reel_pool_close(pool);
#endif
}

/* Runs a child that ends by this signal, or by itself if it is 0. Returns its number. */
static pid_t run_and_end(int signal)
{
	pid_t child = fork_with_timeout();

	if (!child) {
		open_pool((struct reel_pool_options){0});
		if (signal)
			raise(signal);
		exit(0);
	}
	waitpid(child, NULL, 0);
	return child;
}

static void what_processes_leave(void)
{
	struct sockaddr_un name;
	pid_t child;

	tap_case("ends");
	child = run_and_end(0);
	ok(!find_socket(child, &name), "a process that ends leaves nothing");
	child = run_and_end(SIGKILL);
	ok(find_socket(child, &name), "a process that was killed leaves a socket");
	is_int(send_to(child, "asker"), -1, "nobody receives at this socket");
	unlink(name.sun_path);
	unlink("asker");
}

/* Replaces all descriptors of the process but the first three by copies of `own`. */
static void replace_descriptors(int own)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	for (int file = 3; file < (int)limit.rlim_cur; file++)
		if (file != own && fcntl(file, F_GETFD) >= 0)
			dup2(own, file);
}

/* A daemon closes descriptors that it does not know, and then opens others of the same numbers. */
static bool keeps_its_connections(void)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "own"};
	int own = socket(AF_UNIX, SOCK_STREAM, 0), to;
	bool answers;

	open_pool((struct reel_pool_options){0});
	answers = is_whole(ask(getpid()));
	if (bind(own, (const struct sockaddr *)&name, sizeof name) || listen(own, 1))
		return false;
	fcntl(own, F_SETFL, O_NONBLOCK);
	replace_descriptors(own);
	to = socket(AF_UNIX, SOCK_STREAM, 0);
	if (connect(to, (const struct sockaddr *)&name, sizeof name))
		return false;
	/* Wait longer than the thread does between two looks. */
	usleep(1500000);
	return answers && accept(own, NULL, NULL) >= 0;
}

static void descriptors_may_be_replaced(void)
{
	struct sockaddr_un name;
	pid_t child;

	tap_case("descriptors that the program replaces");
	unlink("own");
	child = fork_with_timeout();
	if (!child)
		_exit(!keeps_its_connections());
	ok(tap_child_passed(child), "the library leaves their connections alone");
	if (find_socket(child, &name))
		unlink(name.sun_path);
	unlink("own");
}

/* ---- Programs to look at ---- */

/* Keeps `slabs` slabs on a tape until the input ends. */
static int stand_by(const char *slabs)
{
	reel_pool *pool = open_spilling();
	reel_tape tape = open_tape(pool, 0);
	char byte;

	push_words(&tape, 0, (uint64_t)atoi(slabs) * WORDS);
	settle(pool);
	puts("ready");
	fclose(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	reel_tape_close(&tape);
	return reel_pool_close(pool) != 0;
}

static void what_is_no_word_is_refused(void)
{
	int file = open("said", O_RDWR | O_CREAT | O_TRUNC, 0600);
	char text[256] = "";
	pid_t child;

	tap_case("another word");
	child = fork_with_timeout();
	if (!child) {
		setenv("REEL_STATS", "Live", 1);
		dup2(file, STDERR_FILENO);
		open_pool((struct reel_pool_options){0});
		_exit(0);
	}
	waitpid(child, NULL, 0);
	ok(pread(file, text, sizeof text - 1, 0) > 0 &&
		   !strcmp(text, "reel: REEL_STATS=Live is ignored: it must be 0, 1, live or live:DIR\n"),
	   "another word is refused: %s", text);
	close(file);
}

int main(int count, char **words)
{
	if (count > 1)
		return stand_by(words[1]);
	setenv("REEL_STATS", "live:.", 1);
	tap_begin();
	a_run_is_where_it_is();
	figures_are_those_of_the_pool();
	too_long_an_answer_says_so();
	many_ask_at_once();
	who_does_not_read_is_given_up();
	a_child_has_its_own();
	a_bare_child_leaves_all_to_its_parent();
	what_is_no_word_is_refused();
	what_processes_leave();
	descriptors_may_be_replaced();
	return tap_end();
}
