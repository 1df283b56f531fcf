/* SPDX-License-Identifier: MIT */
/*
 * Tests cancellation by OpenMP: one thread leaves the parallel region while other threads wait for
 * it in calls of Reel. An error ends their waits, also if the clock of the system is set back
 * meanwhile. Then they reach a cancellation point, as LLVM's runtime demands.
 */
#include "config.h"

#include "helpers/clock-back.h"
#include "helpers/omp-reports.h"
#include "helpers/support.h"

#include <errno.h>
#include <omp.h>
#include <unistd.h>

#include <reel/region.h>

#define THREADS 2

static int run_threads(void)
{
	int threads = 0;

#pragma omp parallel num_threads(THREADS)
#pragma omp single
	threads = omp_get_num_threads();
	return threads;
}

/* Thread 0 waits at the barrier, and thread 1 leaves. */
static void test_barrier(void)
{
	reel_lane *root;
	reel_region *region;

	tap_case("a barrier");
	is_int(reel_lane_open(&root, NULL, 0), 0, "a root opens");
	await_report("the parallel region was cancelled");
	region = reel_region_begin(root, 0);
#pragma omp parallel num_threads(THREADS)
	{
		reel_worker worker = reel_worker_of(region);

		reel_worker_next(&worker);
		if (worker.thread == 1) {
#pragma omp cancel parallel
		}
		reel_worker_barrier(&worker);
		is_int(reel_worker_next(&worker), 0, "no lane is given out");
#pragma omp cancellation point parallel
	}
	is_int(reel_region_end(region), -EINVAL, "nobody waits");
	ok(awaited_report.came, "the report says why");
	reel_lane_close(root);
}

/* Lane 1 has the last turn, and its thread leaves. */
static void test_turn(void)
{
	static reel_ordered order;
	reel_lane *root;
	reel_region *region;

	tap_case("a turn");
	is_int(reel_lane_open(&root, NULL, 0), 0, "a root opens");
	region = reel_region_begin(root, THREADS);
#pragma omp parallel num_threads(THREADS)
	{
		reel_worker worker = reel_worker_of(region);

		reel_worker_next(&worker);
		if (worker.thread == 0)
			reel_ordered_note(worker.lane, &order);
#pragma omp barrier
		if (worker.thread == 1)
			reel_ordered_note(worker.lane, &order);
	}
	is_int(reel_region_end(region), 0, "two lanes note a turn each");
	await_report("the parallel region was cancelled");
	region = reel_region_reverse(root);
#pragma omp parallel num_threads(THREADS)
	{
		reel_worker worker = reel_worker_of(region);

		reel_worker_next(&worker);
		if (worker.thread == 1) {
#pragma omp cancel parallel
		}
		reel_ordered_await(worker.lane, &order);
#pragma omp cancellation point parallel
	}
	is_int(reel_region_end(region), -EINVAL, "nobody waits");
	ok(awaited_report.came, "the report says why");
	reel_lane_close(root);
}

int main(int argc, char **argv)
{
	(void)argc;
	/* OpenMP reads the variable when a program starts, so the program starts itself again. */
	if (!getenv("OMP_CANCELLATION")) {
		setenv("OMP_CANCELLATION", "true", 0);
		execv("/proc/self/exe", argv);
	}
	tap_begin();
	if (OMP_IS_UNSEEN)
		tap_skip_all("nothing tells the sanitizer of this runtime's barriers");
	if (!omp_get_cancellation() || run_threads() < THREADS)
		tap_skip_all("the runtime cancels nothing, or gives one thread");
	alarm(60);
	test_barrier();
	test_turn();
	return tap_end();
}
