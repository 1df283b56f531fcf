/* SPDX-License-Identifier: MIT */
/*
 * The file of a trace. It begins with a line that names the process. Blocks follow, each of which
 * one thread takes and fills with lines; spaces fill the rest, which JSON ignores. A thread takes
 * the next block with one atomic addition. When the ring has gone round, the next block is one that
 * was filled long ago: its events are dropped, and counted.
 *
 * The word `owner` of a block says who may write there: which turn took the block, and whether a
 * line is being written at the moment. A thread writes a line only after it has set WRITING in the
 * turn that it knows. So nobody takes a block in which another thread writes, and a thread whose
 * block was taken sees that.
 *
 *	from             to                by
 *	free             turn | WRITING    take(), in the first round
 *	old turn         turn | WRITING    take(), in a later round
 *	turn | WRITING   turn              release()
 *	turn             turn | WRITING    reenter()
 *	free, turn       ENDED             end_block()
 *
 * The system makes the file longer while the first round goes on. If it refuses, because the disk
 * is full, the trace ends there; a write to memory that it has no room for would end the process.
 */
#include "config.h"

#include "ring.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "os/assert.h"
#include "os/cancel.h"
#include "os/clock.h"
#include "os/os-file.h"
#include "os/yield.h"
#include "output.h"

#define BLOCK 8192
#define HEADER REEL_RING_HEADER
#define WRITING 1u
/* How long the end of the process waits for threads that are writing a line. */
#define MAX_WAIT_NS (REEL_SECOND_NS / 2)
/* Turns from this one on come after the end of the trace. */
#define ENDED (UINT64_C(1) << 62)

struct block {
	_Atomic uint64_t owner; /* turn << 1 | WRITING; 0: free */
	/* Number of events in the block. Only the thread that has set WRITING uses it. */
	uint64_t events;
};

static struct {
	int file;
	struct reel_os_file_identity identity;
	char *text; /* of the file */
	struct block *block;
	uint64_t blocks;
	/* Number of turns so far. The first turn is 1, and takes the first block. */
	_Atomic uint64_t turns;
	_Atomic uint64_t dropped;
	uint64_t last; /* turn before the end */
} ring;

/* The block that this thread has taken last. All zero: none. */
static _Thread_local struct {
	uint64_t turn;
	char *at, *end;
} own;

/* ---- The file ---- */

static bool write_at(uint64_t offset, const char *text, size_t bytes)
{
	struct iovec piece = {.iov_base = (char *)(uintptr_t)text, .iov_len = bytes};

	/* Beyond the limit of the process, the system would end the program with SIGXFSZ. */
	return offset + bytes <= reel_os_file_max_bytes() &&
	       reel_os_file_write(ring.file, &piece, 1, offset) == (ssize_t)bytes;
}

/* Makes the file longer by an empty block. Other threads do the same with other blocks. */
static bool extend(uint64_t number, const char **why)
{
	REEL_UNCANCELLED;
	char text[BLOCK];

	memset(text, ' ', sizeof text - 1);
	text[sizeof text - 1] = '\n';
	if (!reel_os_file_is(ring.file, &ring.identity)) {
		*why = "the program has closed the descriptor of its file";
		return false;
	}
	*why = "there is no room for a longer file";
	return write_at(HEADER + number * BLOCK, text, sizeof text);
}

/* ---- Taking a block ---- */

static struct block *block_of(uint64_t turn)
{
	return &ring.block[(turn - 1) % ring.blocks];
}

static char *text_of(uint64_t turn)
{
	return ring.text + HEADER + (turn - 1) % ring.blocks * BLOCK;
}

/*
 * Returns false if another thread is writing to the block, or has taken it in a later turn. A
 * thread that is slow may leave the first use of a block to a turn of the second round.
 */
static bool try_to_take(uint64_t turn, bool *is_new)
{
	struct block *block = block_of(turn);
	uint64_t before = atomic_load_explicit(&block->owner, memory_order_relaxed);

	reel_yield_point();
	/* Acquire: pairs with the release in release(). Makes the lines and `events` visible. */
	if (before & WRITING || before >> 1 >= turn ||
	    !atomic_compare_exchange_strong_explicit(&block->owner, &before, turn << 1 | WRITING,
						     memory_order_acquire, memory_order_relaxed))
		return false;
	*is_new = !before;
	return true;
}

/*
 * Takes a block. False: the trace has ended, and *why may say for which reason, or all blocks are
 * being written to.
 */
static bool take(const char **why)
{
	for (uint64_t tries = 0; tries < ring.blocks; tries++) {
		/* Relaxed: a number; the owners of blocks order what is in them. */
		uint64_t turn =
			1 + atomic_fetch_add_explicit(&ring.turns, 1, memory_order_relaxed);
		bool is_new;

		if (turn >= ENDED)
			break;
		if (!try_to_take(turn, &is_new))
			continue;
		if (is_new && !extend((turn - 1) % ring.blocks, why))
			break;
		own.turn = turn;
		own.at = text_of(turn);
		own.end = own.at + BLOCK - 1;
		/* Also in a new block: no line then waits for a page, half written, while the process ends. */
		memset(own.at, ' ', BLOCK - 1);
		return true;
	}
	own.turn = 0;
	return false;
}

