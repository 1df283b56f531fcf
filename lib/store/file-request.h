/* SPDX-License-Identifier: MIT */
/* One transfer between memory and a slot, by one or more reads or writes. */
#ifndef REEL_LIB_FILE_REQUEST_H
#define REEL_LIB_FILE_REQUEST_H

#include <sys/types.h>
#include <sys/uio.h>

#include "store-file.h"

/* Returned by reel_file_request_advance(): read or write the rest. */
#define REEL_FILE_GO_ON 1

struct reel_file_request {
	void *header;               /* the request's own; file->header_bytes, which aligns it */
	reel_transfer *transfer;
	bool put;
	uint64_t slot;
	struct reel_file_part part; /* part of the slot that is read or written now */
	uint64_t offset;            /* in the file, of the bytes that are left in the part */
	struct iovec pieces[2];     /* bytes left in the part: of the header's block, of the data */
	size_t rest;                /* number of bytes of data in the parts that follow */
	unsigned failures;          /* number of failures so far that may go away */
};

/* Begins a transfer; a put takes its slot. Returns 0, or -errno if the transfer has failed. */
int reel_file_request_begin(struct reel_file *file, struct reel_file_request *request,
			    reel_transfer *transfer);

/*
 * Notes that a read or write of the pieces returned `result`, bytes or -errno. Returns 0 if the
 * transfer is done, -errno if it has failed, or REEL_FILE_GO_ON.
 */
int reel_file_request_advance(struct reel_file *file, struct reel_file_request *request,
			      ssize_t result);

/* Completes the transfer. Called after each reel_file_request_begin(), also if that failed. */
void reel_file_request_end(struct reel_file *file, struct reel_file_request *request, int error);

#endif
