/* SPDX-License-Identifier: MIT */
/*
 * Reads slabs back. A slab that an owner waits for comes first, and may overdraw the budget; slabs
 * that owners asked for in advance follow, as long as there are frames. Offload thread only. A slab
 * that is READING has a frame.
 */
#include "config.h"

#include "copy.h"
#include "os/annotate.h"
#include "pressure.h"
#include "read-ahead.h"
#include "spill/owner/demand.h"
#include "store/store.h"
#include "transfer.h"
#include "victim.h"
#include "write-back.h"

/*
 * A slab that is asked for in advance takes the frame only of a slab that is needed FARTHER times
 * as late. Otherwise such slabs would evict each other.
 * Mutants survive (constant): which slabs are evicted changes the time only.
 */
#define FARTHER 2

/* Moves the carrier's frame to the slab. */
static void give_frame(struct reel_offload *offload, struct reel_slab *slab,
		       struct reel_slab *carrier)
{
	REEL_ASSERT(!slab->frame && carrier->frame);
	REEL_ASSERT(carrier->bytes == slab->bytes && !carrier->below);
	reel_yield_point();
	slab->frame = carrier->frame;
	if (offload->pool->parent)
		slab->lender = carrier->lender;
	carrier->frame = NULL;
	freelist_push(&offload->pool->frameless, carrier);
	reel_annotate_allow(slab->frame, slab->bytes);
}

/*
 * A large slab takes the frame of a large slab that is evicted, if that has the same size. Its own
 * size never changes, since its owner may look at it.
 */
static struct reel_slab *take_large_carrier(struct reel_offload *offload, size_t bytes,
					    double min_distance)
{
	struct reel_slab *carrier;

	while (reel_supply_take_large(offload->pool, bytes, &carrier))
		if (!reel_evict_for(offload, min_distance, bytes, &carrier) || carrier)
			return carrier;
	return carrier;
}

static struct reel_slab *take_carrier(struct reel_offload *offload, const struct reel_slab *slab,
				      double min_distance)
{
	struct reel_slab *carrier = NULL;

	if (slab->kind >= REEL_SLAB_LARGE)
		return take_large_carrier(offload, slab->bytes, min_distance);
	while (reel_supply_take_one(offload->pool, REEL_SLAB_WHOLE, &carrier))
		if (!reel_evict(offload, min_distance))
			return NULL;
	return carrier;
}

/* The slab has no frame. Its owner may have freed it meanwhile. */
static void queue_again(struct reel_offload *offload, struct reel_slab *slab)
{
	if (!reel_slab_move(slab, REEL_SLAB_READING, REEL_SLAB_READ_QUEUED))
		reel_offload_free_deferred(offload, slab);
}

/*
 * Reads a READ_QUEUED slab, unless its owner is first and frees it. False: it stays queued, since
 * there is no frame for it. While it is queued, the owner may free it, and another one may use it
 * with another size; so its size is looked at only when it is READING.
 */
static bool read_slab(struct reel_offload *offload, struct reel_slab *slab,
		      struct reel_ticket *ticket, double min_distance, bool is_hurried)
{
	struct reel_slab *carrier = NULL;
	bool is_queued = reel_slab_move(slab, REEL_SLAB_READ_QUEUED, REEL_SLAB_READING);

	if (is_queued)
		carrier = take_carrier(offload, slab, min_distance);
	if (carrier) {
		give_frame(offload, slab, carrier);
		reel_slab_io_of(offload, slab)->is_hurried = is_hurried;
		atomic_store_explicit(&reel_slab_io_of(offload, slab)->was_used, false,
				      memory_order_relaxed);
		reel_pieces_get(offload, ticket);
		return true;
	}
	reel_ticket_enter(ticket, REEL_TICKET_FREE);
	if (!is_queued)
		return true;
	offload->lacks_room |= slab->kind >= REEL_SLAB_LARGE;
	queue_again(offload, slab);
	return false;
}

/* ---- Slabs that have been read ---- */

/*
 * Moves a slab whose read failed back to STORED and frees its frame. If the owner ever needs it, it
 * is read again. False: a thread needs to be told of the error, or there is no carrier.
 */
static bool put_back(struct reel_offload *offload, struct reel_slab *slab)
{
	struct reel_slab *carrier;

	REEL_ASSERT(slab->frame);
	/*
	 * The thread that asked for the slab does not wait, and sees the error only if the slab is
	 * LOST. If the slab were STORED, the thread would ask for it again and again.
	 */
	if (reel_slab_io_of(offload, slab)->is_hurried)
		return false;
	/* An owner that comes after this check finds the slab STORED, and asks again. */
	if (reel_demand_is_awaited(offload, slab))
		return false;
	carrier = reel_supply_take_frameless(offload->pool);
	if (carrier)
		reel_evict_frame(offload, slab, carrier, REEL_SLAB_READING);
	return carrier != NULL;
}

