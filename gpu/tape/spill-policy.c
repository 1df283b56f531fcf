/* SPDX-License-Identifier: MIT */
/*
 * The choice of slabs that go to the store of an arena or come back from it. The thread that called
 * a function of reel/arena.h runs these functions, after it has read the tables. A warp never loses
 * its highest slab. Slabs in the store are the lowest of their warp, without a gap.
 */
#include "config.h"

#include "spill-policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arena-state.h"
#include "os/assert.h"

/* Number of rows in the store that the top of a lane can count. */
#define MAX_DEPTH ((uint64_t)UINT32_MAX - REEL_DEVICE_TOP_SPILLED)

/* ---- Opening and closing ---- */

int reel_spill_policy_open(struct reel_arena *arena, struct reel_spill_policy *policy,
			   reel_store *store)
{
	int error = reel_spill_policy_fit(policy, arena->empty.warps);

	return error ? error : reel_batches_open(arena, &policy->batches, store);
}

int reel_spill_policy_fit(struct reel_spill_policy *policy, uint32_t warps)
{
	uint32_t *memory;

	if (warps <= policy->warps)
		return 0;
	memory = calloc(warps, 4 * sizeof *memory);
	if (!memory)
		return reel_fail(-ENOMEM, "no host memory for %u warps", (unsigned)warps);
	free(policy->there);
	policy->warps = warps;
	policy->there = memory;
	policy->spare = memory + warps;
	policy->coming = memory + 2 * (size_t)warps;
	policy->wanted = memory + 3 * (size_t)warps;
	reel_spill_policy_forget(policy);
	return 0;
}

void reel_spill_policy_close(struct reel_arena *arena, struct reel_spill_policy *policy)
{
	reel_batches_close(arena, &policy->batches);
	free(policy->there);
}

void reel_spill_policy_rank(struct reel_arena *arena, struct reel_spill_policy *policy)
{
	for (uint32_t n = 0; n < arena->empty.warps; n++) {
		policy->there[n] = reel_tables_trim(&arena->tables, n);
		policy->coming[n] = 0;
	}
}

void reel_spill_policy_forget(struct reel_spill_policy *policy)
{
	memset(policy->wanted, 0xff, policy->warps * sizeof *policy->wanted);
}

/* ---- Which slabs go ---- */

/* Number of slabs of a warp that may go. The highest one stays, for the lanes at the top. */
static uint32_t spare_of(const struct reel_arena *arena, const struct reel_spill_policy *policy,
			 uint32_t warp, bool deep)
{
	const struct reel_tables *tables = &arena->tables;
	uint64_t drained = tables->warp[warp].drained, mask = tables->header->row_mask;
	uint64_t lowest = drained + policy->there[warp];

	lowest -= lowest > drained;
	for (unsigned lane = 0; lane < 32 && !deep; lane++) {
		uint64_t rows = tables->rows[32 * warp + lane];

		if (rows < REEL_TABLES_EMPTY && rows / mask < lowest)
			lowest = rows / mask;
	}
	if (policy->wanted[warp] < lowest)
		lowest = policy->wanted[warp];
	if (lowest * mask > MAX_DEPTH)
		lowest = MAX_DEPTH / mask;
	return lowest > drained ? (uint32_t)(lowest - drained) : 0;
}

/* Sum over all warps of the slabs above the `kept` that each warp may keep. */
static uint64_t count_beyond(const uint32_t *slabs, uint32_t warps, uint32_t kept)
{
	uint64_t sum = 0;

	for (uint32_t n = 0; n < warps; n++)
		sum += slabs[n] > kept ? slabs[n] - kept : 0;
	return sum;
}

