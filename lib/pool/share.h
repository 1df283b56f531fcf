/* SPDX-License-Identifier: MIT */
/*
 * A budget that pools of several processes share, without a server: they map one file. A pool that
 * shares the budget is a member. Its slot in the file names its process, and counts its share.
 *
 *	share-file.c  joins and leaves: one process at a time, by a lock on the file
 *	share.c       charges and refunds, and computes allotments: any thread, lock-free
 *
 * A process may be killed between any two instructions. `total` stays exact nevertheless: a charge
 * raises `claimed` of its slot first and then `total`, and a refund lowers them in the opposite
 * order, so the sum of all `claimed` is never too low. If a member finds that the sum is less than
 * `total`, and that `total` has not changed meanwhile, it sets `total` to the sum. `total` contains
 * the number of its changes, so two changes that cancel each other are noticed. Hence it is enough
 * to mark the slot of an ended process as free.
 */
#ifndef REEL_LIB_SHARE_H
#define REEL_LIB_SHARE_H

#include <stdatomic.h>
#include <stdbool.h>

#include <reel/pool.h>

#include "os/assert.h"
#include "os/os-file.h"

#define REEL_MEMBERS 1023
/* Milliseconds between two looks of a member at all slots. */
#define REEL_SHARE_LOOK_MS 50
/* The interval while a thread waits for memory: others that give some do not wake it. */
#define REEL_SHARE_LOOK_SHORT_MS 5

struct reel_share_slot {
	/* The identity of the process, or 0: the slot is free. */
	_Alignas(64) _Atomic uint64_t process;
	_Atomic uint64_t claimed; /* bytes */
	/* Time of the last charge that was refused (ms), and of the first one of its row; or 0. */
	_Atomic uint64_t short_at;
	_Atomic uint64_t short_since;
	/* 1: the process is ending, and will not remove the file. Its memory still counts. */
	_Atomic unsigned ends;
};

struct reel_share_file {
	_Alignas(64) _Atomic uint64_t version; /* 0: the file is new */
	uint64_t process_namespace;
	_Atomic uint64_t budget; /* bytes */
	_Atomic unsigned slots;  /* one more than the highest slot that was ever used */
	_Atomic uint64_t checked_at; /* when a member looked for processes that have ended (ms) */
	/* Bytes of all members, in units of 64, and above them the number of changes. */
	_Alignas(64) _Atomic uint64_t total;
	struct reel_share_slot slot[REEL_MEMBERS];
};

/* The membership of one pool. */
struct reel_share {
	struct reel_share_file *file;
	struct reel_share_slot *slot;
	struct reel_os_file_identity identity;
	char path[64];
	/* Relaxed, all: the numbers guard no data. Bytes, and times in ms. */
	size_t minimum;             /* bytes that the member always has claimed */
	_Atomic size_t kept;        /* bytes claimed, less those that are given back now */
	_Atomic size_t reserve;     /* bytes claimed that are not used */
	_Atomic size_t bound;       /* bytes that the member can get now if it writes nothing */
	_Atomic size_t most;        /* the allotment while others are short, else SIZE_MAX */
	_Atomic uint64_t looked_at; /* time of the last reel_share_look() */
};

/* ---- share-file.c: open and close of a pool ---- */

/* Returns the fault of a name, or NULL. */
const char *reel_share_name_problem(const char *name);
/*
 * Join the members of this name, with at least `minimum` bytes, for which this function waits if
 * others have them. If the members have another budget, the smaller one counts. Returns 0, or with
 * a text -ENOTSUP, -EPERM, -EBUSY, -ENOMEM, or -EDQUOT: others keep all memory.
 */
int reel_share_join(struct reel_share **share, const char *name, size_t budget, size_t minimum);
/* Give all back. The last member removes the file. */
void reel_share_leave(struct reel_share *share);
/*
 * As the process ends, while other threads may use the share: remove the file if no other process
 * is a member. A process that has called this function does not count.
 */
void reel_share_end(const struct reel_share *share);

/* ---- share.c: any thread ---- */

/* Returns false, and claims nothing, if the budget has no room or other members need the room. */
bool reel_share_charge(struct reel_share *share, size_t bytes);
/* Claims bytes also beyond the budget. */
void reel_share_overdraw(struct reel_share *share, size_t bytes);
void reel_share_refund(struct reel_share *share, size_t bytes);
/* Give all back, and leave the slot. No other thread uses the share. */
void reel_share_return_all(struct reel_share *share);
/* Returns true if a charge would succeed now. If not, others learn that memory is short. */
bool reel_share_has_room(struct reel_share *share, size_t bytes);
/* Returns true if another member is short of memory, and this one is not. */
bool reel_share_is_wanted(const struct reel_share *share);
/* Milliseconds for which the member has been short of memory. 0: it is not short. */
uint64_t reel_share_short_ms(const struct reel_share *share);
/*
 * If the last look of this member was `after_ms` ago: free the slots of ended processes, and set
 * `bound` and `most`. Returns whether it did.
 */
bool reel_share_look(struct reel_share *share, unsigned after_ms);
/* Free the slots of ended processes, and correct the total. */
void reel_share_free_ended(struct reel_share_file *file);

/* Relaxed, all: the numbers guard no data. */
static inline size_t reel_share_claimed(const struct reel_share *share)
{
	return (size_t)atomic_load_explicit(&share->slot->claimed, memory_order_relaxed);
}

static inline size_t reel_share_budget(const struct reel_share *share)
{
	return (size_t)atomic_load_explicit(&share->file->budget, memory_order_relaxed);
}

static inline size_t reel_share_bound(const struct reel_share *share)
{
	return atomic_load_explicit(&share->bound, memory_order_relaxed);
}

static inline size_t reel_share_most(const struct reel_share *share)
{
	return atomic_load_explicit(&share->most, memory_order_relaxed);
}

/* Milliseconds on the clock, which all processes of a node have in common; never 0. */
uint64_t reel_share_now(void);

#endif
