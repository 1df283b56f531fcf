/* SPDX-License-Identifier: MIT */
/*
 * Block replay: a long loop whose tape would not fit the cache is reversed block
 * by block. The forward sweep runs the plain primal and pushes a snapshot of its
 * state before each block of steps; the reverse sweep loads the snapshot, records
 * the block again, on a tape that stays in the cache, and reverses it at once.
 *
 *	forward   [snapshot] primal ... [snapshot] primal ... [snapshot] record
 *	reverse                                                          reverse
 *	                                 load, record, reverse
 *	           load, record, reverse
 *
 * It costs one more run of the primal and saves the traffic of the tape: for n
 * steps in blocks of B the tape holds n / B snapshots and B steps' records. It is
 * the smallest kind of checkpointing: one level, even blocks.
 */
#ifndef REEL_BLOCK_H
#define REEL_BLOCK_H

#include <reel/tape.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A primal with steps first, first + 1, ... last - 1 and what its reversal needs.
 * Each callback returns 0 or an error of its own below 0, which ends the sweep
 * and is returned. `context` is what the caller passed; what changes from step
 * to step must be in `state`, so that a step can be run again.
 *
 * A callback may leave by an exception of C++ or by longjmp(). In block replay, close the tape
 * then: a reverse sweep that goes on does not find the values that it pops, which is an error.
 */
typedef struct reel_model {
	/* The bytes of a snapshot; of the state itself if save and load are NULL. */
	size_t state_bytes;
	/* Run steps without recording. */
	int (*advance)(void *context, void *state, int64_t first, int64_t last);
	/* Run the same steps and push what their reversal needs. */
	int (*record)(void *context, void *state, int64_t first, int64_t last, reel_tape *tape);
	/* Reverse steps last - 1 down to first: pop what record pushed. */
	int (*reverse)(void *context, void *adjoint, int64_t first, int64_t last,
		       reel_tape *tape);
	/*
	 * Copy the state to a snapshot and back. NULL: by memcpy(). In block replay snapshots
	 * lie on the tape, aligned to 8 bytes: what wants more is copied by memcpy().
	 */
	int (*save)(void *context, const void *state, void *snapshot);
	int (*load)(void *context, void *state, const void *snapshot);
} reel_model;

/*
 * Choose the steps of a block: as many as fit half of the second-level cache
 * with their records and a snapshot, at least 1, at most `steps`. The records of
 * a step are measured by recording the first one and dropping it again; `state`
 * is as it was afterwards.
 *
 * Returns the steps of a block, or an error below 0: a callback's, the tape's, or
 * -EINVAL for steps below 1.
 */
int64_t reel_block_steps(reel_tape *tape, const reel_model *model, void *context, void *state,
			 int64_t steps);

/*
 * The forward sweep: run `steps` steps from `state`, which is that after the last
 * step then. The last block is recorded, the others leave a snapshot each.
 * `block` is the steps of a block, at least 1.
 *
 * Returns 0, a callback's error, the tape's error, or -EINVAL.
 */
int reel_block_forward(reel_tape *tape, const reel_model *model, void *context, void *state,
		       int64_t steps, int64_t block);

/*
 * The reverse sweep of the same steps in the same blocks: pops all that the
 * forward sweep pushed. `state` is a buffer to replay in; its contents are lost.
 * `adjoint` is passed to model->reverse.
 *
 * Returns as reel_block_forward(); or -EBADMSG, model->reverse popped more or less than
 * model->record pushed, which sticks to the tape. After an error the tape is as far as it came.
 */
int reel_block_reverse(reel_tape *tape, const reel_model *model, void *context, void *state,
		       void *adjoint, int64_t steps, int64_t block);

#ifdef __cplusplus
}
#endif

#endif
