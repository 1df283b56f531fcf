/* SPDX-License-Identifier: MIT */
/*
 * Measures the time to use memory for the first time, when the system has to find and clear it.
 * Pieces are pushed on a tape of a new pool, popped, and pushed again: the second time the pool
 * has the memory already, so the difference is the cost. The caller's thread runs all of it. The
 * pool is closed at the end.
 */
#include "config.h"

#include <string.h>

#include "costs.h"
#include "os/clock.h"
#include "os/integer.h"
#include "pool/pool.h"
#include "tape/tape.h"

#define SAMPLE_BYTES ((uint64_t)64 << 20)
#define SAMPLE_SECONDS 20e-3
#define MAX_PIECE_BYTES ((uint64_t)1 << 16)

/*
 * Pushes at most `most` pieces in about `max_seconds` seconds. Returns the number of pieces and
 * sets *seconds to the time.
 */
static uint64_t push_pieces(reel_tape *tape, size_t piece_bytes, uint64_t most,
			    double max_seconds, double *seconds)
{
	double begin = reel_clock_seconds();
	uint64_t pieces = 0;

	for (*seconds = 0; pieces < most && *seconds < max_seconds; pieces++) {
		char *piece = reel_push_span(tape, char, piece_bytes);

		if (!piece)
			break;
		memset(piece, 1, piece_bytes);
		*seconds = reel_clock_seconds() - begin;
	}
	REEL_ASSERT(pieces <= most && *seconds >= 0);
	return pieces;
}

static int measure(reel_pool *pool, size_t piece_bytes, uint64_t most, double *seconds)
{
	double first, again;
	reel_tape tape;
	uint64_t pieces;
	int error;

	reel_tape_open(&tape, pool, 0);
	tape.flags |= REEL_TAPE_SILENT;
	pieces = push_pieces(&tape, piece_bytes, most, SAMPLE_SECONDS, &first);
	error = pieces ? 0 : reel_tape_error(&tape);
	/* The pop that mirrors the push that was refused, so that the tape takes pushes again. */
	if (reel_tape_error(&tape))
		(void)reel_pop_span(&tape, char, piece_bytes);
	reel_tape_clear_error(&tape);
	for (uint64_t i = 0; i < pieces; i++)
		(void)reel_pop_span(&tape, char, piece_bytes);
	if (push_pieces(&tape, piece_bytes, pieces, 1e9, &again) < pieces)
		again = first;
	reel_tape_close(&tape);
	*seconds = 0;
	if (pieces && again < first)
		*seconds = (first - again) / (double)(pieces * piece_bytes);
	return error;
}

static struct reel_pool_options options_like(reel_pool *pool)
{
	struct reel_pool_options options = {.magazine_slabs = 1};
	struct reel_pool_stats stats;

	if (!pool)
		return options;
	reel_pool_get_stats(pool, &stats);
	options.slab_bytes = options.first_slab_bytes = (size_t)stats.slab_bytes;
	if (stats.hard_budget != UINT64_MAX)
		options.hard_budget = (size_t)stats.hard_budget;
	return options;
}

/*
 * The new pool takes no more memory than is used, since its magazines are small. It has the slab
 * size and the budget of the tape's pool: a pool with a budget takes its memory in smaller pages.
 */
int reel_costs_measure_touch(const reel_tape *tape, uint64_t memory_bytes, double *seconds)
{
	struct reel_pool_options options = options_like(tape->pool);
	uint64_t bytes = memory_bytes ? reel_min_u64(memory_bytes / 4, SAMPLE_BYTES) : SAMPLE_BYTES;
	struct reel_pool_stats stats;
	size_t piece_bytes;
	reel_pool *pool;
	int error = reel_pool_open(&pool, &options);

	if (error)
		return error;
	reel_pool_get_stats(pool, &stats);
	piece_bytes = (size_t)reel_min_u64(stats.slab_bytes, MAX_PIECE_BYTES);
	REEL_ASSERT(piece_bytes > 0);
	error = measure(pool, piece_bytes, bytes / piece_bytes, seconds);
	reel_pool_close(pool);
	return error;
}
