/* SPDX-License-Identifier: MIT */
/*
 * Adds to one array by a lane and by two at once, each on a thread: n is the adds of a lane, and
 * times are of one of them. Copies are reduced within the time. A plain add loses sums where lanes
 * share elements; it is there for comparison. A program without Reel keeps a copy by hand for the
 * last lane and adds all of it to the array.
 */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>

#include <reel/adjoint.h>

#include "common/bench.h"

#define LANES 2
#define ADDS ((size_t)1 << 20)
#define LARGEST ((size_t)4 << 20)

enum order { RANDOM, SEQUENTIAL, APART };

struct pattern {
	const char *name;
	size_t elements;
	enum order order;
	unsigned threads;
};

struct lane;

struct way {
	const char *name;
	enum reel_adjoint_policy policy;
	/* By a pointer: its loop is compiled, and lies in memory, the same for all ways. */
	void (*add)(const struct lane *lane, const uint32_t *index);
	/* Open while a case is measured; NULL: a plain one. */
	reel_adjoint *adjoint;
};

static struct {
	double *array;
	double *copy; /* of the last lane, by hand */
	uint32_t *indices; /* ADDS a lane */
	const struct pattern *pattern;
	pthread_barrier_t barrier;
} bench;

struct lane {
	struct way *way;
	size_t n;
	unsigned number;
};

static void add_plainly(const struct lane *lane, const uint32_t *index)
{
	double *array = bench.array;

	for (size_t k = 0; k < lane->n; k++)
		array[index[k]] += 1.5;
}

static void add_to_copy(const struct lane *lane, const uint32_t *index)
{
	double *array = lane->number + 1 < bench.pattern->threads ? bench.array : bench.copy;

	for (size_t k = 0; k < lane->n; k++)
		array[index[k]] += 1.5;
}

/* The lane's part of the array. */
static void reduce_by_hand(const struct lane *lane)
{
	size_t n = bench.pattern->elements, threads = bench.pattern->threads;
	double *restrict array = bench.array, *restrict copy = bench.copy;

	for (size_t i = n * lane->number / threads; i < n * (lane->number + 1) / threads; i++) {
		array[i] += copy[i];
		copy[i] = 0;
	}
}

/* One lane alone is lane 1, which has a copy. */
static reel_adjoint_view view_of(const struct lane *lane)
{
	return reel_adjoint_lane(lane->way->adjoint,
				 lane->number + LANES - bench.pattern->threads);
}

static void add(const struct lane *lane, const uint32_t *index)
{
	reel_adjoint_view view = view_of(lane);

	for (size_t k = 0; k < lane->n; k++)
		reel_adjoint_add(&view, index[k], 1.5);
}

static void add_by_span(const struct lane *lane, const uint32_t *index)
{
	reel_adjoint_view view = view_of(lane);

	(void)index;
	for (size_t k = 0; k < lane->n; k += bench.pattern->elements) {
		double *span = reel_adjoint_span(&view, 0, bench.pattern->elements);

		for (size_t i = 0; i < bench.pattern->elements; i++)
			span[i] += 1.5;
	}
}

static void *run_lane(void *argument)
{
	const struct lane *lane = argument;
	const uint32_t *index = bench.indices + lane->number * ADDS;
	unsigned threads = bench.pattern->threads;

	lane->way->add(lane, index);
	if (lane->way->add == add_plainly)
		return NULL;
	if (threads > 1)
		pthread_barrier_wait(&bench.barrier);
	if (lane->way->adjoint)
		reel_adjoint_reduce(lane->way->adjoint, lane->number, threads);
	else
		reduce_by_hand(lane);
	return NULL;
}

static double run(void *context, size_t n)
{
	struct way *way = context;
	struct lane lanes[LANES] = {{way, n, 0}, {way, n, 1}};
	pthread_t other;

	if (way->adjoint && reel_adjoint_begin(way->adjoint, LANES))
		abort();
	if (bench.pattern->threads > 1 && pthread_create(&other, NULL, run_lane, &lanes[1]))
		abort();
	run_lane(&lanes[0]);
	if (bench.pattern->threads > 1)
		pthread_join(other, NULL);
	if (way->adjoint)
		reel_adjoint_end(way->adjoint);
	return bench.array[0];
}

