/* SPDX-License-Identifier: MIT */
/* The frames of a pool, pinned by the driver for as long as the pool has them. */
#ifndef REEL_GPU_FRAMES_H
#define REEL_GPU_FRAMES_H

#include "pool/pool.h"

/*
 * Opens a listener (pool.h) that pins the frames of which it is told, for a device. Its closed()
 * unpins all, and frees it. Returns 0, or -ENODEV or -ENOMEM with a text.
 */
int reel_frames_open(struct reel_frame_listener **listener, unsigned device);

#endif
