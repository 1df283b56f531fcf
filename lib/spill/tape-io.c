/* SPDX-License-Identifier: MIT */
/*
 * What the offload thread sees of a tape. Records live as long as the pool; a tape takes one when
 * it first seals a slab and gives it back when it closes. Owners of tapes call take and give
 * without a lock; one thread frees all when no other uses the pool. A record is in use by one tape
 * at a time.
 */
#include "config.h"

#include <stdlib.h>

#include "offload.h"

static struct reel_tape_io *find_unused_io(struct reel_offload *offload)
{
	/* Acquire: pairs with the release in add_tape_io(). Each record is visible. */
	struct reel_tape_io *tape_io =
		atomic_load_explicit(&offload->tape_ios, memory_order_acquire);

	for (; tape_io; tape_io = tape_io->next) {
		bool in_use = false;

		reel_yield_point();
		/*
		 * Acquire: pairs with the release in reel_tape_io_give(). What the last tape wrote
		 * to the record happens before what this one writes.
		 */
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
	/* Release: pairs with the acquire of each thread that reads the list. */
	while (!atomic_compare_exchange_weak_explicit(&offload->tape_ios, &tape_io->next, tape_io,
						      memory_order_release, memory_order_relaxed))
		;
	return tape_io;
}

struct reel_tape_io *reel_tape_io_take(struct reel_offload *offload)
{
	struct reel_tape_io *tape_io = find_unused_io(offload);

	if (!tape_io)
		tape_io = add_tape_io(offload);
	if (!tape_io)
		return NULL;
	/* Relaxed is enough, here and below: the number of tapes is an estimate. */
	atomic_fetch_add_explicit(&offload->tape_ios_in_use, 1, memory_order_relaxed);
	/* Relaxed is enough: the record is this tape's alone. */
	REEL_ASSERT(atomic_load_explicit(&tape_io->in_use, memory_order_relaxed) &&
		    !atomic_load_explicit(&tape_io->awaited, memory_order_relaxed));
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

void reel_tape_io_give(struct reel_offload *offload, struct reel_tape_io *tape_io)
{
	unsigned in_use = atomic_fetch_sub_explicit(&offload->tape_ios_in_use, 1,
						    memory_order_relaxed);

	REEL_ASSERT(in_use > 0);
	(void)in_use;
	reel_yield_point();
	/* Release: pairs with the acquire in find_unused_io(). */
	atomic_store_explicit(&tape_io->in_use, false, memory_order_release);
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
