/* SPDX-License-Identifier: MIT */
/*
 * The transfers that wait for an engine of a file, first come, first served, and
 * the count of all that are not complete. Any thread: a layer may start a
 * transfer anew where it completed.
 */
#ifndef REEL_LIB_FILE_QUEUE_H
#define REEL_LIB_FILE_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <reel/extend.h>

struct reel_transfer_queue {
	pthread_mutex_t lock;
	pthread_cond_t work; /* one was added, or the queue was shut */
	pthread_cond_t idle; /* none is under way */
	reel_transfer *first, **last;
	uint64_t under_way;
	bool shut;
};

/* 0, or -errno. */
int reel_transfer_queue_open(struct reel_transfer_queue *queue);
void reel_transfer_queue_close(struct reel_transfer_queue *queue);

void reel_transfer_queue_add(struct reel_transfer_queue *queue, reel_transfer *transfer);

/* Waits for one. NULL: the queue is empty and shut. */
reel_transfer *reel_transfer_queue_take(struct reel_transfer_queue *queue);

/* NULL: the queue is empty; *shut says whether it stays so. */
reel_transfer *reel_transfer_queue_try(struct reel_transfer_queue *queue, bool *shut);

/* A transfer that was taken is complete. */
void reel_transfer_queue_complete(struct reel_transfer_queue *queue);

/* Wait until none is under way. 0, or -ETIMEDOUT; negative: for ever. */
int reel_transfer_queue_wait(struct reel_transfer_queue *queue, int64_t timeout_ns);

/* None is added any more. */
void reel_transfer_queue_shut(struct reel_transfer_queue *queue);

#endif
