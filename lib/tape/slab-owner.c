/* SPDX-License-Identifier: MIT */
/*
 * The changes of a slab's state by the owner of its tape; slab.h (lib/pool) has the table of all
 * changes. The owner runs these functions while the offload thread runs those of lib/spill.
 *
 * In the states OPEN, PINNED and PINNED_WRITING the owner may read the frame, and only in OPEN it
 * may write there. A slab of another state than OPEN belongs to a tape with a `tape_io`.
 */
#include "config.h"

#include "os/clock.h"
#include "os/integer.h"
#include "slab-owner.h"

#include <errno.h>

#include "spill/offload.h"

/* Maximum number of slabs that a tape requests in advance. */
#define MAX_AHEAD 32
/* After SLABS_IN_TIME slabs without a wait the tape requests one slab less. */
#define SLABS_IN_TIME 64

/* Whether the slab may go to the store: first slabs and large slabs stay in memory. */
static bool resides(const struct reel_pool *pool, const struct reel_slab *slab)
{
	return reel_offload_of(pool) && slab->kind == REEL_SLAB_WHOLE;
}

/* Relaxed is enough: the changes of state keep each decrement behind its increment. */
static void count(_Atomic size_t *counter, size_t change)
{
	size_t before = atomic_fetch_add_explicit(counter, change, memory_order_relaxed);

	REEL_ASSERT(before + change <= SIZE_MAX / 2);
}

/* ---- Sealing ---- */

static struct reel_tape_io *own_tape_io(reel_tape *tape)
{
	if (!tape->tape_io)
		tape->tape_io = reel_tape_io_take(reel_offload_of(tape->pool));
	return tape->tape_io;
}

/* All bytes of a slab that a hold keeps, because values above the present top are replayed. */
static size_t worth_storing(const reel_tape *tape, const struct reel_slab *slab)
{
	if (slab->holds != tape->holds)
		return slab->bytes;
	if (slab == tape->slab)
		return (size_t)reel_window_filled(tape);
	return tape->slab && tape->slab->below == slab ? (size_t)tape->slab->below_offset
						       : slab->bytes;
}

static void describe(reel_tape *tape, struct reel_tape_io *tape_io, const struct reel_slab *slab)
{
	struct reel_slab_io *slab_io = reel_slab_io_of(reel_offload_of(tape->pool), slab);

	/* Relaxed is enough: the release in reel_slab_move() (slab.h) makes them visible. */
	atomic_store_explicit(&slab_io->tape_io, tape_io, memory_order_relaxed);
	atomic_store_explicit(&slab_io->slab_index, slab->slab_index, memory_order_relaxed);
	if (slab->slab_index > atomic_load_explicit(&tape_io->highest, memory_order_relaxed))
		atomic_store_explicit(&tape_io->highest, slab->slab_index, memory_order_relaxed);
}

static bool try_seal(reel_tape *tape, struct reel_slab *slab)
{
	struct reel_offload *offload = reel_offload_of(tape->pool);

	switch (reel_slab_state_of(slab)) {
	case REEL_SLAB_OPEN:
		reel_slab_io_of(offload, slab)->filled = worth_storing(tape, slab);
		reel_slab_io_of(offload, slab)->layout = tape->layout;
		REEL_ASSERT(reel_slab_io_of(offload, slab)->filled <= slab->bytes);
		count(&offload->sealed, 1);
		return reel_slab_move(slab, REEL_SLAB_OPEN, REEL_SLAB_DIRTY);
	case REEL_SLAB_PINNED:
		count(&offload->clean, 1);
		return reel_slab_move(slab, REEL_SLAB_PINNED, REEL_SLAB_CLEAN);
	case REEL_SLAB_PINNED_WRITING:
		return reel_slab_move(slab, REEL_SLAB_PINNED_WRITING, REEL_SLAB_WRITING);
	default:
		return true;
	}
}

