/* SPDX-License-Identifier: MIT */
/*
 * Packs and unpacks data: a head and blocks. Each block is a length (4 bytes) and bytes of this
 * number: the output of LZ4 or, if that is not shorter, the block of data itself. Any thread, each
 * with a space of its own. Whatever bytes are unpacked, nothing outside of `data` is written.
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#if HAVE_LZ4

#include "difference.h"
#include "os/assert.h"
#include "os/integer.h"
#include "pack.h"
#include "shuffle.h"

#define MAGIC 0x316b6361706c6572u

struct head {
	uint64_t magic;
	uint64_t bytes;
	uint64_t packed_bytes; /* of the blocks */
	uint32_t element;
	uint32_t stride;
};

static size_t block_bytes(unsigned element)
{
	return REEL_PACK_BLOCK_BYTES - REEL_PACK_BLOCK_BYTES % element;
}

/* Returns the block [at, at + bytes) of the data, filtered for LZ4. */
static const void *filter(struct reel_pack_space *space, const struct head *head,
			  const unsigned char *data, size_t at, size_t bytes)
{
	const void *from = data + at;

	REEL_ASSERT(bytes <= REEL_PACK_BLOCK_BYTES && (!head->stride || at % 8 == 0));
	if (head->stride) {
		reel_difference(space->differences, data, at / 8, bytes / 8, head->stride);
		memcpy((unsigned char *)space->differences + bytes / 8 * 8,
		       data + at + bytes / 8 * 8, bytes % 8);
		from = space->differences;
	}
	/* Mutants survive (constant): the planes of single bytes are these bytes. */
	if (head->element == 1)
		return from;
	reel_shuffle(space->planes, from, bytes, head->element);
	return space->planes;
}

/* Returns the number of bytes that the block takes of `room`, or 0 if it does not fit. */
static size_t pack_block(struct reel_pack_space *space, const struct head *head, unsigned char *to,
			 size_t room, const unsigned char *data, size_t at, size_t bytes)
{
	uint32_t length;
	int most;

	/* Mutants survive (boundary): nothing fits into 0 bytes. */
	if (room <= sizeof length)
		return 0;
	room -= sizeof length;
	most = (int)reel_min_size(room, bytes - 1);
	/* Mutants survive (constant): the last argument trades size for time. */
	length = (uint32_t)LZ4_compress_fast_extState(
		&space->lz4, filter(space, head, data, at, bytes),
		(char *)to + sizeof length, (int)bytes, most, 1);
	if (!length) {
		if (room < bytes)
			return 0;
		length = (uint32_t)bytes;
		memcpy(to + sizeof length, data + at, bytes);
	}
	REEL_ASSERT(length <= room && length <= bytes);
	memcpy(to, &length, sizeof length);
	return sizeof length + length;
}

size_t reel_pack(struct reel_pack_space *space, unsigned element, unsigned stride, void *packed,
		 size_t room, const void *data, size_t bytes)
{
	struct head head = {.magic = MAGIC, .bytes = bytes, .element = element, .stride = stride};
	unsigned char *to = packed;
	size_t used = sizeof head;

	if (room < sizeof head)
		return 0;
	for (size_t at = 0; at < bytes; at += block_bytes(element)) {
		size_t length = pack_block(space, &head, to + used, room - used, data, at,
					   reel_min_size(bytes - at, block_bytes(element)));

		if (!length)
			return 0;
		used += length;
	}
	REEL_ASSERT(used <= room);
	head.packed_bytes = used - sizeof head;
	memcpy(to, &head, sizeof head);
	return used;
}

static int unfilter(struct reel_pack_space *space, const struct head *head, unsigned char *data,
		    size_t at, size_t bytes, const void *block, size_t length)
{
	void *to = head->element == 1 ? (void *)(data + at) : space->planes;

	REEL_ASSERT(bytes <= REEL_PACK_BLOCK_BYTES);
	if (LZ4_decompress_safe(block, to, (int)length, (int)bytes) != (int)bytes)
		/* Mutants survive (sign): the caller compares with 0. */
		return -EBADMSG;
	if (head->element != 1)
		reel_unshuffle(data + at, space->planes, bytes, head->element);
	if (head->stride)
		reel_undo_difference(data, at / 8, bytes / 8, head->stride);
	return 0;
}

/* Returns the number of bytes of `packed` that the block takes, or -EBADMSG. */
static int64_t unpack_block(struct reel_pack_space *space, const struct head *head,
			    unsigned char *data, size_t at, size_t bytes,
			    const unsigned char *packed, size_t left)
{
	uint32_t length;

	REEL_ASSERT(bytes > 0 && bytes <= REEL_PACK_BLOCK_BYTES);
	/* Mutants survive (boundary): LZ4 also refuses a block of no bytes. */
	if (left < sizeof length)
		return -EBADMSG;
	memcpy(&length, packed, sizeof length);
	packed += sizeof length;
	if (length > left - sizeof length)
		return -EBADMSG;
	if (length == bytes)
		memcpy(data + at, packed, bytes);
	else if (unfilter(space, head, data, at, bytes, packed, length))
		return -EBADMSG;
	return (int64_t)(sizeof length + length);
}

static bool is_sound(const struct head *head, size_t bytes, size_t packed_bytes)
{
	return head->magic == MAGIC && head->bytes == bytes &&
	       head->packed_bytes <= packed_bytes - sizeof *head && head->element >= 1 &&
	       head->element <= REEL_SHUFFLE_MAX_ELEMENT &&
	       (head->stride == 0 || head->element == 8);
}

int reel_unpack(struct reel_pack_space *space, void *data, size_t bytes, const void *packed,
		size_t packed_bytes)
{
	const unsigned char *from = packed;
	size_t used = sizeof(struct head);
	struct head head;
	size_t end;

	if (packed_bytes < sizeof head)
		return -EBADMSG;
	memcpy(&head, from, sizeof head);
	if (!is_sound(&head, bytes, packed_bytes))
		return -EBADMSG;
	end = sizeof head + head.packed_bytes;
	for (size_t at = 0; at < bytes; at += block_bytes(head.element)) {
		int64_t length = unpack_block(space, &head, data, at,
					      reel_min_size(bytes - at, block_bytes(head.element)),
					      from + used, end - used);

		if (length < 0)
			return -EBADMSG;
		used += (size_t)length;
	}
	REEL_ASSERT(used <= end);
	return used == end ? 0 : -EBADMSG;
}

#endif
