/* SPDX-License-Identifier: MIT */
/*
 * The slots of a file: takes, finds, gives and retires them, and lets the file grow. Any thread,
 * under the lock of the slots; the counts are read without it. Each unit is free, in one slot, or
 * retired.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "file-slots.h"
#include "os/assert.h"
#include "os/integer.h"
#include "os/os-file.h"

/* The file grows by its own size, within these bounds. */
#define MIN_GROWTH_BYTES ((uint64_t)1 << 20)
#define MAX_GROWTH_BYTES ((uint64_t)256 << 20)
/* One growth takes at most this part of the room on the disk, which other files also need. */
#define PARTS_OF_ROOM 8

#define MIN_UNITS_OF_A_SLOT 128
#define MAX_ATTEMPTS 100

/*
 * Returns the bytes of a unit. It divides the slot that is expected, so that this slot wastes
 * nothing.
 */
static uint64_t unit_of(uint64_t slot_bytes, uint64_t block_bytes)
{
	uint64_t blocks = slot_bytes / block_bytes;
	uint64_t unit = blocks / MIN_UNITS_OF_A_SLOT;

	REEL_ASSERT(slot_bytes >= block_bytes);
	while (unit > 1 && blocks % unit)
		unit--;
	return unit > 1 ? unit * block_bytes : block_bytes;
}

int reel_file_slots_open(struct reel_file_slots *slots, int file,
			 const struct reel_os_file_identity *identity, uint64_t slot_bytes,
			 uint64_t block_bytes, uint64_t max_bytes)
{
	REEL_ASSERT(slot_bytes % block_bytes == 0);
	memset(slots, 0, sizeof *slots);
	slots->file = file;
	slots->identity = identity;
	slots->slot_bytes = slot_bytes;
	slots->unit_bytes = unit_of(slot_bytes, block_bytes);
	slots->most = (max_bytes < INT64_MAX ? max_bytes : INT64_MAX) / slots->unit_bytes;
	slots->max_growth = MAX_GROWTH_BYTES / slots->unit_bytes;
	slots->allocates = true;
	slots->last_retired = &slots->retired_parts;
	reel_file_ranges_open(&slots->ranges);
	return -pthread_mutex_init(&slots->lock, NULL);
}

static void forget_parts(struct reel_file_part *part)
{
	while (part) {
		struct reel_file_part *next = part->next;

		free(part);
		part = next;
	}
}

void reel_file_slots_close(struct reel_file_slots *slots)
{
	for (unsigned bucket = 0; bucket < REEL_FILE_BUCKETS; bucket++) {
		while (slots->scattered[bucket]) {
			struct reel_file_part *part = slots->scattered[bucket];

			slots->scattered[bucket] = part->other;
			forget_parts(part);
		}
	}
	forget_parts(slots->retired_parts);
	reel_file_ranges_close(&slots->ranges);
}

/* ---- Units ---- */