static void release(void)
{
	/* Release: pairs with the acquires in try_to_take() and reenter(). */
	atomic_store_explicit(&block_of(own.turn)->owner, own.turn << 1, memory_order_release);
}

/* Enters the block of this thread again. False: it has none, or another thread has taken it. */
static bool reenter(void)
{
	uint64_t before = own.turn << 1;

	reel_yield_point();
	/* Acquire: pairs with the release in release(). */
	return own.turn &&
	       atomic_compare_exchange_strong_explicit(&block_of(own.turn)->owner, &before,
						       before | WRITING, memory_order_acquire,
						       memory_order_relaxed);
}

/* Requires an empty block. */
static void begin_block(reel_ring_heading *heading)
{
	struct block *block = block_of(own.turn);
	/* Relaxed: a count; the greatest one in the file is that of the last turn. */
	uint64_t dropped = block->events + atomic_fetch_add_explicit(&ring.dropped, block->events,
								     memory_order_relaxed);

	block->events = 0;
	own.at += heading(own.at, dropped);
	REEL_ASSERT(own.at + REEL_TRACE_LINE <= own.end);
}

const char *reel_ring_write(const char *line, size_t length, unsigned events,
			    reel_ring_heading *heading)
{
	bool has_block = reenter();
	const char *why = NULL;

	REEL_ASSERT(length <= REEL_TRACE_LINE);
	if (has_block && own.at + length > own.end) {
		release();
		has_block = false;
	}
	if (!has_block) {
		if (!take(&why))
			return why;
		begin_block(heading);
	}
	memcpy(own.at, line, length);
	own.at += length;
	block_of(own.turn)->events += events;
	release();
	return NULL;
}

/* ---- Opening and ending ---- */

static void close_ring(void)
{
	reel_os_file_unmap(ring.text, HEADER + ring.blocks * BLOCK);
	reel_os_file_close_if(ring.file, &ring.identity);
	free(ring.block);
	memset(&ring, 0, sizeof ring);
}

int reel_ring_open(const char *path, size_t bytes, const char *magic, const char *header)
{
	REEL_UNCANCELLED;
	int error = reel_output_open(path, magic, &ring.file);

	if (error)
		return error;
	reel_os_file_identify(ring.file, &ring.identity);
	ring.blocks = (bytes - HEADER) / BLOCK;
	ring.block = calloc(ring.blocks, sizeof *ring.block);
	ring.text = reel_os_file_map(ring.file, HEADER + ring.blocks * BLOCK);
	error = !ring.block ? -ENOMEM : !ring.text ? -ENODEV : 0;
	if (!error && !write_at(0, header, HEADER))
		error = -ENOSPC;
	if (error)
		close_ring();
	return error;
}

void reel_ring_leave(void)
{
	REEL_UNCANCELLED;

	if (ring.text)
		close_ring();
	own.turn = 0;
}

uint64_t reel_ring_end(void)
{
	/* Relaxed, both: no event orders another one. */
	ring.last = atomic_fetch_or_explicit(&ring.turns, ENDED, memory_order_relaxed);
	return atomic_load_explicit(&ring.dropped, memory_order_relaxed);
}

/*
 * Takes the block from the thread that has it, so that this thread writes no more lines there. A
 * thread that writes one now has until `deadline` to end it.
 */
static void end_block(uint64_t number, uint64_t deadline)
{
	struct block *block = &ring.block[number];

	for (;;) {
		/* Relaxed is enough: the other thread's line is in the shared mapping already. */
		uint64_t before = atomic_load_explicit(&block->owner, memory_order_relaxed);
		const char *why;

		if (before & WRITING) {
			if (reel_clock_ns() > deadline)
				return;
			nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
			continue;
		}
		if (!atomic_compare_exchange_strong_explicit(&block->owner, &before, ENDED << 1,
							     memory_order_acquire,
							     memory_order_relaxed))
			continue;
		/* Its thread has a turn, and has not come to the block. */
		if (!before)
			extend(number, &why);
		return;
	}
}

void reel_ring_finish(const char *text, size_t length)
{
	REEL_UNCANCELLED;
	uint64_t deadline = reel_clock_ns() + MAX_WAIT_NS;

	REEL_ASSERT(ring.last < ENDED);
	for (uint64_t number = 0; number < ring.last && number < ring.blocks; number++)
		end_block(number, deadline);
	if (reel_os_file_is(ring.file, &ring.identity))
		write_at(HEADER + (ring.last < ring.blocks ? ring.last : ring.blocks) * BLOCK, text,
			 length);
}
