/* SPDX-License-Identifier: MIT */
/*
 * A phase in which nothing happens: the barrier of Reel's workers, a collective span, and OpenMP's
 * barrier, beside two barriers that only spin. A model of barriers needs the times of a word that
 * goes to another processor and back, and of a word to which all threads add.
 */
#include "config.h"

#include "scale.h"

#ifdef _OPENMP

#include <stdlib.h>
#include <string.h>

#include <reel/region.h>

#include "common/barrier.h"

#define MAX_WAYS 5

static struct {
	struct spin_barrier spin;
	struct dissemination_barrier dissemination;
	_Alignas(BARRIER_LINE) _Atomic uint64_t word;
	_Alignas(BARRIER_LINE) reel_region *region;
} shared;

static void pass_runtime(int thread, int threads, size_t count)
{
	(void)thread, (void)threads;
	for (size_t i = 0; i < count; i++) {
#pragma omp barrier
	}
}

static void pass_spin(int thread, int threads, size_t count)
{
	uint64_t passed = 0;

	(void)thread;
	for (size_t i = 0; i < count; i++)
		spin_barrier_pass(&shared.spin, &passed, threads);
}

static void pass_dissemination(int thread, int threads, size_t count)
{
	uint64_t passed = 0;

	for (size_t i = 0; i < count; i++)
		dissemination_barrier_pass(&shared.dissemination, &passed, thread, threads);
}

static void pass_phases(int thread, int threads, size_t count)
{
	reel_worker worker = reel_worker_begin(shared.region, thread, threads);

	for (size_t i = 0; i < count; i++) {
		while (reel_worker_next(&worker))
			;
		reel_worker_barrier(&worker);
	}
}

static void pass_spans(int thread, int threads, size_t count)
{
	reel_worker worker = reel_worker_begin(shared.region, thread, threads);

	for (size_t i = 0; i < count; i++) {
		while (reel_worker_next(&worker))
			;
		if (!reel_worker_push_span(&worker, double, 1))
			abort();
	}
}

/* Relaxed: the word guards no memory. */
static void add_together(int thread, int threads, size_t count)
{
	(void)thread, (void)threads;
	for (size_t i = 0; i < count; i++)
		atomic_fetch_add_explicit(&shared.word, 1, memory_order_relaxed);
}

static void send_there_and_back(int thread, int threads, size_t count)
{
	uint64_t turn = (uint64_t)thread;

	(void)threads;
	for (size_t i = 0; i < count && thread < 2; i++, turn += 2) {
		barrier_await(&shared.word, turn);
		atomic_store_explicit(&shared.word, turn + 1, memory_order_release);
	}
}

typedef void way(int thread, int threads, size_t count);

/* Nanoseconds of one of `count` turns. */
static double measure(way *pass, int threads, size_t count)
{
	double begun = 0, ended = 0;
	reel_lane *root;

	if (reel_lane_open(&root, NULL, 0))
		abort();
	memset(&shared, 0, sizeof shared);
	shared.region = reel_region_begin(root, threads);
#pragma omp parallel num_threads(threads)
	{
		int thread = omp_get_thread_num();

		places_bind(&scale.places, thread);
#pragma omp barrier
#pragma omp master
		begun = measure_seconds();
		pass(thread, threads, count);
#pragma omp barrier
#pragma omp master
		ended = measure_seconds();
	}
	if (reel_region_end(shared.region))
		abort();
	reel_lane_close(root);
	return 1e9 * (ended - begun) / (double)count;
}

static void measure_ways(const char *name, const struct measure_variant *variants, way *const *ways,
			 size_t count, int threads)
{
	static double samples[MAX_WAYS][MAX_SCALE_ROUNDS];
	struct measure_result results[MAX_WAYS];
	size_t turns = scale.quick ? 1000 : 100000;

	/* Threads that wait for a processor take a thousand times as long. */
	if (threads > scale.processors)
		turns /= 100;
	for (unsigned r = 0; r < scale.rounds; r++)
		for (size_t w = 0; w < count; w++)
			samples[w][r] = measure(ways[w], threads, turns);
	for (size_t w = 0; w < count; w++)
		results[w] = measure_summary(samples[w], scale.rounds);
	scale_report(name, variants, count, threads, "ns", results);
}

void scale_bench_phases(void)
{
	static const struct measure_variant names[MAX_WAYS] = {
		{.name = "OpenMP's barrier"}, {.name = "reel_worker_barrier()"},
		{.name = "reel_worker_push_span()"}, {.name = "spin on one line"},
		{.name = "dissemination"},
	};
	static way *const ways[MAX_WAYS] = {pass_runtime, pass_phases, pass_spans, pass_spin,
					    pass_dissemination};
	static const struct measure_variant line_names[] = {{.name = "adds by all threads"},
							    {.name = "there and back"}};
	static way *const line_ways[] = {add_together, send_there_and_back};

	for (size_t c = 0; c < scale.threads.count; c++) {
		int threads = scale.threads.of[c];
		bool spins = threads <= scale.processors && threads <= BARRIER_MAX_THREADS;

		measure_ways("scale/phase/barrier", names, ways, spins ? MAX_WAYS : 3, threads);
		if (spins)
			measure_ways("scale/phase/line", line_names, line_ways,
				     threads > 1 ? 2 : 1, threads);
	}
}

#else

void scale_bench_phases(void)
{
}

#endif
