/* SPDX-License-Identifier: MIT */
/*
 * Supplies slabs if the magazines of a thread are empty: first from the warm list, then from the
 * cold list, whose memory went back to the system, then with fresh frames. Any thread runs these
 * functions, without a lock. Each slab on a list is EMPTY. The budget counts the frames on warm
 * lists, not those on the cold list.
 */
#include "config.h"

#include <errno.h>

#include "os/annotate.h"
#include "os/counter.h"
#include "os/integer.h"
#include "os/os.h"
#include "pool.h"

/* 64-bit machines reserve 64 MiB of address space for descriptors, which serve 2 TiB of slabs. */
#define TABLE_SLABS (sizeof(void *) > 4 ? (uint32_t)1 << 20 : (uint32_t)1 << 16)

size_t reel_supply_table_bytes(void)
{
	return TABLE_SLABS * sizeof(struct reel_slab);
}

static struct reel_slab *new_descriptors(struct reel_pool *pool, uint32_t n)
{
	size_t first;

	return reel_counter_claim(&pool->table_used, n, TABLE_SLABS, &first) ? &pool->table[first]
									     : NULL;
}

/* Keeps descriptors for which there was no frame. `slabs` may be NULL. */
static void keep_frameless(struct reel_pool *pool, struct reel_slab *slabs, uint32_t n)
{
	for (uint32_t i = 0; slabs && i < n; i++)
		freelist_push(&pool->frameless, &slabs[i]);
}

/*
 * Charges `bytes`, and gives idle memory back to the system before it refuses. Another thread may
 * charge the room that a trim has made, so the loop goes on while there is idle memory.
 */
static int charge(struct reel_pool *pool, size_t bytes)
{
	size_t trimmed, most;

	do {
		if (!reel_budget_charge(pool, bytes))
			return 0;
		if (bytes > pool->hard_budget)
			return -EDQUOT;
		/* Relaxed: an estimate. Other processes may have used up a shared budget. */
		most = pool->share ? atomic_load_explicit(&pool->resident, memory_order_relaxed)
				   : pool->hard_budget;
		trimmed = reel_pool_trim(pool, most - reel_min_size(bytes, most));
	} while (trimmed);
	return reel_budget_charge(pool, bytes);
}

/* With a store, frames move from slab to slab. A trim would only cost page faults. */
static int charge_whole(struct reel_pool *pool, size_t bytes)
{
	return reel_pool_has_store(pool) ? reel_budget_charge(pool, bytes) : charge(pool, bytes);
}

static char *carve(struct reel_pool *pool)
{
	char *frame = reel_mapping_carve(pool, pool->slab_bytes);

	if (frame)
		reel_pool_tell_taken(pool, frame, pool->slab_bytes);
	return frame;
}

/* Carves a frame of slab_bytes, which the caller has charged, and takes n descriptors for it. */
static int fresh_frame(struct reel_pool *pool, uint32_t n, char **frame, struct reel_slab **slabs)
{
	REEL_ASSERT(atomic_load_explicit(&pool->resident, memory_order_relaxed) >=
		    pool->slab_bytes);
	*slabs = new_descriptors(pool, n);
	*frame = *slabs ? carve(pool) : NULL;
	if (!*frame) {
		keep_frameless(pool, *slabs, n);
		reel_budget_refund(pool, pool->slab_bytes);
		return -ENOMEM;
	}
	reel_budget_note_peak(pool);
	reel_annotate_forbid(*frame, pool->slab_bytes);
	atomic_fetch_add_explicit(&pool->fresh_slabs, n, memory_order_relaxed);
	return 0;
}

static int fresh_whole(struct reel_pool *pool, struct reel_slab **chain)
{
	char *frame;
	int error = charge_whole(pool, pool->slab_bytes);

	if (!error)
		error = fresh_frame(pool, 1, &frame, chain);
	if (error)
		return error;
	REEL_ASSERT(!(*chain)->frame);
	(*chain)->frame = frame;
	(*chain)->bytes = pool->slab_bytes;
	(*chain)->kind = REEL_SLAB_WHOLE;
	/* Mutants survive (statement): a descriptor that was never used is zero. */
	(*chain)->below = NULL;
	return 0;
}

struct reel_slab *reel_supply_pop_warm(struct reel_pool *pool)
{
	struct reel_slab *chain = freelist_pop(&pool->warm[REEL_SLAB_WHOLE]);

