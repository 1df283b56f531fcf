/* SPDX-License-Identifier: MIT */
/* Images of one of ten digits, as both networks classify them. */
#ifndef REEL_BENCH_KERNELS_DIGITS_H
#define REEL_BENCH_KERNELS_DIGITS_H

#include <math.h>
#include <stddef.h>

#include "random.h"

#define DIGITS ((size_t)10)

static inline void draw_labels(struct random *random, unsigned char *labels, size_t images)
{
	for (size_t i = 0; i < images; i++)
		labels[i] = (unsigned char)random_below(random, DIGITS);
}

/* From the scores a to p, in place; returns the loss of an image of `label`. */
static inline double softmax(double *a, size_t label)
{
	double most = a[0], score = a[label], s = 0;

	for (size_t i = 1; i < DIGITS; i++)
		most = a[i] > most ? a[i] : most;
	for (size_t i = 0; i < DIGITS; i++)
		s += a[i] = exp(a[i] - most);
	for (size_t i = 0; i < DIGITS; i++)
		a[i] /= s;
	return log(s) + most - score;
}

#endif
