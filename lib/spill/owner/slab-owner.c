/* SPDX-License-Identifier: MIT */
/*
 * The changes of a slab's state by its owner; slab.h (lib/pool) has the table of all changes. The
 * owner runs these functions while the offload thread runs the others of this folder.
 *
 * In the states OPEN, PINNED and PINNED_WRITING the owner may read the frame. In PINNED_WRITING it
 * must not write there, since a put reads it. In PINNED it may, if it calls
 * reel_slab_make_writable() before it seals the slab: the copy in the store is out of date then.
 */
#include "config.h"

#include <errno.h>

#include "os/clock.h"
#include "slab-owner.h"

/* Relaxed is enough: the changes of state keep each decrement behind its increment. */
static void count(_Atomic size_t *counter, size_t change)
{
	size_t before = atomic_fetch_add_explicit(counter, change, memory_order_relaxed);

	REEL_ASSERT(before + change <= SIZE_MAX / 2);
}

/* ---- Sealing ---- */

static void trace_seal(const struct reel_pool *pool, const struct reel_slab *slab,
		       const struct reel_demand *demand, uint32_t slab_index)
{
	REEL_TRACE(SEAL, 0, pool->number,
		   (int64_t)atomic_load_explicit(&demand->id, memory_order_relaxed), slab_index,
		   (int64_t)slab->bytes);
}

/* Fails if the offload thread ends a write of the slab at the same time. */
static bool try_seal(struct reel_offload *offload, struct reel_slab *slab, size_t filled,
		     struct reel_layout layout)
{
	struct reel_slab_io *slab_io = reel_slab_io_of(offload, slab);

	switch (reel_slab_state_of(slab)) {
	case REEL_SLAB_OPEN:
		slab_io->filled = filled;
		slab_io->layout = layout;
		count(&offload->dirty_bytes, slab->bytes);
		return reel_slab_move(slab, REEL_SLAB_OPEN, REEL_SLAB_DIRTY);
	case REEL_SLAB_PINNED:
		count(&offload->clean, 1);
		return reel_slab_move(slab, REEL_SLAB_PINNED, REEL_SLAB_CLEAN);
	default:
		return reel_slab_move(slab, REEL_SLAB_PINNED_WRITING, REEL_SLAB_WRITING);
	}
}

void reel_slab_seal(struct reel_pool *pool, struct reel_slab *slab, struct reel_demand *demand,
		    uint32_t slab_index, size_t filled, struct reel_layout layout)
{
	struct reel_offload *offload = reel_offload_of(pool);
	struct reel_slab_io *slab_io = reel_slab_io_of(offload, slab);

	REEL_ASSERT(reel_slab_spills(pool, slab) && filled <= slab->bytes);
	/*
	 * Release: pairs with the acquire in reel_demand_of(), which a ranking may call before the
	 * state moves. Makes the demand visible. Relaxed is enough for the rest: the release in
	 * reel_slab_move() (slab.h) makes it visible.
	 */
	atomic_store_explicit(&slab_io->demand, demand, memory_order_release);
	atomic_store_explicit(&slab_io->slab_index, slab_index, memory_order_relaxed);
	if (slab_index > atomic_load_explicit(&demand->highest, memory_order_relaxed))
		atomic_store_explicit(&demand->highest, slab_index, memory_order_relaxed);
	if (!reel_slab_is_readable(slab))
		return;
	atomic_store_explicit(&slab_io->was_used, true, memory_order_relaxed);
	reel_budget_end_use(pool, slab);
	trace_seal(pool, slab, demand, slab_index);
	/* Rarely reached: the offload thread ends a write in try_seal(); offload.pml goes there. */
	while (!try_seal(offload, slab, filled, layout))
		;
	REEL_ASSERT(!reel_slab_is_readable(slab));
}

void reel_slab_tell_of_growth(struct reel_pool *pool)
{
	struct reel_offload *offload = reel_offload_of(pool);

	REEL_ASSERT(offload);
	/* Relaxed is enough for both: the wake-up makes the hint visible to the offload thread. */
	if (atomic_load_explicit(&pool->resident, memory_order_relaxed) <=
	    reel_soft_budget(pool))
		return;
	atomic_store_explicit(&offload->growth_hint, true, memory_order_relaxed);
	reel_wakeup_signal(&offload->work);
}

/* ---- Acquiring ---- */

/* Rounded up, and at least 1. */
static uint32_t milliseconds_to(uint64_t until)
{
	uint64_t now = reel_clock_ns();
	uint64_t left = until > now ? (until - now) / 1000000 : 0;

	return left < UINT32_MAX ? (uint32_t)left + 1 : UINT32_MAX;
}

