/* SPDX-License-Identifier: MIT */
#include <config.h>

#include <getopt.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "os/annotate.h"
#include "stress.h"

/* ThreadSanitizer cannot see the order that a runtime of OpenMP enforces. */
#if defined _OPENMP && !defined REEL_THREAD_SANITIZER
#define HAS_PROGRAMS 1
#endif

/* A thread of a team is one more worker than its number; see tests/helpers/thread-team.h. */
#define MAX_THREADS_GIVEN 16
#define DEFAULT_SECONDS 300
#define DEFAULT_OPERATIONS 1000
/* Rounds in a schedule are short ones: it is their number that finds something. */
#define SCHEDULED_OPERATIONS 30

struct stress_options stress_options = {
	.seconds = DEFAULT_SECONDS, .patience = 60, .pool_slabs = -1};

const char *const stress_schedules[] = {
	[SCHEDULE_FREE] = "free", [SCHEDULE_RANDOM] = "random", [SCHEDULE_PCT] = "pct"};

static bool listing;
static regex_t filter;

static const struct {
	const char *name;
	void (*run)(struct stress_draw *draw);
} cases[] = {
	{"tapes", stress_tapes},
	{"parcels", stress_parcels},
	{"runs", stress_runs},
	{"regions", stress_regions},
	{"tasks", stress_tasks},
#ifdef HAS_PROGRAMS
	{"programs", stress_programs},
#endif
};

#define CASES COUNT_OF(cases)
/* The pairs, which take turns as one. */
#define PAIRS CASES

static struct stress_result results[CASES + 1];
static struct scheduler_trace scheduled;

static bool is_selected(const char *name)
{
	/* A schedule does not reach into the runtime of OpenMP, whose threads are not in it. */
	if (stress_options.schedule != SCHEDULE_FREE && !strcmp(name, "programs"))
		return false;
	return !stress_options.only || regexec(&filter, name, 0, NULL, 0) == 0;
}

/* ---- Rounds ---- */

/* Returns the next row that is selected from here on, or -1. */
static int next_pair(unsigned from)
{
	const char *name;

	for (; (name = stress_pair_name(from)); from++)
		if (is_selected(name))
			return (int)from;
	return -1;
}

static void run_case(unsigned which, uint64_t seed)
{
	struct stress_draw draw = stress_draw(seed);

	stress_report_round(cases[which].name, &draw);
	cases[which].run(&draw);
}

_Noreturn static void get_stuck(const char *why)
{
	stress_fail("%s", why);
}

static void schedule_begin(uint64_t seed)
{
	if (stress_options.schedule == SCHEDULE_FREE)
		return;
	/* A thread that waits and takes no steps; the scheduler sees all others. */
	alarm(stress_options.patience);
	scheduler_begin(&(struct scheduler_options){
		.schedule = stress_options.schedule, .seed = seed, .stuck = get_stuck});
}

static void schedule_end(void)
{
	struct scheduler_trace trace = scheduler_end();

	scheduled.steps += trace.steps;
	scheduled.changes += trace.changes;
	scheduled.hash = (scheduled.hash ^ trace.hash) * 0x100000001b3u;
}

/* One round of a case, or one row of the pairs. False: it has none that is selected. */
static bool run_round(unsigned which, uint64_t seed, bool *all_rows)
{
	static unsigned next_row;
	uint64_t operations = stress_operations(), faults = stress_faults;
	int row;

	if (which < PAIRS) {
		if (!is_selected(cases[which].name))
			return false;
		schedule_begin(seed);
		run_case(which, seed);
	} else {
		row = next_pair(next_row);
		if (row < 0)
			row = next_pair(0);
		if (row < 0)
			return false;
		schedule_begin(seed);
		stress_pair((unsigned)row, seed);
		next_row = (unsigned)row + 1;
		*all_rows |= next_pair(next_row) < 0;
	}
	schedule_end();
	results[which].rounds++;
	results[which].operations += stress_operations() - operations;
	results[which].faults += stress_faults - faults;
	return true;
}

/* With --seconds 0 each case once, and each row of the pairs. */
static bool is_over(uint64_t rounds, bool all_rows)
{
	if (stress_options.rounds)
		return rounds >= stress_options.rounds;
	if (stress_options.seconds > 0)
		return stress_seconds() >= stress_options.seconds;
	return all_rows;
}

static bool run_all(void)
{
	uint64_t rounds = 0;
	bool any = false, all_rows = next_pair(0) < 0;

	for (unsigned which = 0;; which = (which + 1) % (PAIRS + 1)) {
		if (which == 0 && rounds && is_over(rounds, all_rows))
			return true;
		if (run_round(which, stress_options.seed + rounds, &all_rows)) {
			rounds++;
			any = true;
			if (stress_options.rounds && is_over(rounds, all_rows))
				return true;
		}
		if (which == PAIRS && !any)
			return false;
	}
}

