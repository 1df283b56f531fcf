/* SPDX-License-Identifier: MIT */
/*
 * Engine: threads, each with one transfer at a time. Through the page cache only one put at a time
 * is written, and it ends when its pages are on the disk.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "file-request.h"
#include "os/assert.h"
#include "os/os-file.h"
#include "os/os-thread.h"

struct worker {
	struct reel_file *file;
	struct reel_file_request *request;
	pthread_t thread;
};

struct workers {
	unsigned count; /* number of threads that were started, each with a request of the file */
	struct worker worker[];
};

/* Never reads or writes a file of the program, which may have closed the descriptor and use it. */
static ssize_t read_or_write(struct reel_file *file, struct reel_file_request *request)
{
	if (!reel_os_file_is(file->descriptor, &file->identity))
		return -EBADF;
	return (request->put ? reel_os_file_write : reel_os_file_read)(
		file->descriptor, request->pieces, 2, request->offset);
}

static int move(struct reel_file *file, struct reel_file_request *request)
{
	int error;

	do
		error = reel_file_request_advance(file, request, read_or_write(file, request));
	while (error == REEL_FILE_GO_ON);
	return error;
}

static int write_back(struct reel_file *file, const struct reel_file_part *part)
{
	uint64_t unit_bytes = file->slots.unit_bytes;
	int error = 0;

	for (; part; part = part->next) {
		int late_error = reel_os_file_write_back(file->descriptor, part->unit * unit_bytes,
							 part->units * unit_bytes);

		error = error ? error : late_error;
	}
	return error;
}

/*
 * Through the page cache a put has succeeded when its pages are on the disk, since no transfer
 * would get a later error. A put that failed waits for its pages, too, so that their errors are
 * not taken for errors of the next put.
 */
static int put_buffered(struct reel_file *file, struct reel_file_request *request,
			const struct reel_file_part *part)
{
	int error, late_error;

	REEL_ASSERT(request->put && !file->direct);
	pthread_mutex_lock(&file->write_back);
	error = move(file, request);
	late_error = write_back(file, part);
	pthread_mutex_unlock(&file->write_back);
	return error ? error : late_error;
}

static int move_buffered(struct reel_file *file, struct reel_file_request *request)
{
	const struct reel_file_part first = request->part;
	uint64_t unit_bytes = file->slots.unit_bytes;
	int error = request->put ? put_buffered(file, request, &first) : move(file, request);

	for (const struct reel_file_part *part = &first; part; part = part->next)
		reel_os_file_forget(file->descriptor, part->unit * unit_bytes,
				    part->units * unit_bytes);
	return error;
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	struct reel_file *file = worker->file;
	reel_transfer *transfer;

	while ((transfer = reel_transfer_queue_take(&file->queue))) {
		int error = reel_file_request_begin(file, worker->request, transfer);

		if (!error)
			error = file->direct ? move(file, worker->request) :
				move_buffered(file, worker->request);
		reel_file_request_end(file, worker->request, error);
	}
	return NULL;
}

/* Starts the threads. Fewer threads than were asked for are enough. */
static int start_threads(struct reel_file *file, struct workers *workers)
{
	int error = 0;

	REEL_ASSERT(file->requests_count > 0);
	while (!error && workers->count < file->requests_count) {
		struct worker *worker = &workers->worker[workers->count];

		worker->file = file;
		worker->request = &file->requests[workers->count];
		error = reel_os_thread_start(&worker->thread, work, worker, "reel-file");
		workers->count += !error;
	}
	return workers->count ? 0 : error;
}

static void forget(struct reel_file *file)
{
	free(file->engine_state);
}

static int start(struct reel_file *file)
{
	struct workers *workers =
		calloc(1, sizeof *workers + file->requests_count * sizeof *workers->worker);
	int error;

	if (!workers)
		return -ENOMEM;
	file->engine_state = workers;
	error = start_threads(file, workers);
	if (error)
		forget(file);
	return error;
}

static void stop(struct reel_file *file)
{
	struct workers *workers = file->engine_state;

	for (unsigned i = 0; i < workers->count; i++)
		pthread_join(workers->worker[i].thread, NULL);
	forget(file);
}

const struct reel_file_engine_verbs reel_file_threads = {
	.name = "threads", .start = start, .stop = stop, .forget = forget,
};
