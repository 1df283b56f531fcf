/* SPDX-License-Identifier: MIT */
/*
 * The store on a GPU against copies of pinned memory by the driver alone, of pieces of the
 * same size: all out, all back in the opposite order, and both. Without a GPU nothing is
 * measured.
 */
#include "config.h"

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <reel/gpu.h>
#include <reel/extend.h>

#include "common/bench.h"
#include "gpu/driver/context.h"

#define PIECE ((size_t)2 << 20)
/* Host memory that pieces come from and go to, in turns: it is in no cache. */
#define WINDOW ((size_t)1 << 30)
#define LARGE ((size_t)8 << 30)
#define QUICK ((size_t)1 << 30)
/* Transfers under way at once, as of a pool. */
#define TICKETS 16

static struct reel_gpu_context context;
static char *window;

static char *piece_at(size_t i)
{
	return window + i % (WINDOW / PIECE) * PIECE;
}

static void need(bool done, const char *what)
{
	if (done)
		return;
	fprintf(stderr, "%s: gpu/: %s failed\n", bench_program, what);
	exit(1);
}

/* ---- The driver alone ---- */

static struct {
	char *memory;
	reel_cu_address device;
	reel_cu_stream stream;
} plain;

static bool open_plain(size_t bytes)
{
	void *memory;

	if (context.driver->cuStreamCreate(&plain.stream, REEL_CU_STREAM_NON_BLOCKING) ||
	    context.driver->cuMemAlloc(&plain.device, bytes) ||
	    context.driver->cuMemHostAlloc(&memory, WINDOW, REEL_CU_HOST_ALLOC_PORTABLE))
		return false;
	plain.memory = memset(memory, 1, WINDOW);
	return true;
}

static void close_plain(void)
{
	context.driver->cuStreamDestroy(plain.stream);
	context.driver->cuMemFree(plain.device);
	context.driver->cuMemFreeHost(plain.memory);
}

static double plain_out(void *unused, size_t n)
{
	(void)unused;
	for (size_t at = 0; at < n; at += PIECE)
		need(!context.driver->cuMemcpyHtoDAsync(plain.device + at,
							plain.memory + at % WINDOW, PIECE,
							plain.stream), "a copy");
	need(!context.driver->cuStreamSynchronize(plain.stream), "a stream");
	return 0;
}

static double plain_back(void *unused, size_t n)
{
	(void)unused;
	for (size_t at = n; at > 0; at -= PIECE)
		need(!context.driver->cuMemcpyDtoHAsync(plain.memory + (at - PIECE) % WINDOW,
							plain.device + at - PIECE, PIECE,
							plain.stream), "a copy");
	need(!context.driver->cuStreamSynchronize(plain.stream), "a stream");
	return plain.memory[0];
}

static double plain_both(void *unused, size_t n)
{
	return plain_out(unused, n) + plain_back(unused, n);
}

/* ---- The store ---- */

struct ticket {
	reel_transfer transfer;
	struct reel_extent *extent; /* of a put: where it is noted */
	_Atomic bool busy;
};

struct stored {
	reel_store *store;
	struct reel_extent *extent;
	size_t pieces; /* that are there */
	struct ticket ticket[TICKETS];
	sem_t unused;
};

static void end_transfer(reel_transfer *transfer)
{
	struct stored *stored = transfer->context;
	struct ticket *ticket = (struct ticket *)transfer;

	need(!transfer->error, "a transfer");
	if (ticket->extent)
		*ticket->extent = transfer->extent;
	/* Release: pairs with the acquire in next_ticket(). */
	atomic_store_explicit(&ticket->busy, false, memory_order_release);
	sem_post(&stored->unused);
}

static struct ticket *next_ticket(struct stored *stored, size_t i)
{
	struct ticket *ticket = stored->ticket;

	while (sem_wait(&stored->unused) && errno == EINTR)
		;
	/* Acquire: pairs with the release in end_transfer(). */
	while (atomic_load_explicit(&ticket->busy, memory_order_acquire))
		ticket++;
	atomic_store_explicit(&ticket->busy, true, memory_order_relaxed);
	ticket->extent = NULL;
	ticket->transfer.data = piece_at(i);
	ticket->transfer.bytes = PIECE;
	ticket->transfer.done = end_transfer;
	ticket->transfer.context = stored;
	return ticket;
}

static double store_out(void *argument, size_t n)
{
	struct stored *stored = argument;

	for (size_t i = 0; i < n / PIECE; i++) {
		struct ticket *ticket = next_ticket(stored, i);

		ticket->extent = &stored->extent[i];
		reel_store_put(stored->store, &ticket->transfer);
	}
	reel_store_sync(stored->store, -1);
	stored->pieces = n / PIECE;
	return 0;
}

static double store_back(void *argument, size_t n)
{
	struct stored *stored = argument;

	for (size_t i = n / PIECE; i-- > 0;) {
		struct ticket *ticket = next_ticket(stored, i);

		ticket->transfer.extent = stored->extent[i];
		reel_store_get(stored->store, &ticket->transfer);
	}
	reel_store_sync(stored->store, -1);
	return window[0];
}

static double store_both(void *argument, size_t n)
{
	return store_out(argument, n) + store_back(argument, n);
}

