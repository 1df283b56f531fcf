/* SPDX-License-Identifier: MIT */
/* A store in a device's memory; reel/gpu.h is the manual. */
#ifndef REEL_GPU_GPU_STORE_H
#define REEL_GPU_GPU_STORE_H

#include <sys/types.h>

#include "copy-stream.h"
#include "device-memory.h"

struct reel_gpu_store {
	reel_store store;
	pid_t owner;
	struct reel_gpu_memory memory;
	struct reel_gpu_link out, in;
};

#endif
