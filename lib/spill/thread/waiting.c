/* SPDX-License-Identifier: MIT */
/*
 * Threads that wait for a frame or for puts. Each waiting thread gets an answer: a frame, or a
 * refusal when nothing moves. Any thread may wait; the offload thread answers.
 */
#include "config.h"

#include <time.h>

#include "copy.h"
#include "os/cancel.h"
#include "os/clock.h"
#include "os/integer.h"
#include "store/store.h"
#include "transfer.h"
#include "waiting.h"

/* ---- Threads that wait for a frame ---- */

bool reel_offload_await_frame(struct reel_offload *offload, size_t room, int *error)
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
	offload->least_room = reel_min_size(offload->least_room, room);
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

bool reel_offload_has_waiting(struct reel_offload *offload)
{
	bool waiting;

	pthread_mutex_lock(&offload->lock);
	waiting = offload->waiting > 0;
	offload->asked_before = offload->asked;
	pthread_mutex_unlock(&offload->lock);
	return waiting;
}

/*
 * Requires `lock`. Relaxed is enough: a woken waiter checks again by taking a slab. If it is
 * refused again, it has trimmed all idle large slabs, so no slab wakes waiters twice.
 */
static bool frame_is_there(struct reel_offload *offload)
{
	struct reel_pool *pool = offload->pool;
	struct reel_pool *lender = pool->parent ? pool->parent : pool;

	if (atomic_load_explicit(&pool->warm_chains, memory_order_relaxed) || offload->made_room)
		return true;
	return offload->least_room < SIZE_MAX &&
	       (reel_budget_has(lender, offload->least_room) || reel_supply_has_large(lender) ||
		reel_supply_has_large(pool));
}

static void wake_all(struct reel_offload *offload)
{
	offload->waiting = 0;
	offload->least_room = SIZE_MAX;
	pthread_cond_broadcast(&offload->answered);
}

bool reel_offload_answer(struct reel_offload *offload, bool nothing_moves)
{
	bool trimmed = reel_pool_is_being_trimmed(offload->pool);
	bool answered;

	pthread_mutex_lock(&offload->lock);
	if (offload->waiting && frame_is_there(offload)) {
		offload->freed++;
		wake_all(offload);
	} else if (offload->waiting && offload->asked == offload->asked_before &&
		   nothing_moves && !trimmed) {
		REEL_ASSERT(!reel_transfers_are_under_way(offload));
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

/* ---- Beginning and end ---- */

void reel_offload_open_waiting(struct reel_offload *offload)
{
	pthread_mutex_init(&offload->lock, NULL);
	reel_clock_condition(&offload->answered);
	offload->least_room = SIZE_MAX;
}

void reel_offload_close_waiting(struct reel_offload *offload)
{
	REEL_ASSERT(!offload->waiting);
	pthread_mutex_destroy(&offload->lock);
	pthread_cond_destroy(&offload->answered);
}
