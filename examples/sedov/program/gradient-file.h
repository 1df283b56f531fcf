/* SPDX-License-Identifier: MIT */
/*
 * The gradient as a file: NetCDF where the program was built with that, else the bare doubles.
 */
#ifndef SEDOV_GRADIENT_FILE_H
#define SEDOV_GRADIENT_FILE_H

#include "model/state.h"

extern const char *const gradient_file_name;

/* With the mesh at the beginning of the run, which `controls` has. */
void gradient_file_write(const char *path, const char *objective, const struct mesh *mesh,
			 const struct controls *controls, const struct controls *gradient);

#endif
