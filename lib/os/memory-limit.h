/* SPDX-License-Identifier: MIT */
/* How much memory the system lets this process use. */
#ifndef REEL_LIB_MEMORY_LIMIT_H
#define REEL_LIB_MEMORY_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reel_memory_limit {
	uint64_t bytes;   /* UINT64_MAX: none is known */
	uint64_t node_bytes; /* of all ranks of this node together */
	bool is_of_group; /* a control group's: above it processes are slowed down or killed */
	char source[512]; /* where the limit was read, as a message names it */
};

/* ---- Exported as REEL_PRIVATE ------------------------------------------------ */

/*
 * The smallest of: the limits of the control groups (version 1 or 2) of this process and of all
 * groups above, and the physical memory, both divided by the ranks that an mpirun has started on
 * this node; and RLIMIT_AS. `root` is "", or a directory in which a test pretends proc/ and sys/. A
 * file that cannot be read sets no limit. Any thread. Cost: some dozen files are read.
 */
void reel_memory_limit(struct reel_memory_limit *limit, const char *root);

/* Returns how many bytes of the process are in memory now, or 0 if the system does not tell. */
uint64_t reel_memory_resident(void);

/* Returns this part of the limit, at least 1; 0: the limit is not known. */
size_t reel_memory_share(const struct reel_memory_limit *limit, unsigned percent);

/* The share of a budget that is `auto`. It leaves the other half to the program. */
#define REEL_AUTO_PERCENT 50
/*
 * The largest share that a budget and the memory of a store may have together: the program
 * has a stack, code and arrays of its own, and is killed where all that is above the limit.
 */
#define REEL_MAX_PERCENT 95

#endif
