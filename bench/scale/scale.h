/* SPDX-License-Identifier: MIT */
/*
 * The subjects of reel-scale, each measured at each requested number of threads; b-scale-NAME.c is
 * a subject. Rows have the form of reel-bench: a case, a variant, n, which is the number of
 * threads, and the median, least and most of the rounds.
 */
#ifndef REEL_BENCH_SCALE_H
#define REEL_BENCH_SCALE_H

#include <reel.h>

#include "common/bench.h"
#include "common/place.h"
#include "common/team.h"

enum { MAX_COUNTS = 12, MAX_SCALE_ROUNDS = 31 };

struct scale_counts {
	size_t count;
	int of[MAX_COUNTS];
};

struct scale_options {
	struct scale_counts threads; /* ascending */
	struct places places;
	int processors;
	size_t bytes;                /* on the tape of each thread */
	bool quick;
	unsigned rounds;
	int tries;                   /* of a disturbed round, at most */
};

extern struct scale_options scale;

/* Slabs of a sweep up and down: three magazines, so a thread uses the shared list once each way. */
#define SCALE_SWEEP 48

/*
 * A pool of slabs of one size, including the first slabs of a tape; magazine_slabs as for
 * reel_pool_open(). Its list has SCALE_SWEEP slabs for each thread.
 */
reel_pool *scale_pool(size_t slab_bytes, unsigned magazine_slabs, int threads);

/* A row for each result; the variants need names only. */
void scale_report(const char *name, const struct measure_variant *variants, size_t count,
		  int threads, const char *unit, const struct measure_result *results);

/* A point of the plot: the speed-up with `threads` threads. */
void scale_plot(int threads, const char *slab, const char *variant, double speed_up);

/* b-scale-pool.c: a pair is one take and one give, ns; by all threads together, of one chain. */
void scale_bench_pool(void);

/* b-scale-latency.c */
void scale_bench_latency(void);

/* b-scale-tail.c */
void scale_bench_tails(void);

/* b-scale-tape.c: slabs of these sizes; ends with 0. */
extern const size_t scale_slab_sizes[];
const char *scale_size_text(size_t bytes, char text[16]);
void scale_bench_tapes(void);

/* b-scale-region.c */
void scale_bench_regions(void);

/* b-scale-phase.c */
void scale_bench_phases(void);

#endif
