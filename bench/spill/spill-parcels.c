/* SPDX-License-Identifier: MIT */
/*
 * Parcels: eight times their budget, in memory of the pool or of the program, written, and read in
 * the order in which they were written and in the opposite one; the cost of a parcel in memory; and
 * several threads that read one set.
 */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <reel/parcel.h>

#include "spill.h"

struct parcels {
	reel_pool *pool;
	size_t bytes_each;
	size_t count;
	reel_parcel **of;
	void **data; /* of parcels that are open */
	reel_parcel **order;
	bool is_reversed;
	bool lends; /* the parcels lie in memory of the program */
	void **unlent; /* that memory, where it is not lent now */
	size_t unlents;
	struct spill_load load;
};

static void demand(int error)
{
	if (!error)
		return;
	fprintf(stderr, "reel-bench: parcels: %s\n", reel_error_text(error));
	exit(1);
}

/* ---- A set of parcels ---- */

static void open_set(struct parcels *set, const char *store, size_t budget, size_t bytes_each,
		     size_t most)
{
	struct reel_pool_options options = {.slab_bytes = SPILL_SLAB_BYTES};

	*set = (struct parcels){.bytes_each = bytes_each};
	if (store) {
		demand(reel_store_open(&options.store, store, bench_directory()));
		options.hard_budget = budget;
	}
	demand(reel_pool_open(&set->pool, &options));
	set->of = calloc(most, sizeof *set->of);
	set->order = calloc(most, sizeof *set->order);
	set->data = calloc(most, sizeof *set->data);
	set->unlent = calloc(most, sizeof *set->unlent);
	if (!set->of || !set->order || !set->data || !set->unlent)
		abort();
}

static void close_set(struct parcels *set)
{
	free(set->of);
	free(set->order);
	free(set->data);
	while (set->unlents)
		free(set->unlent[--set->unlents]);
	free(set->unlent);
	reel_pool_close(set->pool);
}

static void open_parcel(struct parcels *set, size_t p)
{
	demand(reel_parcel_open(&set->of[p], set->pool, set->bytes_each, NULL, &set->data[p]));
}

static void take_back(struct parcels *set)
{
	void *data;

	while ((data = reel_parcel_take_back(set->pool)))
		set->unlent[set->unlents++] = data;
}

/* Opens a parcel, or takes memory of the program. */
static void begin_parcel(struct parcels *set, size_t p)
{
	if (!set->lends)
		open_parcel(set, p);
	else if (set->unlents)
		set->data[p] = set->unlent[--set->unlents];
	else if (!(set->data[p] = malloc(set->bytes_each)))
		abort();
}

static void end_parcel(struct parcels *set, size_t p)
{
	if (!set->lends) {
		demand(reel_parcel_seal(set->of[p]));
		return;
	}
	demand(reel_parcel_lend(&set->of[p], set->pool, set->data[p], set->bytes_each, NULL));
	take_back(set);
}

static void write_set(struct parcels *set, size_t bytes)
{
	size_t spans = set->bytes_each / SPILL_SPAN_BYTES;

	set->count = bytes / set->bytes_each;
	for (size_t p = 0; p < set->count; p++) {
		begin_parcel(set, p);
		for (size_t s = 0; s < spans; s++)
			spill_fill(&set->load, (double *)set->data[p] + s * SPILL_SPAN,
				   (p * spans + s) * SPILL_SPAN);
		end_parcel(set, p);
	}
}

static void read_set(struct parcels *set)
{
	for (size_t p = 0; p < set->count; p++)
		set->order[p] = set->of[set->is_reversed ? set->count - 1 - p : p];
	demand(reel_parcel_announce(set->order, set->count));
	for (size_t p = 0; p < set->count; p++) {
		const void *data;

		demand(reel_parcel_pin(set->order[p], &data));
		for (size_t s = 0; s < set->bytes_each / SPILL_SPAN_BYTES; s++)
			spill_use(&set->load, (const double *)data + s * SPILL_SPAN);
		reel_parcel_unpin(set->order[p]);
	}
}

