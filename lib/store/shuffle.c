/* SPDX-License-Identifier: MIT */
/*
 * Byte shuffle: puts byte 0 of all elements first, then byte 1, and so on. Any thread; no state.
 *
 * The fast way is for elements of 2, 4, 8 and 16 bytes. An element of n bytes takes n vectors for
 * 16 elements. Byte b of element e stands at the address (e, b), whose 4 higher bits are e.
 * Interleaving the first half of the vectors with the second half rotates this address to the left
 * by one bit. After four rounds it is (b, e), which is shuffled; the remaining rounds lead back to
 * (e, b).
 */
#include "config.h"

#include <string.h>

#include "os/assert.h"
#include "shuffle.h"

#define BATCH 16

/* The vectors of a batch stay in registers only if these loops are unrolled. */
#ifdef __clang__
#define UNROLL _Pragma("unroll")
#define SELECT(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define UNROLL _Pragma("GCC unroll 16")
#define SELECT(a, b, ...) __builtin_shuffle(a, b, (vector){__VA_ARGS__})
#endif

typedef unsigned char vector __attribute__((vector_size(16)));

static inline vector interleave_low(vector a, vector b)
{
	return SELECT(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}

static inline vector interleave_high(vector a, vector b)
{
	return SELECT(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

static inline vector load(const unsigned char *from)
{
	vector v;

	memcpy(&v, from, sizeof v);
	return v;
}

static inline void store(unsigned char *to, vector v)
{
	memcpy(to, &v, sizeof v);
}

/* Moves vector v of a batch from `from + v * from_stride` to `to + v * to_stride`. */
__attribute__((always_inline)) static inline void
rotate_batch(unsigned char *to, size_t to_stride, const unsigned char *from, size_t from_stride,
	     unsigned element, unsigned rounds)
{
	vector now[REEL_SHUFFLE_MAX_ELEMENT], next[REEL_SHUFFLE_MAX_ELEMENT];

	UNROLL for (unsigned v = 0; v < element; v++)
		now[v] = load(from + v * from_stride);
	UNROLL for (unsigned round = 0; round < rounds; round++) {
		UNROLL for (unsigned v = 0; v < element / 2; v++) {
			next[2 * v] = interleave_low(now[v], now[v + element / 2]);
			next[2 * v + 1] = interleave_high(now[v], now[v + element / 2]);
		}
		UNROLL for (unsigned v = 0; v < element; v++)
			now[v] = next[v];
	}
	UNROLL for (unsigned v = 0; v < element; v++)
		store(to + v * to_stride, now[v]);
}

#define ROTATIONS(element, back)                                                                   \
	static void shuffle_##element(unsigned char *to, const unsigned char *from, size_t n)      \
	{                                                                                          \
		for (size_t i = 0; i + BATCH <= n; i += BATCH)                                     \
			rotate_batch(to + i, n, from + i * (element), 16, element, 4);             \
	}                                                                                          \
                                                                                                   \
	static void unshuffle_##element(unsigned char *to, const unsigned char *from, size_t n)    \
	{                                                                                          \
		for (size_t i = 0; i + BATCH <= n; i += BATCH)                                     \
			rotate_batch(to + i * (element), 16, from + i, n, element, back);          \
	}

ROTATIONS(2, 1)
ROTATIONS(4, 2)
ROTATIONS(8, 3)
ROTATIONS(16, 4)

/* Both functions return the number of elements that they have moved. */
#define BATCHES(name)                                                                              \
	static size_t name##_batches(unsigned char *to, const unsigned char *from, size_t n,       \
				     unsigned element)                                             \
	{                                                                                          \
		if (element == 1)                                                                  \
			memcpy(to, from, n);                                                       \
		else if (element == 2)                                                             \
			name##_2(to, from, n);                                                     \
		else if (element == 4)                                                             \
			name##_4(to, from, n);                                                     \
		else if (element == 8)                                                             \
			name##_8(to, from, n);                                                     \
		else if (element == 16)                                                            \
			name##_16(to, from, n);                                                    \
		else                                                                               \
			return 0;                                                                  \
		return element == 1 ? n : n - n % BATCH;                                           \
	}

BATCHES(shuffle)
BATCHES(unshuffle)

void reel_shuffle(void *to, const void *from, size_t bytes, unsigned element)
{
	const unsigned char *elements = from;
	unsigned char *planes = to;
	size_t n = bytes / element;
	size_t done = shuffle_batches(planes, elements, n, element);

	REEL_ASSERT(done <= n);
	for (unsigned b = 0; b < element; b++)
		for (size_t e = done; e < n; e++)
			planes[b * n + e] = elements[e * element + b];
	memcpy(planes + n * element, elements + n * element, bytes % element);
}

void reel_unshuffle(void *to, const void *from, size_t bytes, unsigned element)
{
	const unsigned char *planes = from;
	unsigned char *elements = to;
	size_t n = bytes / element;
	size_t done = unshuffle_batches(elements, planes, n, element);

	REEL_ASSERT(done <= n);
	for (size_t e = done; e < n; e++)
		for (unsigned b = 0; b < element; b++)
			elements[e * element + b] = planes[b * n + e];
	memcpy(elements + n * element, planes + n * element, bytes % element);
}
