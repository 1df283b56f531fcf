/* SPDX-License-Identifier: MIT */
/*
 * Tests the threads of the library in a program whose threads OpenMP binds. A runtime reads its
 * variables when it is loaded, so the test starts its program once more.
 */
#include <config.h>

#include <omp.h>
#include <sched.h>
#include <unistd.h>

#include "helpers/pool-support.h"

#ifdef __linux__
/* Runs in the second program, whose first thread OpenMP has bound. */
static void look(int processors)
{
	struct reel_pool_options options = {.hard_budget = (size_t)16 << 20};
	int threads = 0;
	cpu_set_t own, seen;

#pragma omp parallel reduction(+ : threads)
	threads++;
	pthread_getaffinity_np(pthread_self(), sizeof own, &own);
	tap_note("%d threads; the first one has %d of %d processors", threads, CPU_COUNT(&own),
		 processors);
	if (reel_store_open(&options.store, "memory=16M", NULL))
		abort();
	reel_pool *pool = open_pool(options);

	pthread_getaffinity_np(reel_offload_of(pool)->thread, sizeof seen, &seen);
	is_int(CPU_COUNT(&seen), processors, "an offload thread has all of them");
	reel_pool_close(pool);
}

/* Starts this program again with the variables of OpenMP. Returns only if that fails. */
static void start_bound(const char *program)
{
	char processors[16];
	cpu_set_t all;

	if (pthread_getaffinity_np(pthread_self(), sizeof all, &all))
		return;
	snprintf(processors, sizeof processors, "%d", CPU_COUNT(&all));
	setenv("OMP_PROC_BIND", "close", 1);
	setenv("OMP_PLACES", "threads", 1);
	execl(program, program, processors, (char *)NULL);
}
#else
static void look(int processors)
{
	(void)processors;
}

static void start_bound(const char *program)
{
	(void)program;
}
#endif

int main(int argc, char **argv)
{
	if (argc < 2)
		start_bound(argv[0]);
	tap_begin();
	if (argc > 1)
		look(atoi(argv[1]));
	else
		tap_skip(1, "no program can be started here with a known number of processors");
	return tap_end();
}