static double run_write(void *context, size_t bytes)
{
	struct parcels *set = context;

	write_set(set, bytes);
	return (double)set->load.sink;
}

static double run_read(void *context, size_t bytes)
{
	struct parcels *set = context;

	(void)bytes;
	read_set(set);
	spill_demand_all_read(&set->load, "a set of parcels");
	return (double)set->load.sink;
}

static void before_read(void *context, size_t bytes)
{
	write_set(context, bytes);
}

static void drop_set(void *context, size_t bytes)
{
	struct parcels *set = context;

	(void)bytes;
	for (size_t p = 0; p < set->count; p++)
		demand(reel_parcel_close(set->of[p]));
	take_back(set);
	set->load.mix = 0;
}

/* ---- More than memory ---- */

#define WORK 0.3

enum direction { WRITTEN, IN_ORDER, REVERSED };

static void measure_sets(const struct bench_case *named, enum direction direction)
{
	struct spill_plain plain[2];
	struct parcels in_memory, reel, lent;
	bool writes = direction == WRITTEN;
	double (*transfer)(void *, size_t) = writes ? spill_plain_write : spill_plain_read;
	double (*run)(void *, size_t) = writes ? run_write : run_read;
	void (*before)(void *, size_t) = writes ? NULL : before_read;
	struct measure_variant variants[SPILL_VARIANTS] = {
		[SPILL_IN_MEMORY] = {"all in memory", run, before, drop_set, &in_memory},
		[SPILL_ONE_AT_A_TIME] = {.run = transfer, .context = &plain[0]},
		[SPILL_FOUR_AT_A_TIME] = {.run = transfer, .context = &plain[1]},
		[SPILL_OTHERS] = {"reel, budget", run, before, drop_set, &reel},
		{"reel, lent memory", run, before, drop_set, &lent},
	};
	size_t most = spill_tape_bytes() / SPILL_SLAB_BYTES;

	spill_plain_open(plain, spill_tape_bytes(), spill_budget());
	open_set(&in_memory, NULL, 0, SPILL_SLAB_BYTES, most);
	open_set(&reel, "file", spill_budget(), SPILL_SLAB_BYTES, most);
	open_set(&lent, "file", spill_budget(), SPILL_SLAB_BYTES, most);
	in_memory.load = reel.load = lent.load = spill_load(WORK);
	in_memory.is_reversed = reel.is_reversed = lent.is_reversed = direction == REVERSED;
	lent.lends = true;
	spill_measure(named, variants, SPILL_OTHERS + 2, spill_tape_bytes());
	close_set(&lent);
	close_set(&reel);
	close_set(&in_memory);
	spill_plain_close(plain);
}

static void larger_than_memory(void)
{
	static const struct bench_case cases[] = {
		[WRITTEN] = {.name = "spill/parcels/written"},
		[IN_ORDER] = {.name = "spill/parcels/in order"},
		[REVERSED] = {.name = "spill/parcels/reversed"},
	};

	for (enum direction direction = WRITTEN; direction <= REVERSED; direction++) {
		struct bench_case named = cases[direction];

		named.rounds = spill_rounds();
		if (spill_starts(&named, 2 * spill_tape_bytes()))
			measure_sets(&named, direction);
	}
}

/* ---- In memory ---- */

#define FEW ((size_t)1000)

static void open_parcels(void *context, size_t count)
{
	struct parcels *set = context;

	set->count = count;
	for (size_t p = 0; p < count; p++)
		open_parcel(set, p);
}

/* Seals, pins and closes each parcel. */
static double use_parcels(void *context, size_t count)
{
	struct parcels *set = context;
	uintptr_t sum = 0;

	for (size_t p = 0; p < count; p++) {
		const void *data;

		demand(reel_parcel_seal(set->of[p]));
		demand(reel_parcel_pin(set->of[p], &data));
		sum += (uintptr_t)data;
		reel_parcel_unpin(set->of[p]);
		demand(reel_parcel_close(set->of[p]));
	}
	return (double)sum;
}