	reel_yield_point();
	REEL_ASSERT(!chain || (chain->frame && chain->kind == REEL_SLAB_WHOLE));
	/* The chain that was just popped still counts. */
	REEL_ASSERT(!chain || atomic_load_explicit(&pool->warm_chains, memory_order_relaxed));
	/*
	 * Release: pairs with the acquire in ready_frames() (write-back.c). An offload thread that
	 * sees the lower `warm_chains` also sees `trimming`, so it does not refuse a push while a
	 * trim holds the last chain.
	 */
	if (chain)
		atomic_fetch_sub_explicit(&pool->warm_chains, 1, memory_order_release);
	return chain;
}

void reel_supply_push_warm(struct reel_pool *pool, struct reel_slab *chain)
{
	REEL_ASSERT(chain->frame && chain->kind == REEL_SLAB_WHOLE);
	/*
	 * Relaxed, and before the push: the number may be too high for a moment, but never too low.
	 */
	atomic_fetch_add_explicit(&pool->warm_chains, 1, memory_order_relaxed);
	freelist_push(&pool->warm[REEL_SLAB_WHOLE], chain);
}

/* Slabs of one size have one list, which is also the list of some other sizes. */
static struct freelist *large_list(struct reel_pool *pool, size_t bytes)
{
	unsigned width = reel_width(bytes);
	unsigned quarter = (unsigned)(bytes >> (width - 3) & 3);

	REEL_ASSERT(width >= 3);
	return &pool->large[(4 * width + quarter) % REEL_LARGE_LISTS];
}

struct reel_slab *reel_supply_pop_large(struct reel_pool *pool)
{
	struct reel_slab *slab = NULL;

	for (unsigned n = 0; n < REEL_LARGE_LISTS && !slab; n++)
		slab = freelist_pop(&pool->large[n]);
	return slab;
}

bool reel_supply_has_large(const struct reel_pool *pool)
{
	bool found = false;

	for (unsigned n = 0; n < REEL_LARGE_LISTS && !found; n++)
		found = !freelist_is_empty(&pool->large[n]);
	return found;
}

static void push_warm(struct reel_pool *pool, struct reel_slab *chain)
{
	if (chain->kind == REEL_SLAB_WHOLE)
		reel_supply_push_warm(pool, chain);
	else if (chain->kind == REEL_SLAB_LARGE)
		freelist_push(large_list(pool, chain->bytes), chain);
	else
		freelist_push(&pool->warm[chain->kind], chain);
}

/* Puts all slabs of the chain except the first back on the warm list. */
static struct reel_slab *first_of(struct reel_pool *pool, struct reel_slab *chain)
{
	if (chain->below)
		push_warm(pool, chain->below);
	chain->below = NULL;
	return chain;
}

/* The frame of the first slab of a chain, which becomes frameless, and n descriptors for it. */
static int take_apart(struct reel_pool *pool, struct reel_slab *chain, uint32_t n, char **frame,
		      struct reel_slab **slabs)
{
	struct reel_slab *carrier = first_of(pool, chain);

	*slabs = new_descriptors(pool, n);
	if (!*slabs) {
		push_warm(pool, carrier);
		return -ENOMEM;
	}
	REEL_ASSERT(carrier->frame && !carrier->below);
	*frame = carrier->frame;
	carrier->frame = NULL;
	freelist_push(&pool->frameless, carrier);
	return 0;
}

/* A frame to split into first slabs: a fresh frame, or with a store the frame of a warm slab. */
static int frame_to_split(struct reel_pool *pool, uint32_t n, char **frame,
			  struct reel_slab **slabs)
{
	int error = charge_whole(pool, pool->slab_bytes);
	struct reel_slab *chain;

	if (!error)
		return fresh_frame(pool, n, frame, slabs);
	chain = reel_pool_has_store(pool) ? reel_supply_pop_warm(pool) : NULL;
	return chain ? take_apart(pool, chain, n, frame, slabs) : error;
}

/*
 * Splits a frame into n slabs of a kind. The caller gets a chain of the lowest ones; the others go
 * to the shared list, in chains that fill a magazine.
 */
