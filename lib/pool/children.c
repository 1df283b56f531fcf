/* SPDX-License-Identifier: MIT */
/*
 * Pools with a parent. Each keeps idle frames of its parent's for its next slabs, which the parent
 * takes back before it refuses a slab. Any thread. The lock guards the lists of children. With the
 * lock no function waits for the store or calls it, so a fork can take it when all else has paused.
 */
#include "config.h"

#include "pool.h"

static pthread_mutex_t children_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t visit_ended = PTHREAD_COND_INITIALIZER;
/* True from before a fork of this thread until after it. The thread has the lock all that time. */
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
	/* Relaxed: who sets it has the lock. */
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

/* The mark keeps the child while this thread trims it without the lock. Returns the bytes. */
static size_t visit(struct reel_pool *child)
{
	size_t trimmed;

	child->visitors++;
	pthread_mutex_unlock(&children_lock);
	trimmed = reel_pool_trim(child, 0);
	pthread_mutex_lock(&children_lock);
	REEL_ASSERT(child->visitors > 0);
	if (--child->visitors == 0)
		pthread_cond_broadcast(&visit_ended);
	return trimmed;
}

bool reel_children_trim(struct reel_pool *parent)
{
	size_t trimmed = 0, resident;

	/* Relaxed: a child that is being opened has no idle frame yet. */
	if (forks || !atomic_load_explicit(&parent->children, memory_order_relaxed))
		return false;
	pthread_mutex_lock(&children_lock);
	for (struct reel_pool *child = atomic_load_explicit(&parent->children, memory_order_relaxed);
	     child; child = child->next_sibling)
		trimmed += visit(child);
	pthread_mutex_unlock(&children_lock);
	/* The frames are idle large slabs of the parent's. A slab of another size does not fit there. */
	resident = atomic_load_explicit(&parent->resident, memory_order_relaxed);
	if (trimmed)
		reel_pool_trim(parent, resident > trimmed ? resident - trimmed : 0);
	return trimmed > 0;
}
