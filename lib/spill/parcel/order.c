/* SPDX-License-Identifier: MIT */
/*
 * Announced orders. To the offload thread an order is a tape that is popped: the bin that is needed
 * first lies on top. Any thread runs these functions, with parcels->lock held.
 *
 * A bin belongs to at most one order: the order of the last announcement that names it. bin->index
 * is the entry of its next use, and each entry has the index of the use after it. An order ends
 * when no bin belongs to it any more.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "parcel.h"

/* After HITS_IN_ROW bins without a wait an order requests one slab less. */
#define HITS_IN_ROW 64
#define NO_INDEX UINT32_MAX

struct reel_order {
	struct reel_parcels *parcels;
	struct reel_demand *demand;
	uint32_t entries;
	uint32_t used;  /* number of entries whose use has come, or was skipped */
	uint32_t bins;  /* number of bins that belong to the order */
	uint32_t slabs; /* size of all entries, in slabs */
	struct {
		struct reel_bin *bin; /* NULL: it belongs to another order by now, or was closed */
		uint32_t before;      /* size of all entries before this one, in slabs */
		uint32_t again;       /* the next entry of the same bin, or NO_INDEX */
		uint32_t pins;        /* number of pins that were announced for this use */
	} entry[];
};

/* Relaxed, here and below: parcels->lock orders the writes of `order`. */
static struct reel_order *order_of(const struct reel_bin *bin)
{
	return atomic_load_explicit(&bin->order, memory_order_relaxed);
}

static void set_order(struct reel_bin *bin, struct reel_order *order)
{
	atomic_store_explicit(&bin->order, order, memory_order_relaxed);
}

static uint32_t slabs_of(const struct reel_bin *bin)
{
	size_t slab = bin->parcels->pool->slab_bytes;

	return (uint32_t)((bin->filled - 1) / slab + 1);
}

/* ---- The offload thread's view ---- */

static void describe(struct reel_bin *bin, struct reel_demand *demand, uint32_t slab_index)
{
	struct reel_slab_io *slab_io;

	if (!bin->slab)
		return;
	slab_io = reel_slab_io_of(reel_offload_of(bin->parcels->pool), bin->slab);
	/* Release: pairs with the acquire in reel_demand_of(). Makes the demand visible. */
	atomic_store_explicit(&slab_io->demand, demand, memory_order_release);
	/* Relaxed: the offload thread estimates the reuse distance with it. */
	atomic_store_explicit(&slab_io->slab_index, slab_index, memory_order_relaxed);
}

/* The top of the tape that the order stands for has the highest index. */
void reel_order_describe(struct reel_bin *bin)
{
	const struct reel_order *order = order_of(bin);

	if (order)
		describe(bin, order->demand, order->slabs - 1 - order->entry[bin->index].before);
}

static uint32_t slabs_used(const struct reel_order *order)
{
	return order->used < order->entries ? order->entry[order->used].before : order->slabs;
}

/* Requests the bins that are needed next, as far as read-ahead goes. */
static void request(struct reel_order *order)
{
	struct reel_offload *offload = reel_offload_of(order->parcels->pool);
	uint32_t end = slabs_used(order) + reel_demand_slabs_ahead(offload, order->demand);

	REEL_ASSERT(order->used <= order->entries);
	if (offload->orphaned)
		return;
	for (uint32_t i = order->used; i < order->entries && order->entry[i].before < end; i++) {
		struct reel_bin *bin = order->entry[i].bin;

		if (bin && bin->slab && !reel_demand_request(order->demand, bin->slab))
			break;
	}
	reel_demand_end_requests(offload, order->demand);
}

/* ---- The end of an order ---- */

static void end_if_unused(struct reel_order *order)
{
	if (order->bins)
		return;
	reel_demand_give(reel_offload_of(order->parcels->pool), order->demand);
	free(order);
}

/* The bin has no announced use any more. */
static void forget(struct reel_order *order, struct reel_bin *bin)
{
	REEL_ASSERT(order_of(bin) == order && order->bins > 0);
	set_order(bin, NULL);
	describe(bin, order->parcels->unordered, reel_now_ms());
	order->bins--;
}

void reel_order_leave(struct reel_bin *bin)
{
	struct reel_order *order = order_of(bin);

	if (!order)
		return;
	for (uint32_t i = bin->index; i != NO_INDEX; i = order->entry[i].again)
		order->entry[i].bin = NULL;
	forget(order, bin);
	end_if_unused(order);
}

/* ---- Announcing ---- */

/* Bins of neighbouring parcels that are the same are one entry. */
static void fill(struct reel_order *order, reel_parcel *const *parcels, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct reel_bin *bin = parcels[i]->bin;

		if (order->entries && order->entry[order->entries - 1].bin == bin) {
			order->entry[order->entries - 1].pins++;
			continue;
		}
		order->entry[order->entries].bin = bin;
		order->entry[order->entries].pins = 1;
		order->entry[order->entries].before = order->slabs;
		order->slabs += slabs_of(bin);
		order->entries++;
	}
}

