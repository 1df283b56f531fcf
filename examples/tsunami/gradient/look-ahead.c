/* SPDX-License-Identifier: MIT */
#include "look-ahead.h"

#ifdef LOOK_AHEAD

#include <stdlib.h>

#include <reel/omp.h>

#include "common/report.h"

static void *open_state(void *context)
{
	const struct loop *loop = context;
	struct state *state = allocate(1, sizeof(*state));

	*state = state_create(loop->model->grid);
	return state;
}

static void close_state(void *context, void *state)
{
	(void)context;
	state_destroy(state);
	free(state);
}

int look_ahead_is_there(void)
{
	return 1;
}

/* In the team of the sweep the regions of the callbacks are of one thread each. */
int look_ahead_reverse(reel_run *run, struct loop *loop, struct state *state,
		       struct adjoint *adjoint, int threads, struct look_ahead *use)
{
	struct reel_omp_options options = {
		.threads = threads, .open_state = open_state, .close_state = close_state};
	struct reel_omp_stats stats;
	int error = reel_omp_run_reverse(run, loop, state, adjoint, &options, &stats);

	*use = (struct look_ahead){stats.threads, stats.ahead, stats.max_tapes};
	return error;
}

#else

int look_ahead_is_there(void)
{
	return 0;
}

int look_ahead_reverse(reel_run *run, struct loop *loop, struct state *state,
		       struct adjoint *adjoint, int threads, struct look_ahead *use)
{
	(void)threads;
	*use = (struct look_ahead){0};
	return reel_run_reverse(run, loop, state, adjoint);
}

#endif
