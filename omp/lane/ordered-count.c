/* SPDX-License-Identifier: MIT */
/*
 * The counts of ordered sections: `order->count` is the number of turns noted and not reversed. A
 * hold keeps the counts that change in it, for a replay, and a reader of a recording counts in
 * copies, since the sections are the program's. Replay and release run while no lane runs.
 */
#include "config.h"

#include "ordered-count.h"

#include <errno.h>
#include <stdlib.h>

/* The copy of an ordered section in a reader. */
struct reel_ordered_copy {
	const reel_ordered *original;
	reel_ordered copy;
	struct reel_ordered_copy *next;
};

/* ---- Roots and holds of a section ---- */

/*
 * `order->hold` has two numbers: the hold's in the lower bits, and above them the number of the
 * root whose lanes note the section. A number of a root comes again after 2^24 roots.
 */
#define HOLD_BITS 40
#define HOLD_MASK (((uint64_t)1 << HOLD_BITS) - 1)
#define MAX_ROOTS ((uint32_t)1 << (64 - HOLD_BITS))

uint32_t reel_ordered_next_root(void)
{
	static _Atomic uint32_t roots;

	/* Relaxed is enough: a number that guards no memory. */
	return atomic_fetch_add_explicit(&roots, 1, memory_order_relaxed) % (MAX_ROOTS - 1) + 1;
}

static uint64_t hold_of(const reel_ordered *order)
{
	return order->hold & HOLD_MASK;
}

static void set_hold(reel_ordered *order, uint64_t hold)
{
	REEL_ASSERT(hold <= HOLD_MASK);
	order->hold = (order->hold & ~HOLD_MASK) | hold;
}

bool reel_ordered_is_of_other_root(reel_lane *lane, reel_ordered *order)
{
	uint32_t root = (uint32_t)(order->hold >> HOLD_BITS), own = lane->root->root_number;

	/* Relaxed is enough: the program's critical section orders it. */
	if (root && root != own && atomic_load_explicit(&order->count, memory_order_relaxed)) {
		reel_lane_fail(lane, -EINVAL,
			       "a struct reel_ordered has turns of another root that are not "
			       "reversed: use one struct for each section and each root, all zero "
			       "at first");
		return true;
	}
	if (root != own)
		order->hold = (uint64_t)own << HOLD_BITS | hold_of(order);
	return false;
}

/* ---- Counts in holds ---- */

static void add_count(struct reel_lane_hold *hold, struct reel_ordered_count *count)
{
	/* Relaxed is enough, here and below: see struct reel_lane_hold. */
	count->next = atomic_load_explicit(&hold->orders, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&hold->orders, &count->next, count,
						      memory_order_relaxed, memory_order_relaxed))
		;
}

void reel_ordered_keep_count(reel_lane *lane, reel_ordered *order)
{
	struct reel_lane_hold *hold = lane->hold ? lane->hold->top : NULL;
	struct reel_ordered_count *count;

	if (!hold || hold_of(order) == hold->number)
		return;
	count = malloc(sizeof *count);
	if (!count) {
		reel_lane_fail(lane, -ENOMEM, "no memory to use an order in a hold");
		return;
	}
	/*
	 * Relaxed is enough: the lane that changed it was in the section, or had its turn, before.
	 */
	*count = (struct reel_ordered_count){
		.order = order,
		.outer = hold_of(order),
		.count = atomic_load_explicit(&order->count, memory_order_relaxed)};
	set_hold(order, hold->number);
	add_count(hold, count);
}

static struct reel_ordered_count *take_counts(struct reel_lane_hold *hold)
{
	return atomic_exchange_explicit(&hold->orders, NULL, memory_order_relaxed);
}

void reel_ordered_replay(struct reel_lane_hold *hold)
{
	struct reel_ordered_count *count =
		atomic_load_explicit(&hold->orders, memory_order_relaxed);

	for (; count; count = count->next)
		/* Relaxed is enough: no lane runs. */
		atomic_store_explicit(&count->order->count, count->count, memory_order_relaxed);
}

/*
 * If the outer hold has not kept the count of an ordered section, the count did not change between
 * the beginnings of both holds, so the outer hold takes this one.
 */
void reel_ordered_release(struct reel_lane_hold *hold)
{
	struct reel_lane_hold *outer = hold->outer ? hold->outer->top : NULL;
	struct reel_ordered_count *count = take_counts(hold), *next;

	for (; count; count = next) {
		next = count->next;
		REEL_ASSERT(hold_of(count->order) == hold->number);
		set_hold(count->order, count->outer);
		if (outer && count->outer != outer->number) {
			set_hold(count->order, outer->number);
			add_count(outer, count);
		} else {
			free(count);
		}
	}
}

void reel_ordered_drop(struct reel_lane_hold *hold)
{
	struct reel_ordered_count *count = take_counts(hold), *next;

	for (; count; count = next) {
		next = count->next;
		free(count);
	}
}

/* ---- Copies ---- */

static reel_ordered *find(struct reel_ordered_copy *copy, const reel_ordered *original)
{
	while (copy && copy->original != original)
		copy = copy->next;
	return copy ? &copy->copy : NULL;
}

/* Several lanes may come to a section at once; a copy is added only to a list that lacks it. */
reel_ordered *reel_lane_ordered(reel_lane *lane, reel_ordered *order)
{
	reel_lane *root = lane->root;
	struct reel_ordered_copy *copies, *fresh;
	reel_ordered *there;

	if (!root->is_reader)
		return order;
	/* Acquire: pairs with the release below. Makes the copies visible. */
	copies = atomic_load_explicit(&root->copies, memory_order_acquire);
	there = find(copies, order);
	if (there)
		return there;
	fresh = calloc(1, sizeof *fresh);
	if (!fresh) {
		reel_lane_fail(lane, -ENOMEM, "no memory to use an order in a reader");
		return NULL;
	}
	fresh->original = order;
	/* Relaxed, both: nothing changes the program's section while it is read. */
	atomic_store_explicit(&fresh->copy.count,
			      atomic_load_explicit(&order->count, memory_order_relaxed),
			      memory_order_relaxed);
	do {
		there = find(copies, order);
		fresh->next = copies;
	} while (!there && !atomic_compare_exchange_weak_explicit(&root->copies, &copies, fresh,
								   memory_order_acq_rel,
								   memory_order_acquire));
	if (!there)
		return &fresh->copy;
	free(fresh);
	return there;
}

void reel_lane_drop_copies(reel_lane *root)
{
	/*
	 * Acquire: pairs with the release in reel_lane_ordered(). Makes the members of the copies
	 * visible.
	 */
	struct reel_ordered_copy *copy =
		atomic_exchange_explicit(&root->copies, NULL, memory_order_acquire);

	while (copy) {
		struct reel_ordered_copy *next = copy->next;

		free(copy);
		copy = next;
	}
}
