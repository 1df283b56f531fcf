/* SPDX-License-Identifier: MIT */
/*
 * A link is one direction between the host and the device: a stream, a number of requests, and a
 * thread that completes transfers. A transfer needs a request. Its states, and the thread that
 * brings it there:
 *
 *	waits in `queue`                         the thread that adds the transfer
 *	has a request; its copy and its event
 *	  are in the stream                      dispatch(), on any thread
 *	its event has come                       the link's thread
 *	complete                                 the link's thread
 *
 * The link's thread sleeps in the driver until the event of the first request comes. A host
 * function in the stream would need no thread. But the driver does not call it when the device
 * fails, it holds up the copies behind it, and it may not start a transfer, which a layer may do.
 *
 * Each request has a frame: pinned memory of a slot's size, for data that is not pinned. The frame
 * is used for the next transfer after the event of the last one has come and, on the way to the
 * host, after the data has been copied out.
 */
#ifndef REEL_GPU_LINK_H
#define REEL_GPU_LINK_H

#include <pthread.h>

#include <reel/gpu.h>

#include "device-memory.h"
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
	bool has_event;         /* false: the thread waits for the whole stream */
	reel_cu_result refused; /* why the copy was not started; 0: it was */
};

struct reel_gpu_link {
	struct reel_gpu_memory *memory;
	bool to_device;
	reel_cu_stream stream;
	pthread_t thread;
	struct reel_transfer_queue queue;

	/* Guards the members below up to `ends`. */
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct reel_gpu_request *unused;
	/* In the order of the stream, except where two threads started requests at once. */
	struct reel_gpu_request *started, **last;
	bool ends;

	unsigned depth;
	struct reel_gpu_request request[REEL_GPU_MAX_DEPTH];
};

/*
 * Requires the context. `frames` is pinned memory of depth times slot_bytes. Returns 0 or an error
 * of reel_store_gpu_open(), and leaves its text.
 */
int reel_gpu_link_open(struct reel_gpu_link *link, struct reel_gpu_memory *memory, bool to_device,
		       char *frames);
/* Ends the thread and then destroys events and stream. Requires the context. */
void reel_gpu_link_close(struct reel_gpu_link *link);

/* Adds a transfer whose extent is a slot of the store. Any thread. */
void reel_gpu_link_add(struct reel_gpu_link *link, reel_transfer *transfer);

#endif
