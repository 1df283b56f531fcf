/* SPDX-License-Identifier: MIT */
/*
 * The file of a budget that several processes share: it is made by the first member and removed by
 * the last one. A lock on the file, which the system releases when its process ends, lets one
 * process at a time join or leave. If all members were killed, the next one begins anew.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <reel/extend.h>

#include "os/cancel.h"
#include "os/clock.h"
#include "os/integer.h"
#include "os/os.h"
#include "os/process.h"
#include "pool.h"
#include "share.h"

#define DIRECTORY "/dev/shm"
/* "ReelSha", the version of the layout, and the size of addresses, which the layout depends on. */
#define LAYOUT (UINT64_C(0x5265656c53686100) + 0x20 + sizeof(void *))
/* A process waits this long for the lock, and for the memory of others. */
#define MAX_WAIT_MS 5000

/* Lock-free counters are the same in all processes. Others may use a lock of each process. */
#if ATOMIC_LLONG_LOCK_FREE == 2
#define IS_SUPPORTED true
#else
#define IS_SUPPORTED false
#endif

const char *reel_share_name_problem(const char *name)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

	if (memchr(name, 0, sizeof((struct reel_pool_options *)0)->shared_budget) &&
	    !name[strspn(name, allowed)])
		return NULL;
	return "shared_budget must be a name of at most 15 letters, digits, - and _";
}

/* A process holds the lock for less than a millisecond, unless it is stopped. */
static int lock(int file)
{
	uint64_t since = reel_share_now();
	int error;

	while ((error = reel_os_file_lock(file)) == -EBUSY &&
	       reel_share_now() < since + MAX_WAIT_MS)
		reel_clock_pause(1000000);
	return error;
}

static void unlock_and_close(int file)
{
	reel_os_file_unlock(file);
	reel_os_file_close(file);
}

static int refuse_file(const char *path, int error)
{
	if (error == -EPERM)
		return reel_fail(error,
				 "a shared budget needs the file %s, which belongs to another "
				 "user, can be opened by others, or is no file; remove it, or "
				 "choose another name for the budget", path);
	if (error == -EBUSY)
		return reel_fail(error,
				 "a process has locked %s, the file of a shared budget, and does "
				 "not go on; end it, or choose another name", path);
	return reel_fail(error, "a shared budget needs the file %s: %s", path, strerror(-error));
}

/* ---- The file ---- */

/* Opens and locks the file that has the name. The last member may remove it at any time before. */
static int open_locked(const char *path)
{
	for (;;) {
		int file = reel_os_file_open_private(path, true), error;

		if (file < 0)
			return file;
		error = lock(file);
		if (error) {
			reel_os_file_close(file);
			return error;
		}
		if (reel_os_file_has_name(file, path))
			return file;
		unlock_and_close(file);
	}
}

/* Requires the lock. Returns true if a process is a member. */
static bool has_members(struct reel_share_file *file)
{
	reel_share_free_ended(file);
	for (unsigned i = 0; i < REEL_MEMBERS; i++)
		if (atomic_load_explicit(&file->slot[i].process, memory_order_relaxed))
			return true;
	return false;
}

/*
 * Requires the lock. Returns true if a process other than `except` will remove the file when it
 * leaves. Relaxed: a process sets `ends` before it takes the lock.
 */
static bool has_lasting_members(struct reel_share_file *file, uint64_t except)
{
	reel_share_free_ended(file);
	for (unsigned i = 0; i < REEL_MEMBERS; i++) {
		const struct reel_share_slot *slot = &file->slot[i];
		uint64_t process = atomic_load_explicit(&slot->process, memory_order_relaxed);

		if (process && process != except &&
		    !atomic_load_explicit(&slot->ends, memory_order_relaxed))
			return true;
	}
	return false;
}

/* Requires the lock. */
static void begin_anew(struct reel_share_file *file, size_t budget)
{
	memset(file, 0, sizeof *file);
	file->process_namespace = reel_process_namespace();
	atomic_store_explicit(&file->budget, budget, memory_order_relaxed);
	/* Release: with the version, the file is complete. */
	atomic_store_explicit(&file->version, LAYOUT, memory_order_release);
}

/* Requires the lock. Relaxed: the lock orders joins. */
static int agree(struct reel_share_file *file, const char *path, size_t budget)
{
	uint64_t version = atomic_load_explicit(&file->version, memory_order_relaxed);
	uint64_t agreed = atomic_load_explicit(&file->budget, memory_order_relaxed);

	if (version && version != LAYOUT)
		return reel_fail(-EPERM,
				 "%s is no file of this version of Reel: remove it when no program "
				 "uses it, or choose another name for the budget", path);
	if (version && file->process_namespace != reel_process_namespace())
		return reel_fail(-EPERM,
				 "%s belongs to processes of another container, which cannot be "
				 "told from ended ones: choose another name for the budget", path);
	if (!version || !has_members(file)) {
		begin_anew(file, budget);
		return 0;
	}
	if (agreed != budget)
		fprintf(stderr,
			"reel: the members of the shared budget %s have %" PRIu64
			" bytes, and a new one says %zu: the smaller number counts\n",
			path, agreed, budget);
	atomic_store_explicit(&file->budget, reel_min_u64(agreed, budget), memory_order_relaxed);
	return 0;
}

