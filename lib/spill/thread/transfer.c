/* SPDX-License-Identifier: MIT */
/*
 * Transfers of slabs. A whole slab travels in one piece. A large slab travels in pieces of the size
 * of a whole slab, several at a time, each with a ticket and an extent of its own. The offload
 * thread runs these functions, but a thread of the store runs finish(). `puts` and `gets` count the
 * busy tickets. While a slab is WRITING or READING at least one of its pieces is under way.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/cancel.h"
#include "os/integer.h"
#include "os/os.h"
#include "store/store.h"
#include "transfer.h"

/* Number of times that a piece is sent before its slab counts as lost, or stays in memory. */
#define ATTEMPTS 2
/* The location of a piece that is not in the store: a store's locations are below 2^56. */
#define NOWHERE UINT64_MAX

/* ---- Tickets ---- */

/* The table of offload.h: a bit for each state that may precede. */
static const unsigned char before_ticket_state[] = {
	[REEL_TICKET_FREE] = 1u << REEL_TICKET_STARTED | 1u << REEL_TICKET_FINISHED,
	[REEL_TICKET_STARTED] = 1u << REEL_TICKET_FREE,
	[REEL_TICKET_FINISHED] = 1u << REEL_TICKET_STARTED,
};

void reel_ticket_enter(struct reel_ticket *ticket, enum reel_ticket_state state)
{
	/*
	 * Release: pairs with the acquire in reel_transfers_collect(). Makes the result of the
	 * transfer visible.
	 */
	enum reel_ticket_state before =
		atomic_exchange_explicit(&ticket->state, state, memory_order_release);

	REEL_ASSERT(before_ticket_state[state] >> before & 1);
	(void)before;
	(void)before_ticket_state;
}

static void finish(reel_transfer *transfer)
{
	struct reel_ticket *ticket = transfer->context;
	struct reel_offload *offload = ticket->offload;

	REEL_ASSERT(&ticket->transfer == transfer);
	reel_yield_point();
	reel_ticket_enter(ticket, REEL_TICKET_FINISHED);
	reel_wakeup_signal(&offload->work);
}

static bool is_busy(const struct reel_ticket *ticket)
{
	/* Relaxed: only the offload thread starts tickets and frees them. */
	return atomic_load_explicit(&ticket->state, memory_order_relaxed) != REEL_TICKET_FREE;
}

static unsigned count_busy(const struct reel_offload *offload)
{
	unsigned busy = 0;

	for (unsigned i = 0; i < REEL_TICKETS; i++)
		busy += is_busy(&offload->ticket[i]);
	return busy;
}

struct reel_ticket *reel_offload_ticket(struct reel_offload *offload, struct reel_slab *slab,
					bool get)
{
	struct reel_ticket *ticket = offload->ticket;

	for (; ticket < offload->ticket + REEL_TICKETS; ticket++) {
		if (is_busy(ticket))
			continue;
		reel_ticket_enter(ticket, REEL_TICKET_STARTED);
		ticket->get = get;
		ticket->slab = slab;
		ticket->offload = offload;
		ticket->transfer.done = finish;
		ticket->transfer.context = ticket;
		return ticket;
	}
	return NULL;
}

/* ---- Frames that a store has to know ---- */

/* A frame stays registered while slabs come and go in it, so most calls change nothing. */
static void register_frame(struct reel_offload *offload, const struct reel_slab *slab)
{
	REEL_ASSERT(slab->frame);
	if (offload->registers)
		reel_store_register(offload->store, slab->frame, slab->bytes);
}

void reel_offload_unregister_frame(struct reel_offload *offload, const struct reel_slab *slab)
{
	REEL_UNCANCELLED;

	REEL_ASSERT(slab->frame && reel_slab_state_of(slab) == REEL_SLAB_EMPTY);
	if (offload->registers)
		reel_store_unregister(offload->store, slab->frame, slab->bytes);
}

/* ---- Pieces ---- */

/* Number of pieces of the copy; one if it is empty. */
static uint32_t count_pieces(const struct reel_offload *offload, const struct reel_slab_io *slab_io)
{
	size_t slab_bytes = offload->pool->slab_bytes;
	size_t body = slab_io->stored_bytes - slab_io->head - slab_io->tail;
	size_t pieces = (body + slab_bytes - 1) / slab_bytes + (slab_io->head > 0) +
			(slab_io->tail > 0);

	return pieces ? (uint32_t)pieces : 1;
}

