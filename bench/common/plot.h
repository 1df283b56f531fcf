/* SPDX-License-Identifier: MIT */
/* An SVG of dots: the kernels' gradients, their time over that of the primal; or another one. */
#ifndef REEL_BENCH_PLOT_H
#define REEL_BENCH_PLOT_H

#include <stdio.h>

#include "bench.h"

/*
 * Other pictures of the same form: their titles, and a dot, its value above 0, in a row, a panel
 * and a variant; at most 16 rows, 4 panels, 12 variants.
 */
void plot_entitle(const char *title, const char *line);
void plot_dot(const char *row, const char *panel, const char *variant, double value);

/* Keep what is to be drawn of a case named kernel/NAME/SIZE; others are passed over. */
void plot_note(const struct bench_case *one, const struct measure_result *results);

/* Draw what was noted. Returns false, and writes nothing, if that is nothing. */
bool plot_write(FILE *file);

#endif
