/* SPDX-License-Identifier: MIT */
#include <config.h>

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "os/annotate.h"
#include "stress.h"

_Atomic uint64_t stress_refused, stress_lost, stress_faults;

static struct {
	char name[64];
	char replay[512];
	char drawn[512];
	pthread_mutex_t failing;
} round_now = {.failing = PTHREAD_MUTEX_INITIALIZER};

/* The options of the command line that replace choices of the seed. */
static size_t print_given(char *text, size_t size)
{
	const struct stress_options *given = &stress_options;
	int n = snprintf(text, size, " --operations %u", given->operations);

	if (given->schedule != SCHEDULE_FREE)
		n += snprintf(text + n, size - (size_t)n, " --schedule %s",
			      stress_schedules[given->schedule]);
	if (given->threads)
		n += snprintf(text + n, size - (size_t)n, " --threads %u", given->threads);
	if (given->pool_slabs >= 0)
		n += snprintf(text + n, size - (size_t)n, " --pool-slabs %lld",
			      (long long)given->pool_slabs);
	if (given->slab_bytes)
		n += snprintf(text + n, size - (size_t)n, " --slab-bytes %zu", given->slab_bytes);
	if (given->budget)
		n += snprintf(text + n, size - (size_t)n, " --budget %zu", given->budget);
	if (given->store)
		n += snprintf(text + n, size - (size_t)n, " --store %.60s", given->store);
	if (given->fault_mix)
		n += snprintf(text + n, size - (size_t)n, " --fault-mix %.80s", given->fault_mix);
	if (given->omit)
		n += snprintf(text + n, size - (size_t)n, " --omit");
	return (size_t)n;
}

void stress_report_round(const char *name, const struct stress_draw *draw)
{
	char given[320];

	print_given(given, sizeof given);
	snprintf(round_now.name, sizeof round_now.name, "%s", name);
	snprintf(round_now.replay, sizeof round_now.replay,
		 "# to run it again: reel-stress --seed %llu --rounds 1 --only '^%s$'%s\n",
		 (unsigned long long)draw->seed, name, given);
	stress_draw_print(draw, round_now.drawn, sizeof round_now.drawn);
}

static _Thread_local char last_message[256];

void stress_note_error(const reel_tape *tape, int error, const char *message, void *context)
{
	(void)tape;
	(void)error;
	(void)context;
	snprintf(last_message, sizeof last_message, "%s", message);
}

static void print_threads(void)
{
	for (unsigned i = 0; i < MAX_WORKERS; i++) {
		struct stress_worker *worker = &stress_workers[i];

		if (!atomic_load_explicit(&worker->watched, memory_order_relaxed))
			continue;
		printf("#   thread %u: operation %llu, %s, at %llu\n", i,
		       (unsigned long long)worker->operations, worker->doing,
		       (unsigned long long)worker->place);
	}
}

static void write_failure(void)
{
	FILE *file = stress_options.json ? fopen(stress_options.json, "w") : NULL;

	if (!file)
		return;
	fprintf(file, "{\"seed\": %llu, \"failed\": \"%s\", \"operations\": %llu}\n",
		(unsigned long long)stress_options.seed, round_now.name,
		(unsigned long long)stress_operations());
	fclose(file);
}

void stress_fail(const char *format, ...)
{
	va_list arguments;

	scheduler_freeze();
	pthread_mutex_lock(&round_now.failing);
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
	printf("not ok - %s: ", round_now.name);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("%s\n# %s\n", stress_in_child ? " (in a child)" : "", round_now.drawn);
	if (last_message[0])
		printf("# the library's last message here: %s\n", last_message);
	print_threads();
	scheduler_print();
	fputs(round_now.replay, stdout);
	fflush(stdout);
	if (!stress_in_child)
		write_failure();
	_exit(1);
}

/* ---- Deaths ---- */

static void say_replay(void)
{
	ssize_t written = write(STDOUT_FILENO, round_now.replay, strlen(round_now.replay));

	(void)written;
}

static void die(int number)
{
	say_replay();
	signal(number, SIG_DFL);
	raise(number);
}

/* A sanitizer that ends the program also says how to run it again. */
#if defined(REEL_ADDRESS_SANITIZER) || defined(REEL_THREAD_SANITIZER)
void __sanitizer_set_death_callback(void (*callback)(void));

void stress_report_deaths(void)
{
	__sanitizer_set_death_callback(say_replay);
	signal(SIGABRT, die);
	signal(SIGALRM, die);
}
#else
void stress_report_deaths(void)
{
	signal(SIGABRT, die);
	signal(SIGALRM, die);
	signal(SIGSEGV, die);
	signal(SIGBUS, die);
}
#endif

/* ---- The end ---- */

static void print_results(const struct stress_result *results, size_t count)
{
	for (size_t i = 0; i < count; i++)
		printf("ok %zu - %s: %llu rounds, %llu operations, %llu faults as told\n", i + 1,
		       results[i].name, (unsigned long long)results[i].rounds,
		       (unsigned long long)results[i].operations,
		       (unsigned long long)results[i].faults);
	printf("1..%zu\n", count);
	printf("# %llu operations in %.1f s, %llu faults, %llu requests refused and %llu tapes or "
	       "parcels lost, all of it as told\n",
	       (unsigned long long)stress_operations(), stress_seconds(),
	       (unsigned long long)stress_faults, (unsigned long long)stress_refused,
	       (unsigned long long)stress_lost);
}

static bool write_json(FILE *file, const struct stress_result *results, size_t count)
{
	fprintf(file,
		"{\"seed\": %llu, \"failed\": null, \"operations\": %llu, \"seconds\": %.2f, "
		"\"faults\": %llu, \"refused\": %llu, \"lost\": %llu, \"cases\": [",
		(unsigned long long)stress_options.seed, (unsigned long long)stress_operations(),
		stress_seconds(), (unsigned long long)stress_faults,
		(unsigned long long)stress_refused, (unsigned long long)stress_lost);
	for (size_t i = 0; i < count; i++)
		fprintf(file,
			"%s\n  {\"case\": \"%s\", \"rounds\": %llu, \"operations\": %llu, "
			"\"faults\": %llu}",
			i ? "," : "", results[i].name, (unsigned long long)results[i].rounds,
			(unsigned long long)results[i].operations,
			(unsigned long long)results[i].faults);
	fputs("]}\n", file);
	return fclose(file) == 0;
}

bool stress_report(struct stress_result *results, size_t count)
{
	FILE *file;

	print_results(results, count);
	if (!stress_options.json)
		return true;
	file = fopen(stress_options.json, "w");
	if (file && write_json(file, results, count))
		return true;
	fprintf(stderr, "reel-stress: %s: %s\n", stress_options.json, strerror(errno));
	return false;
}
