/* SPDX-License-Identifier: MIT */
/*
 * Engine: io_uring. One thread starts all reads and writes and takes their results, so that no
 * other thread touches the ring, and a signal of a write (SIGXFSZ) is not raised in a thread of the
 * program. A request is idle or has one entry in the ring.
 */
#include "config.h"

#include <errno.h>

#include "file-request.h"

#if HAVE_LIBURING
#include <liburing.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "os/assert.h"
#include "os/cancel.h"
#include "os/os-thread.h"

/*
 * The number of the file among the files of the ring. The ring has a reference of its own to the
 * file, so it reads and writes this file also if the program has closed the descriptor.
 */
#define FILE_OF_RING 0

struct ring {
	struct reel_file *file;
	struct io_uring uring;
	pthread_t thread;
	int wakeups; /* an eventfd, written after the queue got a transfer or was shut */
	struct reel_os_file_identity wakeups_identity, ring_identity;
	bool watched;
	bool shut;
	unsigned idle_count;
	struct reel_file_request *idle[];
};

/* The ring has an entry for each request and one for wakeups, so an entry is always free. */
static void prepare(struct ring *ring, struct reel_file_request *request)
{
	struct io_uring_sqe *entry = io_uring_get_sqe(&ring->uring);

	if (request->put)
		io_uring_prep_writev(entry, FILE_OF_RING, request->pieces, 2, request->offset);
	else
		io_uring_prep_readv(entry, FILE_OF_RING, request->pieces, 2, request->offset);
	io_uring_sqe_set_flags(entry, IOSQE_FIXED_FILE);
	io_uring_sqe_set_data(entry, request);
}

/* False: the program has closed the descriptor, and may use it for another file. */
static bool has_wakeups(const struct ring *ring)
{
	return reel_os_file_is(ring->wakeups, &ring->wakeups_identity);
}

/* A poll of a closed descriptor would end at once, and the thread would never sleep. */
static void watch_wakeups(struct ring *ring)
{
	struct io_uring_sqe *entry;

	if (ring->watched || !has_wakeups(ring))
		return;
	entry = io_uring_get_sqe(&ring->uring);
	io_uring_prep_poll_add(entry, ring->wakeups, POLLIN);
	io_uring_sqe_set_data(entry, NULL);
	ring->watched = true;
}

static void end(struct ring *ring, struct reel_file_request *request, int error)
{
	REEL_ASSERT(ring->idle_count < ring->file->requests_count);
	reel_file_request_end(ring->file, request, error);
	ring->idle[ring->idle_count++] = request;
}

static void begin(struct ring *ring, reel_transfer *transfer)
{
	struct reel_file_request *request = ring->idle[--ring->idle_count];
	int error = reel_file_request_begin(ring->file, request, transfer);

	REEL_ASSERT(ring->idle_count < ring->file->requests_count);
	if (error)
		end(ring, request, error);
	else
		prepare(ring, request);
}

static void begin_waiting(struct ring *ring)
{
	reel_transfer *transfer;

	while (ring->idle_count &&
	       (transfer = reel_transfer_queue_try(&ring->file->queue, &ring->shut)))
		begin(ring, transfer);
}

static void take_wakeups(struct ring *ring)
{
	uint64_t count;

	ring->watched = false;
	while (has_wakeups(ring) && read(ring->wakeups, &count, sizeof count) < 0 && errno == EINTR)
		;
}

static void take_results(struct ring *ring)
{
	struct io_uring_cqe *result;

	while (!io_uring_peek_cqe(&ring->uring, &result)) {
		struct reel_file_request *request = io_uring_cqe_get_data(result);
		int bytes_or_error = result->res, error;

		io_uring_cqe_seen(&ring->uring, result);
		if (!request) {
			take_wakeups(ring);
			continue;
		}
		error = reel_file_request_advance(ring->file, request, bytes_or_error);
		if (error == REEL_FILE_GO_ON)
			prepare(ring, request);
		else
			end(ring, request, error);
	}
}

/*
 * The kernel may refuse entries for want of memory: they stay in the ring, and are tried again. If
 * the program has closed the descriptor of the wakeups, nobody can wake this thread, so it looks at
 * the queue once a second.
 */
