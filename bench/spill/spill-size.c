/* SPDX-License-Identifier: MIT */
/* The effect of the sizes of the budget and of the tape on the cost of a byte. */
#include "config.h"

#include <stdio.h>

#include "spill.h"

/* Calculation beside each byte of tape, about the time of a disk [ns]. */
#define WORK 0.3

/* ---- The budget ---- */

static void measure_budget(const struct bench_case *named, size_t budget)
{
	struct spill_plain plain[2];
	struct spill_tape in_memory, reel;
	struct measure_variant variants[SPILL_VARIANTS] = {
		[SPILL_IN_MEMORY] = {"all in memory", spill_run_both, .context = &in_memory},
		[SPILL_ONE_AT_A_TIME] = {.run = spill_plain_both, .context = &plain[0]},
		[SPILL_FOUR_AT_A_TIME] = {.run = spill_plain_both, .context = &plain[1]},
		[SPILL_OTHERS] = {"reel, budget", spill_run_both, .context = &reel},
	};

	spill_plain_open(plain, spill_tape_bytes(), budget);
	spill_open(&in_memory, NULL, 0);
	spill_open(&reel, "file", budget);
	in_memory.load = reel.load = spill_load(WORK);
	spill_measure(named, variants, SPILL_OTHERS + 1, spill_tape_bytes());
	spill_close(&reel);
	spill_close(&in_memory);
	spill_plain_close(plain);
}

static void budget_cases(void)
{
	static const size_t budgets[] = {64 * MIB, 256 * MIB, 1024 * MIB};

	for (size_t b = 0; b < COUNT_OF(budgets) && !(b && bench_is_quick()); b++) {
		char name[64];
		struct bench_case named = {.name = name, .rounds = spill_rounds()};

		snprintf(name, sizeof name, "spill/budget/%zuM", budgets[b] / MIB);
		if (spill_starts(&named, 2 * spill_tape_bytes()))
			measure_budget(&named, budgets[b]);
	}
}

/* ---- The tape ---- */

#define SIZES 4
#define GROWTH_ROUNDS 3
#define GROWTH_BUDGET (256 * MIB)
/* A small tape goes up and down several times, so that its time can be measured. */
#define MIN_BYTES (1024 * MIB)

static double time_of_a_byte(struct spill_tape *reel, size_t size)
{
	size_t repetitions = size < MIN_BYTES ? MIN_BYTES / size : 1;
	double start = measure_seconds();

	for (size_t r = 0; r < repetitions; r++)
		spill_run_both(reel, size);
	return 1e9 * (measure_seconds() - start) / (double)repetitions / (double)size;
}

/* The sizes take turns; once before that, the largest gets the file all the room it needs. */
static void measure_growth(const struct bench_case *named, const size_t *sizes)
{
	static const struct measure_variant reel_alone = {.name = "reel, budget"};
	double times[SIZES][GROWTH_ROUNDS];
	struct bench_case described = *named;
	struct spill_tape reel;

	spill_open(&reel, "file", GROWTH_BUDGET);
	reel.load = spill_load(WORK);
	spill_run_both(&reel, sizes[SIZES - 1]);
	for (int round = 0; round < GROWTH_ROUNDS; round++)
		for (int s = 0; s < SIZES; s++)
			times[s][round] = time_of_a_byte(&reel, sizes[s]);
	spill_close(&reel);
	described.variants = &reel_alone;
	described.count = 1;
	for (int s = 0; s < SIZES; s++) {
		struct measure_result result = measure_summary(times[s], GROWTH_ROUNDS);

		bench_report(&described, sizes[s], "ns/byte", &result);
	}
}

void spill_size_cases(void)
{
	static const size_t sizes[SIZES] = {64 * MIB, 512 * MIB, 4096 * MIB, 16384 * MIB};
	static const struct bench_case growth = {.name = "spill/growth"};

	budget_cases();
	/* 16 GiB are not quick. */
	if (!bench_is_quick() && spill_starts(&growth, sizes[SIZES - 1]))
		measure_growth(&growth, sizes);
}
