/* SPDX-License-Identifier: MIT */
/* A store in a device's memory; reel/gpu.h is the manual. */
#ifndef REEL_GPU_GPU_STORE_H
#define REEL_GPU_GPU_STORE_H

#include <sys/types.h>

#include "copy-stream.h"
#include "gpu/driver/pinned.h"

struct reel_gpu_slot {
	uint64_t header[REEL_HEADER_BYTES / 8];
	uint64_t bytes; /* 0: the slot is free */
};

struct reel_gpu_store {
	reel_store store;
	pid_t owner;
	struct reel_gpu_context context;
	size_t slot_bytes;
	unsigned depth;
	reel_cu_address arena;
	char *frames; /* of both links */
	struct reel_gpu_link out, in;
	struct reel_pinned pinned;

	/* Guards the members below. Not held while the driver is called. */
	pthread_mutex_t lock;
	struct reel_gpu_slot *slot;
	uint32_t *free_slot; /* a stack of the numbers of free slots */
	uint32_t slots, free_slots;
	bool lost;
	struct reel_gpu_stats stats;
};

/*
 * A link calls this for a request that has ended with `result`. Returns 0, or the error to complete
 * the transfer with. If the stream is not known to be at rest (`rests`), the device is lost.
 */
int reel_gpu_store_judge(struct reel_gpu_store *store, reel_cu_result result, bool rests);
/* A link calls this before it completes a transfer. */
void reel_gpu_store_note(struct reel_gpu_store *store, const struct reel_gpu_request *request,
			 bool put, int error);

static inline reel_cu_address reel_gpu_store_address(const struct reel_gpu_store *store,
						     uint64_t slot)
{
	return store->arena + slot * store->slot_bytes;
}

#endif