static struct reel_piece *piece_of(struct reel_slab_io *slab_io, uint32_t piece)
{
	REEL_ASSERT(slab_io->pieces || piece == 0);
	return slab_io->pieces ? &slab_io->pieces[piece] : &slab_io->piece;
}

/* Describes a piece: its label, and its part of the frame or of the staged bytes. */
static void describe(const struct reel_offload *offload, const struct reel_slab *slab,
		     const struct reel_slab_io *slab_io, uint32_t piece, reel_transfer *transfer)
{
	size_t slab_bytes = offload->pool->slab_bytes, head = slab_io->head;
	size_t tail_begin = slab_io->stored_bytes - slab_io->tail;
	size_t begin = 0, bytes = head;
	char *staged = slab_io->staged;

	if (piece > 0 || !head) {
		begin = head + (piece - (head > 0)) * slab_bytes;
		/* Mutants survive (arithmetic): a longer piece also lies within the frame. */
		bytes = reel_min_size(tail_begin - begin, slab_bytes);
		staged = NULL;
	}
	if (slab_io->tail && begin >= tail_begin) {
		begin = tail_begin;
		bytes = slab_io->tail;
		staged = slab_io->staged ? slab_io->staged + head : NULL;
	}
	REEL_ASSERT(begin == 0 || begin < slab_io->stored_bytes);
	transfer->label = slab_io->label;
	/* Mutants survive (constant): any number that differs from piece to piece will do. */
	transfer->label.slab_index |= (uint64_t)piece << 32;
	transfer->data = staged ? staged : slab->frame + begin;
	transfer->bytes = bytes;
	REEL_ASSERT(transfer->bytes % offload->align == 0);
}

/* The states of a slab that has tickets. The owner may move it between them. */
static bool is_in_transfer(const struct reel_slab *slab)
{
	enum reel_slab_state state = reel_slab_state_of(slab);

	return state == REEL_SLAB_WRITING || state == REEL_SLAB_PINNED_WRITING ||
	       state == REEL_SLAB_READING || state == REEL_SLAB_FREE_PENDING;
}

static void send_ticket(struct reel_offload *offload, struct reel_ticket *ticket)
{
	struct reel_slab *slab = ticket->slab;
	struct reel_slab_io *slab_io = reel_slab_io_of(offload, slab);
	reel_transfer *transfer = &ticket->transfer;

	REEL_ASSERT(is_in_transfer(slab) && reel_slab_spills(offload->pool, slab));
	REEL_ASSERT(slab_io->label.serial > 0 && slab_io->label.serial <= offload->last_put);
	describe(offload, slab, slab_io, ticket->piece, transfer);
	ticket->since = reel_trace_begin();
	if (ticket->get) {
		transfer->extent = piece_of(slab_io, ticket->piece)->extent;
		reel_store_get(offload->store, transfer);
	} else {
		transfer->layout = slab_io->layout;
		reel_store_put(offload->store, transfer);
	}
}

/* The number of pieces that are got now, or put. */
static unsigned *under_way(struct reel_offload *offload, bool get)
{
	return get ? &offload->gets : &offload->puts;
}

static void start_piece(struct reel_offload *offload, struct reel_ticket *ticket)
{
	struct reel_slab_io *slab_io = reel_slab_io_of(offload, ticket->slab);

	REEL_ASSERT(slab_io->started < count_pieces(offload, slab_io));
	ticket->piece = slab_io->started++;
	ticket->attempts = 1;
	slab_io->moving++;
	++*under_way(offload, ticket->get);
	send_ticket(offload, ticket);
}

static bool may_start(struct reel_offload *offload, bool get)
{
	/* Mutants survive (condition, comparison): limits change the time only. */
	return *under_way(offload, get) < (get ? REEL_MAX_GETS : offload->put_depth);
}

/*
 * After a failure, or if the owner frees the slab, the other pieces are not needed. Otherwise one
 * piece is always under way, whose end starts the next one.
 */
static void start_more(struct reel_offload *offload, struct reel_slab *slab, bool get)
{
	struct reel_slab_io *slab_io = reel_slab_io_of(offload, slab);

	while (slab_io->started < count_pieces(offload, slab_io) && !slab_io->failure &&
	       reel_slab_state_of(slab) != REEL_SLAB_FREE_PENDING &&
	       (!slab_io->moving || may_start(offload, get))) {
		struct reel_ticket *ticket = reel_offload_ticket(offload, slab, get);

		if (!ticket)
			break;
		start_piece(offload, ticket);
	}
}

