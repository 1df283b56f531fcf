/* SPDX-License-Identifier: MIT */
/*
 * The slots of a file: each holds one put. A slot is the lowest range of free units that is long
 * enough for its put; the slot that is expected has more than a hundred units. If no range is long
 * enough and the file cannot grow, the slot has several parts, so a put has a slot as long as
 * enough units are free. Any thread. Taking a slot does not allocate memory unless the file grows
 * or the slot has several parts.
 */
#ifndef REEL_LIB_FILE_SLOTS_H
#define REEL_LIB_FILE_SLOTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "file-ranges.h"
#include "os/os-file.h"

#define REEL_FILE_BUCKETS 1024

/* A range of units. */
struct reel_file_part {
	uint64_t unit;
	uint64_t units;
	struct reel_file_part *next;  /* of the same slot, or of the parts that are retired */
	struct reel_file_part *other; /* another slot of several parts, in the same bucket */
};

struct reel_file_slots {
	pthread_mutex_t lock;
	int file;
	const struct reel_os_file_identity *identity;
	uint64_t slot_bytes; /* of the slot that is expected; a multiple of unit_bytes */
	uint64_t unit_bytes;
	uint64_t most;       /* units that the file may have */
	uint64_t max_growth; /* units by which it grows at once, unless one slot needs more */
	bool allocates;      /* the file system can allocate room in advance */
	struct reel_file_ranges ranges;
	struct reel_file_part *scattered[REEL_FILE_BUCKETS]; /* slots of several parts */
	struct reel_file_part *retired_parts, **last_retired;
	/* In units. */
	_Atomic uint64_t count;
	_Atomic uint64_t used;
	_Atomic uint64_t retired;
};

/*
 * Most slots are expected to have slot_bytes, a multiple of block_bytes, to which all parts are
 * aligned. The file may have max_bytes. 0, or -errno.
 */
int reel_file_slots_open(struct reel_file_slots *slots, int file,
			 const struct reel_os_file_identity *identity, uint64_t slot_bytes,
			 uint64_t block_bytes, uint64_t max_bytes);
void reel_file_slots_close(struct reel_file_slots *slots);

/*
 * Takes a slot for `bytes` bytes. *part is its first part, whose unit is the
 * number of the slot; part->next are the other parts, which live until the slot is given or
 * retired. Returns 0, -ENOMEM, -ENOSPC (max_bytes is reached), -EBADF (the file was to grow, and
 * the descriptor stands for another file), or the error of the system when the file was to grow.
 */
int reel_file_slots_take(struct reel_file_slots *slots, uint64_t bytes,
			 struct reel_file_part *part);

/*
 * Finds the parts of a slot that was taken for `bytes` bytes. Returns 0, or -EINVAL if the file can
 * have no such slot.
 */
int reel_file_slots_find(struct reel_file_slots *slots, uint64_t slot, uint64_t bytes,
			 struct reel_file_part *part);

/* Gives a slot back. Does nothing if the slot is not taken. */
void reel_file_slots_give(struct reel_file_slots *slots, uint64_t slot, uint64_t bytes);

/* Retires a slot that the disk could not write. It is tried again only if no other room is left. */
void reel_file_slots_retire(struct reel_file_slots *slots, uint64_t slot, uint64_t bytes);

/* Returns the bytes of a count of units: `count`, the size of the file; `used`; or `retired`. */
static inline uint64_t reel_file_slots_bytes(const struct reel_file_slots *slots,
					     const _Atomic uint64_t *units)
{
	/* Relaxed is enough: the count guards no memory. */
	return atomic_load_explicit(units, memory_order_relaxed) * slots->unit_bytes;
}

#endif
