/* SPDX-License-Identifier: MIT */
/*
 * The records of tapes, which the offload thread reads, and the owner's side of their requests. The
 * owner of a tape takes a record for its first seal, and gives it back when the tape is closed; no
 * slab needs it then. The list of records only grows while the pool lives, so the offload thread
 * walks it without a lock.
 */
#include "config.h"

#include <stdlib.h>

#include "offload.h"
#include "os/integer.h"

/* Maximum number of slabs that a tape requests in advance. */
#define MAX_AHEAD 32

/* Whether a slab on a tape needs the record. */
static bool is_needed(const struct reel_offload *offload, const struct reel_tape_io *tape_io)
{
	size_t slabs = atomic_load_explicit(&offload->pool->table_used, memory_order_relaxed);

	for (size_t i = 0; i < slabs; i++) {
		const struct reel_slab *slab = &offload->pool->table[i];
		enum reel_slab_state state = reel_slab_state_of(slab);

		if (state != REEL_SLAB_EMPTY && state != REEL_SLAB_OPEN &&
		    state != REEL_SLAB_FREE_PENDING && reel_tape_io_of(offload, slab) == tape_io)
			return true;
	}
	return false;
}

/* For assertions. */
static bool has_readers(const struct reel_tape_io *tape_io)
{
	for (unsigned i = 0; i < REEL_RANKED_READERS; i++)
		if (atomic_load_explicit(&tape_io->reader[i], memory_order_relaxed))
			return true;
	return false;
}

static struct reel_tape_io *find_unused_io(struct reel_offload *offload)
{
	/* Acquire: pairs with the release in add_tape_io(). Makes the list visible. */
	struct reel_tape_io *tape_io =
		atomic_load_explicit(&offload->tape_ios, memory_order_acquire);

	for (; tape_io; tape_io = tape_io->next) {
		bool in_use = false;

		reel_yield_point();
		/* Acquire: pairs with the release in reel_tape_io_give(). Makes it visible. */
		if (atomic_compare_exchange_strong_explicit(&tape_io->in_use, &in_use, true,
							    memory_order_acquire,
							    memory_order_relaxed))
			return tape_io;
	}
	return NULL;
}

static struct reel_tape_io *add_tape_io(struct reel_offload *offload)
{
	struct reel_tape_io *tape_io = calloc(1, sizeof *tape_io);

	if (!tape_io)
		return NULL;
	reel_event_open(&tape_io->arrival);
	atomic_store_explicit(&tape_io->in_use, true, memory_order_relaxed);
	tape_io->next = atomic_load_explicit(&offload->tape_ios, memory_order_relaxed);
	reel_yield_point();
	/*
	 * Release: pairs with the acquires in find_unused_io(), measure_rates() (victim.c) and
	 * for_all_tape_ios() (read-ahead.c). Makes the record visible.
	 */
	while (!atomic_compare_exchange_weak_explicit(&offload->tape_ios, &tape_io->next, tape_io,
						      memory_order_release, memory_order_relaxed))
		;
	return tape_io;
}

struct reel_tape_io *reel_tape_io_take_silent(struct reel_offload *offload)
{
	struct reel_tape_io *tape_io = find_unused_io(offload);

	if (!tape_io)
		tape_io = add_tape_io(offload);
	if (!tape_io)
		return NULL;
	REEL_ASSERT(!atomic_load_explicit(&tape_io->awaited, memory_order_relaxed));
	REEL_ASSERT(atomic_load_explicit(&tape_io->requested, memory_order_relaxed) -
			    atomic_load_explicit(&tape_io->served, memory_order_relaxed) <=
		    REEL_REQUESTS);
	atomic_store_explicit(&tape_io->by_age, false, memory_order_relaxed);
	atomic_store_explicit(&tape_io->by_readers, false, memory_order_relaxed);
	atomic_store_explicit(&tape_io->overdraws, true, memory_order_relaxed);
	tape_io->slabs_popped_in_row = 0;
	tape_io->ahead = REEL_MIN_AHEAD;
	tape_io->hits_in_row = 0;
	atomic_store_explicit(&tape_io->highest, 0, memory_order_relaxed);
	atomic_store_explicit(&tape_io->id,
			      1 + atomic_fetch_add_explicit(&offload->last_tape_id, 1,
							    memory_order_relaxed),
			      memory_order_relaxed);
	return tape_io;
}

struct reel_tape_io *reel_tape_io_take(struct reel_offload *offload)
{
	struct reel_tape_io *tape_io = reel_tape_io_take_silent(offload);

	/* Relaxed, here and below: the number of tapes that share the frames is an estimate. */
	if (tape_io)
		atomic_fetch_add_explicit(&offload->tape_ios_in_use, 1, memory_order_relaxed);
	return tape_io;
}

void reel_tape_io_give_silent(struct reel_offload *offload, struct reel_tape_io *tape_io)
{
	REEL_ASSERT(atomic_load_explicit(&tape_io->in_use, memory_order_relaxed));
	REEL_ASSERT(!atomic_load_explicit(&tape_io->awaited, memory_order_relaxed));
	REEL_ASSERT(!has_readers(tape_io));
	REEL_ASSERT_EXPENSIVE(!is_needed(offload, tape_io));
	(void)offload;
	reel_yield_point();
	/* Release: pairs with the acquire in find_unused_io(). Makes the members visible. */
	atomic_store_explicit(&tape_io->in_use, false, memory_order_release);
}

