/* SPDX-License-Identifier: MIT */
#ifndef TSUNAMI_ACCOUNT_H
#define TSUNAMI_ACCOUNT_H

#include "common/digits.h"
#include "gradient/checkpointing.h"

/*
 * Prints the counts of the plan and of the run, and the memory of the run.
 * `full_tape_bytes` is the size that the tape of all steps would have had. No `digits`: NULL.
 */
void account_print(const struct checkpointing_use *use, uint64_t full_tape_bytes, int audited,
		   const struct digits *digits);

#endif
