/* SPDX-License-Identifier: MIT */
/* The file of a trace: a ring of blocks of lines. */
#ifndef REEL_LIB_RING_H
#define REEL_LIB_RING_H

#include <stddef.h>
#include <stdint.h>

/* Length of the header of the file. */
#define REEL_RING_HEADER 192
/* Length of its tail, which closes the list. */
#define REEL_RING_TAIL 256
/* A ring has room for many threads, each of which has a block. */
#define REEL_RING_MIN_BYTES ((size_t)1 << 20)

/* Larger than each line that reel_ring_write() gets. */
#define REEL_TRACE_LINE 640

/*
 * Writes the first lines of a block, for the thread that takes it: at most half a block.
 * `dropped` is the number of events so far whose blocks were taken again. Returns their length.
 */
typedef size_t reel_ring_heading(char *text, uint64_t dropped);

/*
 * Appends one line to the block of this thread, or to the next block. It counts as `events` events
 * if its block is taken again. A ring that has ended drops the line. Returns NULL, or why no more
 * lines can be written, from now on. Any thread, without a lock.
 */
const char *reel_ring_write(const char *line, size_t length, unsigned events,
			    reel_ring_heading *heading);

/*
 * Opens a ring of at most `bytes` in a file that reel_output_open() opens. `header` is its
 * beginning: REEL_RING_HEADER bytes, and `tail` its end while the process runs: REEL_RING_TAIL
 * bytes. One thread, which must not have the ring open. Returns 0; an error of
 * reel_output_open(); -ERANGE: fewer bytes than REEL_RING_MIN_BYTES; -ENOMEM; or -ENOSPC: the
 * disk is full.
 */
int reel_ring_open(const char *path, size_t bytes, const char *magic, const char *header,
		   const char *tail);
/* In the child of a fork, which has one thread: gives the ring up, which is its parent's. */
void reel_ring_leave(void);
/* No block is taken any more. Returns the number of events that were dropped until now. */
uint64_t reel_ring_end(void);
/* After reel_ring_end(): the file ends with another tail. */
void reel_ring_finish(const char *tail);

#endif
