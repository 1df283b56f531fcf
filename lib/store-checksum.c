/* SPDX-License-Identifier: MIT */
#include "store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "crc32c.h"

#define MAGIC 0x6c656572u
#define HEADER_VERSION 1

/* All of it is compared, so that each bit counts. */
struct header {
	uint32_t magic;
	uint32_t version;
	struct reel_label label;
	uint64_t bytes;
	uint64_t reserved[2];
	uint64_t crc; /* of all above, and of the data */
};

_Static_assert(sizeof(struct header) == REEL_HEADER_BYTES, "a header fills the ticket's");

struct checksum {
	reel_store store;
	reel_store *below;
};

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

static bool is_sound(const reel_transfer *transfer)
{
	struct header header = header_of(transfer);

	return memcmp(transfer->header, &header, sizeof header) == 0;
}

static void checksum_put(reel_store *store, reel_transfer *transfer)
{
	struct checksum *checksum = (struct checksum *)store;
	struct header header = header_of(transfer);

	memcpy(transfer->header, &header, sizeof header);
	reel_store_put(checksum->below, transfer);
}

static void start_get(struct checksum *checksum, reel_transfer *transfer, reel_layer_finish *finish)
{
	/* Else a store that brings no header back would pass with one from before. */
	memset(transfer->header, 0, sizeof transfer->header);
	reel_transfer_enter(transfer, &checksum->store, finish, NULL);
	reel_store_get(checksum->below, transfer);
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
	if (error || is_sound(transfer))
		return error;
	start_get((struct checksum *)store, transfer, finish_second_get);
	return REEL_TRANSFER_RESTARTED;
}

static void checksum_get(reel_store *store, reel_transfer *transfer)
{
	start_get((struct checksum *)store, transfer, finish_get);
}

static void checksum_drop(reel_store *store, struct reel_place place)
{
	reel_store_drop(((struct checksum *)store)->below, place);
}

static int checksum_sync(reel_store *store, int64_t timeout_ns)
{
	return reel_store_sync(((struct checksum *)store)->below, timeout_ns);
}

static void checksum_capacity(reel_store *store, struct reel_store_capacity *capacity)
{
	reel_store_get_capacity(((struct checksum *)store)->below, capacity);
	capacity->verified = true;
}

static void checksum_close(reel_store *store)
{
	struct checksum *checksum = (struct checksum *)store;

	reel_store_close(checksum->below);
	free(checksum);
}

static int checksum_adopt(reel_store *store, void *memory, size_t bytes)
{
	return reel_store_adopt(((struct checksum *)store)->below, memory, bytes);
}

static void checksum_release(reel_store *store, void *memory, size_t bytes)
{
	reel_store_release(((struct checksum *)store)->below, memory, bytes);
}

static const struct reel_store_verbs verbs = {
	.name = "checksum",
	.put = checksum_put,
	.get = checksum_get,
	.drop = checksum_drop,
	.sync = checksum_sync,
	.capacity = checksum_capacity,
	.close = checksum_close,
	.adopt = checksum_adopt,
	.release = checksum_release,
};

/* A ticket has one header: above a store that is verified already, another layer adds nothing. */
int reel_store_checksum_open(reel_store **store, reel_store *below)
{
	struct reel_store_capacity capacity;
	struct checksum *checksum;

	reel_store_get_capacity(below, &capacity);
	if (capacity.verified) {
		*store = below;
		return 0;
	}
	checksum = calloc(1, sizeof *checksum);
	if (!checksum)
		return reel_store_refuse(-ENOMEM, "no memory for a checksum layer");
	checksum->store.verbs = &verbs;
	checksum->below = below;
	*store = &checksum->store;
	return 0;
}

void reel_store_checksum_leave(reel_store *store)
{
	free((struct checksum *)store);
}
