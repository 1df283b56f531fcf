/* SPDX-License-Identifier: MIT */
/*
 * The end of copies in the store, and of slabs that their owners have freed during a transfer. Only
 * the offload thread runs these functions.
 */
#include "config.h"

#include "copy.h"
#include "os/annotate.h"
#include "transfer.h"

void reel_offload_forget_failures(struct reel_offload *offload)
{
	atomic_store_explicit(&offload->failure, 0, memory_order_relaxed);
	offload->failed_puts_in_row = 0;
}

void reel_offload_drop_copy(struct reel_offload *offload, struct reel_slab *slab)
{
	struct reel_slab_io *slab_io = reel_slab_io_of(offload, slab);

	if (!slab_io->stored)
		return;
	REEL_ASSERT(!reel_slab_needs_copy(reel_slab_state_of(slab)));
	slab_io->stored = false;
	atomic_fetch_sub_explicit(&offload->in_store_bytes, slab_io->stored_bytes,
				  memory_order_relaxed);
	reel_pieces_drop(offload, slab);
	reel_offload_forget_failures(offload);
}

void reel_offload_free_deferred(struct reel_offload *offload, struct reel_slab *slab)
{
	REEL_ASSERT(reel_slab_state_of(slab) == REEL_SLAB_FREE_PENDING);
	REEL_ASSERT(reel_slab_spills(offload->pool, slab));
	reel_offload_drop_copy(offload, slab);
	slab->below = NULL;
	reel_slab_become(slab, REEL_SLAB_EMPTY);
	if (!slab->frame) {
		freelist_push(&offload->pool->frameless, slab);
		return;
	}
	reel_slab_forbid(slab);
	reel_supply_give(offload->pool, slab->kind, slab);
}

/* Returns true if the store's copy is out of date. */
static bool is_stale(enum reel_slab_state state)
{
	return state == REEL_SLAB_EMPTY || state == REEL_SLAB_OPEN || state == REEL_SLAB_DIRTY ||
	       state == REEL_SLAB_LOST;
}

/*
 * Another thread may move a slab meanwhile: from a state with a stale copy, only a new put leads to
 * a state in which the copy counts.
 */
void reel_offload_drop_stale(struct reel_offload *offload)
{
	size_t slabs = reel_slab_count(offload);

	atomic_store_explicit(&offload->stale, 0, memory_order_relaxed);
	for (size_t i = 0; i < slabs; i++) {
		struct reel_slab *slab = &offload->pool->table[i];

		if (offload->slab_io[i].stored && is_stale(reel_slab_state_of(slab)))
			reel_offload_drop_copy(offload, slab);
	}
}