static int list(void)
{
	const char *line;

	for (unsigned i = 0; i < CASES; i++)
		if (is_selected(cases[i].name))
			puts(cases[i].name);
	for (unsigned row = 0; (line = stress_pair_name(row)); row++)
		if (is_selected(line))
			puts(line);
	for (unsigned i = 0; (line = stress_pair_absent(i)); i++)
		if (is_selected(line))
			printf("# %s\n", line);
	return 0;
}

/* ---- Options ---- */

static int help(void)
{
	puts("Usage: reel-stress [OPTION]...\n"
	     "Many threads use small pools at random, until the time is over or a check fails.\n"
	     "The seed of a round determines its actions, except those that an option sets.\n"
	     "\n"
	     "  --seed N          seed of the first round; each later seed is one more\n"
	     "  --seconds S       duration (300); 0: each case once\n"
	     "  --rounds N        number of rounds, in place of a duration\n"
	     "  --operations N    operations of each thread in a round: 1000; in a schedule 30\n"
	     "  --schedule WHICH  free: the system schedules the threads; random or pct: the seed\n"
	     "                    does, at random or by priorities with a few changes; best with\n"
	     "                    configure --enable-yield-points\n"
	     "  --threads N       number of threads, 1 to 16\n"
	     "  --pool-slabs N    memory of the pool in slabs; 0: no bound\n"
	     "  --slab-bytes N    size of a slab\n"
	     "  --budget N        memory in bytes\n"
	     "  --store TEXT      a store in the words of reel_store_open(), or: none, late\n"
	     "  --fault-mix MIX   none, or KIND=N,...: one in N transfers; kinds: put, get, late,\n"
	     "                    flip, misplace; vanish: after N puts\n"
	     "  --only REGEX      only the cases whose names match\n"
	     "  --patience S      report a hang if a thread does nothing for S seconds (60)\n"
	     "  --directory DIR   for stores in files; else TMPDIR, or /var/tmp\n"
	     "  --json FILE       also write the results\n"
	     "  --pretend WHAT    fail on purpose, to see the report: wrong, hang\n"
	     "  --show            print the programs of OpenMP that are drawn\n"
	     "  --omit            leave one call out of each program of OpenMP, in checked mode:\n"
	     "                    a wrong number without an error is a failure\n"
	     "  --list            list the cases, and the pairs that cannot meet, with the reason\n"
	     "  --help            this text");
	return 0;
}

static int refuse(const char *what, const char *why)
{
	fprintf(stderr, "reel-stress: %s: %s; see reel-stress --help\n", what, why);
	return 2;
}

/* A number that an option takes, from `least` to `most`. */
struct number {
	const char *name;
	double least, most;
	double value;
};

enum { SEED, SECONDS, ROUNDS, OPERATIONS, THREADS, POOL_SLABS, SLAB_BYTES, BUDGET, PATIENCE,
       NUMBERS, STORE, FAULT_MIX, ONLY, DIRECTORY, JSON, PRETEND, SCHEDULE, SHOW, OMIT, LIST,
       HELP };

static struct number numbers[NUMBERS] = {
	[SEED] = {"seed", 0, 9e15, -1},
	[SECONDS] = {"seconds", 0, 1e7, DEFAULT_SECONDS},
	[ROUNDS] = {"rounds", 1, 1e12, 0},
	[OPERATIONS] = {"operations", 1, 1e7, 0},
	[THREADS] = {"threads", 1, MAX_THREADS_GIVEN, 0},
	[POOL_SLABS] = {"pool-slabs", 0, 1 << 20, -1},
	[SLAB_BYTES] = {"slab-bytes", 64, 1 << 30, 0},
	[BUDGET] = {"budget", 64, 1e15, 0},
	[PATIENCE] = {"patience", 1, 1e6, 60},
};

static bool read_number(struct number *number, const char *text)
{
	char *end;

	number->value = strtod(text, &end);
	return *text && !*end && number->value >= number->least && number->value <= number->most;
}

static uint64_t seed_of_the_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return ((uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000) % 1000000000000;
}

static void use_numbers(void)
{
	stress_options.seed = numbers[SEED].value < 0 ? seed_of_the_clock()
						      : (uint64_t)numbers[SEED].value;
	stress_options.seconds = numbers[SECONDS].value;
	stress_options.rounds = (uint64_t)numbers[ROUNDS].value;
	stress_options.operations = numbers[OPERATIONS].value > 0
					    ? (unsigned)numbers[OPERATIONS].value
				    : stress_options.schedule == SCHEDULE_FREE
					    ? DEFAULT_OPERATIONS : SCHEDULED_OPERATIONS;
	stress_options.threads = (unsigned)numbers[THREADS].value;
	stress_options.pool_slabs = (int64_t)numbers[POOL_SLABS].value;
	stress_options.slab_bytes = (size_t)numbers[SLAB_BYTES].value;
	stress_options.budget = (size_t)numbers[BUDGET].value;
	stress_options.patience = (unsigned)numbers[PATIENCE].value;
}

