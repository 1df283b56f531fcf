/* SPDX-License-Identifier: MIT */
/*
 * Starts and completes the copies of a link. Any thread starts copies; the link's own thread
 * completes them. `lock` guards the lists of requests and is not held while the driver is called.
 * Each request is in one place: in `unused`, with a thread that starts it, in `started`, or with
 * the link's thread.
 */
#include "config.h"

#include "copy-stream.h"

#include <errno.h>
#include <string.h>

#include "os/assert.h"
#include "os/os-thread.h"

/* Number of times that a copy is tried when the driver refuses it. */
#define ATTEMPTS 2

static const struct reel_driver *driver_of(const struct reel_gpu_link *link)
{
	return link->memory->context.driver;
}

/* ---- Starting ---- */

static reel_cu_result copy(const struct reel_gpu_link *link, const struct reel_gpu_request *request)
{
	const reel_transfer *transfer = request->transfer;
	char *memory = request->uses_frame ? request->frame : transfer->data;

	if (link->to_device)
		return driver_of(link)->cuMemcpyHtoDAsync(request->address, memory, transfer->bytes,
							  link->stream);
	return driver_of(link)->cuMemcpyDtoHAsync(memory, request->address, transfer->bytes,
						  link->stream);
}

static reel_cu_result enqueue(struct reel_gpu_link *link, struct reel_gpu_request *request)
{
	reel_cu_result result = reel_gpu_enter(&link->memory->context);

	if (result)
		return result;
	result = copy(link, request);
	if (!result)
		request->has_event = !driver_of(link)->cuEventRecord(request->event, link->stream);
	reel_gpu_leave(&link->memory->context);
	return result;
}

static void start(struct reel_gpu_link *link, struct reel_gpu_request *request)
{
	const reel_transfer *transfer = request->transfer;

	REEL_ASSERT(transfer->bytes <= link->memory->slot_bytes);
	request->address =
		link->memory->arena + transfer->extent.location * link->memory->slot_bytes;
	request->uses_frame =
		!reel_pinned_has(&link->memory->pinned, transfer->data, transfer->bytes);
	if (request->uses_frame && link->to_device)
		memcpy(request->frame, transfer->data, transfer->bytes);
	request->has_event = false;
	request->refused = REEL_CU_UNKNOWN;
	for (unsigned i = 0; i < ATTEMPTS && request->refused; i++)
		request->refused = enqueue(link, request);
}

/* Takes a request for the first transfer that waits. Returns NULL if either is missing. */
static struct reel_gpu_request *match(struct reel_gpu_link *link)
{
	struct reel_gpu_request *request;
	bool shut;

	pthread_mutex_lock(&link->lock);
	request = link->unused;
	if (request) {
		request->transfer = reel_transfer_queue_try(&link->queue, &shut);
		if (request->transfer)
			link->unused = request->next;
		else
			request = NULL;
	}
	pthread_mutex_unlock(&link->lock);
	return request;
}

/*
 * Every thread that adds a transfer or gives back a request calls this, so no transfer waits while
 * a request is unused.
 */
static void dispatch(struct reel_gpu_link *link)
{
	struct reel_gpu_request *request;

	while ((request = match(link))) {
		start(link, request);
		request->next = NULL;
		pthread_mutex_lock(&link->lock);
		*link->last = request;
		link->last = &request->next;
		pthread_cond_signal(&link->work);
		pthread_mutex_unlock(&link->lock);
	}
}

void reel_gpu_link_add(struct reel_gpu_link *link, reel_transfer *transfer)
{
	reel_transfer_queue_add(&link->queue, transfer);
	dispatch(link);
}

/* ---- Completing ---- */

/* Returns NULL after the link was closed and all started requests were taken. */
static struct reel_gpu_request *await_started(struct reel_gpu_link *link)
{
	struct reel_gpu_request *request;

	pthread_mutex_lock(&link->lock);
	while (!link->started && !link->ends)
		pthread_cond_wait(&link->work, &link->lock);
	request = link->started;
	if (request) {
		link->started = request->next;
		if (!link->started)
			link->last = &link->started;
	}
	pthread_mutex_unlock(&link->lock);
	return request;
}

/*
 * Waits until the copy has ended or failed. If there is no event, or waiting for it fails, waits
 * for the whole stream. If that also fails, the device is lost and copies nothing any more.
 */
