/* SPDX-License-Identifier: MIT */
/* Which thread runs on which processor. */
#ifndef REEL_BENCH_PLACE_H
#define REEL_BENCH_PLACE_H

#include <stdbool.h>
#include <stddef.h>

enum place_kind {
	PLACE_NONE,    /* where the system puts it */
	PLACE_COMPACT, /* neighbours first: all of a core, all cores of a NUMA node, the next one */
	PLACE_SCATTER  /* apart: the NUMA nodes in turn, a core's second processor last */
};

struct place {
	int cpu;
	int node;
	int core;    /* in its node, from 0 */
	int sibling; /* in its core, from 0 */
};

struct places {
	enum place_kind kind;
	size_t count;
	struct place *place;
};

/*
 * The processors that this process may use, in the order in which threads get them, by the
 * files of the kernel. Returns false if they are not known: none is bound then. End with
 * places_release().
 */
bool places_find(struct places *places, enum place_kind kind);
void places_release(struct places *places);

/* Bind the calling thread as the `thread`-th; with more threads than places, in turn. */
void places_bind(const struct places *places, int thread);

/* Put them in the order of the kind; `core` and `sibling` may be any numbers that tell apart. */
void places_sort(struct places *places);

#endif