/* Largest number that each warp may keep if `wanted` slabs are to go; 0 if there are fewer. */
static uint32_t level_for(const uint32_t *slabs, uint32_t warps, uint64_t wanted)
{
	uint32_t low = 0, high = 0;

	for (uint32_t n = 0; n < warps; n++)
		high = slabs[n] > high ? slabs[n] : high;
	while (low < high) {
		uint32_t middle = low + (high - low + 1) / 2;

		if (count_beyond(slabs, warps, middle) >= wanted)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/*
 * Lower slabs first. Slabs of one height are sorted by number: most warps took them in turn, so
 * they lie side by side.
 */
static int compare_items(const void *a, const void *b)
{
	const struct reel_batch_item *one = a, *other = b;

	if (one->height != other->height)
		return one->height < other->height ? -1 : 1;
	return one->slab < other->slab ? -1 : one->slab > other->slab;
}

static void list_items(struct reel_arena *arena, const struct reel_spill_policy *policy,
		       uint32_t kept, struct reel_batch_item *item)
{
	struct reel_tables *tables = &arena->tables;

	for (uint32_t n = 0; n < arena->empty.warps; n++) {
		if (policy->spare[n] <= kept)
			continue;
		reel_tables_walk(tables, n);
		for (uint32_t i = 0; i < policy->spare[n] - kept; i++)
			*item++ = (struct reel_batch_item){n, tables->warp[n].drained + i,
							   tables->chain[i]};
	}
}

/* Adds batches of the slabs that are to go: `slabs`, or all that may go. */
static int choose(struct reel_arena *arena, struct reel_spill_policy *policy, uint64_t slabs,
		  bool deep)
{
	uint32_t warps = arena->empty.warps, kept;
	struct reel_batch_item *items;
	size_t count;
	int error;

	for (uint32_t n = 0; n < warps; n++)
		policy->spare[n] = spare_of(arena, policy, n, false);
	if (deep && count_beyond(policy->spare, warps, 0) < slabs)
		for (uint32_t n = 0; n < warps; n++)
			policy->spare[n] = spare_of(arena, policy, n, true);
	kept = level_for(policy->spare, warps, slabs);
	count = (size_t)count_beyond(policy->spare, warps, kept);
	items = malloc((count + 1) * sizeof *items);
	if (!items)
		return reel_fail(-ENOMEM, "no host memory to list the slabs that are to go");
	list_items(arena, policy, kept, items);
	qsort(items, count, sizeof *items, compare_items);
	error = reel_batches_add(&policy->batches, items, count);
	free(items);
	return error;
}

/* Begins to move batches out. Their slabs leave the chains now, and are free in the end. */
static int begin_out(struct reel_arena *arena, struct reel_spill_policy *policy, size_t first)
{
	struct reel_batches *batches = &policy->batches;
	int error = reel_batches_begin_out(arena, batches, first);

	for (size_t n = first; n < batches->end; n++)
		for (uint32_t i = 0; i < batches->batch[n].slabs; i++) {
			uint32_t warp = batches->batch[n].items[i].warp;

			REEL_ASSERT(policy->there[warp] > 1);
			reel_tables_drop_bottom(&arena->tables, warp);
			policy->there[warp]--;
			arena->stats.drained_bytes += arena->slab_bytes;
		}
	return error;
}

static void end_out(struct reel_arena *arena, struct reel_batches *batches)
{
	for (size_t n = batches->first; n < batches->end; n++)
		for (uint32_t i = 0; i < batches->batch[n].slabs; i++) {
			reel_tables_give(&arena->tables, batches->batch[n].items[i].slab);
			batches->batch[n].items[i].slab = 0;
		}
}

int reel_spill_policy_write(struct reel_arena *arena, struct reel_spill_policy *policy,
			    uint64_t slabs, bool deep)
{
	struct reel_batches *batches = &policy->batches;
	size_t next = batches->count;
	int error = choose(arena, policy, slabs, deep), ended;

	while (next < batches->count && !error) {
		error = begin_out(arena, policy, next);
		/* If there is no memory for one more batch, those that move have to end first. */
		if (batches->end > next && !batches->is_lost)
			error = 0;
		next = batches->end;
		ended = reel_spill_policy_end(arena, policy);
		error = error ? error : ended;
	}
	reel_batches_drop_from(batches, next);
	return error;
}

void reel_spill_policy_begin_write(struct reel_arena *arena, struct reel_spill_policy *policy,
				   uint64_t slabs)
{
	struct reel_batches *batches = &policy->batches;
	size_t first = batches->count;

	if (choose(arena, policy, slabs, false))
		return;
	begin_out(arena, policy, first);
	reel_batches_drop_from(batches, batches->end);
}

/* ---- Which slabs come back ---- */

uint64_t reel_spill_policy_miss(struct reel_arena *arena, struct reel_spill_policy *policy,
				const struct reel_arena_warp *launch)
{
	uint64_t sum = 0;

	for (uint32_t n = 0; n < arena->empty.warps; n++) {
		/* `launch` is older than the tables: since then other slabs may have moved. */
		uint32_t drained = arena->tables.warp[n].drained, lowest = launch[n].drained;

		lowest -= launch[n].missed < lowest ? launch[n].missed : lowest;
		if (launch[n].missed && lowest < policy->wanted[n])
			policy->wanted[n] = lowest;
		policy->coming[n] = policy->wanted[n] < drained ? drained - policy->wanted[n] : 0;
		sum += policy->coming[n];
	}
	return sum;
}

static uint32_t coming_for(const struct reel_arena *arena, const struct reel_spill_policy *policy,
			   uint32_t warp, uint32_t depth)
{
	uint32_t drained = arena->tables.warp[warp].drained, there = policy->there[warp];
	uint32_t coming = depth > there ? depth - there : 0;

	coming = coming < drained ? coming : drained;
	return coming > policy->coming[warp] ? coming : policy->coming[warp];
}

uint64_t reel_spill_policy_deepen(struct reel_arena *arena, struct reel_spill_policy *policy,
				  uint32_t depth)
{
	uint64_t sum = 0;

	for (uint32_t n = 0; n < arena->empty.warps; n++)
		sum += policy->coming[n] = coming_for(arena, policy, n, depth);
	return sum;
}

void reel_spill_policy_look_ahead(struct reel_arena *arena, struct reel_spill_policy *policy,
				  uint64_t most)
{
	uint32_t low = 0, high = arena->empty.end_slab;

	while (low < high) {
		uint32_t middle = low + (high - low + 1) / 2;
		uint64_t sum = 0;

		for (uint32_t n = 0; n < arena->empty.warps; n++)
			sum += coming_for(arena, policy, n, middle);
		if (sum <= most)
			low = middle;
		else
			high = middle - 1;
	}
	reel_spill_policy_deepen(arena, policy, low);
}

static bool is_coming(const struct reel_arena *arena, const struct reel_spill_policy *policy,
		      const struct reel_batch_item *item)
{
	return item->height < UINT32_MAX &&
	       item->height + policy->coming[item->warp] >= arena->tables.warp[item->warp].drained;
}

/*
 * Takes a slab for each item that is coming. Goes backwards through the batches, so that slabs that
 * lay side by side do so again.
 */
static void give_places(struct reel_arena *arena, struct reel_spill_policy *policy)
{
	struct reel_batches *batches = &policy->batches;

	reel_tables_sort_free(&arena->tables);
	for (size_t n = batches->count; n-- > 0;)
		for (uint32_t i = batches->batch[n].slabs; i-- > 0;)
			if (is_coming(arena, policy, &batches->batch[n].items[i])) {
				batches->batch[n].items[i].slab = reel_tables_take(&arena->tables);
				REEL_ASSERT(batches->batch[n].items[i].slab);
			}
	memset(policy->coming, 0, policy->warps * sizeof *policy->coming);
}

/* Frees the places of the items before batch number `end`, which do not come after all. */
static void revoke_places(struct reel_arena *arena, struct reel_batches *batches, size_t end)
{
	for (size_t n = 0; n < end; n++)
		for (uint32_t i = 0; i < batches->batch[n].slabs; i++) {
			struct reel_batch_item *item = &batches->batch[n].items[i];

			if (item->slab)
				reel_tables_give(&arena->tables, item->slab);
			item->slab = 0;
		}
}

/* Adds the slabs to their warps: backwards, the slabs of each warp come from the highest down. */
static void end_in(struct reel_arena *arena, struct reel_spill_policy *policy)
{
	struct reel_batches *batches = &policy->batches;

	for (size_t n = batches->end; n-- > batches->first;)
		for (uint32_t i = batches->batch[n].slabs; i-- > 0;) {
			struct reel_batch_item *item = &batches->batch[n].items[i];

			if (!item->slab)
				continue;
			reel_tables_put_bottom(&arena->tables, item->warp, item->slab);
			REEL_ASSERT(arena->tables.warp[item->warp].drained == item->height);
			policy->there[item->warp]++;
			arena->stats.refilled_bytes += arena->slab_bytes;
			item->height = UINT32_MAX;
			item->slab = 0;
		}
	reel_batches_forget(batches);
}

int reel_spill_policy_read(struct reel_arena *arena, struct reel_spill_policy *policy)
{
	struct reel_batches *batches = &policy->batches;
	size_t end = batches->count, next;
	int error = 0, ended;

	give_places(arena, policy);
	for (; end > 0 && !error; end = next) {
		error = reel_batches_begin_in(arena, batches, end, true);
		next = batches->first;
		/* If there is no memory for one more batch, those that move have to end first. */
		if (next < end && !batches->is_lost)
			error = 0;
		ended = reel_spill_policy_end(arena, policy);
		error = error ? error : ended;
	}
	revoke_places(arena, batches, end);
	return error;
}

void reel_spill_policy_begin_read(struct reel_arena *arena, struct reel_spill_policy *policy)
{
	struct reel_batches *batches = &policy->batches;

	give_places(arena, policy);
	reel_batches_begin_in(arena, batches, batches->count, false);
	revoke_places(arena, batches, batches->first);
}

/* ---- The end of a move ---- */

int reel_spill_policy_end(struct reel_arena *arena, struct reel_spill_policy *policy)
{
	struct reel_batches *batches = &policy->batches;
	enum reel_move move = batches->moving;
	int error = move ? reel_batches_end(arena, batches) : 0;

	if (batches->is_lost)
		return error;
	if (move == REEL_MOVE_OUT)
		end_out(arena, batches);
	if (move == REEL_MOVE_IN)
		end_in(arena, policy);
	return error;
}
