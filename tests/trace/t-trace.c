/* SPDX-License-Identifier: MIT */
/*
 * The sums of a trace are those of the statistics, for random programs with several threads and a
 * store that fails. Traces are right in rings that go round, and in processes that fork or are
 * killed. Wrong values of REEL_TRACE are refused.
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#include "helpers/plan-support.h"
#include "helpers/pool-support.h"
#include "helpers/process-support.h"
#include "helpers/store-fault.h"
#include "helpers/trace-support.h"
#include "trace/trace.h"

#include <reel/parcel.h>
#include <reel/run.h>

#define SLAB ((size_t)4096)
#define THREADS 4
#define STATS "stats"

static uint64_t seed;

/* ---- The programs ---- */

static reel_store *open_faulty(void)
{
	struct reel_fault_rule rule[6];
	reel_store *memory, *faulty;

	for (unsigned i = 0; i < COUNT(rule); i++)
		rule[i] = (struct reel_fault_rule){.fault = REEL_FAULT_ERROR,
						   .put = i % 2,
						   .at = scramble(seed + i) % 60,
						   .error = -EIO};
	if (reel_store_memory_open(&memory, UINT64_MAX) ||
	    reel_store_fault_open(&faulty, memory, rule, COUNT(rule)))
		exit(1);
	return faulty;
}

static reel_pool *pool;

static void *use_tape(void *number)
{
	uint64_t random = seed ^ (uint64_t)*(unsigned *)number << 32;
	reel_tape tape = open_tape(pool, 0);
	uint64_t words = 0;

	for (unsigned i = 0; i < 30; i++) {
		uint64_t some = scramble(random++) % (12 * SLAB / 8);

		if (scramble(random++) % 2) {
			push_words(&tape, words, words + some);
			words += some;
		} else {
			some = some < words ? some : words;
			(void)wrong_words(&tape, words - some, words);
			words -= some;
		}
	}
	reel_tape_close(&tape);
	return NULL;
}

static void use_parcels(void)
{
	reel_parcel *parcel[20] = {0};
	const void *data;
	void *fresh;

	for (unsigned i = 0; i < COUNT(parcel); i++)
		if (!reel_parcel_open(&parcel[i], pool, scramble(seed + i) % (3 * SLAB), NULL, &fresh))
			reel_parcel_seal(parcel[i]);
	for (unsigned i = 0; i < COUNT(parcel); i++)
		if (parcel[i] && !reel_parcel_pin(parcel[i], &data))
			reel_parcel_unpin(parcel[i]);
	for (unsigned i = 0; i < COUNT(parcel); i++)
		reel_parcel_close(parcel[i]);
}

static void write_stats(const char *format, ...)
{
	FILE *file = fopen(STATS, "w");
	va_list arguments;

	va_start(arguments, format);
	if (!file || vfprintf(file, format, arguments) < 0 || fclose(file))
		exit(2);
	va_end(arguments);
}

static int spill(void)
{
	struct reel_pool_stats stats;

	reel_set_error_handler(ignore_report, NULL);
	pool = open_pool((struct reel_pool_options){.slab_bytes = SLAB,
						    .first_slab_bytes = SLAB / 4,
						    .hard_budget = 30 * SLAB,
						    .store = open_faulty()});
	run_threads(THREADS, use_tape);
	use_parcels();
	reel_offload_settle(reel_offload_of(pool));
	stats = stats_of(pool);
	write_stats("{\"written\":%llu,\"stored\":%llu,\"read\":%llu,\"failed_puts\":%llu,"
		    "\"failed_gets\":%llu,\"stalls\":%llu,\"stall_ns\":%llu,\"refused\":%llu}",
		    (unsigned long long)stats.written_bytes, (unsigned long long)stats.stored_bytes,
		    (unsigned long long)stats.read_bytes, (unsigned long long)stats.failed_puts,
		    (unsigned long long)stats.failed_gets, (unsigned long long)stats.stalls,
		    (unsigned long long)stats.stall_ns, (unsigned long long)stats.refused);
	return reel_pool_close(pool) != 0;
}

static int go(void *context, void *state, int64_t first, int64_t last)
{
	(void)context;
	*(double *)state += (double)(last - first);
	return 0;
}

