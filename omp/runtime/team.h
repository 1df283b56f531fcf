/* SPDX-License-Identifier: MIT */
/*
 * All calls of the OpenMP runtime. ThreadSanitizer cannot see into it, so team.c is compiled
 * without it, and bodies annotate the memory that they share with their caller.
 *
 * OpenMP gives the threads. Their next piece of work is chosen under locks of Reel's, and a thread
 * that finds nothing to do sleeps at a condition of Reel's. DESIGN.md, chapter 9, says why tasks of
 * OpenMP do not serve.
 */
#ifndef REEL_OMP_TEAM_H
#define REEL_OMP_TEAM_H

#include "config.h"

#include <stdbool.h>

#include "os/annotate.h"

/*
 * The cleanup of a variable that says whether a call has returned. If an exception of C++ ends the
 * call, the program ends with a message.
 */
void reel_omp_end_program(const bool *returned);

typedef void reel_omp_body(void *argument);

/* Number of threads that reel_omp_call() will use. With 0 threads OpenMP chooses. */
int reel_omp_threads(int threads);

/*
 * Calls body in `threads` threads at once, this one among them, and returns when all calls have
 * returned. Outside of a parallel region they are a team of their own; inside of one, threads of
 * the team join as they become free. Cancellation is disabled in each body, and in this thread
 * until all calls have returned.
 *
 * An exception may leave a body that is called in one thread, outside of a parallel region. Any
 * other exception ends the program.
 */
void reel_omp_call(int threads, reel_omp_body *body, void *argument);

/* Returns whether `omp cancel parallel` has an effect on this thread's team (OMP_CANCELLATION). */
bool reel_omp_is_cancellable(void);

/*
 * Returns whether a thread of this thread's team has executed that directive, and so leaves the
 * parallel region. Requires that the team is cancellable.
 */
bool reel_omp_is_cancelled(void);

#endif
