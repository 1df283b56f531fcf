/* SPDX-License-Identifier: MIT */
/*
 * Loops over rows. Sums are partial sums in lanes, written out, so that a
 * compiler can use vectors without reordering any addition on its own.
 */
#ifndef REEL_BENCH_KERNELS_LANES_H
#define REEL_BENCH_KERNELS_LANES_H

#include <stddef.h>

#define LANES 16

/*
 * In front of the inner loop over a tile, or over a row of constant length, that
 * is to become vectors: compilers unroll it first and then make vectors of the
 * outer loop, by gathering. GCC does so with tiles, clang also with rows.
 */
#if defined(__clang__)
/* Under a sanitizer they may stay as they are. */
#pragma clang diagnostic ignored "-Wpass-failed"
#define TILE_LOOP _Pragma("clang loop unroll(disable)")
#define ROW_LOOP _Pragma("clang loop vectorize(enable) unroll(disable)")
#elif defined(__GNUC__)
#define TILE_LOOP _Pragma("GCC unroll 1")
#define ROW_LOOP
#else
#define TILE_LOOP
#define ROW_LOOP
#endif

/* Four additions one after the other, not fifteen. */
static inline double lanes_sum(const double *lane)
{
	double quarter[4];

	for (size_t l = 0; l < 4; l++)
		quarter[l] = (lane[l] + lane[l + 8]) + (lane[l + 4] + lane[l + 12]);
	return (quarter[0] + quarter[2]) + (quarter[1] + quarter[3]);
}

static inline double sum(const double *restrict a, size_t n)
{
	double lane[LANES] = {0};
	size_t i = 0;

	for (; i + LANES <= n; i += LANES)
		for (size_t l = 0; l < LANES; l++)
			lane[l] += a[i + l];
	for (size_t l = 0; i + l < n; l++)
		lane[l] += a[i + l];
	return lanes_sum(lane);
}

/* The sum of a[i] * b[i]. */
static inline double dot(const double *restrict a, const double *restrict b, size_t n)
{
	double lane[LANES] = {0};
	size_t i = 0;

	for (; i + LANES <= n; i += LANES)
		for (size_t l = 0; l < LANES; l++)
			lane[l] += a[i + l] * b[i + l];
	for (size_t l = 0; i + l < n; l++)
		lane[l] += a[i + l] * b[i + l];
	return lanes_sum(lane);
}

/* The same, with record[i] = b[i] on the way. */
static inline double dot_recording(const double *restrict a, const double *restrict b,
				   double *restrict record, size_t n)
{
	double lane[LANES] = {0};
	size_t i = 0;

	for (; i + LANES <= n; i += LANES)
		for (size_t l = 0; l < LANES; l++) {
			record[i + l] = b[i + l];
			lane[l] += a[i + l] * b[i + l];
		}
	for (size_t l = 0; i + l < n; l++) {
		record[i + l] = b[i + l];
		lane[l] += a[i + l] * b[i + l];
	}
	return lanes_sum(lane);
}

/* y[i] += factor * x[i]. */
static inline void add_multiple(double *restrict y, double factor, const double *restrict x,
				size_t n)
{
	for (size_t i = 0; i < n; i++)
		y[i] += factor * x[i];
}

#endif