static int record(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	for (int64_t step = first; step < last; step++)
		reel_push(tape, *(double *)state);
	return go(context, state, first, last);
}

static int reverse(void *context, void *adjoint, int64_t first, int64_t last, reel_tape *tape)
{
	(void)context;
	(void)adjoint;
	for (int64_t step = first; step < last; step++)
		(void)reel_pop(tape, double);
	return 0;
}

static int checkpoint(void)
{
	struct reel_problem problem = {.steps = 60, .tiers = 1, .advance_cost = 2, .record_cost = 3,
				       .reverse_cost = 4, .tier = {{.slots = 5, .store_cost = 2}}};
	reel_model model = {
		.state_bytes = 8, .advance = go, .record = record, .reverse = reverse};
	reel_plan *plan = open_plan(REEL_BINOMIAL, &problem);
	struct reel_run_stats stats;
	double state = 0;
	reel_run *run;

	if (reel_run_open(&run, plan, &model, NULL) || reel_run_forward(run, NULL, &state) ||
	    reel_run_reverse(run, NULL, &state, NULL))
		return 1;
	reel_run_get_stats(run, &stats);
	write_stats("{\"advanced\":%lld,\"recorded\":%lld,\"reversed\":%lld,\"stores\":%lld,"
		    "\"loads\":%lld,\"advance_ns\":%lld}",
		    (long long)stats.advanced, (long long)stats.recorded, (long long)stats.reversed,
		    (long long)stats.stores[0], (long long)stats.loads[0],
		    (long long)stats.advance_ns);
	reel_run_close(run);
	reel_plan_close(plan);
	return 0;
}

/* Spills until the process is killed. */
static int spill_for_ever(void)
{
	reel_store *store;
	reel_tape tape;

	if (reel_store_memory_open(&store, UINT64_MAX))
		return 1;
	tape = open_tape(open_pool((struct reel_pool_options){
				 .slab_bytes = SLAB, .hard_budget = 16 * SLAB, .store = store}),
			 0);
	for (;;) {
		push_words(&tape, 0, 64 * SLAB / 8);
		(void)wrong_words(&tape, 0, 64 * SLAB / 8);
	}
}

static uint64_t events_each(void)
{
	return is_brief() ? 20000 : 2500000;
}

static void *write_many(void *number)
{
	for (uint64_t i = 0; i < events_each(); i++)
		REEL_TRACE(DROP, 0, (int64_t)i, *(unsigned *)number, 7);
	return NULL;
}

static int go_round(void)
{
	pool = open_pool(TINY);
	run_threads(THREADS, write_many);
	return reel_pool_close(pool) != 0;
}

static void *write_until_the_end(void *number)
{
	for (;;)
		REEL_TRACE(DROP, 0, 1, *(unsigned *)number, 7);
	return NULL;
}

/* The process ends while threads write events, or is killed. */
static int run_away(void)
{
	static unsigned number[THREADS];
	pthread_t thread;

	pool = open_pool(TINY);
	for (unsigned i = 0; i < THREADS; i++)
		if (pthread_create(&thread, NULL, write_until_the_end, &number[i]))
			return 1;
	if (seed)
		pause();
	usleep(20000);
	return 0;
}

/* Uses tapes in all ways in which slabs come and go; nothing may be left of them. */
static int use_all_ways(void)
{
	reel_tape tape, moved, reader;
	reel_recording *recording;
	const uint64_t words = 40 * SLAB / 8;

	pool = open_pool((struct reel_pool_options){.slab_bytes = SLAB});
	tape = open_tape(pool, 0);
	push_words(&tape, 0, words);
	if (reel_tape_hold(&tape))
		return 1;
	for (int times = 0; times < 5; times++) {
		(void)wrong_words(&tape, words / 2, words);
		push_words(&tape, 0, words / 4);
		if (reel_tape_replay(&tape))
			return 2;
	}
	(void)wrong_words(&tape, words / 2, words);
	reel_tape_release(&tape);
	/* Back and forth over the end of a slab. */
	for (int times = 0; times < 1000; times++) {
		push_words(&tape, 0, SLAB / 8);
		(void)wrong_words(&tape, 0, SLAB / 8);
	}
	reel_tape_move(&moved, &tape);
	if (reel_tape_freeze(&moved, &recording) || reel_reader_open(&reader, recording))
		return 3;
	push_words(&reader, 0, words);
	(void)wrong_words(&reader, 0, words);
	reel_tape_close(&reader);
	reel_recording_close(recording);
	return reel_pool_close(pool) != 0;
}

