/* SPDX-License-Identifier: MIT */
/*
 * Demands: they tell the offload thread which slabs an owner needs, and when. The owner of the
 * slabs calls these functions, except those at the end. NULL: there is no memory for a demand.
 */
#ifndef REEL_LIB_DEMAND_H
#define REEL_LIB_DEMAND_H

#include "offload.h"

struct reel_demand *reel_demand_take(struct reel_offload *offload);
void reel_demand_give(struct reel_offload *offload, struct reel_demand *demand);
/*
 * Take and give a demand that belongs to no tape, but to one wait or to parcels. It does not count
 * in reel_demand_slabs_ahead(), which shares the frames out among tapes.
 */
struct reel_demand *reel_demand_take_silent(struct reel_offload *offload,
					    enum reel_demand_kind kind);
void reel_demand_give_silent(struct reel_offload *offload, struct reel_demand *demand);
/*
 * Before its first reader moves, a recording of `slabs` slabs is needed as a tape that will be
 * reversed.
 */
void reel_demand_place_at_end(struct reel_demand *demand, uint32_t slabs);
/*
 * Takes the demand of one of its readers. Leaving ends the reader's need of slabs of the recording.
 */
struct reel_demand *reel_demand_take_reader(struct reel_offload *offload,
					    struct reel_demand *recording);
void reel_demand_leave_readers(struct reel_demand *recording, struct reel_demand *reader);
void reel_demand_free_all(struct reel_offload *offload);
/* Number of slabs that the owner should have requested. */
unsigned reel_demand_slabs_ahead(const struct reel_offload *offload,
				 const struct reel_demand *demand);
/* Request more slabs in advance from now on, since the owner has had to wait. */
void reel_demand_note_stall(struct reel_demand *demand);
/*
 * Requests a slab that is away, unless it is requested already. The demand is a
 * REEL_DEMAND_HURRIED, and one thread at a time calls this. Returns 0, or -EDQUOT: an earlier
 * request of this slab found no room.
 */
int reel_demand_hurry(struct reel_offload *offload, struct reel_demand *demand,
		      struct reel_slab *slab);
/*
 * Forgets that a request of the slab found no room, and returns true if one did. Also called when a
 * slab has come or is freed, so that no later request finds an earlier refusal.
 */
bool reel_demand_forget_refusal(struct reel_demand *demand, const struct reel_slab *slab);
/* Request a slab if it is in the store only. False: too many requests are open. */
bool reel_demand_request(struct reel_demand *demand, struct reel_slab *slab);
/*
 * After the last request: wakes the offload thread if some are open. An earlier one may wait for
 * the frame that the tape has just left.
 */
void reel_demand_end_requests(struct reel_offload *offload, const struct reel_demand *demand);

/* ---- For the offload thread ---- */

/* The first demand of the list. */
struct reel_demand *reel_demand_first(struct reel_offload *offload);
/* The slab that the owner waits for, or NULL. */
struct reel_slab *reel_demand_awaited(struct reel_demand *demand);
/* Returns true if an owner waits for this slab. */
bool reel_demand_is_awaited(struct reel_offload *offload, const struct reel_slab *slab);
/* Wake the owners that wait for this slab. */
void reel_demand_wake(struct reel_offload *offload, const struct reel_slab *slab);

#endif
