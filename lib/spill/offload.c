/* SPDX-License-Identifier: MIT */
/*
 * The offload thread: its rounds, and the threads that wait for a frame. It runs most of these
 * functions itself; any thread may wait, settle or pause. Each waiting thread gets an answer: a
 * frame, or a refusal when nothing moves.
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

/* Number of puts under way: the default for a store that names none, and the maximum. */
/* Mutants survive (constant): the number of puts under way changes the time only. */
#define PUT_DEPTH 4
#define MAX_PUTS 8

void reel_offload_note_stall(struct reel_offload *offload, enum reel_trace_kind kind,
			     uint64_t since)
{
	uint64_t now = reel_clock_ns();

	REEL_ASSERT(now >= since);
	atomic_fetch_add_explicit(&offload->stalls, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&offload->stall_ns, now - since, memory_order_relaxed);
	REEL_TRACE_UNTIL(now, kind, since, offload->pool->number);
}

/* ---- Slabs that are given up ---- */

void reel_offload_forget_failures(struct reel_offload *offload)
{
	atomic_store_explicit(&offload->failure, 0, memory_order_relaxed);
	offload->failed_puts_in_row = 0;
}

void reel_offload_drop_copy(struct reel_offload *offload, struct reel_slab *slab)
{
	struct reel_slab_io *slab_io = reel_slab_io_of(offload, slab);

	if (!slab_io->stored)
		return;
	REEL_ASSERT(!reel_slab_needs_copy(reel_slab_state_of(slab)));
	slab_io->stored = false;
	atomic_fetch_sub_explicit(&offload->in_store_bytes, slab_io->stored_bytes,
				  memory_order_relaxed);
	reel_pieces_drop(offload, slab);
	reel_offload_forget_failures(offload);
}

void reel_offload_free_deferred(struct reel_offload *offload, struct reel_slab *slab)
{
	REEL_ASSERT(reel_slab_state_of(slab) == REEL_SLAB_FREE_PENDING);
	REEL_ASSERT(reel_slab_spills(offload->pool, slab));
	reel_offload_drop_copy(offload, slab);
	slab->below = NULL;
	reel_slab_become(slab, REEL_SLAB_EMPTY);
	if (!slab->frame) {
		freelist_push(&offload->pool->frameless, slab);
		return;
	}
	reel_annotate_forbid(slab->frame, slab->bytes);
	reel_supply_give(offload->pool, slab->kind, slab);
}

/* ---- Threads that wait for a frame ---- */

bool reel_offload_is_this_thread(const struct reel_offload *offload)
{
	return pthread_equal(offload->thread, pthread_self());
}

bool reel_offload_await_frame(struct reel_offload *offload, bool needs_eviction, int *error)
{
	REEL_UNCANCELLED;
	uint64_t since = reel_clock_ns();
	uint64_t freed, refused;
	bool refusal;

	if (offload->orphaned) {
		/* The hard budget would have room if the store of the parent could be used. */
		if (*error == -EDQUOT)
			*error = -ECHILD;
		return false;
	}
	REEL_ASSERT(!reel_offload_is_this_thread(offload));
	pthread_mutex_lock(&offload->lock);
	offload->waiting++;
	offload->waiting_for_eviction += needs_eviction;
	offload->asked++;
	freed = offload->freed;
	refused = offload->refused;
	reel_wakeup_signal(&offload->work);
	while (offload->freed == freed && offload->refused == refused)
		pthread_cond_wait(&offload->answered, &offload->lock);
	refusal = offload->freed == freed;
	if (refusal && offload->refusal)
		*error = offload->refusal;
	pthread_mutex_unlock(&offload->lock);
	reel_offload_note_stall(offload, REEL_TRACE_WAIT_FOR_MEMORY, since);
	return !refusal;
}

/* ---- Threads that wait for puts ---- */

static bool has_more_to_put(const struct reel_offload *offload, size_t most)
{
	/* Acquire: pairs with the release in write_farthest() (write-back.c), so it comes first. */
	size_t dirty = atomic_load_explicit(&offload->dirty_bytes, memory_order_acquire);
	size_t writing = atomic_load_explicit(&offload->writing_bytes, memory_order_relaxed);

	return dirty + writing > most && !reel_offload_failure(offload) && !offload->orphaned;
}

/*
 * Nothing signals this thread if another one frees a slab before its put, so it looks at intervals.
 */
void reel_offload_await_puts(struct reel_offload *offload, size_t most)
{
	REEL_UNCANCELLED;
	uint64_t since;

	REEL_ASSERT(!reel_offload_is_this_thread(offload));
	if (!has_more_to_put(offload, most))
		return;
	since = reel_clock_ns();
	pthread_mutex_lock(&offload->lock);
	offload->waiting_for_puts++;
	/* With the lock: no put ends unheard between this look and the wait. */
	while (has_more_to_put(offload, most)) {
		struct timespec end = reel_clock_after(REEL_PATIENCE_MS * 1000000);

		pthread_cond_timedwait(&offload->answered, &offload->lock, &end);
	}
	offload->waiting_for_puts--;
	pthread_mutex_unlock(&offload->lock);
	reel_offload_note_stall(offload, REEL_TRACE_WAIT_FOR_PUTS, since);
}

