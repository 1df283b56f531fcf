/* SPDX-License-Identifier: MIT */
#ifndef FUZZ_TARGETS_H
#define FUZZ_TARGETS_H

#include "fuzz.h"

fuzz_run fuzz_tape, fuzz_adstack, fuzz_lanes, fuzz_schedule, fuzz_actions, fuzz_choose,
	fuzz_restart, fuzz_stored, fuzz_pack, fuzz_shuffle, fuzz_field, fuzz_store_words,
	fuzz_environment, fuzz_plan_words, fuzz_kernel_file, fuzz_facts;

#endif
