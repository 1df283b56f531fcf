/* SPDX-License-Identifier: MIT */
#ifndef REEL_LIB_DEFAULT_POOL_H
#define REEL_LIB_DEFAULT_POOL_H

#include <reel/pool.h>

/* ---- Exported as REEL_PRIVATE ------------------------------------------------ */

/*
 * Like reel_pool_default(), but returns 0; -ENXIO, the store of the environment cannot be opened;
 * or an error of reel_pool_open(). On failure *pool is NULL.
 */
int reel_pool_open_default(reel_pool **pool);

#endif