static int use_schedule(const char *text)
{
	for (unsigned i = 0; i < COUNT_OF(stress_schedules); i++)
		if (!strcmp(text, stress_schedules[i])) {
			stress_options.schedule = (enum schedule)i;
			return 0;
		}
	return refuse(text, "neither free nor random nor pct");
}

static int use_text(int option, const char *text)
{
	struct stress_mix mix;

	switch (option) {
	case STORE:
		stress_options.store = text;
		return 0;
	case FAULT_MIX:
		stress_options.fault_mix = text;
		return stress_mix_read(&mix, text) ? 0 : refuse(text, "no mix of faults");
	case ONLY:
		stress_options.only = text;
		return regcomp(&filter, text, REG_EXTENDED | REG_NOSUB)
			       ? refuse(text, "no regular expression") : 0;
	case DIRECTORY:
		stress_options.directory = text;
		return 0;
	case SCHEDULE:
		return use_schedule(text);
	case PRETEND:
		stress_options.pretend = text;
		return strcmp(text, "wrong") && strcmp(text, "hang")
			       ? refuse(text, "neither wrong nor hang") : 0;
	default:
		stress_options.json = text;
		return 0;
	}
}

static int read_options(int argc, char **argv)
{
	static const struct option names[] = {
		{"seed", 1, NULL, SEED},	     {"seconds", 1, NULL, SECONDS},
		{"rounds", 1, NULL, ROUNDS},	     {"operations", 1, NULL, OPERATIONS},
		{"threads", 1, NULL, THREADS},	     {"pool-slabs", 1, NULL, POOL_SLABS},
		{"slab-bytes", 1, NULL, SLAB_BYTES}, {"budget", 1, NULL, BUDGET},
		{"patience", 1, NULL, PATIENCE},     {"store", 1, NULL, STORE},
		{"fault-mix", 1, NULL, FAULT_MIX},   {"only", 1, NULL, ONLY},
		{"directory", 1, NULL, DIRECTORY},   {"json", 1, NULL, JSON},
		{"pretend", 1, NULL, PRETEND},	     {"schedule", 1, NULL, SCHEDULE},
		{"show", 0, NULL, SHOW},	     {"list", 0, NULL, LIST},
		{"omit", 0, NULL, OMIT},	     {"help", 0, NULL, HELP},
		{0}};
	int option, error = 0;

	opterr = 0;
	while (!error && (option = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (option == HELP)
			return -1;
		if (option == LIST)
			listing = true;
		else if (option == SHOW)
			stress_options.show = true;
		else if (option == OMIT)
			stress_options.omit = true;
		else if (option == '?')
			error = refuse(argv[optind - 1],
				       "no such option, or its argument is missing");
		else if (option > NUMBERS)
			error = use_text(option, optarg);
		else if (!read_number(&numbers[option], optarg))
			error = refuse(optarg, "out of range, or no number");
	}
	if (!error && optind < argc)
		error = refuse(argv[optind], "no argument is taken");
	use_numbers();
	return error;
}

/* ---- The program ---- */

#ifdef HAS_PROGRAMS
/* OpenMP reads these when a program starts. Threads that wait must not keep processors busy. */
static void set_environment(char **argv)
{
	if (getenv("OMP_CANCELLATION"))
		return;
	setenv("OMP_CANCELLATION", "true", 0);
	setenv("OMP_WAIT_POLICY", "passive", 0);
	execv("/proc/self/exe", argv);
}
#endif

/* The results of cases that ran. */
static size_t gather(struct stress_result *ran)
{
	size_t count = 0;

	for (unsigned i = 0; i <= PAIRS; i++) {
		results[i].name = i < PAIRS ? cases[i].name : "pairs";
		if (results[i].rounds)
			ran[count++] = results[i];
	}
	return count;
}

int main(int argc, char **argv)
{
	struct stress_result ran[CASES + 1];
	int status = read_options(argc, argv);

	if (status)
		return status < 0 ? help() : status;
	if (stress_pairs_problem()) {
		printf("not ok - the table of pairs: %s\n", stress_pairs_problem());
		return 1;
	}
	if (listing)
		return list();
#ifdef HAS_PROGRAMS
	set_environment(argv);
#endif
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("# reel-stress --seed %llu, with the list %s\n",
	       (unsigned long long)stress_options.seed, reel_pool_implementation());
	reel_set_error_handler(stress_note_error, NULL);
	stress_report_deaths();
	stress_watch_begin();
	if (!run_all()) {
		stress_watch_end();
		return refuse(stress_options.only, "no case matches");
	}
	stress_watch_end();
	if (scheduled.steps)
		printf("# %llu steps, %llu hand-overs, trace %016llx\n",
		       (unsigned long long)scheduled.steps, (unsigned long long)scheduled.changes,
		       (unsigned long long)scheduled.hash);
#ifdef HAS_PROGRAMS
	stress_print_programs();
#endif
	return stress_report(ran, gather(ran)) ? 0 : 1;
}