static void start(struct reel_offload *offload, struct reel_ticket *ticket)
{
	struct reel_slab *slab = ticket->slab;
	struct reel_slab_io *slab_io = reel_slab_io_of(offload, slab);
	bool get = ticket->get;

	REEL_ASSERT(!slab_io->moving);
	slab_io->started = 0;
	slab_io->failure = 0;
	register_frame(offload, slab);
	start_piece(offload, ticket);
	start_more(offload, slab, get);
}

/*
 * Each ticket has a stage. A short slab that lay in lent memory is copied to the stage and put from
 * there, and is got into the stage and copied to its frame. For the stage has huge pages, while
 * lent memory and short frames have small ones: a disk's request has a limited number of pages, so
 * it is slower with small ones. A stage has room for half a slab that begins anywhere in a page.
 */
static size_t stage_bytes(const struct reel_offload *offload)
{
	return reel_round_up(offload->pool->slab_bytes / 2, reel_os_page_bytes()) +
	       reel_os_page_bytes();
}

static size_t stages_bytes(const struct reel_offload *offload)
{
	return REEL_TICKETS * stage_bytes(offload);
}

/* stage() makes all of a short slab its head, and only such a slab travels through a stage. */
static bool uses_stage(const struct reel_slab_io *slab_io)
{
	return slab_io->head && slab_io->head == slab_io->stored_bytes;
}

/*
 * The stages are mapped when the first one is needed. A ticket that never uses its stage costs
 * addresses only. NULL: the system has no memory for them.
 */
static char *stage_of(struct reel_offload *offload, const struct reel_ticket *ticket)
{
	REEL_ASSERT(reel_slab_io_of(offload, ticket->slab)->stored_bytes <= stage_bytes(offload));
	if (!offload->stages) {
		offload->stages = reel_os_map(stages_bytes(offload), REEL_HUGE_PAGE);
		if (offload->stages && !(offload->pool->flags & REEL_POOL_SMALL_PAGES))
			reel_os_want_huge_pages(offload->stages, stages_bytes(offload));
	}
	if (!offload->stages)
		return NULL;
	return offload->stages + (size_t)(ticket - offload->ticket) * stage_bytes(offload);
}

/* The stages stay until the offload thread is closed. */
static void free_staged(struct reel_slab_io *slab_io)
{
	if (!uses_stage(slab_io))
		free(slab_io->staged);
	slab_io->staged = NULL;
}

/* Copies `bytes` bytes to `to`, with zeros before and behind them: `room` bytes in all. */
static void copy_amid_zeros(char *to, size_t room, size_t before, const char *from, size_t bytes)
{
	REEL_ASSERT(before + bytes <= room);
	memset(to, 0, before);
	memcpy(to + before, from, bytes);
	memset(to + before + bytes, 0, room - before - bytes);
}

/*
 * Lent memory may begin and end within pages that hold other data of the program, and a store wants
 * an alignment. So the bytes in these two pages are copied, and travel as pieces of their own: the
 * head and the tail. All of a short one is its head: several pieces would take longer than a copy.
 * False: no memory for the copy.
 */
static bool stage(struct reel_offload *offload, const struct reel_ticket *ticket,
		  struct reel_slab_io *slab_io)
{
	size_t page = reel_os_page_bytes(), stored_bytes = slab_io->stored_bytes;
	size_t filled = slab_io->filled, before, after;
	const struct reel_slab *slab = ticket->slab;
	void *staged = NULL;

	REEL_ASSERT(!slab_io->staged);
	slab_io->head = slab_io->tail = 0;
	if (!reel_slab_is_lent(slab))
		return true;
	before = (size_t)(slab->lent - slab->frame);
	after = filled % page;
	if (!before && !after)
		return true;
	if (stored_bytes <= stage_bytes(offload)) {
		slab_io->head = stored_bytes;
	} else {
		slab_io->head = before ? page : 0;
		slab_io->tail = after ? stored_bytes - (filled - after) : 0;
	}
	if (uses_stage(slab_io))
		staged = stage_of(offload, ticket);
	else if (posix_memalign(&staged, page, slab_io->head + slab_io->tail))
		staged = NULL;
	if (!staged)
		return false;
	slab_io->staged = staged;
	if (slab_io->head)
		copy_amid_zeros(slab_io->staged, slab_io->head, before, slab->lent,
				reel_min_size(slab_io->head, filled) - before);
	if (slab_io->tail)
		copy_amid_zeros(slab_io->staged + slab_io->head, slab_io->tail, 0,
				slab->frame + filled - after, after);
	return true;
}

