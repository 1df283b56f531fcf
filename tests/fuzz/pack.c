/* SPDX-License-Identifier: MIT */
/* Packed pieces: any data comes back, and nothing is read beyond the end of arbitrary bytes. */
#include <config.h>

#include "targets.h"

#if HAVE_LZ4

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/pack.h"
#include "store/shuffle.h"

#define HEAD_BYTES 32

/* Blocks are of 64 KiB. */
enum { MAX_BYTES = 3 * REEL_PACK_BLOCK_BYTES };

static struct reel_pack_space space;

/* Repeats the input, and changes each repetition a little. */
static unsigned char *draw_data(struct fuzz_input *input, size_t *bytes)
{
	unsigned repeat = fuzz_byte(input), step = fuzz_byte(input);
	unsigned char *data;

	*bytes = input->left * (1 + repeat);
	if (*bytes > MAX_BYTES)
		*bytes = MAX_BYTES;
	data = fuzz_allocate(*bytes + 1);
	for (size_t i = 0; i < *bytes; i++)
		data[i] = (unsigned char)(input->next[i % input->left] + i / input->left * step);
	return data;
}

static void check_unpack(const unsigned char *packed, size_t packed_bytes,
			 const unsigned char *data, size_t bytes)
{
	/* Copies of exactly these sizes, so that a sanitizer sees accesses beyond them. */
	unsigned char *from = fuzz_allocate(packed_bytes + 1), *to = fuzz_allocate(bytes + 1);
	int error;

	memcpy(from + 1, packed, packed_bytes);
	error = reel_unpack(&space, to + 1, bytes, from + 1, packed_bytes);
	FUZZ_EXPECT(error == 0 || error == -EBADMSG);
	if (data)
		FUZZ_EXPECT(!error && (!bytes || !memcmp(to + 1, data, bytes)));
	free(from);
	free(to);
}

/* Data comes back, also with zeros behind the packed bytes. Packing keeps to its room. */
static void go_and_return(struct fuzz_input *input)
{
	unsigned element = 1 + fuzz_below(input, REEL_SHUFFLE_MAX_ELEMENT);
	unsigned stride = element == 8 ? fuzz_byte(input) : 0;
	size_t bytes, room, used;
	unsigned char *data = draw_data(input, &bytes), *packed;

	room = bytes + bytes / 4096 + 256;
	packed = fuzz_allocate(room);
	memset(packed, 0, room);
	used = reel_pack(&space, element, stride, packed, room, data, bytes);
	FUZZ_EXPECT(used >= HEAD_BYTES && used <= room);
	check_unpack(packed, used, data, bytes);
	memset(packed + used, 0, room - used);
	check_unpack(packed, room, data, bytes);
	if (used > HEAD_BYTES) {
		size_t less = reel_pack(&space, element, stride, packed, used - 1, data, bytes);

		FUZZ_EXPECT(less < used);
		if (less)
			check_unpack(packed, less, data, bytes);
	}
	free(packed);
	free(data);
}

/* Unpacks a piece after some of its bytes were changed, or its end was cut off. */
static void change(struct fuzz_input *input)
{
	static unsigned char packed[8192];
	unsigned element = 1 + fuzz_below(input, REEL_SHUFFLE_MAX_ELEMENT);
	unsigned repeat = fuzz_below(input, 8), edits = fuzz_below(input, 16);
	struct fuzz_input rest = *input;
	size_t bytes, used;
	unsigned char *data;

	for (unsigned i = 0; i < 4 * edits; i++)
		fuzz_byte(&rest);
	rest.left = rest.left > 256 ? 256 : rest.left;
	data = draw_data(&rest, &bytes);
	bytes = bytes > 512 * (1 + repeat) ? 512 * (1 + repeat) : bytes;
	used = reel_pack(&space, element, element == 8 ? repeat : 0, packed, sizeof packed, data,
			 bytes);
	free(data);
	if (!used)
		return;
	for (unsigned i = 0; i < edits; i++) {
		size_t at = fuzz_number(input, 2) % used;

		packed[at] ^= (unsigned char)fuzz_byte(input);
		used = fuzz_byte(input) == 255 ? at + 1 : used;
	}
	check_unpack(packed, used, NULL, bytes);
}

/* Unpacks the input as it is, or as packed bytes behind a head that is right in form. */
static void take_bytes(struct fuzz_input *input, bool with_head)
{
	static unsigned char packed[HEAD_BYTES + 65536];
	uint64_t magic = 0x316b6361706c6572u, bytes = fuzz_number(input, 2);
	uint32_t element = 1 + fuzz_below(input, 16), stride = element == 8 ? fuzz_byte(input) : 0;
	uint64_t packed_bytes = input->left;

	if (!with_head) {
		check_unpack(input->next, input->left, NULL, (size_t)bytes);
		return;
	}
	memcpy(packed, &magic, 8);
	memcpy(packed + 8, &bytes, 8);
	memcpy(packed + 16, &packed_bytes, 8);
	memcpy(packed + 24, &element, 4);
	memcpy(packed + 28, &stride, 4);
	memcpy(packed + HEAD_BYTES, input->next, input->left);
	check_unpack(packed, HEAD_BYTES + input->left, NULL, (size_t)bytes);
}

int fuzz_pack(const uint8_t *data, size_t size)
{
	struct fuzz_input input = {data, size};
	unsigned mode = fuzz_below(&input, 4);

	if (!input.left)
		return 0;
	if (mode == 0 && input.left > 4)
		go_and_return(&input);
	else if (mode == 1 && input.left > 80)
		change(&input);
	else
		take_bytes(&input, mode == 2);
	return 0;
}

#endif
