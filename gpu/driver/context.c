/* SPDX-License-Identifier: MIT */
/*
 * Finds a device, retains its primary context and describes it. Any thread calls these functions.
 * Each retain of a context has one release; the driver counts them. A function that fails leaves
 * nothing retained, and its text includes the driver's text.
 */
#include "config.h"

#include "context.h"

#include <errno.h>
#include <string.h>

#include <reel/gpu.h>
#include <reel/extend.h>

#include "os/assert.h"
#include "os/cancel.h"

int reel_gpu_refuse(const struct reel_driver *driver, reel_cu_result result, int error,
		    const char *what)
{
	char words[REEL_DRIVER_WORDS];

	REEL_ASSERT(result != REEL_CU_SUCCESS);
	return reel_fail(result == REEL_CU_OUT_OF_MEMORY ? -ENOMEM : error, "%s: %s", what,
			 reel_driver_explain(driver, result, words));
}

/* On a machine with libcuda and without a device, cuInit() returns an error. */
static int start_driver(const struct reel_driver **driver, int *devices)
{
	const char *problem = NULL;
	reel_cu_result result;

	*driver = reel_driver_get(&problem);
	if (!*driver)
		return reel_fail(-ENODEV, "no GPU: %s", problem);
	result = (*driver)->cuInit(0);
	if (!result)
		result = (*driver)->cuDeviceGetCount(devices);
	if (result)
		return reel_gpu_refuse(*driver, result, -ENODEV, "no GPU");
	return *devices > 0 ? 0 : reel_fail(-ENODEV, "no GPU: the driver knows of none");
}

static int find_device(const struct reel_driver **driver, unsigned number, reel_cu_device *device)
{
	reel_cu_result result;
	int devices = 0;
	int error = start_driver(driver, &devices);

	if (error)
		return error;
	if (number >= (unsigned)devices)
		return reel_fail(-ENODEV, "no GPU %u: there are %d, numbered from 0", number,
				 devices);
	result = (*driver)->cuDeviceGet(device, (int)number);
	return result ? reel_gpu_refuse(*driver, result, -ENODEV, "the GPU cannot be used") : 0;
}

int reel_gpu_context_open(struct reel_gpu_context *context, unsigned number)
{
	reel_cu_result result;
	int error = find_device(&context->driver, number, &context->device);

	if (error)
		return error;
	context->number = number;
	result = context->driver->cuDevicePrimaryCtxRetain(&context->context, context->device);
	return result ? reel_gpu_refuse(context->driver, result, -ENODEV, "the GPU cannot be used")
		      : 0;
}

void reel_gpu_context_close(struct reel_gpu_context *context)
{
	REEL_ASSERT(context->context);
	context->driver->cuDevicePrimaryCtxRelease(context->device);
}

int reel_gpu_count(unsigned *count)
{
	REEL_UNCANCELLED;
	const struct reel_driver *driver;
	int devices = 0;
	int error = start_driver(&driver, &devices);

	*count = error ? 0 : (unsigned)devices;
	return error;
}

static unsigned attribute(const struct reel_driver *driver, reel_cu_device device,
			  reel_cu_attribute which)
{
	int value = 0;

	return driver->cuDeviceGetAttribute(&value, which, device) ? 0 : (unsigned)value;
}

int reel_gpu_describe(unsigned number, struct reel_gpu_device *device)
{
	REEL_UNCANCELLED;
	const struct reel_driver *driver;
	reel_cu_result result;
	reel_cu_device handle;
	size_t bytes = 0;
	int version = 0;
	int error = find_device(&driver, number, &handle);

	memset(device, 0, sizeof *device);
	if (error)
		return error;
	result = driver->cuDeviceGetName(device->name, sizeof device->name - 1, handle);
	if (!result)
		result = driver->cuDeviceTotalMem(&bytes, handle);
	if (!result)
		result = driver->cuDriverGetVersion(&version);
	if (result)
		return reel_gpu_refuse(driver, result, -ENODEV, "the GPU cannot be described");
	device->memory_bytes = bytes;
	device->driver_version = (unsigned)version;
	device->compute_major = attribute(driver, handle, REEL_CU_COMPUTE_MAJOR);
	device->compute_minor = attribute(driver, handle, REEL_CU_COMPUTE_MINOR);
	device->multiprocessors = attribute(driver, handle, REEL_CU_MULTIPROCESSORS);
	device->threads = attribute(driver, handle, REEL_CU_THREADS_PER_MULTIPROCESSOR);
	return 0;
}
