/* SPDX-License-Identifier: MIT */
/*
 * A piece in a store behind a checksum, compressed or not. If its data or header is changed, or if
 * it comes back for another piece or under another label, the get fails and returns no wrong data.
 */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <reel/extend.h>

#include "fuzz.h"
#include "helpers/store-verbs.h"
#include "targets.h"

enum { PIECES = 2, MAX_BYTES = 4096 };

/* A piece that was put to a leaf. */
struct piece {
	unsigned char data[MAX_BYTES];
	uint64_t header[REEL_HEADER_BYTES / 8];
	size_t bytes;
};

struct leaf {
	reel_store store;
	struct piece piece[PIECES];
	unsigned puts, gets;
	/* Only the first get sees the changes. */
	bool heals;
	/* The piece that these gets return. */
	struct piece changed;
};

static void leaf_put(reel_store *store, reel_transfer *transfer)
{
	struct leaf *leaf = (struct leaf *)store;
	struct piece *piece = &leaf->piece[leaf->puts];

	FUZZ_EXPECT(leaf->puts < PIECES && transfer->bytes <= MAX_BYTES);
	memcpy(piece->data, transfer->data, transfer->bytes);
	memcpy(piece->header, transfer->header, sizeof piece->header);
	piece->bytes = transfer->bytes;
	transfer->extent = (struct reel_extent){leaf->puts++, transfer->bytes};
	reel_transfer_complete(transfer, 0);
}

static void leaf_get(reel_store *store, reel_transfer *transfer)
{
	struct leaf *leaf = (struct leaf *)store;
	const struct piece *piece = &leaf->piece[transfer->extent.location];

	FUZZ_EXPECT(transfer->extent.location < leaf->puts);
	if (leaf->gets++ == 0 || !leaf->heals)
		piece = &leaf->changed;
	FUZZ_EXPECT(transfer->bytes <= MAX_BYTES);
	memcpy(transfer->data, piece->data, transfer->bytes);
	memcpy(transfer->header, piece->header, sizeof piece->header);
	reel_transfer_complete(transfer, 0);
}

static const struct reel_store_verbs verbs = {
	.name = "fuzz",
	.put = leaf_put,
	.get = leaf_get,
	.drop = null_drop,
	.sync = null_sync,
	.capacity = null_capacity,
	.close = null_close,
};

static struct leaf leaf;

static reel_store *open_stack(unsigned kind)
{
	struct reel_codec_options options = {.max_bytes = MAX_BYTES, .buffers = 1};
	reel_store *checksum, *codec;

	leaf.puts = leaf.gets = 0;
	leaf.store.verbs = &verbs;
	FUZZ_EXPECT(!reel_store_checksum_open(&checksum, &leaf.store));
	options.layout.stride = kind / 2;
	if (kind % 2 == 0 || reel_store_codec_open(&codec, checksum, &options))
		return checksum;
	return codec;
}

/* Repeats a few bytes of the input, each time changed by a step. */
static void draw_data(struct fuzz_input *input, unsigned char *data, size_t bytes)
{
	unsigned char seed[16];
	unsigned step = fuzz_byte(input);

	for (size_t i = 0; i < sizeof seed; i++)
		seed[i] = (unsigned char)fuzz_byte(input);
	for (size_t i = 0; i < bytes; i++)
		data[i] = (unsigned char)(seed[i % sizeof seed] + i / sizeof seed * step);
}

/* Changes bytes of the data and the header. Returns whether any byte differs now. */
static bool change(struct fuzz_input *input, struct piece *changed, const struct piece *piece)
{
	unsigned char *header = (unsigned char *)changed->header;

	*changed = *piece;
	while (input->left) {
		size_t at = (size_t)fuzz_number(input, 2) % (piece->bytes + sizeof piece->header);
		unsigned value = fuzz_byte(input);

		if (at < piece->bytes)
			changed->data[at] ^= (unsigned char)value;
		else
			header[at - piece->bytes] ^= (unsigned char)value;
	}
	return memcmp(changed->data, piece->data, piece->bytes) ||
	       memcmp(changed->header, piece->header, sizeof piece->header);
}

/* The header ends with a checksum of its beginning and the data. Changes may meet it by chance. */
static bool is_forged(const struct piece *changed)
{
	const size_t covered = REEL_HEADER_BYTES - sizeof(uint64_t);
	uint32_t crc = fuzz_crc32c(0, changed->header, covered);

	return fuzz_crc32c(crc, changed->data, changed->bytes) ==
	       changed->header[REEL_HEADER_BYTES / 8 - 1];
}

static unsigned char data[PIECES][MAX_BYTES], got[MAX_BYTES];

static reel_transfer put(reel_store *store, unsigned which, size_t bytes)
{
	reel_transfer transfer = {.data = data[which], .bytes = bytes, .label = {7, 1 + which, 3}};

	FUZZ_EXPECT(reel_store_put_and_wait(store, &transfer) == 0);
	FUZZ_EXPECT(transfer.data == data[which] && transfer.bytes == bytes);
	return transfer;
}

static int get(reel_store *store, const reel_transfer *from, struct reel_label label)
{
	reel_transfer transfer = {
		.data = got, .bytes = from->bytes, .extent = from->extent, .label = label};
	int error;

	memset(got, 0x5a, sizeof got);
	leaf.gets = 0;
	error = reel_store_get_and_wait(store, &transfer);
	FUZZ_EXPECT(transfer.data == got && transfer.bytes == from->bytes);
	FUZZ_EXPECT(transfer.extent.location == from->extent.location);
	return error;
}

static void check(reel_store *store, unsigned mode, struct fuzz_input *input, size_t bytes)
{
	reel_transfer transfer = put(store, 0, bytes);
	struct reel_label label = transfer.label;
	bool changed, other_label = mode & 16, misplaced = mode & 32;
	int error;

	put(store, 1, bytes);
	changed = change(input, &leaf.changed, &leaf.piece[misplaced]);
	changed |= misplaced;
	leaf.heals = mode & 64 && leaf.piece[0].bytes == leaf.piece[misplaced].bytes;
	if (is_forged(&leaf.changed) && changed && !misplaced)
		return;
	label.slab_index += other_label;
	error = get(store, &transfer, label);
	if (other_label || (changed && !leaf.heals))
		FUZZ_EXPECT(error == -EBADMSG);
	else
		FUZZ_EXPECT(error == 0 && !memcmp(got, data[0], bytes));
	FUZZ_EXPECT(got[bytes] == 0x5a);
}

int fuzz_stored(const uint8_t *bytes, size_t size)
{
	struct fuzz_input input = {bytes, size};
	unsigned mode = fuzz_byte(&input);
	size_t length = 1 + (size_t)fuzz_number(&input, 2) % (MAX_BYTES - 1);
	reel_store *store = open_stack(mode % 16);

	draw_data(&input, data[0], length);
	draw_data(&input, data[1], length);
	check(store, mode, &input, length);
	reel_store_close(store);
	return 0;
}
