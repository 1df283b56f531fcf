/* SPDX-License-Identifier: MIT */
/*
 * These cases measure the machine without Reel: how long it takes to write a large array and to
 * read it downwards, to send a word to another processor and back, to wake a thread, and to give a
 * process a page.
 */
#include "config.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/bench.h"

#define LARGE ((size_t)64 << 20)

static double *array;

static double run_store(void *context, size_t n)
{
	(void)context;
	for (size_t i = 0; i < n; i++)
		array[i] = bench_value(i);
	return array[n / 2];
}

static double run_load(void *context, size_t n)
{
	uint64_t mix = 0;

	(void)context;
	for (size_t i = n; i-- > 0;)
		mix = bench_mix(mix, array[i]);
	return (double)mix;
}

#if defined(__SSE2__)
#include <emmintrin.h>

static double run_store_past_cache(void *context, size_t n)
{
	(void)context;
	for (size_t i = 0; i < n; i += 2)
		_mm_stream_pd(&array[i], _mm_set_pd(bench_value(i + 1), bench_value(i)));
	_mm_sfence();
	return array[n / 2];
}
#endif

/* ---- Two threads ---- */

static void need(bool done, const char *what)
{
	if (done)
		return;
	fprintf(stderr, "%s: floor/: %s failed\n", bench_program, what);
	exit(1);
}

static struct {
	_Alignas(128) _Atomic size_t word; /* even: the first thread's turn */
	sem_t turn[2];
} shared;

/* Relaxed, in both: the word guards no memory. */
static void spin(size_t thread, size_t n)
{
	for (size_t i = thread; i < 2 * n; i += 2) {
		while (atomic_load_explicit(&shared.word, memory_order_relaxed) != i)
			;
		atomic_store_explicit(&shared.word, i + 1, memory_order_relaxed);
	}
}

static void sleep_and_wake(size_t thread, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		need(!sem_wait(&shared.turn[thread]), "a semaphore");
		need(!sem_post(&shared.turn[!thread]), "a semaphore");
	}
}

struct turns {
	void (*take)(size_t thread, size_t n);
	size_t n;
};

static void *take_turns(void *argument)
{
	const struct turns *turns = argument;

	turns->take(1, turns->n);
	return NULL;
}

static double by_two(void (*take)(size_t thread, size_t n), size_t n)
{
	struct turns turns = {take, n};
	pthread_t other;

	atomic_store_explicit(&shared.word, 0, memory_order_relaxed);
	need(!sem_init(&shared.turn[0], 0, 1) && !sem_init(&shared.turn[1], 0, 0), "a semaphore");
	need(!pthread_create(&other, NULL, take_turns, &turns), "a thread");
	take(0, n);
	need(!pthread_join(other, NULL), "a thread");
	return 0;
}

static double send_words(void *context, size_t n)
{
	(void)context;
	return by_two(spin, n);
}

/* A turn of both threads has two wakes. */
static double wake_threads(void *context, size_t n)
{
	(void)context;
	return by_two(sleep_and_wake, n / 2 / THOUSAND);
}

/* ---- Pages ---- */

#define PAGE ((size_t)4096)

static double touch_pages(void *context, size_t n)
{
	size_t pages = n / THOUSAND;
	char *memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	double last;

	(void)context;
	need(memory != MAP_FAILED, "mmap()");
#ifdef MADV_NOHUGEPAGE
	madvise(memory, pages * PAGE, MADV_NOHUGEPAGE);
#endif
	for (size_t i = 0; i < pages; i++)
		memory[i * PAGE] = 1;
	last = memory[(pages - 1) * PAGE];
	munmap(memory, pages * PAGE);
	return last;
}

static void bench_machine(void)
{
	static const struct measure_variant word = {.name = "there and back", .run = send_words},
					    wake = {.name = "a wake", .run = wake_threads},
					    page = {.name = "a page of 4 KiB", .run = touch_pages};
	static const struct bench_case cases[] = {
		{"floor/word", &word, 1, 0, {1 << 20}, 1 << 20, 9},
		{"floor/wake", &wake, 1, 0, {10000 * THOUSAND}, 10000 * THOUSAND, 9},
		{"floor/page", &page, 1, 0, {10000 * THOUSAND}, 10000 * THOUSAND, 9},
	};

	/* Threads that spin on one processor keep each other from it. */
	for (size_t c = sysconf(_SC_NPROCESSORS_ONLN) < 2; c < COUNT_OF(cases); c++)
		bench_run(&cases[c]);
}

void bench_floor(void)
{
	static const struct measure_variant variants[] = {
		{.name = "store", .run = run_store},
#if defined(__SSE2__)
		{.name = "store past the cache", .run = run_store_past_cache},
#endif
		{.name = "load, descending", .run = run_load},
	};
	static const struct bench_case one = {
		"floor/stream", variants, COUNT_OF(variants), 0, {LARGE}, LARGE, 9};

	bench_machine();
	if (!bench_wants(&one, 1))
		return;
	array = bench_memory(LARGE * sizeof *array);
	bench_run(&one);
	bench_memory_free(array, LARGE * sizeof *array);
}