static void choose_indices(const struct pattern *pattern)
{
	size_t share = pattern->elements / LANES;
	uint64_t random = 1;

	for (size_t k = 0; k < LANES * ADDS; k++) {
		size_t lane = k / ADDS;

		random = random * 6364136223846793005u + 1442695040888963407u;
		if (pattern->order == SEQUENTIAL)
			bench.indices[k] = (uint32_t)(k % pattern->elements);
		else if (pattern->order == APART)
			bench.indices[k] = (uint32_t)(lane * share + (random >> 33) % share);
		else
			bench.indices[k] = (uint32_t)((random >> 33) % pattern->elements);
	}
}

static void measure(const struct pattern *pattern)
{
	static struct way ways[] = {
		{.name = "plain", .add = add_plainly},
		{.name = "copy by hand", .add = add_to_copy},
		{.name = "OWNER", REEL_ADJOINT_OWNER, add},
		{.name = "PRIVATE", REEL_ADJOINT_PRIVATE, add},
		{.name = "ATOMIC", REEL_ADJOINT_ATOMIC, add},
		{.name = "PRIVATE, span", REEL_ADJOINT_PRIVATE, add_by_span},
	};
	struct measure_variant variants[COUNT_OF(ways)] = {{0}};
	struct bench_case one = {pattern->name, variants, COUNT_OF(ways), 0, {ADDS}, ADDS, 15};

	if (!bench_wants(&one, 1))
		return;
	if (pattern->order != SEQUENTIAL)
		one.count--;
	bench.pattern = pattern;
	if (!bench_is_listing())
		choose_indices(pattern);
	for (size_t w = 0; w < one.count; w++) {
		struct reel_adjoint_options options = {.policy = ways[w].policy};

		variants[w] = (struct measure_variant){.name = ways[w].name, .run = run,
						       .context = &ways[w]};
		if (bench_is_listing() || !ways[w].policy)
			continue;
		if (reel_adjoint_open(&ways[w].adjoint, bench.array, pattern->elements, &options))
			abort();
	}
	bench_run(&one);
	for (size_t w = 0; w < one.count; w++) {
		reel_adjoint_close(ways[w].adjoint);
		ways[w].adjoint = NULL;
	}
}

static bool is_wanted(const struct pattern *patterns, size_t count)
{
	bool wanted = false;

	for (size_t p = 0; p < count; p++)
		wanted |= bench_wants(&(struct bench_case){.name = patterns[p].name}, 1);
	return wanted;
}

void bench_adjoint(void)
{
	static const struct pattern patterns[] = {
		{"adjoint/one/1Ki", 1024, RANDOM, 1},
		{"adjoint/one/128Ki", (size_t)128 << 10, RANDOM, 1},
		{"adjoint/one/4Mi", LARGEST, RANDOM, 1},
		{"adjoint/one/1Ki/sequential", 1024, SEQUENTIAL, 1},
		{"adjoint/two/8", 8, RANDOM, 2},
		{"adjoint/two/1Ki", 1024, RANDOM, 2},
		{"adjoint/two/128Ki", (size_t)128 << 10, RANDOM, 2},
		{"adjoint/two/128Ki/apart", (size_t)128 << 10, APART, 2},
		{"adjoint/two/4Mi", LARGEST, RANDOM, 2},
	};

	if (!is_wanted(patterns, COUNT_OF(patterns)))
		return;
	bench.array = bench_memory(LARGEST * sizeof *bench.array);
	bench.copy = bench_memory(LARGEST * sizeof *bench.copy);
	bench.indices = bench_memory(LANES * ADDS * sizeof *bench.indices);
	if (pthread_barrier_init(&bench.barrier, NULL, LANES))
		abort();
	for (size_t p = 0; p < COUNT_OF(patterns); p++)
		measure(&patterns[p]);
	pthread_barrier_destroy(&bench.barrier);
	bench_memory_free(bench.indices, LANES * ADDS * sizeof *bench.indices);
	bench_memory_free(bench.copy, LARGEST * sizeof *bench.copy);
	bench_memory_free(bench.array, LARGEST * sizeof *bench.array);
}
