/* SPDX-License-Identifier: MIT */
/* A field that is taped once a step, with and without compression. */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "spill.h"

/* What diffuses slowly, and is smooth in place and time. */
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

static void push_field(struct field *field)
{
	struct spill_tape *spilled = &field->spilled;
	double *span = reel_push_span(&spilled->tape, double, POINTS);
	uint64_t mix = 0;

	if (!span)
		return;
	for (size_t i = 0; i < POINTS; i++) {
		span[i] = field->now[i];
		mix = bench_mix(mix, span[i]);
	}
	spilled->load.mix ^= mix;
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

/* What was stored over what was written. */
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
		results[v - 1] = (struct measure_result){part, part, part, 0};
	}
	described.variants = variants + 1;
	described.count = COUNT_OF(variants) - 1;
	bench_report(&described, spill_tape_bytes(), "ratio bytes", results);
}

static bool is_there(void)
{
	reel_store *store;
	int error = reel_store_open(&store, "lz4,memory=1M", NULL);

	if (!error)
		reel_store_close(store);
	else
		fprintf(stderr, "reel-bench: spill/codec is left out: %s\n", reel_store_problem());
	return !error;
}

void spill_codec_cases(void)
{
	struct bench_case codec = {.name = "spill/codec", .rounds = spill_rounds()};
	static const struct bench_case stored = {.name = "spill/codec/bytes"};
	bool is_timed = spill_starts(&codec, 2 * spill_tape_bytes());
	bool is_counted = spill_starts(&stored, 2 * spill_tape_bytes());

	if ((!is_timed && !is_counted) || !is_there())
		return;
	open_fields();
	if (is_timed)
		measure_time(&codec);
	if (is_counted)
		report_bytes(&stored);
	for (size_t v = 0; v < COUNT_OF(variants); v++)
		spill_close(&fields[v].spilled);
}