static void adopt(struct reel_order *order)
{
	for (uint32_t i = 0; i < order->entries; i++)
		reel_order_leave(order->entry[i].bin);
	for (uint32_t i = order->entries; i-- > 0;) {
		struct reel_bin *bin = order->entry[i].bin;

		order->entry[i].again = order_of(bin) == order ? bin->index : NO_INDEX;
		order->bins += order_of(bin) != order;
		set_order(bin, order);
		bin->index = i;
	}
	for (uint32_t i = 0; i < order->entries; i++)
		reel_order_describe(order->entry[i].bin);
}

static struct reel_order *new_order(struct reel_parcels *parcels, size_t n)
{
	struct reel_order *order;

	if (n >= NO_INDEX)
		return NULL;
	order = calloc(1, sizeof *order + n * sizeof *order->entry);
	if (!order)
		return NULL;
	order->parcels = parcels;
	order->demand = reel_demand_take(reel_offload_of(parcels->pool));
	if (order->demand)
		return order;
	free(order);
	return NULL;
}

static void tell(struct reel_order *order)
{
	/* Relaxed: the offload thread estimates reuse distances with both. */
	atomic_store_explicit(&order->demand->top, order->slabs - slabs_used(order),
			      memory_order_relaxed);
	atomic_store_explicit(&order->demand->highest, order->slabs - 1, memory_order_relaxed);
}

static const char *problem_of(const reel_parcel *parcel, const struct reel_parcels *parcels)
{
	if (parcel->parcels != parcels)
		return "all parcels of an announcement belong to one pool";
	/* Relaxed: the program orders the calls that change one parcel. */
	if (atomic_load_explicit(&parcel->pins, memory_order_relaxed) < 0)
		return "it is open; seal it first";
	return NULL;
}

int reel_parcel_announce(reel_parcel *const *announced, size_t n)
{
	struct reel_parcels *parcels = n ? announced[0]->parcels : NULL;
	struct reel_order *order;

	for (size_t i = 0; i < n; i++) {
		const char *problem = problem_of(announced[i], parcels);

		if (problem)
			return reel_fail(-EINVAL, "parcel %zu of %zu cannot be announced: %s", i, n,
					 problem);
	}
	if (!n || !parcels->unordered)
		return 0;
	order = new_order(parcels, n);
	if (!order)
		return reel_fail(-ENOMEM, "no memory to announce %zu parcels", n);
	pthread_mutex_lock(&parcels->lock);
	fill(order, announced, n);
	adopt(order);
	tell(order);
	request(order);
	pthread_mutex_unlock(&parcels->lock);
	return 0;
}

/* ---- Taking back ---- */

/* The bin is needed again at the next entry that names it, or has no announced use any more. */
static void move_on(struct reel_order *order, struct reel_bin *bin, uint32_t index)
{
	bin->index = order->entry[index].again;
	if (bin->index == NO_INDEX)
		forget(order, bin);
	else
		reel_order_describe(bin);
}

/* Takes back one pin that was announced, and the use of the bin with the last of them. */
static void withdraw(struct reel_bin *bin)
{
	struct reel_order *order = order_of(bin);
	uint32_t index = bin->index;

	if (!order || --order->entry[index].pins)
		return;
	order->entry[index].bin = NULL;
	move_on(order, bin, index);
	end_if_unused(order);
}

void reel_parcel_withdraw(reel_parcel *const *withdrawn, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct reel_bin *bin = withdrawn[i]->bin;

		pthread_mutex_lock(&bin->parcels->lock);
		withdraw(bin);
		pthread_mutex_unlock(&bin->parcels->lock);
	}
}

/* ---- Using ---- */

static void adapt(struct reel_demand *demand, bool waited)
{
	if (waited)
		reel_demand_note_stall(demand);
	else if (++demand->hits_in_row % HITS_IN_ROW == 0 && demand->ahead > REEL_MIN_AHEAD)
		demand->ahead--;
}

/* The first pin of a bin also brings the contents of its neighbours in the order. */
static void count_pins(struct reel_order *order, uint32_t index, bool waited)
{
	uint32_t pins = order->entry[index].pins;

	/* Relaxed, both: statistics guard no other data. */
	atomic_fetch_add_explicit(&order->parcels->announced, pins, memory_order_relaxed);
	atomic_fetch_add_explicit(&order->parcels->hits, pins - waited, memory_order_relaxed);
}

void reel_order_advance(struct reel_bin *bin, bool waited)
{
	struct reel_order *order = order_of(bin);
	uint32_t before;

	if (!order)
		return;
	count_pins(order, bin->index, waited);
	adapt(order->demand, waited);
	before = slabs_used(order);
	for (uint32_t end = bin->index; order->used <= end; order->used++)
		if (order->entry[order->used].bin)
			move_on(order, order->entry[order->used].bin, order->used);
	atomic_fetch_add_explicit(&order->demand->popped, slabs_used(order) - before,
				  memory_order_relaxed);
	tell(order);
	request(order);
	end_if_unused(order);
}
