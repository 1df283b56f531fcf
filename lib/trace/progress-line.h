/* SPDX-License-Identifier: MIT */
/* How far a run is, as lines on stderr (REEL_PROGRESS). */
#ifndef REEL_LIB_PROGRESS_LINE_H
#define REEL_LIB_PROGRESS_LINE_H

#include <stdbool.h>

#include <reel/run.h>

/* Whether REEL_PROGRESS asks for lines. */
bool reel_progress_line_is_wanted(void);
/*
 * A sweep begins, or goes on. While it shows lines, other runs, as those in its callbacks, show
 * none.
 */
void reel_progress_line_begin(const void *run);
/* As options.progress: shows a line, if the run's are shown and one is due. Any thread. */
void reel_progress_line_show(void *run, const struct reel_progress *now);
/* The sweep has ended. Nothing, if other lines than the run's are shown. */
void reel_progress_line_end(const void *run);

#endif