/* ---- Readers of a recording ---- */

/* Before the first reader moves, the recording is needed as a tape that will be reversed. */
static void place_at_end(struct reel_tape_io *tape_io, uint32_t slabs)
{
	atomic_store_explicit(&tape_io->highest, slabs - 1, memory_order_relaxed);
	atomic_store_explicit(&tape_io->top, slabs, memory_order_relaxed);
}

void reel_tape_io_begin_readers(struct reel_tape_io *tape_io, uint32_t slabs)
{
	REEL_ASSERT(slabs > 0);
	place_at_end(tape_io, slabs);
	atomic_store_explicit(&tape_io->by_readers, true, memory_order_relaxed);
}

struct reel_tape_io *reel_tape_io_take_reader(struct reel_offload *offload,
					      struct reel_tape_io *recording)
{
	struct reel_tape_io *tape_io = reel_tape_io_take(offload);

	if (!tape_io)
		return NULL;
	place_at_end(tape_io, atomic_load_explicit(&recording->top, memory_order_relaxed));
	for (unsigned i = 0; i < REEL_RANKED_READERS; i++) {
		struct reel_tape_io *none = NULL;

		/* Release: pairs with the acquire in distance_on_recording() (victim.c). */
		if (atomic_compare_exchange_strong_explicit(&recording->reader[i], &none, tape_io,
							    memory_order_release,
							    memory_order_relaxed))
			break;
	}
	return tape_io;
}

void reel_tape_io_leave_readers(struct reel_tape_io *recording, struct reel_tape_io *reader)
{
	for (unsigned i = 0; i < REEL_RANKED_READERS; i++)
		if (atomic_load_explicit(&recording->reader[i], memory_order_relaxed) == reader)
			atomic_store_explicit(&recording->reader[i], NULL, memory_order_relaxed);
}

/* ---- Requests ---- */

/*
 * All tapes together request at most half of the frames that are not of dirty slabs: with more,
 * reads for one tape evict slabs of another tape before their pops, or slabs that were just read.
 * With less, such as a quarter of few frames, the store would be idle between the requests.
 */
unsigned reel_tape_io_slabs_ahead(const struct reel_offload *offload,
				  const struct reel_tape_io *tape_io)
{
	size_t budget = offload->pool->hard_budget;
	size_t dirty = atomic_load_explicit(&offload->dirty_bytes, memory_order_relaxed);
	size_t share = (budget - reel_min_size(dirty, budget)) / offload->pool->slab_bytes / 2;
	unsigned tapes = atomic_load_explicit(&offload->tape_ios_in_use, memory_order_relaxed);

	share /= tapes ? tapes : 1;
	return (unsigned)reel_min_size(tape_io->ahead, share < 1 ? 1 : share > MAX_AHEAD ? MAX_AHEAD
									   : (unsigned)share);
}

void reel_tape_io_note_stall(struct reel_tape_io *tape_io)
{
	tape_io->hits_in_row = 0;
	tape_io->ahead = (unsigned)reel_min_size(2 * tape_io->ahead, MAX_AHEAD);
}

static uint32_t requests_open(const struct reel_tape_io *tape_io)
{
	/*
	 * Acquire: pairs with the release in drop_request() (read-ahead.c). The offload thread has
	 * read the entries below `served`, so the owner may overwrite them.
	 */
	return atomic_load_explicit(&tape_io->requested, memory_order_relaxed) -
	       atomic_load_explicit(&tape_io->served, memory_order_acquire);
}

bool reel_tape_io_request(struct reel_tape_io *tape_io, struct reel_slab *slab)
{
	uint32_t extent = atomic_load_explicit(&tape_io->requested, memory_order_relaxed);

	REEL_ASSERT(requests_open(tape_io) <= REEL_REQUESTS);
	if (requests_open(tape_io) == REEL_REQUESTS)
		return false;
	if (!reel_slab_move(slab, REEL_SLAB_STORED, REEL_SLAB_READ_QUEUED))
		return true;
	tape_io->request[extent % REEL_REQUESTS] = slab;
	reel_yield_point();
	/* Release: pairs with the acquire in first_request() (read-ahead.c). Shows the entry. */
	atomic_store_explicit(&tape_io->requested, extent + 1, memory_order_release);
	return true;
}

void reel_tape_io_end_requests(struct reel_offload *offload, const struct reel_tape_io *tape_io)
{
	if (requests_open(tape_io))
		reel_event_signal(&offload->work);
}

void reel_tape_io_give(struct reel_offload *offload, struct reel_tape_io *tape_io)
{
	atomic_fetch_sub_explicit(&offload->tape_ios_in_use, 1, memory_order_relaxed);
	reel_tape_io_give_silent(offload, tape_io);
}

void reel_tape_io_free_all(struct reel_offload *offload)
{
	struct reel_tape_io *tape_io =
		atomic_load_explicit(&offload->tape_ios, memory_order_relaxed);

	while (tape_io) {
		struct reel_tape_io *next = tape_io->next;

		reel_event_close(&tape_io->arrival);
		free(tape_io);
		tape_io = next;
	}
}
