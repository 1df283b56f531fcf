/* SPDX-License-Identifier: MIT */
/* Tests packing: data come back, they are small, and damaged data are refused. */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store/pack.h"
#include "helpers/support.h"

#define MAX_BYTES ((size_t)1 << 20)
#define CELLS 1000

/* Places of the members in the head of a packed piece, and its end. */
#define MAGIC 0x316b6361706c6572u
#define BYTES_AT 8
#define PACKED_BYTES_AT 16
#define ELEMENT_AT 24
#define HEAD_BYTES 32

static size_t whole_pages(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

/* Returns memory with a page without access behind its last byte. */
static void *guarded(size_t bytes)
{
	size_t pages = whole_pages(bytes);
	char *memory = mmap(NULL, pages + whole_pages(1), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || mprotect(memory + pages, whole_pages(1), PROT_NONE)) {
		printf("Bail out! no memory\n");
		exit(EXIT_FAILURE);
	}
	return memory + pages - bytes;
}

static struct reel_pack_space *space;
/* A read beyond the end of the data also ends the program. */
static unsigned char *data;
static unsigned char packed[MAX_BYTES], back[MAX_BYTES + 8];

static size_t pack(unsigned element, unsigned stride, const void *from, size_t bytes)
{
	return reel_pack(space, element, stride, packed, sizeof packed, from, bytes);
}

/* ---- Data ---- */

/* Fills the data with a field of doubles that diffuses, step after step. */
static void fill_with_field(unsigned modes)
{
	static double now[CELLS], next[CELLS];
	size_t at = 0;

	for (unsigned i = 0; i < CELLS; i++) {
		now[i] = 1;
		for (unsigned m = 1; m <= modes; m++)
			now[i] += sin(6.283185307179586 * m * i / CELLS + m * m) / m;
	}
	for (;;) {
		for (unsigned i = 0; i < CELLS; i++, at += sizeof *now) {
			if (at + sizeof *now > MAX_BYTES)
				return;
			memcpy(data + at, &now[i], sizeof *now);
			next[i] = now[i] + 0.25 * (now[(i + 1) % CELLS] - 2 * now[i] +
						   now[(i + CELLS - 1) % CELLS]);
		}
		memcpy(now, next, sizeof now);
	}
}

/*
 * Fills the data with identifiers of arguments: three neighbours of the last step, some far ones.
 */
static void fill_with_ids(void)
{
	for (uint32_t i = 0; i < MAX_BYTES / 4; i++) {
		uint32_t cell = i / 3;
		uint32_t id = scramble(i) % 24 ? cell + i % 3 : (uint32_t)scramble(i + 1) % 65536;

		memcpy(data + 4 * i, &id, sizeof id);
	}
}

/* ---- Checks ---- */

static double ratio_of(unsigned element, unsigned stride)
{
	size_t bytes = pack(element, stride, data, MAX_BYTES);

	if (!bytes || reel_unpack(space, back, MAX_BYTES, packed, bytes) ||
	    memcmp(back, data, MAX_BYTES) != 0)
		return 0;
	return (double)MAX_BYTES / (double)bytes;
}

static void ratio_is(double ratio, double wanted, const char *what)
{
	ok(ratio > 0.9 * wanted, "%s: ratio %.2f, about %.2f is wanted", what, ratio,
	   wanted);
}

static void ratios_are_reached(void)
{
	fill_with_field(5);
	ratio_is(ratio_of(8, 0), 1.39, "a field of doubles");
	ratio_is(ratio_of(8, CELLS), 2.6,
		 "a field of doubles, with second differences from step to step");
	fill_with_ids();
	ratio_is(ratio_of(1, 0), 2, "bytes as they are");
	ratio_is(ratio_of(4, 0), 6.1, "32-bit ids");
	ratio_is(ratio_of(2, 0), 5.6, "16-bit halves of 32-bit ids");
}

static void all_shapes_come_back(void)
{
	unsigned wrong = 0;

	fill_with_field(3);
	for (uint64_t i = 0; i < 400; i++) {
		unsigned element = i % 3 ? 8 : 1 + (unsigned)i / 3 % 16;
		unsigned stride = i % 3 == 1 ? 1 + (unsigned)scramble(i) % 3000 : 0;
		size_t bytes = scramble(i + 1) % (i % 8 ? 20000 : MAX_BYTES);
		const unsigned char *from = data + MAX_BYTES - bytes;
		size_t length = pack(element, stride, from, bytes);

		memset(back, 0xee, bytes + 1);
		if (length)
			wrong += reel_unpack(space, back, bytes, packed, length) ||
				 memcmp(back, from, bytes) != 0 || back[bytes] != 0xee;
		else
			wrong += bytes > 4000;
	}
	is_int(wrong, 0, "all elements, strides and lengths come back");
}

static void what_does_not_fit_is_not_packed(void)
{
	unsigned wrong = 0;
	size_t length;

	fill(data, MAX_BYTES, 1);
	is_int(reel_pack(space, 8, 0, packed, 99 * 1024, data, 100 * 1024), 0,
	       "what has no pattern does not fit");
	fill_with_field(3);
	length = pack(8, CELLS, data, 300000);
	for (size_t room = 0; room < 100; room++)
		wrong += reel_pack(space, 8, CELLS, packed, room, data, 300000) != 0;
	for (size_t room = length - 100; room < length; room++)
		wrong += reel_pack(space, 8, CELLS, packed, room, data, 300000) > room;
	is_int(wrong, 0, "packing uses no more than the room");
	is_int(reel_pack(space, 8, CELLS, packed, length, data, 300000), length,
	       "what fits exactly is packed");
}

static void a_block_without_pattern_stays(void)
{
	size_t length;

	fill_with_field(3);
	fill(data + REEL_PACK_BLOCK_BYTES, REEL_PACK_BLOCK_BYTES, 5);
	length = pack(8, CELLS, data, 4 * REEL_PACK_BLOCK_BYTES);
	ok(length && length < 3 * REEL_PACK_BLOCK_BYTES,
	   "blocks around one without pattern are packed");
	is_int(reel_unpack(space, back, 4 * REEL_PACK_BLOCK_BYTES, packed, length), 0,
	       "blocks around one without pattern are unpacked");
	ok(memcmp(back, data, 4 * REEL_PACK_BLOCK_BYTES) == 0, "all come back");
}

static void free_guarded(void *memory, size_t bytes)
{
	size_t pages = whole_pages(bytes);

	munmap((char *)memory + bytes - pages, pages + whole_pages(1));
}

/* A random piece needs exactly its head, its lengths and its own bytes. */
static void room_is_exact(void)
{
	enum { BYTES = 1000, EXACT = HEAD_BYTES + 4 + BYTES };
	unsigned wrong = 0;

	fill(data, BYTES, 1);
	for (size_t room = EXACT - 10; room < EXACT + 10; room++) {
		unsigned char *exact = guarded(room);

		wrong += reel_pack(space, 8, 0, exact, room, data, BYTES) !=
			 (room < EXACT ? 0 : EXACT);
		free_guarded(exact, room);
	}
	is_int(wrong, 0, "a block without a pattern fits if there is room for it");
}

static void nothing_takes_a_head_alone(void)
{
	is_int(reel_pack(space, 8, 0, packed, HEAD_BYTES, data, 0), HEAD_BYTES,
	       "nothing takes a head alone");
	is_int(reel_unpack(space, back, 0, packed, HEAD_BYTES), 0, "a head alone comes back");
}

/* LZ4 makes these blocks a few bytes longer or shorter, and none may be taken for another kind. */
static void a_block_is_never_taken_for_another_kind(void)
{
	enum { BYTES = 200, MOST = HEAD_BYTES + 4 + BYTES };
	bool a_byte_shorter = false;
	unsigned wrong = 0;

	for (size_t run = 4; run < 24; run++) {
		size_t length;

		fill(data, BYTES, 1);
		memcpy(data + BYTES / 2, data, run);
		length = pack(1, 0, data, BYTES);
		a_byte_shorter |= length == MOST - 1;
		wrong += length > MOST || reel_unpack(space, back, BYTES, packed, length) ||
			 memcmp(back, data, BYTES) != 0;
	}
	is_int(wrong, 0, "blocks that can hardly be packed come back");
	ok(a_byte_shorter, "a byte less is good enough");
}

/* Other versions of the library read pieces in a file. */
static void a_piece_begins_as_ever(void)
{
	uint64_t magic;

	pack(8, 0, data, 1000);
	memcpy(&magic, packed, sizeof magic);
	ok(magic == MAGIC, "a piece begins as in all versions");
}

/* ---- Damage ---- */

#define DAMAGED_BYTES ((size_t)300000)

/* A packed piece, and memory to unpack it. */
struct piece {
	unsigned char *packed, *back;
	size_t length;
};

static struct piece make_piece(unsigned element, unsigned stride)
{
	struct piece piece;

	fill_with_field(3);
	piece.length = pack(element, stride, data, DAMAGED_BYTES);
	piece.packed = guarded(piece.length);
	piece.back = guarded(DAMAGED_BYTES);
	return piece;
}

static void free_piece(struct piece piece)
{
	free_guarded(piece.packed, piece.length);
	free_guarded(piece.back, DAMAGED_BYTES);
}

static int unpack_piece(const struct piece *piece)
{
	return reel_unpack(space, piece->back, DAMAGED_BYTES, piece->packed, piece->length);
}

static int unpack_with_flip(const struct piece *piece, size_t at, unsigned bit)
{
	memcpy(piece->packed, packed, piece->length);
	piece->packed[at + bit / 8] = (unsigned char)(piece->packed[at + bit / 8] ^ 1u << bit % 8);
	return unpack_piece(piece);
}

static int unpack_with_element(const struct piece *piece, uint32_t element)
{
	memcpy(piece->packed, packed, piece->length);
	memcpy(piece->packed + ELEMENT_AT, &element, sizeof element);
	return unpack_piece(piece);
}

static void any_damage_is_survived(void)
{
	struct piece piece = make_piece(8, CELLS);
	unsigned wrong = 0;

	for (uint64_t i = 0; i < 2000; i++) {
		int error = unpack_with_flip(&piece, scramble(i) % piece.length,
					     (unsigned)scramble(i + 1) % 8);

		wrong += error && error != -EBADMSG;
	}
	is_int(wrong, 0, "damaged pieces are refused, or unpacked within their bounds");
	free_piece(piece);
}

static void a_damaged_head_is_refused(void)
{
	static const uint32_t elements[] = {0, 1, 2, 4, 16, 17, 32, 0x80000000};
	struct piece piece = make_piece(8, CELLS);
	unsigned wrong = 0;

	for (unsigned bit = 0; bit < 8 * ELEMENT_AT; bit++)
		wrong += unpack_with_flip(&piece, 0, bit) != -EBADMSG;
	for (size_t i = 0; i < COUNT(elements); i++)
		wrong += unpack_with_element(&piece, elements[i]) != -EBADMSG;
	free_piece(piece);
	piece = make_piece(8, 0);
	for (uint32_t element = 32; element; element *= 2)
		wrong += unpack_with_element(&piece, element) != -EBADMSG;
	is_int(wrong, 0, "a damaged head is refused");
	free_piece(piece);
}

/* Changes each bit of each block's length. */
static void a_damaged_length_is_refused(void)
{
	struct piece piece = make_piece(8, CELLS);
	unsigned wrong = 0, blocks = 0;
	uint32_t length;

	for (size_t at = HEAD_BYTES; at < piece.length; at += sizeof length + length, blocks++) {
		memcpy(&length, packed + at, sizeof length);
		for (unsigned bit = 0; bit < 32; bit++)
			wrong += unpack_with_flip(&piece, at, bit) != -EBADMSG;
	}
	is_int(wrong, 0, "a damaged length of a block is refused");
	is_int(blocks, (DAMAGED_BYTES + REEL_PACK_BLOCK_BYTES - 1) / REEL_PACK_BLOCK_BYTES,
	       "a length that is damaged is refused in all blocks");
	free_piece(piece);
}

static void what_is_cut_or_longer_is_refused(void)
{
	struct piece piece = make_piece(8, CELLS);
	unsigned wrong = 0;
	uint64_t longer;

	memcpy(piece.packed, packed, piece.length);
	for (size_t less = 1; less <= piece.length; less += 1 + less / 16)
		wrong += reel_unpack(space, piece.back, DAMAGED_BYTES, piece.packed,
				     piece.length - less) != -EBADMSG;
	is_int(wrong, 0, "a piece cut short is refused");
	is_int(reel_unpack(space, piece.back, DAMAGED_BYTES, piece.packed, HEAD_BYTES - 1), -EBADMSG,
	       "a piece of less than a head is refused");
	for (uint64_t left = 0; left < 5; left++) {
		unsigned char *cut = guarded(HEAD_BYTES + (size_t)left);

		memcpy(cut, piece.packed, HEAD_BYTES + (size_t)left);
		memcpy(cut + PACKED_BYTES_AT, &left, sizeof left);
		wrong += reel_unpack(space, piece.back, DAMAGED_BYTES, cut,
				     HEAD_BYTES + (size_t)left) != -EBADMSG;
		free_guarded(cut, HEAD_BYTES + (size_t)left);
	}
	is_int(wrong, 0, "a head that has less than a block behind it is refused");
	memcpy(packed, piece.packed, piece.length);
	is_int(reel_unpack(space, piece.back, DAMAGED_BYTES - 1, piece.packed, piece.length),
	       -EBADMSG, "a piece of another length is refused");
	memset(packed + piece.length, 0, 64);
	is_int(reel_unpack(space, back, DAMAGED_BYTES, packed, piece.length + 64), 0,
	       "zeros may follow");
	longer = piece.length - HEAD_BYTES + 8;
	memcpy(packed + PACKED_BYTES_AT, &longer, sizeof longer);
	is_int(reel_unpack(space, back, DAMAGED_BYTES, packed, piece.length + 64), -EBADMSG,
	       "zeros may not follow within the piece");
	free_piece(piece);
}

/* A block unpacks to fewer bytes than it should have. */
static void a_short_block_is_refused(void)
{
	uint64_t bytes = 2000;
	size_t length;

	fill_with_field(3);
	length = pack(8, 0, data, 1000);
	memcpy(packed + BYTES_AT, &bytes, sizeof bytes);
	is_int(reel_unpack(space, back, bytes, packed, length), -EBADMSG,
	       "a block that is too short is refused");
}

/* Unpacking does not read behind the end of a piece that is cut. */
static void a_block_without_pattern_is_refused_if_it_is_cut(void)
{
	enum { BYTES = 1000 };
	unsigned wrong = 0;
	size_t length;

	fill(data, BYTES, 1);
	length = pack(8, 0, data, BYTES);
	for (size_t less = 1; less < 10; less++) {
		unsigned char *cut = guarded(length - less);
		uint64_t blocks = length - less - HEAD_BYTES;

		memcpy(cut, packed, length - less);
		memcpy(cut + PACKED_BYTES_AT, &blocks, sizeof blocks);
		wrong += reel_unpack(space, back, BYTES, cut, length - less) != -EBADMSG;
		free_guarded(cut, length - less);
	}
	is_int(wrong, 0, "a block without a pattern is refused if it is cut");
}

/* The number of bytes of a block is the number of an error. */
static void an_error_is_not_taken_for_a_length(void)
{
	enum { BYTES = EBADMSG - 4 };
	unsigned wrong = 0;
	size_t packed_bytes;

	fill(data, BYTES, 1);
	packed_bytes = pack(1, 0, data, BYTES);
	for (uint32_t length = 0; length < 2 * BYTES; length++) {
		memcpy(packed + HEAD_BYTES, &length, sizeof length);
		wrong += reel_unpack(space, back, BYTES, packed, packed_bytes) !=
			 (length == BYTES ? 0 : -EBADMSG);
	}
	is_int(wrong, 0, "no length but the right one is taken");
}

int main(void)
{
	tap_begin();
	space = guarded(sizeof *space);
	data = guarded(MAX_BYTES);
	ratios_are_reached();
	all_shapes_come_back();
	what_does_not_fit_is_not_packed();
	a_block_without_pattern_stays();
	room_is_exact();
	nothing_takes_a_head_alone();
	a_block_is_never_taken_for_another_kind();
	a_piece_begins_as_ever();
	any_damage_is_survived();
	a_damaged_head_is_refused();
	a_damaged_length_is_refused();
	what_is_cut_or_longer_is_refused();
	a_short_block_is_refused();
	a_block_without_pattern_is_refused_if_it_is_cut();
	an_error_is_not_taken_for_a_length();
	return tap_end();
}
