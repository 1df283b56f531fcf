/* SPDX-License-Identifier: MIT */
#include "look-ahead.h"

#ifdef LOOK_AHEAD

#include <stdlib.h>

#include <reel/omp.h>

#include "common/report.h"
#include "model/ranks.h"

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
static int reverse(reel_run *run, struct loop *loop, struct state *state, struct adjoint *adjoint,
		   struct reel_omp_options *options, struct look_ahead *use)
{
	struct reel_omp_stats stats;
	int error = reel_omp_run_reverse(run, loop, state, adjoint, options, &stats);

	*use = (struct look_ahead){stats.threads, stats.ahead, stats.max_tapes};
	return error;
}

/* The loop of a context: a copy of the program's with ranks of its own to exchange rows with. */
struct replay {
	struct loop loop;
	struct model model;
};

static void open_replay(struct replay *replay, const struct loop *loop, struct ranks *ranks)
{
	replay->model = *loop->model;
	replay->model.ranks = ranks;
	loop_open(&replay->loop, &replay->model, loop->chunk_rows);
	replay->loop.depth = loop->depth;
	replay->loop.gauge = loop->gauge;
	replay->loop.known = loop->known;
}

static int reverse_on_ranks(reel_run *run, struct loop *loop, struct state *state,
			    struct adjoint *adjoint, struct reel_omp_options *options,
			    struct look_ahead *use)
{
	struct ranks *ranks = loop->model->ranks, *copies;
	int tapes = 2 * options->threads, number, error;
	struct replay *replays;
	void **contexts;

	number = (tapes < REEL_OMP_MAX_TAPES ? tapes : REEL_OMP_MAX_TAPES) + 1;
	copies = ranks->open_copies(ranks, &number);
	replays = allocate((size_t)number, sizeof(*replays));
	contexts = allocate((size_t)number, sizeof(*contexts));
	for (int k = 0; k < number; k++) {
		open_replay(&replays[k], loop, &copies[k]);
		contexts[k] = &replays[k].loop;
	}
	options->tapes = (unsigned)number - 1;
	options->contexts = contexts;
	error = reverse(run, loop, state, adjoint, options, use);
	for (int k = 0; k < number; k++)
		loop_close(&replays[k].loop);
	ranks->close_copies(copies, number);
	free(contexts);
	free(replays);
	return error;
}

int look_ahead_reverse(reel_run *run, struct loop *loop, struct state *state,
		       struct adjoint *adjoint, int threads, struct look_ahead *use)
{
	struct reel_omp_options options = {
		.threads = threads, .open_state = open_state, .close_state = close_state};

	return (loop->model->ranks ? reverse_on_ranks : reverse)(run, loop, state, adjoint,
								 &options, use);
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
