/* SPDX-License-Identifier: MIT */
/*
 * Tickets, and the pieces of large slabs. Only the offload thread runs these functions, except
 * where noted.
 */
#ifndef REEL_LIB_TRANSFER_H
#define REEL_LIB_TRANSFER_H

#include "spill/owner/offload.h"

void reel_ticket_enter(struct reel_ticket *ticket, enum reel_ticket_state state);
/* A ticket to put or get with, which is STARTED; NULL: none is free. */
struct reel_ticket *reel_offload_ticket(struct reel_offload *offload, struct reel_slab *slab,
					bool get);
/*
 * Put a slab that is WRITING, or get one that is READING, beginning with this ticket. The end comes
 * by reel_transfers_collect(), also after a failure.
 */
void reel_pieces_put(struct reel_offload *offload, struct reel_ticket *ticket);
void reel_pieces_get(struct reel_offload *offload, struct reel_ticket *ticket);
/* Drop the pieces that are in the store. */
void reel_pieces_drop(struct reel_offload *offload, struct reel_slab *slab);
/*
 * Returns true if the frame differs from the copy, by the checksums of its pieces. The owner of a
 * slab that is PINNED calls it. Reads all of the frame.
 */
bool reel_pieces_differ(struct reel_offload *offload, struct reel_slab *slab);
void reel_pieces_free_all(struct reel_offload *offload);
/* The transfer of a slab has ended: it was got or put, or `error` says why not. */
typedef void reel_transfer_end(struct reel_offload *offload, struct reel_slab *slab, bool get,
			       int error);
/* Takes the results of the pieces that are complete; returns whether there were any. */
bool reel_transfers_collect(struct reel_offload *offload, reel_transfer_end *end);

/* Any thread, before the memory of this slab's frame goes back to the system. */
void reel_offload_unregister_frame(struct reel_offload *offload, const struct reel_slab *slab);

/* Returns true if a transfer is under way. */
static inline bool reel_transfers_are_under_way(const struct reel_offload *offload)
{
	return offload->puts || offload->gets;
}

#endif
