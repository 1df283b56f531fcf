/* SPDX-License-Identifier: MIT */
/* The layout of an arena: a header, the tables of warps, of saved tapes and of slabs, and slabs. */
#ifndef REEL_GPU_ARENA_LAYOUT_H
#define REEL_GPU_ARENA_LAYOUT_H

#include <stdbool.h>
#include <string.h>

#include <reel/arena.h>

#define ARENA_SLAB_BYTES ((uint32_t)64 << 10)
#define ARENA_WORD_BYTES 8u
#define ARENA_HEADER_BYTES ((uint64_t)128)
#define ARENA_MIN_ROWS 8u

static inline bool arena_is_slab(uint32_t slab_bytes, uint32_t word_bytes)
{
	return (word_bytes == 4 || word_bytes == 8 || word_bytes == 16) &&
	       (slab_bytes & (slab_bytes - 1)) == 0 &&
	       slab_bytes / 32 / word_bytes >= ARENA_MIN_ROWS;
}

/* Number of slabs that the header and the tables take, in an arena of `slabs` slabs in all. */
static inline uint64_t arena_slabs_before(uint64_t slabs, uint32_t slab_bytes, uint32_t warps)
{
	uint64_t bytes = ARENA_HEADER_BYTES + slabs * sizeof(struct reel_arena_slab) +
			 warps * (sizeof(struct reel_arena_warp) + sizeof(struct reel_arena_saved));

	return (bytes + slab_bytes - 1) / slab_bytes;
}

/* Size of an arena that has `slabs` slabs with rows. */
static inline uint64_t arena_bytes(uint64_t slabs, uint32_t slab_bytes, uint32_t warps)
{
	uint64_t all = slabs;

	while (all - arena_slabs_before(all, slab_bytes, warps) < slabs ||
	       all < arena_slabs_before(all, slab_bytes, warps))
		all++;
	return all * slab_bytes;
}

/* Sets the header of an empty arena. Returns false if no slab fits, or too many do. */
static inline bool arena_lay_out(struct reel_arena_header *header, uint64_t bytes,
				 uint32_t slab_bytes, uint32_t word_bytes, uint32_t warps)
{
	uint64_t slabs = bytes / slab_bytes, first = arena_slabs_before(slabs, slab_bytes, warps);
	uint32_t rows = slab_bytes / 32 / word_bytes;

	if (first >= slabs || slabs * rows > (uint64_t)1 << 31)
		return false;
	memset(header, 0, sizeof *header);
	header->queue = (uint32_t)first;
	header->first_slab = (uint32_t)first;
	header->end_slab = (uint32_t)slabs;
	header->row_mask = rows - 1;
	header->word_bytes = word_bytes;
	while ((uint32_t)1 << header->row_shift < rows)
		header->row_shift++;
	header->warps = warps;
	header->warps_offset = ARENA_HEADER_BYTES;
	header->saved_offset = header->warps_offset + warps * sizeof(struct reel_arena_warp);
	header->slabs_offset = header->saved_offset + warps * sizeof(struct reel_arena_saved);
	return true;
}

/* Number of slabs with rows. */
static inline uint32_t arena_slabs(const struct reel_arena_header *header)
{
	return header->end_slab - header->first_slab;
}

/* Size of the header and the tables behind it. */
static inline size_t arena_tables(const struct reel_arena_header *header)
{
	return (size_t)header->slabs_offset + header->end_slab * sizeof(struct reel_arena_slab);
}

/* Size of the tables behind the header, which are zero in an empty arena. */
static inline uint64_t arena_zeros(const struct reel_arena_header *header)
{
	return arena_tables(header) - ARENA_HEADER_BYTES;
}

#endif
