/* SPDX-License-Identifier: MIT */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "spill/thread/thread.h"
#include "stress.h"

#define LOOK_EVERY_NS 200000000

struct stress_worker stress_workers[MAX_WORKERS];
bool stress_in_child;

static struct {
	pthread_t thread;
	_Atomic bool stop;
	uint64_t began;
	pthread_mutex_t lock;
	struct stress_stage *stage; /* under the lock */
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER};

double stress_seconds(void)
{
	return 1e-9 * (double)(reel_clock_ns() - watch.began);
}

uint64_t stress_operations(void)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < MAX_WORKERS; i++)
		sum += atomic_load_explicit(&stress_workers[i].operations, memory_order_relaxed);
	return sum;
}

void stress_watch_stage(struct stress_stage *stage)
{
	pthread_mutex_lock(&watch.lock);
	watch.stage = stage;
	pthread_mutex_unlock(&watch.lock);
}

static uint64_t faults_so_far(void)
{
	uint64_t faults = stress_faults;

	pthread_mutex_lock(&watch.lock);
	if (watch.stage)
		faults += stress_store_faults(&watch.stage->store);
	pthread_mutex_unlock(&watch.lock);
	return faults;
}

static void show_progress(void)
{
	double seconds = stress_seconds();
	uint64_t operations = stress_operations();

	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%.0f s  %llu operations  %.0f a second  %llu faults\033[K",
			seconds, (unsigned long long)operations, (double)operations / seconds,
			(unsigned long long)faults_so_far());
}

void stress_watch(struct stress_worker *worker)
{
	stress_at(worker, "begins", 0);
	atomic_store_explicit(&worker->watched, true, memory_order_relaxed);
}

void stress_unwatch(struct stress_worker *worker)
{
	atomic_store_explicit(&worker->watched, false, memory_order_relaxed);
}

static bool hangs(struct stress_worker *worker, uint64_t now)
{
	uint64_t operations = atomic_load_explicit(&worker->operations, memory_order_relaxed);

	if (operations != worker->seen ||
	    !atomic_load_explicit(&worker->watched, memory_order_relaxed)) {
		worker->seen = operations;
		worker->seen_at = now;
	}
	return now - worker->seen_at > stress_options.patience * UINT64_C(1000000000);
}

static void *look(void *unused)
{
	struct timespec pause = {.tv_nsec = LOOK_EVERY_NS};

	(void)unused;
	for (unsigned i = 0; i < MAX_WORKERS; i++)
		stress_workers[i].seen_at = reel_clock_ns();
	while (!watch.stop) {
		nanosleep(&pause, NULL);
		show_progress();
		for (unsigned i = 0; i < MAX_WORKERS; i++)
			if (hangs(&stress_workers[i], reel_clock_ns()))
				stress_fail("thread %u hangs", i);
	}
	return NULL;
}

void stress_watch_begin(void)
{
	watch.began = reel_clock_ns();
	if (stress_options.schedule != SCHEDULE_FREE)
		return;
	if (pthread_create(&watch.thread, NULL, look, NULL))
		abort();
}

void stress_watch_end(void)
{
	if (stress_options.schedule != SCHEDULE_FREE)
		return;
	watch.stop = true;
	pthread_join(watch.thread, NULL);
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

/* ---- Running ---- */

struct run {
	struct stress_worker *worker;
	void (*body)(struct stress_worker *worker, void *context);
	void *context;
};

static void *run_one(void *argument)
{
	struct run *run = argument;

	stress_watch(run->worker);
	run->body(run->worker, run->context);
	stress_unwatch(run->worker);
	return NULL;
}

void stress_run(unsigned threads, void (*body)(struct stress_worker *worker, void *context),
		void *context)
{
	pthread_t thread[MAX_WORKERS];
	struct run run[MAX_WORKERS];

	for (unsigned i = 1; i <= threads; i++) {
		run[i] = (struct run){&stress_workers[i], body, context};
		if (pthread_create(&thread[i], NULL, run_one, &run[i]))
			abort();
	}
	for (unsigned i = 1; i <= threads; i++)
		pthread_join(thread[i], NULL);
}

/* Of a child, which the watch does not see: a machine with much to do is no hang. */
#define MIN_SECONDS 60

void stress_fork(struct stress_worker *worker, void (*body)(void *context), void *context)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		stress_in_child = true;
		alarm(stress_options.patience < MIN_SECONDS ? MIN_SECONDS
							      : stress_options.patience);
		body(context);
		_exit(0);
	}
	stress_at(worker, "waits for its child", (uint64_t)child);
	if (child < 0)
		return;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			stress_fail("a child is not there");
	if (status)
		stress_fail("a child of a fork ended with status %x", (unsigned)status);
}
