/* SPDX-License-Identifier: MIT */
/* An SVG of the kernels' gradients: their time over that of the primal. */
#ifndef REEL_BENCH_PLOT_H
#define REEL_BENCH_PLOT_H

#include <stdio.h>

#include "bench.h"

/* Keep what is to be drawn of a case named kernel/NAME/SIZE; others are passed over. */
void plot_note(const struct bench_case *one, const struct measure_result *results);

/* Draw what was noted. Returns false, and writes nothing, if that is no kernel. */
bool plot_write(FILE *file);

#endif