void reel_offload_note_put(struct reel_offload *offload)
{
	pthread_mutex_lock(&offload->lock);
	if (offload->waiting_for_puts)
		pthread_cond_broadcast(&offload->answered);
	pthread_mutex_unlock(&offload->lock);
}

/* ---- Answers ---- */

static bool anybody_waits(struct reel_offload *offload)
{
	bool waiting;

	pthread_mutex_lock(&offload->lock);
	REEL_ASSERT(offload->waiting_for_eviction <= offload->waiting);
	waiting = offload->waiting > 0;
	offload->asked_before = offload->asked;
	pthread_mutex_unlock(&offload->lock);
	return waiting;
}

static bool under_way(const struct reel_offload *offload)
{
	return offload->puts || offload->gets;
}

/* Requires `lock`. Relaxed is enough: a woken waiter checks again by taking a slab. */
static bool frame_is_there(struct reel_offload *offload)
{
	struct reel_pool *pool = offload->pool;

	if (atomic_load_explicit(&pool->warm_chains, memory_order_relaxed) || offload->made_room)
		return true;
	return offload->waiting > offload->waiting_for_eviction && reel_budget_has_room(pool);
}

static void wake_all(struct reel_offload *offload)
{
	offload->waiting = 0;
	offload->waiting_for_eviction = 0;
	pthread_cond_broadcast(&offload->answered);
}

/*
 * Wakes the waiting threads: because a frame is there, or to refuse, because none will come. False:
 * neither is known yet. A thread that asks after anybody_waits() is not refused in this round.
 */
static bool answer(struct reel_offload *offload, bool nothing_moves)
{
	bool trimmed = reel_pool_is_being_trimmed(offload->pool);
	bool answered;

	pthread_mutex_lock(&offload->lock);
	if (offload->waiting && frame_is_there(offload)) {
		offload->freed++;
		wake_all(offload);
	} else if (offload->waiting && offload->asked == offload->asked_before &&
		   nothing_moves && !trimmed) {
		REEL_ASSERT(!under_way(offload));
		offload->refused++;
		offload->refusal = reel_store_error(reel_offload_failure(offload));
		reel_offload_forget_failures(offload);
		wake_all(offload);
	}
	answered = !offload->waiting;
	offload->made_room = false;
	pthread_mutex_unlock(&offload->lock);
	return answered;
}

/*
 * Called when a round has moved nothing. True: another round is useful, because another thread may
 * have taken the frame that was there, or an owner waits for it in a pop.
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

/* Maximum number of stale copies in the store. */
#define MAX_STALE 32

/*
 * A full store may have room for what comes next if it drops what is stale, and the store of a tier
 * may be made for so many states and no more.
 */
static size_t most_stale(const struct reel_offload *offload)
{
	return reel_offload_failure(offload) || offload->pool->parent ? 0 : MAX_STALE;
}

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
		moved = reel_transfers_collect(offload);
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
	if (!under_way(offload) && !waits_for_frame(offload))
		await_change(offload);
	else if (!reel_wakeup_wait_for(&offload->work, REEL_PATIENCE_MS) && under_way(offload))
		reel_store_sync(offload->store, 0);
}

static void drain(struct reel_offload *offload)
{
	while (under_way(offload)) {
		await_work(offload);
		reel_transfers_collect(offload);
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

	reel_children_forbid_wait();
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
	REEL_ASSERT(!offload->waiting);
	reel_wakeup_close(&offload->work);
	sem_destroy(&offload->obeyed);
	sem_destroy(&offload->resumed);
	pthread_mutex_destroy(&offload->commanding);
	pthread_mutex_destroy(&offload->lock);
	pthread_cond_destroy(&offload->answered);
}

/* Mutants survive (statement): ASan alone sees what is lost. */
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
 * Mutants survive (constant, statement): zero is what glibc sets up, and a semaphore may be shared.
 * `ranked_at` says only when victims are ranked next.
 */
static void open_parts(struct reel_offload *offload, struct reel_pool *pool)
{
	offload->pool = pool;
	reel_wakeup_open(&offload->work);
	sem_init(&offload->obeyed, 0, 0);
	sem_init(&offload->resumed, 0, 0);
	pthread_mutex_init(&offload->commanding, NULL);
	pthread_mutex_init(&offload->lock, NULL);
	reel_clock_condition(&offload->answered);
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
	reel_store_get_capacity(store, &capacity);
	/* A store that run options name may leave it 0; that of a pool may not. */
	offload->align = capacity.align ? capacity.align : 1;
	offload->registers = capacity.registers;
	offload->put_depth = capacity.best_depth ? capacity.best_depth : PUT_DEPTH;
	if (offload->put_depth > MAX_PUTS)
		offload->put_depth = MAX_PUTS;
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

/* The thread starts first; it does not use the store before its first signal. */
int reel_offload_open(struct reel_pool *pool, reel_store *store)
{
	struct reel_offload *offload = allocate();
	int error;

	REEL_ASSERT(!pool->reclaimer);
	if (!offload)
		return -ENOMEM;
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
