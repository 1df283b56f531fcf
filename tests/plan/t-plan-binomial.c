/* SPDX-License-Identifier: MIT */
/* Accesses of binomial schedules by depth follow their recursion for large numbers of steps. */
#include <config.h>

#include "helpers/plan-support.h"

#include "plan/plan.h"

/* Returns true if accesses are the sum of a split, the part below, and the part above. */
static bool holds_together(int64_t steps, int64_t slots)
{
	int64_t below = reel_binomial_split(steps, slots), above = steps - below;
	struct accesses all, higher, lower;
	bool right = true;

	if (reel_binomial_accesses(steps, slots, &all) ||
	    reel_binomial_accesses(below, slots, &lower) ||
	    reel_binomial_accesses(above, slots - 1, &higher))
		abort();
	right &= all.stores[0] == 1 && all.loads[0] == lower.loads[0] + 1;
	for (int64_t d = 1; d < slots; d++)
		right &= all.stores[d] == lower.stores[d] + higher.stores[d - 1] &&
			 all.loads[d] == lower.loads[d] + higher.loads[d - 1];
	free(all.stores);
	free(lower.stores);
	free(higher.stores);
	return right;
}

static void large_schedules_hold_together(void)
{
	unsigned wrong = 0, tried = 0;

	for (uint64_t n = 0; n < (is_brief() ? 2000 : 100000); n++) {
		int64_t steps = (int64_t)(scramble(n) % ((uint64_t)1 << (3 + n % 38))) + 2;
		uint64_t most = n % 8 ? 256 : REEL_MAX_SLOTS;
		int64_t slots = 4 + (int64_t)(scramble(n + 1000000) % (most - 3));

		wrong += !holds_together(steps, n % 3 ? slots % 7 + 4 : slots);
		tried++;
	}
	for (int64_t slots = 2; slots < 4; slots++)
		for (uint64_t n = 0; n < 20; n++, tried++)
			wrong += !holds_together(
				(int64_t)(scramble(n) % ((uint64_t)1 << (21 + n))) + 2, slots);
	is_int(wrong, 0, "%u schedules of up to 2^40 steps are made of smaller ones", tried);
}

int main(void)
{
	tap_begin();
	large_schedules_hold_together();
	return tap_end();
}
