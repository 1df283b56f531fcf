/* SPDX-License-Identifier: MIT */
/*
 * Pools with a parent. Each keeps idle frames of its parent's for its next slabs, and frames of
 * slabs that it is about to write to its store. The parent takes these frames back before it
 * refuses a slab. Any thread. The lock guards the lists of children. With the lock no function
 * waits for the store or calls it, so a fork can take it when all else has paused.
 */
#include "config.h"

#include "pool.h"

static pthread_mutex_t children_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t visit_ended = PTHREAD_COND_INITIALIZER;
/*
 * True from before a fork of this thread until after it. The thread holds the lock all that time.
 */
static _Thread_local bool forks;

void reel_children_lock_for_fork(void)
{
	pthread_mutex_lock(&children_lock);
	forks = true;
}

void reel_children_unlock_after_fork(void)
{
	forks = false;
	pthread_mutex_unlock(&children_lock);
}

void reel_children_orphan(struct reel_pool *pool)
{
	static const pthread_cond_t fresh = PTHREAD_COND_INITIALIZER;

	REEL_ASSERT(forks);
	pool->visitors = 0;
	visit_ended = fresh;
}

void reel_children_add(struct reel_pool *child)
{
	struct reel_pool *parent = child->parent;

	pthread_mutex_lock(&children_lock);
	/* Relaxed: a thread that sets it holds the lock. */
	child->next_sibling = atomic_load_explicit(&parent->children, memory_order_relaxed);
	atomic_store_explicit(&parent->children, child, memory_order_relaxed);
	pthread_mutex_unlock(&children_lock);
}

/* Requires the lock. */
static void unlink_child(struct reel_pool *child)
{
	struct reel_pool *at = atomic_load_explicit(&child->parent->children, memory_order_relaxed);

	if (at == child) {
		atomic_store_explicit(&child->parent->children, child->next_sibling,
				      memory_order_relaxed);
		return;
	}
	while (at->next_sibling != child)
		at = at->next_sibling;
	at->next_sibling = child->next_sibling;
}

void reel_children_remove(struct reel_pool *child)
{
	pthread_mutex_lock(&children_lock);
	while (child->visitors)
		pthread_cond_wait(&visit_ended, &children_lock);
	unlink_child(child);
	pthread_mutex_unlock(&children_lock);
}

/* A visit of a child returns the bytes that it has gained. */
typedef size_t visit_fn(struct reel_pool *child, size_t room);

static size_t trim_one(struct reel_pool *child, size_t room)
{
	(void)room;
	return reel_pool_trim(child, 0);
}

static size_t await_one(struct reel_pool *child, size_t room)
{
	int ignored = 0;
	bool freed = child->reclaim->await_frame(child->reclaimer, room, &ignored);

	return freed ? child->frame_bytes : 0;
}

/* Calls visit() without the lock. While `visitors` is above 0, the child is not closed. */
static size_t visit_one(struct reel_pool *child, visit_fn *visit, size_t room)
{
	size_t gained;

	child->visitors++;
	pthread_mutex_unlock(&children_lock);
	gained = visit(child, room);
	pthread_mutex_lock(&children_lock);
	REEL_ASSERT(child->visitors > 0);
	if (--child->visitors == 0)
		pthread_cond_broadcast(&visit_ended);
	return gained;
}

/* Returns the bytes that the children gave, of which `enough` end the round. */
static size_t visit_all(struct reel_pool *parent, visit_fn *visit, size_t room, size_t enough)
{
	size_t gained = 0;
	struct reel_pool *child;

	/* Relaxed: a child that is being opened has no frame yet. */
	if (forks || !atomic_load_explicit(&parent->children, memory_order_relaxed))
		return 0;
	pthread_mutex_lock(&children_lock);
	child = atomic_load_explicit(&parent->children, memory_order_relaxed);
	for (; child && gained < enough; child = child->next_sibling)
		gained += visit_one(child, visit, room);
	pthread_mutex_unlock(&children_lock);
	return gained;
}

bool reel_children_trim(struct reel_pool *parent)
{
	return visit_all(parent, trim_one, 0, SIZE_MAX) > 0;
}

/*
 * The store of a child may have freed more frames than the one for which this thread has waited, or
 * some while it waited in vain, so a thread that is refused tries once more.
 */
bool reel_children_await_frame(struct reel_pool *parent, size_t room)
{
	return visit_all(parent, await_one, room, 1) > 0;
}
