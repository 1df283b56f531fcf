/* SPDX-License-Identifier: MIT */
#include <config.h>

#include "store/crc32c.h"
#include "helpers/support.h"

#define MAX_BYTES 70000

/* Values of RFC 3720, B.4, and the check value of the catalogues. */
static void known_values(void)
{
	static const unsigned char read_command[48] = {
		0x01, 0xc0, 0, 0, 0,	0,    0, 0, 0,	  0, 0, 0, 0, 0, 0, 0,
		0x14, 0,    0, 0, 0,	0,    4, 0, 0,	  0, 0, 0x14, 0, 0, 0, 0x18,
		0x28, 0,    0, 0, 0,	0,    0, 0, 0x02, 0, 0, 0, 0, 0, 0, 0};
	unsigned char bytes[32] = {0};

	is_int(reel_crc32c(0, "", 0), 0, "nothing");
	is_int(reel_crc32c(0, "123456789", 9), 0xe3069283, "123456789");
	is_int(reel_crc32c(0, bytes, 32), 0x8a9136aa, "32 bytes of zeros");
	memset(bytes, 0xff, 32);
	is_int(reel_crc32c(0, bytes, 32), 0x62a8ab43, "32 bytes of ones");
	for (unsigned i = 0; i < 32; i++)
		bytes[i] = (unsigned char)i;
	is_int(reel_crc32c(0, bytes, 32), 0x46dd794e, "32 bytes, rising");
	for (unsigned i = 0; i < 32; i++)
		bytes[i] = (unsigned char)(31 - i);
	is_int(reel_crc32c(0, bytes, 32), 0x113fdb5c, "32 bytes, falling");
	is_int(reel_crc32c(0, read_command, 48), 0xd9963a56, "an iSCSI read command");
}

/* Computes the CRC bit by bit from its polynomial. */
static uint32_t by_definition(const unsigned char *data, size_t bytes)
{
	uint32_t crc = 0xffffffff;

	for (size_t i = 0; i < bytes; i++) {
		crc ^= data[i];
		for (unsigned bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
	}
	return ~crc;
}

static void all_ways_agree(void)
{
	unsigned char *data = malloc(MAX_BYTES + 16);
	unsigned defined = 0, software = 0, pieces = 0;

	fill(data, MAX_BYTES + 16, 1);
	for (size_t i = 0; i < 3000; i++) {
		const unsigned char *at = data + scramble(i) % 16;
		size_t bytes = i < 600 ? i : (size_t)(scramble(i + 1) % MAX_BYTES);
		size_t half = bytes ? (size_t)(scramble(i + 2) % bytes) : 0;
		uint32_t crc = reel_crc32c(0, at, bytes);
		uint32_t first = reel_crc32c(0, at, half);

		defined += bytes < 2000 && crc != by_definition(at, bytes);
		software += crc != reel_crc32c_software(0, at, bytes);
		pieces += crc != reel_crc32c(first, at + half, bytes - half) ||
			  crc != reel_crc32c_software(first, at + half, bytes - half);
	}
	is_int(defined, 0, "the checksum is what the polynomial defines");
	is_int(software, 0, "the checksum is the same with and without the instruction");
	is_int(pieces, 0, "the checksum is the same in two pieces");
	free(data);
}

int main(void)
{
	tap_begin();
	known_values();
	all_ways_agree();
	return tap_end();
}
