/* SPDX-License-Identifier: MIT */
/* How far a run is, as lines on stderr (REEL_PROGRESS). */
#ifndef REEL_LIB_PROGRESS_LINE_H
#define REEL_LIB_PROGRESS_LINE_H

#include <stdbool.h>

#include <reel/run.h>

/* Returns true if REEL_PROGRESS asks for lines. */
bool reel_progress_line_is_wanted(void);
/*
 * A sweep begins, or goes on. While its lines are shown, other runs, such as runs in its callbacks,
 * show none.
 */
void reel_progress_line_begin(const void *run);
/* Shows a line if the lines of this run are shown and one is due. Any thread may call it. */
void reel_progress_line_show(void *run, const struct reel_progress *now);
/* The sweep has ended. Does nothing if the lines of another run are shown. */
void reel_progress_line_end(const void *run);

#endif
