/* SPDX-License-Identifier: MIT */
/* Tests adjoints in teams of OpenMP, with its barriers. Any thread may run any lane. */
#include <config.h>

#include <errno.h>

#include "os/annotate.h"

#include "helpers/adjoint-support.h"

#define ELEMENTS 30000
#define LANES 4

static void add_everywhere(reel_adjoint *adjoint, unsigned lane)
{
	reel_adjoint_view view = reel_adjoint_lane(adjoint, lane);

	for (size_t i = 0; i < ELEMENTS; i++)
		reel_adjoint_add(&view, i, lane + 1);
}

static void a_team_reduces(int threads)
{
	static double array[ELEMENTS];
	struct reel_adjoint_options options = {.policy = REEL_ADJOINT_PRIVATE};
	reel_adjoint *adjoint = open_adjoint(array, ELEMENTS, options);
	unsigned wrong = 0;

	memset(array, 0, sizeof array);
	reel_adjoint_begin(adjoint, LANES);
#pragma omp parallel num_threads(threads) reduction(+ : wrong)
	for (unsigned turn = 1; turn <= 3; turn++) {
#pragma omp for schedule(dynamic, 1) nowait
		for (unsigned lane = 0; lane < LANES; lane++)
			add_everywhere(adjoint, lane);
		reel_adjoint_omp_reduce(adjoint);
		for (size_t i = 0; i < ELEMENTS; i++)
			wrong += array[i] != 10 * turn;
#pragma omp barrier
	}
	is_int(wrong, 0, "%d threads see complete sums", threads);
	is_int(reel_adjoint_end(adjoint), 0, "the sweep ends");
	reel_adjoint_close(adjoint);
}

static void a_team_has_phases(int threads)
{
	static double array[ELEMENTS];
	struct reel_adjoint_options options = {.policy = REEL_ADJOINT_OWNER,
					       .flags = REEL_ADJOINT_CHECKED};
	reel_adjoint *adjoint = open_adjoint(array, ELEMENTS, options);
	unsigned wrong = 0;

	memset(array, 0, sizeof array);
	reel_adjoint_begin(adjoint, LANES);
#pragma omp parallel num_threads(threads)
	for (int phase = LANES; phase-- > 0;) {
#pragma omp barrier
		reel_adjoint_phase(adjoint, phase);
#pragma omp for schedule(dynamic, 1) nowait
		for (unsigned lane = 0; lane < LANES; lane++) {
			reel_adjoint_view view = reel_adjoint_lane(adjoint, lane);

			for (size_t i = (lane + (unsigned)phase) % LANES; i < ELEMENTS; i += LANES)
				reel_adjoint_add(&view, i, 1);
		}
	}
	is_int(reel_adjoint_end(adjoint), 0, "%d threads: each element has an owner in each phase",
	       threads);
	for (size_t i = 0; i < ELEMENTS; i++)
		wrong += array[i] != LANES;
	is_int(wrong, 0, "sums are right");
	reel_adjoint_close(adjoint);
}

int main(void)
{
	setenv("OMP_WAIT_POLICY", "passive", 1);
	tap_begin();
#ifdef REEL_THREAD_SANITIZER
	tap_skip_all("ThreadSanitizer cannot see the barriers of OpenMP's runtime");
#endif
	for (int threads = 1; threads <= 3; threads++) {
		tap_case("a team");
		a_team_reduces(threads);
		a_team_has_phases(threads);
	}
	return tap_end();
}
