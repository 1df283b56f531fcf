/* SPDX-License-Identifier: MIT */
/*
 * One way between the host and the device: a stream, requests that may be under way in
 * it, and a thread that completes them. A transfer waits in the queue for a request:
 *
 *	waits in `queue`                         whoever adds it
 *	has a request: its copy and its event
 *	  are in the stream                      dispatch(), on any thread
 *	its event has come                       the link's thread
 *	complete                                 the link's thread
 *
 * The thread sleeps in the driver until the first request's event comes. A host function
 * in the stream would do without it, but is not called at all when the device fails, holds
 * up the copies behind it, and may not start a transfer anew, as a layer above may.
 *
 * A request's frame, pinned memory of a slot's size, serves data that is not pinned. It
 * goes to the next transfer only when the event of the one before has come and, on the way
 * to the host, its data has been copied out.
 */
#ifndef REEL_GPU_LINK_H
#define REEL_GPU_LINK_H

#include <pthread.h>

#include <reel/gpu.h>

#include "gpu/driver/context.h"
#include "store/transfer-queue.h"

#define REEL_GPU_MAX_DEPTH 64

struct reel_gpu_request {
	struct reel_gpu_request *next;
	reel_transfer *transfer;
	reel_cu_address address;
	reel_cu_event event;
	char *frame;
	bool uses_frame;
	bool has_event;          /* else the whole stream is waited for */
	reel_cu_result refused;  /* the copy was not started */
};

struct reel_gpu_link {
	struct reel_gpu_store *store;
	bool to_device;
	reel_cu_stream stream;
	pthread_t thread;
	struct reel_transfer_queue queue;

	/* Guards what follows. */
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct reel_gpu_request *unused;
	struct reel_gpu_request *started, **last; /* in the order of the stream, or nearly */
	bool ends;

	unsigned depth;
	struct reel_gpu_request request[REEL_GPU_MAX_DEPTH];
};

/*
 * Within the context. `frames`: depth times slot_bytes of pinned memory. 0, or the error
 * of reel_store_gpu_open(), whose text it leaves.
 */
int reel_gpu_link_open(struct reel_gpu_link *link, struct reel_gpu_store *store, bool to_device,
		       char *frames);
/* Ends the thread; then frees what the driver has. Within the context. */
void reel_gpu_link_close(struct reel_gpu_link *link);

/* Any thread. The transfer's place is known, and valid. */
void reel_gpu_link_add(struct reel_gpu_link *link, reel_transfer *transfer);

#endif
