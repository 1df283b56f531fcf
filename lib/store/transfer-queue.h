/* SPDX-License-Identifier: MIT */
/*
 * The transfers that wait for the threads of a store, in the order in which they came, and the
 * number of all that are not complete. Any thread may add one: a layer may start a transfer anew in
 * the thread that completed it.
 */
#ifndef REEL_LIB_TRANSFER_QUEUE_H
#define REEL_LIB_TRANSFER_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <reel/extend.h>

struct reel_transfer_queue {
	pthread_mutex_t lock;
	pthread_cond_t work; /* a transfer was added, or the queue was shut */
	pthread_cond_t idle; /* no transfer is under way */
	reel_transfer *first, **last;
	uint64_t under_way;
	bool shut;
};

/* Returns 0 or -errno. */
int reel_transfer_queue_open(struct reel_transfer_queue *queue);
void reel_transfer_queue_close(struct reel_transfer_queue *queue);

void reel_transfer_queue_add(struct reel_transfer_queue *queue, reel_transfer *transfer);

/* Waits for a transfer. Returns NULL if the queue is empty and shut. */
reel_transfer *reel_transfer_queue_take(struct reel_transfer_queue *queue);

/* Returns NULL if the queue is empty; *shut tells whether it stays empty. */
reel_transfer *reel_transfer_queue_try(struct reel_transfer_queue *queue, bool *shut);

/* Notes that a transfer that was taken is complete. */
void reel_transfer_queue_complete(struct reel_transfer_queue *queue);

/*
 * Waits until no transfer is under way. Returns 0 or -ETIMEDOUT; a negative time is without limit.
 */
int reel_transfer_queue_wait(struct reel_transfer_queue *queue, int64_t timeout_ns);

/* Shuts the queue: no transfer is added any more. */
void reel_transfer_queue_shut(struct reel_transfer_queue *queue);

#endif
