/* SPDX-License-Identifier: MIT */
/*
 * Where memory comes from when the budget has refused a slab or a pin. Any thread runs these
 * functions. They hold no lock while they wait.
 */
#include "config.h"

#include <errno.h>

#include "os/cancel.h"
#include "os/clock.h"
#include "os/os.h"
#include "pool.h"

/* This thread is an offload thread. */
static _Thread_local bool never_waits;

void reel_pool_forbid_waits(void)
{
	never_waits = true;
}

/* Bytes that the budget has to have room for. */
static size_t needed(const struct reel_pool *pool, const struct reel_shortage *shortage)
{
	return shortage->kind < REEL_SLAB_LARGE ? pool->slab_bytes
						: reel_supply_large_bytes(shortage->bytes);
}

/*
 * Returns true if the system may find memory for a large slab: other slabs give back whole pages
 * only.
 */
static bool large_may_fit(struct reel_pool *pool, size_t bytes)
{
	return reel_supply_large_bytes(bytes) <= pool->hard_budget &&
	       pool->slab_bytes % reel_os_page_bytes() == 0 &&
	       /* Relaxed: the flag guards no other data. */
	       !atomic_load_explicit(&pool->frames_are_locked, memory_order_relaxed);
}

/*
 * Returns true if a slab that leaves memory may serve the caller. It leaves its frame to the slab
 * that is wanted, also if the system has no more memory.
 */
static bool store_helps(struct reel_pool *pool, const struct reel_shortage *shortage)
{
	if (shortage->waits < REEL_WAITS_FOR_STORE || !reel_pool_has_store(pool))
		return false;
	/* Whatever the parent's reason is, a slab that leaves memory leaves its frame here. */
	if (pool->parent)
		return true;
	if (shortage->error == -ENOMEM)
		return shortage->kind == REEL_SLAB_WHOLE;
	return shortage->error == -EDQUOT &&
	       (shortage->kind < REEL_SLAB_LARGE || large_may_fit(pool, shortage->bytes));
}

/* As needed(), or SIZE_MAX: the system has no memory, and room in the budget does not help. */
static size_t room_for(const struct reel_pool *pool, const struct reel_shortage *shortage)
{
	return shortage->error == -ENOMEM ? SIZE_MAX : needed(pool, shortage);
}

/* Waits until the pool's own store has freed a frame. */
static bool await_store(struct reel_pool *pool, struct reel_shortage *shortage)
{
	shortage->refusal = shortage->error;
	return store_helps(pool, shortage) &&
	       pool->reclaim->await_frame(pool->reclaimer, room_for(pool, shortage),
					  &shortage->refusal);
}

/* Gives up bins that are kept open for the next small parcels, so that they can leave memory. */
static bool retire_bins(struct reel_pool *pool, struct reel_shortage *shortage)
{
	struct reel_pool_client *client = reel_pool_parcels(pool);

	if (!client || !reel_pool_has_store(pool))
		return false;
	/* Another thread may have given up the last one since the store was asked. */
	shortage->asks_again = true;
	return client->verbs->retire_idle(client);
}

/* Takes back the frames that the children keep for their next slabs. */
static bool trim_children(struct reel_pool *pool, struct reel_shortage *shortage)
{
	(void)shortage;
	return reel_children_trim(pool);
}

/*
 * Waits until the store of a child has freed a frame. A parcel that is closed while its put is
 * under way leaves an idle frame when the put ends, which may have been just before the wait.
 */
static bool await_children(struct reel_pool *pool, struct reel_shortage *shortage)
{
	size_t room = room_for(pool, shortage);

	if (never_waits || shortage->waits < REEL_WAITS_FOR_CHILDREN ||
	    reel_supply_large_bytes(shortage->bytes) > pool->hard_budget)
		return false;
	/* Relaxed: a child that is being opened has no frame yet. */
	shortage->asks_again |= atomic_load_explicit(&pool->children, memory_order_relaxed) != NULL;
	if (!pool->parent && room < SIZE_MAX && reel_budget_has(pool, room)) {
		if (!shortage->had_room) {
			shortage->had_room = true;
			return true;
		}
		/* It did not help: the system has no memory, which the refusal of a pin hides. */
		room = SIZE_MAX;
	}
	return reel_children_await_frame(pool, room) || reel_children_trim(pool);
}

