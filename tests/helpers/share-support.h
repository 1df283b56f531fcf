/* SPDX-License-Identifier: MIT */
/* For tests of budgets that processes share: a budget that no other test and no user has. */
#ifndef TESTS_SHARE_SUPPORT_H
#define TESTS_SHARE_SUPPORT_H

#include "helpers/pool-support.h"
#include "os/process.h"
#include "pool/share.h"

/* The name of the budget, and the path of its file. */
static char name[16], path[64];

/* Skips the test if processes cannot share a budget here. */
static inline void name_shared_budget(void)
{
	snprintf(name, sizeof name, "t%ld", (long)getpid());
	snprintf(path, sizeof path, "/dev/shm/reel-budget-%ld-%s", (long)geteuid(), name);
	if (access("/dev/shm", W_OK) || !reel_process_identity())
		tap_skip_all("there is no /dev/shm, or no /proc");
	if (is_emulated())
		tap_skip_all("an emulator has a /proc of its own for each process");
}

/* Bytes of all members. */
static inline size_t total_of(const struct reel_share *share)
{
	return (size_t)(share->file->total & (((uint64_t)1 << 44) - 1)) * 64;
}

#endif
