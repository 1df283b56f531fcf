/* SPDX-License-Identifier: MIT */
/*
 * The host's copy of an arena's tables, while no kernel uses the arena: the slabs of each warp, the
 * heights of its lanes' tapes, the free slabs.
 */
#ifndef REEL_GPU_TABLES_H
#define REEL_GPU_TABLES_H

#include <reel/arena.h>

/* Values in `rows` for a tape that was not saved, and for one that is empty. */
#define REEL_TABLES_UNSAVED UINT64_MAX
#define REEL_TABLES_EMPTY (UINT64_MAX - 1)

struct reel_tables {
	unsigned char *memory; /* pinned; the four pointers below point into it */
	size_t bytes;
	struct reel_arena_header *header;
	struct reel_arena_warp *warp;
	struct reel_arena_saved *saved;
	struct reel_arena_slab *slab;

	/*
	 * Height of each lane's tape. Row r of the slab with h slabs below it has the height
	 * h * row_mask + r, whether the slabs are on the device or in the store.
	 */
	uint64_t *rows;
	uint32_t *chain; /* the slabs of the warp that was walked last, the lowest first */
	uint32_t *free;  /* the free slabs; the last one is taken first */
	uint32_t free_slabs;
};

/* Lists the free slabs and sets `rows`, from tables that were read. */
void reel_tables_measure(struct reel_tables *tables);
/*
 * Queues the free slabs, and sets the top of each lane by its `rows`, in tables that are to be
 * written.
 */
void reel_tables_place(struct reel_tables *tables);

/* Takes a free slab. Returns 0 if there is none. */
uint32_t reel_tables_take(struct reel_tables *tables);
void reel_tables_give(struct reel_tables *tables, uint32_t slab);
/* Sorts the free slabs, so that the next ones taken lie side by side. Overwrites `chain`. */
void reel_tables_sort_free(struct reel_tables *tables);

/* Lists a warp's slabs on the device in `tables->chain`. Returns their number. */
uint32_t reel_tables_walk(struct reel_tables *tables, uint32_t warp);
/* Gives back the slabs above the tops of all lanes, and walks the warp. */
uint32_t reel_tables_trim(struct reel_tables *tables, uint32_t warp);

/* Takes the lowest slab out of a warp's chain. It is on its way to the store, and not yet free. */
void reel_tables_drop_bottom(struct reel_tables *tables, uint32_t warp);
/* Adds a slab above `highest`; 0: the warp has no slab on the device. */
void reel_tables_put_top(struct reel_tables *tables, uint32_t warp, uint32_t highest,
			 uint32_t slab);
/* Adds a slab that came back from the store below the lowest one. */
void reel_tables_put_bottom(struct reel_tables *tables, uint32_t warp, uint32_t slab);

#endif
