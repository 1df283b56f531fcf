/* SPDX-License-Identifier: MIT */
/*
 * The list of pools, and what happens to them at a fork, which copies the pools but only one
 * thread. The list is locked during the fork, so that the child finds it whole and no thread is in
 * the middle of its end. Pools need no lock of their own: the child's only thread owns them alone.
 * Offload threads pause, so that no transfer is under way in memory that is being copied. The end
 * of a thread locks the list, too: see reel_cache_retire(). Any thread; each pool is on the list
 * once.
 */
#include "config.h"

#include "pool.h"

static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct reel_pool *pools;
static int registration;

static void before_fork(void)
{
	pthread_mutex_lock(&pools_lock);
	for (struct reel_pool *pool = pools; pool; pool = pool->next_pool)
		pool->reclaim->pause(pool);
}

static void after_fork_in_parent(void)
{
	for (struct reel_pool *pool = pools; pool; pool = pool->next_pool)
		pool->reclaim->resume(pool);
	pthread_mutex_unlock(&pools_lock);
}

static void after_fork_in_child(void)
{
	for (struct reel_pool *pool = pools; pool; pool = pool->next_pool) {
		reel_cache_forget_others(pool);
		pool->reclaim->orphan(pool);
	}
	pthread_mutex_unlock(&pools_lock);
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

struct reel_pool *reel_fork_lock_pools(void)
{
	pthread_mutex_lock(&pools_lock);
	return pools;
}

void reel_fork_unlock_pools(void)
{
	pthread_mutex_unlock(&pools_lock);
}

void reel_fork_watch(struct reel_pool *pool)
{
	pthread_mutex_lock(&pools_lock);
	pool->next_pool = pools;
	pools = pool;
	pthread_mutex_unlock(&pools_lock);
}

void reel_fork_unwatch(struct reel_pool *pool)
{
	struct reel_pool **link = &pools;

	pthread_mutex_lock(&pools_lock);
	while (*link != pool) {
		REEL_ASSERT(*link);
		link = &(*link)->next_pool;
	}
	*link = pool->next_pool;
	pthread_mutex_unlock(&pools_lock);
}
