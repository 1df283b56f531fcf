/* SPDX-License-Identifier: MIT */
/* Where results go: the table on stdout; a file of JSON lines and a plot where asked for. */
#ifndef REEL_BENCH_REPORT_H
#define REEL_BENCH_REPORT_H

#include <stdbool.h>

/*
 * Begin, before anything is measured, so that a path that cannot be written
 * costs no time. NULL: no such file. Returns false after a line on stderr.
 */
bool report_open(const char *json_path, const char *plot_path);

/* Draw, and close the files. Returns false after a line on stderr. */
bool report_close(void);

#endif
