/* SPDX-License-Identifier: MIT */
/* A device of the driver and its primary context. */
#ifndef REEL_GPU_CONTEXT_H
#define REEL_GPU_CONTEXT_H

#include "driver.h"

struct reel_gpu_context {
	const struct reel_driver *driver;
	unsigned number; /* of the device, as in the driver */
	reel_cu_device device;
	reel_cu_context context;
};

/* Returns 0, or an error such as -ENODEV, and leaves its text. */
int reel_gpu_context_open(struct reel_gpu_context *context, unsigned number);
void reel_gpu_context_close(struct reel_gpu_context *context);

/*
 * Leaves a text: `what`, and the name and description of `result`. Returns -ENOMEM if the driver
 * has too little memory, or else `error`.
 */
int reel_gpu_refuse(const struct reel_driver *driver, reel_cu_result result, int error,
		    const char *what);

/* Between reel_gpu_enter() and reel_gpu_leave(), driver calls of this thread use this context. */
static inline reel_cu_result reel_gpu_enter(const struct reel_gpu_context *context)
{
	return context->driver->cuCtxPushCurrent(context->context);
}

static inline void reel_gpu_leave(const struct reel_gpu_context *context)
{
	context->driver->cuCtxPopCurrent(NULL);
}

#endif
