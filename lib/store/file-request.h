/* SPDX-License-Identifier: MIT */
/* One transfer between memory and a slot, by as many reads or writes as it takes. */
#ifndef REEL_LIB_FILE_REQUEST_H
#define REEL_LIB_FILE_REQUEST_H

#include <sys/types.h>
#include <sys/uio.h>

#include "store-file.h"

/* Returned by reel_file_request_advance(): read or write what is left. */
#define REEL_FILE_GO_ON 1

struct reel_file_request {
	void *header;               /* file->header_bytes, aligned so; the request's own */
	reel_transfer *transfer;
	bool put;
	uint64_t slot;
	struct reel_file_part part; /* of the slot, the one that is read or written */
	uint64_t offset;            /* in the file, of what is left in the part */
	struct iovec pieces[2];     /* what is left there: of the header's block, and of the data */
	size_t rest;                /* bytes of data that are in the parts that follow */
	unsigned failures;          /* so far, that may go away */
};

/* So many requests, of which none has begun. NULL: no memory. */
struct reel_file_request *reel_file_requests_open(struct reel_file *file, unsigned count);
void reel_file_requests_close(struct reel_file *file, struct reel_file_request *requests,
			      unsigned count);

/* A put takes its slot here. 0, or -errno: the transfer has failed. */
int reel_file_request_begin(struct reel_file *file, struct reel_file_request *request,
			    reel_transfer *transfer);

/*
 * A read or write of what was left returned `result`, bytes or -errno. 0: the
 * transfer is done, -errno: it has failed, or REEL_FILE_GO_ON.
 */
int reel_file_request_advance(struct reel_file *file, struct reel_file_request *request,
			      ssize_t result);

/* After a request that was begun, whether or not that failed: completes the transfer. */
void reel_file_request_end(struct reel_file *file, struct reel_file_request *request, int error);

#endif
