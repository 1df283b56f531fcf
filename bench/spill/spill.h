/* SPDX-License-Identifier: MIT */
/*
 * Common parts of the cases of tapes larger than memory. Their n are bytes of tape, and
 * their times are of a byte, so that they compare with a disk's bandwidth.
 */
#ifndef REEL_BENCH_SPILL_H
#define REEL_BENCH_SPILL_H

#include <reel/plan.h>
#include <reel/recording.h>

#include "common/bench.h"

#define MIB ((size_t)1 << 20)
#define SPILL_SPAN ((size_t)1024) /* doubles */
#define SPILL_SPAN_BYTES (SPILL_SPAN * sizeof(double))
#define SPILL_SLAB_BYTES (2 * MIB)

/* ---- spill-sweep.c: a program's use of its tape ---- */

/* A calculation beside the tape, and a sum that shows whether all values came back. */
struct spill_load {
	size_t turns; /* of a loop, with each span */
	uint64_t sink;
	uint64_t mix; /* 0 when all that was written has been read */
};

/* A load with `nanoseconds` of calculation for each byte of tape. */
struct spill_load spill_load(double nanoseconds);
/* Calculate, and write a span that begins at this place of the tape. */
void spill_fill(struct spill_load *load, double *span, size_t place);
void spill_use(struct spill_load *load, const double *span);
/* End the program unless all that was written has been read. */
void spill_demand_all_read(const struct spill_load *load, const char *who);

struct spill_tape {
	reel_pool *pool;
	reel_tape tape;
	struct spill_load load;
};

/* On a pool of its own, with this store and budget, or with neither; without calculation. */
void spill_open(struct spill_tape *spilled, const char *store, size_t budget);
/* The same, on a store that is the pool's from then on, or NULL. */
void spill_open_on(struct spill_tape *spilled, reel_store *store, size_t budget);
void spill_close(struct spill_tape *spilled);
void spill_push(struct spill_tape *spilled, size_t bytes);
void spill_pop(struct spill_tape *spilled, size_t bytes);
/* Drop the contents of the tape. */
void spill_drop(struct spill_tape *spilled);
struct reel_pool_stats spill_stats(const struct spill_tape *spilled);

/* Functions for a measure_variant, which push and pop `bytes`; context is a struct spill_tape. */
double spill_run_push(void *context, size_t bytes);
double spill_run_pop(void *context, size_t bytes);
double spill_run_both(void *context, size_t bytes);
void spill_before_pop(void *context, size_t bytes);
void spill_after_push(void *context, size_t bytes);

/* ---- spill-peers.c: other ways to keep a tape ---- */

/* A file without a name in the directory of the spill cases; the program ends if there is none. */
int spill_file(bool direct);

/* Transfers of slabs past the page cache: the bytes of a tape that exceed the budget. */
struct spill_plain {
	int file;
	size_t budget;
	char *memory;
	unsigned threads;
};

/* One at a time, and four, on one file, which is written so that it can be read. */
void spill_plain_open(struct spill_plain plain[2], size_t tape_bytes, size_t budget);
void spill_plain_close(struct spill_plain plain[2]);
double spill_plain_write(void *context, size_t bytes);
double spill_plain_read(void *context, size_t bytes);
double spill_plain_both(void *context, size_t bytes);

/* The tape in a file that is mapped, or written and read by stdio; at most a budget resident. */
struct spill_peer {
	int file;
	char *mapping;
	void *stream;
	double *block;
	size_t budget;
	struct spill_load load;
};

void spill_mapped_open(struct spill_peer *peer, size_t bytes, size_t budget);
void spill_mapped_close(struct spill_peer *peer, size_t bytes);
double spill_mapped_push(void *context, size_t bytes);
double spill_mapped_pop(void *context, size_t bytes);
void spill_mapped_before_pop(void *context, size_t bytes);

void spill_stdio_open(struct spill_peer *peer, size_t budget);
void spill_stdio_close(struct spill_peer *peer);
double spill_stdio_push(void *context, size_t bytes);
double spill_stdio_pop(void *context, size_t bytes);
void spill_stdio_before_pop(void *context, size_t bytes);
void spill_peer_forget(void *context, size_t bytes);

/* ---- The cases ---- */

/* The tape that most cases have, and its budget. */
size_t spill_tape_bytes(void);
size_t spill_budget(void);
unsigned spill_rounds(void);
/* As bench_starts(); a case is left out without a disk with `bytes` bytes free. */
bool spill_starts(const struct bench_case *one, size_t bytes);

/*
 * Variants of one case. The first is not measured: it is the shortest possible time, the
 * longer of the times of the tape in memory and of the quicker plain transfer.
 */
enum {
	SPILL_BOUND,
	SPILL_IN_MEMORY,
	SPILL_ONE_AT_A_TIME,
	SPILL_FOUR_AT_A_TIME,
	SPILL_OTHERS,
	SPILL_VARIANTS = 8
};

/* Measure all but the first and report them; names the first and the plain ones. */
void spill_measure(const struct bench_case *named, struct measure_variant *variants, size_t count,
		   size_t n);

void spill_shared_cases(void);
void spill_rank_cases(void);
void spill_size_cases(void);
void spill_cost_cases(void);
void spill_codec_cases(void);
void spill_parcel_cases(void);

#endif
