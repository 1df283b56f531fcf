/* SPDX-License-Identifier: MIT */
/* Draws an SVG of dots: the time of each kernel's gradient over its primal, or other values. */
#ifndef REEL_BENCH_PLOT_H
#define REEL_BENCH_PLOT_H

#include <stdio.h>

#include "bench.h"

/*
 * For other pictures of the same form. plot_entitle() sets the title and the line above the
 * picture; plot_dot() draws a value above 0 as a dot. At most 16 rows, 4 panels and 12 variants.
 */
void plot_entitle(const char *title, const char *line);
void plot_dot(const char *row, const char *panel, const char *variant, double value);

/* Keeps the results of a case named kernel/NAME/SIZE for drawing. Ignores other cases. */
void plot_note(const struct bench_case *one, const struct measure_result *results);

/* Draws the results that are kept. Returns false, and writes nothing, if there are none. */
bool plot_write(FILE *file);

#endif
