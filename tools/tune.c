/* SPDX-License-Identifier: MIT */
/*
 * The verb `reel tune`: runs a command with one setting of the environment after the other, in
 * turns, and shows the gain of each. Only settings that do not change the results of a program are
 * tried without being asked for.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <reel/pool.h>
#include <reel/store.h>

#include "os/clock.h"
#include "verb.h"

enum {
	MAX_SETTINGS = 32,
	MIN_RUNS = 3, /* with each setting, for its noise */
	MAX_RUNS = 99,
	MAX_TEXT = 256
};

/* A few runs may happen to take equal times, so that their noise looks too small. */
static const double MIN_NOISE = 0.02;

const char tune_help[] =
	"Usage: reel tune [OPTION]... -- COMMAND [ARGUMENT]...\n"
	"\n"
	"Runs a command as it is, and with one setting of the environment changed at a\n"
	"time, and shows the gain of each setting.  By default it tries how threads of\n"
	"OpenMP wait, smaller slabs and small pages; where the environment names a store or\n"
	"its directory, whether it should compress; and where it has a budget, half of that\n"
	"and twice as much.  None of these changes the results of a program.  Its standard\n"
	"input is empty, and its standard output is dropped.  A first run warms the machine\n"
	"up and is not counted.\n"
	"\n"
	"  --runs N      runs with each setting, in turns (default: 3)\n"
	"  --set NAME=VALUE\n"
	"                a setting to try, in place of the default ones; may be repeated\n"
	"  --help        this text\n"
	"\n"
	"The time is the median, and the noise half of the distance between the fastest and\n"
	"the slowest run, over the median, and at least 2 %.  Fewer than three runs have no\n"
	"noise, and then no setting is called the best.  Memory is the largest that was\n"
	"resident, and not less than the few MiB of `reel tune` itself.\n";

struct setting {
	char name[MAX_TEXT], value[MAX_TEXT]; /* no name: the environment as it is */
	double seconds[MAX_RUNS];
	double peak_bytes;
	int status; /* of the first run that failed, as wait() gives it, or 0 */
};

struct request {
	struct setting settings[MAX_SETTINGS];
	int count, runs;
	bool has_settings; /* of the command line */
	char **command;
};

/* ---- Settings ---- */

static bool add(struct request *request, const char *name, const char *value)
{
	struct setting *setting = &request->settings[request->count];
	const char *now = getenv(name);

	if (request->count == MAX_SETTINGS || strlen(name) >= MAX_TEXT || strlen(value) >= MAX_TEXT)
		return false;
	/* A setting that the environment has already would repeat the runs as it is. */
	if (now && !strcmp(now, value))
		return true;
	strcpy(setting->name, name);
	strcpy(setting->value, value);
	request->count++;
	return true;
}

static void add_store(struct request *request, const char *description)
{
	reel_store *store;

	/* A store that this build does not have is not tried. */
	if (reel_store_open(&store, description, NULL))
		return;
	reel_store_close(store);
	add(request, "REEL_STORE", description);
}

static void add_budget(struct request *request, uint64_t bytes)
{
	char text[24];

	snprintf(text, sizeof text, "%llu", (unsigned long long)bytes);
	add(request, "REEL_BUDGET", text);
}

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

static void add_defaults(struct request *request)
{
	struct reel_pool_stats stats;
	reel_pool *pool;

	add(request, "OMP_WAIT_POLICY", "passive");
	add(request, "OMP_WAIT_POLICY", "active");
	add(request, "REEL_SLAB", "256K");
	add(request, "REEL_PAGES", "small");
	if (is_set("REEL_SPILL_DIR") || is_set("REEL_STORE")) {
		add_store(request, "file");
		add_store(request, "lz4,file");
	}
	/* The pool knows how many bytes a percentage is. */
	pool = is_set("REEL_BUDGET") ? open_quiet_pool() : NULL;
	if (!pool)
		return;
	reel_pool_get_stats(pool, &stats);
	if (stats.hard_budget > UINT64_MAX / 2)
		return;
	add_budget(request, stats.hard_budget / 2);
	add_budget(request, 2 * stats.hard_budget);
}

