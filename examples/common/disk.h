/* SPDX-License-Identifier: MIT */
/*
 * The directory that --spill names, and the pool whose tapes go there.
 */
#ifndef EXAMPLES_DISK_H
#define EXAMPLES_DISK_H

#include <reel.h>

/* A store in the directory. Ends the program if there can be none. */
reel_store *disk_open(const char *directory);

/*
 * A pool with the bytes of --budget (0: no bound), slabs of `slab_bytes` (0: as by default), and,
 * if the directory is not NULL and there is a budget, a store there. Ends the program if there can
 * be none.
 */
reel_pool *pool_open(uint64_t budget, uint64_t slab_bytes, const char *directory);

#endif
