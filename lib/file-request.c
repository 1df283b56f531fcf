/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "file-request.h"
#include "os.h"

/* A failure that may go away is one that stays, when it has come so often. */
#define MOST_FAILURES 100

struct reel_file_request *reel_file_requests_open(struct reel_file *file, unsigned count)
{
	struct reel_file_request *requests = calloc(count, sizeof *requests);
	char *headers;

	if (!requests)
		return NULL;
	headers = reel_os_map(count * file->header_bytes, file->header_bytes);
	if (!headers) {
		free(requests);
		return NULL;
	}
	for (unsigned i = 0; i < count; i++)
		requests[i].header = headers + i * file->header_bytes;
	return requests;
}

void reel_file_requests_close(struct reel_file *file, struct reel_file_request *requests,
			      unsigned count)
{
	reel_os_unmap(requests->header, count * file->header_bytes);
	free(requests);
}

int reel_file_request_begin(struct reel_file *file, struct reel_file_request *request,
			    reel_transfer *transfer)
{
	int error;

	request->transfer = transfer;
	request->failures = 0;
	request->slot = transfer->place.location;
	request->put = request->slot == REEL_FILE_NOWHERE;
	if (request->put) {
		error = reel_file_slots_take(&file->slots, &request->slot);
		if (error) {
			request->slot = REEL_FILE_NOWHERE;
			return error;
		}
		memcpy(request->header, transfer->header, REEL_HEADER_BYTES);
	}
	request->offset = request->slot * file->slots.slot_bytes;
	request->pieces[0] = (struct iovec){request->header, file->header_bytes};
	request->pieces[1] = (struct iovec){transfer->data, transfer->bytes};
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
}

/* Nothing was read: the file ends before the slot. Nothing was written: no reason is known. */
int reel_file_request_advance(struct reel_file *file, struct reel_file_request *request,
			      ssize_t result)
{
	size_t left = request->pieces[0].iov_len + request->pieces[1].iov_len;
	size_t moved = result > 0 ? (size_t)result : 0;

	if (result < 0 && result != -EINTR && result != -EAGAIN)
		return (int)result;
	if (result == 0 || moved > left)
		return -EIO;
	if (moved == left)
		return 0;
	/* The next read or write starts at a multiple of the alignment, too. */
	moved -= moved % file->align;
	if (!moved && ++request->failures == MOST_FAILURES)
		return result < 0 ? (int)result : -EIO;
	skip(request, moved);
	return REEL_FILE_GO_ON;
}

/* No room, no memory, or what was asked: another slot would have met the same. */
static bool is_of_the_slot(int error)
{
	switch (error) {
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
 * The lowest free slot is used next: it shall not be one that the disk has just refused. It has
 * many errors for that besides -EIO: -ENODATA, -ETIMEDOUT and -EILSEQ among them.
 */
static void give_up(struct reel_file *file, uint64_t slot, int error)
{
	if (is_of_the_slot(error))
		reel_file_slots_retire(&file->slots, slot);
	else
		reel_file_slots_give(&file->slots, slot);
}

void reel_file_request_end(struct reel_file *file, struct reel_file_request *request, int error)
{
	reel_transfer *transfer = request->transfer;

	if (!request->put && !error)
		memcpy(transfer->header, request->header, REEL_HEADER_BYTES);
	if (request->put && !error)
		transfer->place.location = request->slot;
	if (request->put && error && request->slot != REEL_FILE_NOWHERE)
		give_up(file, request->slot, error);
	reel_transfer_complete(transfer, error);
	reel_file_queue_complete(&file->queue);
}