/* The thread has a name that is hostile to JSON, in the parent and in the child of a fork. */
static int branch(void)
{
	int status = -1;
	pid_t child;

#if HAVE_PTHREAD_SETNAME_NP
	pthread_setname_np(pthread_self(), "\"\\\n\x80<script>");
#endif
	pool = open_pool(TINY);
	child = fork();
	if (child == 0) {
		reel_pool *own = open_pool(TINY);

		REEL_TRACE(DROP, 0, 1, 2, 3);
		exit(reel_pool_close(own) != 0);
	}
	waitpid(child, &status, 0);
	REEL_TRACE(STORE, 0, 1, 2, 3);
	write_stats("{\"child\":%d}", child);
	return status;
}

/* A thread that is not the main thread opens the first pool. */
static void *open_elsewhere(void *unused)
{
#if HAVE_PTHREAD_SETNAME_NP
	pthread_setname_np(pthread_self(), "elsewhere");
#endif
	pool = open_pool(TINY);
	REEL_TRACE(STORE, 0, 1, 2, 3);
	return unused;
}

static int open_in_thread(void)
{
	pthread_t thread;

#if HAVE_PTHREAD_SETNAME_NP
	pthread_setname_np(pthread_self(), "process");
#endif
	return pthread_create(&thread, NULL, open_elsewhere, NULL) || pthread_join(thread, NULL) ||
	       reel_pool_close(pool);
}

enum { BARE_EVENTS = 1000 };

/* A child without the handlers of fork() ends when its parent has filled some more blocks. */
static int leave_bare_child(void)
{
#ifdef SYS_fork
	int end[2];
	pid_t child;
	char byte;

	if (pipe(end))
		return 1;
	pool = open_pool(TINY);
	child = (pid_t)syscall(SYS_fork);
	if (!child) {
		close(end[1]);
		exit(read(end[0], &byte, 1) != 0);
	}
	for (int i = 0; i < BARE_EVENTS; i++)
		REEL_TRACE(STORE, 0, 1, 2, 3);
	close(end[1]);
	waitpid(child, NULL, 0);
	return reel_pool_close(pool) != 0;
#else
	return 1;
#endif
}

/* A file size limit at the end of a block acts as a full disk. SIGXFSZ would kill the program. */
static int fill_disk(void)
{
	signal(SIGXFSZ, SIG_DFL);
	LIMIT(RLIMIT_FSIZE, 192 + 2 * 8192);
	return go_round();
}

/* Another process cuts the file, or the program closes a descriptor that it has not opened. */
static int cut_file(void)
{
	pool = open_pool(TINY);
	REEL_TRACE(STORE, 0, 1, 2, 3);
	if (truncate(getenv("REEL_TRACE"), 0))
		return 1;
	for (int i = 0; i < BARE_EVENTS; i++)
		REEL_TRACE(STORE, 0, 1, 2, 3);
	return reel_pool_close(pool) != 0;
}

static int take_descriptor(void)
{
	struct stat trace, status;
	int file = open("taken", O_RDWR | O_CREAT | O_TRUNC, 0600);

	pool = open_pool(TINY);
	if (file < 0 || stat(getenv("REEL_TRACE"), &trace))
		return 1;
	for (int i = 0; i < 65536; i++)
		if (!fstat(i, &status) && status.st_ino == trace.st_ino && dup2(file, i) < 0)
			return 2;
	return go_round();
}

static int run_program(const char *what, const char *argument)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} programs[] = {{"spill", spill},       {"checkpoint", checkpoint},
			{"ring", go_round},     {"killed", spill_for_ever},
			{"away", run_away},     {"ways", use_all_ways},
			{"fork", branch},       {"full", fill_disk},
			{"thread", open_in_thread}, {"bare", leave_bare_child},
			{"cut", cut_file},      {"taken", take_descriptor}};

	seed = strtoull(argument, NULL, 10) << 8;
	for (unsigned i = 0; i < COUNT(programs); i++)
		if (!strcmp(programs[i].name, what))
			return programs[i].run();
	return 98;
}

