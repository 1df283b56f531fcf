/* SPDX-License-Identifier: MIT */
/*
 * Reads slabs back. A slab that an owner waits for comes first, and may overdraw the budget; slabs
 * that owners asked for in advance follow, as long as there are frames. Offload thread only. A slab
 * that is READING has a frame and exactly one ticket.
 */
#include "config.h"

#include "os/annotate.h"
#include "offload.h"
#include "store/store.h"

/* Number of tickets that read-ahead leaves to puts and to owners that wait. */
#define TICKETS_FOR_OTHERS 8
#define ATTEMPTS 2
/*
 * A slab that is asked for in advance takes the frame only of a slab that is needed FARTHER times
 * as late. Otherwise such slabs would evict each other.
 */
#define FARTHER 2

static void start(struct reel_offload *offload, struct reel_slab *slab, struct reel_ticket *ticket)
{
	struct reel_slab_io *slab_io = reel_slab_io_of(offload, slab);

	REEL_ASSERT(slab_io->stored && slab_io->reads < ATTEMPTS && ticket->get);
	reel_offload_prepare(offload, ticket);
	ticket->transfer.bytes = slab_io->stored_bytes;
	ticket->transfer.extent = slab_io->extent;
	slab_io->reads++;
	reel_store_get(offload->store, &ticket->transfer);
}

static void start_first(struct reel_offload *offload, struct reel_slab *slab,
			struct reel_ticket *ticket)
{
	reel_slab_io_of(offload, slab)->reads = 0;
	offload->gets++;
	start(offload, slab, ticket);
}

/* Moves the carrier's frame to the slab. */
static void give_frame(struct reel_offload *offload, struct reel_slab *slab,
		       struct reel_slab *carrier)
{
	REEL_ASSERT(!slab->frame && carrier->frame);
	REEL_ASSERT(carrier->bytes == slab->bytes && !carrier->below);
	reel_yield_point();
	slab->frame = carrier->frame;
	carrier->frame = NULL;
	freelist_push(&offload->pool->frameless, carrier);
	reel_annotate_allow(slab->frame, slab->bytes);
}

static struct reel_slab *take_carrier(struct reel_offload *offload, double min_distance)
{
	struct reel_slab *carrier = reel_supply_take_one(offload->pool);

	while (!carrier && reel_evict(offload, min_distance))
		carrier = reel_supply_take_warm(offload->pool);
	return carrier;
}

/* Reads a READ_QUEUED slab into the carrier's frame. If the owner was first, keeps the frame. */
static void read_slab(struct reel_offload *offload, struct reel_slab *slab,
		      struct reel_slab *carrier, struct reel_ticket *ticket)
{
	if (!reel_slab_move(slab, REEL_SLAB_READ_QUEUED, REEL_SLAB_READING)) {
		carrier->below = NULL;
		reel_ticket_enter(ticket, REEL_TICKET_FREE);
		reel_supply_push_warm(offload->pool, carrier);
		return;
	}
	give_frame(offload, slab, carrier);
	start_first(offload, slab, ticket);
}

/* ---- What has been read ---- */

bool reel_read_is_awaited_for(const struct reel_offload *offload, const struct reel_slab *slab)
{
	/* Acquire: pairs with the release in await_arrival() (slab-owner.c), see put_back(). */
	return atomic_load_explicit(&reel_tape_io_of(offload, slab)->awaited,
				    memory_order_acquire) == slab;
}

/*
 * Moves a slab whose read failed back to STORED and frees its frame. If the owner ever needs it, it
 * is read again. False: the owner waits for it, or there is no carrier.
 */
static bool put_back(struct reel_offload *offload, struct reel_slab *slab)
{
	struct reel_slab *carrier;

	/* An owner that comes after this check finds the slab STORED, and asks again. */
	if (reel_read_is_awaited_for(offload, slab))
		return false;
	carrier = reel_supply_take_frameless(offload->pool);
	if (carrier)
		reel_evict_frame(offload, slab, carrier, REEL_SLAB_READING);
	return carrier != NULL;
}

