/* SPDX-License-Identifier: MIT */
/*
 * Chooses the slabs of an arena that go to its store and those that come back, and moves them.
 * Slabs go from the low end of a warp's chain, and so that all warps keep the same number.
 *
 * The functions change the host's copy of the tables and copy the slabs. The caller writes the
 * tables to the device afterwards.
 */
#ifndef REEL_GPU_SPILL_POLICY_H
#define REEL_GPU_SPILL_POLICY_H

#include <reel/arena.h>

#include "batches.h"

struct reel_spill_policy {
	struct reel_batches batches;
	uint32_t warps; /* number of warps that the arrays have room for */
	/* Arrays with a number for each warp. */
	uint32_t *there;  /* number of slabs on the device */
	uint32_t *spare;  /* number of these that may go, from the lowest up */
	uint32_t *coming; /* number of slabs that are to come back, from the highest down */
	uint32_t *wanted; /* height of the lowest slab that the present step has needed */
};

int reel_spill_policy_open(struct reel_arena *arena, struct reel_spill_policy *policy,
			   reel_store *store);
/* Makes room for `warps` warps. Returns 0, or -ENOMEM and nothing has changed. */
int reel_spill_policy_fit(struct reel_spill_policy *policy, uint32_t warps);
/* Closes the store, if it was opened. */
void reel_spill_policy_close(struct reel_arena *arena, struct reel_spill_policy *policy);

/* Gives back the slabs above the tops of all lanes, counts the others, and clears `coming`. */
void reel_spill_policy_rank(struct reel_arena *arena, struct reel_spill_policy *policy);
/* Begins a step, which has needed no slab yet. */
void reel_spill_policy_forget(struct reel_spill_policy *policy);

/*
 * Frees `slabs` more slabs, or the maximum that is possible. Never frees slabs that the step has
 * needed. Frees slabs that lower lanes of a warp may use soon only if `deep`, and the others are
 * too few. After an error some of them are free.
 */
int reel_spill_policy_write(struct reel_arena *arena, struct reel_spill_policy *policy,
			    uint64_t slabs, bool deep);
/*
 * Begins to free slabs, not deep ones, while kernels run. If it fails, these slabs stay.
 * reel_spill_policy_end() ends the move before any other one begins.
 */
void reel_spill_policy_begin_write(struct reel_arena *arena, struct reel_spill_policy *policy,
				   uint64_t slabs);

/* Adds the slabs that a launch has missed to `coming`. Returns the sum of `coming`. */
uint64_t reel_spill_policy_miss(struct reel_arena *arena, struct reel_spill_policy *policy,
				const struct reel_arena_warp *launch);
/* Raises `coming` so that each warp has up to `depth` slabs on the device. Returns its sum. */
uint64_t reel_spill_policy_deepen(struct reel_arena *arena, struct reel_spill_policy *policy,
				  uint32_t depth);
/* Raises `coming` evenly over all warps, up to a sum of `most`. */
void reel_spill_policy_look_ahead(struct reel_arena *arena, struct reel_spill_policy *policy,
				  uint64_t most);
/*
 * Brings back the slabs that are coming, and clears `coming`. The caller has seen that there are
 * free slabs for them. After an error some of them are back.
 */
int reel_spill_policy_read(struct reel_arena *arena, struct reel_spill_policy *policy);
/* Begins to bring back those that are in host memory, while kernels run; else as above. */
void reel_spill_policy_begin_read(struct reel_arena *arena, struct reel_spill_policy *policy);

/*
 * Waits for the copies of a move that was begun, and adds the slabs to the free ones, or to the
 * chains. Does nothing if no move was begun. Returns 0 or -EIO.
 */
int reel_spill_policy_end(struct reel_arena *arena, struct reel_spill_policy *policy);

#endif
