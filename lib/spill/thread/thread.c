/* SPDX-License-Identifier: MIT */
/*
 * The offload thread: its beginning, its rounds, the commands that it obeys, and its end. Any other
 * thread may settle or pause it.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "copy.h"
#include "os/cancel.h"
#include "os/clock.h"
#include "os/os.h"
#include "os/os-thread.h"
#include "pressure.h"
#include "read-ahead.h"
#include "spill/owner/demand.h"
#include "store/store.h"
#include "thread.h"
#include "transfer.h"
#include "waiting.h"
#include "write-back.h"

/* Number of puts under way: the default for a store that names none, and the maximum. */
/* Mutants survive (constant): the number of puts under way changes the time only. */
#define PUT_DEPTH 4
#define MAX_PUTS 16

/*
 * Called when a round has moved nothing. True: another round is useful, because another thread may
 * have taken the frame that was there, or it came after the look for one: for an owner that waits
 * in a pop, or for a thread that has asked for a slab.
 */
static bool answer_waiters(struct reel_offload *offload)
{
	bool nothing_moves = offload->lacks_frame && !reel_transfers_are_under_way(offload);
	bool answered;

	if (!offload->has_waiters)
		return false;
	if (nothing_moves && reel_read_overdrawn(offload))
		return true;
	answered = reel_offload_answer(offload, nothing_moves);
	if (offload->lacks_frame || reel_transfers_are_under_way(offload))
		return false;
	return !answered || reel_read_is_awaited(offload) ||
	       (offload->is_hurried && reel_read_is_hurried(offload));
}

/* ---- The thread ---- */

/* Maximum number of stale copies in the store. */
#define MAX_STALE 32

/*
 * A full store may have room for the next put if it drops stale copies, and the store of a tier may
 * be made for the exact number of its states.
 */
static size_t most_stale(const struct reel_offload *offload)
{
	return reel_offload_failure(offload) || offload->pool->parent ? 0 : MAX_STALE;
}

static void end_transfer(struct reel_offload *offload, struct reel_slab *slab, bool get, int error)
{
	if (get)
		reel_read_done(offload, slab, error);
	else
		reel_write_done(offload, slab, error);
}

static bool tidy(struct reel_offload *offload, size_t most)
{
	if (atomic_load_explicit(&offload->stale, memory_order_relaxed) <= most)
		return false;
	reel_offload_drop_stale(offload);
	return true;
}

static void note_needs(struct reel_offload *offload)
{
	bool waits = reel_offload_has_waiting(offload);
	bool is_needed = waits || reel_read_is_awaited(offload);

	offload->is_hurried = !is_needed && reel_read_is_hurried(offload);
	offload->has_waiters = is_needed || offload->is_hurried;
	/* Relaxed: this thread reads the hint in the same round. */
	if (waits)
		atomic_store_explicit(&offload->growth_hint, true, memory_order_relaxed);
}

static void work_off(struct reel_offload *offload)
{
	bool moved;

	do {
		moved = reel_transfers_collect(offload, end_transfer);
		moved |= tidy(offload, most_stale(offload));
		note_needs(offload);
		moved |= reel_read_round(offload);
		moved |= reel_write_round(offload);
		moved |= reel_pressure_relieve(offload);
	} while (moved || answer_waiters(offload));
}

/* Giving a frame to the pool does not wake the offload thread, so it looks at intervals. */
static bool waits_for_frame(const struct reel_offload *offload)
{
	return offload->has_waiters && offload->lacks_frame;
}

/* With a trigger for memory pressure, the thread looks at it at long intervals. */
static void await_change(struct reel_offload *offload)
{
	uint32_t look_after = reel_pressure_look_after(offload);

	if (look_after)
		reel_wakeup_wait_for(&offload->work, look_after);
	else
		reel_wakeup_wait(&offload->work);
}

static void await_work(struct reel_offload *offload)
{
	if (!reel_transfers_are_under_way(offload) && !waits_for_frame(offload))
		await_change(offload);
	else if (!reel_wakeup_wait_for(&offload->work, REEL_PATIENCE_MS) &&
		 reel_transfers_are_under_way(offload))
		reel_store_sync(offload->store, 0);
}

static void drain(struct reel_offload *offload)
{
	while (reel_transfers_are_under_way(offload)) {
		await_work(offload);
		reel_transfers_collect(offload, end_transfer);
	}
	REEL_ASSERT(!offload->puts && !offload->gets);
}

/* Sleeps until it is resumed. The signal starts a round, which sees all changes since. */
static void rest(struct reel_offload *offload)
{
	while (sem_wait(&offload->resumed) && errno == EINTR)
		;
	reel_wakeup_signal(&offload->work);
}

/* Returns the command that was obeyed. */
static int obey(struct reel_offload *offload)
{
	/* Acquire: pairs with the release in command(). Makes the caller's writes visible. */
	int command = atomic_load_explicit(&offload->command, memory_order_acquire);

	if (command == REEL_OFFLOAD_RUN ||
	    (command == REEL_OFFLOAD_SETTLE && reel_transfers_are_under_way(offload)))
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

	reel_pool_forbid_waits();
	/* Waits without a limit: before the first signal the pool and its store are incomplete. */
	reel_wakeup_wait(&offload->work);
	for (;;) {
		reel_pressure_look(offload);
		work_off(offload);
		if (obey(offload) == REEL_OFFLOAD_STOP)
			return NULL;
		await_work(offload);
	}
}