static struct reel_slab *split(struct reel_pool *pool, enum reel_slab_kind kind, char *frame,
			       size_t bytes, struct reel_slab *slabs, uint32_t n)
{
	uint32_t chain_slabs = pool->magazine_slabs ? pool->magazine_slabs : 1;

	for (uint32_t i = n; i-- > 0;) {
		bool ends_chain = i + 1 == n || (i + 1) % chain_slabs == 0;

		slabs[i].frame = frame + i * bytes;
		slabs[i].bytes = bytes;
		slabs[i].kind = (uint8_t)kind;
		slabs[i].below = ends_chain ? NULL : &slabs[i + 1];
		if (i > 0 && i % chain_slabs == 0)
			freelist_push(&pool->warm[kind], &slabs[i]);
	}
	return slabs;
}

static int fresh_firsts(struct reel_pool *pool, struct reel_slab **chain)
{
	uint32_t n = (uint32_t)(pool->slab_bytes / pool->first_slab_bytes);
	struct reel_slab *slabs;
	char *frame;
	int error = frame_to_split(pool, n, &frame, &slabs);

	REEL_ASSERT(n * pool->first_slab_bytes == pool->slab_bytes);
	if (error)
		return error;
	atomic_fetch_add_explicit(&pool->unspillable, pool->slab_bytes, memory_order_relaxed);
	*chain = split(pool, REEL_SLAB_FIRST, frame, pool->first_slab_bytes, slabs, n);
	return 0;
}

static int take_first(struct reel_pool *pool, struct reel_slab **chain)
{
	*chain = freelist_pop(&pool->warm[REEL_SLAB_FIRST]);
	return *chain ? 0 : fresh_firsts(pool, chain);
}

static int fresh_smalls(struct reel_pool *pool, struct reel_slab **chain)
{
	uint32_t n = (uint32_t)(pool->first_slab_bytes / pool->small_slab_bytes);
	struct reel_slab *first, *slabs;
	int error = take_first(pool, &first);
	char *frame;

	REEL_ASSERT(n * pool->small_slab_bytes == pool->first_slab_bytes);
	if (!error)
		error = take_apart(pool, first, n, &frame, &slabs);
	if (!error)
		*chain = split(pool, REEL_SLAB_SMALL, frame, pool->small_slab_bytes, slabs, n);
	return error;
}

static int rewarm(struct reel_pool *pool, struct reel_slab *slab)
{
	int error = charge_whole(pool, slab->bytes);

	REEL_ASSERT(slab->frame && slab->bytes == pool->slab_bytes && !slab->below);
	if (error) {
		freelist_push(&pool->cold, slab);
		return error;
	}
	reel_budget_note_peak(pool);
	reel_pool_tell_taken(pool, slab->frame, slab->bytes);
	return 0;
}

static int take(struct reel_pool *pool, enum reel_slab_kind kind, struct reel_slab **chain)
{
	*chain = kind == REEL_SLAB_WHOLE ? reel_supply_pop_warm(pool)
					 : freelist_pop(&pool->warm[kind]);
	if (*chain)
		return 0;
	if (kind == REEL_SLAB_SMALL)
		return fresh_smalls(pool, chain);
	if (kind == REEL_SLAB_FIRST)
		return fresh_firsts(pool, chain);
	*chain = freelist_pop(&pool->cold);
	if (*chain)
		return rewarm(pool, *chain);
	return fresh_whole(pool, chain);
}

/* If there is no slab, unmaps idle large slabs one by one: only large slabs can reuse them. */
int reel_supply_take(struct reel_pool *pool, enum reel_slab_kind kind, struct reel_slab **chain)
{
	int error;

	REEL_ASSERT(kind != REEL_SLAB_LARGE);
	do
		error = take(pool, kind, chain);
	while (error && reel_trim_idle_large(pool));
	return error;
}

int reel_supply_take_one(struct reel_pool *pool, enum reel_slab_kind kind, struct reel_slab **slab)
{
	int error = reel_supply_take(pool, kind, slab);

	if (!error)
		first_of(pool, *slab);
	return error;
}

/*
 * Resident bytes above which a slab that is given goes back to the system. With a store, the room
 * above the soft budget serves slabs that are read back, so only overdrawn frames go back. A pool
 * without a store has no thread that gives idle slabs back when other processes need them.
 */
