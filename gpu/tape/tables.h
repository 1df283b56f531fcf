/* SPDX-License-Identifier: MIT */
/*
 * The host's copy of an arena's tables, while no kernel uses them: which slabs each warp has, how
 * high its lanes' tapes are, which slabs are free.
 */
#ifndef REEL_GPU_TABLES_H
#define REEL_GPU_TABLES_H

#include <reel/arena.h>

#include "gpu/driver/driver.h"

/* Instead of the rows of a lane's tape. */
#define REEL_TABLES_UNSAVED UINT64_MAX
#define REEL_TABLES_EMPTY (UINT64_MAX - 1)

struct reel_tables {
	unsigned char *memory; /* pinned; what follows points into it */
	size_t bytes;
	struct reel_arena_header *header;
	struct reel_arena_warp *warp;
	struct reel_arena_saved *saved;
	struct reel_arena_slab *slab;

	/*
	 * How high each lane's tape is: row r of the slab with h below it is h * row_mask + r,
	 * whether it is on the device or in the store.
	 */
	uint64_t *rows;
	uint32_t *chain; /* of the warp that was walked last */
	uint32_t free_slabs;
};

/*
 * From an address of the device, once the launches in the stream have ended. Within the context, as
 * all that follows. 0, or -EIO, -ENOMEM; -EPROTO: there is a fault that was not settled.
 */
int reel_tables_read(struct reel_arena *arena, void *stream, reel_cu_address address);
/* Of an arena that is to be empty, without a look at the device. */
int reel_tables_clear(struct reel_arena *arena);
/* With the tops of lanes at their rows. */
int reel_tables_write(struct reel_arena *arena, reel_cu_address address);
void reel_tables_close(struct reel_arena *arena);

/* Returns 0 if there is none. */
uint32_t reel_tables_take(struct reel_tables *tables);
void reel_tables_give(struct reel_tables *tables, uint32_t slab);

/* Puts a warp's slabs on the device into tables->chain, the lowest first; returns how many. */
uint32_t reel_tables_walk(struct reel_tables *tables, uint32_t warp);
/* Give back what is above the lanes' tops, and walk. */
uint32_t reel_tables_trim(struct reel_tables *tables, uint32_t warp);

/* The lowest slab leaves the warp's chain, for the store, or comes to it from there. */
void reel_tables_drop_bottom(struct reel_tables *tables, uint32_t warp);
/* A slab above the highest, which is none if there is none. */
void reel_tables_put_top(struct reel_tables *tables, uint32_t warp, uint32_t highest,
			 uint32_t slab);
void reel_tables_put_bottom(struct reel_tables *tables, uint32_t warp, uint32_t slab);

#endif
