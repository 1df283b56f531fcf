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
	free(slots->word);
}

/* Relaxed throughout: written under the lock, and a count that guards no memory. */
static uint64_t count_of(struct reel_file_slots *slots)
{
	return atomic_load_explicit(&slots->count, memory_order_relaxed);
}

/* The number of slots, or more: all are taken. */
static uint64_t lowest_free(struct reel_file_slots *slots)
{
	while (slots->full_words < slots->words && !~slots->word[slots->full_words].taken)
		slots->full_words++;
	if (slots->full_words == slots->words)
		return slots->words * BITS;
	return slots->full_words * BITS +
	       (unsigned)__builtin_ctzll(~slots->word[slots->full_words].taken);
}

static int make_words(struct reel_file_slots *slots, uint64_t count)
{
	uint64_t words = (count + BITS - 1) / BITS;
	struct reel_file_slots_word *word;

	if (words <= slots->words)
		return 0;
	if (words > SIZE_MAX / sizeof *word)
		return -ENOMEM;
	word = realloc(slots->word, (size_t)words * sizeof *word);
	if (!word)
		return -ENOMEM;
	memset(word + slots->words, 0, (size_t)(words - slots->words) * sizeof *word);
	slots->word = word;
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

static uint64_t bit_of(uint64_t slot)
{
	return (uint64_t)1 << slot % BITS;
}

static void set_free(struct reel_file_slots *slots, uint64_t slot)
{
	slots->word[slot / BITS].taken &= ~bit_of(slot);
	if (slot / BITS < slots->full_words)
		slots->full_words = slot / BITS;
}

/* In turn, so that a slot that stays bad does not keep the others from being tried. */
static bool free_a_retired_one(struct reel_file_slots *slots)
{
	uint64_t slot;

	if (!reel_file_slots_retired_bytes(slots))
		return false;
	do
		slot = slots->next_again++ % count_of(slots);
	while (!(slots->word[slot / BITS].retired & bit_of(slot)));
	slots->word[slot / BITS].retired &= ~bit_of(slot);
	set_free(slots, slot);
	/* Relaxed: a count that guards no memory. */
	atomic_fetch_sub_explicit(&slots->retired, 1, memory_order_relaxed);
	return true;
}

/* What the disk could not write once it may write later: better than no room. */
static int make_room(struct reel_file_slots *slots)
{
	int error = grow(slots);

	return wants_room(error) && free_a_retired_one(slots) ? 0 : error;
}

int reel_file_slots_take(struct reel_file_slots *slots, uint64_t *slot)
{
	int error = 0;

	pthread_mutex_lock(&slots->lock);
	*slot = lowest_free(slots);
	if (*slot >= count_of(slots)) {
		error = make_room(slots);
		*slot = lowest_free(slots);
	}
	if (!error) {
		slots->word[*slot / BITS].taken |= bit_of(*slot);
		/* Relaxed: a count that guards no memory. */
		atomic_fetch_add_explicit(&slots->used, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&slots->lock);
	return error;
}

/* It stays taken. */
void reel_file_slots_retire(struct reel_file_slots *slots, uint64_t slot)
{
	pthread_mutex_lock(&slots->lock);
	slots->word[slot / BITS].retired |= bit_of(slot);
	/* Relaxed: counts that guard no memory. */
	atomic_fetch_add_explicit(&slots->retired, 1, memory_order_relaxed);
	atomic_fetch_sub_explicit(&slots->used, 1, memory_order_relaxed);
	pthread_mutex_unlock(&slots->lock);
}

void reel_file_slots_give(struct reel_file_slots *slots, uint64_t slot)
{
	pthread_mutex_lock(&slots->lock);
	if (slot < count_of(slots) && slots->word[slot / BITS].taken & bit_of(slot)) {
		set_free(slots, slot);
		/* Relaxed: a count that guards no memory. */
		atomic_fetch_sub_explicit(&slots->used, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&slots->lock);
}
