/* SPDX-License-Identifier: MIT */
/* Programs that leave out a call of the driver; for tests in C and in C++. */
#ifndef TESTS_MUTANTS_H
#define TESTS_MUTANTS_H

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __cplusplus
#include "device-support.h"
#include "fake-support.h"
#else
#include "fake-device.h"
#include "support.h"
#endif

/* BY_VALUES: values are wrong, and neither the device nor an error says so. */
enum verdict { UNSEEN, SEEN, BY_VALUES, VERDICTS };

/*
 * Opens the fake device, without this call of those with this name (fake_device_skip_call()), or
 * with all of them (NULL), and runs a program on it.
 */
typedef enum verdict (*mutant)(const char *name, uint64_t number, unsigned pause_us);

struct outcome {
	enum verdict verdict;
	uint64_t calls; /* with the name */
	char next[32];  /* name of the call that uses the device after the one left out */
};

static inline void name_calls(struct outcome *outcome, const char *name, uint64_t number)
{
	const char *other;

	for (uint64_t n = 0; (other = fake_device_call_name(n)); n++) {
		if (outcome->calls == number + 1 && !*outcome->next && !strstr(other, "Ctx") &&
		    !strstr(other, "MemHost") && !strstr(other, "Query"))
			snprintf(outcome->next, sizeof outcome->next, "%s", other);
		outcome->calls += strcmp(other, name) == 0;
	}
}

/* In a child, since poison that is used as an index may end the process. That is a fault seen. */
static inline struct outcome run_mutant(mutant run, const char *name, const char *left_out,
					uint64_t number, unsigned pause_us)
{
	struct outcome outcome = {UNSEEN, 0, ""};
	int ends[2];
	pid_t child;

	if (pipe(ends))
		abort();
	child = fork();
	if (child == 0) {
		alarm(100);
		outcome.verdict = run(left_out, number, pause_us);
		name_calls(&outcome, name, number);
		_exit(write(ends[1], &outcome, sizeof outcome) != (ssize_t)sizeof outcome);
	}
	close(ends[1]);
	if (read(ends[0], &outcome, sizeof outcome) != (ssize_t)sizeof outcome) {
		outcome.verdict = SEEN;
		outcome.calls = UINT64_MAX;
	}
	close(ends[0]);
	waitpid(child, NULL, 0);
	return outcome;
}

/*
 * Returns true if the program waits again before it uses the device, so that the wait that was left
 * out is not missed. If the program does not wait twice, no call is harmless.
 */
static inline bool is_harmless(const struct outcome *outcome, bool waits_twice)
{
	return waits_twice && outcome->verdict == UNSEEN &&
	       (strstr(outcome->next, "Synchronize") || strstr(outcome->next, "EventRecord"));
}

/* On a busy machine other threads may need a longer pause. */
static inline struct outcome without(mutant run, const char *name, uint64_t number,
				     bool waits_twice)
{
	struct outcome outcome = {UNSEEN, UINT64_MAX, ""};

	for (unsigned pause_us = 1000; pause_us < 1000000; pause_us *= 3) {
		outcome = run_mutant(run, name, name, number, pause_us);
		if (outcome.verdict != UNSEEN || is_harmless(&outcome, waits_twice))
			break;
	}
	return outcome;
}

/* Leaves out each call with this name, and counts the verdicts on those that are not harmless. */
static inline void leave_out_each(const char *name, mutant run, bool waits_twice,
				  unsigned number_of[VERDICTS])
{
	struct outcome whole = run_mutant(run, name, NULL, 0, 0);

	memset(number_of, 0, VERDICTS * sizeof *number_of);
	if (whole.verdict != UNSEEN)
		number_of[UNSEEN] = UINT32_MAX;
	for (uint64_t n = 0; n < whole.calls && whole.verdict == UNSEEN; n += is_brief() ? 3 : 1) {
		struct outcome outcome = without(run, name, n, waits_twice);

		/* In another order of threads a run may have fewer calls. */
		if (outcome.calls <= n || is_harmless(&outcome, waits_twice))
			continue;
		number_of[outcome.verdict]++;
		if (outcome.verdict != SEEN)
			tap_note("%s %llu of %llu before %s: verdict %d", name,
				 (unsigned long long)n, (unsigned long long)whole.calls,
				 outcome.next, (int)outcome.verdict);
	}
}

#endif
