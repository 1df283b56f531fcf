/* SPDX-License-Identifier: MIT */
/*
 * Demands, which the offload thread reads, and the owner's side of their requests. The owner of a
 * tape takes a demand for its first seal, and gives it back when the tape is closed; no slab needs
 * it then. The list of demands only grows while the pool lives, so the offload thread walks it
 * without a lock.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "demand.h"
#include "os/integer.h"

/* Maximum number of slabs that a tape requests in advance. */
#define MAX_AHEAD 32

/* Returns true if a slab needs the demand. */
static bool is_needed(const struct reel_offload *offload, const struct reel_demand *demand)
{
	size_t slabs = reel_slab_count(offload);

	for (size_t i = 0; i < slabs; i++) {
		const struct reel_slab *slab = &offload->pool->table[i];
		enum reel_slab_state state = reel_slab_state_of(slab);

		if (state != REEL_SLAB_EMPTY && state != REEL_SLAB_OPEN &&
		    state != REEL_SLAB_FREE_PENDING && reel_demand_of(offload, slab) == demand)
			return true;
	}
	return false;
}

/* For assertions. */
static bool has_readers(const struct reel_demand *demand)
{
	for (unsigned i = 0; i < REEL_RANKED_READERS; i++)
		if (atomic_load_explicit(&demand->reader[i], memory_order_relaxed))
			return true;
	return false;
}

static struct reel_demand *find_unused(struct reel_offload *offload)
{
	struct reel_demand *demand = reel_demand_first(offload);

	for (; demand; demand = demand->next) {
		bool in_use = false;

		reel_yield_point();
		/* Acquire: pairs with the release in reel_demand_give(). Makes it visible. */
		if (atomic_compare_exchange_strong_explicit(&demand->in_use, &in_use, true,
							    memory_order_acquire,
							    memory_order_relaxed))
			return demand;
	}
	return NULL;
}

static struct reel_demand *add_demand(struct reel_offload *offload)
{
	struct reel_demand *demand = calloc(1, sizeof *demand);

	if (!demand)
		return NULL;
	reel_wakeup_open(&demand->arrival);
	atomic_store_explicit(&demand->in_use, true, memory_order_relaxed);
	/* Mutants survive (statement): the exchange fails once and sets `demand->next`. */
	demand->next = atomic_load_explicit(&offload->demands, memory_order_relaxed);
	reel_yield_point();
	/*
	 * Release: pairs with the acquire in reel_demand_first(). Makes the demand visible.
	 * Rarely reached: another demand is added between the load and the exchange.
	 */
	while (!atomic_compare_exchange_weak_explicit(&offload->demands, &demand->next, demand,
						      memory_order_release, memory_order_relaxed))
		;
	return demand;
}

struct reel_demand *reel_demand_take_silent(struct reel_offload *offload,
					    enum reel_demand_kind kind)
{
	struct reel_demand *demand = find_unused(offload);

	if (!demand)
		demand = add_demand(offload);
	if (!demand)
		return NULL;
	REEL_ASSERT(!atomic_load_explicit(&demand->awaited, memory_order_relaxed));
	REEL_ASSERT(atomic_load_explicit(&demand->requested, memory_order_relaxed) -
			    atomic_load_explicit(&demand->served, memory_order_relaxed) <=
		    REEL_REQUESTS);
	atomic_store_explicit(&demand->kind, kind, memory_order_relaxed);
	atomic_store_explicit(&demand->overdraws, true, memory_order_relaxed);
	demand->slabs_popped_in_row = 0;
	demand->ahead = REEL_MIN_AHEAD;
	demand->hits_in_row = 0;
	atomic_store_explicit(&demand->highest, 0, memory_order_relaxed);
	atomic_store_explicit(&demand->id,
			      1 + atomic_fetch_add_explicit(&offload->last_tape_id, 1,
							    memory_order_relaxed),
			      memory_order_relaxed);
	return demand;
}

struct reel_demand *reel_demand_take(struct reel_offload *offload)
{
	struct reel_demand *demand = reel_demand_take_silent(offload, REEL_DEMAND_STACK);

	/* Relaxed, here and below: the number of tapes that share the frames is an estimate. */
	if (demand)
		atomic_fetch_add_explicit(&offload->demands_in_use, 1, memory_order_relaxed);
	return demand;
}

