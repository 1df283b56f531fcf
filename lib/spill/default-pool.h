/* SPDX-License-Identifier: MIT */
#ifndef REEL_LIB_DEFAULT_POOL_H
#define REEL_LIB_DEFAULT_POOL_H

#include <reel/pool.h>

/*
 * As reel_pool_default(). 0; -ENOMEM; or -ENXIO: the store that the environment asks for cannot be
 * opened, and reel_error_text() says why. On failure *pool is NULL.
 */
int reel_pool_open_default(reel_pool **pool);

#endif
