/* SPDX-License-Identifier: MIT */
/*
 * A slab: a descriptor of 64 bytes, which lives as long as its pool, and a frame
 * of memory, which holds the payload and may be dropped and mapped anew. Lists
 * touch descriptors only.
 *
 *	EMPTY ---reel_pool_take---> TAKEN ---reel_pool_give---> EMPTY
 *
 * An empty slab belongs to a magazine, to a shared list or to the thread that
 * is moving it between them; a taken one belongs to a tape.
 */
#ifndef REEL_LIB_SLAB_H
#define REEL_LIB_SLAB_H

#include <stdatomic.h>
#include <stdint.h>

#include "config.h"

enum reel_slab_state { REEL_SLAB_EMPTY, REEL_SLAB_TAKEN };

/* How a slab gets its frame; each kind has lists of its own. */
enum reel_slab_kind {
	REEL_SLAB_FIRST,  /* a piece of a frame, for the first slabs of a tape */
	REEL_SLAB_WHOLE,  /* a frame of the pool's slab size */
	REEL_SLAB_GIANT,  /* a mapping of its own, for a span larger than that */
	REEL_SLAB_KINDS
};

struct reel_slab {
	/*
	 * The list's link: the next entry of the shared list. Read by poppers
	 * that may come too late, therefore never used for anything else.
	 */
#if REEL_POOL_CK
	void *next;
#else
	_Atomic uint32_t next;
#endif
	char *frame;
	uint64_t bytes;
	/* The slab below: on a tape, the previous one; in a chain, the next empty one. */
	struct reel_slab *below;
	/* How far the window below was filled when this slab was put on top of it. */
	uint64_t below_offset;
	/* Distinguishes this stay on the tape from all others; marks hold it. */
	uint64_t serial;
	/* How many holds were open when it was put on the tape. */
	uint32_t holds;
	/* Its height on the tape; the first slab's is 0. */
	uint32_t rank;
	_Atomic uint8_t state;
	uint8_t kind;
};

_Static_assert(sizeof(struct reel_slab) <= 64, "a descriptor fills at most one cache line");

#endif