/* ---- The command line ---- */

static int refuse(const char *word, const char *why)
{
	fprintf(stderr, "reel tune: %s: %s; 'reel tune --help' lists the options\n", word, why);
	return EXIT_USAGE;
}

static int read_setting(struct request *request, char *word)
{
	char *equals = strchr(word, '=');
	bool fits;

	if (!equals || equals == word)
		return refuse(word, "a setting is NAME=VALUE");
	request->has_settings = true;
	*equals = '\0';
	fits = add(request, word, equals + 1);
	*equals = '=';
	return fits ? 0 : refuse(word, "too many settings, or too long");
}

static int read_runs(struct request *request, const char *word)
{
	char *end;
	long runs = strtol(word, &end, 10);

	if (*end || runs < 1 || runs > MAX_RUNS)
		return refuse(word, "a number of runs is from 1 to 99");
	request->runs = (int)runs;
	return 0;
}

static int read_request(struct request *request, int count, char **words)
{
	static const struct option options[] = {{"runs", required_argument, NULL, 'r'},
						{"set", required_argument, NULL, 's'},
						{0}};
	int end = 1, option, status = 0;

	request->count = 1;
	request->runs = 3;
	while (end < count && strcmp(words[end], "--") != 0)
		end++;
	while (!status && (option = next_option(end, words, options)) != -1)
		status = option == 'r'   ? read_runs(request, optarg)
			 : option == 's' ? read_setting(request, optarg)
					 : EXIT_USAGE;
	if (status)
		return status;
	if (optind < end || end + 1 >= count)
		return refuse(optind < end ? words[optind] : "COMMAND", "a command comes after --");
	request->command = words + end + 1;
	if (!request->has_settings)
		add_defaults(request);
	return 0;
}

/* ---- Runs ---- */

/* In the child. */
static void execute(const struct setting *setting, char **command)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

#ifdef PR_SET_PDEATHSIG
	/* It ends with `reel tune`. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
#endif
	if (setting->name[0])
		setenv(setting->name, setting->value, 1);
	if (nothing >= 0) {
		dup2(nothing, STDIN_FILENO);
		dup2(nothing, STDOUT_FILENO);
	}
	execvp(command[0], command);
	fprintf(stderr, "reel tune: cannot run '%s': %s\n", command[0], strerror(errno));
	_exit(127);
}

static int run_once(struct setting *setting, char **command, int run)
{
	double begin = reel_clock_seconds();
	struct rusage usage;
	int status;
	pid_t child = fork();

	if (child == 0)
		execute(setting, command);
	if (child < 0)
		return -errno;
	while (wait4(child, &status, 0, &usage) < 0)
		if (errno != EINTR)
			return -errno;
	setting->seconds[run] = reel_clock_seconds() - begin;
	if (1024.0 * (double)usage.ru_maxrss > setting->peak_bytes)
		setting->peak_bytes = 1024.0 * (double)usage.ru_maxrss;
	setting->status = setting->status ? setting->status : status;
	return 0;
}

/* A setting with which the command has failed is not run again; without one nothing is. */
static int run_all(struct request *request)
{
	/* Its time is overwritten. */
	int error = run_once(&request->settings[0], request->command, 0);

	for (int run = 0; run < request->runs && !error && !request->settings[0].status; run++)
		for (int i = 0; i < request->count; i++) {
			struct setting *setting = &request->settings[i];

			if (!setting->status && !request->settings[0].status && !error)
				error = run_once(setting, request->command, run);
		}
	return error;
}

/* ---- Results ---- */

