/* SPDX-License-Identifier: MIT */
/*
 * An arena with a store. Its launches can be undone, and repeated after slabs went to the store or
 * came back.
 *
 * The device keeps a copy of the tables of the last settled launch, the settled tables, behind the
 * slabs. Copying them back undoes all later launches, since the rows that these launches pushed lie
 * above the settled tops. A launch that pushed over rows that it had popped cannot be undone.
 * Moving slabs changes the settled tables first. So a launch with a fault stays as it is until all
 * that it needs is there, and if the store fails, it can be settled again.
 */
#ifndef REEL_GPU_DRAIN_H
#define REEL_GPU_DRAIN_H

#include "gpu/driver/driver.h"

struct reel_arena;
struct reel_arena_report;

/* All but the last two functions require a store and the context. */

/*
 * Settles launches that ended with this report, whose faults can be cured. Returns 0, or 1 if the
 * launches were undone and have to be repeated, or an error.
 */
int reel_drain_settle(struct reel_arena *arena, const struct reel_arena_report *report);
/* Copies the tables to the settled tables, in the order of this stream. */
int reel_drain_keep(struct reel_arena *arena, reel_cu_stream stream);
/* Drops all slabs in the store, after the arena was emptied and its tables kept with `error`. */
void reel_drain_renew(struct reel_arena *arena, int error);
/*
 * Makes room for `warps` warps, and waits until no slab is being copied. Returns 0, or -ENOMEM or
 * -EIO and nothing has changed.
 */
int reel_drain_fit(struct reel_arena *arena, uint32_t warps);
/* Returns -EIO if the arena cannot be used before it is emptied. */
int reel_drain_check(const struct reel_arena *arena);
/* Does nothing without a store. Without the context (`within`), pinned memory is not freed. */
void reel_drain_close(struct reel_arena *arena, bool within);

#endif