/* Rarely reached: the owner frees the slab while its read fails; offload.pml goes there. */
static void lose(struct reel_offload *offload, struct reel_slab *slab, int error)
{
	REEL_ASSERT(error != 0 && slab->frame);
	reel_slab_io_of(offload, slab)->error = reel_store_error(error);
	reel_budget_count_use(offload->pool, slab);
	if (reel_slab_move(slab, REEL_SLAB_READING, REEL_SLAB_LOST))
		return;
	reel_budget_end_use(offload->pool, slab);
	reel_offload_free_deferred(offload, slab);
}

static void keep(struct reel_offload *offload, struct reel_slab *slab)
{
	REEL_ASSERT(slab->frame && reel_slab_io_of(offload, slab)->stored);
	atomic_fetch_add_explicit(&offload->clean, 1, memory_order_relaxed);
	if (reel_slab_move(slab, REEL_SLAB_READING, REEL_SLAB_CLEAN))
		return;
	atomic_fetch_sub_explicit(&offload->clean, 1, memory_order_relaxed);
	reel_offload_free_deferred(offload, slab);
}

void reel_read_done(struct reel_offload *offload, struct reel_slab *slab, int error)
{
	REEL_ASSERT(error || slab->frame);
	if (!error)
		keep(offload, slab);
	else if (!put_back(offload, slab))
		lose(offload, slab, error);
	reel_demand_wake(offload, slab);
}

/* ---- Rounds ---- */

static struct reel_slab *first_request(struct reel_demand *demand)
{
	uint32_t served = atomic_load_explicit(&demand->served, memory_order_relaxed);

	/* Acquire: pairs with the release in reel_demand_request(). Makes the entry visible. */
	if (served == atomic_load_explicit(&demand->requested, memory_order_acquire))
		return NULL;
	REEL_ASSERT(atomic_load_explicit(&demand->requested, memory_order_relaxed) - served <=
		    REEL_REQUESTS);
	return demand->request[served % REEL_REQUESTS];
}

static void drop_request(struct reel_demand *demand)
{
	REEL_ASSERT(atomic_load_explicit(&demand->served, memory_order_relaxed) !=
		    atomic_load_explicit(&demand->requested, memory_order_relaxed));
	reel_yield_point();
	/*
	 * Release: pairs with the acquire in requests_open() (demand.c). The owner overwrites
	 * the entry only after this read.
	 */
	atomic_fetch_add_explicit(&demand->served, 1, memory_order_release);
}

static bool is_hurried(const struct reel_demand *demand)
{
	return atomic_load_explicit(&demand->kind, memory_order_relaxed) == REEL_DEMAND_HURRIED;
}

static struct reel_slab *awaited_slab(struct reel_demand *demand)
{
	struct reel_slab *slab = reel_demand_awaited(demand);
	enum reel_slab_state state;

	if (!slab)
		return NULL;
	/* The owner may have begun to wait while the slab was EVICTING. */
	reel_slab_move(slab, REEL_SLAB_STORED, REEL_SLAB_READ_QUEUED);
	state = reel_slab_state_of(slab);
	/* The slab may have come before the owner began to wait. */
	if (!reel_slab_is_away(state) && state != REEL_SLAB_PINNED_WRITING)
		reel_wakeup_signal(&demand->arrival);
	return state == REEL_SLAB_READ_QUEUED ? slab : NULL;
}

/* Reads the slab, if it is not NULL, and evicts whatever slab can be evicted for it. */
static bool read_at_once(struct reel_offload *offload, struct reel_slab *slab, bool is_hurried)
{
	struct reel_ticket *ticket = slab ? reel_offload_ticket(offload, slab, true) : NULL;

	return ticket && read_slab(offload, slab, ticket, REEL_MIN_DISTANCE, is_hurried);
}

static bool read_awaited(struct reel_offload *offload, struct reel_demand *demand)
{
	return read_at_once(offload, awaited_slab(demand), false);
}

/* Carves a frame beyond the budget, without a carrier: there may be no descriptor left. */
static bool give_fresh_frame(struct reel_offload *offload, struct reel_slab *slab)
{
	if (reel_supply_overdraw(offload->pool, slab)) {
		reel_slab_io_of(offload, slab)->is_hurried = false;
		return true;
	}
	queue_again(offload, slab);
	return false;
}

/* Relaxed is enough: the wake-up makes `refused` visible. */
static void refuse(struct reel_demand *demand, const struct reel_slab *slab)
{
	atomic_store_explicit(&demand->refused, slab, memory_order_relaxed);
	reel_wakeup_signal(&demand->arrival);
}

