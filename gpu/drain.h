/* SPDX-License-Identifier: MIT */
/*
 * An arena whose slabs go to a store between launches: which of them, when they come back, and how
 * a launch is undone that had too few, or came to one that is away.
 *
 * What a settled launch has left is kept as a second copy of the arena's tables on the device.
 * Copying it back undoes all later launches: the rows that they wrote are above those that count,
 * unless they wrote over what they had popped.
 */
#ifndef REEL_GPU_DRAIN_H
#define REEL_GPU_DRAIN_H

#include <reel/arena.h>

/* Within the context; the arena has a store. */

/* The launches have ended with this report, and their faults can be cured: 0, 1, or an error. */
int reel_drain_settle(struct reel_arena *arena, const struct reel_arena_report *report);
/* The arena has been emptied in the order of this stream. */
int reel_drain_reset(struct reel_arena *arena, void *stream);
/* The arena has other memory, which is empty. */
int reel_drain_resize(struct reel_arena *arena);
/* Also of an arena without a store. */
void reel_drain_close(struct reel_arena *arena);

#endif
