/* SPDX-License-Identifier: MIT */
/*
 * The files in the output directory. Each is written under another name and
 * renamed when it is complete; a failure removes it.
 */
#ifndef TSUNAMI_OUTPUT_H
#define TSUNAMI_OUTPUT_H

#include <stdint.h>

#include "common/digits.h"
#include "gradient/checkpointing.h"
#include "options.h"
#include "model/shallow.h"
#include "gradient/tapes.h"
#include "verify.h"

/* All that a run has to tell. */
struct results {
	const struct options *options;
	int ranks;            /* number of them */
	const struct basin *basin;
	const struct model *model;
	const struct controls *controls, *gradient;
	const double *gauge;  /* the recorded elevations [m] */
	struct place gauge_cell;
	const char *gauge_name;
	const char *bathymetry;
	double volume;        /* displaced [m^3] */
	double arrival_hours; /* NAN: none */
	double objective;     /* [m^2 s] */
	double gradient_norm; /* over both controls */
	uint64_t tape_bytes;
	struct tapes_use tapes_use;
	const struct checkpointing_use *checkpointing; /* NULL: all steps on tape */
	const struct digits *digits; /* NULL: no --digits */
	double primal_seconds, forward_seconds, reverse_seconds;
	const struct verification *verification; /* NULL: not verified */
};

/* End the program unless the directory exists, or can be made, and can be written to. */
void output_check_directory(const char *directory);

/* Make the directory, and write the gradient and the pictures of it. */
void output_write(const struct results *results);
/* Write summary.json, after output_write() and the verification. */
void output_write_summary(const struct results *results);

#endif