/* ---- What the programs leave ---- */

static long long stat_of(const char *name)
{
	static char text[1024];
	FILE *file = fopen(STATS, "r");

	if (!file || !fgets(text, sizeof text, file))
		text[0] = '\0';
	if (file)
		fclose(file);
	return number_in(text, name);
}

static void is_sound(const struct trace *trace, const char *what)
{
	ok(!trace->wrong_lines && trace->is_list && trace->is_closed && !trace->dropped &&
		   trace->events,
	   "%s: the trace is whole, %d events", what, trace->events);
}

static long long sum_waits(const struct trace *trace, bool times)
{
	static const char *const names[] = {"wait for memory", "wait for a slab", "wait for puts"};
	long long sum = 0;

	for (unsigned i = 0; i < COUNT(names); i++)
		sum += times ? sum_of(trace, names[i], "dur") : count_events(trace, names[i]);
	return sum;
}

static void random_program(unsigned number)
{
	char text[16];
	struct trace trace;

	snprintf(text, sizeof text, "%u", number);
	is_int(run_traced("spill.json", "spill", text), 0, "random program %u", number);
	trace = read_trace("spill.json");
	is_sound(&trace, "it");
	is_int(sum_of(&trace, "put", "bytes"), stat_of("written"), "bytes written");
	is_int(sum_of(&trace, "put", "stored_bytes"), stat_of("stored"), "stored bytes");
	is_int(sum_of(&trace, "get", "bytes"), stat_of("read"), "bytes read");
	is_int(count_events(&trace, "failed put"), stat_of("failed_puts"), "failed puts");
	is_int(count_events(&trace, "failed get"), stat_of("failed_gets"), "failed gets");
	is_int(sum_waits(&trace, false), stat_of("stalls"), "waits");
	is_int(sum_waits(&trace, true), stat_of("stall_ns"), "nanoseconds of waits");
	is_int(count_events(&trace, "refused"), stat_of("refused"), "refused takes");
	is_int(count_events(&trace, "parcel opened"), count_events(&trace, "parcel closed"),
	       "parcels opened and closed");
	ok(count_events(&trace, "pool opened") == 1 && count_events(&trace, "pool closed") == 1,
	   "one pool");
	close_trace(&trace);
}

static void test_run(void)
{
	struct trace trace;

	tap_case("a run");
	is_int(run_traced("run.json", "checkpoint", "0"), 0, "a run");
	trace = read_trace("run.json");
	is_sound(&trace, "it");
	is_int(sum_of(&trace, "advance", "last") - sum_of(&trace, "advance", "first"),
	       stat_of("advanced"), "steps advanced");
	is_int(sum_of(&trace, "record", "last") - sum_of(&trace, "record", "first"),
	       stat_of("recorded"), "steps recorded");
	is_int(sum_of(&trace, "reverse", "last") - sum_of(&trace, "reverse", "first"),
	       stat_of("reversed"), "steps reversed");
	is_int(count_events(&trace, "store"), stat_of("stores"), "states stored");
	is_int(count_events(&trace, "load"), stat_of("loads"), "states loaded");
	is_int(sum_of(&trace, "advance", "dur"), stat_of("advance_ns"), "time of advances");
	close_trace(&trace);
}

/* Counts the threads whose events are not the last ones that they wrote; -1: a wrong event. */
static int count_gaps(const struct trace *trace)
{
	long long next[THREADS] = {0};
	int gaps = 0;

	for (int i = 0; i < trace->events; i++) {
		const char *line = trace->event[i];
		long long thread = number_in(line, "slot"), number = number_in(line, "step");

		if (!is_named(line, "drop"))
			continue;
		if (thread < 0 || thread >= THREADS || number_in(line, "tier") != 7)
			return -1;
		next[thread] += (long long)events_each() - number;
	}
	/* Without a gap, the distances of n events to the end sum up to n + (n - 1) + ... + 1. */
	for (int thread = 0; thread < THREADS; thread++) {
		long long n = 0;

		for (int i = 0; i < trace->events; i++)
			n += is_named(trace->event[i], "drop") &&
			     number_in(trace->event[i], "slot") == thread;
		gaps += next[thread] != n * (n + 1) / 2;
	}
	return gaps;
}