static size_t max_warm(const struct reel_pool *pool)
{
	if (pool->parent)
		return pool->idle_bytes;
	if (pool->share && !reel_pool_has_store(pool) && reel_share_is_wanted(pool->share))
		return pool->share->minimum;
	return reel_pool_has_store(pool) ? pool->hard_budget : reel_soft_budget(pool);
}

int reel_supply_give_back(struct reel_pool *pool, void *lent)
{
	struct reel_slab *slab = reel_supply_take_frameless(pool);

	if (!slab)
		return -ENOMEM;
	slab->kind = REEL_SLAB_LENT;
	slab->lent = lent;
	slab->below = NULL;
	freelist_push(&pool->lent_back, slab);
	return 0;
}

void *reel_supply_take_back(struct reel_pool *pool)
{
	struct reel_slab *slab = freelist_pop(&pool->lent_back);
	void *lent;

	if (!slab)
		return NULL;
	REEL_ASSERT(reel_slab_is_lent(slab) && reel_slab_state_of(slab) == REEL_SLAB_EMPTY);
	lent = slab->lent;
	slab->lent = slab->frame = NULL;
	freelist_push(&pool->frameless, slab);
	return lent;
}

void reel_supply_give(struct reel_pool *pool, enum reel_slab_kind kind, struct reel_slab *chain)
{
	size_t most = max_warm(pool);
	bool surplus = atomic_load_explicit(&pool->resident, memory_order_relaxed) > most;

	REEL_ASSERT(chain->kind == kind && chain->frame);
	REEL_ASSERT(kind < REEL_SLAB_LARGE || !chain->below);
	if (reel_slab_is_lent(chain)) {
		size_t bytes = chain->bytes;

		/* First: a thread that gets this room can take the memory back, and free it. */
		freelist_push(&pool->lent_back, chain);
		reel_budget_refund(pool, bytes);
		return;
	}
	/* The contents have been to the store and came back to a frame of the pool. */
	if (kind == REEL_SLAB_LENT) {
		kind = REEL_SLAB_LARGE;
		chain->kind = REEL_SLAB_LARGE;
	}
	if (surplus && kind == REEL_SLAB_LARGE)
		reel_trim_large(pool, chain);
	else if (surplus && kind == REEL_SLAB_WHOLE)
		reel_trim_chain(pool, chain, most);
	else
		push_warm(pool, chain);
}

struct reel_slab *reel_supply_take_frameless(struct reel_pool *pool)
{
	struct reel_slab *slab = freelist_pop(&pool->frameless);

	REEL_ASSERT(!slab || !slab->frame);
	return slab ? slab : new_descriptors(pool, 1);
}

/*
 * Number of large slabs from which on their frames are not aligned any more. A process may have
 * 65,530 mappings (vm.max_map_count). The kernel merges neighbours, but between aligned ones lies
 * a gap.
 */
#define MAX_ALIGNED ((size_t)8192)

static int map(struct reel_pool *pool, size_t bytes, struct reel_slab *slab)
{
	/* Relaxed: the number guards no other data. */
	bool few = atomic_load_explicit(&pool->large_frames, memory_order_relaxed) < MAX_ALIGNED;

	slab->frame = reel_mapping_of_large(pool, bytes, few);
	if (!slab->frame)
		return -ENOMEM;
	atomic_fetch_add_explicit(&pool->large_frames, 1, memory_order_relaxed);
	reel_pool_tell_taken(pool, slab->frame, bytes);
	return 0;
}

/*
 * Takes a large slab from the parent, whose budget has to have room. The charge of this pool's own
 * only counts, since its hard budget is SIZE_MAX. May wait for the parent's store, and for the
 * stores of its children.
 */
static int borrow(struct reel_pool *pool, size_t bytes, struct reel_slab *slab)
{
	int error = reel_pool_take(pool->parent, REEL_SLAB_LARGE, bytes, &slab->lender);

	if (error)
		return error;
	slab->frame = slab->lender->frame;
	reel_pool_tell_taken(pool, slab->frame, bytes);
	return reel_budget_charge(pool, bytes);
}

bool reel_supply_overdraw(struct reel_pool *pool, struct reel_slab *slab)
{
	REEL_ASSERT(!slab->frame && !pool->parent);
	do
		if (slab->kind >= REEL_SLAB_LARGE)
			map(pool, slab->bytes, slab);
		else
			slab->frame = carve(pool);
	while (!slab->frame && reel_trim_idle_large(pool));
	if (slab->frame)
		reel_budget_overdraw(pool, slab->bytes);
	return slab->frame;
}

