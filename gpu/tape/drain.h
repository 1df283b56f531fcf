/* SPDX-License-Identifier: MIT */
/*
 * An arena with a store: launches that can be undone, and repeated when slabs have gone or come.
 *
 * The tables of the last settled launch are kept on the device behind the slabs. Copying them to
 * their place undoes all later launches: the rows that those wrote are above those that count,
 * unless they wrote over what they had popped. What is moved changes the copy first. So a launch
 * with a fault stays as it is until all that it needs is there, and can be settled again if the
 * store fails.
 */
#ifndef REEL_GPU_DRAIN_H
#define REEL_GPU_DRAIN_H

#include "gpu/driver/driver.h"

struct reel_arena;
struct reel_arena_report;

/* Of an arena with a store; within the context, but for the last two. */

/* The launches have ended with this report, and their faults can be cured: 0, 1, or an error. */
int reel_drain_settle(struct reel_arena *arena, const struct reel_arena_report *report);
/* What is there now is what later launches are undone to, in the order of this stream. */
int reel_drain_keep(struct reel_arena *arena, reel_cu_stream stream);
/* The arena has been emptied and kept, with this outcome. */
void reel_drain_renew(struct reel_arena *arena, int error);
/* For so many warps, soon; or as it was, and -ENOMEM. */
int reel_drain_fit(struct reel_arena *arena, uint32_t warps);
/* -EIO if the arena cannot be used until it is emptied. */
int reel_drain_check(const struct reel_arena *arena);
/* Also without a store. `within` the context, or memory of the driver's stays. */
void reel_drain_close(struct reel_arena *arena, bool within);

#endif