static void test_ring(void)
{
	struct trace trace;
	long long all = THREADS * (long long)events_each();

	tap_case("a ring");
	is_int(run_traced("ring.json,1M", "ring", "0"), 0, "%lld events", all);
	trace = read_trace("ring.json");
	ok(!trace.wrong_lines && trace.is_list && trace.is_closed, "the trace is whole");
	ok(trace.bytes <= 1 << 20, "it has at most the size that was asked for: %zu", trace.bytes);
	/* The pool that was opened and closed adds two events. */
	is_int(trace.events + trace.dropped, all + 2, "%d events are there, %lld were dropped",
	       trace.events, trace.dropped);
	is_int(count_gaps(&trace), 0, "each thread's newest events are there, with no gap");
	close_trace(&trace);
}

/* Waits until the process has written to its store and read from it, for at most 100 s. */
static void await_transfers(const char *path)
{
	for (int tries = 0; tries < 1000; tries++) {
		struct stat status;
		bool has_both = false;

		usleep(100000);
		if (!stat(path, &status) && status.st_size) {
			struct trace trace = read_trace(path);

			has_both = count_events(&trace, "put") && count_events(&trace, "get");
			close_trace(&trace);
		}
		if (has_both)
			return;
	}
}

static void test_killed(void)
{
	pid_t child = start_traced("killed.json", "killed", "0");
	struct trace trace;

	tap_case("a process that is killed");
	await_transfers("killed.json");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	trace = read_trace("killed.json");
	ok(!trace.wrong_lines && trace.is_list && !trace.is_closed, "its trace is a list of JSON");
	ok(count_events(&trace, "put") > 0 && count_events(&trace, "get") > 0, "%d events",
	   trace.events);
	close_trace(&trace);
	is_int(run_traced("killed.json", "checkpoint", "0"), 0, "the next process overwrites it");
	trace = read_trace("killed.json");
	is_sound(&trace, "then");
	is_int(count_events(&trace, "put"), 0, "nothing of the old trace is left");
	close_trace(&trace);
}

