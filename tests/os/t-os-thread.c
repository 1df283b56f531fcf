/* SPDX-License-Identifier: MIT */
/* Threads of the library may run on all processors, though the thread that starts them is bound. */
#include <config.h>

#include <sched.h>

#include "helpers/pool-support.h"
#include "os/os-thread.h"

#ifdef __linux__
static void *return_at_once(void *unused)
{
	return unused;
}

static bool bind_to(size_t processor)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(processor, &one);
	return !pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

/* Whether the offload thread of a pool that this thread opens may run on these processors. */
static bool offload_thread_has(const cpu_set_t *processors)
{
	struct reel_pool_options options = {.hard_budget = (size_t)16 << 20};
	reel_pool *pool;
	cpu_set_t seen;

	if (reel_store_open(&options.store, "memory=16M", NULL))
		abort();
	pool = open_pool(options);
	pthread_getaffinity_np(reel_offload_of(pool)->thread, sizeof seen, &seen);
	reel_pool_close(pool);
	return CPU_EQUAL(&seen, processors);
}

static void threads_are_not_bound_with_their_starter(void)
{
	cpu_set_t all, own;
	pthread_t thread;
	size_t last = CPU_SETSIZE;

	if (pthread_getaffinity_np(pthread_self(), sizeof all, &all) || CPU_COUNT(&all) < 2) {
		tap_skip(4, "the process has one processor, or more than a cpu_set_t can tell");
		return;
	}
	ok(offload_thread_has(&all), "an offload thread has the processors of the process");
	while (!CPU_ISSET(--last, &all))
		;
	if (!bind_to(last))
		abort();
	ok(offload_thread_has(&all),
	   "an offload thread has all processors, though the thread that opens the pool has one");
	pthread_getaffinity_np(pthread_self(), sizeof own, &own);
	ok(CPU_COUNT(&own) == 1 && CPU_ISSET(last, &own),
	   "the thread that opened the pool stays bound");
	is_int(reel_os_thread_start(&thread, return_at_once, NULL, "short"), 0,
	       "a thread that ends at once is started");
	pthread_join(thread, NULL);
	pthread_setaffinity_np(pthread_self(), sizeof all, &all);
}
#else
static void threads_are_not_bound_with_their_starter(void)
{
	tap_skip(1, "it is not known here how to bind a thread");
}
#endif

int main(void)
{
	tap_begin();
	threads_are_not_bound_with_their_starter();
	return tap_end();
}
