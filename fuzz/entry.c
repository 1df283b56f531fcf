/* SPDX-License-Identifier: MIT */
/*
 * What libFuzzer, and AFL++ in its place, call: one program with all targets, of which
 * FUZZ_TARGET in the environment names one.
 */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct fuzz_target *chosen(void)
{
	const char *name = getenv("FUZZ_TARGET");
	const struct fuzz_target *target = name ? fuzz_find(name) : NULL;

	if (target)
		return target;
	fprintf(stderr, "FUZZ_TARGET must be one of:");
	for (target = fuzz_targets; target->name; target++)
		fprintf(stderr, " %s", target->name);
	fputc('\n', stderr);
	exit(EXIT_FAILURE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct fuzz_target *target;

	if (!target)
		target = chosen();
	return size > target->max_bytes ? 0 : target->run(data, size);
}
