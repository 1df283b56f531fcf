/* SPDX-License-Identifier: MIT */
/*
 * Leaves one call to Reel out of a program. The seed draws the kind of the call, and its number
 * among calls of this kind. In checked mode the program has to end with an error, or with right
 * numbers.
 */
#include <config.h>

#include <stdio.h>

#include "program.h"

/* Most programs have fewer calls of a kind than this. */
#define MAX_NUMBER 64

static const char *const names[OMISSIONS] = {
	[OMIT_PUSH] = "push", [OMIT_NOTE] = "note", [OMIT_STOP] = "stop", [OMIT_NEXT] = "next",
	[OMIT_PHASE] = "phase", [OMIT_LANE_PHASE] = "lane-phase", [OMIT_TASK_WAIT] = "task-wait",
	[OMIT_POP] = "pop", [OMIT_AWAIT] = "await", [OMIT_DONE] = "done", [OMIT_LOOP] = "loop",
	[OMIT_SINGLE] = "single", [OMIT_REGION] = "region", [OMIT_NEXT_REVERSE] = "next-reverse",
	[OMIT_PHASE_REVERSE] = "phase-reverse", [OMIT_WAIT_REVERSE] = "wait-reverse",
	[OMIT_TASK_REVERSE] = "task-reverse", [OMIT_TASK_END] = "task-end",
	[OMIT_REST] = "rest", [OMIT_REST_REVERSE] = "rest-reverse"};

static struct {
	enum omission omission;
	unsigned number;
	_Atomic unsigned calls;
	_Atomic bool done;
	uint64_t omitted[OMISSIONS], told[OMISSIONS];
} omit;

void program_draw_omission(struct stress_random *random)
{
	omit.done = false;
	omit.calls = 0;
	if (!stress_options.omit)
		return;
	omit.omission = (enum omission)stress_below(random, OMISSIONS);
	omit.number = stress_below(random, 1 + stress_below(random, MAX_NUMBER));
	if (stress_options.show)
		printf("# leaves out %s, number %u\n", names[omit.omission], omit.number);
}

bool program_omits(enum omission omission)
{
	/* Relaxed: a count. */
	if (!stress_options.omit || omission != omit.omission ||
	    atomic_fetch_add_explicit(&omit.calls, 1, memory_order_relaxed) != omit.number)
		return false;
	omit.done = true;
	return true;
}

bool program_has_omitted(void)
{
	return omit.done;
}

const char *program_omission(void)
{
	return names[omit.omission];
}

void program_count_omission(bool told)
{
	omit.omitted[omit.omission] += omit.done;
	omit.told[omit.omission] += omit.done && told;
}

void program_print_omissions(void)
{
	if (!stress_options.omit)
		return;
	printf("# calls that were left out, and of these how many were errors:");
	for (unsigned i = 0; i < OMISSIONS; i++)
		printf(" %s %llu %llu", names[i], (unsigned long long)omit.omitted[i],
		       (unsigned long long)omit.told[i]);
	putchar('\n');
}
