/* SPDX-License-Identifier: MIT */
/* The callbacks of a loop. Runs (run.h) call them to run steps again. */
#ifndef REEL_MODEL_H
#define REEL_MODEL_H

#include <reel/tape.h>

/*
 * A primal with steps first, first + 1, ... last - 1, and the callbacks for its reversal. Each
 * callback returns 0 or its own error below 0, which ends the sweep and is returned. `context` is
 * passed through from the caller; everything that changes from step to step must be in `state`, so
 * that a step can be run again.
 *
 * A callback may leave by an exception of C++ or by longjmp(), as run.h says.
 */
typedef struct reel_model {
	/* The bytes of a snapshot; of the state itself if save and load are NULL. */
	size_t state_bytes;
	/* Run steps without recording. */
	int (*advance)(void *context, void *state, int64_t first, int64_t last);
	/* Run the same steps and push the values for their reversal. */
	int (*record)(void *context, void *state, int64_t first, int64_t last, reel_tape *tape);
	/* Reverse steps last - 1 down to first: pop the values of record. */
	int (*reverse)(void *context, void *adjoint, int64_t first, int64_t last,
		       reel_tape *tape);
	/* Copy the state to a snapshot and back. NULL: by memcpy(). */
	int (*save)(void *context, const void *state, void *snapshot);
	int (*load)(void *context, void *state, const void *snapshot);
} reel_model;

#endif
