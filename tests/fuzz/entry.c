/* SPDX-License-Identifier: MIT */
/*
 * The functions that libFuzzer, or AFL++ in its place, calls. The program has all targets.
 * FUZZ_TARGET in the environment names the one to run, or else the name of the program does:
 * OSS-Fuzz sets no variables, and runs a copy of the program for each target.
 */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct fuzz_target *chosen(void)
{
	const char *name = getenv("FUZZ_TARGET");
	const struct fuzz_target *target = fuzz_find(name ? name : program_invocation_short_name);

	if (target)
		return target;
	fprintf(stderr, "FUZZ_TARGET, or the name of the program, must be one of:");
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
