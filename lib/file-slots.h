/* SPDX-License-Identifier: MIT */
/*
 * The slots of a file, all of one size: the lowest free one is taken first, so
 * that the file grows only when all are taken. Any thread. Taking a slot does not
 * allocate memory unless the file grows.
 */
#ifndef REEL_LIB_FILE_SLOTS_H
#define REEL_LIB_FILE_SLOTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Of 64 slots, a bit each; a slot that is retired is taken, too. */
struct reel_file_slots_word {
	uint64_t taken;
	uint64_t retired;
};

struct reel_file_slots {
	pthread_mutex_t lock;
	int file;
	uint64_t slot_bytes;
	uint64_t most;       /* slots that the file may have */
	uint64_t step;       /* slots by which it grows; less when the disk is nearly full */
	bool allocates;      /* the file system can allocate room in advance */
	struct reel_file_slots_word *word; /* for each slot, and for some beyond the last */
	uint64_t words;
	uint64_t full_words; /* so many at the beginning have no free slot */
	_Atomic uint64_t count;
	_Atomic uint64_t used;
	_Atomic uint64_t retired;
	uint64_t next_again; /* where to look for a retired slot to be tried again */
};

/* most_bytes is what the file may hold. 0, or -errno. */
int reel_file_slots_open(struct reel_file_slots *slots, int file, uint64_t slot_bytes,
			 uint64_t most_bytes);
void reel_file_slots_close(struct reel_file_slots *slots);

/* 0, -ENOMEM, -ENOSPC for most_bytes, or what the system said when the file was to grow. */
int reel_file_slots_take(struct reel_file_slots *slots, uint64_t *slot);

/* A slot that is not taken is left alone. */
void reel_file_slots_give(struct reel_file_slots *slots, uint64_t slot);

/* A taken slot that the disk could not write: it is tried again only when there is no other. */
void reel_file_slots_retire(struct reel_file_slots *slots, uint64_t slot);

static inline uint64_t reel_file_slots_used_bytes(struct reel_file_slots *slots)
{
	/* Relaxed: a count that guards no memory. */
	return atomic_load_explicit(&slots->used, memory_order_relaxed) * slots->slot_bytes;
}

static inline uint64_t reel_file_slots_retired_bytes(struct reel_file_slots *slots)
{
	/* Relaxed: a count that guards no memory. */
	return atomic_load_explicit(&slots->retired, memory_order_relaxed) * slots->slot_bytes;
}

/* The size that the file has grown to. */
static inline uint64_t reel_file_slots_bytes(struct reel_file_slots *slots)
{
	/* Relaxed: a count that guards no memory. */
	return atomic_load_explicit(&slots->count, memory_order_relaxed) * slots->slot_bytes;
}

#endif
