/* SPDX-License-Identifier: MIT */
/*
 * The command line. A wrong option ends the program with one line that names a remedy.
 */
#ifndef SEDOV_OPTIONS_H
#define SEDOV_OPTIONS_H

#include "gradient/gradient.h"

struct options {
	int size, threads, sensor;
	enum objective objective;
	int freezes_time_step, looks_ahead, verify, quiet;
	struct scheme scheme; /* text NULL: lanes */
	double tolerance;     /* of stored states; 0: they lose nothing */
	int digits;           /* of the gradient, by states of fewer bytes; 0: as above */
	uint64_t budget;
	const char *spill, *restart, *output;
};

struct options options_read(int count, char **arguments);

/* As --objective has it. */
const char *objective_name(enum objective objective);

#endif