static void allocate(void *context, size_t count)
{
	struct parcels *set = context;

	for (size_t p = 0; p < count; p++)
		if (!(set->data[p] = malloc(set->bytes_each)))
			abort();
}

static double free_all(void *context, size_t count)
{
	struct parcels *set = context;

	for (size_t p = 0; p < count; p++)
		free(set->data[p]);
	return 0;
}

/* A store is there, so that pins and seals do the work for parcels that may leave memory. */
static void in_memory(const char *name, size_t bytes_each)
{
	struct parcels set;
	struct measure_variant variants[] = {
		{"free()", free_all, allocate, NULL, &set},
		{"seal, pin, unpin, close", use_parcels, open_parcels, NULL, &set},
	};
	const struct bench_case one = {name, variants, COUNT_OF(variants), 0, {FEW}, FEW, 15};

	if (!bench_wants(&one, 1))
		return;
	open_set(&set, "memory=64M", 2 * FEW * (bytes_each + 64) + 64 * MIB, bytes_each, FEW);
	bench_run(&one);
	close_set(&set);
}

/* ---- Several readers ---- */

#define READERS 8
#define SET_BYTES (128 * MIB)

static _Atomic uint64_t mixed;

static uint64_t mix_of(const double *data, size_t n)
{
	uint64_t mix = 0;

	for (size_t i = 0; i < n; i++)
		mix = bench_mix(mix, data[i]);
	return mix;
}

static void *read_parcels(void *context)
{
	const struct parcels *set = context;
	uint64_t mix = 0;

	for (size_t p = 0; p < set->count; p++) {
		const void *data;

		demand(reel_parcel_pin(set->of[p], &data));
		mix ^= mix_of(data, set->bytes_each / sizeof(double));
		reel_parcel_unpin(set->of[p]);
	}
	/* Relaxed: a sum for the end; the join of the thread orders it. */
	atomic_fetch_add_explicit(&mixed, mix, memory_order_relaxed);
	return NULL;
}

static void *read_array(void *context)
{
	uint64_t mix = mix_of(context, SET_BYTES / sizeof(double));

	atomic_fetch_add_explicit(&mixed, mix, memory_order_relaxed);
	return NULL;
}

static double run_readers(void *(*read)(void *), void *context)
{
	pthread_t threads[READERS];

	for (unsigned t = 0; t < READERS; t++)
		if (pthread_create(&threads[t], NULL, read, context))
			abort();
	for (unsigned t = 0; t < READERS; t++)
		pthread_join(threads[t], NULL);
	return (double)atomic_load_explicit(&mixed, memory_order_relaxed);
}

static double run_on_parcels(void *context, size_t n)
{
	(void)n;
	return run_readers(read_parcels, context);
}

static double run_on_array(void *context, size_t n)
{
	(void)n;
	return run_readers(read_array, context);
}

static void several_readers(void)
{
	const size_t each = SPILL_SLAB_BYTES / 2;
	struct parcels set;
	struct measure_variant variants[] = {
		{.name = "one array", .run = run_on_array},
		{.name = "reel parcels", .run = run_on_parcels, .context = &set},
	};
	static const size_t n = SET_BYTES / sizeof(double);
	const struct bench_case one = {
		"parcels/8 readers", variants, COUNT_OF(variants), 0, {n}, n, 9};

	if (!bench_wants(&one, 1))
		return;
	variants[0].context = bench_memory(SET_BYTES);
	for (size_t i = 0; i < n && !bench_is_listing(); i++)
		((double *)variants[0].context)[i] = bench_value(i);
	open_set(&set, "memory=64M", 2 * SET_BYTES, each, SET_BYTES / each);
	write_set(&set, SET_BYTES);
	bench_run(&one);
	drop_set(&set, 0);
	close_set(&set);
	bench_memory_free(variants[0].context, SET_BYTES);
}

void spill_parcel_cases(void)
{
	larger_than_memory();
	in_memory("parcels/64 bytes", 64);
	in_memory("parcels/4 KiB", 4096);
	several_readers();
}
