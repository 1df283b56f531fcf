/* SPDX-License-Identifier: MIT */
/*
 * Memory of pools and programs that the driver pins: it stays in place, so that the device reads
 * and writes it without a copy. Any thread.
 */
#ifndef REEL_GPU_PINNED_H
#define REEL_GPU_PINNED_H

#include <pthread.h>

#include "context.h"

/* Ranges in ascending order that do not overlap. */
struct reel_pinned_table {
	struct reel_pinned_range {
		char *start;
		size_t bytes;
		/* Only in the table of the process (pinned.c): */
		reel_cu_context context;
		size_t owners;
	} *range;
	size_t count, room;
};

/* The memory of one owner, such as a store or a pool. */
struct reel_pinned {
	const struct reel_gpu_context *context;
	/* Not held while the driver is called. */
	pthread_mutex_t lock;
	struct reel_pinned_table table;
	size_t bytes;
	uint64_t refused;
	/* If not 0: no memory of this size or more is pinned until some other is unpinned. */
	size_t too_large;
	char problem[REEL_DRIVER_WORDS]; /* reason of the last refusal, or "" */
};

void reel_pinned_open(struct reel_pinned *pinned, const struct reel_gpu_context *context);
/* Unpins all memory. In the child of a fork, does not call the driver. */
void reel_pinned_close(struct reel_pinned *pinned, bool is_in_child);

/*
 * Pins whole pages. Returns 0, also if they are pinned already; -EINVAL, these are not whole pages;
 * -EBUSY, the program has pinned some of them, or another device's owner has; or -ENOMEM.
 */
int reel_pinned_add(struct reel_pinned *pinned, void *memory, size_t bytes);
/*
 * Unpins the memory that begins here, unless another owner needs it. Does nothing
 * if it is not pinned.
 */
void reel_pinned_remove(struct reel_pinned *pinned, void *memory);

bool reel_pinned_has(struct reel_pinned *pinned, const void *memory, size_t bytes);
/* Returns how many bytes are pinned, how often memory was refused, and the last reason. */
size_t reel_pinned_bytes(struct reel_pinned *pinned, uint64_t *refused,
			 char problem[REEL_DRIVER_WORDS]);

#endif
