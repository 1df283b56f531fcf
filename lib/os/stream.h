/* SPDX-License-Identifier: MIT */
/*
 * Copying past the cache: memory that is in no cache need not be fetched before it is overwritten,
 * and data that is read again only much later need not push anything out.
 */
#ifndef REEL_LIB_STREAM_H
#define REEL_LIB_STREAM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* 0: by way of the cache, to compare. */
#ifndef REEL_STREAM
#define REEL_STREAM 1
#endif

#if defined(__SSE2__) && REEL_STREAM
#include <emmintrin.h>

#define REEL_STREAM_LINE 64

static inline void reel_stream_line(char *to, const char *from)
{
	for (size_t i = 0; i < REEL_STREAM_LINE; i += sizeof(__m128i))
		_mm_stream_si128((__m128i *)(void *)(to + i),
				 _mm_loadu_si128((const __m128i *)(const void *)(from + i)));
}

/* Whole lines are streamed; the bytes before and behind them are copied. */
static inline void reel_stream(char *to, const char *from, size_t bytes)
{
	size_t done = -(uintptr_t)to % REEL_STREAM_LINE;

	if (done > bytes)
		done = bytes;
	memcpy(to, from, done);
	for (; bytes - done >= REEL_STREAM_LINE; done += REEL_STREAM_LINE)
		reel_stream_line(to + done, from + done);
	memcpy(to + done, from + done, bytes - done);
	/* Streamed stores are not in order with others: a hand-over to a thread needs that. */
	_mm_sfence();
}

#else

static inline void reel_stream(char *to, const char *from, size_t bytes)
{
	memcpy(to, from, bytes);
}

#endif

#endif
