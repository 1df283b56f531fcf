/* SPDX-License-Identifier: MIT */
/*
 * Threads that a layer hands transfers to, for work that takes one thread longer than the store
 * below takes to move the data.
 */
#ifndef REEL_LIB_TRANSFER_THREADS_H
#define REEL_LIB_TRANSFER_THREADS_H

#include <pthread.h>

#include "store.h"
#include "transfer-queue.h"

#define REEL_MAX_TRANSFER_THREADS 8

struct reel_transfer_threads {
	struct reel_transfer_queue queue;
	reel_store *store;
	void (*work)(reel_store *store, reel_transfer *transfer);
	unsigned count;
	pthread_t thread[REEL_MAX_TRANSFER_THREADS];
};

/*
 * Starts a thread for each processor, at most 8. They call `work` for each transfer that is added,
 * in any order. Fewer threads than that are enough. Returns 0, or -errno: there is none.
 */
int reel_transfer_threads_start(struct reel_transfer_threads *threads, reel_store *store,
				void (*work)(reel_store *store, reel_transfer *transfer),
				const char *name);

/* Ends the threads when all transfers that were added have been worked on. */
void reel_transfer_threads_end(struct reel_transfer_threads *threads);

#endif