static void tell_of_growth(struct reel_pool *pool)
{
	struct reel_offload *offload = reel_offload_of(pool);

	/* Relaxed is enough for both: the event makes the hint visible to the offload thread. */
	if (atomic_load_explicit(&pool->resident, memory_order_relaxed) <= pool->soft_budget)
		return;
	atomic_store_explicit(&offload->growth_hint, true, memory_order_relaxed);
	reel_event_signal(&offload->work);
}

/* Returns NULL if the slab stays open. */
static struct reel_tape_io *seal_in_place(reel_tape *tape, struct reel_slab *slab)
{
	struct reel_tape_io *tape_io = resides(tape->pool, slab) ? own_tape_io(tape) : NULL;

	if (!tape_io)
		return NULL;
	describe(tape, tape_io, slab);
	/* try_seal() fails if the offload thread ends a write of the slab at the same time. */
	while (!try_seal(tape, slab))
		;
	REEL_ASSERT(!reel_slab_is_readable(slab));
	return tape_io;
}

void reel_slab_retain(reel_tape *tape, struct reel_slab *slab)
{
	REEL_ASSERT(slab->holds < tape->holds);
	seal_in_place(tape, slab);
}

void reel_slab_seal(reel_tape *tape, struct reel_slab *slab)
{
	REEL_ASSERT(slab == tape->slab || slab == tape->slab->below);
	struct reel_tape_io *tape_io = seal_in_place(tape, slab);

	if (!tape_io)
		return;
	atomic_store_explicit(&tape_io->top, slab->slab_index + 1, memory_order_relaxed);
	tape_io->slabs_popped_in_row = 0;
	tell_of_growth(tape->pool);
}

/* ---- Acquiring ---- */

/*
 * All tapes together request at most half of the frames: with more, reads for one tape evict slabs
 * of another tape before their pops. With less, such as a quarter of few frames, the store would be
 * idle between the requests.
 */
static unsigned slabs_ahead(const struct reel_pool *pool, const struct reel_tape_io *tape_io)
{
	size_t share = pool->hard_budget / pool->slab_bytes / 2;
	unsigned tapes = atomic_load_explicit(&reel_offload_of(pool)->tape_ios_in_use,
					      memory_order_relaxed);

	share /= tapes ? tapes : 1;
	return (unsigned)reel_min_size(tape_io->ahead, share < 1 ? 1 : share > MAX_AHEAD ? MAX_AHEAD
									   : (unsigned)share);
}

static void note_stall(reel_tape *tape, uint64_t since)
{
	struct reel_tape_io *tape_io = tape->tape_io;

	reel_offload_note_stall(reel_offload_of(tape->pool), since);
	tape_io->hits_in_row = 0;
	tape_io->ahead = (unsigned)reel_min_size(2 * tape_io->ahead, MAX_AHEAD);
}

static bool is_away(enum reel_slab_state state)
{
	return state == REEL_SLAB_EVICTING || state == REEL_SLAB_STORED ||
	       state == REEL_SLAB_READ_QUEUED || state == REEL_SLAB_READING;
}

static void await_arrival(reel_tape *tape, struct reel_slab *slab)
{
	struct reel_offload *offload = reel_offload_of(tape->pool);
	struct reel_tape_io *tape_io = tape->tape_io;
	uint64_t since = reel_clock_ns();

	REEL_ASSERT(tape_io && reel_tape_io_of(offload, slab) == tape_io);
	while (is_away(reel_slab_state_of(slab))) {
		reel_slab_move(slab, REEL_SLAB_STORED, REEL_SLAB_READ_QUEUED);
		reel_yield_point();
		/*
		 * Release: pairs with the acquires of `awaited` in read-ahead.c. Makes the slab's
		 * state visible to the offload thread, which reads the slab.
		 */
		atomic_store_explicit(&tape_io->awaited, slab, memory_order_release);
		reel_event_signal(&offload->work);
		reel_event_wait(&tape_io->arrival);
	}
	atomic_store_explicit(&tape_io->awaited, NULL, memory_order_relaxed);
	note_stall(tape, since);
}

