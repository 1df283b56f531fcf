/* SPDX-License-Identifier: MIT */
/* Parallel regions in which nothing happens: recorded and reversed, and run twice. */
#include "config.h"

#include "scale.h"

#ifdef _OPENMP

#include <stdlib.h>

#include <reel/region.h>

static void bind_team(int threads)
{
#pragma omp parallel num_threads(threads)
	places_bind(&scale.places, omp_get_thread_num());
}

static double run_twice(int threads, size_t regions)
{
	double begun = measure_seconds();

	for (size_t i = 0; i < 2 * regions; i++)
#pragma omp parallel num_threads(threads)
		/* So that the region is not empty to the compiler. */
		__asm__ volatile("" ::: "memory");
	return measure_seconds() - begun;
}

static void visit_lanes(reel_region *region, int threads)
{
#pragma omp parallel num_threads(threads)
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker))
			;
	}
}

static double record_and_reverse(int threads, size_t regions)
{
	double begun;
	reel_lane *root;
	reel_region *region;

	if (reel_lane_open(&root, NULL, 0))
		abort();
	begun = measure_seconds();
	for (size_t i = 0; i < regions; i++) {
		region = reel_region_begin(root, 0);
		visit_lanes(region, threads);
		if (reel_region_end(region))
			abort();
		region = reel_region_reverse(root);
		visit_lanes(region, threads);
		if (reel_region_end(region))
			abort();
	}
	begun = measure_seconds() - begun;
	reel_lane_close(root);
	return begun;
}

void scale_bench_regions(void)
{
	static const struct measure_variant variants[] = {
		{.name = "two parallel regions"},
		{.name = "recorded and reversed"},
		{.name = "difference"},
	};
	double samples[COUNT_OF(variants)][MAX_SCALE_ROUNDS];
	struct measure_result results[COUNT_OF(variants)];

	for (size_t c = 0; c < scale.threads.count; c++) {
		int threads = scale.threads.of[c];
		size_t regions = scale.quick ? 100 : 20000;

		/* Threads that wait for a processor take a thousand times as long. */
		if (threads > scale.processors)
			regions /= 50;
		bind_team(threads);
		record_and_reverse(threads, regions / 10 + 1);
		for (unsigned r = 0; r < scale.rounds; r++) {
			samples[0][r] = 1e9 * run_twice(threads, regions) / (double)regions;
			samples[1][r] =
				1e9 * record_and_reverse(threads, regions) / (double)regions;
			samples[2][r] = samples[1][r] - samples[0][r];
		}
		for (size_t v = 0; v < COUNT_OF(variants); v++)
			results[v] = measure_summary(samples[v], scale.rounds);
		scale_report("scale/region/empty", variants, COUNT_OF(variants), threads,
			     "ns/region", results);
	}
}

#else

void scale_bench_regions(void)
{
}

#endif
