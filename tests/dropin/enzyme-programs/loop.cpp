// SPDX-License-Identifier: MIT
// A loop of 20 steps, each of which the scheme reverses once.
#include <stdint.h>
#include <stdio.h>

#include "helpers/enzyme-driver.h"

static void pass_step(void *, int64_t)
{
}

static void pass_state(void *, int64_t, int64_t)
{
}

int main()
{
	reel_enzyme_options options = reel_enzyme_options();
	struct driver driver = {};

	options.plan = "binomial:3";
	driver.table = &reel_enzyme_scheme;
	driver.options = &options;
	driver.steps = 20;
	driver.step = driver.turn = pass_step;
	driver.store = driver.restore = pass_state;
	if (driver_forward(&driver) != FIRSTUTURN || driver_reverse(&driver) != DONE)
		return 1;
	driver.table->finalize(driver.scheme);
	printf("%d turns, %d slots\n", (int)driver.turns, (int)driver.slots);
	return 0;
}