/* Requires the lock. */
static struct reel_share_slot *take_slot(struct reel_share_file *file)
{
	unsigned used = atomic_load_explicit(&file->slots, memory_order_relaxed), i = 0;
	struct reel_share_slot *slot;

	while (i < used && atomic_load_explicit(&file->slot[i].process, memory_order_relaxed))
		i++;
	if (i == REEL_MEMBERS)
		return NULL;
	slot = &file->slot[i];
	atomic_store_explicit(&slot->claimed, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->short_at, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->ends, 0, memory_order_relaxed);
	/* Release: pairs with the acquire in process_of() (share.c). The slot has no claim yet. */
	atomic_store_explicit(&slot->process, reel_process_identity(), memory_order_release);
	if (i == used)
		atomic_store_explicit(&file->slots, used + 1, memory_order_release);
	return slot;
}

/* ---- Join ---- */

/* Requires the lock. */
static int enter_locked(struct reel_share *share, size_t budget)
{
	int error = agree(share->file, share->path, budget);

	if (error)
		return error;
	share->slot = take_slot(share->file);
	return share->slot ? 0
			   : reel_fail(-EBUSY, "%s has %d members, and no room for another one",
				       share->path, REEL_MEMBERS);
}

static int enter(struct reel_share *share, size_t budget)
{
	int file = open_locked(share->path), error;
	void *map;

	if (file < 0)
		return refuse_file(share->path, file);
	error = reel_os_file_identify(file, &share->identity);
	if (!error)
		error = reel_os_file_map(file, sizeof *share->file, &map);
	if (error) {
		error = refuse_file(share->path, error);
	} else {
		share->file = map;
		error = enter_locked(share, budget);
		if (error)
			reel_os_unmap(map, sizeof *share->file);
	}
	unlock_and_close(file);
	return error;
}

/* The members that have more than their allotment give some back. */
static int await_minimum(struct reel_share *share)
{
	uint64_t since = reel_share_now();

	while (!reel_share_charge(share, share->minimum)) {
		if (reel_share_now() > since + MAX_WAIT_MS)
			return reel_fail(-EDQUOT,
					 "the members of the shared budget %s use all its %zu "
					 "bytes, and a pool needs %zu: raise the budget, or begin "
					 "later",
					 share->path, reel_share_budget(share), share->minimum);
		reel_share_look(share, REEL_SHARE_LOOK_SHORT_MS);
		reel_clock_pause(1000000);
	}
	atomic_store_explicit(&share->reserve, share->minimum, memory_order_relaxed);
	return 0;
}

int reel_share_join(struct reel_share **joined, const char *name, size_t budget, size_t minimum)
{
	REEL_UNCANCELLED;
	struct reel_share *share;
	int error;

	if (!IS_SUPPORTED || !reel_process_identity() || !reel_process_namespace())
		return reel_fail(-ENOTSUP,
				 "a shared budget needs /proc and lock-free counters, which this "
				 "system lacks: give each process a budget of its own");
	share = calloc(1, sizeof *share);
	if (!share)
		return -ENOMEM;
	snprintf(share->path, sizeof share->path, DIRECTORY "/reel-budget-%ld-%s", (long)geteuid(),
		 name);
	share->minimum = reel_min_size(minimum, budget);
	atomic_store_explicit(&share->bound, budget, memory_order_relaxed);
	atomic_store_explicit(&share->most, SIZE_MAX, memory_order_relaxed);
	error = enter(share, budget);
	if (error) {
		free(share);
		return error;
	}
	error = await_minimum(share);
	if (error)
		reel_share_leave(share);
	else
		*joined = share;
	return error;
}

/* ---- Leave ---- */

/*
 * If the file cannot be locked, the next process that joins finds it, and removes it in the end.
 * The file that has the name may be a newer one until the lock is held.
 */
static void remove_if_last(const struct reel_share *share, uint64_t except)
{
	int file = reel_os_file_open_private(share->path, false);

	if (file < 0)
		return;
	if (reel_os_file_is(file, &share->identity) && !lock(file)) {
		if (reel_os_file_has_name(file, share->path) &&
		    !has_lasting_members(share->file, except))
			reel_os_file_unlink(share->path);
		reel_os_file_unlock(file);
	}
	reel_os_file_close(file);
}

void reel_share_end(const struct reel_share *share)
{
	REEL_UNCANCELLED;

	/*
	 * The process still runs for the other processes until its memory and the file of its store
	 * are gone. If two processes end at the same time, each would leave the file to the other.
	 */
	atomic_store_explicit(&share->slot->ends, 1, memory_order_relaxed);
	remove_if_last(share, reel_process_identity());
}

void reel_share_leave(struct reel_share *share)
{
	REEL_UNCANCELLED;

	reel_share_return_all(share);
	remove_if_last(share, 0);
	reel_os_unmap(share->file, sizeof *share->file);
	free(share);
}