void reel_pieces_put(struct reel_offload *offload, struct reel_ticket *ticket)
{
	struct reel_slab_io *slab_io = reel_slab_io_of(offload, ticket->slab);
	bool is_staged = stage(offload, ticket, slab_io);
	uint32_t pieces = count_pieces(offload, slab_io);

	REEL_ASSERT(!slab_io->stored && !slab_io->pieces);
	slab_io->pieces = is_staged && pieces > 1 ? calloc(pieces, sizeof *slab_io->pieces) : NULL;
	if (!is_staged || (pieces > 1 && !slab_io->pieces)) {
		/* Without memory for its pieces the first piece fails, and with it the slab. */
		slab_io->started = slab_io->moving = 1;
		offload->puts++;
		ticket->piece = 0;
		slab_io->piece.extent.location = NOWHERE;
		slab_io->failure = -ENOMEM;
		ticket->since = reel_trace_begin();
		ticket->transfer.label = slab_io->label;
		ticket->transfer.bytes = 0;
		reel_transfer_complete(&ticket->transfer, -ENOMEM);
		return;
	}
	for (uint32_t i = 0; i < pieces; i++)
		piece_of(slab_io, i)->extent.location = NOWHERE;
	start(offload, ticket);
}

void reel_pieces_get(struct reel_offload *offload, struct reel_ticket *ticket)
{
	struct reel_slab_io *slab_io = reel_slab_io_of(offload, ticket->slab);

	REEL_ASSERT(slab_io->stored && !slab_io->staged);
	if (uses_stage(slab_io))
		slab_io->staged = stage_of(offload, ticket);
	start(offload, ticket);
}

void reel_pieces_drop(struct reel_offload *offload, struct reel_slab *slab)
{
	struct reel_slab_io *slab_io = reel_slab_io_of(offload, slab);
	uint32_t pieces = slab_io->pieces ? count_pieces(offload, slab_io) : 1;

	REEL_ASSERT(!slab_io->moving);
	for (uint32_t i = 0; i < pieces; i++) {
		struct reel_extent *extent = &piece_of(slab_io, i)->extent;

		if (extent->location != NOWHERE)
			reel_store_drop(offload->store, *extent);
		extent->location = NOWHERE;
	}
	/* Mutants survive (statement): ASan alone sees the leak. */
	free(slab_io->pieces);
	slab_io->pieces = NULL;
}

bool reel_pieces_differ(struct reel_offload *offload, struct reel_slab *slab)
{
	struct reel_slab_io *slab_io = reel_slab_io_of(offload, slab);
	uint32_t pieces = count_pieces(offload, slab_io), same = 0;

	REEL_ASSERT(reel_slab_state_of(slab) == REEL_SLAB_PINNED && slab_io->stored);
	/* The rest of a page that holds other data of the program may have changed. */
	if (reel_slab_is_lent(slab))
		return true;
	while (same < pieces) {
		reel_transfer transfer;

		describe(offload, slab, slab_io, same, &transfer);
		if (reel_checksum_of_put(&transfer) != piece_of(slab_io, same)->checksum)
			break;
		same++;
	}
	return same < pieces;
}

void reel_pieces_free_all(struct reel_offload *offload)
{
	size_t slabs = reel_slab_count(offload);

	/* Mutants survive (constant): ASan alone sees the leak. */
	for (size_t i = 0; i < slabs; i++) {
		free(offload->slab_io[i].pieces);
		free_staged(&offload->slab_io[i]);
	}
	if (offload->stages)
		reel_os_unmap(offload->stages, stages_bytes(offload));
}

