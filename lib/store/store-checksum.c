/* SPDX-License-Identifier: MIT */
/*
 * Layer: a header with the label of the put and a CRC of header and data, which is compared when
 * the data comes back. A get that does not match, or cannot be unpacked, is repeated once, since a
 * wire may have been at fault; after that it is -EBADMSG. The verbs run in the threads that call
 * the store and complete its transfers. A get whose header differs from the header of its put never
 * returns 0.
 */
#include "store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "crc32c.h"
#include "os/assert.h"

#define MAGIC 0x6c656572u
#define HEADER_VERSION 1

/* All of the header is compared, so that each bit counts. */
struct header {
	uint32_t magic;
	uint32_t version;
	struct reel_label label;
	uint64_t bytes;
	uint64_t reserved[2];
	uint64_t crc; /* of the members above and of the data */
};

_Static_assert(sizeof(struct header) == REEL_HEADER_BYTES, "a header fills the ticket's");

static struct header header_of(const reel_transfer *transfer)
{
	struct header header = {
		.magic = MAGIC,
		.version = HEADER_VERSION,
		.label = transfer->label,
		.bytes = transfer->bytes,
	};

	header.crc = reel_crc32c(0, &header, offsetof(struct header, crc));
	header.crc = reel_crc32c((uint32_t)header.crc, transfer->data, transfer->bytes);
	return header;
}

uint64_t reel_transfer_checksum(const reel_transfer *transfer)
{
	struct header header;

	memcpy(&header, transfer->header, sizeof header);
	return header.crc;
}

uint64_t reel_checksum_of_put(const reel_transfer *transfer)
{
	return header_of(transfer).crc;
}

static bool is_sound(const reel_transfer *transfer)
{
	struct header header = header_of(transfer);

	return memcmp(transfer->header, &header, sizeof header) == 0;
}

static void checksum_put(reel_store *store, reel_transfer *transfer)
{
	struct header header = header_of(transfer);

	memcpy(transfer->header, &header, sizeof header);
	reel_store_put(reel_layer_below(store), transfer);
}

static void start_get(reel_store *store, reel_transfer *transfer, reel_layer_finish *finish)
{
	/*
	 * Otherwise a store that brings no header back would pass with the header of an earlier
	 * get.
	 */
	memset(transfer->header, 0, sizeof transfer->header);
	reel_transfer_enter(transfer, store, finish, NULL);
	reel_store_get(reel_layer_below(store), transfer);
}

static int finish_second_get(reel_store *store, reel_transfer *transfer, void *own, int error)
{
	(void)store;
	(void)own;
	if (error)
		return error;
	return is_sound(transfer) ? 0 : -EBADMSG;
}

static int finish_get(reel_store *store, reel_transfer *transfer, void *own, int error)
{
	(void)own;
	/* A codec below may be the first to see that the data is damaged. */
	if (error ? error != -EBADMSG : is_sound(transfer))
		return error;
	start_get(store, transfer, finish_second_get);
	return REEL_TRANSFER_RESTARTED;
}

static void checksum_get(reel_store *store, reel_transfer *transfer)
{
	start_get(store, transfer, finish_get);
}

static void checksum_capacity(reel_store *store, struct reel_store_capacity *capacity)
{
	reel_store_get_capacity(reel_layer_below(store), capacity);
	capacity->verified = true;
}

static void checksum_close(reel_store *store)
{
	reel_store_close(reel_layer_below(store));
	free(store);
}

static const struct reel_store_verbs verbs = {
	.name = "checksum",
	.put = checksum_put,
	.get = checksum_get,
	.drop = reel_layer_drop,
	.sync = reel_layer_sync,
	.capacity = checksum_capacity,
	.close = checksum_close,
	.register_memory = reel_layer_register,
	.unregister_memory = reel_layer_unregister,
};

/* Decides for pools and snapshots whether a store gets a checksum. */
int reel_store_checksum_open(reel_store **store, reel_store *below)
{
	struct reel_store_capacity capacity;
	struct reel_layer *layer;

	if (reel_layer_check(below))
		return -EINVAL;
	reel_store_get_capacity(below, &capacity);
	if (capacity.verified) {
		*store = below;
		return 0;
	}
	layer = calloc(1, sizeof *layer);
	if (!layer)
		return reel_fail(-ENOMEM, "no memory for a checksum layer");
	layer->store.verbs = &verbs;
	layer->below = below;
	*store = &layer->store;
	return 0;
}

void reel_store_checksum_leave(reel_store *store)
{
	REEL_ASSERT(store->verbs == &verbs);
	free(store);
}
