/* SPDX-License-Identifier: MIT */
/*
 * Opens and closes a pool, with its store and its offload thread if it has one. One thread, while
 * no other thread uses the pool; any thread calls the functions of `by_store`. A pool has
 * `by_store` if and only if it has an offload thread.
 */
#include "config.h"

#include <errno.h>

#include "child-pool.h"
#include "os/cancel.h"
#include "os/error.h"
#include "os/integer.h"
#include "os/memory-limit.h"
#include "os/os.h"
#include "spill/thread/pressure.h"
#include "spill/thread/thread.h"
#include "spill/thread/transfer.h"
#include "spill/thread/waiting.h"
#include "trace/trace.h"

/* ---- Functions that the pool calls ---- */

static void add_stats(const struct reel_offload *offload, struct reel_pool_stats *stats)
{
	/* Relaxed: statistics guard no other data. */
#define READ(type, name, text) \
	stats->name = atomic_load_explicit(&offload->name, memory_order_relaxed);
	REEL_POOL_STORE_FIGURES(READ)
#undef READ
}

static const struct reel_reclaim by_store = {
	.await_frame = reel_offload_await_frame,
	.wake = reel_offload_wake,
	.release_frame = reel_offload_unregister_frame,
	.pause = reel_offload_pause,
	.resume = reel_offload_resume,
	.orphan = reel_offload_orphan,
	.add_stats = add_stats,
};

/* ---- Open and close ---- */

static int use_store(struct reel_pool *pool, reel_store *store)
{
	int error = reel_offload_open(pool, store);

	REEL_ASSERT(error || reel_offload_of(pool));
	if (error)
		return error;
	pool->reclaim = &by_store;
	/* From its first signal on, the offload thread looks at the trigger. */
	if (reel_pressure_look_after(reel_offload_of(pool)))
		reel_wakeup_signal(&reel_offload_of(pool)->work);
	return 0;
}

/* Number of slabs with which a tape in up to 7 holds goes on, also if other pools are short. */
#define MIN_SLABS 4

/* The members may have agreed on less. If this fails, the pool is destroyed. */
static int join(struct reel_pool *pool, const struct reel_pool_options *options)
{
	int error = reel_share_join(&pool->share, options->shared_budget, pool->hard_budget,
				    MIN_SLABS * pool->slab_bytes);

	if (error) {
		reel_pool_destroy(pool);
		return error;
	}
	pool->hard_budget = reel_share_budget(pool->share);
	atomic_store_explicit(&pool->soft_budget,
			      reel_min_size(reel_soft_budget(pool), pool->hard_budget),
			      memory_order_relaxed);
	return 0;
}

/* If the limit is not known, the budget has no bound, and a store is refused. */
static void complete_budget(struct reel_pool_options *options)
{
	struct reel_memory_limit limit;

	if (options->hard_budget || !(options->flags & REEL_POOL_OBEY_LIMITS))
		return;
	reel_memory_limit(&limit, "");
	options->hard_budget = reel_memory_share(&limit, REEL_AUTO_PERCENT);
}

/* Completes a pool that was created. On failure it is destroyed, and the store the caller's. */
static int start(reel_pool **opened, struct reel_pool *pool, reel_store *store)
{
	int error = store ? use_store(pool, store) : 0;

	if (error) {
		reel_pool_destroy(pool);
		return error;
	}
	REEL_ASSERT(!reel_offload_of(pool) == !reel_pool_has_store(pool));
	reel_fork_watch(pool);
	reel_live_add(&pool->live);
	pool->counts_use = reel_traces() || reel_is_live();
	REEL_TRACE(POOL_OPEN, 0, pool->number, (int64_t)pool->hard_budget,
		   (int64_t)reel_soft_budget(pool), (int64_t)pool->slab_bytes);
	*opened = pool;
	return 0;
}

int reel_pool_open(reel_pool **opened, const struct reel_pool_options *options)
{
	REEL_UNCANCELLED;
	struct reel_pool_options complete = options ? *options : (struct reel_pool_options){0};
	const char *problem;
	struct reel_pool *pool;
	int error;

	complete_budget(&complete);
	problem = reel_pool_problem(&complete);
	if (problem)
		return reel_fail(-EINVAL, "%s", problem);
	error = reel_pool_create(&pool, &complete);
	if (!error && *complete.shared_budget)
		error = join(pool, &complete);
	if (!error)
		error = start(opened, pool, complete.store);
	/* No thread for the pool has left its text. */
	return error == -ENOMEM
		       ? reel_fail(
				 error,
				 "no memory, or no thread key, for a pool, which takes %zu MiB of "
				 "address space at first; ulimit -v may be too low",
				 reel_supply_table_bytes() >> 20)
		       : error;
}

