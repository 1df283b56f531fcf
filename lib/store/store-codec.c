/* SPDX-License-Identifier: MIT */
/*
 * Layer: compression. A put is packed into a buffer, which it keeps until it is complete. If there
 * is no free buffer, or if the data gets no smaller, the data is stored as it is; extent.bytes is
 * the length of the data then. Any thread that starts or completes transfers runs these functions.
 *
 * Packed data begins with the header that the put had. A checksum below the codec replaces that
 * header by the header of the packed data, and a checksum above the codec compares it after the
 * data is unpacked.
 *
 * A get reads the packed data into the memory of the data. It needs a buffer only while it unpacks.
 * If puts have all buffers, it uses the spare one, which no transfer keeps for longer than that. So
 * a thread never waits for a completion here, and one thread may run all completions.
 */
#include "store.h"

#include <errno.h>

#if HAVE_LZ4

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/assert.h"
#include "os/integer.h"
#include "os/process.h"
#include "os/os.h"
#include "pack.h"
#include "shuffle.h"

#define DEFAULT_BUFFERS 16
#define DEFAULT_ELEMENT 8

struct buffer {
	struct buffer *next;
	struct reel_pack_space *space;
	unsigned char *packed;
	/* Data of the put that has this buffer. */
	void *data;
	size_t bytes;
};

struct codec {
	struct reel_layer layer;
	struct reel_codec_options options;
	/* In the child of a fork a lock may be held for ever, by a thread of the parent. */
	pid_t owner;
	size_t align;
	char *memory;
	size_t memory_bytes;
	/* Guards `unused`; held for a few instructions. */
	pthread_mutex_t lock;
	struct buffer *unused;
	pthread_mutex_t spare_lock;
	struct buffer spare;
	struct buffer buffer[];
};

/*
 * Takes the buffer that was given last, whose memory is still in the cache. Returns NULL if none is
 * free.
 */
static struct buffer *take(struct codec *codec)
{
	struct buffer *buffer;

	pthread_mutex_lock(&codec->lock);
	buffer = codec->unused;
	if (buffer)
		codec->unused = buffer->next;
	pthread_mutex_unlock(&codec->lock);
	REEL_ASSERT(!buffer || buffer < codec->buffer + codec->options.buffers);
	return buffer;
}

static void give(struct codec *codec, struct buffer *buffer)
{
	REEL_ASSERT(buffer >= codec->buffer && buffer < codec->buffer + codec->options.buffers);
	pthread_mutex_lock(&codec->lock);
	buffer->next = codec->unused;
	codec->unused = buffer;
	pthread_mutex_unlock(&codec->lock);
}

static struct buffer *take_or_wait_for_spare(struct codec *codec)
{
	struct buffer *buffer = take(codec);

	if (buffer)
		return buffer;
	pthread_mutex_lock(&codec->spare_lock);
	return &codec->spare;
}

static void give_or_release_spare(struct codec *codec, struct buffer *buffer)
{
	if (buffer == &codec->spare)
		pthread_mutex_unlock(&codec->spare_lock);
	else
		give(codec, buffer);
}

/* Checks the alignment of the caller's data, since the store below sees the packed data only. */
static int problem_with(const struct codec *codec, const reel_transfer *transfer)
{
	if (reel_process_is_child(codec->owner))
		return -ECHILD;
	if (((uintptr_t)transfer->data | transfer->bytes) & (codec->align - 1))
		return -EINVAL;
	return 0;
}

/*
 * Returns true if the data stays as it is: it is too long, or another codec above packs and unpacks
 * it.
 */
static bool passes_through(const struct codec *codec, const reel_transfer *transfer)
{
	if (transfer->bytes > codec->options.max_bytes)
		return true;
	for (unsigned i = 0; i < transfer->layers; i++)
		if (transfer->layer[i].layer->verbs == codec->layer.store.verbs)
			return true;
	return false;
}

static struct reel_layout layout_of(const struct codec *codec, const reel_transfer *transfer)
{
	return transfer->layout.element ? transfer->layout : codec->options.layout;
}

