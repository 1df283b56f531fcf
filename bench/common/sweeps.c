/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <stdlib.h>

#include "bench.h"

uint64_t bench_sweep_cursor(reel_tape *tape, size_t n)
{
	reel_cursor cursor = reel_push_cursor(tape);
	uint64_t mix = 0;
	double x;

	for (size_t i = 0; i < n; i++)
		cursor = reel_cursor_push(tape, cursor, bench_value(i));
	reel_cursor_close(tape, cursor);
	cursor = reel_pop_cursor(tape);
	for (size_t i = n; i-- > 0;) {
		cursor = reel_cursor_pop(tape, cursor, &x);
		mix = bench_mix(mix, x);
	}
	reel_cursor_close(tape, cursor);
	return mix;
}

void bench_push_rows(reel_tape *tape, size_t n)
{
	for (size_t start = 0; start < n; start += BENCH_ROW) {
		double *row = reel_push_span(tape, double, BENCH_ROW);

		if (!row)
			abort();
		for (size_t i = 0; i < BENCH_ROW; i++)
			row[i] = bench_value(i);
	}
}

uint64_t bench_pop_rows(reel_tape *tape, size_t n)
{
	uint64_t mix = 0;

	for (size_t start = 0; start < n; start += BENCH_ROW) {
		const double *row = reel_pop_span(tape, double, BENCH_ROW);

		if (!row)
			abort();
		for (size_t i = BENCH_ROW; i-- > 0;)
			mix = bench_mix(mix, row[i]);
	}
	return mix;
}
