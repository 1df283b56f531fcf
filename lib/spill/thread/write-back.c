/* SPDX-License-Identifier: MIT */
/*
 * Write behind and evict. Above the soft budget, dirty slabs that are needed last are put to the
 * store. A clean slab keeps its frame until another slab needs it. Offload thread only. A slab is
 * CLEAN or STORED only while the store has a copy of its present values.
 */
#include "config.h"

#include "copy.h"
#include "os/annotate.h"
#include "os/integer.h"
#include "spill/owner/demand.h"
#include "transfer.h"
#include "victim.h"
#include "waiting.h"
#include "write-back.h"

/* Number of failed puts, while a thread waits for a frame, after which the push is refused. */
#define MAX_TRIES 4
/* Maximum number of frames kept ready while tapes grow, so that a push does not wait. */
#define MAX_READY 4
/* Number of slabs, in up to three quarters of the frames, that keep a store busy. */
#define TRANSFER_SLABS 16

/* ---- Frames for tapes that grow ---- */

/*
 * Acquire: pairs with the release in reel_supply_pop_warm() (supply.c). If a trim has taken the
 * last chain, `trimming` is also visible, and no push is refused for want of that frame.
 */
static size_t ready_frames(struct reel_pool *pool)
{
	return atomic_load_explicit(&pool->warm_chains, memory_order_acquire);
}

/* At most half of the room between the budgets, so that dirty slabs also have room there. */
static size_t wanted_frames(const struct reel_pool *pool)
{
	size_t bound = reel_budget_bound(pool);
	size_t frames = (bound - reel_min_size(reel_soft_budget(pool), bound)) / pool->slab_bytes /
			2;

	return frames < 1 ? 1 : reel_min_size(frames, MAX_READY);
}

/* Returns true if a push has to wait for a frame, or one of the next pushes will have to. */
static bool lacks_frames(struct reel_offload *offload)
{
	return offload->frames_needed && !reel_budget_has_room(offload->pool) &&
	       ready_frames(offload->pool) < wanted_frames(offload->pool);
}

/* ---- Writing behind ---- */

/*
 * Bytes of a pool with a parent that may be in memory only. The lower of the two soft budgets
 * counts, less the memory that the parent has lent to others. Relaxed, all: how much is written
 * guards no data.
 */
static size_t room_in_parent(const struct reel_pool *pool)
{
	const struct reel_pool *parent = pool->parent;
	size_t most = reel_min_size(reel_soft_budget(pool), reel_soft_budget(parent));
	size_t own = atomic_load_explicit(&pool->resident, memory_order_relaxed);
	size_t all = atomic_load_explicit(&parent->resident, memory_order_relaxed);
	size_t others = all - reel_min_size(own, all);

	return most - reel_min_size(others, most);
}

/*
 * Bytes that may be in memory only. If no frame is left, the room above the soft budget of a small
 * pool is too small: the store idles with few puts under way, and the owner gets a frame back while
 * other caches still have its contents. If both budgets are the same, nothing is written until a
 * push waits.
 */
static size_t max_dirty_bytes(struct reel_offload *offload)
{
	const struct reel_pool *pool = offload->pool;
	size_t slabs = reel_budget_bound(pool) / pool->slab_bytes;
	size_t soft_budget = reel_soft_budget(pool);

	if (pool->parent)
		return room_in_parent(pool);
	if (!lacks_frames(offload) || soft_budget == reel_budget_bound(pool))
		return soft_budget;
	return reel_min_size(soft_budget,
			     (slabs - reel_min_size(slabs - slabs / 4, TRANSFER_SLABS)) *
				     pool->slab_bytes);
}

static bool has_too_many_dirty(struct reel_offload *offload)
{
	size_t dirty = atomic_load_explicit(&offload->dirty_bytes, memory_order_relaxed);
	size_t unspillable =
		atomic_load_explicit(&offload->pool->unspillable, memory_order_relaxed);
	size_t most = max_dirty_bytes(offload);

	return dirty > (unspillable < most ? most - unspillable : 0);
}

