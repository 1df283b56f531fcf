/* SPDX-License-Identifier: MIT */
/*
 * One transfer between memory and a slot, by one or more reads or writes. The thread of the store
 * that took the transfer calls these functions. A put has its slot from reel_file_request_begin()
 * on; reel_file_request_end() keeps it, gives it back or retires it.
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "file-request.h"
#include "os/assert.h"

/* Failures that may go away, such as -EAGAIN, before the transfer fails. */
#define MAX_FAILURES 100

/* Sets the pieces to the bytes that lie in the part. */
static void enter_part(struct reel_file *file, struct reel_file_request *request)
{
	struct iovec *header = &request->pieces[0], *data = &request->pieces[1];
	uint64_t room = request->part.units * file->slots.unit_bytes - header->iov_len;

	request->offset = request->part.unit * file->slots.unit_bytes;
	REEL_ASSERT(room <= request->part.units * file->slots.unit_bytes);
	data->iov_len = request->rest < room ? request->rest : (size_t)room;
	request->rest -= data->iov_len;
}

static int choose_slot(struct reel_file *file, struct reel_file_request *request)
{
	uint64_t bytes = reel_file_bytes_of(file, request->transfer->bytes);
	int error;

	if (!request->put)
		return reel_file_slots_find(&file->slots, request->slot, bytes, &request->part);
	error = reel_file_slots_take(&file->slots, bytes, &request->part);
	if (!error)
		request->slot = request->part.unit;
	return error;
}

int reel_file_request_begin(struct reel_file *file, struct reel_file_request *request,
			    reel_transfer *transfer)
{
	int error;

	request->transfer = transfer;
	request->failures = 0;
	request->slot = transfer->extent.location;
	request->put = request->slot == REEL_FILE_NOWHERE;
	error = choose_slot(file, request);
	if (error)
		return error;
	if (request->put)
		memcpy(request->header, transfer->header, REEL_HEADER_BYTES);
	request->pieces[0] = (struct iovec){request->header, file->header_bytes};
	request->pieces[1] = (struct iovec){transfer->data, 0};
	request->rest = transfer->bytes;
	enter_part(file, request);
	REEL_ASSERT(request->offset % file->header_bytes == 0);
	return 0;
}

static void skip(struct reel_file_request *request, size_t bytes)
{
	request->offset += bytes;
	for (int i = 0; i < 2; i++) {
		struct iovec *piece = &request->pieces[i];
		size_t part = bytes < piece->iov_len ? bytes : piece->iov_len;

		piece->iov_base = (char *)piece->iov_base + part;
		piece->iov_len -= part;
		bytes -= part;
	}
	REEL_ASSERT(!bytes);
}

/* Goes on to the next part of the slot. A get of more than was put is a mistake of the caller. */
static int next_part(struct reel_file *file, struct reel_file_request *request)
{
	REEL_ASSERT(!request->pieces[0].iov_len && !request->pieces[1].iov_len);
	if (!request->rest)
		return 0;
	if (!request->part.next)
		return -EINVAL;
	request->part = *request->part.next;
	enter_part(file, request);
	return REEL_FILE_GO_ON;
}

/*
 * A result of 0 is an error: the file ends before the slot, or nothing was written for no known
 * reason.
 */
int reel_file_request_advance(struct reel_file *file, struct reel_file_request *request,
			      ssize_t result)
{
	size_t left = request->pieces[0].iov_len + request->pieces[1].iov_len;
	size_t moved = result > 0 ? (size_t)result : 0;

	REEL_ASSERT(request->failures < MAX_FAILURES);
	if (result < 0 && result != -EINTR && result != -EAGAIN)
		return (int)result;
	if (result == 0 || moved > left)
		return -EIO;
	if (moved == left) {
		skip(request, moved);
		return next_part(file, request);
	}
	/* The next read or write also has to start at a multiple of the alignment. */
	moved -= moved % file->align;
	if (!moved && ++request->failures == MAX_FAILURES)
		return result < 0 ? (int)result : -EIO;
	skip(request, moved);
	return REEL_FILE_GO_ON;
}

/*
 * Returns true if the error is one of the slot. No room, no memory or a wrong request would hit any
 * slot.
 */
static bool is_of_the_slot(int error)
{
	switch (error) {
	case -EBADF:
	case -ENOSPC:
	case -EDQUOT:
	case -EFBIG:
	case -ENOMEM:
	case -EINTR:
	case -EAGAIN:
	case -EINVAL:
	case -EFAULT:
		return false;
	default:
		return true;
	}
}

/*
 * Retires a slot that the disk refused, since the lowest free slot is used next. Disks have many
 * errors for that besides -EIO: -ENODATA, -ETIMEDOUT and -EILSEQ among them.
 */
static void give_up(struct reel_file *file, const struct reel_file_request *request, int error)
{
	uint64_t bytes = reel_file_bytes_of(file, request->transfer->bytes);

	REEL_ASSERT(request->put && error);
	if (is_of_the_slot(error))
		reel_file_slots_retire(&file->slots, request->slot, bytes);
	else
		reel_file_slots_give(&file->slots, request->slot, bytes);
}

void reel_file_request_end(struct reel_file *file, struct reel_file_request *request, int error)
{
	reel_transfer *transfer = request->transfer;

	if (!request->put && !error)
		memcpy(transfer->header, request->header, REEL_HEADER_BYTES);
	if (request->put && !error)
		transfer->extent.location = request->slot;
	if (request->put && error && request->slot != REEL_FILE_NOWHERE)
		give_up(file, request, error);
	reel_transfer_complete(transfer, error);
	reel_transfer_queue_complete(&file->queue);
}