/*
 * Sets the size of a piece, which the store takes at once, and of a frame. Both are multiples of
 * the store's alignment, since a store refuses other transfers. Frames are pages of the parent's.
 */
static void set_sizes(struct reel_pool *pool, const struct reel_store_capacity *capacity,
		      size_t frame_bytes)
{
	size_t align = capacity->align ? capacity->align : 1;

	REEL_ASSERT(align <= reel_os_page_bytes());
	if (capacity->max_bytes && capacity->max_bytes < pool->slab_bytes)
		pool->slab_bytes = (size_t)capacity->max_bytes;
	if (pool->slab_bytes > align)
		pool->slab_bytes -= pool->slab_bytes % align;
	pool->frame_bytes = reel_supply_large_bytes(frame_bytes);
}

/*
 * A child whose frames stay begins to write at three quarters of the parent's budget, before the
 * parent refuses. A parent without a budget counts as one with the budget `auto`.
 */
static size_t soft_budget_of_child(const struct reel_pool *parent)
{
	size_t budget = parent->hard_budget;
	struct reel_memory_limit limit;

	if (budget == SIZE_MAX) {
		reel_memory_limit(&limit, "");
		budget = reel_memory_share(&limit, REEL_AUTO_PERCENT);
	}
	return budget - budget / 4;
}

/*
 * The parent's budget is the limit: a hard budget of its own would refuse threads that use several
 * slabs at once. With a soft budget of 0 all that is sealed is written at once.
 */
int reel_pool_open_child(reel_pool **opened, reel_pool *parent, reel_store *store,
			 size_t frame_bytes, size_t idle_frames,
			 struct reel_frame_listener *listener)
{
	REEL_UNCANCELLED;
	struct reel_pool_options options = {.hard_budget = SIZE_MAX, .store = store};
	struct reel_store_capacity capacity;
	reel_pool *pool;
	int error;

	reel_store_get_capacity(store, &capacity);
	if (capacity.align > reel_os_page_bytes())
		return reel_fail(-EINVAL, "a store's alignment must be at most a page");
	error = reel_pool_create(&pool, &options);
	if (error)
		return error;
	set_sizes(pool, &capacity, frame_bytes);
	pool->parent = parent;
	pool->frames_stay = idle_frames == REEL_FRAMES_STAY;
	pool->idle_bytes = pool->frames_stay ? SIZE_MAX : idle_frames * pool->frame_bytes;
	atomic_store_explicit(&pool->soft_budget,
			      pool->frames_stay ? soft_budget_of_child(parent) : 0,
			      memory_order_relaxed);
	error = start(opened, pool, store);
	if (error)
		return error;
	if (listener)
		reel_pool_listen(pool, listener);
	reel_pool_add_user(parent);
	return 0;
}

static int close_pool(reel_pool *pool, bool closes_store)
{
	REEL_UNCANCELLED;
	struct reel_pool_stats stats;

	reel_pool_get_stats(pool, &stats);
	if (stats.slabs_in_use || reel_pool_has_users(pool))
		return -EBUSY;
	reel_live_remove(&pool->live);
	reel_fork_unwatch(pool);
	REEL_ASSERT(!reel_offload_of(pool) == !reel_pool_has_store(pool));
	if (reel_offload_of(pool))
		reel_offload_close(reel_offload_of(pool), closes_store);
	REEL_TRACE(POOL_CLOSE, 0, pool->number);
	pool->reclaim = NULL;
	reel_pool_destroy(pool);
	return 0;
}

int reel_pool_close(reel_pool *pool)
{
	if (!pool)
		return 0;
	return pool->flags & REEL_POOL_PERMANENT ? -EPERM : close_pool(pool, true);
}

int reel_pool_close_child(reel_pool *pool, bool closes_store)
{
	struct reel_pool *parent = pool->parent;
	int error = close_pool(pool, closes_store);

	REEL_ASSERT(parent);
	if (!error)
		reel_pool_remove_user(parent);
	return error;
}

/* ---- Waiting for the store of a child ---- */

void reel_pool_await_puts(reel_pool *pool, size_t frames)
{
	reel_offload_await_puts(reel_offload_of(pool), frames * pool->frame_bytes);
}

void reel_pool_settle(reel_pool *pool)
{
	reel_offload_settle(reel_offload_of(pool));
}