static void submit_and_wait(struct ring *ring)
{
	static const struct timespec moment = {.tv_nsec = 1000000};
	struct __kernel_timespec second = {.tv_sec = 1};
	struct io_uring_cqe *result;
	int error = io_uring_submit_and_wait_timeout(&ring->uring, &result, 1, &second, NULL);

	if (error < 0 && error != -ETIME)
		nanosleep(&moment, NULL);
}

static void *run(void *argument)
{
	struct ring *ring = argument;

	/* The thread then enters the ring without its descriptor, which the program may close. */
	io_uring_register_ring_fd(&ring->uring);
	for (;;) {
		begin_waiting(ring);
		if (ring->shut && ring->idle_count == ring->file->requests_count)
			return NULL;
		watch_wakeups(ring);
		submit_and_wait(ring);
		take_results(ring);
	}
}

static void forget(struct reel_file *file)
{
	struct ring *ring = file->engine_state;

	/* -1: not closed, since the number stands for another file. */
	if (!reel_os_file_is(ring->uring.ring_fd, &ring->ring_identity))
		ring->uring.ring_fd = -1;
	io_uring_queue_exit(&ring->uring);
	reel_os_file_close_if(ring->wakeups, &ring->wakeups_identity);
	free(ring);
}

static int open_wakeups(struct ring *ring)
{
	int wakeups = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (wakeups < 0)
		return -errno;
	ring->wakeups = reel_os_file_raise(wakeups);
	return ring->wakeups < 0 ? ring->wakeups :
	       reel_os_file_identify(ring->wakeups, &ring->wakeups_identity);
}

/* The ring waits with a time only where the kernel does so without an entry. */
static int complete_ring(struct ring *ring)
{
	int high;

	if (!(ring->uring.features & IORING_FEAT_EXT_ARG))
		return -ENOTSUP;
	high = reel_os_file_raise(ring->uring.ring_fd);
	/* After an error it is closed. */
	ring->uring.ring_fd = ring->uring.enter_ring_fd = high < 0 ? -1 : high;
	if (high >= 0)
		high = reel_os_file_identify(high, &ring->ring_identity);
	return high ? high : io_uring_register_files(&ring->uring, &ring->file->descriptor, 1);
}

static int open_ring(struct ring *ring)
{
	int error = open_wakeups(ring);

	if (error)
		return error;
	error = io_uring_queue_init(ring->idle_count + 1, &ring->uring, 0);
	if (!error) {
		error = complete_ring(ring);
		if (error)
			io_uring_queue_exit(&ring->uring);
	}
	if (error)
		close(ring->wakeups);
	return error;
}

static struct ring *make_ring(struct reel_file *file)
{
	struct ring *ring = calloc(1, sizeof *ring + file->requests_count * sizeof *ring->idle);

	if (!ring)
		return NULL;
	ring->file = file;
	ring->idle_count = file->requests_count;
	for (unsigned i = 0; i < ring->idle_count; i++)
		ring->idle[i] = &file->requests[i];
	return ring;
}

static int start(struct reel_file *file)
{
	struct ring *ring = make_ring(file);
	int error = ring ? open_ring(ring) : -ENOMEM;

	if (error) {
		free(ring);
		return error;
	}
	file->engine_state = ring;
	error = reel_os_thread_start(&ring->thread, run, ring, "reel-file");
	if (error)
		forget(file);
	return error;
}

static void wake(struct reel_file *file)
{
	REEL_UNCANCELLED;
	struct ring *ring = file->engine_state;
	uint64_t one = 1;

	while (has_wakeups(ring) && write(ring->wakeups, &one, sizeof one) < 0 && errno == EINTR)
		;
}

static void stop(struct reel_file *file)
{
	struct ring *ring = file->engine_state;

	pthread_join(ring->thread, NULL);
	forget(file);
}

const struct reel_file_engine_verbs reel_file_ring = {
	.name = "io_uring", .start = start, .wake = wake, .stop = stop, .forget = forget,
};
#else
static int start(struct reel_file *file)
{
	(void)file;
	return -ENOTSUP;
}

const struct reel_file_engine_verbs reel_file_ring = {.name = "io_uring", .start = start};
#endif
