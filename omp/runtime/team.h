/* SPDX-License-Identifier: MIT */
/*
 * All that goes through the OpenMP runtime. ThreadSanitizer cannot see into it: this is
 * compiled without, and bodies acquire and release what they share with who called.
 *
 * OpenMP gives the threads; what they do next is decided under a lock of ours, and who finds
 * nothing to do sleeps at a condition of ours. Tasks made one by one would not do: libgomp
 * wakes a thread at the end of a taskgroup for none that others make, and libomp before 16
 * may use an undeferred task with a depend clause after its end.
 */
#ifndef REEL_OMP_TEAM_H
#define REEL_OMP_TEAM_H

#include "config.h"

#include "os/annotate.h"

typedef void reel_omp_body(void *argument);

/* Of the team that reel_omp_call() will use; 0: as OpenMP chooses. */
int reel_omp_threads(int threads);

/*
 * Call body in so many threads at once, this one among them, and return when all calls have:
 * in a team of their own, or, inside of one, as its threads become free, maybe after the
 * others. Cancellation is disabled in each body, and in this thread until all calls have returned.
 */
void reel_omp_call(int threads, reel_omp_body *body, void *argument);

#endif