void reel_demand_give_silent(struct reel_offload *offload, struct reel_demand *demand)
{
	REEL_ASSERT(atomic_load_explicit(&demand->in_use, memory_order_relaxed));
	REEL_ASSERT(!atomic_load_explicit(&demand->awaited, memory_order_relaxed));
	REEL_ASSERT(!has_readers(demand));
	REEL_ASSERT_EXPENSIVE(!is_needed(offload, demand));
	(void)offload;
	reel_yield_point();
	/* Release: pairs with the acquire in find_unused(). Makes the members visible. */
	atomic_store_explicit(&demand->in_use, false, memory_order_release);
}

/* ---- Readers of a recording ---- */

void reel_demand_place_at_end(struct reel_demand *demand, uint32_t slabs)
{
	REEL_ASSERT(slabs > 0);
	/* Mutants survive (constant): how far is read ahead changes the time only. */
	atomic_store_explicit(&demand->highest, slabs - 1, memory_order_relaxed);
	atomic_store_explicit(&demand->top, slabs, memory_order_relaxed);
}

/* Mutants survive (constant, statement): which slabs stay changes the time only. */
struct reel_demand *reel_demand_take_reader(struct reel_offload *offload,
					    struct reel_demand *recording)
{
	struct reel_demand *demand = reel_demand_take(offload);

	if (!demand)
		return NULL;
	reel_demand_place_at_end(demand,
				 atomic_load_explicit(&recording->top, memory_order_relaxed));
	for (unsigned i = 0; i < REEL_RANKED_READERS; i++) {
		struct reel_demand *none = NULL;

		/* Release: pairs with the acquire in distance_on_recording() (victim.c). */
		if (atomic_compare_exchange_strong_explicit(&recording->reader[i], &none, demand,
							    memory_order_release,
							    memory_order_relaxed))
			break;
	}
	return demand;
}

/* Mutants survive (constant): which slabs stay changes the time only. */
void reel_demand_leave_readers(struct reel_demand *recording, struct reel_demand *reader)
{
	for (unsigned i = 0; i < REEL_RANKED_READERS; i++)
		if (atomic_load_explicit(&recording->reader[i], memory_order_relaxed) == reader)
			atomic_store_explicit(&recording->reader[i], NULL, memory_order_relaxed);
}

/* ---- Requests ---- */

/*
 * All tapes together request at most half of the frames that are not of dirty slabs: with more,
 * reads for one tape evict slabs of another tape before their pops, or slabs that were just read.
 * With less, such as a quarter of few frames, the store would be idle between the requests.
 */
unsigned reel_demand_slabs_ahead(const struct reel_offload *offload,
				 const struct reel_demand *demand)
{
	size_t budget = offload->pool->hard_budget;
	size_t dirty = atomic_load_explicit(&offload->dirty_bytes, memory_order_relaxed);
	size_t share = (budget - reel_min_size(dirty, budget)) / offload->pool->slab_bytes / 2;
	unsigned tapes = atomic_load_explicit(&offload->demands_in_use, memory_order_relaxed);

	/* Mutants survive (constant): how far is read ahead changes the time only. */
	share /= tapes ? tapes : 1;
	/* Mutants survive (constant): how far is read ahead changes the time only. */
	return (unsigned)reel_min_size(demand->ahead, share < 1 ? 1 : share > MAX_AHEAD ? MAX_AHEAD
									   : (unsigned)share);
}

void reel_demand_note_stall(struct reel_demand *demand)
{
	demand->hits_in_row = 0;
	/* Mutants survive (statement): how far is read ahead changes the time only. */
	demand->ahead = (unsigned)reel_min_size(2 * demand->ahead, MAX_AHEAD);
}

static uint32_t requests_open(const struct reel_demand *demand)
{
	/*
	 * Acquire: pairs with the release in drop_request() (read-ahead.c). The offload thread has
	 * read the entries below `served`, so the owner may overwrite them.
	 */
	return atomic_load_explicit(&demand->requested, memory_order_relaxed) -
	       atomic_load_explicit(&demand->served, memory_order_acquire);
}