/* Stops a process at random moments, at which its trace is as if it had been killed. */
static void test_moments(void)
{
	const int moments = is_brief() ? 50 : 1000;
	struct stat status;
	pid_t child = start_traced("moments.json,4M", "away", "1");
	int lists = 0;

	tap_case("a process at any moment");
	while (stat("moments.json", &status) || !status.st_size)
		usleep(100);
	for (int i = 0; i < moments; i++) {
		struct trace trace;

		usleep((useconds_t)(scramble((uint64_t)i) % 2000));
		kill(child, SIGSTOP);
		waitpid(child, NULL, WUNTRACED);
		trace = read_trace("moments.json");
		lists += !trace.wrong_lines && trace.is_list && !trace.has_holes;
		close_trace(&trace);
		kill(child, SIGCONT);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	is_int(lists, moments, "its trace is a list of JSON");
}

static void test_end(void)
{
	int whole = 0;
	const int times = !is_brief() ? 100 : is_sanitized() ? 3 : 10;

	tap_case("a process that ends while threads run");
	for (int i = 0; i < times; i++) {
		struct trace trace;
		int status = run_traced("away.json", "away", "0");

		trace = read_trace("away.json");
		whole += !status && trace.is_list && trace.is_closed && !trace.wrong_lines && !trace.has_holes;
		close_trace(&trace);
	}
	is_int(whole, times, "its trace is whole");
}

/* Returns the number of counters of this kind that end with 0; `*others` is that of the others. */
static int count_zeros(const struct trace *trace, const char *kind, int *others)
{
	int zeros = 0;

	*others = 0;
	for (int i = trace->events - 1; i >= 0; i--) {
		const char *name = trace->event[i], *end = strchr(name + 9, '"');
		bool is_last = true;

		if (strncmp(name + 9, kind, strlen(kind)) != 0)
			continue;
		for (int j = i + 1; j < trace->events && is_last; j++)
			is_last = strncmp(trace->event[j], name, (size_t)(end - name + 1)) != 0;
		if (is_last && number_in(name, "bytes"))
			++*others;
		else
			zeros += is_last;
	}
	return zeros;
}

/* Allows a tenth, because pushes on a slab that was popped halfway are not counted again. */
static void is_near(long long seen, long long wanted, const char *what)
{
	ok(10 * seen >= 9 * wanted && 10 * seen <= 11 * wanted, "%s: %lld of %lld", what, seen, wanted);
}

static void test_ways(void)
{
	struct trace trace;
	char line[256];
	FILE *file;
	long long peak = 0, pushed = 0, bytes;
	const long long all = 40 * SLAB;
	int others;

	tap_case("tapes that are held, moved, frozen and read");
	setenv("REEL_PROFILE", "ways", 1);
	is_int(run_traced("ways.json", "ways", "0"), 0, "they are used");
	unsetenv("REEL_PROFILE");
	trace = read_trace("ways.json");
	is_sound(&trace, "then");
	ok(count_zeros(&trace, "bytes of tape", &others) > 1 && !others, "nothing is left on tapes");
	ok(count_zeros(&trace, "bytes of place", &others) > 0 && !others, "nor of places");
	close_trace(&trace);
	file = fopen("ways", "r");
	while (file && fgets(line, sizeof line, file)) {
		if (sscanf(line, "peak %lld", &bytes) == 1)
			peak = bytes;
		if (sscanf(line, "place %*u %lld", &bytes) == 1)
			pushed += bytes;
	}
	if (file)
		fclose(file);
	/*
	 * The program pushes all values, a quarter of them in each of five replays, all of them on
	 * the reader, and a thousand slabs back and forth.
	 */
	ok(peak > all * 9 / 10 && peak < 2 * all, "the peak of the profile: %lld", peak);
	is_near(pushed, all * 13 / 4 + 1000 * (long long)SLAB, "the bytes that were pushed");
}

static bool has_line(const struct trace *trace, const char *text)
{
	for (size_t i = 0; i < trace->bytes; i += strlen(trace->text + i) + 1)
		if (strstr(trace->text + i, text))
			return true;
	return false;
}

static void test_fork(void)
{
	struct trace parent, child;
	char name[64];

	tap_case("a fork");
	is_int(run_traced("fork.json", "fork", "0"), 0, "a process forks");
	snprintf(name, sizeof name, "fork-%lld.json", stat_of("child"));
	parent = read_trace("fork.json");
	child = read_trace(name);
	is_sound(&parent, "the parent");
	is_sound(&child, "the child");
	ok(count_events(&parent, "store") == 1 && !count_events(&parent, "drop") &&
		   count_events(&child, "drop") == 1 && !count_events(&child, "store"),
	   "each has its own events");
	is_int(number_in(child.event[0], "pid"), stat_of("child"), "the child has its number");
	is_int(number_in(child.event[0], "tid"), stat_of("child"), "so has its thread");
#if HAVE_PTHREAD_SETNAME_NP
	ok(has_line(&parent, "\"____<script>\""), "hostile names are legible");
#endif
	close_trace(&parent);
	close_trace(&child);
}

static void test_processes(void)
{
	struct trace trace;

	tap_case("processes");
	is_int(run_traced("thread.json", "thread", "0"), 0, "a thread opens the first pool");
	trace = read_trace("thread.json");
	is_sound(&trace, "it");
#if defined(__linux__) && HAVE_PTHREAD_SETNAME_NP
	ok(has_line(&trace, "\"name\":\"process\",\"clock_began_ns\""),
	   "the process has the name of its main thread");
#endif
	close_trace(&trace);
#ifdef SYS_fork
	is_int(run_traced("bare.json", "bare", "0"), 0, "a child without handlers");
	trace = read_trace("bare.json");
	is_sound(&trace, "leaves the trace to its parent");
	is_int(count_events(&trace, "store"), BARE_EVENTS, "the parent goes on");
	close_trace(&trace);
#endif
}

/* Gives back slabs that were taken before a tracer counted. */
static void test_late_tracer(void)
{
	reel_tape tape;

	tap_case("a tracer");
	pool = open_pool((struct reel_pool_options){.slab_bytes = SLAB});
	tape = open_tape(pool, 0);
	push_words(&tape, 0, 10 * SLAB / 8);
	reel_event_semaphore = 1;
	reel_tape_close(&tape);
	ok(atomic_load(&pool->in_use) == 0, "a tracer that comes late sees no bytes below 0");
	reel_pool_close(pool);
	pool = open_pool((struct reel_pool_options){.slab_bytes = SLAB});
	tape = open_tape(pool, 0);
	push_words(&tape, 0, 10 * SLAB / 8);
	ok(atomic_load(&pool->in_use) >= 10 * SLAB, "a tracer that is there sees the bytes in use");
	reel_event_semaphore = 0;
	reel_tape_close(&tape);
	reel_pool_close(pool);
}

/* Returns whether the program succeeds and writes one line to stderr, which has the text `said`. */
static bool says(const char *path, const char *what, const char *said)
{
	char text[1024] = "";
	int saved = dup(STDERR_FILENO), file = open("said", O_RDWR | O_CREAT | O_TRUNC, 0600);
	int status;
	ssize_t bytes;

	dup2(file, STDERR_FILENO);
	status = run_traced(path, what, "0");
	dup2(saved, STDERR_FILENO);
	close(saved);
	bytes = pread(file, text, sizeof text - 1, 0);
	close(file);
	tap_note("%s", text);
	return status == 0 && bytes >= 0 && strstr(text, said) &&
	       strchr(text, '\n') == text + strlen(text) - 1;
}

/* A comma without a size behind it belongs to the name of the file. */
static void test_commas(void)
{
	static const char *const values[][2] = {{"a,b.json", "a,b.json"},
						{"c,1.json", "c,1.json"},
						{"d,64MB", "d,64MB"},
						{"e,", "e,"},
						{"f,g.json,2.5M", "f,g.json"}};

	tap_case("a comma in the name of a file");
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		int status = run_traced(values[i][0], "checkpoint", "0");
		struct trace trace = read_trace(values[i][1]);

		ok(!status && trace.is_closed, "REEL_TRACE=%s writes to %s", values[i][0],
		   values[i][1]);
		close_trace(&trace);
	}
}

