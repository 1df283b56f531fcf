/* SPDX-License-Identifier: MIT */
#ifndef TSUNAMI_ACCOUNT_H
#define TSUNAMI_ACCOUNT_H

#include "gradient/checkpointing.h"

/*
 * Print planned beside measured use of memory and time. `seconds` is the time of both
 * sweeps, `full_tape_bytes` the size that the tape of all steps would have had.
 */
void account_print(const struct checkpointing_use *use, uint64_t full_tape_bytes, double seconds,
		   int audited);

#endif
