/* SPDX-License-Identifier: MIT */
/*
 * The costs of steps, states and the disk on this machine.
 */
#ifndef TSUNAMI_MEASURE_H
#define TSUNAMI_MEASURE_H

#include <reel/plan.h>

#include "model/layout.h"
#include "gradient/loop.h"

/*
 * Run the first steps within `memory` bytes, and put some bytes to a file in `spill` and
 * get them back, unless that is NULL; `disk_bytes` may be kept there, 0: any number. A plan
 * chosen by these costs fits the memory. Ends the program if the memory is too small,
 * or if a cell falls dry.
 */
struct reel_costs measure_costs(struct loop *loop, const struct tape_shape *shape,
				const double *displacement, uint64_t memory, const char *spill,
				uint64_t disk_bytes);

#endif
