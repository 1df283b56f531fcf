/* SPDX-License-Identifier: MIT */
/*
 * Whether this process is the child of a fork. A child has its parent's objects but neither its
 * threads nor its transfers, so it must not wait for them.
 */
#ifndef REEL_LIB_PROCESS_H
#define REEL_LIB_PROCESS_H

#include <stdbool.h>
#include <unistd.h>

/* `owner` is the result of getpid() when the object was made. */
static inline bool reel_process_is_child(pid_t owner)
{
	return getpid() != owner;
}

#endif