static void write_slab(struct reel_offload *offload, struct reel_slab *slab,
		       struct reel_ticket *ticket)
{
	struct reel_slab_io *slab_io = reel_slab_io_of(offload, slab);
	size_t bytes = reel_min_size(reel_round_up(slab_io->filled, offload->align), slab->bytes);

	REEL_ASSERT(slab->frame && slab_io->filled <= slab->bytes);
	REEL_ASSERT(offload->puts < offload->put_depth);
	reel_offload_drop_copy(offload, slab);
	/* The new copy may get the old extent. A new serial number reveals a lost write. */
	slab_io->label = (struct reel_label){
		.tape = atomic_load_explicit(&reel_demand_of(offload, slab)->id,
					     memory_order_relaxed),
		.serial = ++offload->last_put,
		.slab_index = slab->slab_index,
	};
	slab_io->stored_bytes = bytes;
	reel_pieces_put(offload, ticket);
}

/* False: there is no slab to write, or no ticket for the put. */
/* Mutants survive (constant): no test moves the slab between two steps; offload.pml does. */
static bool write_farthest(struct reel_offload *offload)
{
	struct reel_ticket *ticket;
	struct reel_slab *slab;

	if (offload->puts == offload->put_depth)
		return false;
	slab = reel_victim_next(offload, REEL_SLAB_DIRTY, REEL_MIN_DISTANCE);
	if (!slab)
		return false;
	ticket = reel_offload_ticket(offload, slab, false);
	if (!ticket)
		return false;
	/*
	 * Rarely reached: the owner moves the slab since reel_victim_next(); offload.pml goes
	 * there.
	 */
	if (!reel_slab_move(slab, REEL_SLAB_DIRTY, REEL_SLAB_WRITING)) {
		reel_ticket_enter(ticket, REEL_TICKET_FREE);
		return true;
	}
	REEL_ASSERT(atomic_load_explicit(&offload->dirty_bytes, memory_order_relaxed) >=
		    slab->bytes);
	/*
	 * Release: pairs with the acquire in has_more_to_put() (waiting.c). A thread that sees
	 * fewer `dirty_bytes` also sees more `writing_bytes`, so it does not miss the slab.
	 */
	atomic_fetch_add_explicit(&offload->writing_bytes, slab->bytes, memory_order_relaxed);
	atomic_fetch_sub_explicit(&offload->dirty_bytes, slab->bytes, memory_order_release);
	write_slab(offload, slab, ticket);
	return true;
}

/*
 * Moves the slab to `sealed` or `pinned`, the states after a put that succeeded, or that failed.
 * Counts first: as soon as the slab is CLEAN or DIRTY, its owner may free it and subtract.
 * Rarely reached: the last call, if the owner moves the slab between two moves here.
 */
/* Mutants survive (statement): t-spill with yield points, or offload.pml, reaches the last call. */
static void end_writing(struct reel_offload *offload, struct reel_slab *slab,
			_Atomic size_t *counter, size_t change, enum reel_slab_state sealed,
			enum reel_slab_state pinned)
{
	REEL_ASSERT(reel_slab_io_of(offload, slab)->stored == (sealed == REEL_SLAB_CLEAN) &&
		    slab->frame);
	atomic_fetch_add_explicit(counter, change, memory_order_relaxed);
	if (reel_slab_move(slab, REEL_SLAB_WRITING, sealed))
		return;
	atomic_fetch_sub_explicit(counter, change, memory_order_relaxed);
	if (reel_slab_move(slab, REEL_SLAB_PINNED_WRITING, pinned))
		reel_demand_wake(offload, slab);
	else if (reel_slab_state_of(slab) == REEL_SLAB_FREE_PENDING)
		reel_offload_free_deferred(offload, slab);
	else
		end_writing(offload, slab, counter, change, sealed, pinned);
}

