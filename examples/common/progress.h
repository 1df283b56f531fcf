/* SPDX-License-Identifier: MIT */
/*
 * A progress bar on stderr, if that is a terminal.
 */
#ifndef EXAMPLES_PROGRESS_H
#define EXAMPLES_PROGRESS_H

/* Allow progress bars from now on, if stderr is a terminal. */
void progress_enable(void);

/* Show that `done` of `total` steps of the named task are done. */
void progress_show(const char *task, int done, int total);

/* Clear the bar. */
void progress_clear(void);

#endif
