/* SPDX-License-Identifier: MIT */
/*
 * A picture, as SVG, of the values of the elements at the symmetry plane across axis 2.
 */
#ifndef SEDOV_SLICE_H
#define SEDOV_SLICE_H

#include "model/mesh.h"

/*
 * Draws the first plane of a cube at the positions of its nodes. Colours go from white at 0 to red
 * at the largest magnitude, and to blue at the same below 0, by its square root: small values show.
 */
void slice_write(const char *path, const char *title, const struct mesh *mesh,
		 double *const position[AXES], const double *value);

#endif