static int charge_and_map(struct reel_pool *pool, size_t bytes, struct reel_slab *slab)
{
	int error = charge(pool, bytes);

	if (error)
		return error;
	error = map(pool, bytes, slab);
	if (error)
		reel_budget_refund(pool, bytes);
	return error;
}

size_t reel_supply_large_bytes(size_t bytes)
{
	return reel_round_up(bytes, reel_os_page_bytes());
}

/*
 * Returns true if an idle large slab may serve. Without a store at most an eighth of it is wasted.
 * With a store the size must be equal: waste would refuse slabs that fit into the budget, and a
 * slab that is read back must keep its size, which its owner may read meanwhile.
 */
static bool serves(const struct reel_pool *pool, const struct reel_slab *slab, size_t bytes)
{
	if (reel_pool_has_store(pool))
		return slab->bytes == bytes;
	return slab->bytes >= bytes && slab->bytes - bytes <= slab->bytes / 8;
}

/* Charges the bytes of the slab. One of kind LARGE also gets a frame: LENT has the program's. */
static int supply_large(struct reel_pool *pool, enum reel_slab_kind kind, size_t bytes,
			struct reel_slab *slab)
{
	REEL_ASSERT(kind == REEL_SLAB_LARGE || !pool->parent);
	if (kind == REEL_SLAB_LENT)
		return charge(pool, bytes);
	return pool->parent ? borrow(pool, bytes, slab) : charge_and_map(pool, bytes, slab);
}

static int fresh_large(struct reel_pool *pool, enum reel_slab_kind kind, size_t bytes,
		       struct reel_slab **taken)
{
	struct reel_slab *slab = reel_supply_take_frameless(pool);
	int error;

	if (!slab)
		return -ENOMEM;
	REEL_ASSERT(!slab->frame && bytes == reel_supply_large_bytes(bytes));
	error = supply_large(pool, kind, bytes, slab);
	if (error) {
		freelist_push(&pool->frameless, slab);
		return error;
	}
	reel_budget_note_peak(pool);
	slab->bytes = bytes;
	slab->kind = (uint8_t)kind;
	slab->below = NULL;
	if (kind == REEL_SLAB_LARGE)
		atomic_fetch_add_explicit(&pool->fresh_slabs, 1, memory_order_relaxed);
	*taken = slab;
	return 0;
}

int reel_supply_take_lent(struct reel_pool *pool, size_t bytes, struct reel_slab **taken)
{
	return fresh_large(pool, REEL_SLAB_LENT, bytes, taken);
}

/*
 * Pops the first large slab of the list for the size, if it has the right size. If not, the slab
 * goes back to the list. Meanwhile it is on no list, so `trimming` is raised as in trim.c, and no
 * thread is refused for want of the slab. NULL: there is none.
 */
static struct reel_slab *pop_large_of(struct reel_pool *pool, size_t wanted)
{
	struct freelist *list = large_list(pool, wanted);
	struct reel_slab *slab;

	/* Relaxed, and release below: as in begin_trim() and end_trim(). */
	atomic_fetch_add_explicit(&pool->trimming, 1, memory_order_relaxed);
	slab = freelist_pop(list);
	REEL_ASSERT(!slab || slab->kind == REEL_SLAB_LARGE);
	if (slab && !serves(pool, slab, wanted)) {
		freelist_push(list, slab);
		slab = NULL;
	}
	atomic_fetch_sub_explicit(&pool->trimming, 1, memory_order_release);
	return slab;
}

/*
 * Takes an idle slab of the size. If a program repeats itself, there is one, in whatever order it
 * takes and gives slabs. Otherwise the program needs other sizes now, and an idle slab is trimmed.
 */
int reel_supply_take_large(struct reel_pool *pool, size_t bytes, struct reel_slab **taken)
{
	size_t wanted = reel_supply_large_bytes(bytes);
	int error;

	*taken = pop_large_of(pool, wanted);
	REEL_ASSERT(!*taken || (*taken)->frame);
	if (*taken)
		return 0;
	reel_trim_idle_large(pool);
	do
		error = fresh_large(pool, REEL_SLAB_LARGE, wanted, taken);
	while (error == -ENOMEM && reel_trim_idle_large(pool));
	return error;
}