static void lose(struct reel_offload *offload, struct reel_slab *slab, int error)
{
	REEL_ASSERT(error != 0 && slab->frame);
	reel_slab_io_of(offload, slab)->error = reel_store_error(error);
	if (!reel_slab_move(slab, REEL_SLAB_READING, REEL_SLAB_LOST))
		reel_offload_free_deferred(offload, slab);
}

static void keep(struct reel_offload *offload, struct reel_slab *slab, size_t bytes)
{
	REEL_ASSERT(slab->frame && reel_slab_io_of(offload, slab)->stored);
	REEL_ASSERT(bytes == reel_slab_io_of(offload, slab)->stored_bytes);
	atomic_fetch_add_explicit(&offload->read_bytes, bytes, memory_order_relaxed);
	atomic_fetch_add_explicit(&offload->clean, 1, memory_order_relaxed);
	if (reel_slab_move(slab, REEL_SLAB_READING, REEL_SLAB_CLEAN))
		return;
	atomic_fetch_sub_explicit(&offload->clean, 1, memory_order_relaxed);
	reel_offload_free_deferred(offload, slab);
}

static bool try_again(struct reel_offload *offload, struct reel_ticket *ticket)
{
	struct reel_ticket *again;

	if (reel_slab_io_of(offload, ticket->slab)->reads == ATTEMPTS ||
	    reel_slab_state_of(ticket->slab) == REEL_SLAB_FREE_PENDING)
		return false;
	again = reel_offload_ticket(offload, ticket->slab, true);
	/* The ticket of the failed get is free again. */
	REEL_ASSERT(again);
	start(offload, ticket->slab, again);
	return true;
}

/* Looks up the record of the tape first: as soon as the slab is CLEAN, its owner may free it. */
void reel_read_done(struct reel_offload *offload, struct reel_ticket *ticket)
{
	struct reel_slab *slab = ticket->slab;
	struct reel_tape_io *tape_io = reel_tape_io_of(offload, slab);
	int error = ticket->transfer.error;

	REEL_ASSERT(offload->gets > 0 && ticket->get);
	if (error) {
		atomic_fetch_add_explicit(&offload->failed_gets, 1, memory_order_relaxed);
		if (try_again(offload, ticket))
			return;
	}
	offload->gets--;
	if (!error)
		keep(offload, slab, ticket->transfer.bytes);
	else if (!put_back(offload, slab))
		lose(offload, slab, error);
	reel_event_signal(&tape_io->arrival);
}

/* ---- Rounds ---- */

static struct reel_slab *awaited_slab(struct reel_tape_io *tape_io)
{
	/*
	 * Acquire: pairs with the release in await_arrival() (slab-owner.c). Makes its state
	 * visible.
	 */
	struct reel_slab *slab = atomic_load_explicit(&tape_io->awaited, memory_order_acquire);

	/* The owner may have begun to wait while the slab was EVICTING. */
	if (slab)
		reel_slab_move(slab, REEL_SLAB_STORED, REEL_SLAB_READ_QUEUED);
	return slab && reel_slab_state_of(slab) == REEL_SLAB_READ_QUEUED ? slab : NULL;
}

static bool read_awaited(struct reel_offload *offload, struct reel_tape_io *tape_io)
{
	struct reel_slab *slab = awaited_slab(tape_io);
	struct reel_ticket *ticket = slab ? reel_offload_ticket(offload, slab, true) : NULL;
	struct reel_slab *carrier;

	if (!ticket)
		return false;
	carrier = take_carrier(offload, REEL_MIN_DISTANCE);
	if (!carrier) {
		reel_ticket_enter(ticket, REEL_TICKET_FREE);
		return false;
	}
	read_slab(offload, slab, carrier, ticket);
	return true;
}

/* Carves a frame beyond the budget, without a carrier: there may be no descriptor left. */
static bool give_fresh_frame(struct reel_offload *offload, struct reel_slab *slab)
{
	REEL_ASSERT(!slab->frame);
	slab->frame = reel_mapping_carve(offload->pool, slab->bytes);
	if (!slab->frame) {
		if (!reel_slab_move(slab, REEL_SLAB_READING, REEL_SLAB_READ_QUEUED))
			reel_offload_free_deferred(offload, slab);
		return false;
	}
	reel_budget_overdraw(offload->pool, slab->bytes);
	return true;
}

