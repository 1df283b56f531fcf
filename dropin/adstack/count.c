/* SPDX-License-Identifier: MIT */
/*
 * REEL_STATS=1: counts the pushes and pops of each thread by type, and the maximum
 * height of its stack. A thread writes its own counts only. The report runs at exit and
 * reads the counts of all threads; a thread that still pushes then is counted in part.
 */
#include "stack.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/cancel.h"
#include "os/environment.h"
#include "os/signals.h"

struct adstack_count {
	uint64_t pushes;
	uint64_t pops;
	uint64_t pushed_bytes;
	uint64_t popped_bytes;
};

/* The counts of one thread. They outlive the thread, because the report needs them. */
struct adstack_counts {
	struct adstack_counts *next;
	unsigned thread;
	uint64_t peak;
	struct adstack_count type[REEL_ADSTACK_TYPES];
};

static bool counting;
static _Atomic(struct adstack_counts *) threads;

bool reel_adstack_is_counting(void)
{
	struct adstack_counts *counts;

	if (!counting || reel_adstack.counts)
		return counting;
	counts = reel_adstack_allocate(sizeof *counts, "REEL_STATS");
	counts->thread = reel_adstack.number;
	/* Relaxed is enough: the exchange below fails if the list has changed since. */
	counts->next = atomic_load_explicit(&threads, memory_order_relaxed);
	/* Release: pairs with the acquire in report(). Makes the members of `counts` visible. */
	while (!atomic_compare_exchange_weak_explicit(&threads, &counts->next, counts,
						      memory_order_release, memory_order_relaxed))
		;
	reel_adstack.counts = counts;
	return true;
}

static struct adstack_count sum_of(const struct adstack_counts *counts)
{
	struct adstack_count sum = {0};

	for (size_t type = 0; type < REEL_ADSTACK_TYPES; type++) {
		sum.pushes += counts->type[type].pushes;
		sum.pops += counts->type[type].pops;
		sum.pushed_bytes += counts->type[type].pushed_bytes;
		sum.popped_bytes += counts->type[type].popped_bytes;
	}
	return sum;
}

static void report_count(unsigned thread, const char *what, const struct adstack_count *count)
{
	fprintf(stderr,
		"reel: adstack: thread %u: %s: %llu pushed, %llu bytes; %llu popped, %llu bytes\n",
		thread, what, (unsigned long long)count->pushes,
		(unsigned long long)count->pushed_bytes, (unsigned long long)count->pops,
		(unsigned long long)count->popped_bytes);
}

static void report_thread(const struct adstack_counts *counts)
{
	const struct adstack_count all = sum_of(counts);

	fprintf(stderr, "reel: adstack: thread %u: peak %llu bytes\n", counts->thread,
		(unsigned long long)counts->peak);
	report_count(counts->thread, "all types", &all);
	for (size_t type = 0; type < REEL_ADSTACK_TYPES; type++)
		if (counts->type[type].pushes || counts->type[type].pops)
			report_count(counts->thread, reel_adstack_types[type].type.name,
				     &counts->type[type]);
}

/* The report begins with the thread that began last. */
static void report(void)
{
	REEL_UNCANCELLED;
	REEL_UNSIGNALLED;
	/* Acquire: pairs with the release in reel_adstack_is_counting(), and shows the members. */
	const struct adstack_counts *counts = atomic_load_explicit(&threads, memory_order_acquire);

	for (; counts; counts = counts->next)
		report_thread(counts);
}

void reel_adstack_counts_start(void)
{
	const char *text = reel_environment("REEL_STATS");

	/* The library refuses texts other than 0, 1 and live. */
	if (text && !strcmp(text, "1"))
		counting = !atexit(report);
}

/* The caller moves the top after this call, so the height must include `bytes`. */
void reel_adstack_count_push(enum reel_adstack_type type, size_t bytes)
{
	struct adstack_counts *counts = reel_adstack.counts;

	counts->type[type].pushes++;
	counts->type[type].pushed_bytes += bytes;
	if (reel_adstack_height() + bytes > counts->peak)
		counts->peak = reel_adstack_height() + bytes;
}

void reel_adstack_count_pop(enum reel_adstack_type type, size_t bytes)
{
	struct adstack_counts *counts = reel_adstack.counts;

	counts->type[type].pops++;
	counts->type[type].popped_bytes += bytes;
}

uint64_t reel_adstack_counted_traffic(void)
{
	struct adstack_count all;

	if (!reel_adstack.counts)
		return 0;
	all = sum_of(reel_adstack.counts);
	return all.pushed_bytes + all.popped_bytes;
}

uint64_t reel_adstack_counted_peak(void)
{
	return reel_adstack.counts ? reel_adstack.counts->peak : 0;
}
