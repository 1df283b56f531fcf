/* SPDX-License-Identifier: MIT */
#ifndef TSUNAMI_OPTIONS_H
#define TSUNAMI_OPTIONS_H

#include <stdint.h>

#include "model/basin.h"
#include "common/scheme.h"
#include "model/source.h"

#define MAX_STEPS 1000000

struct options {
	const char *grid_file; /* NULL: the data package's file for the resolution */
	int idealised;
	struct region region;
	double resolution; /* minutes of arc */
	int steps;         /* 0: from the hours */
	double hours;
	double time_step;  /* [s], 0: from the Courant number */
	struct earthquake earthquake;
	struct place gauge;
	const char *gauge_name; /* NULL: a place without a name */
	int on_gpu;           /* the steps are run there */
	int threads;
	int reverse_threads; /* 0: the same number */
	uint64_t budget;   /* of the tapes in bytes, 0: no bound */
	const char *spill; /* directory for slabs beyond it; NULL: none */
	struct scheme scheme; /* of checkpointing; its text is NULL: all steps on tape */
	int64_t segment;      /* steps, 0: chosen */
	int audit;
	double tolerance;     /* of stored states; 0: they lose nothing */
	int digits;           /* of the gradient, by states of fewer bytes; 0: as above */
	int look_ahead;       /* threads record segments, instead of sharing out rows */
	double min_depth;
	const char *restart;  /* a file from which the next run goes on; NULL: none */
	const char *output;
	int verify, quiet;
};

/* Read the command line; ends the program after --help and on bad options. */
struct options options_read(int count, char **arguments);

#endif