/* Returns the bytes to store, a multiple of the alignment and less than the data's, or 0. */
static size_t pack(struct codec *codec, struct buffer *buffer, const reel_transfer *transfer)
{
	struct reel_layout layout = layout_of(codec, transfer);
	size_t packed, padded;

	if (transfer->bytes <= codec->align + REEL_HEADER_BYTES || reel_layout_problem(layout))
		return 0;
	packed = reel_pack(buffer->space, layout.element, layout.stride,
			   buffer->packed + REEL_HEADER_BYTES,
			   transfer->bytes - codec->align - REEL_HEADER_BYTES, transfer->data,
			   transfer->bytes);
	if (!packed)
		return 0;
	memcpy(buffer->packed, transfer->header, REEL_HEADER_BYTES);
	packed += REEL_HEADER_BYTES;
	padded = reel_round_up(packed, codec->align);
	REEL_ASSERT(padded < transfer->bytes && padded % codec->align == 0);
	memset(buffer->packed + packed, 0, padded - packed);
	return padded;
}

static int finish_put(reel_store *store, reel_transfer *transfer, void *own, int error)
{
	struct buffer *buffer = own;

	REEL_ASSERT(transfer->data == buffer->packed && transfer->bytes < buffer->bytes);
	transfer->data = buffer->data;
	transfer->bytes = buffer->bytes;
	/*
	 * A checksum below has overwritten the header, with which the put may go on to another
	 * store.
	 */
	if (error)
		memcpy(transfer->header, buffer->packed, REEL_HEADER_BYTES);
	give((struct codec *)store, buffer);
	return error;
}

static void put_packed(struct codec *codec, reel_transfer *transfer, struct buffer *buffer,
		       size_t packed_bytes)
{
	REEL_ASSERT(packed_bytes < transfer->bytes);
	buffer->data = transfer->data;
	buffer->bytes = transfer->bytes;
	transfer->data = buffer->packed;
	transfer->bytes = packed_bytes;
	reel_transfer_enter(transfer, &codec->layer.store, finish_put, buffer);
	reel_store_put(codec->layer.below, transfer);
}

static void pack_and_put(struct codec *codec, reel_transfer *transfer)
{
	struct buffer *buffer = passes_through(codec, transfer) ? NULL : take(codec);
	size_t packed_bytes = buffer ? pack(codec, buffer, transfer) : 0;

	if (packed_bytes) {
		put_packed(codec, transfer, buffer, packed_bytes);
		return;
	}
	if (buffer)
		give(codec, buffer);
	reel_store_put(codec->layer.below, transfer);
}

static void codec_put(reel_store *store, reel_transfer *transfer)
{
	struct codec *codec = (struct codec *)store;
	int error = problem_with(codec, transfer);

	if (error)
		reel_transfer_complete(transfer, error);
	else
		pack_and_put(codec, transfer);
}

static int unpack(struct codec *codec, reel_transfer *transfer, size_t packed_bytes)
{
	struct buffer *buffer;
	int error;

	REEL_ASSERT(packed_bytes < transfer->bytes && transfer->bytes <= codec->options.max_bytes);
	if (packed_bytes < REEL_HEADER_BYTES)
		return -EBADMSG;
	buffer = take_or_wait_for_spare(codec);
	memcpy(transfer->header, transfer->data, REEL_HEADER_BYTES);
	memcpy(buffer->packed, transfer->data, packed_bytes);
	error = reel_unpack(buffer->space, transfer->data, transfer->bytes,
			    buffer->packed + REEL_HEADER_BYTES, packed_bytes - REEL_HEADER_BYTES);
	give_or_release_spare(codec, buffer);
	return error;
}

/* `own` is no address here but the length of the data. */
static int finish_get(reel_store *store, reel_transfer *transfer, void *own, int error)
{
	size_t packed_bytes = transfer->bytes;

	transfer->bytes = (uintptr_t)own;
	return error ? error : unpack((struct codec *)store, transfer, packed_bytes);
}

static void codec_get(reel_store *store, reel_transfer *transfer)
{
	struct codec *codec = (struct codec *)store;
	int error = problem_with(codec, transfer);

	if (!error && transfer->extent.bytes > transfer->bytes)
		error = -EBADMSG;
	if (error) {
		reel_transfer_complete(transfer, error);
		return;
	}
	if (transfer->extent.bytes < transfer->bytes && !passes_through(codec, transfer)) {
		void *bytes = (void *)(uintptr_t)transfer->bytes;

		reel_transfer_enter(transfer, store, finish_get, bytes);
		transfer->bytes = (size_t)transfer->extent.bytes;
	}
	reel_store_get(codec->layer.below, transfer);
}

static void codec_drop(reel_store *store, struct reel_extent extent)
{
	struct codec *codec = (struct codec *)store;

	if (!reel_process_is_child(codec->owner))
		reel_store_drop(codec->layer.below, extent);
}