static void add_request(struct reel_demand *demand, struct reel_slab *slab)
{
	uint32_t extent = atomic_load_explicit(&demand->requested, memory_order_relaxed);

	demand->request[extent % REEL_REQUESTS] = slab;
	reel_yield_point();
	/* Release: pairs with the acquire in first_request() (read-ahead.c). Shows the entry. */
	atomic_store_explicit(&demand->requested, extent + 1, memory_order_release);
}

bool reel_demand_request(struct reel_demand *demand, struct reel_slab *slab)
{
	REEL_ASSERT(requests_open(demand) <= REEL_REQUESTS);
	if (requests_open(demand) == REEL_REQUESTS)
		return false;
	if (!reel_slab_move(slab, REEL_SLAB_STORED, REEL_SLAB_READ_QUEUED))
		return true;
	add_request(demand, slab);
	return true;
}

static bool is_requested(const struct reel_demand *demand, const struct reel_slab *slab)
{
	uint32_t requested = atomic_load_explicit(&demand->requested, memory_order_relaxed);
	uint32_t open = requests_open(demand);

	for (uint32_t i = requested - open; i != requested; i++)
		if (demand->request[i % REEL_REQUESTS] == slab)
			return true;
	return false;
}

bool reel_demand_forget_refusal(struct reel_demand *demand, const struct reel_slab *slab)
{
	const struct reel_slab *refused = slab;

	/*
	 * Relaxed, for both: the refusal guards no data. The load spares most calls the exchange.
	 */
	return atomic_load_explicit(&demand->refused, memory_order_relaxed) == slab &&
	       atomic_compare_exchange_strong_explicit(&demand->refused, &refused, NULL,
						       memory_order_relaxed, memory_order_relaxed);
}

int reel_demand_hurry(struct reel_offload *offload, struct reel_demand *demand,
		      struct reel_slab *slab)
{
	if (reel_demand_forget_refusal(demand, slab))
		return -EDQUOT;
	if (requests_open(demand) < REEL_REQUESTS && !is_requested(demand, slab))
		add_request(demand, slab);
	reel_wakeup_signal(&offload->work);
	return 0;
}

void reel_demand_end_requests(struct reel_offload *offload, const struct reel_demand *demand)
{
	if (requests_open(demand))
		reel_wakeup_signal(&offload->work);
}

void reel_demand_give(struct reel_offload *offload, struct reel_demand *demand)
{
	atomic_fetch_sub_explicit(&offload->demands_in_use, 1, memory_order_relaxed);
	reel_demand_give_silent(offload, demand);
}

/* ---- For the offload thread ---- */

/* Acquire: pairs with the release in await() (slab-owner.c). Makes the slab's state visible. */
struct reel_slab *reel_demand_awaited(struct reel_demand *demand)
{
	return atomic_load_explicit(&demand->awaited, memory_order_acquire);
}

struct reel_demand *reel_demand_first(struct reel_offload *offload)
{
	/* Acquire: pairs with the release in add_demand(). Makes the list visible. */
	return atomic_load_explicit(&offload->demands, memory_order_acquire);
}

bool reel_demand_is_awaited(struct reel_offload *offload, const struct reel_slab *slab)
{
	struct reel_demand *demand = reel_demand_first(offload);

	while (demand && reel_demand_awaited(demand) != slab)
		demand = demand->next;
	return demand;
}

/*
 * An owner that begins to wait at this moment may be missed. It signals the offload thread, which
 * then sees in awaited_slab() (read-ahead.c) that the slab is there.
 */
void reel_demand_wake(struct reel_offload *offload, const struct reel_slab *slab)
{
	struct reel_demand *demand = reel_demand_first(offload);

	for (; demand; demand = demand->next)
		if (reel_demand_awaited(demand) == slab)
			reel_wakeup_signal(&demand->arrival);
}

void reel_demand_free_all(struct reel_offload *offload)
{
	struct reel_demand *demand =
		atomic_load_explicit(&offload->demands, memory_order_relaxed);

	while (demand) {
		struct reel_demand *next = demand->next;

		/* Mutants survive (statement): a semaphore of glibc holds no resource. */
		reel_wakeup_close(&demand->arrival);
		free(demand);
		demand = next;
	}
}
