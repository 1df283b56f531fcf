/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "histogram.h"

#include <math.h>

static unsigned bits_of(uint64_t number)
{
	unsigned bits = 0;

	for (; number; number >>= 1)
		bits++;
	return bits;
}

/* Returns the place of a time. A time of `shift` + 6 bits loses its last `shift` bits. */
static unsigned place_of(uint64_t nanoseconds)
{
	unsigned bits = bits_of(nanoseconds), shift = bits > 6 ? bits - 6 : 0;
	uint64_t place = shift * HISTOGRAM_STEPS + (nanoseconds >> shift);

	return place < HISTOGRAM_PLACES ? (unsigned)place : HISTOGRAM_PLACES - 1;
}

/* Returns the largest time of this place. */
static double time_at(unsigned place)
{
	unsigned shift = place < 2 * HISTOGRAM_STEPS ? 0 : place / HISTOGRAM_STEPS - 1;
	uint64_t leading = place - shift * HISTOGRAM_STEPS;

	return (double)(((leading + 1) << shift) - 1);
}

void histogram_add(struct histogram *histogram, uint64_t nanoseconds)
{
	histogram->at[place_of(nanoseconds)]++;
	histogram->count++;
	if (nanoseconds > histogram->most)
		histogram->most = nanoseconds;
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
	for (unsigned place = 0; place < HISTOGRAM_PLACES; place++)
		into->at[place] += from->at[place];
	into->count += from->count;
	if (from->most > into->most)
		into->most = from->most;
}

double histogram_quantile(const struct histogram *histogram, double part)
{
	double wanted = ceil(part * (double)histogram->count), most = (double)histogram->most;
	uint64_t seen = 0;

	for (unsigned place = 0; place < HISTOGRAM_PLACES; place++) {
		seen += histogram->at[place];
		if (seen && (double)seen >= wanted)
			return time_at(place) < most ? time_at(place) : most;
	}
	return most;
}
