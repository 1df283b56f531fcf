/* SPDX-License-Identifier: MIT */
/* Threads that take the transfers of one queue. The layer that owns them starts and ends them. */
#include "config.h"

#include "transfer-threads.h"

#include "os/cancel.h"
#include "os/os-thread.h"

static void *take_and_work(void *argument)
{
	struct reel_transfer_threads *threads = argument;
	reel_transfer *transfer;

	while ((transfer = reel_transfer_queue_take(&threads->queue))) {
		threads->work(threads->store, transfer);
		reel_transfer_queue_complete(&threads->queue);
	}
	return NULL;
}

int reel_transfer_threads_start(struct reel_transfer_threads *threads, reel_store *store,
				void (*work)(reel_store *store, reel_transfer *transfer),
				const char *name)
{
	REEL_UNCANCELLED;
	unsigned wanted = reel_os_processors();
	int error = reel_transfer_queue_open(&threads->queue);

	threads->store = store;
	threads->work = work;
	threads->count = 0;
	if (wanted > REEL_MAX_TRANSFER_THREADS)
		wanted = REEL_MAX_TRANSFER_THREADS;
	while (!error && threads->count < wanted) {
		error = reel_os_thread_start(&threads->thread[threads->count], take_and_work,
					     threads, name);
		threads->count += !error;
	}
	if (threads->count)
		return 0;
	reel_transfer_queue_close(&threads->queue);
	return error;
}

void reel_transfer_threads_end(struct reel_transfer_threads *threads)
{
	REEL_UNCANCELLED;

	reel_transfer_queue_shut(&threads->queue);
	while (threads->count)
		pthread_join(threads->thread[--threads->count], NULL);
	reel_transfer_queue_close(&threads->queue);
}
