/* SPDX-License-Identifier: MIT */
/* xorshift64*: the same numbers in each run and on each machine. */
#ifndef REEL_BENCH_KERNELS_RANDOM_H
#define REEL_BENCH_KERNELS_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct random {
	uint64_t state;
};

#define RANDOM_SEED ((struct random){UINT64_C(88172645463325252)})

static inline uint64_t random_bits(struct random *random)
{
	random->state ^= random->state >> 12;
	random->state ^= random->state << 25;
	random->state ^= random->state >> 27;
	return random->state * UINT64_C(2685821657736338717);
}

/* At least `from`, below `to`. */
static inline double random_between(struct random *random, double from, double to)
{
	return from + (to - from) * (double)(random_bits(random) >> 11) * 0x1p-53;
}

static inline size_t random_below(struct random *random, size_t count)
{
	return (size_t)(random_bits(random) >> 33) % count;
}

static inline void random_fill(struct random *random, double *values, size_t count, double from,
			       double to)
{
	for (size_t i = 0; i < count; i++)
		values[i] = random_between(random, from, to);
}

#endif
