/* SPDX-License-Identifier: MIT */
/*
 * The memory that a store has on the device: slots, which are pieces of one size in one allocation.
 * A slot is on the stack of free slots or has `bytes` above 0, never both.
 */
#ifndef REEL_GPU_DEVICE_MEMORY_H
#define REEL_GPU_DEVICE_MEMORY_H

#include <pthread.h>

#include <reel/extend.h>
#include <reel/gpu.h>

#include "gpu/driver/context.h"
#include "gpu/driver/pinned.h"

struct reel_gpu_slot {
	uint64_t header[REEL_HEADER_BYTES / 8];
	uint64_t bytes; /* 0: the slot is free */
};

struct reel_gpu_memory {
	struct reel_gpu_context context;
	size_t slot_bytes;
	unsigned depth;
	reel_cu_address arena;
	char *frames; /* of both links */
	struct reel_pinned pinned;

	/* Guards the members below. Not held while the driver is called. */
	pthread_mutex_t lock;
	struct reel_gpu_slot *slot;
	uint32_t *free_slot; /* a stack of the numbers of free slots */
	uint32_t slots, free_slots;
	bool lost;
	struct reel_gpu_stats stats;
};

/* Takes a slot for the data of a put. Returns 0; -ENOSPC; or -ENODEV, the device is lost. */
int reel_gpu_memory_take(struct reel_gpu_memory *memory, const reel_transfer *transfer,
			 uint64_t *location);
/* Does nothing if the slot is free already. */
void reel_gpu_memory_give(struct reel_gpu_memory *memory, uint64_t location);
/* Returns 0 if a slot has the data of a get; -EINVAL; or -ENODEV, the device is lost. */
int reel_gpu_memory_check(struct reel_gpu_memory *memory, const reel_transfer *transfer);

/*
 * A link calls this for a request that has ended with `result`. Returns 0, or the error to complete
 * the transfer with. If the stream is not known to be at rest (`rests`), the device is lost.
 */
int reel_gpu_memory_judge(struct reel_gpu_memory *memory, reel_cu_result result, bool rests);
/* A link calls this before it completes a transfer; `copied`: by way of a frame. */
void reel_gpu_memory_note(struct reel_gpu_memory *memory, reel_transfer *transfer, bool put,
			  bool copied, int error);

#endif