/* Waits until the offload thread has obeyed. The child of a fork has none. */
static void command(struct reel_offload *offload, enum reel_offload_command command)
{
	REEL_UNCANCELLED;

	if (offload->orphaned)
		return;
	REEL_ASSERT(!reel_offload_is_this_thread(offload));
	pthread_mutex_lock(&offload->commanding);
	/* Release: pairs with the acquire in obey(). Makes this thread's writes visible. */
	atomic_store_explicit(&offload->command, command, memory_order_release);
	reel_yield_point();
	reel_wakeup_signal(&offload->work);
	while (sem_wait(&offload->obeyed) && errno == EINTR)
		;
	pthread_mutex_unlock(&offload->commanding);
}

/*
 * The offload thread looks for room for a large slab by a trim. It would wake itself with each trim
 * in vain, and never sleep.
 */
void reel_offload_wake(struct reel_offload *offload)
{
	if (!reel_offload_is_this_thread(offload))
		reel_wakeup_signal(&offload->work);
}

void reel_offload_settle(struct reel_offload *offload)
{
	command(offload, REEL_OFFLOAD_SETTLE);
}

/* A store may fork while the offload thread calls it. Then that thread need not pause. */
void reel_offload_pause(struct reel_offload *offload)
{
	if (!reel_offload_is_this_thread(offload))
		command(offload, REEL_OFFLOAD_PAUSE);
}

void reel_offload_resume(struct reel_offload *offload)
{
	if (!reel_offload_is_this_thread(offload))
		sem_post(&offload->resumed);
}

void reel_offload_orphan(struct reel_offload *offload)
{
	offload->orphaned = true;
	/* Mutants survive (statement): the child does not use the file that stays open. */
	reel_pressure_close(offload);
}

/* ---- Beginning and end ---- */

static size_t slab_io_bytes(void)
{
	return reel_supply_table_bytes() / sizeof(struct reel_slab) *
	       sizeof(struct reel_slab_io);
}

/* In the child of a fork, threads of the parent may seem to wait for these objects. */
static void close_signals(struct reel_offload *offload)
{
	if (offload->orphaned)
		return;
	reel_wakeup_close(&offload->work);
	sem_destroy(&offload->obeyed);
	sem_destroy(&offload->resumed);
	pthread_mutex_destroy(&offload->commanding);
	reel_offload_close_waiting(offload);
}

/* Mutants survive (statement): ASan alone sees the leak. */
static void close_parts(struct reel_offload *offload)
{
	close_signals(offload);
	reel_pressure_close(offload);
	reel_demand_free_all(offload);
	reel_pieces_free_all(offload);
	reel_os_unmap(offload->slab_io, slab_io_bytes());
	free(offload);
}

/*
 * Mutants survive (constant, statement): glibc initialises these objects to zero, and a semaphore
 * may be shared. `ranked_at` says only when victims are ranked next.
 */
static void open_parts(struct reel_offload *offload, struct reel_pool *pool)
{
	offload->pool = pool;
	reel_wakeup_open(&offload->work);
	sem_init(&offload->obeyed, 0, 0);
	sem_init(&offload->resumed, 0, 0);
	pthread_mutex_init(&offload->commanding, NULL);
	reel_offload_open_waiting(offload);
	offload->ranked_at = reel_clock_ns();
	reel_pressure_open(offload);
}

static void stop_thread(struct reel_offload *offload)
{
	if (offload->orphaned)
		return;
	command(offload, REEL_OFFLOAD_STOP);
	pthread_join(offload->thread, NULL);
	/* A thread of the store that has completed a transfer may still be about to signal. */
	if (offload->store)
		reel_store_sync(offload->store, -1);
	REEL_ASSERT(!offload->puts && !offload->gets);
}

static int use_store(struct reel_offload *offload, reel_store *store)
{
	struct reel_store_capacity capacity;

	if (reel_store_checksum_open(&offload->store, store))
		return -ENOMEM;
	offload->checks = offload->store != store;
	reel_store_get_capacity(offload->store, &capacity);
	/* A store that run options name may leave it 0; a pool's store may not. */
	offload->align = capacity.align ? capacity.align : 1;
	offload->registers = capacity.registers;
	offload->put_depth = capacity.best_depth ? capacity.best_depth : PUT_DEPTH;
	if (offload->put_depth > MAX_PUTS)
		offload->put_depth = MAX_PUTS;
	return 0;
}

/* The thread starts first; it does not use the store before its first signal. */
int reel_offload_open(struct reel_pool *pool, reel_store *store)
{
	struct reel_offload *offload = calloc(1, sizeof *offload);
	int error;

	REEL_ASSERT(!pool->reclaimer);
	if (!offload)
		return -ENOMEM;
	offload->slab_io = reel_os_map(slab_io_bytes(), 1);
	if (!offload->slab_io) {
		free(offload);
		return -ENOMEM;
	}
	open_parts(offload, pool);
	error = reel_os_thread_start(&offload->thread, run, offload, "reel-offload");
	if (!error && use_store(offload, store)) {
		stop_thread(offload);
		error = -ENOMEM;
	}
	if (error)
		close_parts(offload);
	else
		pool->reclaimer = offload;
	return error;
}

/* Closes the store first: a thread of the store may still signal. */
void reel_offload_close(struct reel_offload *offload, bool closes_store)
{
	stop_thread(offload);
	/* Each slab that was counted here has left its state. */
	/* Relaxed: the offload thread has ended, and no other thread uses the pool. */
	REEL_ASSERT(offload->orphaned ||
		    (!atomic_load_explicit(&offload->dirty_bytes, memory_order_relaxed) &&
		     !atomic_load_explicit(&offload->clean, memory_order_relaxed)));
	if (closes_store)
		reel_store_close(offload->store);
	else if (offload->checks)
		reel_store_checksum_leave(offload->store);
	close_parts(offload);
}
