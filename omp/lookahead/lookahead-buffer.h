/* SPDX-License-Identifier: MIT */
/* Memory of a pool, which counts for its budget, for a state. */
#ifndef REEL_OMP_LOOKAHEAD_BUFFER_H
#define REEL_OMP_LOOKAHEAD_BUFFER_H

#include <reel/tape.h>

struct reel_ahead_buffer {
	reel_tape memory;
	void *data; /* NULL: closed */
};

/* Returns 0, -EDQUOT or -ENOMEM, and reports no error. An open buffer must not be moved. */
int reel_ahead_buffer_open(struct reel_ahead_buffer *buffer, reel_pool *pool, size_t bytes);
void reel_ahead_buffer_close(struct reel_ahead_buffer *buffer);

#endif