/* A pop is never refused, so it overdraws the budget if no frame will come. */
static bool read_overdrawn(struct reel_offload *offload, struct reel_tape_io *tape_io)
{
	struct reel_slab *slab = offload->gets ? NULL : awaited_slab(tape_io);
	struct reel_ticket *ticket = slab ? reel_offload_ticket(offload, slab, true) : NULL;

	REEL_ASSERT(!offload->puts);
	if (!ticket)
		return false;
	if (!reel_slab_move(slab, REEL_SLAB_READ_QUEUED, REEL_SLAB_READING) ||
	    !give_fresh_frame(offload, slab)) {
		reel_ticket_enter(ticket, REEL_TICKET_FREE);
		return false;
	}
	start_first(offload, slab, ticket);
	return true;
}

static struct reel_slab *first_request(struct reel_tape_io *tape_io)
{
	uint32_t served = atomic_load_explicit(&tape_io->served, memory_order_relaxed);

	/* Acquire: pairs with the release in reel_tape_io_request(). Makes the entry visible. */
	if (served == atomic_load_explicit(&tape_io->requested, memory_order_acquire))
		return NULL;
	REEL_ASSERT(atomic_load_explicit(&tape_io->requested, memory_order_relaxed) - served <=
		    REEL_REQUESTS);
	return tape_io->request[served % REEL_REQUESTS];
}

static void drop_request(struct reel_tape_io *tape_io)
{
	REEL_ASSERT(atomic_load_explicit(&tape_io->served, memory_order_relaxed) !=
		    atomic_load_explicit(&tape_io->requested, memory_order_relaxed));
	reel_yield_point();
	/*
	 * Release: pairs with the acquire in requests_open() (tape-io.c). The owner overwrites
	 * the entry only after this read.
	 */
	atomic_fetch_add_explicit(&tape_io->served, 1, memory_order_release);
}

/* A slab that is no longer READ_QUEUED was read for a waiting owner, or was freed. */
static bool read_requested(struct reel_offload *offload, struct reel_tape_io *tape_io)
{
	struct reel_slab *slab = first_request(tape_io);
	struct reel_ticket *ticket;
	struct reel_slab *carrier;

	if (!slab || offload->gets + TICKETS_FOR_OTHERS >= REEL_TICKETS)
		return false;
	if (reel_slab_state_of(slab) != REEL_SLAB_READ_QUEUED) {
		drop_request(tape_io);
		return true;
	}
	ticket = reel_offload_ticket(offload, slab, true);
	if (!ticket)
		return false;
	carrier = take_carrier(offload, FARTHER * reel_reuse_distance(offload, slab));
	if (!carrier) {
		reel_ticket_enter(ticket, REEL_TICKET_FREE);
		return false;
	}
	drop_request(tape_io);
	read_slab(offload, slab, carrier, ticket);
	return true;
}

static bool for_all_tape_ios(struct reel_offload *offload,
			    bool (*visit)(struct reel_offload *, struct reel_tape_io *))
{
	/* Acquire: pairs with the release in add_tape_io() (tape-io.c). Makes the list visible. */
	struct reel_tape_io *tape_io =
		atomic_load_explicit(&offload->tape_ios, memory_order_acquire);
	bool moved = false;

	for (; tape_io; tape_io = tape_io->next)
		moved |= visit(offload, tape_io);
	return moved;
}

static bool has_awaited(struct reel_offload *offload, struct reel_tape_io *tape_io)
{
	(void)offload;
	return awaited_slab(tape_io) != NULL;
}

bool reel_read_is_awaited(struct reel_offload *offload)
{
	return for_all_tape_ios(offload, has_awaited);
}

bool reel_read_overdrawn(struct reel_offload *offload)
{
	return for_all_tape_ios(offload, read_overdrawn);
}

/* Reads at most one slab of each tape, so that no tape starves another. */
bool reel_read_round(struct reel_offload *offload)
{
	bool moved = for_all_tape_ios(offload, read_awaited);

	if (!offload->has_waiters)
		moved |= for_all_tape_ios(offload, read_requested);
	return moved;
}
