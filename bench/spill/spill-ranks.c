/* SPDX-License-Identifier: MIT */
/*
 * Eight processes with tapes of 1 to 8 units: on one budget that they share, and on splits of it.
 * The split with the shortest time, which is known only afterwards, is the bound.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spill.h"

#define RANKS 8
/* Number of units of all tapes. */
#define UNITS (RANKS * (RANKS + 1) / 2)
/* Without more slabs, a tape waits for each transfer. */
#define MINIMUM (4 * SPILL_SLAB_BYTES)

/* Weights of a split are powers of the tapes' lengths. */
struct split {
	bool is_shared;
	double power;
};

static size_t ranks_budget(size_t bytes)
{
	return bytes / 3;
}

static void write_budget(char *text, size_t size, const struct split *split, unsigned rank,
			 size_t bytes)
{
	size_t budget = ranks_budget(bytes), rest = budget - RANKS * MINIMUM;
	double weights = 0;

	for (unsigned r = 0; r < RANKS; r++)
		weights += pow(r + 1, split->power);
	if (split->is_shared)
		snprintf(text, size, "shared:b%ld:%zu", (long)getppid(), budget);
	else
		snprintf(text, size, "%zu",
			 MINIMUM + (size_t)((double)rest * pow(rank + 1, split->power) / weights));
}

static _Noreturn void be_rank(const struct split *split, unsigned rank, size_t bytes)
{
	struct reel_pool_options options = {.slab_bytes = SPILL_SLAB_BYTES};
	struct spill_tape spilled = {0};
	char budget[64];
	int error;

	write_budget(budget, sizeof budget, split, rank, bytes);
	error = reel_pool_options_from_text(&options, budget, "file", bench_directory());
	if (!error)
		error = reel_pool_open(&spilled.pool, &options);
	if (!error)
		error = reel_tape_open(&spilled.tape, spilled.pool, 0);
	if (error) {
		fprintf(stderr, "reel-bench: a rank: %s\n", reel_error_text(error));
		_exit(EXIT_FAILURE);
	}
	spill_run_both(&spilled, bytes / UNITS * (rank + 1));
	spill_demand_all_read(&spilled.load, "a rank");
	spill_close(&spilled);
	_exit(EXIT_SUCCESS);
}

static double run_ranks(void *context, size_t bytes)
{
	pid_t rank[RANKS];
	int status;

	for (unsigned r = 0; r < RANKS; r++) {
		rank[r] = fork();
		if (rank[r] == 0)
			be_rank(context, r, bytes);
	}
	for (unsigned r = 0; r < RANKS; r++)
		if (waitpid(rank[r], &status, 0) != rank[r] || status)
			abort();
	return 0;
}

void spill_rank_cases(void)
{
	static struct split shared = {.is_shared = true}, equal = {.power = 0};
	static struct split root = {.power = 0.5}, by_tape = {.power = 1}, square = {.power = 2};
	const struct measure_variant variants[] = {
		{.name = "the best split"},
		{"shared budget", run_ranks, .context = &shared},
		{"equal split", run_ranks, .context = &equal},
		{"by the root of the tape", run_ranks, .context = &root},
		{"by the tape", run_ranks, .context = &by_tape},
		{"by its square", run_ranks, .context = &square},
	};
	struct bench_case named = {.name = "spill/ranks", .rounds = spill_rounds(),
				   .variants = variants + 1, .count = COUNT_OF(variants) - 1};
	struct measure_result results[COUNT_OF(variants)];

	if (!spill_starts(&named, 2 * spill_tape_bytes()))
		return;
	bench_measure(&named, spill_tape_bytes(), results + 1);
	results[0] = results[2];
	for (size_t i = 3; i < COUNT_OF(variants); i++)
		if (results[i].median < results[0].median)
			results[0] = results[i];
	named.variants = variants;
	named.count = COUNT_OF(variants);
	bench_report(&named, spill_tape_bytes(), "ns/byte", results);
}
