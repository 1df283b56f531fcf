/* SPDX-License-Identifier: MIT */
/*
 * The tape of the sweeps, where all steps are kept on tape: a span for each state, which the
 * threads of the forward sweep fill together. The reverse sweep may have another number of threads.
 */
#ifndef TSUNAMI_TAPES_H
#define TSUNAMI_TAPES_H

#include <stdint.h>

#include <reel/region.h>

#include "model/grid.h"

struct tapes;

/*
 * Tapes that share a budget in bytes (0: no bound). Slabs beyond it go to a file in the directory
 * `spill`, unless that is NULL.
 */
struct tapes *tapes_open(uint64_t budget, const char *spill);
void tapes_close(struct tapes *tapes);

/* The region of the forward sweep, with a phase for each step; and of the reverse sweep. */
reel_region *tapes_begin(struct tapes *tapes);
reel_region *tapes_reverse(struct tapes *tapes);

/*
 * A state on the tape: three fields with their rims, one after the other. The first one is pushed,
 * and the last one is popped, by the thread that begins the region; all others by all threads of
 * the team together, which pass a barrier. The two pushed last, or popped last, can be read. NULL:
 * the tape has an error.
 */
double *tapes_push_first(struct tapes *tapes, const struct grid *grid);
double *tapes_push_next(reel_worker *lanes, const struct grid *grid);
const double *tapes_pop_last(struct tapes *tapes, const struct grid *grid);
const double *tapes_pop_next(reel_worker *lanes, const struct grid *grid);

/* The end of the region. Returns 0 or a Reel error. */
int tapes_end(struct tapes *tapes, reel_region *region);

/* Bytes on all tapes now. */
uint64_t tapes_bytes(const struct tapes *tapes);

struct tapes_use {
	uint64_t stalls;           /* pushes and pops that had to wait */
	double stall_seconds;      /* of all threads together */
	uint64_t resident_bytes;   /* the most that was in memory */
	uint64_t spilled_bytes;    /* written to the file */
};

struct tapes_use tapes_use(const struct tapes *tapes);

/* Bytes of the states of `steps` steps, the last one included. */
uint64_t tapes_need(const struct grid *grid, int64_t steps);

/* The meaning of an error, in a few words. */
const char *tapes_error_text(int error);

#endif
