/* SPDX-License-Identifier: MIT */
/*
 * An array that several lanes add to.
 *
 * The copy of a lane is a mapping with room for all elements and, behind them, a flag for each
 * block of elements. The system gives it memory only for the pages that the lane adds to. A true
 * flag says that the lane has added to the block. Lane 0 has no copy and adds to the array itself.
 */
#ifndef REEL_OMP_ADJOINT_H
#define REEL_OMP_ADJOINT_H

#include "config.h"

#include <stdatomic.h>

#include <reel/adjoint.h>

/* Flags in a line: two lines of the cache, which processors fetch together. */
#define ADJOINT_LINE 128

/* During a sweep threads only read this structure. */
struct adjoint_lane {
	union {
		reel_adjoint_view of_double;
		reel_adjoint_view_float of_float;
	} view;
	/* Where the lane adds. In check mode the view's policy sends each add to the library. */
	char *copy;
	bool *touched; /* flags of `copy`; NULL if `copy` is the array itself */
	char *kept; /* the mapping of its copy, which stays for the next sweep; NULL: it has none */
};

struct reel_adjoint {
	/* Set by open. */
	char *array;
	size_t n;
	size_t element;
	enum reel_adjoint_policy asked;
	unsigned flags;
	unsigned shift;
	size_t blocks;
	bool whole; /* the array is small: adds set no flags, all flags are true */
	size_t copy_bytes; /* size of a copy's mapping, which counts for the budget */
	size_t budget;
	char name[64];
	/* The lane of a view that the program may not use: its adds are refused. */
	struct adjoint_lane nobody;

	/* Begin and end change these, while no other thread uses the object. */
	struct adjoint_lane *lanes;
	unsigned lanes_made, lanes_begun;
	enum reel_adjoint_policy policy;
	uint64_t sweeps, refused;

	/* The last user of each element, see adjoint-check.c. NULL: check mode is off. */
	_Atomic uint64_t *users;
	_Atomic uint64_t phase;

	/* Counters, which order no other memory. */
	_Atomic uint64_t reduced, conflicts;
	/*
	 * The thread that sets a flag `claimed` writes `conflict`, or `message`. Then it sets
	 * `conflict_told`, or `error`, so that other threads may read.
	 */
	atomic_flag conflict_claimed, error_claimed;
	atomic_bool conflict_told;
	_Atomic int error;
	struct reel_adjoint_conflict conflict;
	char message[256];
};

/* Keeps and reports the first error; later errors are ignored. Any thread. */
void reel_adjoint_fail(reel_adjoint *adjoint, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* adjoint-check.c */
/* Turns check mode on if the flags or REEL_CHECKED ask for it. Returns 0 or -ENOMEM. */
int reel_adjoint_check_open(reel_adjoint *adjoint);
void reel_adjoint_check_close(reel_adjoint *adjoint);
/* Begins phase 0 of a sweep, in which no element has been used yet. */
void reel_adjoint_check_begin(reel_adjoint *adjoint);
/* Notes that a lane uses `n` elements from `first`. Returns false if they are out of range. */
bool reel_adjoint_check_use(reel_adjoint *adjoint, unsigned lane, size_t first, size_t n);

/*
 * Maps zeros that take no memory until they are touched: an array of which a lane uses little costs
 * little. Returns NULL if there is no memory. reel_os_unmap() ends it.
 */
void *reel_adjoint_map(size_t bytes);

#endif
