/* SPDX-License-Identifier: MIT */
/* Compares the memory of all ranks with the oracle, and the oracle with differences. */
#include <config.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

enum { ROOT = 0 };

static struct {
	struct memory after[MAX_RANKS][MAX_OPERATIONS];
	struct memory bars[MAX_RANKS][MAX_OPERATIONS + 1];
	struct decided decided[MAX_RANKS];
} all;

static void gather(const void *own, void *to, size_t bytes)
{
	MPI_Gather(own, (int)bytes, MPI_BYTE, to, (int)bytes, MPI_BYTE, ROOT, MPI_COMM_WORLD);
}

/* Sums of real numbers depend on their order. */
static double tolerance(void)
{
	return program.smooth ? 1e-9 : 0;
}

static void compare_ranks(int index, bool reverse)
{
	whereabouts.operation = index;
	whereabouts.reverse = reverse;
	for (int i = 0; i < program.ranks; i++) {
		struct memory *run = reverse ? &all.bars[i][index] : &all.after[i][index];
		struct memory *expected = reverse ? &oracle.bar[i] : &oracle.x[i];
		enum kind kind;
		int at;

		if (find_difference(run, expected, tolerance(), &kind, &at))
			fail("rank %d has another %s: %s %d is %.17g, and the oracle has %.17g", i,
			     reverse ? "adjoint" : "value", kind_names[kind], at,
			     get_first(unit(run, kind, at), kind),
			     get_first(unit(expected, kind, at), kind));
	}
}

/* ---- Differences ---- */

static double direction(int rank, int leaf)
{
	struct random random = random_of(program.seed, 100 + (uint64_t)rank, (uint64_t)leaf);

	return below(&random, 5) - 2;
}

/* Floats are in no smooth program: differences would be lost in their rounding. */
static bool takes_part(int leaf)
{
	return leaf < units_in_memory(DOUBLES) + units_in_memory(PAIRS);
}

/* The objective of a program that begins h steps away. */
static double objective(double h)
{
	int first = program.on_one_rank ? program.root : 0;
	int last = program.on_one_rank ? program.root : program.ranks - 1;
	double J = 0;

	oracle_begin();
	for (int i = 0; i < program.ranks; i++)
		for (int leaf = 0; leaf < number_of_leaves(); leaf++)
			set_leaf(&oracle.x[i], leaf,
				 get_leaf(&oracle.x[i], leaf) +
					 (takes_part(leaf) ? h * direction(i, leaf) : 0));
	for (int i = 0; i < program.operations; i++)
		oracle_forward(i);
	for (int i = first; i <= last; i++)
		for (int leaf = 0; leaf < number_of_leaves(); leaf++)
			J += weight_of(i, leaf) * get_leaf(&oracle.x[i], leaf);
	return J;
}

static void compare_differences(void)
{
	double h = 1e-6, difference, product = 0, scale = 1;

	for (int i = 0; i < program.ranks; i++)
		for (int leaf = 0; leaf < number_of_leaves(); leaf++) {
			double term = direction(i, leaf) * get_leaf(&all.bars[i][0], leaf);

			if (takes_part(leaf)) {
				product += term;
				scale += fabs(term);
			}
		}
	difference = (objective(h) - objective(-h)) / (2 * h);
	if (fabs(difference - product) > 1e-6 * scale)
		fail("the gradient in a direction is %.12g, and a difference says %.12g", product,
		     difference);
}

/* ---- The comparison ---- */

static void compare_all(void)
{
	oracle.decided = all.decided;
	oracle_begin();
	for (int i = 0; i < program.operations; i++) {
		const char *wrong;

		whereabouts.operation = i;
		wrong = oracle_forward(i);
		if (wrong)
			fail("%s", wrong);
		compare_ranks(i, false);
	}
	for (int i = 0; i < program.ranks; i++)
		oracle.bar[i] = all.bars[i][program.operations];
	for (int i = program.operations; i-- > 0;) {
		oracle_reverse(i);
		compare_ranks(i, true);
	}
	if (program.smooth)
		compare_differences();
}

void compare(const struct memory *after, const struct memory *bars)
{
	whereabouts.doing = "a comparison";
	gather(after, all.after, sizeof all.after[0]);
	gather(bars, all.bars, sizeof all.bars[0]);
	gather(&decided, all.decided, sizeof decided);
	if (whereabouts.rank == ROOT)
		compare_all();
	MPI_Barrier(MPI_COMM_WORLD);
}
