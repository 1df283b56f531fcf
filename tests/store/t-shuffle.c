/* SPDX-License-Identifier: MIT */
#include <config.h>

#include "store/shuffle.h"
#include "helpers/support.h"

#define MAX_BYTES 5000
#define GUARD 16

static unsigned char data[MAX_BYTES + GUARD], shuffled[MAX_BYTES + 2 * GUARD],
	back[MAX_BYTES + 2 * GUARD];

/* Returns true if the bytes are shuffled as the header defines it. */
static bool is_shuffled(const unsigned char *planes, const unsigned char *elements, size_t bytes,
			unsigned element)
{
	size_t n = bytes / element;

	for (size_t e = 0; e < n; e++)
		for (unsigned b = 0; b < element; b++)
			if (planes[b * n + e] != elements[e * element + b])
				return false;
	return memcmp(planes + n * element, elements + n * element, bytes % element) == 0;
}

static bool guard_stands(const unsigned char *at)
{
	for (unsigned i = 0; i < GUARD; i++)
		if (at[i] != 0xee)
			return false;
	return true;
}

static bool there_and_back(size_t bytes, unsigned element, unsigned offset)
{
	unsigned char *planes = shuffled + offset, *elements = back + (offset + 5) % GUARD;

	memset(shuffled, 0xee, sizeof shuffled);
	memset(back, 0xee, sizeof back);
	reel_shuffle(planes, data + offset, bytes, element);
	reel_unshuffle(elements, planes, bytes, element);
	return is_shuffled(planes, data + offset, bytes, element) && guard_stands(planes + bytes) &&
	       memcmp(elements, data + offset, bytes) == 0 && guard_stands(elements + bytes);
}

int main(void)
{
	tap_begin();
	fill(data, sizeof data, 1);
	for (unsigned element = 1; element <= REEL_SHUFFLE_MAX_ELEMENT; element++) {
		unsigned wrong = 0;

		for (size_t bytes = 0; bytes < 700; bytes++)
			wrong += !there_and_back(bytes, element, (unsigned)(bytes % GUARD));
		for (uint64_t i = 0; i < 200; i++)
			wrong += !there_and_back((size_t)(scramble(i) % (MAX_BYTES - GUARD)), element,
						 (unsigned)(i % GUARD));
		is_int(wrong, 0, "elements of %u bytes are shuffled and come back", element);
	}
	return tap_end();
}
