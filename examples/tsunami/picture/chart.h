/* SPDX-License-Identifier: MIT */
/*
 * A chart of the wave recorded at the gauge.
 */
#ifndef TSUNAMI_CHART_H
#define TSUNAMI_CHART_H

struct chart {
	int count;
	double interval_hours; /* value[n] is recorded at (n + 1) times this */
	const double *value;   /* [m] */
	double arrival_hours;  /* NAN: none */
	const char *title;
};

void chart_draw(const struct chart *chart, const char *path);

#endif
