/* SPDX-License-Identifier: MIT */
/*
 * The tapes of the sweeps, where all steps are kept on tape: a lane for each thread of the
 * forward sweep, on which the rows of the state are pushed that it owns. The reverse sweep
 * may have another number of threads.
 */
#ifndef TSUNAMI_TAPES_H
#define TSUNAMI_TAPES_H

#include <stdint.h>

#include <reel/region.h>

struct tapes;

/*
 * Tapes that share a budget of so many bytes (0: no bound). What exceeds it goes to a file in
 * the directory `spill`, unless that is NULL.
 */
struct tapes *tapes_open(uint64_t budget, const char *spill);
void tapes_close(struct tapes *tapes);

/* The region of the forward sweep, with a phase for each step; and of the reverse sweep. */
reel_region *tapes_begin(struct tapes *tapes);
reel_region *tapes_reverse(struct tapes *tapes);

/*
 * Push a row of the state, three arrays of n values, on the tape of a lane, and pop it
 * again in the opposite order. Returns 0 or a Reel error.
 */
int tapes_push_row(reel_lane *lane, int n, const double *elevation, const double *u,
		   const double *v);
int tapes_pop_row(reel_lane *lane, int n, double *elevation, double *u, double *v);

/* Bytes on all tapes now. */
uint64_t tapes_bytes(const struct tapes *tapes);

struct tapes_use {
	uint64_t stalls;           /* pushes and pops that had to wait */
	double stall_seconds;      /* of all threads together */
	uint64_t resident_bytes;   /* the most that was in memory */
	uint64_t spilled_bytes;    /* written to the file */
};

struct tapes_use tapes_use(const struct tapes *tapes);

/* Bytes that the rows of so many cells need over so many steps. */
uint64_t tapes_need(uint64_t cells, uint64_t steps);

/* What an error means, in a few words. */
const char *tapes_error_text(int error);

#endif