static void forget(void *argument, size_t n)
{
	struct stored *stored = argument;

	(void)n;
	while (stored->pieces > 0)
		reel_store_drop(stored->store, stored->extent[--stored->pieces]);
}

static void fill(void *argument, size_t n)
{
	store_out(argument, n);
}

/* Pools register slab by slab, as is done here. */
static void adopt_pieces(struct stored *stored)
{
	for (size_t at = 0; at < WINDOW; at += PIECE)
		need(!reel_store_register(stored->store, window + at, PIECE), "pinning");
}

static bool open_stored(struct stored *stored, size_t bytes, bool checked)
{
	struct reel_gpu_store_options options = {.bytes = bytes, .slot_bytes = PIECE};
	reel_store *leaf;

	if (reel_store_gpu_open(&leaf, &options))
		return false;
	stored->store = leaf;
	if (checked)
		need(!reel_store_checksum_open(&stored->store, leaf), "a checksum layer");
	stored->extent = calloc(bytes / PIECE, sizeof *stored->extent);
	need(stored->extent, "memory");
	sem_init(&stored->unused, 0, TICKETS);
	return true;
}

static void close_stored(struct stored *stored)
{
	reel_store_close(stored->store);
	free(stored->extent);
	sem_destroy(&stored->unused);
}

/* ---- Cases ---- */

enum { PLAIN, ADOPTED, COPIED, CHECKED, VARIANTS };

/* One store at a time pins the window, so each variant is measured with a store of its own. */
static void measure_case(const struct bench_case *described, size_t bytes,
			 const struct measure_variant *variants)
{
	struct measure_result results[VARIANTS] = {{0}};

	for (unsigned v = ADOPTED; v < VARIANTS; v++) {
		struct stored stored = {0};
		struct measure_variant pair[2] = {variants[PLAIN], variants[v]};
		struct measure_result of_pair[2];
		struct bench_case one = *described;

		need(open_stored(&stored, bytes, v == CHECKED), reel_error_text(0));
		if (v != COPIED)
			adopt_pieces(&stored);
		pair[1].context = &stored;
		one.variants = pair;
		one.count = 2;
		bench_measure(&one, bytes, of_pair);
		if (v == ADOPTED)
			results[PLAIN] = of_pair[0];
		results[v] = of_pair[1];
		close_stored(&stored);
	}
	bench_report(described, bytes, "ns/byte", results);
}

static const struct measure_variant out[VARIANTS] = {
	{.name = "pinned copy", .run = plain_out},
	{.name = "reel store", .run = store_out, .after = forget},
	{.name = "reel store, not pinned", .run = store_out, .after = forget},
	{.name = "reel store, checksum", .run = store_out, .after = forget},
};
static const struct measure_variant back[VARIANTS] = {
	{.name = "pinned copy", .run = plain_back},
	{.name = "reel store", .before = fill, .run = store_back, .after = forget},
	{.name = "reel store, not pinned", .before = fill, .run = store_back, .after = forget},
	{.name = "reel store, checksum", .before = fill, .run = store_back, .after = forget},
};
static const struct measure_variant both[VARIANTS] = {
	{.name = "pinned copy", .run = plain_both},
	{.name = "reel store", .run = store_both, .after = forget},
	{.name = "reel store, not pinned", .run = store_both, .after = forget},
	{.name = "reel store, checksum", .run = store_both, .after = forget},
};
static const struct bench_case cases[] = {
	{"gpu/out", out, VARIANTS, PLAIN, {QUICK, LARGE}, QUICK, 5},
	{"gpu/back", back, VARIANTS, PLAIN, {QUICK, LARGE}, QUICK, 5},
	{"gpu/out+back", both, VARIANTS, PLAIN, {QUICK, LARGE}, QUICK, 5},
};

/* The store's memory, and as much for the copies by the driver. */
static void measure_cases(size_t bytes)
{
	if (reel_gpu_enter(&context) || !open_plain(bytes)) {
		fprintf(stderr, "%s: gpu/ is left out: not measured, no memory on the device\n",
			bench_program);
		return;
	}
	for (size_t c = 0; c < COUNT_OF(cases); c++)
		if (bench_starts(&cases[c]))
			measure_case(&cases[c], bytes, cases[c].variants);
	close_plain();
	reel_gpu_leave(&context);
}

void bench_gpu(void)
{
	struct reel_gpu_device device;

	if (!bench_wants(cases, COUNT_OF(cases)))
		return;
	if (bench_is_listing()) {
		for (size_t c = 0; c < COUNT_OF(cases); c++)
			bench_starts(&cases[c]);
		return;
	}
	if (reel_gpu_describe(0, &device) || reel_gpu_context_open(&context, 0)) {
		fprintf(stderr, "%s: gpu/ is left out: not measured, no device: %s\n",
			bench_program, reel_error_text(0));
		return;
	}
	fprintf(stderr, "%s: gpu/ on %s\n", bench_program, device.name);
	window = bench_memory(WINDOW);
	measure_cases(bench_is_quick() ? QUICK : LARGE);
	bench_memory_free(window, WINDOW);
	reel_gpu_context_close(&context);
}
