/* SPDX-License-Identifier: MIT */
/* The environment, for those parts that it governs. */
#ifndef REEL_LIB_ENVIRONMENT_H
#define REEL_LIB_ENVIRONMENT_H

#include <stddef.h>

#include <reel/pool.h>

/* NULL: not set, empty, or not to be trusted (a set-user-id program). */
const char *reel_environment(const char *name);

/* One line on stderr: what was set, and what to set instead. */
void reel_environment_refuse(const char *name, const char *value, const char *remedy);

/*
 * As reel_pool_default(). 0; -ENOMEM; or -ENXIO: the store that the environment asks for cannot be
 * opened, and reel_store_problem() says why. On failure *pool is NULL.
 */
int reel_pool_open_default(reel_pool **pool);

/* "512M": a number and optionally K, M, G or T. 0, -EINVAL, or -ERANGE. */
int reel_parse_bytes(const char *text, size_t *bytes);

#endif
