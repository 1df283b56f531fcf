/* SPDX-License-Identifier: MIT */
/*
 * Memory pressure. Each event halves the soft budget and gives all idle frames back to the system.
 * While the soft budget is lowered, the offload thread evicts clean slabs that are not needed soon,
 * until no more than the soft budget is resident. The hard budget stays, since a tape may need all
 * of it to go on.
 *
 * Where processes share a budget, the soft budget follows the memory that the others leave to this
 * one. While others are short of memory, idle frames go back to the system, and the offload thread
 * evicts clean slabs that are not needed soon, until no more than the allotment is resident.
 *
 * Offload thread only, except open and close.
 */
#include "config.h"

#include "os/integer.h"
#include "pressure.h"
#include "write-back.h"

/* The time between two looks at the trigger, and the same while the soft budget is lowered. */
#define LOOK_MS 1000
#define LOOK_LOWERED_MS 100
/* Without an event for this time, the pressure has ended. */
#define CALM_MS (2 * REEL_PRESSURE_WINDOW_MS)
/*
 * The soft budget is not lowered below this share and this number of slabs. Below that a sweep
 * would wait for each slab, and the pressure would not end sooner.
 */
#define LOWEST_SHARE 4
#define LOWEST_SLABS 4
/* Slabs that are needed in less than this many seconds keep their frames. */
#define SOON 1.0

static uint64_t ns_of(uint64_t milliseconds)
{
	return milliseconds * 1000000;
}

void reel_pressure_open(struct reel_offload *offload)
{
	struct reel_pressure *pressure = &offload->pressure;

	pressure->trigger.file = -1;
	pressure->opened = pressure->soft_budget = reel_soft_budget(offload->pool);
	if (offload->pool->flags & REEL_POOL_OBEY_LIMITS)
		reel_memory_pressure_open(&pressure->trigger, "");
}

static bool is_lowered(const struct reel_offload *offload)
{
	return reel_soft_budget(offload->pool) < offload->pressure.soft_budget;
}

static void set_soft_budget(struct reel_offload *offload, size_t bytes)
{
	REEL_ASSERT(bytes <= offload->pressure.soft_budget);
	if (bytes != reel_soft_budget(offload->pool))
		REEL_TRACE(SOFT_BUDGET, 0, offload->pool->number, (int64_t)bytes);
	atomic_store_explicit(&offload->pool->soft_budget, bytes, memory_order_relaxed);
}

void reel_pressure_close(struct reel_offload *offload)
{
	reel_memory_pressure_close(&offload->pressure.trigger);
	set_soft_budget(offload, offload->pressure.soft_budget);
}

/* Sets the soft budget that counts without pressure, and keeps a lowered one below it. */
static void restore_to(struct reel_offload *offload, size_t bytes)
{
	bool stays = is_lowered(offload) && reel_soft_budget(offload->pool) < bytes;

	offload->pressure.soft_budget = bytes;
	if (!stays)
		set_soft_budget(offload, bytes);
}

static void lower(struct reel_offload *offload)
{
	size_t opened = offload->pressure.soft_budget;
	size_t lowest = reel_min_size(opened, LOWEST_SLABS * offload->pool->slab_bytes);
	size_t half = reel_soft_budget(offload->pool) / 2;

	if (lowest < opened / LOWEST_SHARE)
		lowest = opened / LOWEST_SHARE;
	REEL_ASSERT(lowest <= opened);
	set_soft_budget(offload, half > lowest ? half : lowest);
}

static void look(struct reel_offload *offload, uint64_t now)
{
	struct reel_pressure *pressure = &offload->pressure;

	switch (reel_memory_pressure_look(&pressure->trigger)) {
	case REEL_PRESSURE_RAISED:
		pressure->raised_at = now;
		atomic_fetch_add_explicit(&offload->pressure_events, 1, memory_order_relaxed);
		lower(offload);
		reel_pool_trim(offload->pool, 0);
		break;
	case REEL_PRESSURE_GONE:
		reel_pressure_close(offload);
		break;
	case REEL_PRESSURE_NONE:
		if (now - pressure->raised_at >= ns_of(CALM_MS))
			set_soft_budget(offload, pressure->soft_budget);
	}
}

/* Idle frames go first. A process that is short itself keeps its idle frames. */
static void look_at_share(struct reel_offload *offload, struct reel_share *share)
{
	struct reel_pool *pool = offload->pool;
	size_t bound, opened = offload->pressure.opened;

	if (!reel_share_look(share, offload->has_waiters ? REEL_SHARE_LOOK_SHORT_MS
							 : REEL_SHARE_LOOK_MS))
		return;
	bound = reel_share_bound(share);
	restore_to(offload, opened == pool->hard_budget
				    ? bound : reel_min_size(opened, bound - bound / 4));
	if (!offload->has_waiters && reel_share_is_wanted(share))
		reel_pool_trim(pool, share->minimum);
}

static uint32_t look_at_trigger_after(const struct reel_offload *offload)
{
	if (offload->pressure.trigger.file < 0)
		return 0;
	return is_lowered(offload) ? LOOK_LOWERED_MS : LOOK_MS;
}

uint32_t reel_pressure_look_after(const struct reel_offload *offload)
{
	return offload->pool->share ? REEL_SHARE_LOOK_MS : look_at_trigger_after(offload);
}

void reel_pressure_look(struct reel_offload *offload)
{
	uint32_t after = look_at_trigger_after(offload);
	uint64_t now;

	if (offload->pool->share)
		look_at_share(offload, offload->pool->share);
	if (!after)
		return;
	now = reel_clock_ns();
	if (now - offload->pressure.looked_at < ns_of(after))
		return;
	offload->pressure.looked_at = now;
	look(offload, now);
}

/* Bytes above which memory goes back to the system, or SIZE_MAX. */
static size_t max_resident(const struct reel_offload *offload)
{
	const struct reel_pool *pool = offload->pool;
	size_t most = is_lowered(offload) ? reel_soft_budget(pool) : SIZE_MAX;

	return pool->share ? reel_min_size(most, reel_share_most(pool->share)) : most;
}

bool reel_pressure_forbids(const struct reel_offload *offload, size_t bytes)
{
	size_t most = max_resident(offload);

	return most != SIZE_MAX &&
	       atomic_load_explicit(&offload->pool->resident, memory_order_relaxed) + bytes > most;
}

/* If the system takes no frames back, eviction would free no memory and cost reads later. */
bool reel_pressure_relieve(struct reel_offload *offload)
{
	struct reel_pool *pool = offload->pool;

	if (offload->has_waiters || !reel_pressure_forbids(offload, 0) ||
	    atomic_load_explicit(&pool->frames_are_locked, memory_order_relaxed))
		return false;
	return reel_pool_trim(pool, max_resident(offload)) || reel_evict(offload, SOON);
}
