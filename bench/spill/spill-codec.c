/* SPDX-License-Identifier: MIT */
/* A field that is taped once a step, with and without compression. */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <reel/extend.h>
#include <reel/plan.h>

#include "spill.h"

/* Points of a field that diffuses slowly, and is smooth in place and time. */
#define POINTS SPILL_SPAN

struct field {
	struct spill_tape spilled;
	double now[POINTS], after[POINTS];
};

static void begin_field(struct field *field)
{
	const double pi = 3.14159265358979323846;

	for (size_t i = 0; i < POINTS; i++) {
		double x = (double)i / (double)(POINTS - 1);

		field->now[i] = sin(pi * x) + 0.3 * sin(3 * pi * x) + 0.1 * sin(7 * pi * x);
	}
	memcpy(field->after, field->now, sizeof field->now);
}

/* The ends stay where they are. */
static void step(struct field *field)
{
	const double *now = field->now;

	for (size_t i = 1; i < POINTS - 1; i++)
		field->after[i] = now[i] + 0.1 * (now[i - 1] - 2 * now[i] + now[i + 1]);
	memcpy(field->now, field->after, sizeof field->now);
}

static bool push_field(struct field *field)
{
	struct spill_tape *spilled = &field->spilled;
	double *span = reel_push_span(&spilled->tape, double, POINTS);
	uint64_t mix = 0;

	if (!span)
		return false;
	for (size_t i = 0; i < POINTS; i++) {
		span[i] = field->now[i];
		mix = bench_mix(mix, span[i]);
	}
	spilled->load.mix ^= mix;
	return true;
}

static double run(void *context, size_t bytes)
{
	struct field *field = context;

	begin_field(field);
	for (size_t done = 0; done < bytes; done += SPILL_SPAN_BYTES) {
		push_field(field);
		step(field);
	}
	return spill_run_pop(&field->spilled, bytes);
}

/* ---- The cases ---- */

static const struct measure_variant variants[] = {
	{.name = "all in memory"}, {.name = "file"}, {.name = "lz4=STRIDE,file"}};
static struct field fields[COUNT_OF(variants)];

static void open_fields(void)
{
	char compressed[32];

	snprintf(compressed, sizeof compressed, "lz4=%zu,file", POINTS);
	spill_open(&fields[0].spilled, NULL, 0);
	spill_open(&fields[1].spilled, "file", spill_budget());
	spill_open(&fields[2].spilled, compressed, spill_budget());
}

static void measure_time(const struct bench_case *named)
{
	struct measure_variant measured[COUNT_OF(variants)];
	struct measure_result results[COUNT_OF(variants)];
	struct bench_case described = *named;

	for (size_t v = 0; v < COUNT_OF(variants); v++)
		measured[v] = (struct measure_variant){variants[v].name, run,
						       .context = &fields[v]};
	described.variants = measured;
	described.count = COUNT_OF(variants);
	described.base = 1;
	bench_measure(&described, spill_tape_bytes(), results);
	bench_report(&described, spill_tape_bytes(), "ns/byte", results);
}

/* Reports stored bytes over written bytes. */
static void report_bytes(const struct bench_case *named)
{
	struct measure_result results[COUNT_OF(variants) - 1];
	struct bench_case described = *named;

	for (size_t v = 1; v < COUNT_OF(variants); v++) {
		struct reel_pool_stats stats;
		double part;

		run(&fields[v], spill_tape_bytes());
		stats = spill_stats(&fields[v].spilled);
		part = (double)stats.stored_bytes / (double)stats.written_bytes;
		results[v - 1] = measure_once(part);
	}
	described.variants = variants + 1;
	described.count = COUNT_OF(variants) - 1;
	bench_report(&described, spill_tape_bytes(), "ratio bytes", results);
}

/* ---- A full disk ---- */

#define DISK_BYTES (100 * MIB)
#define DISK_BUDGET (32 * MIB)

static reel_store *small_disk(bool compressed)
{
	struct reel_file_options file = {.directory = bench_directory(), .max_bytes = DISK_BYTES};
	struct reel_codec_options codec = {.layout.stride = (unsigned)POINTS};
	reel_store *store;

	if (reel_store_file_open(&store, &file) || reel_store_checksum_open(&store, store) ||
	    (compressed && reel_store_codec_open(&store, store, &codec))) {
		fprintf(stderr, "reel-bench: a small disk: %s\n", reel_error_text(0));
		exit(1);
	}
	return store;
}

static void say_nothing(const reel_tape *tape, int error, const char *message, void *context)
{
	(void)tape;
	(void)error;
	(void)message;
	(void)context;
}

/* The last push, which was refused, is popped first. */
static size_t fill_disk(struct field *field)
{
	size_t bytes = 0;

	reel_set_error_handler(say_nothing, NULL);
	begin_field(field);
	for (; push_field(field); step(field))
		bytes += SPILL_SPAN_BYTES;
	reel_pop_span(&field->spilled.tape, double, POINTS);
	reel_set_error_handler(NULL, NULL);
	return bytes;
}

/* The disk's bytes over those that the tape which fills it has there. */
static double disk_of_a_byte(bool compressed)
{
	static struct field field;
	struct reel_pool_stats stats;
	size_t bytes;

	spill_open_on(&field.spilled, small_disk(compressed), DISK_BUDGET);
	bytes = fill_disk(&field);
	stats = spill_stats(&field.spilled);
	spill_run_pop(&field.spilled, bytes);
	spill_close(&field.spilled);
	return (double)DISK_BYTES / (double)stats.written_bytes;
}

static void measure_disk(const struct bench_case *named)
{
	struct measure_result results[COUNT_OF(variants) - 1];
	struct bench_case described = *named;

	for (size_t v = 0; v < COUNT_OF(results); v++) {
		double part = disk_of_a_byte(v > 0);

		results[v] = measure_once(part);
	}
	described.variants = variants + 1;
	described.count = COUNT_OF(results);
	bench_report(&described, DISK_BYTES, "ratio bytes", results);
}

static bool is_there(void)
{
	reel_store *store;
	int error = reel_store_open(&store, "lz4,memory=1M", NULL);

	if (!error)
		reel_store_close(store);
	else
		fprintf(stderr, "reel-bench: spill/codec is left out: %s\n", reel_error_text(0));
	return !error;
}

void spill_codec_cases(void)
{
	struct bench_case codec = {.name = "spill/codec", .rounds = spill_rounds()};
	static const struct bench_case stored = {.name = "spill/codec/bytes"};
	static const struct bench_case filled = {.name = "spill/codec/disk"};
	bool is_timed = spill_starts(&codec, 2 * spill_tape_bytes());
	bool is_counted = spill_starts(&stored, 2 * spill_tape_bytes());
	bool is_filled = spill_starts(&filled, DISK_BYTES);

	if ((!is_timed && !is_counted && !is_filled) || !is_there())
		return;
	if (is_filled)
		measure_disk(&filled);
	if (!is_timed && !is_counted)
		return;
	open_fields();
	if (is_timed)
		measure_time(&codec);
	if (is_counted)
		report_bytes(&stored);
	for (size_t v = 0; v < COUNT_OF(variants); v++)
		spill_close(&fields[v].spilled);
}
