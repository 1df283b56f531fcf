/* SPDX-License-Identifier: MIT */
/*
 * The functions of a run that libreel-omp needs and programs do not: exported, with a private
 * symbol version, and free to change with each release.
 */
#ifndef REEL_LIB_RUN_LOOKAHEAD_H
#define REEL_LIB_RUN_LOOKAHEAD_H

#include <reel/plan.h>

/* ---- Exported as REEL_PRIVATE ------------------------------------------------ */

/*
 * Makes sure that `tape`, which is not the run's own, is empty after `reversed`: a REVERSE that
 * leaves no steps on the tape which are recorded and not reversed. Returns 0 or the tape's error,
 * which is -EBADMSG if the tape is not empty.
 */
int reel_run_check_balance(reel_run *run, const reel_action *reversed, reel_tape *tape);

/*
 * Takes the steps of `record` off the run's own tape, whether or not the RECORD has failed, and
 * clears the tape's error. `before` is the mark of the tape before the RECORD.
 */
void reel_run_take_back(reel_run *run, const reel_action *record, reel_mark before);

/* Before the first reel_run_take() of a sweep whose callbacks get this context. */
void reel_run_look_ahead(reel_run *run, void *context);

/* The arguments with which the run was opened. The default pool has its address here. */
const reel_model *reel_run_model(const reel_run *run);
reel_pool *reel_run_pool(const reel_run *run);
unsigned reel_run_flags(const reel_run *run);

#endif
