/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "file-slots.h"
#include "os-file.h"

#define GROWTH_BYTES ((uint64_t)256 << 20)
#define MOST_SLOTS ((uint64_t)1 << 56)
#define BITS 64
#define MOST_ATTEMPTS 100

int reel_file_slots_open(struct reel_file_slots *slots, int file, uint64_t slot_bytes,
			 uint64_t most_bytes)
{
	memset(slots, 0, sizeof *slots);
	slots->file = file;
	slots->slot_bytes = slot_bytes;
	slots->most = (most_bytes < INT64_MAX ? most_bytes : INT64_MAX) / slot_bytes;
	if (slots->most > MOST_SLOTS)
		slots->most = MOST_SLOTS;
	slots->step = slot_bytes < GROWTH_BYTES ? GROWTH_BYTES / slot_bytes : 1;
	slots->allocates = true;
	return -pthread_mutex_init(&slots->lock, NULL);
}

void reel_file_slots_close(struct reel_file_slots *slots)
{
	free(slots->taken);
}

/* Relaxed throughout: written under the lock, and a count that guards no memory. */
static uint64_t count_of(struct reel_file_slots *slots)
{
	return atomic_load_explicit(&slots->count, memory_order_relaxed);
}

/* The number of slots, or more: all are taken. */
static uint64_t lowest_free(struct reel_file_slots *slots)
{
	while (slots->full_words < slots->words && !~slots->taken[slots->full_words])
		slots->full_words++;
	if (slots->full_words == slots->words)
		return slots->words * BITS;
	return slots->full_words * BITS +
	       (unsigned)__builtin_ctzll(~slots->taken[slots->full_words]);
}

static int make_words(struct reel_file_slots *slots, uint64_t count)
{
	uint64_t words = (count + BITS - 1) / BITS;
	uint64_t *taken;

	if (words <= slots->words)
		return 0;
	if (words > SIZE_MAX / sizeof *taken)
		return -ENOMEM;
	taken = realloc(slots->taken, (size_t)words * sizeof *taken);
	if (!taken)
		return -ENOMEM;
	memset(taken + slots->words, 0, (size_t)(words - slots->words) * sizeof *taken);
	slots->taken = taken;
	slots->words = words;
	return 0;
}

static int allocate(struct reel_file_slots *slots, uint64_t more)
{
	int error = -EINTR;

	if (!slots->allocates)
		return 0;
	for (unsigned i = 0; error == -EINTR && i < MOST_ATTEMPTS; i++)
		error = reel_os_file_allocate(slots->file, count_of(slots) * slots->slot_bytes,
					      more * slots->slot_bytes);
	if (error != -EOPNOTSUPP)
		return error;
	slots->allocates = false;
	return 0;
}

static bool wants_room(int error)
{
	return error == -ENOSPC || error == -EDQUOT || error == -EFBIG;
}

/* In smaller steps when the disk is nearly full, so that its last slot can be used. */
static int grow(struct reel_file_slots *slots)
{
	uint64_t room = slots->most - count_of(slots);

	if (!room)
		return -ENOSPC;
	for (;;) {
		uint64_t more = slots->step < room ? slots->step : room;
		int error = make_words(slots, count_of(slots) + more);

		if (!error)
			error = allocate(slots, more);
		if (!error) {
			/* Relaxed: see count_of(). */
			atomic_fetch_add_explicit(&slots->count, more, memory_order_relaxed);
			return 0;
		}
		if (!wants_room(error) || slots->step == 1)
			return error;
		slots->step /= 2;
	}
}

int reel_file_slots_take(struct reel_file_slots *slots, uint64_t *slot)
{
	int error = 0;

	pthread_mutex_lock(&slots->lock);
	*slot = lowest_free(slots);
	if (*slot >= count_of(slots)) {
		error = grow(slots);
		*slot = lowest_free(slots);
	}
	if (!error) {
		slots->taken[*slot / BITS] |= (uint64_t)1 << *slot % BITS;
		/* Relaxed: a count that guards no memory. */
		atomic_fetch_add_explicit(&slots->used, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&slots->lock);
	return error;
}

/* It stays taken. */
void reel_file_slots_retire(struct reel_file_slots *slots)
{
	/* Relaxed: a count that guards no memory. */
	atomic_fetch_sub_explicit(&slots->used, 1, memory_order_relaxed);
}

void reel_file_slots_give(struct reel_file_slots *slots, uint64_t slot)
{
	uint64_t bit = (uint64_t)1 << slot % BITS;

	pthread_mutex_lock(&slots->lock);
	if (slot < count_of(slots) && slots->taken[slot / BITS] & bit) {
		slots->taken[slot / BITS] &= ~bit;
		if (slot / BITS < slots->full_words)
			slots->full_words = slot / BITS;
		/* Relaxed: a count that guards no memory. */
		atomic_fetch_sub_explicit(&slots->used, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&slots->lock);
}
