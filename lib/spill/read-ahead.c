/* SPDX-License-Identifier: MIT */
/*
 * Reads slabs back. Slabs that an owner waits for come first, beyond the budget if nothing else
 * helps. Slabs that owners have requested in advance follow while there are frames for them. All of
 * it runs in the offload thread.
 *
 * A slab is read only while it is READING; it has a frame then. Each get that was started ends in
 * reel_read_done(), which signals the owner.
 */
#include "config.h"

#include "os/annotate.h"
#include "offload.h"
#include "store/store.h"

/* Tickets that requests in advance leave to puts, and to slabs that an owner waits for. */
#define TICKETS_FOR_OTHERS 8
#define ATTEMPTS 2
/*
 * A request in advance takes the frame only of a slab whose reuse distance is at least this many
 * times larger. Otherwise slabs that were read in advance would push each other out.
 */
#define FARTHER 2

static void start(struct reel_offload *offload, struct reel_slab *slab, struct reel_ticket *ticket)
{
	struct reel_slab_io *slab_io = reel_slab_io_of(offload, slab);

	REEL_ASSERT(slab_io->stored && slab_io->stored_bytes <= slab->bytes);
	reel_offload_prepare(offload, ticket);
	ticket->transfer.bytes = slab_io->stored_bytes;
	ticket->transfer.extent = slab_io->extent;
	slab_io->reads++;
	REEL_ASSERT(slab_io->reads <= ATTEMPTS);
	reel_store_get(offload->store, &ticket->transfer);
}

static void start_first(struct reel_offload *offload, struct reel_slab *slab,
			struct reel_ticket *ticket)
{
	reel_slab_io_of(offload, slab)->reads = 0;
	offload->gets++;
	start(offload, slab, ticket);
}

/* Moves the frame from its carrier to the slab. The carrier becomes frameless. */
static void give_frame(struct reel_offload *offload, struct reel_slab *slab,
		       struct reel_slab *carrier)
{
	REEL_ASSERT(!slab->frame && carrier->frame && carrier->bytes == slab->bytes);
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

/*
 * Reads a READ_QUEUED slab into the carrier's frame. If its tape has left it, gives the frame back.
 */
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
	/* Acquire: pairs with the release in await_arrival() (slab-owner.c). */
	return atomic_load_explicit(&reel_tape_io_of(offload, slab)->awaited,
				    memory_order_acquire) == slab;
}

/*
 * A request in advance that failed: the slab stays in the store and gives its frame to others. Its
 * owner has it read again when it needs it, and may never need it. Returns false if the owner
 * waits.
 */
static bool put_back(struct reel_offload *offload, struct reel_slab *slab)
{
	struct reel_slab *carrier;

	/* An owner that comes after this look finds the slab STORED and requests it. */
	if (reel_read_is_awaited_for(offload, slab))
		return false;
	carrier = reel_supply_take_frameless(offload->pool);
	if (carrier)
		reel_evict_frame(offload, slab, carrier, REEL_SLAB_READING);
	return carrier != NULL;
}

static void lose(struct reel_offload *offload, struct reel_slab *slab, int error)
{
	reel_slab_io_of(offload, slab)->error = reel_store_error(error);
	if (!reel_slab_move(slab, REEL_SLAB_READING, REEL_SLAB_LOST))
		reel_offload_free_deferred(offload, slab);
}

static void keep(struct reel_offload *offload, struct reel_slab *slab, size_t bytes)
{
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
	/* The ticket of the first attempt is free, so there is one. */
	again = reel_offload_ticket(offload, ticket->slab, true);
	REEL_ASSERT(again);
	start(offload, ticket->slab, again);
	return true;
}

/* Looks up the tape's record first: as soon as the slab is CLEAN, its owner may free it. */
void reel_read_done(struct reel_offload *offload, struct reel_ticket *ticket)
{
	struct reel_slab *slab = ticket->slab;
	struct reel_tape_io *tape_io = reel_tape_io_of(offload, slab);
	int error = ticket->transfer.error;

	if (error) {
		atomic_fetch_add_explicit(&offload->failed_gets, 1, memory_order_relaxed);
		if (try_again(offload, ticket))
			return;
	}
	REEL_ASSERT(offload->gets > 0);
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
	/* Acquire: pairs with the release in await_arrival() (slab-owner.c). */
	struct reel_slab *slab = atomic_load_explicit(&tape_io->awaited, memory_order_acquire);

	/* The owner may have come while the slab was EVICTING, and could not request it then. */
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

/* Carves a frame without a carrier, since there may be no descriptor left. */
static bool give_fresh_frame(struct reel_offload *offload, struct reel_slab *slab)
{
	REEL_ASSERT(!slab->frame && slab->bytes == offload->pool->slab_bytes);
	slab->frame = reel_mapping_carve(offload->pool, slab->bytes);
	if (!slab->frame) {
		if (!reel_slab_move(slab, REEL_SLAB_READING, REEL_SLAB_READ_QUEUED))
			reel_offload_free_deferred(offload, slab);
		return false;
	}
	reel_budget_overdraw(offload->pool, slab->bytes);
	return true;
}

/* A pop is never refused: rather than let it wait for ever, this overdraws the budget. */
static bool read_overdrawn(struct reel_offload *offload, struct reel_tape_io *tape_io)
{
	struct reel_slab *slab = offload->gets ? NULL : awaited_slab(tape_io);
	struct reel_ticket *ticket = slab ? reel_offload_ticket(offload, slab, true) : NULL;

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

	/*
	 * Acquire: pairs with the release in request() (slab-owner.c). The entry of the ring is
	 * visible.
	 */
	if (served == atomic_load_explicit(&tape_io->requested, memory_order_acquire))
		return NULL;
	return tape_io->request[served % REEL_REQUESTS];
}

static void drop_request(struct reel_tape_io *tape_io)
{
	/* Relaxed is enough: only this thread changes `served`. */
	REEL_ASSERT(atomic_load_explicit(&tape_io->requested, memory_order_relaxed) -
			    atomic_load_explicit(&tape_io->served, memory_order_relaxed) <=
		    REEL_REQUESTS);
	reel_yield_point();
	/*
	 * Release: pairs with the acquire in requests_open() (slab-owner.c). The owner overwrites
	 * the entry only after this thread has read it.
	 */
	atomic_fetch_add_explicit(&tape_io->served, 1, memory_order_release);
}

/* A requested slab that is no longer READ_QUEUED was awaited and read, or its tape has left it. */
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
	/* Acquire: pairs with the release in add_tape_io() (tape-io.c). Each record is visible. */
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

/* Reads one slab for each tape in turn, so that no tape starves another. */
bool reel_read_round(struct reel_offload *offload)
{
	bool moved = for_all_tape_ios(offload, read_awaited);

	if (!offload->has_waiters)
		moved |= for_all_tape_ios(offload, read_requested);
	return moved;
}
