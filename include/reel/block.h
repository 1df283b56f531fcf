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
 * steps in blocks of B the tape holds n / B snapshots and B steps' values. It is
 * the smallest kind of checkpointing: one level, even blocks.
 */
#ifndef REEL_BLOCK_H
#define REEL_BLOCK_H

#include <reel/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Choose the steps of a block: as many as fit half of the second-level cache
 * with their values and a snapshot, at least 1, at most `steps`. The values of
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
