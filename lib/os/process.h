/* SPDX-License-Identifier: MIT */
/*
 * Tells whether this process is the child of a fork, and whether another process still runs. A
 * child has its parent's objects but neither its threads nor its transfers, so it must not wait for
 * them.
 */
#ifndef REEL_LIB_PROCESS_H
#define REEL_LIB_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

/* `owner` is the result of getpid() when the object was made. */
static inline bool reel_process_is_child(pid_t owner)
{
	return getpid() != owner;
}

/*
 * process.c: the number of this process and the time of its start, which a later process with the
 * same number does not share. 0: the system does not tell.
 */
uint64_t reel_process_identity(void);
/* Returns false if the process has ended, also while its parent has yet to wait for it. */
bool reel_process_runs(uint64_t identity);
/* Identifies the processes that have numbers in common with this one; 0: not known. */
uint64_t reel_process_namespace(void);

#endif
