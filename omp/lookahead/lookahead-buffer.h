/* SPDX-License-Identifier: MIT */
/* Memory of a pool, under its budget, for a state or a snapshot. */
#ifndef REEL_OMP_BUFFER_H
#define REEL_OMP_BUFFER_H

#include <reel/tape.h>

struct reel_ahead_buffer {
	reel_tape memory;
	void *data; /* NULL: closed */
};

/* 0, -EDQUOT or -ENOMEM, of which nobody is told. Must not be moved while it is open. */
int reel_ahead_buffer_open(struct reel_ahead_buffer *buffer, reel_pool *pool, size_t bytes);
void reel_ahead_buffer_close(struct reel_ahead_buffer *buffer);

#endif
