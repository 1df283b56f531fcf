/* SPDX-License-Identifier: MIT */
/*
 * The facts of "reel info" about the first device. Without a device, or in a build without support
 * for devices, the reason is the fact.
 */
#include "config.h"

#include <stdio.h>

#include <reel/gpu.h>

#include "info.h"

static void add_device(struct facts *facts, const struct reel_gpu_device *device)
{
	char compute[32], driver[32];

	snprintf(compute, sizeof compute, "%u.%u", device->compute_major, device->compute_minor);
	snprintf(driver, sizeof driver, "CUDA %u.%u", device->driver_version / 1000,
		 device->driver_version % 1000 / 10);
	facts_add_text(facts, "gpu_name", device->name);
	facts_add_bytes(facts, "gpu_memory_bytes", (long long)device->memory_bytes);
	facts_add_text(facts, "gpu_compute_capability", compute);
	facts_add_number(facts, "gpu_multiprocessors", device->multiprocessors);
	facts_add_text(facts, "gpu_driver", driver);
}

/* Adds the first device, which stores use, or the reason why there is none. */
void add_gpu_facts(struct facts *facts)
{
	struct reel_gpu_device device;
	unsigned count = 0;
	int error = reel_gpu_count(&count);

	facts_add_number(facts, "gpu_count", count);
	if (!error)
		error = reel_gpu_describe(0, &device);
	if (error)
		facts_add_text(facts, "gpu_problem", reel_error_text(0));
	else
		add_device(facts, &device);
}
