/* SPDX-License-Identifier: MIT */
/* Binds threads to processors, side by side or apart. */
#ifndef REEL_BENCH_PLACE_H
#define REEL_BENCH_PLACE_H

#include <stdbool.h>
#include <stddef.h>

enum place_kind {
	PLACE_NONE,    /* not bound */
	PLACE_COMPACT, /* all processors of a core, then all cores of a NUMA node, then the next */
	PLACE_SCATTER  /* the NUMA nodes in turn, a core's second processor last */
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
 * Fills `places` with the processors that this process may use, in the order in which threads get
 * them. Reads cores and NUMA nodes from the files of the kernel. Returns false if the system does
 * not tell the processors: places_bind() then does nothing. End with places_release().
 */
bool places_find(struct places *places, enum place_kind kind);
void places_release(struct places *places);

/* Binds the calling thread to the place `thread`, modulo the number of places. */
void places_bind(const struct places *places, int thread);

/*
 * Sorts the places by their kind, and numbers `core` and `sibling` from 0. Before that they may be
 * any numbers that differ between cores of a node, and between processors of a core.
 */
void places_sort(struct places *places);

#endif
