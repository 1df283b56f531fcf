/* SPDX-License-Identifier: MIT */
/*
 * Compression of a piece of memory, block by block: second differences, byte
 * shuffle, LZ4. How a piece was packed stands in front of it.
 */
#ifndef REEL_LIB_PACK_H
#define REEL_LIB_PACK_H

#include <lz4.h>
#include <stdint.h>

/* LZ4 is at its fastest on blocks of up to 64 KiB, and finds nothing that is farther apart. */
#define REEL_PACK_BLOCK_BYTES 65536

/* What one call at a time works in. */
struct reel_pack_space {
	LZ4_stream_t lz4;
	uint64_t differences[REEL_PACK_BLOCK_BYTES / 8];
	uint64_t planes[REEL_PACK_BLOCK_BYTES / 8];
};

/*
 * Pack data into `room` bytes. Returns the bytes that it took, or 0: it does not
 * fit. With a stride, element is 8.
 */
size_t reel_pack(struct reel_pack_space *space, unsigned element, unsigned stride, void *packed,
		 size_t room, const void *data, size_t bytes);

/*
 * The reverse. Zeros may stand behind what was packed. Returns 0, or -EBADMSG:
 * this is not what was packed from so many bytes; then data holds anything.
 */
int reel_unpack(struct reel_pack_space *space, void *data, size_t bytes, const void *packed,
		size_t packed_bytes);

#endif
