/* SPDX-License-Identifier: MIT */
/*
 * The file of a trace. It begins with a line that names the process. Blocks follow, each of which
 * one thread takes and fills with lines; spaces fill the rest, which JSON ignores. A tail is last,
 * which closes the list. A thread takes the next block with one atomic addition. When the ring has
 * gone round, the next block is one that was filled long ago: its events are dropped, and counted.
 *
 * The word `owner` of a block says which turn took the block, whose thread may write there, and
 * whether a line is being written at the moment. A thread writes a line only after it has set
 * WRITING in the turn that it knows. So nobody takes a block in which another thread writes, and a
 * thread whose block was taken sees that.
 *
 *	from             to                by
 *	free             turn | WRITING    take(), in the first round
 *	old turn         turn | WRITING    take(), in a later round
 *	turn | WRITING   turn              release()
 *	turn             turn | WRITING    reenter()
 *	free, turn       ENDED             end_block()
 *
 * The list is closed whenever the process is stopped or killed. Lines are written by requests to
 * the system, which a stop does not interrupt and a kill only between pages, and no line lies on
 * two pages. While the first round goes on, the file grows by a block at a time. One request writes
 * spaces over the tail and the tail behind them, so a kill leaves the list open only if it comes
 * between the three pages of that request.
 *
 * The file may be cut by another process, or the program may have closed its descriptor. Each write
 * looks at that first, and the trace ends there. A mapping of the file would cost less, and the
 * system would send SIGBUS where the file was cut.
 */
#include "config.h"

#include "ring.h"

#include <errno.h>
#include <pthread.h>
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
#define TAIL REEL_RING_TAIL
#define PAGE 4096
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
	struct block *block;
	uint64_t blocks;
	pthread_mutex_t growing;
	_Atomic uint64_t
		grown; /* number of blocks that are in the file; `growing` guards changes */
	char tail[TAIL];
	/* Number of turns so far. The first turn is 1, and takes the first block. */
	_Atomic uint64_t turns;
	_Atomic uint64_t dropped;
	uint64_t last; /* turn before the end */
} ring;

/* The block that this thread has taken last. All zero: none. */
static _Thread_local struct {
	uint64_t turn;
	size_t at; /* where its next line goes */
} own;

/* ---- The file ---- */

static uint64_t tail_at(uint64_t blocks)
{
	return HEADER + blocks * BLOCK;
}

/* Returns NULL, or why nothing can be written. */
static const char *problem(void)
{
	/* Acquire: pairs with the release in grow(). The file has these blocks. */
	uint64_t grown = atomic_load_explicit(&ring.grown, memory_order_acquire);
	uint64_t bytes = reel_os_file_bytes(ring.file, &ring.identity);

	if (bytes >= tail_at(grown) + TAIL)
		return NULL;
	return reel_os_file_is(ring.file, &ring.identity)
		       ? "another process has cut its file"
		       : "the program has closed the descriptor of its file";
}

static bool write_at(uint64_t offset, const char *text, size_t bytes)
{
	struct iovec piece = {.iov_base = (char *)(uintptr_t)text, .iov_len = bytes};

	REEL_ASSERT(ring.block);
	/* Beyond the limit of the process, the system would end the program with SIGXFSZ. */
	return offset + bytes <= reel_os_file_max_bytes() &&
	       reel_os_file_write(ring.file, &piece, 1, offset) == (ssize_t)bytes;
}

/* The file becomes longer by an empty block, in place of the tail, which goes behind it. */
static bool grow(void)
{
	uint64_t grown = atomic_load_explicit(&ring.grown, memory_order_relaxed);
	char text[BLOCK + TAIL];

	REEL_ASSERT(grown < ring.blocks);
	memset(text, ' ', BLOCK - 1);
	text[BLOCK - 1] = '\n';
	memcpy(text + BLOCK, ring.tail, TAIL);
	if (!write_at(tail_at(grown), text, sizeof text)) {
		write_at(tail_at(grown), ring.tail, TAIL);
		return false;
	}
	/* Release: pairs with the acquires in problem() and has(). */
	atomic_store_explicit(&ring.grown, grown + 1, memory_order_release);
	return true;
}

/* Returns whether the file has this block, or has grown by it. */
static bool has(uint64_t number)
{
	bool can_grow = true;

	/* Acquire: pairs with the release in grow(). */
	if (number < atomic_load_explicit(&ring.grown, memory_order_acquire))
		return true;
	pthread_mutex_lock(&ring.growing);
	while (can_grow && number >= atomic_load_explicit(&ring.grown, memory_order_relaxed))
		can_grow = grow();
	pthread_mutex_unlock(&ring.growing);
	return can_grow;
}

/* ---- Taking a block ---- */

static struct block *block_of(uint64_t turn)
{
	return &ring.block[(turn - 1) % ring.blocks];
}

static uint64_t offset_of(uint64_t turn)
{
	return HEADER + (turn - 1) % ring.blocks * BLOCK;
}

/* Returns false if another thread is writing to the block, or has taken it in a later turn. */
static bool try_to_take(uint64_t turn)
{
	struct block *block = block_of(turn);
	uint64_t before = atomic_load_explicit(&block->owner, memory_order_relaxed);

	REEL_ASSERT(turn > 0 && turn < ENDED);
	reel_yield_point();
	/* Acquire: pairs with the release in release(). Makes the lines and `events` visible. */
	return !(before & WRITING) && before >> 1 < turn &&
	       atomic_compare_exchange_strong_explicit(&block->owner, &before, turn << 1 | WRITING,
						       memory_order_acquire, memory_order_relaxed);
}

