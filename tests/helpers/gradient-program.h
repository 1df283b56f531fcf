/* SPDX-License-Identifier: MIT */
/*
 * A small program that uses all parts at once, and its gradient: a loop whose steps are
 * checkpointed in memory and on a disk, recorded by lanes of a parallel region, by the run's
 * tape and by the stack of Tapenade's adjoints, on a pool that spills and reads ahead, with a
 * restart file. Whatever is switched on or off, its gradient is the same, bit for bit.
 */
#ifndef TESTS_GRADIENT_PROGRAM_H
#define TESTS_GRADIENT_PROGRAM_H

#include <reel/extend.h>
#include <reel/region.h>
#include <reel/run.h>

#include "checkpoint/run/run-lookahead.h"

enum { GRADIENT_CELLS = 192, GRADIENT_LANES = 2, GRADIENT_THREADS = 2 };

struct gradient {
	double x_bar[GRADIENT_CELLS];
	double factor_bar[GRADIENT_CELLS];
};

/* The switches. gradient_defaults() has all of them on. */
struct gradient_options {
	int64_t segments;        /* steps of the plan */
	size_t slab_bytes;
	unsigned slabs;          /* the hard budget; 0: none, and nothing spills */
	unsigned magazine_slabs; /* 1: as good as none */
	unsigned flags;          /* REEL_POOL_* */
	bool compressed;         /* blocks of the pool's file */
	unsigned gets;           /* snapshots read ahead */
	int threads;
	const char *restart;     /* NULL: no restart file */
	bool adstack;            /* or the run's own tape */
	bool calls;              /* push and pop by the functions, not inline */
};

struct gradient_options gradient_defaults(void);

/* Figures of a run beside its gradient. */
struct gradient_report {
	char message[512];
	unsigned told;       /* errors of tapes */
	unsigned told_twice; /* of one tape, more than once */
	uint64_t written_bytes, read_bytes;
	uint64_t saves, failed_saves;
	bool resumed;
};

/*
 * Runs the program, or continues from its restart file. 0 or a negative errno, then `message` has
 * the mistake. Sets the error handler.
 */
int gradient_run(const struct gradient_options *options, struct gradient *gradient,
		 struct gradient_report *report);

/* The same gradient by arrays, without the library. */
void gradient_expected(const struct gradient_options *options, struct gradient *gradient);

#endif