static void test_refusals(void)
{
	FILE *file = fopen("results", "w");
	struct stat status;
	struct trace trace;
	char text[16] = "";

	tap_case("what REEL_TRACE may not be");
	fputs("figures", file);
	fclose(file);
	ok(says("results", "checkpoint", "REEL_TRACE=results is ignored: another kind of file has "
					 "this name; choose another name"),
	   "another file");
	file = fopen("results", "r");
	ok(file && fgets(text, sizeof text, file) && !strcmp(text, "figures"), "its text stays");
	fclose(file);
	ok(says("nowhere/trace", "checkpoint", "is ignored: No such file"), "a file in no directory");
	ok(says(".", "checkpoint", "is ignored"), "a directory");
	ok(says("size.json,12", "checkpoint",
		"REEL_TRACE=size.json,12 is ignored: its size must be at least 1M"),
	   "too small a ring");
	ok(says("full.json", "full", "the trace ends here: there is no room"),
	   "a disk that is full ends the trace, not the program");
	trace = read_trace("full.json");
	ok(!trace.wrong_lines && trace.is_list, "the trace is a list of JSON");
	close_trace(&trace);
	ok(says("cut.json", "cut", "the trace ends here: another process has cut its file"),
	   "a file that is cut ends the trace, not the program");
	ok(!stat("cut.json", &status) && !status.st_size, "the file stays as it was cut");
	ok(says("closed.json", "taken", "the trace ends here: the program has closed the descriptor"),
	   "a descriptor that is closed ends the trace");
	ok(!stat("taken", &status) && !status.st_size, "the program's file stays as it was");
}

int main(int argc, char **argv)
{
	if (argc == 3)
		return run_program(argv[1], argv[2]);
	tap_begin();
	tap_case("random programs");
	for (unsigned i = 0; i < (is_brief() ? 6 : 60); i++)
		random_program(i);
	test_run();
	test_ring();
	test_killed();
	test_moments();
	test_end();
	test_ways();
	test_fork();
	test_processes();
	test_late_tracer();
	test_commas();
	test_refusals();
	return tap_end();
}
