/* SPDX-License-Identifier: MIT */
/*
 * Memory of others that the driver holds in place, so that the device reads and writes it
 * without a copy. Any thread.
 */
#ifndef REEL_GPU_PINNED_H
#define REEL_GPU_PINNED_H

#include <pthread.h>

#include "context.h"

struct reel_pinned {
	struct reel_gpu_context *context;
	/* Not held while the driver is called. */
	pthread_mutex_t lock;
	struct reel_pinned_range {
		char *start;
		size_t bytes;
	} *range; /* in ascending order */
	size_t count, room;
	size_t bytes;
	uint64_t refused;
	bool full; /* the system pins no more until some is released */
	char problem[REEL_DRIVER_WORDS]; /* why something was refused last, or "" */
};

void reel_pinned_open(struct reel_pinned *pinned, struct reel_gpu_context *context);
/* Releases all; without the driver in the child of a fork. In the context. */
void reel_pinned_close(struct reel_pinned *pinned, bool is_in_child);

/* 0, also if it is pinned already, or -errno. Only whole pages can be pinned. */
int reel_pinned_add(struct reel_pinned *pinned, void *memory, size_t bytes);
/* What was not pinned is left alone. */
void reel_pinned_remove(struct reel_pinned *pinned, void *memory);

bool reel_pinned_has(struct reel_pinned *pinned, const void *memory, size_t bytes);
/* How much; how often more was refused, and why that was last. */
size_t reel_pinned_bytes(struct reel_pinned *pinned, uint64_t *refused,
			 char problem[REEL_DRIVER_WORDS]);

#endif
