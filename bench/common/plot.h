/* SPDX-License-Identifier: MIT */
/* An SVG of dots: the time of the kernels' gradients over the primal's; or another picture. */
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

/* Keep the results of a case named kernel/NAME/SIZE for drawing; others are passed over. */
void plot_note(const struct bench_case *one, const struct measure_result *results);

/* Draw the noted results. Returns false, and writes nothing, if there are none. */
bool plot_write(FILE *file);

#endif
