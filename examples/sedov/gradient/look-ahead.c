/* SPDX-License-Identifier: MIT */
#include "look-ahead.h"

#ifdef _OPENMP

#include <stdlib.h>

#include <reel/omp.h>

#include "common/parallel.h"
#include "common/report.h"

#define TAPES_OF_A_THREAD 2
#define MIN(a, b) ((a) < (b) ? (a) : (b))

static void *open_state(void *context)
{
	const struct loop *loop = context;
	struct state *state = allocate(1, sizeof(*state));

	*state = state_create(loop->model->mesh);
	return state;
}

static void close_state(void *context, void *state)
{
	(void)context;
	state_destroy(state);
	free(state);
}

bool look_ahead_is_there(void)
{
	return true;
}

/* A step calculates in the fields of its loop, so each state is replayed with a loop of its own. */
int look_ahead_reverse(reel_run *run, struct loop *loop, struct state *state,
		       struct loop_adjoint *adjoint)
{
	const int threads = default_threads();
	const int loops = MIN(TAPES_OF_A_THREAD * threads, REEL_OMP_MAX_TAPES) + 1;
	struct loop *own = allocate((size_t)loops, sizeof(*own));
	void **contexts = allocate((size_t)loops, sizeof(*contexts));
	struct reel_omp_options options = {
		.threads = threads, .tapes = (unsigned)loops - 1,
		.open_state = open_state, .close_state = close_state, .contexts = contexts,
	};
	int error;

	for (int k = 0; k < loops; k++) {
		own[k] = loop_open_beside(loop);
		contexts[k] = &own[k];
	}
	error = reel_omp_run_reverse(run, loop, state, adjoint, &options, NULL);
	for (int k = 0; k < loops; k++)
		loop_close(&own[k]);
	free(contexts);
	free(own);
	return error;
}

#else

bool look_ahead_is_there(void)
{
	return false;
}

int look_ahead_reverse(reel_run *run, struct loop *loop, struct state *state,
		       struct loop_adjoint *adjoint)
{
	return reel_run_reverse(run, loop, state, adjoint);
}

#endif
