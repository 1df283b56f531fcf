/* SPDX-License-Identifier: MIT */
/*
 * Compression of data, block by block: second differences, byte shuffle, LZ4. A head in front of
 * the packed data says how it was packed.
 */
#ifndef REEL_LIB_PACK_H
#define REEL_LIB_PACK_H

#include <lz4.h>
#include <stdint.h>

/* LZ4 is fastest on blocks of up to 64 KiB, and finds no repetition that is farther apart. */
#define REEL_PACK_BLOCK_BYTES 65536

/* Working memory of one call at a time. */
struct reel_pack_space {
	LZ4_stream_t lz4;
	uint64_t differences[REEL_PACK_BLOCK_BYTES / 8];
	uint64_t planes[REEL_PACK_BLOCK_BYTES / 8];
};

/*
 * Packs data into at most `room` bytes. Returns the number of bytes that it took, or 0 if it does
 * not fit. With a stride, `element` is 8.
 */
size_t reel_pack(struct reel_pack_space *space, unsigned element, unsigned stride, void *packed,
		 size_t room, const void *data, size_t bytes);

/*
 * Unpacks data. Zeros may follow the packed data. Returns 0, or -EBADMSG if this was not packed
 * from `bytes` bytes; then `data` holds anything.
 */
int reel_unpack(struct reel_pack_space *space, void *data, size_t bytes, const void *packed,
		size_t packed_bytes);

#endif