void reel_write_done(struct reel_offload *offload, struct reel_slab *slab, int error)
{
	struct reel_slab_io *slab_io = reel_slab_io_of(offload, slab);
	size_t bytes = slab->bytes;

	REEL_ASSERT(!slab_io->stored);
	reel_yield_point();
	if (error) {
		atomic_store_explicit(&offload->failure, error, memory_order_relaxed);
		reel_pieces_drop(offload, slab);
		end_writing(offload, slab, &offload->dirty_bytes, bytes, REEL_SLAB_DIRTY,
			    REEL_SLAB_OPEN);
	} else {
		slab_io->stored = true;
		/* Relaxed: statistics guard no other data. */
		atomic_fetch_add_explicit(&offload->in_store_bytes, slab_io->stored_bytes,
					  memory_order_relaxed);
		reel_offload_forget_failures(offload);
		end_writing(offload, slab, &offload->clean, 1, REEL_SLAB_CLEAN, REEL_SLAB_PINNED);
	}
	atomic_fetch_sub_explicit(&offload->writing_bytes, bytes, memory_order_relaxed);
	reel_offload_note_put(offload);
}

/* ---- Evicting ---- */

/* Moves the frame to the carrier. The slab keeps its place on the tape. */
static void take_frame(struct reel_slab *slab, struct reel_slab *carrier)
{
	REEL_ASSERT(slab->frame && !carrier->frame);
	reel_yield_point();
	carrier->frame = slab->frame;
	carrier->bytes = slab->bytes;
	carrier->kind = slab->kind;
	carrier->lender = slab->lender;
	carrier->below = NULL;
	slab->frame = NULL;
	if (slab->kind == REEL_SLAB_LENT)
		slab->lent = NULL;
	reel_slab_forbid(carrier);
}

/* A large frame stays mapped: a thread that needs its room for another size trims it (supply.c). */
static void place(struct reel_offload *offload, struct reel_slab *carrier)
{
	REEL_ASSERT(carrier->frame);
	if (carrier->kind == REEL_SLAB_WHOLE) {
		reel_supply_push_warm(offload->pool, carrier);
		return;
	}
	reel_supply_give(offload->pool, carrier->kind, carrier);
	offload->made_room = true;
}

static void leave_frame(struct reel_offload *offload, struct reel_slab *slab,
			struct reel_slab *carrier, enum reel_slab_state from)
{
	REEL_ASSERT(from == REEL_SLAB_EVICTING || from == REEL_SLAB_READING);
	take_frame(slab, carrier);
	if (!reel_slab_move(slab, from, REEL_SLAB_STORED))
		reel_offload_free_deferred(offload, slab);
}

void reel_evict_frame(struct reel_offload *offload, struct reel_slab *slab,
		      struct reel_slab *carrier, enum reel_slab_state from)
{
	leave_frame(offload, slab, carrier, from);
	place(offload, carrier);
}

static void trace_evict(const struct reel_offload *offload, const struct reel_slab *slab)
{
	const struct reel_label *label = &reel_slab_io_of(offload, slab)->label;

	REEL_TRACE(EVICT, 0, offload->pool->number, (int64_t)label->tape,
		   (int64_t)label->slab_index, (int64_t)slab->bytes);
}

/*
 * Takes the frame of a slab that was CLEAN. *carrier has it, or is NULL: the slab has changed.
 * False: there is no descriptor for a carrier.
 */
static bool evict(struct reel_offload *offload, struct reel_slab *slab, struct reel_slab **carrier)
{
	*carrier = reel_supply_take_frameless(offload->pool);
	if (!*carrier)
		return false;
	if (!reel_slab_move(slab, REEL_SLAB_CLEAN, REEL_SLAB_EVICTING)) {
		freelist_push(&offload->pool->frameless, *carrier);
		*carrier = NULL;
		return true;
	}
	REEL_ASSERT(reel_slab_io_of(offload, slab)->stored);
	REEL_ASSERT(atomic_load_explicit(&offload->clean, memory_order_relaxed) > 0);
	atomic_fetch_sub_explicit(&offload->clean, 1, memory_order_relaxed);
	trace_evict(offload, slab);
	leave_frame(offload, slab, *carrier, REEL_SLAB_EVICTING);
	return true;
}

bool reel_evict_for(struct reel_offload *offload, double min_distance, size_t bytes,
		    struct reel_slab **kept)
{
	bool has_clean = atomic_load_explicit(&offload->clean, memory_order_relaxed);
	struct reel_slab *slab =
		has_clean ? reel_victim_next(offload, REEL_SLAB_CLEAN, min_distance) : NULL;

