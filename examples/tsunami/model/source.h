/* SPDX-License-Identifier: MIT */
/*
 * The initial displacement of the sea surface by an earthquake.
 *
 * Rupture length and width from the moment magnitude by Blaser et al. (2010,
 * Bull. Seismol. Soc. Am. 100, 2914) for thrust events:
 *
 *	log10 L[km] = -2.37 + 0.57 Mw        log10 W[km] = -1.86 + 0.46 Mw
 *
 * Mean slip from the moment, D = M0 / (mu L W), log10 M0[N m] = 1.5 Mw + 9.1
 * (Hanks and Kanamori 1979, J. Geophys. Res. 84, 2348), mu = 40 GPa. The sea
 * surface rises with the sea floor, by the vertical part D sin(dip) of the slip
 * on average over L W, as an elliptical Gaussian with standard deviations L / 4
 * along and W / 4 across the strike. This smooth uplift stands for the dislocation model
 * of Okada (1985): right in volume and extent, without its trough.
 */
#ifndef TSUNAMI_SOURCE_H
#define TSUNAMI_SOURCE_H

#include "basin.h"

struct earthquake {
	struct place epicentre;
	double magnitude; /* Mw */
	double strike;    /* degrees clockwise from north */
};

struct rupture {
	double length, width; /* [m] */
	double slip;          /* mean [m] */
	double uplift;        /* at the centre [m] */
};

struct rupture rupture_of(const struct earthquake *earthquake);

/* Set the displacement in the wet cells; returns the displaced volume [m^3]. */
double source_displace(const struct earthquake *earthquake, const struct basin *basin,
		       double *displacement);

#endif
