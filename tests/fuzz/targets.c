/* SPDX-License-Identifier: MIT */
#include <config.h>

#include "targets.h"

const struct fuzz_target fuzz_targets[] = {
	{"tape", fuzz_tape, 2048},
	{"adstack", fuzz_adstack, 2048},
	{"lanes", fuzz_lanes, 1024},
	{"schedule", fuzz_schedule, 64},
	{"actions", fuzz_actions, 1024},
	{"choose", fuzz_choose, 160},
	{"restart", fuzz_restart, 4096},
	{"stored", fuzz_stored, 512},
#if HAVE_LZ4
	{"pack", fuzz_pack, 4096},
#endif
	{"shuffle", fuzz_shuffle, 2048},
	{"field", fuzz_field, 1024},
	{"store-words", fuzz_store_words, 256},
	{"environment", fuzz_environment, 512},
	{"plan-words", fuzz_plan_words, 512},
	{"kernel-file", fuzz_kernel_file, 5000},
	{"facts", fuzz_facts, 512},
	{NULL, NULL, 0},
};