	*kept = NULL;
	if (!slab || !evict(offload, slab, kept))
		return false;
	if (*kept && ((*kept)->kind != REEL_SLAB_LARGE || (*kept)->bytes != bytes)) {
		place(offload, *kept);
		*kept = NULL;
	}
	return true;
}

bool reel_evict(struct reel_offload *offload, double min_distance)
{
	struct reel_slab *kept;

	/* No frame has SIZE_MAX bytes. */
	return reel_evict_for(offload, min_distance, SIZE_MAX, &kept);
}

/* While no thread waits, this evicts slabs that are clean already, and starts no put. */
static bool keep_frames_ready(struct reel_offload *offload)
{
	bool moved = false;

	while (lacks_frames(offload) && reel_evict(offload, REEL_MIN_DISTANCE))
		moved = true;
	return moved;
}

/* Returns true if its owner has announced a use of the slab. */
static bool is_announced(const struct reel_offload *offload, const struct reel_slab *slab)
{
	const struct reel_demand *demand = reel_demand_of(offload, slab);

	return atomic_load_explicit(&demand->kind, memory_order_relaxed) != REEL_DEMAND_AGE;
}

/* Returns false if the slab was read for an owner that has yet to use it. */
static bool was_used(const struct reel_offload *offload, const struct reel_slab *slab)
{
	return atomic_load_explicit(&reel_slab_io_of(offload, slab)->was_used,
				    memory_order_relaxed);
}

/*
 * A pool with a parent keeps only announced slabs in memory, since its parent has better uses for
 * the memory of the others, unless its frames stay.
 */
static bool evict_unannounced(struct reel_offload *offload)
{
	size_t slabs = atomic_load_explicit(&offload->pool->table_used, memory_order_relaxed);
	bool moved = false;

	if (!offload->pool->parent || offload->pool->frames_stay ||
	    !atomic_load_explicit(&offload->clean, memory_order_relaxed))
		return false;
	for (size_t i = 0; i < slabs; i++) {
		struct reel_slab *slab = &offload->pool->table[i], *carrier;

		if (reel_slab_state_of(slab) != REEL_SLAB_CLEAN || !was_used(offload, slab) ||
		    is_announced(offload, slab) || !evict(offload, slab, &carrier))
			continue;
		if (carrier)
			place(offload, carrier);
		moved = true;
	}
	return moved;
}

/* ---- Both ---- */

static bool write_behind(struct reel_offload *offload)
{
	bool moved = false;

	while (!reel_offload_failure(offload) && has_too_many_dirty(offload) &&
	       write_farthest(offload))
		moved = true;
	return moved;
}

/* Puts one slab at a time, also after a failure: the store may have room again. */
static bool try_to_write(struct reel_offload *offload)
{
	bool moved;

	if (offload->puts || offload->failed_puts_in_row == MAX_TRIES ||
	    !atomic_load_explicit(&offload->dirty_bytes, memory_order_relaxed))
		return false;
	moved = write_farthest(offload);
	REEL_ASSERT(offload->failed_puts_in_row < MAX_TRIES);
	offload->failed_puts_in_row += offload->puts > 0;
	return moved;
}

/*
 * Frees a frame for a thread that waits. Sets `lacks_frame` if only a transfer can free one. Frames
 * that are ready do not serve an owner that waits for a large slab: read_awaited() has tried.
 */
static bool relieve(struct reel_offload *offload)
{
	offload->lacks_frame = false;
	if (!offload->lacks_room && (ready_frames(offload->pool) || offload->made_room))
		return false;
	offload->lacks_frame = !reel_evict(offload, REEL_MIN_DISTANCE) && !try_to_write(offload);
	return !offload->lacks_frame;
}

bool reel_write_round(struct reel_offload *offload)
{
	bool moved;

	/* Relaxed: the wake-up that the owner signals after the seal orders the slab's members. */
	offload->frames_needed =
		atomic_exchange_explicit(&offload->growth_hint, false, memory_order_relaxed);
	moved = write_behind(offload);
	if (offload->has_waiters)
		moved |= relieve(offload);
	else
		offload->failed_puts_in_row = 0;
	moved |= evict_unannounced(offload);
	return moved | keep_frames_ready(offload);
}