static void trace_transfer(const struct reel_offload *offload, const struct reel_ticket *ticket)
{
	const reel_transfer *transfer = &ticket->transfer;
	enum reel_trace_kind kind = ticket->get ? REEL_TRACE_GET : REEL_TRACE_PUT;

	REEL_ASSERT(ticket >= offload->ticket && ticket < offload->ticket + REEL_TICKETS);
	if (transfer->error)
		kind = ticket->get ? REEL_TRACE_FAILED_GET : REEL_TRACE_FAILED_PUT;
	REEL_TRACE_UNTIL(reel_clock_ns(), kind, ticket->since, ticket - offload->ticket,
			 offload->pool->number, (int64_t)transfer->label.tape,
			 (uint32_t)transfer->label.slab_index, (int64_t)transfer->bytes,
			 transfer->error ? transfer->error : (int64_t)transfer->extent.bytes);
}

static void count_transfer(struct reel_offload *offload, const struct reel_ticket *ticket)
{
	const reel_transfer *transfer = &ticket->transfer;

	trace_transfer(offload, ticket);
	if (transfer->error) {
		atomic_fetch_add_explicit(ticket->get ? &offload->failed_gets
						      : &offload->failed_puts,
					  1, memory_order_relaxed);
	} else if (ticket->get) {
		atomic_fetch_add_explicit(&offload->read_bytes, transfer->bytes,
					  memory_order_relaxed);
	} else {
		atomic_fetch_add_explicit(&offload->written_bytes, transfer->bytes,
					  memory_order_relaxed);
		atomic_fetch_add_explicit(&offload->stored_bytes, transfer->extent.bytes,
					  memory_order_relaxed);
	}
}

/*
 * A get is tried again because the bytes in the store may be right although the transfer damaged
 * them. A put is tried again if other pieces would be given up with this one; a slab of one piece
 * stays in memory instead, and another slab is put.
 */
static bool try_again(struct reel_offload *offload, struct reel_ticket *ticket)
{
	const struct reel_slab_io *slab_io = reel_slab_io_of(offload, ticket->slab);

	if (!ticket->transfer.error || (!ticket->get && !slab_io->pieces) ||
	    ticket->attempts == ATTEMPTS ||
	    reel_slab_state_of(ticket->slab) == REEL_SLAB_FREE_PENDING)
		return false;
	ticket->attempts++;
	reel_ticket_enter(ticket, REEL_TICKET_STARTED);
	send_ticket(offload, ticket);
	return true;
}

/* Takes the result of one piece. If it was the last one under way, the slab moves on. */
static void end_piece(struct reel_offload *offload, struct reel_ticket *ticket,
		      reel_transfer_end *end)
{
	struct reel_slab *slab = ticket->slab;
	struct reel_slab_io *slab_io = reel_slab_io_of(offload, slab);
	bool get = ticket->get;

	REEL_ASSERT(is_in_transfer(slab) && slab_io->moving > 0);
	count_transfer(offload, ticket);
	if (try_again(offload, ticket))
		return;
	REEL_ASSERT(*under_way(offload, get) > 0);
	--*under_way(offload, get);
	slab_io->moving--;
	if (ticket->transfer.error)
		slab_io->failure = ticket->transfer.error;
	else if (!get)
		*piece_of(slab_io, ticket->piece) = (struct reel_piece){
			ticket->transfer.extent, reel_transfer_checksum(&ticket->transfer)};
	start_more(offload, slab, get);
	if (slab_io->moving)
		return;
	if (get && slab_io->staged && !slab_io->failure)
		memcpy(slab->frame, slab_io->staged, slab_io->stored_bytes);
	free_staged(slab_io);
	end(offload, slab, get, slab_io->failure);
}

bool reel_transfers_collect(struct reel_offload *offload, reel_transfer_end *end)
{
	bool moved = false;

	for (unsigned i = 0; i < REEL_TICKETS; i++) {
		struct reel_ticket *ticket = &offload->ticket[i];

		/*
		 * Acquire: pairs with the release in reel_ticket_enter(), called by finish(). Makes
		 * the result of the transfer visible.
		 */
		if (atomic_load_explicit(&ticket->state, memory_order_acquire) !=
		    REEL_TICKET_FINISHED)
			continue;
		reel_ticket_enter(ticket, REEL_TICKET_FREE);
		end_piece(offload, ticket, end);
		/* Mutants survive (statement, constant): the next event makes up for it. */
		moved = true;
	}
	REEL_ASSERT_EXPENSIVE(count_busy(offload) == offload->puts + offload->gets);
	return moved;
}