/* The child of a fork has no offload thread that could read the slab, so the slab is lost. */
static void give_up(reel_tape *tape, struct reel_slab *slab)
{
	REEL_ASSERT(is_away(reel_slab_state_of(slab)));
	reel_slab_io_of(reel_offload_of(tape->pool), slab)->error = -ECHILD;
	reel_slab_become(slab, REEL_SLAB_LOST);
}

static bool try_acquire(struct reel_offload *offload, struct reel_slab *slab)
{
	switch (reel_slab_state_of(slab)) {
	case REEL_SLAB_DIRTY:
		if (!reel_slab_move(slab, REEL_SLAB_DIRTY, REEL_SLAB_OPEN))
			return false;
		count(&offload->sealed, (size_t)-1);
		return true;
	case REEL_SLAB_WRITING:
		return reel_slab_move(slab, REEL_SLAB_WRITING, REEL_SLAB_PINNED_WRITING);
	case REEL_SLAB_CLEAN:
		if (!reel_slab_move(slab, REEL_SLAB_CLEAN, REEL_SLAB_PINNED))
			return false;
		count(&offload->clean, (size_t)-1);
		return true;
	case REEL_SLAB_OPEN:
	case REEL_SLAB_PINNED:
	case REEL_SLAB_PINNED_WRITING:
	case REEL_SLAB_LOST:
		return true;
	default:
		return false;
	}
}

static void note_acquire(struct reel_tape_io *tape_io, const struct reel_slab *slab)
{
	/* Relaxed is enough: the offload thread estimates reuse distances with it. */
	atomic_store_explicit(&tape_io->top, slab->slab_index, memory_order_relaxed);
	if (++tape_io->hits_in_row % SLABS_IN_TIME == 0 && tape_io->ahead > REEL_MIN_AHEAD)
		tape_io->ahead--;
}

int reel_slab_acquire(reel_tape *tape, struct reel_slab *slab)
{
	struct reel_offload *offload = reel_offload_of(tape->pool);

	if (!resides(tape->pool, slab))
		return 0;
	while (!try_acquire(offload, slab)) {
		if (!is_away(reel_slab_state_of(slab)))
			continue;
		if (offload->orphaned)
			give_up(tape, slab);
		else
			await_arrival(tape, slab);
	}
	if (tape->tape_io)
		note_acquire(tape->tape_io, slab);
	REEL_ASSERT(slab->frame ? reel_slab_state_of(slab) != REEL_SLAB_EMPTY
				: reel_slab_state_of(slab) == REEL_SLAB_LOST);
	return reel_slab_state_of(slab) == REEL_SLAB_LOST
		       ? reel_slab_io_of(offload, slab)->error
		       : 0;
}

/* ---- Read-ahead ---- */

static uint32_t requests_open(const struct reel_tape_io *tape_io)
{
	/*
	 * Acquire: pairs with the release in drop_request() (read-ahead.c). The offload thread has
	 * read the entries below `served`, so request() may overwrite them.
	 */
	return atomic_load_explicit(&tape_io->requested, memory_order_relaxed) -
	       atomic_load_explicit(&tape_io->served, memory_order_acquire);
}

static void request(struct reel_tape_io *tape_io, struct reel_slab *slab)
{
	uint32_t extent = atomic_load_explicit(&tape_io->requested, memory_order_relaxed);

	REEL_ASSERT(requests_open(tape_io) < REEL_REQUESTS);
	tape_io->request[extent % REEL_REQUESTS] = slab;
	reel_yield_point();
	/* Release: pairs with the acquire in first_request() (read-ahead.c). Shows the entry. */
	atomic_store_explicit(&tape_io->requested, extent + 1, memory_order_release);
}

