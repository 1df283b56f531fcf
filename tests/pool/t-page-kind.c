/* SPDX-License-Identifier: MIT */
/*
 * Tests the choice of pages on recorded costs of machines, without a clock: a sweep of 1 GiB takes
 * at most 1.1 of the time of the better kind of page.
 */
#include <config.h>

#include <stdbool.h>

#include "pool/page-kind.h"
#include "helpers/support.h"

#define SWEEP 512 /* blocks of 2 MiB */

/* Picoseconds a byte: in the first half of a sweep, in the second half, and of a spike. */
static const struct machine {
	const char *name;
	uint64_t huge[2], small[2];
	unsigned spike_each; /* 0: never */
} machines[] = {
	{"a machine of one's own", {70, 70}, {450, 450}, 0},
	{"and its spikes", {70, 70}, {450, 450}, 20},
	{"a virtual machine whose host takes memory", {2700, 2700}, {390, 390}, 0},
	{"and its spikes", {3500, 3500}, {650, 650}, 20},
	{"a slow machine", {1000, 1000}, {2000, 2000}, 0},
	{"a machine with equal costs", {500, 500}, {500, 500}, 0},
	{"a machine with dearest small pages", {100, 100}, {50000, 50000}, 0},
	{"a machine whose host gets memory", {2700, 70}, {450, 450}, 0},
	{"a machine whose host takes memory meanwhile", {70, 2700}, {450, 450}, 0},
	{"a machine that runs out of small pages", {2700, 2700}, {450, 5000}, 0},
};

static uint64_t cost(const struct machine *machine, enum reel_page_kind kind, unsigned block)
{
	const uint64_t *costs = kind == REEL_PAGES_HUGE ? machine->huge : machine->small;
	bool is_spike = machine->spike_each && block % machine->spike_each == 7;

	/* A thread that has lost the processor for 4 ms. */
	return costs[block >= SWEEP / 2] + (is_spike ? 2000 : 0);
}

static void test_machines(void)
{
	tap_case("costs of machines");
	for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
		const struct machine *machine = &machines[i];
		struct reel_page_costs costs = {0};
		uint64_t chosen = 0, huge = 0, small = 0, better;

		for (unsigned block = 0; block < SWEEP; block++) {
			enum reel_page_kind kind = reel_page_kind_next(&costs);

			chosen += cost(machine, kind, block);
			huge += cost(machine, REEL_PAGES_HUGE, block);
			small += cost(machine, REEL_PAGES_SMALL, block);
			reel_page_kind_note(&costs, kind, cost(machine, kind, block));
		}
		better = huge < small ? huge : small;
		ok(chosen * 100 <= better * 110, "%s: %.3f of the better kind", machine->name,
		   (double)chosen / (double)better);
	}
}

static void test_begin(void)
{
	struct reel_page_costs costs = {0};

	tap_case("the begin");
	is_int(reel_page_kind_next(&costs), REEL_PAGES_HUGE, "huge pages are tried first");
	reel_page_kind_note(&costs, REEL_PAGES_HUGE, 2700);
	is_int(reel_page_kind_next(&costs), REEL_PAGES_SMALL, "small ones if huge ones are dear");
	reel_page_kind_note(&costs, REEL_PAGES_SMALL, 5000);
	is_int(reel_page_kind_cheaper(&costs), REEL_PAGES_HUGE, "and huge ones if these are dearer");
}

static void test_trials(void)
{
	struct reel_page_costs costs = {0};
	unsigned blocks = 0, first;

	tap_case("trials");
	reel_page_kind_note(&costs, REEL_PAGES_HUGE, 2700);
	for (; reel_page_kind_next(&costs) == REEL_PAGES_SMALL; blocks++)
		reel_page_kind_note(&costs, REEL_PAGES_SMALL, 450);
	ok(blocks > 4 && blocks < 32, "the dearer pages are tried after %u blocks", blocks);
	is_int(reel_page_kind_next(&costs), REEL_PAGES_SMALL, "by one thread");
	is_int(reel_page_kind_cheaper(&costs), REEL_PAGES_SMALL, "while the others go on");
	reel_page_kind_note(&costs, REEL_PAGES_HUGE, 2700);
	first = blocks;
	for (blocks = 0; reel_page_kind_next(&costs) == REEL_PAGES_SMALL; blocks++)
		reel_page_kind_note(&costs, REEL_PAGES_SMALL, 450);
	ok(blocks > first, "the next trial comes later, after %u blocks", blocks);
	reel_page_kind_note(&costs, REEL_PAGES_HUGE, 70);
	for (blocks = 0; blocks < 1000 && reel_page_kind_next(&costs) == REEL_PAGES_HUGE; blocks++)
		reel_page_kind_note(&costs, REEL_PAGES_HUGE, 70);
	is_int(blocks, 1000, "pages that are there need no trials");
}

static void test_bounds(void)
{
	struct reel_page_costs costs = {0};

	tap_case("bounds");
	for (int i = 0; i < 100; i++)
		reel_page_kind_note(&costs, REEL_PAGES_SMALL, UINT64_MAX);
	ok(costs.last[REEL_PAGES_SMALL] > 100000, "a cost rises");
	is_int(reel_page_kind_cheaper(&costs), REEL_PAGES_HUGE, "and moves the choice");
	reel_page_kind_note(&costs, REEL_PAGES_SMALL, 0);
	ok(costs.last[REEL_PAGES_SMALL] > 0, "a cost of nothing is a cost that was measured");
	reel_page_kind_note(&costs, REEL_PAGES_HUGE, 300);
	reel_page_kind_note(&costs, REEL_PAGES_HUGE, 100000);
	ok(costs.last[REEL_PAGES_HUGE] < 2000, "a cost rises by steps");
}

int main(void)
{
	tap_begin();
	test_begin();
	test_machines();
	test_trials();
	test_bounds();
	return tap_end();
}
