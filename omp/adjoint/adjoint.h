/* SPDX-License-Identifier: MIT */
/*
 * An array that several lanes add to.
 *
 * A lane's copy is as large as the array, in a mapping of its own that is touched where the
 * lane adds, and has a flag a block behind it. Lane 0 has the array for its copy.
 */
#ifndef REEL_OMP_ADJOINT_H
#define REEL_OMP_ADJOINT_H

#include "config.h"

#include <stdatomic.h>

#include <reel/adjoint.h>

/* So many flags are two cache lines, which processors fetch together: what a part reduces. */
#define ADJOINT_LINE 128

struct adjoint_copy {
	char *mapping; /* NULL: none */
	size_t bytes;
};

/* During a sweep all of this is only read. */
struct adjoint_lane {
	union {
		reel_adjoint_view of_double;
		reel_adjoint_view_float of_float;
	} view;
	/* What the view refers to; in check mode it has a policy that leads to the library. */
	char *copy;
	bool *touched; /* NULL: the copy is the array itself */
	struct adjoint_copy kept;
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
	bool whole; /* small: adds set no flags, all blocks count as touched */
	size_t copy_bytes;   /* elements and flags */
	size_t mapped_bytes; /* what these take of the budget */
	size_t budget;
	char name[64];
	/* Of a lane that does not exist: adds through it are refused. */
	struct adjoint_lane nobody;

	/* Changed by begin and end: no other thread uses the object then. */
	struct adjoint_lane *lanes;
	unsigned lanes_made, lanes_begun;
	enum reel_adjoint_policy policy;
	uint64_t sweeps, refused;

	/* Check mode: who used an element last. NULL: it is off. */
	_Atomic uint64_t *users;
	_Atomic uint64_t phase;

	/* Counters: relaxed, since they order nothing. */
	_Atomic uint64_t reduced, conflicts;
	/* Who sets `claimed` writes, and then sets `told`. */
	atomic_flag conflict_claimed, error_claimed;
	atomic_bool conflict_told;
	_Atomic int error;
	struct reel_adjoint_conflict conflict;
	char message[256];
};

/* The first error stays, and is reported. Any thread. */
void reel_adjoint_fail(reel_adjoint *adjoint, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* adjoint-check.c */
bool reel_adjoint_asked_to_check(unsigned flags);
int reel_adjoint_check_open(reel_adjoint *adjoint);
void reel_adjoint_check_close(reel_adjoint *adjoint);
/* Phase 0 of a sweep: no element has been used. */
void reel_adjoint_check_begin(reel_adjoint *adjoint);
/* A lane uses elements. False: they are out of range. */
bool reel_adjoint_check_use(reel_adjoint *adjoint, unsigned lane, size_t first, size_t n);

/* adjoint-copy.c: zero pages, none of them touched. 0 or -ENOMEM. */
int reel_adjoint_copy_map(struct adjoint_copy *copy, size_t bytes);
void reel_adjoint_copy_unmap(struct adjoint_copy *copy);
/* As the system counts it: whole pages. */
size_t reel_adjoint_copy_bytes(size_t bytes);

/* adjoint-reduce.c */
void reel_adjoint_reduce_part(reel_adjoint *adjoint, unsigned part, unsigned parts);

#endif