/* A pop is never refused, so it overdraws the budget if no frame will come. */
static bool read_overdrawn(struct reel_offload *offload, struct reel_demand *demand)
{
	struct reel_slab *slab = offload->gets ? NULL : awaited_slab(demand);
	/* Relaxed: the owner sets it before it waits. */
	bool overdraws = atomic_load_explicit(&demand->overdraws, memory_order_relaxed);
	struct reel_ticket *ticket;

	REEL_ASSERT(!offload->puts);
	/* Another thread may have given memory back since this round tried to read the slab. */
	if (read_at_once(offload, slab, false))
		return true;
	/*
	 * A trim that is under way may free a frame. Its end wakes this thread for another round.
	 */
	if (reel_pool_is_being_trimmed(offload->pool))
		return false;
	if (slab && !overdraws)
		refuse(demand, slab);
	ticket = slab && overdraws ? reel_offload_ticket(offload, slab, true) : NULL;
	if (!ticket)
		return false;
	/* Rarely reached: the owner moves the slab since read_at_once(); offload.pml goes there. */
	if (!reel_slab_move(slab, REEL_SLAB_READ_QUEUED, REEL_SLAB_READING) ||
	    !give_fresh_frame(offload, slab)) {
		reel_ticket_enter(ticket, REEL_TICKET_FREE);
		return false;
	}
	reel_pieces_get(offload, ticket);
	return true;
}

/* ---- Slabs that a thread has asked for and does not wait for ---- */

/*
 * Returns the first of these slabs that has no frame yet. A slab that has come, is on its way or
 * was freed leaves the requests: a thread that finds it evicted again asks for it again.
 */
static struct reel_slab *hurried_slab(struct reel_demand *demand)
{
	struct reel_slab *slab;

	while (is_hurried(demand) && (slab = first_request(demand))) {
		enum reel_slab_state state;

		reel_slab_move(slab, REEL_SLAB_STORED, REEL_SLAB_READ_QUEUED);
		state = reel_slab_state_of(slab);
		if (state == REEL_SLAB_READ_QUEUED)
			return slab;
		/* This thread alone evicts, and no slab stays EVICTING between two of its steps. */
		REEL_ASSERT(state != REEL_SLAB_EVICTING);
		drop_request(demand);
	}
	return NULL;
}

static bool has_hurried(struct reel_offload *offload, struct reel_demand *demand)
{
	(void)offload;
	return hurried_slab(demand) != NULL;
}

static bool read_hurried(struct reel_offload *offload, struct reel_demand *demand)
{
	if (!read_at_once(offload, hurried_slab(demand), true))
		return false;
	drop_request(demand);
	return true;
}

static bool refuse_hurried(struct reel_offload *offload, struct reel_demand *demand)
{
	struct reel_slab *slab;

	if (read_hurried(offload, demand))
		return true;
	if (reel_pool_is_being_trimmed(offload->pool))
		return false;
	slab = hurried_slab(demand);
	if (!slab)
		return false;
	reel_slab_move(slab, REEL_SLAB_READ_QUEUED, REEL_SLAB_STORED);
	refuse(demand, slab);
	drop_request(demand);
	return false;
}

/* ---- Requests ---- */

/*
 * A slab that is no longer READ_QUEUED was read for a waiting owner, or was freed. While memory is
 * short, a slab that is read must not be evicted at once.
 */
static bool read_requested(struct reel_offload *offload, struct reel_demand *demand)
{
	struct reel_slab *slab = first_request(demand);
	struct reel_ticket *ticket;

	if (!slab || is_hurried(demand) || offload->gets >= REEL_MAX_GETS)
		return false;
	if (reel_slab_state_of(slab) != REEL_SLAB_READ_QUEUED) {
		drop_request(demand);
		return true;
	}
	if (reel_pressure_forbids(offload, offload->pool->slab_bytes))
		return false;
	ticket = reel_offload_ticket(offload, slab, true);
	/* First: a thread that gives a frame while this one looks for it sees it. */
	atomic_store_explicit(&offload->wants_frame, true, memory_order_relaxed);
	if (!ticket ||
	    !read_slab(offload, slab, ticket, FARTHER * reel_reuse_distance(offload, slab), false))
		return false;
	drop_request(demand);
	return true;
}

static bool for_all_demands(struct reel_offload *offload,
			    bool (*visit)(struct reel_offload *, struct reel_demand *))
{
	struct reel_demand *demand = reel_demand_first(offload);
	bool moved = false;

	for (; demand; demand = demand->next)
		moved |= visit(offload, demand);
	return moved;
}

static bool has_awaited(struct reel_offload *offload, struct reel_demand *demand)
{
	(void)offload;
	return awaited_slab(demand) != NULL;
}

bool reel_read_is_awaited(struct reel_offload *offload)
{
	return for_all_demands(offload, has_awaited);
}

bool reel_read_is_hurried(struct reel_offload *offload)
{
	return for_all_demands(offload, has_hurried);
}

bool reel_read_overdrawn(struct reel_offload *offload)
{
	if (offload->is_hurried)
		return for_all_demands(offload, refuse_hurried);
	return for_all_demands(offload, read_overdrawn);
}

/* Reads at most one slab of each tape, so that no tape starves another. */
bool reel_read_round(struct reel_offload *offload)
{
	bool moved;

	offload->lacks_room = false;
	atomic_store_explicit(&offload->wants_frame, false, memory_order_relaxed);
	moved = for_all_demands(offload, read_awaited);
	if (offload->is_hurried)
		moved |= for_all_demands(offload, read_hurried);
	if (!offload->has_waiters)
		moved |= for_all_demands(offload, read_requested);
	return moved;
}
