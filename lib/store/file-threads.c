/* SPDX-License-Identifier: MIT */
/*
 * The threads of a file store, each with one transfer at a time. Through the page cache only one
 * put at a time is written, and it ends when its pages are on the disk.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "file-request.h"
#include "os/assert.h"
#include "os/os.h"
#include "os/os-file.h"
#include "os/os-thread.h"

struct worker {
	struct reel_file *file;
	struct reel_file_request request;
	pthread_t thread;
};

struct reel_file_workers {
	unsigned count; /* number of threads that were started */
	char *headers;  /* memory of the requests' headers */
	size_t headers_bytes;
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
 * would get a later error. A put that failed also waits for its pages, so that their errors are not
 * taken for errors of the next put.
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
	struct reel_file_request *request = &worker->request;
	reel_transfer *transfer;

	while ((transfer = reel_transfer_queue_take(&file->queue))) {
		int error = reel_file_request_begin(file, request, transfer);

		if (!error)
			error = file->direct ? move(file, request) : move_buffered(file, request);
		reel_file_request_end(file, request, error);
	}
	return NULL;
}

/* Starts the threads. Fewer threads than were asked for are enough. */
static int start_threads(struct reel_file *file, unsigned count)
{
	struct reel_file_workers *workers = file->workers;
	int error = 0;

	REEL_ASSERT(count > 0);
	while (!error && workers->count < count) {
		struct worker *worker = &workers->worker[workers->count];

		worker->file = file;
		worker->request.header = workers->headers + workers->count * file->header_bytes;
		error = reel_os_thread_start(&worker->thread, work, worker, "reel-file");
		workers->count += !error;
	}
	return workers->count ? 0 : error;
}

int reel_file_threads_start(struct reel_file *file, unsigned count)
{
	struct reel_file_workers *workers =
		calloc(1, sizeof *workers + count * sizeof *workers->worker);
	int error;

	if (!workers)
		return -ENOMEM;
	file->workers = workers;
	workers->headers_bytes = count * file->header_bytes;
	workers->headers = reel_os_map(workers->headers_bytes, file->header_bytes);
	error = workers->headers ? start_threads(file, count) : -ENOMEM;
	if (error)
		reel_file_threads_forget(file);
	return error;
}

void reel_file_threads_join(struct reel_file *file)
{
	for (unsigned i = 0; i < file->workers->count; i++)
		pthread_join(file->workers->worker[i].thread, NULL);
}

void reel_file_threads_forget(struct reel_file *file)
{
	if (file->workers->headers)
		reel_os_unmap(file->workers->headers, file->workers->headers_bytes);
	free(file->workers);
}
