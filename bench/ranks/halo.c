/* SPDX-License-Identifier: MIT */
/*
 * The tsunami's exchange of rows between ranks, and its reverse: columns of the grid, bytes of a
 * message, microseconds of both and their ratio. bench/ranks/ranks.sh runs it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/numbers.h"
#include "common/report.h"
#include "model/ranks.h"
#include "model/shallow.h"

#define ROUNDS 21
#define EXCHANGES 200

typedef void exchange_fn(struct ranks *ranks, struct state *state);

/* Seconds of one, of all ranks the slowest. */
static double time_exchange(struct ranks *ranks, exchange_fn *exchange, struct state *state)
{
	double start;

	ranks->world->lowest(0);
	start = wall_time();
	for (int k = 0; k < EXCHANGES; k++)
		exchange(ranks, state);
	ranks->world->lowest(0);
	return (wall_time() - start) / EXCHANGES;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values)
{
	qsort(values, ROUNDS, sizeof(*values), compare);
	return values[ROUNDS / 2];
}

/* Both are timed in turn, so that a disturbance of the machine affects both. */
static void measure(struct ranks *ranks, int columns)
{
	struct region region = {0.0, columns, 0.0, 8.0 * ranks->number};
	struct grid grid = grid_create(region, 60.0);
	double forward[ROUNDS], reverse[ROUNDS], ratio[ROUNDS];
	struct state state;

	ranks->cut(ranks, &grid);
	state = state_create(&ranks->grid);
	for (int round = 0; round < ROUNDS; round++) {
		forward[round] = time_exchange(ranks, ranks->exchange, &state);
		reverse[round] = time_exchange(ranks, ranks->exchange_reverse, &state);
		ratio[round] = reverse[round] / forward[round];
	}
	printf("%7d %7zu %12.2f %12.2f %8.3f\n", columns,
	       HALO_ROWS * 3 * sizeof(double) * (size_t)columns, 1e6 * median(forward),
	       1e6 * median(reverse), median(ratio));
	state_destroy(&state);
	grid_destroy(&grid);
}

int main(int count, char **arguments)
{
	struct ranks *ranks;

	report_as("halo");
	ranks = ranks_begin(&count, &arguments);
	if (!ranks)
		fail("one rank exchanges nothing: start several by mpirun");
	measure(ranks, count > 1 ? read_integer("columns", arguments[1], 8, 360) : 350);
	return 0;
}