/* Relaxed is enough, here and in count(): written under the lock; the counts guard no memory. */
static uint64_t value_of(_Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static void count(_Atomic uint64_t *counter, uint64_t more)
{
	atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

static uint64_t units_of(const struct reel_file_slots *slots, uint64_t bytes)
{
	return bytes / slots->unit_bytes + (bytes % slots->unit_bytes != 0);
}

static uint64_t free_units(struct reel_file_slots *slots)
{
	REEL_ASSERT(value_of(&slots->used) + value_of(&slots->retired) <= value_of(&slots->count));
	return value_of(&slots->count) - value_of(&slots->used) - value_of(&slots->retired);
}

static void take_range(struct reel_file_slots *slots, uint64_t units, struct reel_file_part *part)
{
	*part = (struct reel_file_part){
		.unit = reel_file_ranges_find(&slots->ranges, (uint32_t)units), .units = units};
	REEL_ASSERT(part->unit != REEL_NO_RANGE && part->unit + units <= value_of(&slots->count));
	reel_file_ranges_set(&slots->ranges, part->unit, units, false);
	count(&slots->used, units);
}

static void give_range(struct reel_file_slots *slots, uint64_t unit, uint64_t units)
{
	REEL_ASSERT(value_of(&slots->used) >= units &&
		    reel_file_ranges_are_taken(&slots->ranges, unit, units));
	reel_file_ranges_set(&slots->ranges, unit, units, true);
	count(&slots->used, -units);
}

/* ---- Growth ---- */

static int allocate(struct reel_file_slots *slots, uint64_t more)
{
	int error = -EINTR;

	if (!slots->allocates)
		return 0;
	if (!reel_os_file_is(slots->file, slots->identity))
		return -EBADF;
	for (unsigned i = 0; error == -EINTR && i < MAX_ATTEMPTS; i++)
		error = reel_os_file_allocate(slots->file,
					      value_of(&slots->count) * slots->unit_bytes,
					      more * slots->unit_bytes);
	if (error != -EOPNOTSUPP)
		return error;
	slots->allocates = false;
	return 0;
}

static int grow_by(struct reel_file_slots *slots, uint64_t more)
{
	uint64_t old = value_of(&slots->count);
	int error = reel_file_ranges_reserve(&slots->ranges, old + more);

	if (!error)
		error = allocate(slots, more);
	if (error)
		return error;
	REEL_ASSERT(old + more <= slots->most);
	count(&slots->count, more);
	reel_file_ranges_set(&slots->ranges, old, more, true);
	return 0;
}

static bool wants_room(int error)
{
	return error == -ENOSPC || error == -EDQUOT || error == -EFBIG;
}

/* Returns the number of units to grow by, at least `units`. */
static uint64_t growth(const struct reel_file_slots *slots, uint64_t own, uint64_t units)
{
	uint64_t room = reel_os_file_room(slots->file) / slots->unit_bytes;
	uint64_t more = reel_min_u64(MIN_GROWTH_BYTES / slots->unit_bytes, slots->max_growth);

	if (own > more)
		more = reel_min_u64(own, slots->max_growth);
	more = reel_min_u64(more, room / PARTS_OF_ROOM);
	return more > units ? more : units;
}

/* Grows by `units` at least, by less than growth() if the disk has no room for that. */
static int grow(struct reel_file_slots *slots, uint64_t units)
{
	uint64_t own = value_of(&slots->count);
	uint64_t room = slots->most - own;
	uint64_t more = growth(slots, own, units);

	REEL_ASSERT(own <= slots->most);
	while (room) {
		int error = grow_by(slots, reel_min_u64(more, room));

		if (!wants_room(error) || more == units)
			return error;
		more = more / 2 > units ? more / 2 : units;
	}
	return -ENOSPC;
}

/* ---- Slots of several parts ---- */

/* The link of the bucket that points to this slot, or is NULL. */
static struct reel_file_part **scattered_at(struct reel_file_slots *slots, uint64_t slot)
{
	struct reel_file_part **at = &slots->scattered[slot % REEL_FILE_BUCKETS];

	while (*at && (*at)->unit != slot)
		at = &(*at)->other;
	return at;
}

static struct reel_file_part *take_scattered(struct reel_file_slots *slots, uint64_t slot)
{
	struct reel_file_part **at = scattered_at(slots, slot);
	struct reel_file_part *part = *at;

	if (part)
		*at = part->other;
	return part;
}

static void give_parts(struct reel_file_slots *slots, struct reel_file_part *part)
{
	for (struct reel_file_part *one = part; one; one = one->next)
		give_range(slots, one->unit, one->units);
	forget_parts(part);
}

/* Takes the longest ranges first, so that there are few parts. Requires that many free units. */
static int scatter(struct reel_file_slots *slots, uint64_t units, struct reel_file_part **first)
{
	struct reel_file_part **last = first;

	REEL_ASSERT(units <= free_units(slots));
	for (; units; units -= (*last)->units, last = &(*last)->next) {
		uint64_t longest = reel_file_ranges_longest(&slots->ranges);

		*last = malloc(sizeof **last);
		if (!*last) {
			give_parts(slots, *first);
			return -ENOMEM;
		}
		take_range(slots, units < longest ? units : longest, *last);
	}
	return 0;
}

static int take_parts(struct reel_file_slots *slots, uint64_t units, struct reel_file_part *part)
{
	struct reel_file_part *first = NULL, **at;
	int error = scatter(slots, units, &first);

	if (error)
		return error;
	at = scattered_at(slots, first->unit);
	REEL_ASSERT(!*at);
	*at = first;
	first->other = NULL;
	*part = *first;
	return 0;
}

/* ---- Slots ---- */

/* Frees the part that was retired first, so that all parts are tried again in turn. */
static bool free_a_retired_part(struct reel_file_slots *slots)
{
	struct reel_file_part *part = slots->retired_parts;

	if (!part)
		return false;
	slots->retired_parts = part->next;
	if (!part->next)
		slots->last_retired = &slots->retired_parts;
	reel_file_ranges_set(&slots->ranges, part->unit, part->units, true);
	REEL_ASSERT(value_of(&slots->retired) >= part->units);
	count(&slots->retired, -part->units);
	free(part);
	return true;
}

/*
 * Makes sure that there is a free range of `units` units or, if there can be none, that number of
 * free units. The disk may write a retired part later, which is better than no room.
 */
static int make_room(struct reel_file_slots *slots, uint64_t units)
{
	while (reel_file_ranges_longest(&slots->ranges) < units) {
		uint64_t unused = free_units(slots);
		int error = grow(slots, unused < units ? units - unused : units);

		if (!error)
			continue;
		if (!wants_room(error))
			return error;
		if (unused >= units)
			return 0;
		if (!free_a_retired_part(slots))
			return error;
	}
	return 0;
}

int reel_file_slots_take(struct reel_file_slots *slots, uint64_t bytes,
			 struct reel_file_part *part)
{
	uint64_t units = units_of(slots, bytes);
	int error;

	pthread_mutex_lock(&slots->lock);
	error = make_room(slots, units);
	if (!error && reel_file_ranges_longest(&slots->ranges) >= units)
		take_range(slots, units, part);
	else if (!error)
		error = take_parts(slots, units, part);
	REEL_ASSERT(error || part->units > 0);
	pthread_mutex_unlock(&slots->lock);
	return error;
}

int reel_file_slots_find(struct reel_file_slots *slots, uint64_t slot, uint64_t bytes,
			 struct reel_file_part *part)
{
	struct reel_file_part *first;
	int error = 0;

	pthread_mutex_lock(&slots->lock);
	first = *scattered_at(slots, slot);
	*part = first ? *first : (struct reel_file_part){slot, units_of(slots, bytes), NULL, NULL};
	/* A slot in parts may be longer than the file above its first unit. */
	if (!first && (slot >= slots->most || part->units > slots->most - slot))
		error = -EINVAL;
	pthread_mutex_unlock(&slots->lock);
	return error;
}

static bool is_taken(struct reel_file_slots *slots, uint64_t slot, uint64_t units)
{
	uint64_t all = value_of(&slots->count);

	return slot < all && units <= all - slot &&
	       reel_file_ranges_are_taken(&slots->ranges, slot, units);
}

void reel_file_slots_give(struct reel_file_slots *slots, uint64_t slot, uint64_t bytes)
{
	uint64_t units = units_of(slots, bytes);
	struct reel_file_part *part;

	pthread_mutex_lock(&slots->lock);
	part = take_scattered(slots, slot);
	if (part)
		give_parts(slots, part);
	else if (is_taken(slots, slot, units))
		give_range(slots, slot, units);
	pthread_mutex_unlock(&slots->lock);
}

static struct reel_file_part *new_part(uint64_t unit, uint64_t units)
{
	struct reel_file_part *part = malloc(sizeof *part);

	REEL_ASSERT(units > 0);
	if (part)
		*part = (struct reel_file_part){unit, units, NULL, NULL};
	return part;
}

/* The units stay taken. Without memory to note them the slot is free, and may be tried next. */
void reel_file_slots_retire(struct reel_file_slots *slots, uint64_t slot, uint64_t bytes)
{
	uint64_t units = units_of(slots, bytes);
	struct reel_file_part *part;

	pthread_mutex_lock(&slots->lock);
	part = take_scattered(slots, slot);
	if (!part)
		part = new_part(slot, units);
	if (!part)
		give_range(slots, slot, units);
	for (*slots->last_retired = part; part; part = part->next) {
		count(&slots->used, -part->units);
		count(&slots->retired, part->units);
		slots->last_retired = &part->next;
	}
	pthread_mutex_unlock(&slots->lock);
}
