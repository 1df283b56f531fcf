/* SPDX-License-Identifier: MIT */
/*
 * Memory of a pool for a state that a sweep keeps: one span on a tape of its own. Since the span is
 * at the top of its tape, it stays in memory and is never spilled. One thread at a time uses a
 * buffer. A buffer that could not be opened is closed and holds no memory.
 */
#include "config.h"

#include "lookahead-buffer.h"

#include <stddef.h>

#include "os/assert.h"
#include "tape/tape.h"

int reel_ahead_buffer_open(struct reel_ahead_buffer *buffer, reel_pool *pool, size_t bytes)
{
	size_t count = bytes / sizeof(max_align_t) + 1;
	int error;

	REEL_ASSERT(!buffer->data);
	/* Mutants survive (constant): a checked tape stores a span in the same way. */
	error = reel_tape_open(&buffer->memory, pool, 0);
	/* Mutants survive (statement): the memory is zero. */
	buffer->data = NULL;
	if (error)
		return error;
	buffer->memory.flags |= REEL_TAPE_SILENT | REEL_TAPE_NOTES;
	buffer->data = reel_push_span(&buffer->memory, max_align_t, count);
	if (buffer->data)
		return 0;
	error = reel_tape_error(&buffer->memory);
	/* Mutants survive (statement): a tape whose first push fails has no slab. */
	reel_tape_close(&buffer->memory);
	return error;
}

void reel_ahead_buffer_close(struct reel_ahead_buffer *buffer)
{
	reel_tape_close(&buffer->memory);
	buffer->data = NULL;
}