/*
 * Takes a block. False: the trace has ended, and *why may say for which reason, or all blocks are
 * being written to.
 */
static bool take(const char **why)
{
	for (uint64_t tries = 0; tries < ring.blocks; tries++) {
		/* Relaxed: a number; the owners of blocks order their contents. */
		uint64_t turn =
			1 + atomic_fetch_add_explicit(&ring.turns, 1, memory_order_relaxed);

		if (turn >= ENDED)
			break;
		if (!try_to_take(turn))
			continue;
		own.turn = turn;
		if (has((turn - 1) % ring.blocks))
			return true;
		*why = "there is no room for a longer file";
		break;
	}
	own.turn = 0;
	return false;
}

static void release(void)
{
	REEL_ASSERT(own.turn);
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

/* ---- Lines ---- */

/* Returns where in the block the next line goes: no line lies on two pages. */
static size_t place_for(size_t length)
{
	size_t left = PAGE - (offset_of(own.turn) + own.at) % PAGE;

	REEL_ASSERT(own.at <= BLOCK && length <= PAGE);
	return left < length ? own.at + left : own.at;
}

/* Overwrites the lines of an earlier turn. */
static bool begin_block(reel_ring_heading *heading)
{
	struct block *block = block_of(own.turn);
	/* Relaxed: a count; the greatest one in the file is of the last turn. */
	uint64_t dropped = block->events + atomic_fetch_add_explicit(&ring.dropped, block->events,
								     memory_order_relaxed);
	char text[BLOCK], lines[BLOCK / 2];
	const char *line = lines, *end = lines + heading(lines, dropped);

	block->events = 0;
	memset(text, ' ', sizeof text - 1);
	text[sizeof text - 1] = '\n';
	own.at = 0;
	while (line < end) {
		size_t length =
			(size_t)((const char *)memchr(line, '\n', (size_t)(end - line)) + 1 - line);

		own.at = place_for(length);
		memcpy(text + own.at, line, length);
		own.at += length;
		line += length;
	}
	REEL_ASSERT(place_for(REEL_TRACE_LINE) + REEL_TRACE_LINE < BLOCK);
	return write_at(offset_of(own.turn), text, sizeof text);
}

const char *reel_ring_write(const char *line, size_t length, unsigned events,
			    reel_ring_heading *heading)
{
	REEL_UNCANCELLED;
	const char *why = problem();
	bool has_block = !why && reenter(), is_written;

	REEL_ASSERT(length <= REEL_TRACE_LINE);
	if (has_block && place_for(length) + length >= BLOCK) {
		release();
		has_block = false;
	}
	if (!has_block && (why || !take(&why)))
		return why;
	is_written = has_block || begin_block(heading);
	own.at = place_for(length);
	is_written = is_written && write_at(offset_of(own.turn) + own.at, line, length);
	own.at += length;
	block_of(own.turn)->events += events;
	release();
	return is_written ? NULL : "the system refuses to write to its file";
}

/* ---- Opening and ending ---- */

static void close_ring(void)
{
	reel_os_file_close_if(ring.file, &ring.identity);
	free(ring.block);
	memset(&ring, 0, sizeof ring);
}

int reel_ring_open(const char *path, size_t bytes, const char *magic, const char *header,
		   const char *tail)
{
	REEL_UNCANCELLED;
	char ends[HEADER + TAIL];
	int error = bytes < REEL_RING_MIN_BYTES ? -ERANGE
						: reel_output_open(path, magic, &ring.file);

	if (error)
		return error;
	reel_os_file_identify(ring.file, &ring.identity);
	pthread_mutex_init(&ring.growing, NULL);
	ring.blocks = (bytes - HEADER - TAIL) / BLOCK;
	ring.block = calloc(ring.blocks, sizeof *ring.block);
	memcpy(ring.tail, tail, TAIL);
	memcpy(ends, header, HEADER);
	memcpy(ends + HEADER, tail, TAIL);
	error = !ring.block ? -ENOMEM : write_at(0, ends, sizeof ends) ? 0 : -ENOSPC;
	if (error)
		close_ring();
	return error;
}

void reel_ring_leave(void)
{
	REEL_UNCANCELLED;

	if (ring.block)
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

	REEL_ASSERT(number < ring.blocks);
	for (;;) {
		/* Relaxed is enough: the other thread's line is in the file already. */
		uint64_t before = atomic_load_explicit(&block->owner, memory_order_relaxed);

		if (before & WRITING) {
			if (reel_clock_ns() > deadline)
				return;
			reel_clock_pause(100000);
			continue;
		}
		if (atomic_compare_exchange_strong_explicit(&block->owner, &before, ENDED << 1,
							    memory_order_acquire,
							    memory_order_relaxed))
			return;
	}
}

void reel_ring_finish(const char *tail)
{
	REEL_UNCANCELLED;
	uint64_t deadline = reel_clock_ns() + MAX_WAIT_NS;

	REEL_ASSERT(ring.last < ENDED);
	for (uint64_t number = 0; number < ring.last && number < ring.blocks; number++)
		end_block(number, deadline);
	/* A thread that has not ended in time may still let the file grow. */
	if (problem() || pthread_mutex_trylock(&ring.growing))
		return;
	memcpy(ring.tail, tail, TAIL);
	/* Relaxed: the lock orders changes. */
	write_at(tail_at(atomic_load_explicit(&ring.grown, memory_order_relaxed)), tail, TAIL);
	pthread_mutex_unlock(&ring.growing);
}