static bool try_acquire(struct reel_offload *offload, struct reel_slab *slab)
{
	switch (reel_slab_state_of(slab)) {
	case REEL_SLAB_DIRTY:
		/* Rarely reached: the offload thread moves the slab after the look at its state. */
		if (!reel_slab_move(slab, REEL_SLAB_DIRTY, REEL_SLAB_OPEN))
			return false;
		count(&offload->dirty_bytes, -slab->bytes);
		break;
	case REEL_SLAB_WRITING:
		if (!reel_slab_move(slab, REEL_SLAB_WRITING, REEL_SLAB_PINNED_WRITING))
			return false;
		break;
	case REEL_SLAB_CLEAN:
		if (!reel_slab_move(slab, REEL_SLAB_CLEAN, REEL_SLAB_PINNED))
			return false;
		count(&offload->clean, (size_t)-1);
		break;
	case REEL_SLAB_OPEN:
	case REEL_SLAB_PINNED:
	case REEL_SLAB_PINNED_WRITING:
	case REEL_SLAB_LOST:
		return true;
	default:
		return false;
	}
	reel_budget_count_use(offload->pool, slab);
	return true;
}

/*
 * Waits until the slab is there, and acquires it while the offload thread does not evict it; or, if
 * the caller has it, waits until its put has ended. Returns 0; -EDQUOT: the offload thread refuses
 * to exceed the budget; or -EAGAIN: the time `until` has come.
 */
static int await(struct reel_offload *offload, struct reel_slab *slab, struct reel_demand *demand,
		 uint64_t until)
{
	/*
	 * Relaxed: only this thread waits here, and the wake-up orders the writes of the offload
	 * thread.
	 */
	atomic_store_explicit(&demand->refused, NULL, memory_order_relaxed);
	for (;;) {
		reel_slab_move(slab, REEL_SLAB_STORED, REEL_SLAB_READ_QUEUED);
		if (reel_slab_state_of(slab) != REEL_SLAB_PINNED_WRITING &&
		    try_acquire(offload, slab))
			return 0;
		if (atomic_load_explicit(&demand->refused, memory_order_relaxed) == slab)
			return -EDQUOT;
		if (until != REEL_FOREVER && reel_clock_ns() >= until)
			return -EAGAIN;
		reel_yield_point();
		/*
		 * Release: pairs with the acquire in reel_demand_awaited(). Makes the slab's
		 * state visible to the offload thread, which reads the slab.
		 */
		atomic_store_explicit(&demand->awaited, slab, memory_order_release);
		reel_wakeup_signal(&offload->work);
		if (until == REEL_FOREVER)
			reel_wakeup_wait(&demand->arrival);
		else
			reel_wakeup_wait_for(&demand->arrival, milliseconds_to(until));
	}
}

static int await_with(struct reel_offload *offload, struct reel_slab *slab,
		      struct reel_demand *demand, uint64_t until)
{
	uint64_t since = reel_clock_ns();
	int error = await(offload, slab, demand, until);

	atomic_store_explicit(&demand->awaited, NULL, memory_order_relaxed);
	reel_offload_note_stall(offload, REEL_TRACE_WAIT_FOR_SLAB, since);
	reel_demand_note_stall(demand);
	if (error)
		reel_slab_move(slab, REEL_SLAB_READ_QUEUED, REEL_SLAB_STORED);
	return error;
}

/*
 * An owner without a demand takes one for this wait only. Returns as await(), or -ENOMEM: no memory
 * for a demand to wait with.
 */
static int await_arrival(struct reel_offload *offload, struct reel_slab *slab,
			 struct reel_demand *demand, uint64_t until)
{
	int error;

	if (demand)
		return await_with(offload, slab, demand, until);
	/* A caller that does not wait needs no demand. */
	if (until != REEL_FOREVER && reel_clock_ns() >= until)
		return -EAGAIN;
	demand = reel_demand_take_silent(offload, REEL_DEMAND_STACK);
	if (!demand)
		return -ENOMEM;
	atomic_store_explicit(&demand->overdraws, false, memory_order_relaxed);
	error = await_with(offload, slab, demand, until);
	reel_demand_give_silent(offload, demand);
	return error;
}

/* The child of a fork has no offload thread that could read the slab, so the slab is lost. */
static void give_up(struct reel_offload *offload, struct reel_slab *slab)
{
	REEL_ASSERT(reel_slab_is_away(reel_slab_state_of(slab)));
	reel_slab_io_of(offload, slab)->error = -ECHILD;
	reel_slab_become(slab, REEL_SLAB_LOST);
}