#define TRIM_LOOK_NS 100000

/*
 * Waits while other threads give idle memory back to the system, which may take long: meanwhile it
 * is on no list, and counts as resident. No thread that trims waits for memory.
 */
static bool await_trim(struct reel_pool *pool, struct reel_shortage *shortage)
{
	REEL_UNCANCELLED;

	if (shortage->waits == REEL_WAITS_FOR_NONE || !reel_pool_is_being_trimmed(pool))
		return false;
	while (reel_pool_is_being_trimmed(pool))
		reel_clock_pause(TRIM_LOOK_NS);
	return true;
}

/*
 * Returns true if threads of this process have given memory back that the next attempt will find,
 * or will trim. Relaxed: the thread tries again, and waits once more if another one is first.
 */
static bool has_idle_memory(struct reel_pool *pool, const struct reel_shortage *shortage)
{
	bool whole_serves = shortage->kind < REEL_SLAB_LARGE ||
			    !atomic_load_explicit(&pool->frames_are_locked, memory_order_relaxed);

	return reel_supply_has_large(pool) ||
	       (whole_serves && atomic_load_explicit(&pool->warm_chains, memory_order_relaxed));
}

#define SHARE_WAIT_MS 2000

/*
 * Waits until other processes that share the budget have given memory back, as those do that have
 * more than their allotment, or other threads of this one. The wait ends, since all may wait for
 * each other.
 */
static bool await_share(struct reel_pool *pool, struct reel_shortage *shortage)
{
	REEL_UNCANCELLED;
	uint64_t end = reel_share_now() + SHARE_WAIT_MS;

	if (!pool->share || never_waits || shortage->error != -EDQUOT ||
	    shortage->waits == REEL_WAITS_FOR_NONE || shortage->bytes > pool->hard_budget)
		return false;
	shortage->asks_again = true;
	do {
		reel_share_look(pool->share, REEL_SHARE_LOOK_SHORT_MS);
		if (reel_budget_has(pool, needed(pool, shortage)) ||
		    has_idle_memory(pool, shortage))
			return true;
		reel_clock_pause(1000000);
	} while (reel_share_now() < end);
	return false;
}

/*
 * Asks the first sources once more. Since they were asked, most of all in a wait for children or
 * for other processes, other threads may have sealed slabs, or given frames to a child.
 */
static bool ask_again(struct reel_pool *pool, struct reel_shortage *shortage)
{
	return shortage->asks_again && (await_store(pool, shortage) ||
					retire_bins(pool, shortage) ||
					trim_children(pool, shortage));
}

/* In the order in which they are asked. Each returns true if the caller may try again. */
static bool (*const sources[])(struct reel_pool *pool, struct reel_shortage *shortage) = {
	await_store,
	retire_bins,
	trim_children,
	await_children,
	await_trim,
	await_share,
	ask_again,
};

static bool any_source(struct reel_pool *pool, struct reel_shortage *shortage)
{
	for (unsigned i = 0; i < sizeof sources / sizeof *sources; i++)
		if (sources[i](pool, shortage))
			return true;
	return false;
}

/* The take or the read that was refused has waited for the parent's own store. */
static bool ask_parent(struct reel_pool *pool, struct reel_shortage *shortage)
{
	struct reel_shortage parents = *shortage;
	bool found;

	if (parents.waits == REEL_WAITS_FOR_STORE)
		parents.waits = REEL_WAITS_FOR_CHILDREN;
	found = pool->parent && any_source(pool->parent, &parents);
	shortage->had_room = parents.had_room;
	return found;
}

bool reel_pool_find_memory(struct reel_pool *pool, struct reel_shortage *shortage)
{
	REEL_ASSERT(shortage->error);
	if (shortage->is_last)
		return await_trim(pool, shortage);
	if (any_source(pool, shortage) || ask_parent(pool, shortage))
		return true;
	/* Once more: another thread may have given memory back while this one asked. */
	shortage->is_last = true;
	return shortage->waits != REEL_WAITS_FOR_NONE;
}
