/* SPDX-License-Identifier: MIT */
/*
 * What libreel-omp needs of a run and programs do not: exported, with a private symbol version, and
 * free to change with each release.
 */
#ifndef REEL_LIB_RUN_ATTEMPT_H
#define REEL_LIB_RUN_ATTEMPT_H

#include <reel/plan.h>

#define REEL_RUN_MESSAGE 256

/*
 * As reel_run_carry_out(), but what goes wrong is written to `message` instead of the run's
 * message: for those who may try again, or who report what comes first in the order of actions.
 */
int reel_run_attempt(reel_run *run, const reel_action *action, void *context, void *state,
		     void *adjoint, reel_tape *tape, char message[REEL_RUN_MESSAGE]);

/*
 * For those with tapes of their own: after `reversed`, a REVERSE that leaves no steps on the tape
 * which are recorded and not reversed, see that the tape is empty. A run looks after its own tape.
 * Returns 0; or the tape's error, which is -EBADMSG if it is not, and says so in `message`.
 */
int reel_run_check_balance(reel_run *run, const reel_action *reversed, reel_tape *tape,
			   char message[REEL_RUN_MESSAGE]);

/* What it was opened with; the default pool by its address. */
const reel_model *reel_run_model(const reel_run *run);
reel_pool *reel_run_pool(const reel_run *run);
unsigned reel_run_flags(const reel_run *run);

#endif
