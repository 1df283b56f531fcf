/* SPDX-License-Identifier: MIT */
/*
 * Audit, progress and trace of a run: they observe how it carries its plan out, and a sweep calls
 * these functions to tell them.
 */
#ifndef REEL_LIB_WATCH_H
#define REEL_LIB_WATCH_H

#include "checkpoint/run/run.h"

/*
 * run-progress.c: opens the listeners that REEL_PROGRESS and the options ask for. Returns 0 or
 * -ENOMEM.
 */
int reel_progress_open(reel_run *run);
void reel_progress_close(reel_run *run);
/* Forgets all that was measured: a forward sweep begins, or a run is resumed. */
void reel_progress_begin(reel_run *run);
/*
 * Counts the steps that the plan still takes, from the next action of `run->schedule` on. Without
 * memory, in a very long plan, or where the number of steps is not known, the time left stays
 * unknown.
 */
void reel_progress_count(reel_run *run);
/* A sweep begins, or goes on; it has ended, in whatever way, and shows no lines any more. */
void reel_progress_go_on(reel_run *run);
void reel_progress_end(reel_run *run);
/*
 * Counts a piece that took `ns` and did not fail, and tells how far the run is if that is due. Any
 * thread.
 */
void reel_progress_note(reel_run *run, const reel_action *piece, uint64_t ns);
/*
 * Time in ns that all pieces which are left will take, one after the other; below 0: not known. For
 * tests. The thread that owns the run, while no piece is under way.
 */
double reel_progress_left(const reel_run *run);

/*
 * run-audit.c: returns true if the run compares states with their earlier values (REEL_RUN_AUDIT).
 */
bool reel_run_audits(const reel_run *run);
/*
 * Compares state `step` with its earlier value, if the run audits and has seen it before. A
 * callback has led from state `from` to it; `from` is `step` if the state was stored or loaded.
 * Returns 0, -EILSEQ or -ENOMEM.
 */
int reel_audit_state(reel_run *run, void *context, const void *state, int64_t from, int64_t step);
void reel_audit_begin(reel_run *run);
void reel_audit_end(reel_run *run);

#endif