static int by_time(const void *left, const void *right)
{
	const double *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static double median(const struct setting *setting, int runs)
{
	return (setting->seconds[(runs - 1) / 2] + setting->seconds[runs / 2]) / 2;
}

static double noise(const struct setting *setting, int runs)
{
	double half =
		(setting->seconds[runs - 1] - setting->seconds[0]) / 2 / median(setting, runs);

	return half > MIN_NOISE ? half : MIN_NOISE;
}

static void put_failure(int status)
{
	if (WIFSIGNALED(status))
		printf("  ended by signal %d\n", WTERMSIG(status));
	else
		printf("  failed with status %d\n", WEXITSTATUS(status));
}

static void put_setting(const struct request *request, const struct setting *setting, int width)
{
	const struct setting *now = &request->settings[0];
	char label[2 * MAX_TEXT], noise_text[16] = "-";

	snprintf(label, sizeof label, "%s%s%s", setting->name[0] ? setting->name : "as it is",
		 setting->name[0] ? "=" : "", setting->value);
	printf("%-*s", width, label);
	if (setting->status) {
		put_failure(setting->status);
		return;
	}
	if (request->runs >= MIN_RUNS)
		snprintf(noise_text, sizeof noise_text, "%.0f %%",
			 100 * noise(setting, request->runs));
	printf("  %9.3f s  %5.2f x  %5s  %9.1f MiB\n", median(setting, request->runs),
	       median(setting, request->runs) / median(now, request->runs), noise_text,
	       setting->peak_bytes / (1 << 20));
}

/* The fastest of those that gain more seconds than both noises are together, or NULL. */
static const struct setting *best_of(const struct request *request)
{
	const struct setting *now = &request->settings[0], *best = NULL;
	int runs = request->runs;

	for (int i = 1; i < request->count; i++) {
		const struct setting *setting = &request->settings[i];
		double seconds = median(setting, runs), seconds_now = median(now, runs);

		if (!setting->status &&
		    seconds_now - seconds >
			    noise(setting, runs) * seconds + noise(now, runs) * seconds_now &&
		    (!best || median(setting, runs) < median(best, runs)))
			best = setting;
	}
	return best;
}

static void put_verdict(const struct request *request)
{
	const struct setting *best;

	if (request->runs < MIN_RUNS) {
		printf("\nNo verdict: the noise is not known; give at least --runs %d.\n",
		       MIN_RUNS);
		return;
	}
	best = best_of(request);
	if (best)
		printf("\nBest: %s=%s, %.0f %% less time.\n", best->name, best->value,
		       100 * (1 - median(best, request->runs) /
				  median(&request->settings[0], request->runs)));
	else
		puts("\nNo setting gains more than the noise: keep the environment as it is.");
}

static void show(struct request *request)
{
	int width = (int)sizeof "as it is";

	for (int i = 0; i < request->count; i++) {
		struct setting *setting = &request->settings[i];
		int length = (int)(strlen(setting->name) + strlen(setting->value)) + 1;

		width = length > width ? length : width;
		if (!setting->status)
			qsort(setting->seconds, (size_t)request->runs, sizeof setting->seconds[0],
			      by_time);
	}
	printf("%-*s  %11s  %7s  %5s  %13s\n", width, "setting", "time", "of now", "noise",
	       "memory");
	for (int i = 0; i < request->count; i++)
		put_setting(request, &request->settings[i], width);
	put_verdict(request);
}

int tune_run(int count, char **words)
{
	static struct request request;
	int status = read_request(&request, count, words);
	int error;

	if (status)
		return status;
	/* If it were ignored, as a parent may leave it, no status would be kept. */
	signal(SIGCHLD, SIG_DFL);
	error = run_all(&request);
	if (error) {
		fprintf(stderr, "reel tune: cannot run '%s': %s\n", request.command[0],
			strerror(-error));
		return EXIT_FAILURE;
	}
	status = request.settings[0].status;
	if (status) {
		fprintf(stderr,
			"reel tune: the command fails with the environment as it is (%s %d): "
			"repair that first\n",
			WIFSIGNALED(status) ? "signal" : "status",
			WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
		return EXIT_FAILURE;
	}
	show(&request);
	return EXIT_SUCCESS;
}