int reel_slab_acquire(struct reel_pool *pool, struct reel_slab *slab, struct reel_demand *demand,
		      uint64_t until)
{
	struct reel_offload *offload = reel_offload_of(pool);
	int error = 0;

	REEL_ASSERT(reel_slab_spills(pool, slab));
	while (!try_acquire(offload, slab)) {
		if (!reel_slab_is_away(reel_slab_state_of(slab)))
			continue;
		if (offload->orphaned)
			give_up(offload, slab);
		else
			error = await_arrival(offload, slab, demand, until);
		if (error)
			return error;
	}
	REEL_ASSERT(slab->frame ? reel_slab_state_of(slab) != REEL_SLAB_EMPTY
				: reel_slab_state_of(slab) == REEL_SLAB_LOST);
	return reel_slab_state_of(slab) == REEL_SLAB_LOST
		       ? reel_slab_io_of(offload, slab)->error
		       : 0;
}

/* ---- Writing again ---- */

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

int reel_slab_await_put(struct reel_pool *pool, struct reel_slab *slab)
{
	REEL_ASSERT(reel_slab_is_readable(slab));
	return reel_slab_state_of(slab) == REEL_SLAB_PINNED_WRITING
		       ? await_arrival(reel_offload_of(pool), slab, NULL, REEL_FOREVER)
		       : 0;
}

bool reel_slab_make_writable(struct reel_pool *pool, struct reel_slab *slab)
{
	if (reel_slab_move(slab, REEL_SLAB_PINNED, REEL_SLAB_OPEN))
		count(&reel_offload_of(pool)->stale, 1);
	return reel_slab_is_open(slab);
}

/* ---- Freeing ---- */

/* The owner's next step with the slab; LEAVE: the offload thread frees it after the transfer. */
enum after_free { GIVE, GIVE_FRAMELESS, LEAVE };

/* Rarely reached: the offload thread moves the slab after the look at its state. */
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
			count(&offload->dirty_bytes, -slab->bytes);
			reel_budget_count_use(offload->pool, slab);
			return GIVE;
		case REEL_SLAB_CLEAN:
		case REEL_SLAB_PINNED:
		case REEL_SLAB_LOST:
			if (!reel_slab_move(slab, state, REEL_SLAB_OPEN))
				continue;
			if (state == REEL_SLAB_CLEAN) {
				count(&offload->clean, (size_t)-1);
				reel_budget_count_use(offload->pool, slab);
			}
			count(&offload->stale, 1);
			return slab->frame ? GIVE : GIVE_FRAMELESS;
		case REEL_SLAB_STORED:
		case REEL_SLAB_READ_QUEUED:
			if (!reel_slab_move(slab, state, REEL_SLAB_OPEN))
				continue;
			count(&offload->stale, 1);
			return GIVE_FRAMELESS;
		default:
			/* First: the offload thread may free the slab as soon as it has moved. */
			if (state == REEL_SLAB_PINNED_WRITING)
				reel_budget_end_use(offload->pool, slab);
			if (reel_slab_move(slab, state, REEL_SLAB_FREE_PENDING))
				return LEAVE;
			if (state == REEL_SLAB_PINNED_WRITING)
				reel_budget_count_use(offload->pool, slab);
		}
	}
}

void reel_slab_free(struct reel_pool *pool, struct reel_slab *slab)
{
	/* Read first: a slab that is left to the offload thread may be another tape's at once. */
	enum reel_slab_kind kind = slab->kind;
	size_t bytes = slab->bytes;

	switch (reel_slab_spills(pool, slab) ? take_from(reel_offload_of(pool), slab) : GIVE) {
	case GIVE:
		REEL_ASSERT(slab->frame != NULL);
		reel_pool_give(pool, slab);
		break;
	case GIVE_FRAMELESS:
		REEL_ASSERT(!slab->frame);
		reel_pool_give_frameless(pool, slab);
		break;
	case LEAVE:
		reel_pool_count_give(pool, kind, bytes);
		break;
	}
}

/* ---- Waits ---- */

static _Thread_local uint64_t waited_ns;

uint64_t reel_offload_waited_ns(void)
{
	return waited_ns;
}

void reel_offload_note_stall(struct reel_offload *offload, enum reel_trace_kind kind,
			     uint64_t since)
{
	uint64_t now = reel_clock_ns();

	REEL_ASSERT(now >= since);
	waited_ns += now - since;
	atomic_fetch_add_explicit(&offload->stalls, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&offload->stall_ns, now - since, memory_order_relaxed);
	REEL_TRACE_UNTIL(now, kind, since, offload->pool->number);
}
