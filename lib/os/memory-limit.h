/* SPDX-License-Identifier: MIT */
/* How much memory the system lets this process use. */
#ifndef REEL_LIB_MEMORY_LIMIT_H
#define REEL_LIB_MEMORY_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reel_memory_limit {
	uint64_t bytes;   /* UINT64_MAX: none is known */
	bool is_of_group; /* a control group's, which slows down or kills what exceeds it */
	char source[512]; /* where the limit was read, as a message names it */
};

/* ---- Exported as REEL_PRIVATE ------------------------------------------------ */

/*
 * The smallest of: what the control groups (version 1 or 2) of this process and all groups above
 * allow, and the physical memory, both divided by the ranks that an mpirun has started on this
 * node; and RLIMIT_AS. `root` is "", or a directory in which a test pretends proc/ and sys/. What
 * cannot be read does not bound. Any thread. Cost: some dozen files are read.
 */
void reel_memory_limit(struct reel_memory_limit *limit, const char *root);

/* Returns how many bytes of the process are in memory now, or 0 if the system does not tell. */
uint64_t reel_memory_resident(void);

/* So much of the limit, at least 1; 0: it is not known. */
size_t reel_memory_share(const struct reel_memory_limit *limit, unsigned percent);

/* The share of a budget that is `auto`. It leaves the other half to the program. */
#define REEL_AUTO_PERCENT 50
/*
 * The largest share that a budget and what a store keeps in memory may have together: the program
 * has a stack, code and arrays of its own, and is killed where all that is above the limit.
 */
#define REEL_MAX_PERCENT 95

#endif
