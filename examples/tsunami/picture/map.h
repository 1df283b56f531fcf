/* SPDX-License-Identifier: MIT */
/*
 * A map of a signed field over the basin.
 */
#ifndef TSUNAMI_MAP_H
#define TSUNAMI_MAP_H

#include "model/basin.h"

struct map {
	const struct basin *basin;
	const double *field;
	const char *title, *subtitle;
	const char *quantity, *unit; /* of the colour bar */
	struct place source, gauge;
	const char *gauge_name;
};

void map_draw(const struct map *map, const char *path);

#endif
