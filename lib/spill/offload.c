/* SPDX-License-Identifier: MIT */
/*
 * The offload thread: it collects finished transfers, drops copies that serve no more, reads,
 * writes, and answers the threads that wait for a frame, until nothing moves. Then it sleeps until
 * it is signalled. Functions of this file that wait are called by other threads; the rest runs in
 * the offload thread.
 *
 * A thread that waits is answered: with a frame, or with a refusal once no transfer is under way
 * that could free one. A ticket that is not FREE stands for a transfer counted in `puts` or `gets`.
 */
#include "config.h"

#include "offload.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "os/annotate.h"
#include "os/cancel.h"
#include "os/clock.h"
#include "os/os.h"
#include "os/os-thread.h"
#include "store/store.h"

/* Puts at once, if the store does not say how many it wants; and at most. */
#define PUT_DEPTH 4
#define MAX_PUTS 8
/* Copies that serve no more and lie in the store until they are dropped together. */
#define MAX_STALE 32

void reel_offload_note_stall(struct reel_offload *offload, uint64_t since)
{
	atomic_fetch_add_explicit(&offload->stalls, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&offload->stall_ns, reel_clock_ns() - since,
				  memory_order_relaxed);
}

/* ---- Tickets ---- */

/* The table of offload.h: a bit for each state that may come before. */
static const unsigned char before_ticket_state[] = {
	[REEL_TICKET_FREE] = 1u << REEL_TICKET_STARTED | 1u << REEL_TICKET_FINISHED,
	[REEL_TICKET_STARTED] = 1u << REEL_TICKET_FREE,
	[REEL_TICKET_FINISHED] = 1u << REEL_TICKET_STARTED,
};

