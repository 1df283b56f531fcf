/* SPDX-License-Identifier: MIT */
/*
 * Reports findings, each once for its format and address, and prints the summary. Any thread
 * reports; `told.lock` keeps the lines of a finding together. The output is chosen when something
 * is printed first and stays the same.
 */
#include "config.h"

#include "verifier.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/cancel.h"
#include "os/signals.h"

struct finding {
	struct finding *next;
	const char *format;
	const void *at;
};

static struct {
	pthread_mutex_t lock;
	struct finding *findings;
	FILE *file; /* NULL: not yet opened */
	bool aborts;
	int found[3];
} told = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char *const severity_names[] = {"note", "warning", "error"};

/* All relaxed: counters for the summary, which order no other memory. */
static _Atomic uint64_t counts[3];

void count(enum counted what)
{
	atomic_fetch_add_explicit(&counts[what], 1, memory_order_relaxed);
}

/* ---- The output ---- */

static FILE *output(void)
{
	const char *text = getenv("REEL_VERIFY");

	if (told.file)
		return told.file;
	told.aborts = text && !strcmp(text, "abort");
	if (text && *text && !told.aborts && strcmp(text, "report") != 0) {
		/* Appends, because other processes of the program may write to the same file. */
		told.file = fopen(text, "ae");
		if (!told.file)
			fprintf(stderr, "reel-verify: REEL_VERIFY=%s: %s; reports go to stderr\n",
				text, strerror(errno));
	}
	told.file = told.file ? told.file : stderr;
	return told.file;
}

/* ---- Findings ---- */

static bool is_new(const char *format, const void *at)
{
	struct finding *finding;

	for (finding = told.findings; finding; finding = finding->next)
		if (finding->format == format && finding->at == at)
			return false;
	finding = malloc(sizeof *finding);
	if (!finding)
		return true;
	*finding = (struct finding){told.findings, format, at};
	told.findings = finding;
	return true;
}

/* Prints the thread and its region. */
static void print_place(FILE *file)
{
	struct task *thread = thread_task();
	const struct part *part = thread ? present_part(thread) : NULL;
	char text[512];

	if (!thread)
		return;
	fprintf(file, "reel-verify:   in thread %d of %d", thread->index, thread->threads);
	if (part)
		fprintf(file, ", in the region %s at %s",
			part->region->forward ? "begun" : "reversed",
			source_of(part->region->begun_at, text, sizeof text));
	putc('\n', file);
}

static void print(enum severity severity, const void *at, const char *message)
{
	FILE *file = output();
	char text[512];

	fprintf(file, "reel-verify: %s: %s: %s\n", severity_names[severity],
		source_of(at, text, sizeof text), message);
	print_place(file);
	fflush(file);
}

void report(enum severity severity, const void *at, const char *format, ...)
{
	REEL_UNCANCELLED;
	REEL_UNSIGNALLED;
	char message[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, sizeof message, format, arguments);
	va_end(arguments);
	pthread_mutex_lock(&told.lock);
	if (is_new(format, at)) {
		told.found[severity]++;
		print(severity, at, message);
		if (told.aborts && severity == ERROR)
			abort();
	}
	pthread_mutex_unlock(&told.lock);
}


void summarise(bool saw_reel)
{
	REEL_UNSIGNALLED;
	FILE *file = output();

	fputs("reel-verify:", file);
	for (int i = ERROR; i >= NOTE; i--)
		fprintf(file, " %d %s%s%c", told.found[i], severity_names[i],
			told.found[i] == 1 ? "" : "s", i == NOTE ? ';' : ',');
	fprintf(file, " parallel regions: %llu, regions of Reel: %llu, tasks: %llu\n",
		(unsigned long long)atomic_load_explicit(&counts[TEAMS], memory_order_relaxed),
		(unsigned long long)atomic_load_explicit(&counts[REGIONS], memory_order_relaxed),
		(unsigned long long)atomic_load_explicit(&counts[TASKS], memory_order_relaxed));
	if (!saw_reel)
		fputs("reel-verify: no call of libreel-omp was seen; link it as a shared library\n",
		      file);
	fflush(file);
}

void report_no_runtime(void)
{
	REEL_UNSIGNALLED;

	fputs("reel-verify: OpenMP has reported no event: only LLVM's runtime, libomp, tells "
	      "tools; link with clang -fopenmp\n", output());
}
