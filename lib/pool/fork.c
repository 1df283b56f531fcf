/* SPDX-License-Identifier: MIT */
/*
 * The list of pools, and the handlers of fork(). A fork copies the pools but only one thread. The
 * list is locked meanwhile, so that the child finds it whole, and no thread in the middle of
 * reel_cache_retire(). The pools need no lock, since the child has one thread. Offload threads
 * pause, so that no transfer is under way in memory that is being copied. Any thread.
 */
#include "config.h"

#include "pool.h"
#include "trace/profile.h"
#include "trace/trace.h"

static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct reel_pool *pools;
static int registration;

static void before_fork(void)
{
	/*
	 * First: a thread with this lock may hold the lock of a run, which no child must inherit
	 * locked.
	 */
	reel_live_lock_for_fork();
	pthread_mutex_lock(&pools_lock);
	for (struct reel_pool *pool = pools; pool; pool = pool->next_pool) {
		struct reel_pool_client *parcels = reel_pool_parcels(pool);

		if (parcels)
			parcels->verbs->lock(parcels);
		if (reel_pool_has_store(pool))
			pool->reclaim->pause(pool->reclaimer);
	}
	reel_children_lock_for_fork();
}

static void after_fork_in_parent(void)
{
	reel_children_unlock_after_fork();
	for (struct reel_pool *pool = pools; pool; pool = pool->next_pool) {
		struct reel_pool_client *parcels = reel_pool_parcels(pool);

		if (reel_pool_has_store(pool))
			pool->reclaim->resume(pool->reclaimer);
		if (parcels)
			parcels->verbs->unlock(parcels);
	}
	pthread_mutex_unlock(&pools_lock);
	reel_live_unlock_after_fork();
}

static void after_fork_in_child(void)
{
	/* First: the next calls leave events, and the files are the parent's. */
	reel_trace_leave();
	reel_profile_leave();
	for (struct reel_pool *pool = pools; pool; pool = pool->next_pool) {
		struct reel_pool_client *parcels = reel_pool_parcels(pool);

		/* The slot names the parent, which gives its share back when it ends. */
		pool->share = NULL;
		reel_children_orphan(pool);
		reel_trim_orphan(pool);
		reel_cache_forget_others(pool);
		if (reel_pool_has_store(pool))
			pool->reclaim->orphan(pool->reclaimer);
		if (parcels)
			parcels->verbs->orphan(parcels);
	}
	reel_children_unlock_after_fork();
	pthread_mutex_unlock(&pools_lock);
	reel_live_leave();
}

static void register_handlers(void)
{
	registration = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

int reel_fork_prepare(void)
{
	pthread_once(&once, register_handlers);
	return -registration;
}

/* Requires `pools_lock`. */
static bool is_watched(const struct reel_pool *pool)
{
	const struct reel_pool *watched = pools;

	while (watched && watched != pool)
		watched = watched->next_pool;
	return watched != NULL;
}

struct reel_pool *reel_fork_lock_pools(void)
{
	pthread_mutex_lock(&pools_lock);
	return pools;
}

void reel_fork_unlock_pools(void)
{
	pthread_mutex_unlock(&pools_lock);
}

/* The default pool stays open until the end. The file of its shared budget must not. */
__attribute__((destructor)) static void end_shares(void)
{
	pthread_mutex_lock(&pools_lock);
	for (const struct reel_pool *pool = pools; pool; pool = pool->next_pool)
		if (pool->share)
			reel_share_end(pool->share);
	pthread_mutex_unlock(&pools_lock);
}

void reel_fork_watch(struct reel_pool *pool)
{
	if (pool->parent)
		reel_children_add(pool);
	pthread_mutex_lock(&pools_lock);
	REEL_ASSERT_EXPENSIVE(!is_watched(pool));
	pool->next_pool = pools;
	pools = pool;
	pthread_mutex_unlock(&pools_lock);
}

void reel_fork_unwatch(struct reel_pool *pool)
{
	struct reel_pool **link = &pools;

	if (pool->parent)
		reel_children_remove(pool);
	pthread_mutex_lock(&pools_lock);
	REEL_ASSERT_EXPENSIVE(is_watched(pool));
	while (*link != pool)
		link = &(*link)->next_pool;
	*link = pool->next_pool;
	pthread_mutex_unlock(&pools_lock);
}
