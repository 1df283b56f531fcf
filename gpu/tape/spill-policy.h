/* SPDX-License-Identifier: MIT */
/*
 * Which slabs of an arena go to its store, and which come back. Slabs go from the low end of their
 * warp's chain, from all warps so that they keep equally many.
 *
 * All of it works on the host's copy of the tables, and moves what is in slabs; the tables go to
 * the device afterwards, by who called it.
 */
#ifndef REEL_GPU_SPILL_POLICY_H
#define REEL_GPU_SPILL_POLICY_H

#include <reel/arena.h>

#include "batches.h"

struct reel_spill_policy {
	struct reel_batches batches;
	uint32_t warps; /* that there is room for */
	/* Of each warp. */
	uint32_t *there;  /* slabs on the device */
	uint32_t *spare;  /* of these, from the lowest up, those that may go */
	uint32_t *coming; /* slabs that are to come back, from the highest down */
	uint32_t *wanted; /* the lowest slab, by its height, that the present step has wanted */
};

int reel_spill_policy_open(struct reel_arena *arena, struct reel_spill_policy *policy,
			   reel_store *store);
/* For so many warps; as it was if there is no memory. */
int reel_spill_policy_fit(struct reel_spill_policy *policy, uint32_t warps);
/* Within the context, or the pinned memory stays. Closes the store, if it was opened. */
void reel_spill_policy_close(struct reel_arena *arena, struct reel_spill_policy *policy,
			     bool within);

/* Give back what is above the lanes' tops, and count the rest. Nothing is coming. */
void reel_spill_policy_rank(struct reel_arena *arena, struct reel_spill_policy *policy);
/* The next step has not wanted anything. */
void reel_spill_policy_forget(struct reel_spill_policy *policy);

/*
 * Have so many more slabs free, or as many as can be. `deep`: if need be those that lanes below
 * their warp's highest may use soon. Never those that the step has wanted.
 */
int reel_spill_policy_write(struct reel_arena *arena, struct reel_spill_policy *policy,
			    uint64_t slabs, bool deep);

/* Have `coming` include what a launch has missed, by its warps' states. Returns all that comes. */
uint64_t reel_spill_policy_miss(struct reel_arena *arena, struct reel_spill_policy *policy,
				const struct reel_arena_warp *launch);
/* Have each warp have so many slabs on the device, as far as there are. Returns all that comes. */
uint64_t reel_spill_policy_deepen(struct reel_arena *arena, struct reel_spill_policy *policy,
				  uint32_t depth);
/* Have more come, so that warps have equally many, up to so many in all. */
void reel_spill_policy_look_ahead(struct reel_arena *arena, struct reel_spill_policy *policy,
				  uint64_t most);
/* Bring what is coming. There are as many free. */
int reel_spill_policy_read(struct reel_arena *arena, struct reel_spill_policy *policy);

#endif