/* Requests nothing after less than one whole slab: such a tape is likely to go up again. */
void reel_slab_read_ahead(reel_tape *tape)
{
	struct reel_tape_io *tape_io = tape->tape_io;
	struct reel_slab *slab;
	unsigned ahead;

	if (!tape_io || reel_offload_of(tape->pool)->orphaned)
		return;
	atomic_fetch_add_explicit(&tape_io->popped, 1, memory_order_relaxed);
	if (tape_io->slabs_popped_in_row++ == 0 || !tape->slab)
		return;
	slab = tape->slab->below;
	ahead = slabs_ahead(tape->pool, tape_io);
	for (unsigned i = 0; i < ahead && slab; i++, slab = slab->below) {
		if (requests_open(tape_io) == REEL_REQUESTS)
			break;
		if (!resides(tape->pool, slab) ||
		    !reel_slab_move(slab, REEL_SLAB_STORED, REEL_SLAB_READ_QUEUED))
			continue;
		request(tape_io, slab);
	}
	/* An earlier request may wait for the frame that the tape has just left. */
	if (requests_open(tape_io))
		reel_event_signal(&reel_offload_of(tape->pool)->work);
}

/* ---- Pushing again ---- */

static bool has_copy(enum reel_slab_state state)
{
	return state == REEL_SLAB_PINNED || state == REEL_SLAB_PINNED_WRITING;
}

bool reel_slab_has_copy(const struct reel_slab *slab)
{
	return has_copy(reel_slab_state_of(slab));
}

bool reel_slab_is_readable(const struct reel_slab *slab)
{
	enum reel_slab_state state = reel_slab_state_of(slab);

	return state == REEL_SLAB_OPEN || has_copy(state);
}

bool reel_slab_is_open(const struct reel_slab *slab)
{
	return reel_slab_state_of(slab) == REEL_SLAB_OPEN;
}

bool reel_slab_make_writable(reel_tape *tape, struct reel_slab *slab)
{
	if (reel_slab_move(slab, REEL_SLAB_PINNED, REEL_SLAB_OPEN))
		count(&reel_offload_of(tape->pool)->stale, 1);
	return reel_slab_is_open(slab);
}

/* ---- Freeing ---- */

/* What the owner does with the slab; LEAVE: the offload thread frees it after the transfer. */
enum after_free { GIVE, GIVE_FRAMELESS, LEAVE };

static enum after_free take_from(struct reel_offload *offload, struct reel_slab *slab)
{
	for (;;) {
		enum reel_slab_state state = reel_slab_state_of(slab);

		switch (state) {
		case REEL_SLAB_EMPTY:
		case REEL_SLAB_OPEN:
			return GIVE;
		case REEL_SLAB_DIRTY:
			if (!reel_slab_move(slab, state, REEL_SLAB_OPEN))
				continue;
			count(&offload->sealed, (size_t)-1);
			return GIVE;
		case REEL_SLAB_CLEAN:
		case REEL_SLAB_PINNED:
		case REEL_SLAB_LOST:
			if (!reel_slab_move(slab, state, REEL_SLAB_OPEN))
				continue;
			if (state == REEL_SLAB_CLEAN)
				count(&offload->clean, (size_t)-1);
			count(&offload->stale, 1);
			return slab->frame ? GIVE : GIVE_FRAMELESS;
		case REEL_SLAB_STORED:
		case REEL_SLAB_READ_QUEUED:
			if (!reel_slab_move(slab, state, REEL_SLAB_OPEN))
				continue;
			count(&offload->stale, 1);
			return GIVE_FRAMELESS;
		default:
			if (reel_slab_move(slab, state, REEL_SLAB_FREE_PENDING))
				return LEAVE;
		}
	}
}

void reel_slab_free(struct reel_pool *pool, struct reel_slab *slab)
{
	switch (resides(pool, slab) ? take_from(reel_offload_of(pool), slab) : GIVE) {
	case GIVE:
		REEL_ASSERT(slab->frame != NULL);
		reel_pool_give(pool, slab);
		break;
	case GIVE_FRAMELESS:
		REEL_ASSERT(!slab->frame);
		reel_pool_give_frameless(pool, slab);
		break;
	case LEAVE:
		reel_pool_count_give(pool);
		break;
	}
}

void reel_tape_io_end(reel_tape *tape)
{
	if (!tape->tape_io)
		return;
	REEL_ASSERT(!tape->slab && !tape->spare);
	reel_event_signal(&reel_offload_of(tape->pool)->work);
	reel_tape_io_give(reel_offload_of(tape->pool), tape->tape_io);
	tape->tape_io = NULL;
}
