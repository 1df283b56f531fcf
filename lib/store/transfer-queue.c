/* SPDX-License-Identifier: MIT */
/*
 * The queue of a store: transfers in the order in which they came, and the number of all that are
 * not complete. Any thread adds; the threads of the store take and complete. A transfer counts as
 * under way from when it is added until reel_transfer_queue_complete().
 */
#include "config.h"

#include <errno.h>
#include <time.h>

#include "os/cancel.h"
#include "os/clock.h"
#include "os/assert.h"
#include "transfer-queue.h"

int reel_transfer_queue_open(struct reel_transfer_queue *queue)
{
	int error = -pthread_mutex_init(&queue->lock, NULL);

	if (!error)
		error = -pthread_cond_init(&queue->work, NULL);
	if (!error)
		error = reel_clock_condition(&queue->idle);
	queue->first = NULL;
	queue->last = &queue->first;
	queue->under_way = 0;
	queue->shut = false;
	return error;
}

void reel_transfer_queue_close(struct reel_transfer_queue *queue)
{
	REEL_ASSERT(!queue->under_way);
	pthread_cond_destroy(&queue->idle);
	pthread_cond_destroy(&queue->work);
	pthread_mutex_destroy(&queue->lock);
}

void reel_transfer_queue_add(struct reel_transfer_queue *queue, reel_transfer *transfer)
{
	transfer->next = NULL;
	pthread_mutex_lock(&queue->lock);
	REEL_ASSERT(!queue->shut && !*queue->last);
	*queue->last = transfer;
	queue->last = &transfer->next;
	queue->under_way++;
	pthread_cond_signal(&queue->work);
	pthread_mutex_unlock(&queue->lock);
}

static reel_transfer *take_first(struct reel_transfer_queue *queue)
{
	reel_transfer *transfer = queue->first;

	if (!transfer)
		return NULL;
	REEL_ASSERT(queue->under_way > 0);
	queue->first = transfer->next;
	if (!queue->first)
		queue->last = &queue->first;
	return transfer;
}

reel_transfer *reel_transfer_queue_take(struct reel_transfer_queue *queue)
{
	reel_transfer *transfer;

	pthread_mutex_lock(&queue->lock);
	while (!queue->first && !queue->shut)
		pthread_cond_wait(&queue->work, &queue->lock);
	transfer = take_first(queue);
	pthread_mutex_unlock(&queue->lock);
	return transfer;
}

reel_transfer *reel_transfer_queue_try(struct reel_transfer_queue *queue, bool *shut)
{
	reel_transfer *transfer;

	pthread_mutex_lock(&queue->lock);
	transfer = take_first(queue);
	*shut = queue->shut;
	pthread_mutex_unlock(&queue->lock);
	return transfer;
}

void reel_transfer_queue_complete(struct reel_transfer_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	REEL_ASSERT(queue->under_way > 0);
	if (!--queue->under_way)
		pthread_cond_broadcast(&queue->idle);
	pthread_mutex_unlock(&queue->lock);
}

int reel_transfer_queue_wait(struct reel_transfer_queue *queue, int64_t timeout_ns)
{
	REEL_UNCANCELLED;
	struct timespec end = reel_clock_after(timeout_ns > 0 ? timeout_ns : 0);
	int error = 0;

	pthread_mutex_lock(&queue->lock);
	while (queue->under_way && !error)
		error = timeout_ns < 0 ? pthread_cond_wait(&queue->idle, &queue->lock) :
			pthread_cond_timedwait(&queue->idle, &queue->lock, &end);
	error = queue->under_way ? -ETIMEDOUT : 0;
	pthread_mutex_unlock(&queue->lock);
	return error;
}

void reel_transfer_queue_shut(struct reel_transfer_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->shut = true;
	pthread_cond_broadcast(&queue->work);
	pthread_mutex_unlock(&queue->lock);
}