static void codec_capacity(reel_store *store, struct reel_store_capacity *capacity)
{
	struct codec *codec = (struct codec *)store;

	reel_store_get_capacity(codec->layer.below, capacity);
	/* A checksum below cannot see damage between itself and the caller. */
	capacity->verified = false;
	if (!capacity->max_bytes || capacity->max_bytes > codec->options.max_bytes)
		capacity->max_bytes = codec->options.max_bytes;
}

static void free_codec(struct codec *codec)
{
	if (codec->memory)
		reel_os_unmap(codec->memory, codec->memory_bytes);
	pthread_mutex_destroy(&codec->lock);
	pthread_mutex_destroy(&codec->spare_lock);
	free(codec);
}

static void codec_close(reel_store *store)
{
	struct codec *codec = (struct codec *)store;

	reel_store_close(codec->layer.below);
	free_codec(codec);
}

static const struct reel_store_verbs verbs = {
	.name = "codec",
	.put = codec_put,
	.get = codec_get,
	.drop = codec_drop,
	.sync = reel_layer_sync,
	.capacity = codec_capacity,
	.close = codec_close,
	.register_memory = reel_layer_register,
	.unregister_memory = reel_layer_unregister,
};

static int complete_options(struct reel_codec_options *options)
{
	const char *problem;

	if (!options->max_bytes)
		options->max_bytes = REEL_DEFAULT_SLOT_BYTES;
	if (!options->layout.element)
		options->layout.element = DEFAULT_ELEMENT;
	if (!options->buffers)
		options->buffers = DEFAULT_BUFFERS;
	problem = reel_layout_problem(options->layout);
	if (problem)
		return reel_fail(-EINVAL, "elements of %u bytes, stride %u: %s",
				 options->layout.element, options->layout.stride, problem);
	if (options->max_bytes > LZ4_MAX_INPUT_SIZE)
		return reel_fail(-EINVAL, "puts of %zu bytes: max_bytes is at most %d",
				 options->max_bytes, LZ4_MAX_INPUT_SIZE);
	return 0;
}

/*
 * Maps the buffers and does not allocate them, so that a buffer takes memory only when it is used.
 */
static int make_buffers(struct codec *codec)
{
	size_t unit = codec->align > 64 ? codec->align : 64;
	size_t packed_bytes = reel_round_up(codec->options.max_bytes, unit);
	size_t each = packed_bytes + reel_round_up(sizeof(struct reel_pack_space), unit);
	size_t n = codec->options.buffers;

	REEL_ASSERT(unit % codec->align == 0);
	if (n >= SIZE_MAX / each)
		return -ENOMEM;
	codec->memory_bytes = (n + 1) * each;
	codec->memory = reel_os_map(codec->memory_bytes, unit);
	if (!codec->memory)
		return -ENOMEM;
	for (size_t i = 0; i <= n; i++) {
		struct buffer *buffer = i < n ? &codec->buffer[i] : &codec->spare;
		char *memory = codec->memory + i * each;

		buffer->packed = (unsigned char *)memory;
		buffer->space = (struct reel_pack_space *)(memory + packed_bytes);
		if (i < n)
			give(codec, buffer);
	}
	return 0;
}

int reel_store_codec_open(reel_store **store, reel_store *below,
			  const struct reel_codec_options *options)
{
	struct reel_codec_options complete = {0};
	struct reel_store_capacity capacity;
	struct codec *codec;
	int error;

	if (reel_layer_check(below))
		return -EINVAL;
	if (options)
		complete = *options;
	error = complete_options(&complete);
	if (error)
		return error;
	codec = calloc(1, sizeof *codec + complete.buffers * sizeof *codec->buffer);
	if (!codec)
		return reel_fail(-ENOMEM, "no memory for a codec");
	reel_store_get_capacity(below, &capacity);
	codec->layer.store.verbs = &verbs;
	codec->layer.below = below;
	codec->owner = getpid();
	codec->align = capacity.align;
	codec->options = complete;
	pthread_mutex_init(&codec->lock, NULL);
	pthread_mutex_init(&codec->spare_lock, NULL);
	if (make_buffers(codec)) {
		free_codec(codec);
		return reel_fail(-ENOMEM, "no memory for %u buffers of %zu bytes", complete.buffers,
				 complete.max_bytes);
	}
	*store = &codec->layer.store;
	return 0;
}

#else

int reel_store_codec_open(reel_store **store, reel_store *below,
			  const struct reel_codec_options *options)
{
	(void)store;
	(void)below;
	(void)options;
	return reel_fail(-ENOTSUP, "this library was built without LZ4: "
				   "install liblz4-dev and configure it again");
}

#endif
