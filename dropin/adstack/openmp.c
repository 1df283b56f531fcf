/* SPDX-License-Identifier: MIT */
/*
 * Schedules of OpenMP loops that the reverse sweep repeats, as adOMP offers them. A static schedule
 * is computed again. A dynamic schedule is recorded: each thread pushes the first and the last
 * iteration of each of its intervals onto its own stack, then the number of intervals.
 *
 * The library does not need an OpenMP runtime: a program without a runtime has one thread.
 */
#include "forms.h"

#include <errno.h>
#include <stdlib.h>

extern int omp_get_thread_num(void) __attribute__((weak));
extern int omp_get_num_threads(void) __attribute__((weak));

/* There is nothing to check: each thread always has a stack of its own. */
FORM(void, assertSafeStack, (void), {})
FORTRAN(void, assertsafestack, (void), {})

/* ---- Static ---- */

/* Each thread has one interval; the first trips % threads threads have one iteration more. */
static void static_schedule(int low, int high, int stride, int *first, int *last)
{
	int64_t threads = omp_get_num_threads ? omp_get_num_threads() : 1;
	int64_t thread = omp_get_thread_num ? omp_get_thread_num() : 0;
	int64_t trips, begin, count;

	if (!stride)
		reel_adstack_fail(-EINVAL, "getStaticSchedule: the stride of the loop is 0");
	trips = ((int64_t)high - low + stride) / stride;
	if (trips < 0)
		trips = 0;
	count = trips / threads + (thread < trips % threads);
	begin = thread * (trips / threads) + (thread < trips % threads ? thread : trips % threads);
	*first = count ? (int)(low + begin * stride) : stride;
	*last = count ? (int)(low + (begin + count - 1) * stride) : 0;
}

FORM(void, getStaticSchedule, (int low, int high, int stride, int *first, int *last),
     { static_schedule(low, high, stride, first, last); })
FORTRAN(void, getstaticschedule,
	(const int *low, const int *high, const int *stride, int *first, int *last),
	{ static_schedule(*low, *high, *stride, first, last); })

/* ---- Dynamic ---- */

/*
 * A loop that is being recorded. Loops nest: before a loop ends, its thread may begin a team and
 * record loops of that team.
 */
struct adstack_schedule {
	struct adstack_schedule *outer;
	int64_t intervals;
	int64_t previous;
	int first;
};

static void begin_schedule(void)
{
	struct adstack_schedule *schedule;

	reel_adstack_begin();
	schedule = reel_adstack_allocate(sizeof *schedule, "a dynamic schedule");
	schedule->outer = reel_adstack.stack.schedules;
	reel_adstack.stack.schedules = schedule;
}

static struct adstack_schedule *innermost(const char *caller)
{
	if (!reel_adstack.stack.schedules)
		reel_adstack_fail(-EINVAL, "%s without initDynamicSchedule() on this thread",
				  caller);
	return reel_adstack.stack.schedules;
}

static void record(int iteration, int stride)
{
	struct adstack_schedule *schedule = innermost("recordDynamicSchedule");
	bool goes_on = schedule->intervals && schedule->previous + stride == iteration;

	if (!goes_on) {
		if (schedule->intervals) {
			reel_adstack_push_Integer4(schedule->first);
			reel_adstack_push_Integer4((int)schedule->previous);
		}
		schedule->first = iteration;
		schedule->intervals++;
	}
	schedule->previous = iteration;
}

static void drop_schedule(void)
{
	struct adstack_schedule *schedule = reel_adstack.stack.schedules;

	reel_adstack.stack.schedules = schedule->outer;
	free(schedule);
}

static void end_schedule(void)
{
	struct adstack_schedule *schedule = innermost("finalizeDynamicSchedule");

	if (schedule->intervals) {
		reel_adstack_push_Integer4(schedule->first);
		reel_adstack_push_Integer4((int)schedule->previous);
	}
	reel_adstack_push_Integer4((int)schedule->intervals);
	drop_schedule();
}

void reel_adstack_schedules_end(void)
{
	while (reel_adstack.stack.schedules)
		drop_schedule();
}

FORM(void, initDynamicSchedule, (void), { begin_schedule(); })
FORM(void, recordDynamicSchedule, (int iteration, int stride), { record(iteration, stride); })
FORM(void, finalizeDynamicSchedule, (void), { end_schedule(); })
FORTRAN(void, initdynamicschedule, (void), { begin_schedule(); })
FORTRAN(void, recorddynamicschedule, (const int *iteration, const int *stride),
	{ record(*iteration, *stride); })
FORTRAN(void, finalizedynamicschedule, (void), { end_schedule(); })