void reel_ticket_enter(struct reel_ticket *ticket, enum reel_ticket_state state)
{
	/*
	 * Release: pairs with the acquire in collect(). What the store has written to the transfer
	 * is visible there.
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

	reel_yield_point();
	reel_ticket_enter(ticket, REEL_TICKET_FINISHED);
	reel_event_signal(&offload->work);
}

struct reel_ticket *reel_offload_ticket(struct reel_offload *offload, struct reel_slab *slab,
					bool get)
{
	struct reel_ticket *ticket = offload->ticket;

	for (; ticket < offload->ticket + REEL_TICKETS; ticket++) {
		/* Relaxed is enough: only this thread starts tickets and frees them. */
		if (atomic_load_explicit(&ticket->state, memory_order_relaxed) != REEL_TICKET_FREE)
			continue;
		REEL_ASSERT(!offload->orphaned);
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

/* A frame stays registered while slabs come and go in it, so most calls find it registered. */
static void register_frame(struct reel_offload *offload, const struct reel_slab *slab)
{
	if (offload->registers)
		reel_store_register(offload->store, slab->frame, slab->bytes);
}

void reel_offload_unregister_frame(struct reel_offload *offload, const struct reel_slab *slab)
{
	REEL_UNCANCELLED;

	if (offload->registers)
		reel_store_unregister(offload->store, slab->frame, slab->bytes);
}

void reel_offload_prepare(struct reel_offload *offload, struct reel_ticket *ticket)
{
	const struct reel_slab *slab = ticket->slab;
	const struct reel_tape_io *tape_io = reel_tape_io_of(offload, slab);
	const struct reel_slab_io *slab_io = reel_slab_io_of(offload, slab);

	REEL_ASSERT(slab->frame && slab_io->serial && slab_io->serial <= offload->last_put);
	ticket->transfer.label = (struct reel_label){
		.tape = atomic_load_explicit(&tape_io->id, memory_order_relaxed),
		.serial = slab_io->serial,
		.slab_index = slab->slab_index,
	};
	ticket->transfer.data = slab->frame;
	register_frame(offload, slab);
}

static bool collect(struct reel_offload *offload)
{
	bool moved = false;

	for (unsigned i = 0; i < REEL_TICKETS; i++) {
		struct reel_ticket *ticket = &offload->ticket[i];

		/* Acquire: pairs with the release in reel_ticket_enter(), called by finish(). */
		if (atomic_load_explicit(&ticket->state, memory_order_acquire) !=
		    REEL_TICKET_FINISHED)
			continue;
		reel_ticket_enter(ticket, REEL_TICKET_FREE);
		moved = true;
		if (ticket->get)
			reel_read_done(offload, ticket);
		else
			reel_write_done(offload, ticket);
	}
	return moved;
}

/* ---- Slabs that are given up ---- */

static bool under_way(const struct reel_offload *offload)
{
	REEL_ASSERT(offload->puts + offload->gets <= REEL_TICKETS);
	return offload->puts || offload->gets;
}

void reel_offload_forget_failures(struct reel_offload *offload)
{
	offload->failure = 0;
	offload->failed_puts_in_row = 0;
}

void reel_offload_drop_copy(struct reel_offload *offload, struct reel_slab *slab)
{
	struct reel_slab_io *slab_io = reel_slab_io_of(offload, slab);

	if (!slab_io->stored)
		return;
	REEL_ASSERT(slab_io->serial);
	slab_io->stored = false;
	reel_store_drop(offload->store, slab_io->extent);
	reel_offload_forget_failures(offload);
}

void reel_offload_free_deferred(struct reel_offload *offload, struct reel_slab *slab)
{
	REEL_ASSERT(reel_slab_state_of(slab) == REEL_SLAB_FREE_PENDING);
	reel_offload_drop_copy(offload, slab);
	slab->below = NULL;
	reel_slab_become(slab, REEL_SLAB_EMPTY);
	if (!slab->frame) {
		freelist_push(&offload->pool->frameless, slab);
		return;
	}
	reel_annotate_forbid(slab->frame, slab->bytes);
	reel_supply_give(offload->pool, REEL_SLAB_WHOLE, slab);
}

/* ---- Those who wait for a frame ---- */

bool reel_offload_await_frame(struct reel_offload *offload, bool is_large, int *error)
{
	REEL_UNCANCELLED;
	uint64_t since = reel_clock_ns();
	uint64_t freed, refused;
	bool refusal;

	if (offload->orphaned)
		return false;
	pthread_mutex_lock(&offload->lock);
	offload->waiting++;
	offload->waiting_large += is_large;
	offload->asked++;
	freed = offload->freed;
	refused = offload->refused;
	reel_event_signal(&offload->work);
	while (offload->freed == freed && offload->refused == refused)
		pthread_cond_wait(&offload->answered, &offload->lock);
	refusal = offload->freed == freed;
	if (refusal && offload->refusal)
		*error = offload->refusal;
	pthread_mutex_unlock(&offload->lock);
	reel_offload_note_stall(offload, since);
	return !refusal;
}

static bool anybody_waits(struct reel_offload *offload)
{
	bool waiting;

	pthread_mutex_lock(&offload->lock);
	waiting = offload->waiting > 0;
	offload->asked_before = offload->asked;
	pthread_mutex_unlock(&offload->lock);
	return waiting;
}

/*
 * A frame that is being given back to the system belongs to no slab and still counts as resident.
 * The thread that gives it back signals afterwards. Acquire: pairs with the release in
 * reel_pool_trim(). The room under the budget is visible then.
 */
static bool is_being_trimmed(struct reel_pool *pool)
{
	return atomic_load_explicit(&pool->trimming, memory_order_acquire) > 0;
}

/* Relaxed is enough: a woken waiter checks again by taking a slab. */
static bool frame_is_there(struct reel_offload *offload)
{
	struct reel_pool *pool = offload->pool;

	if (atomic_load_explicit(&pool->warm_chains, memory_order_relaxed))
		return true;
	return offload->waiting > offload->waiting_large && reel_budget_has_room(pool);
}

/* Requires `offload->lock`. */
static void wake_all(struct reel_offload *offload)
{
	REEL_ASSERT(offload->waiting >= offload->waiting_large);
	offload->waiting = 0;
	offload->waiting_large = 0;
	pthread_cond_broadcast(&offload->answered);
}

/*
 * Answers the threads that wait: a frame may be had, or none will come. Returns false if neither is
 * known. A thread that asked after the last round began is not refused, since no victim was looked
 * for on its behalf; nor is any thread while a trim holds frames.
 */
static bool answer(struct reel_offload *offload, bool nothing_moves)
{
	bool trimmed = is_being_trimmed(offload->pool);
	bool answered;

	pthread_mutex_lock(&offload->lock);
	if (offload->waiting && frame_is_there(offload)) {
		offload->freed++;
		wake_all(offload);
	} else if (offload->waiting && offload->asked == offload->asked_before &&
		   nothing_moves && !trimmed) {
		offload->refused++;
		offload->refusal = reel_store_error(offload->failure);
		reel_offload_forget_failures(offload);
		wake_all(offload);
	}
	answered = !offload->waiting;
	pthread_mutex_unlock(&offload->lock);
	return answered;
}

/*
 * Called when nothing moved. Returns whether another round is worth it: another thread may have
 * taken the frame that was there, or an owner may wait for it.
 */
static bool answer_waiters(struct reel_offload *offload)
{
	bool nothing_moves = offload->lacks_frame && !under_way(offload);
	bool answered;

	if (!offload->has_waiters)
		return false;
	if (nothing_moves && reel_read_overdrawn(offload))
		return true;
	answered = answer(offload, nothing_moves);
	if (offload->lacks_frame || under_way(offload))
		return false;
	return !answered || reel_read_is_awaited(offload);
}

/* ---- The thread ---- */

static bool tidy(struct reel_offload *offload, size_t most)
{
	if (atomic_load_explicit(&offload->stale, memory_order_relaxed) <= most)
		return false;
	reel_victim_drop_stale(offload);
	return true;
}

static void note_needs(struct reel_offload *offload)
{
	bool waits = anybody_waits(offload);

	offload->has_waiters = waits || reel_read_is_awaited(offload);
	/* Relaxed is enough: this thread reads it in the same round. */
	if (waits)
		atomic_store_explicit(&offload->growth_hint, true, memory_order_relaxed);
}

static void work_off(struct reel_offload *offload)
{
	bool moved;

	do {
		moved = collect(offload);
		moved |= tidy(offload, offload->failure ? 0 : MAX_STALE);
		note_needs(offload);
		moved |= reel_read_round(offload);
		moved |= reel_write_round(offload);
	} while (moved || answer_waiters(offload));
}

/* Giving a frame to the pool does not signal the offload thread, so it has to look for one. */
static bool waits_for_frame(const struct reel_offload *offload)
{
	return offload->has_waiters && offload->lacks_frame;
}

static void await_work(struct reel_offload *offload)
{
	if (!under_way(offload) && !waits_for_frame(offload))
		reel_event_wait(&offload->work);
	else if (!reel_event_wait_for(&offload->work, REEL_PATIENCE_MS) && under_way(offload))
		reel_store_sync(offload->store, 0);
}

static bool all_tickets_are_free(struct reel_offload *offload)
{
	for (unsigned i = 0; i < REEL_TICKETS; i++)
		/* Relaxed is enough: no transfer is under way. */
		if (atomic_load_explicit(&offload->ticket[i].state, memory_order_relaxed) !=
		    REEL_TICKET_FREE)
			return false;
	return true;
}

static void drain(struct reel_offload *offload)
{
	while (under_way(offload)) {
		await_work(offload);
		collect(offload);
	}
	REEL_ASSERT(all_tickets_are_free(offload));
}

/* Rests until reel_offload_resume(). Then looks for what came meanwhile. */
static void rest(struct reel_offload *offload)
{
	while (sem_wait(&offload->resumed) && errno == EINTR)
		;
	reel_event_signal(&offload->work);
}

/*
 * Carries out the command of another thread. Returns REEL_OFFLOAD_RUN if there is none to carry out
 * yet.
 */
static int obey(struct reel_offload *offload)
{
	/*
	 * Acquire: pairs with the release in command(). All that the caller did before is visible.
	 */
	int command = atomic_load_explicit(&offload->command, memory_order_acquire);

	if (command == REEL_OFFLOAD_RUN || (command == REEL_OFFLOAD_SETTLE && under_way(offload)))
		return REEL_OFFLOAD_RUN;
	drain(offload);
	tidy(offload, 0);
	reel_yield_point();
	atomic_store_explicit(&offload->command, REEL_OFFLOAD_RUN, memory_order_relaxed);
	sem_post(&offload->obeyed);
	if (command == REEL_OFFLOAD_PAUSE)
		rest(offload);
	return command;
}

static void *run(void *argument)
{
	struct reel_offload *offload = argument;

	do {
		await_work(offload);
		work_off(offload);
	} while (obey(offload) != REEL_OFFLOAD_STOP);
	return NULL;
}

/* Gives a command and waits until it was carried out. The child of a fork has no offload thread. */
static void command(struct reel_offload *offload, enum reel_offload_command command)
{
	REEL_UNCANCELLED;

	if (offload->orphaned)
		return;
	/* Release: pairs with the acquire in obey(). */
	atomic_store_explicit(&offload->command, command, memory_order_release);
	reel_yield_point();
	reel_event_signal(&offload->work);
	while (sem_wait(&offload->obeyed) && errno == EINTR)
		;
}

void reel_offload_settle(struct reel_offload *offload)
{
	command(offload, REEL_OFFLOAD_SETTLE);
}

/* A store may fork when it is called. Then the offload thread itself forks, and need not pause. */
static bool is_this_thread(const struct reel_offload *offload)
{
	return pthread_equal(offload->thread, pthread_self());
}

void reel_offload_pause(struct reel_offload *offload)
{
	if (!is_this_thread(offload))
		command(offload, REEL_OFFLOAD_PAUSE);
}

void reel_offload_resume(struct reel_offload *offload)
{
	if (!is_this_thread(offload))
		sem_post(&offload->resumed);
}

void reel_offload_orphan(struct reel_offload *offload)
{
	offload->orphaned = true;
}

/* ---- Beginning and end ---- */

static size_t slab_io_bytes(void)
{
	return reel_supply_table_bytes() / sizeof(struct reel_slab) *
	       sizeof(struct reel_slab_io);
}

/* In the child of a fork, threads that are not there may seem to wait for these: they stay. */
static void close_signals(struct reel_offload *offload)
{
	if (offload->orphaned)
		return;
	reel_event_close(&offload->work);
	sem_destroy(&offload->obeyed);
	sem_destroy(&offload->resumed);
	pthread_mutex_destroy(&offload->lock);
	pthread_cond_destroy(&offload->answered);
}

static void close_parts(struct reel_offload *offload)
{
	/* Relaxed is enough: no other thread uses the pool. */
	REEL_ASSERT(offload->orphaned ||
		    !atomic_load_explicit(&offload->tape_ios_in_use, memory_order_relaxed));
	close_signals(offload);
	reel_tape_io_free_all(offload);
	reel_os_unmap(offload->slab_io, slab_io_bytes());
	free(offload);
}

static void open_parts(struct reel_offload *offload, struct reel_pool *pool)
{
	offload->pool = pool;
	reel_event_open(&offload->work);
	sem_init(&offload->obeyed, 0, 0);
	sem_init(&offload->resumed, 0, 0);
	pthread_mutex_init(&offload->lock, NULL);
	pthread_cond_init(&offload->answered, NULL);
	offload->ranked_at = reel_clock_ns();
}

static void stop_thread(struct reel_offload *offload)
{
	if (offload->orphaned)
		return;
	command(offload, REEL_OFFLOAD_STOP);
	pthread_join(offload->thread, NULL);
	REEL_ASSERT(!offload->waiting && !under_way(offload));
}

static int use_store(struct reel_offload *offload, reel_store *store)
{
	struct reel_store_capacity capacity;

	if (reel_store_checksum_open(&offload->store, store))
		return -ENOMEM;
	reel_store_get_capacity(store, &capacity);
	offload->align = capacity.align;
	offload->registers = capacity.registers;
	offload->put_depth = capacity.best_depth ? capacity.best_depth : PUT_DEPTH;
	if (offload->put_depth > MAX_PUTS)
		offload->put_depth = MAX_PUTS;
	REEL_ASSERT(offload->align && !(offload->align & (offload->align - 1)));
	return 0;
}

static struct reel_offload *allocate(void)
{
	struct reel_offload *offload = calloc(1, sizeof *offload);

	if (!offload)
		return NULL;
	offload->slab_io = reel_os_map(slab_io_bytes(), 1);
	if (offload->slab_io)
		return offload;
	free(offload);
	return NULL;
}

/* The thread starts before the store is there, and looks at it when it is first signalled. */
int reel_offload_open(struct reel_pool *pool, reel_store *store)
{
	struct reel_offload *offload = allocate();

	if (!offload)
		return -ENOMEM;
	open_parts(offload, pool);
	if (reel_os_thread_start(&offload->thread, run, offload, "reel-offload"))
		goto no_thread;
	if (use_store(offload, store))
		goto no_store;
	pool->reclaimer = offload;
	return 0;

no_store:
	stop_thread(offload);
no_thread:
	close_parts(offload);
	return -ENOMEM;
}

/* Closes the store first, since one of its threads may still be in finish(). */
void reel_offload_close(struct reel_offload *offload)
{
	stop_thread(offload);
	reel_store_close(offload->store);
	close_parts(offload);
}
