/* SPDX-License-Identifier: MIT */
#ifndef TSUNAMI_ACCOUNT_H
#define TSUNAMI_ACCOUNT_H

#include "gradient/checkpointing.h"

/*
 * Print what was planned beside what was done, in memory and in time. `seconds` is what
 * both sweeps took, `full_tape_bytes` what the tape of all steps would have taken.
 */
void account_print(const struct checkpointing_use *use, uint64_t full_tape_bytes, double seconds,
		   int audited);

#endif
