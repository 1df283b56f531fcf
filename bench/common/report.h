/* SPDX-License-Identifier: MIT */
/* Writes results: a table to stdout, and on request a file of JSON lines and a plot. */
#ifndef REEL_BENCH_REPORT_H
#define REEL_BENCH_REPORT_H

#include <stdbool.h>

/*
 * Opens the files and prints the head of the table. Call it before anything is measured, so that a
 * path that cannot be written is found at once. NULL: no such file. Returns false after a line on
 * stderr.
 */
bool report_open(const char *json_path, const char *plot_path);

/* Draws the plot and closes the files. Returns false after a line on stderr. */
bool report_close(void);

#endif