static int await_copy(struct reel_gpu_link *link, const struct reel_gpu_request *request)
{
	const struct reel_driver *driver = driver_of(link);
	reel_cu_result rest;

	REEL_ASSERT(!request->has_event || !request->refused);
	if (request->has_event && !driver->cuEventSynchronize(request->event))
		return 0;
	rest = driver->cuStreamSynchronize(link->stream);
	return reel_gpu_memory_judge(link->memory, request->refused ? request->refused : rest,
				     !rest);
}

/* Starts the next transfer with this request before the layers above work on this transfer. */
static void finish(struct reel_gpu_link *link, struct reel_gpu_request *request, int error)
{
	reel_transfer *transfer = request->transfer;

	if (!error && request->uses_frame && !link->to_device)
		memcpy(transfer->data, request->frame, transfer->bytes);
	reel_gpu_memory_note(link->memory, transfer, link->to_device, request->uses_frame, error);
	REEL_ASSERT(request >= link->request && request < link->request + link->depth);
	pthread_mutex_lock(&link->lock);
	request->next = link->unused;
	link->unused = request;
	pthread_mutex_unlock(&link->lock);
	dispatch(link);
	reel_transfer_complete(transfer, error);
	reel_transfer_queue_complete(&link->queue);
}

/* Tries to enter the context for each request, since without it no event can be waited for. */
static void *complete(void *argument)
{
	struct reel_gpu_link *link = argument;
	struct reel_gpu_request *request;
	bool entered = !reel_gpu_enter(&link->memory->context);

	while ((request = await_started(link))) {
		if (!entered)
			entered = !reel_gpu_enter(&link->memory->context);
		finish(link, request, await_copy(link, request));
	}
	if (entered)
		reel_gpu_leave(&link->memory->context);
	return NULL;
}

/* ---- Beginning and end ---- */

static void close_stream(struct reel_gpu_link *link)
{
	while (link->depth)
		driver_of(link)->cuEventDestroy(link->request[--link->depth].event);
	driver_of(link)->cuStreamDestroy(link->stream);
}

static reel_cu_result open_events(struct reel_gpu_link *link, char *frames)
{
	const struct reel_gpu_memory *memory = link->memory;

	for (unsigned i = memory->depth; i-- > 0;) {
		struct reel_gpu_request *request = &link->request[link->depth];
		reel_cu_result result = driver_of(link)->cuEventCreate(
			&request->event,
			REEL_CU_EVENT_BLOCKING_SYNC | REEL_CU_EVENT_DISABLE_TIMING);

		if (result)
			return result;
		request->frame = frames + link->depth++ * memory->slot_bytes;
		request->next = link->unused;
		link->unused = request;
	}
	return 0;
}

static int open_stream(struct reel_gpu_link *link, char *frames)
{
	const struct reel_driver *driver = driver_of(link);
	reel_cu_result result = driver->cuStreamCreate(&link->stream, REEL_CU_STREAM_NON_BLOCKING);

	if (result)
		return reel_gpu_refuse(driver, result, -ENODEV, "no stream on the GPU");
	result = open_events(link, frames);
	if (!result)
		return 0;
	close_stream(link);
	return reel_gpu_refuse(driver, result, -ENODEV, "no event on the GPU");
}

static int start_thread(struct reel_gpu_link *link)
{
	int error = reel_transfer_queue_open(&link->queue);

	if (!error) {
		error = reel_os_thread_start(&link->thread, complete, link,
					     link->to_device ? "reel-gpu-out" : "reel-gpu-in");
		if (error)
			reel_transfer_queue_close(&link->queue);
	}
	return error ? reel_fail(-ENOMEM, "no memory, or no thread, for a store on the GPU") : 0;
}

int reel_gpu_link_open(struct reel_gpu_link *link, struct reel_gpu_memory *memory, bool to_device,
		       char *frames)
{
	int error;

	*link = (struct reel_gpu_link){.memory = memory, .to_device = to_device};
	link->last = &link->started;
	error = open_stream(link, frames);
	if (error)
		return error;
	pthread_mutex_init(&link->lock, NULL);
	pthread_cond_init(&link->work, NULL);
	error = start_thread(link);
	if (error) {
		close_stream(link);
		pthread_mutex_destroy(&link->lock);
		pthread_cond_destroy(&link->work);
	}
	return error;
}

void reel_gpu_link_close(struct reel_gpu_link *link)
{
	pthread_mutex_lock(&link->lock);
	link->ends = true;
	pthread_cond_signal(&link->work);
	pthread_mutex_unlock(&link->lock);
	pthread_join(link->thread, NULL);
	REEL_ASSERT(!link->started);
	close_stream(link);
	reel_transfer_queue_close(&link->queue);
	pthread_mutex_destroy(&link->lock);
	pthread_cond_destroy(&link->work);
}
