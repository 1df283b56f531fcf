/* SPDX-License-Identifier: MIT */
/*
 * The cheaper kind of page by the last costs, and trials of the dearer kind, since costs change
 * when other programs free memory and when the host takes it.
 *
 * Relaxed, all: the costs guard no other data. If two threads note a cost at the same time, one of
 * the two is lost.
 */
#include "config.h"

#include <stdbool.h>

#include "os/assert.h"
#include "os/integer.h"
#include "page-kind.h"

/* A trial costs at most this part of the time of the blocks before it. */
#define TRIAL_SHARE 20 /* a twentieth */
#define FIRST_INTERVAL 8u
#define MAX_DOUBLINGS 10

/*
 * A thread that loses its processor measures a high cost. A cost rises to at most twice the last
 * one, so that one such block does not move the choice from pages that cost less than half.
 */
#define MAX_RISE 2
#define MAX_COST 1000000

/* Picoseconds a byte. Huge pages are tried first, and small ones if the huge ones cost more. */
static const uint32_t initial[REEL_PAGE_KINDS] = {[REEL_PAGES_HUGE] = 250,
						  [REEL_PAGES_SMALL] = 400};
/* No machine is faster, so a kind that costs less needs no trial of the other one. */
static const uint32_t least[REEL_PAGE_KINDS] = {[REEL_PAGES_HUGE] = 50, [REEL_PAGES_SMALL] = 200};

struct reel_page_costs reel_page_costs;

static uint32_t cost_of(struct reel_page_costs *costs, enum reel_page_kind kind)
{
	uint32_t last = atomic_load_explicit(&costs->last[kind], memory_order_relaxed);

	REEL_ASSERT(last <= MAX_COST);
	return last ? last : initial[kind];
}

static enum reel_page_kind other_than(enum reel_page_kind kind)
{
	return kind == REEL_PAGES_HUGE ? REEL_PAGES_SMALL : REEL_PAGES_HUGE;
}

enum reel_page_kind reel_page_kind_cheaper(struct reel_page_costs *costs)
{
	bool small = cost_of(costs, REEL_PAGES_SMALL) < cost_of(costs, REEL_PAGES_HUGE);

	return small ? REEL_PAGES_SMALL : REEL_PAGES_HUGE;
}

/*
 * Number of blocks before the next trial: a kind that was dear only for a moment is soon tried
 * again, and then ever more rarely, until trials cost a twentieth of the other blocks' time.
 */
static uint32_t interval(uint32_t trials, uint32_t cheap, uint32_t dear)
{
	uint32_t soon = FIRST_INTERVAL << (trials < MAX_DOUBLINGS ? trials : MAX_DOUBLINGS);
	uint32_t excess = dear > cheap ? dear - cheap : 0;
	uint32_t rarely = TRIAL_SHARE + TRIAL_SHARE * excess / cheap;

	return soon < rarely ? soon : rarely;
}

static bool trial_is_due(struct reel_page_costs *costs, uint32_t blocks, enum reel_page_kind kind)
{
	enum reel_page_kind other = other_than(kind);
	uint32_t trials = atomic_load_explicit(&costs->trials, memory_order_relaxed);
	uint32_t cheap = cost_of(costs, kind);

	return cheap > least[other] && blocks >= interval(trials, cheap, cost_of(costs, other));
}

enum reel_page_kind reel_page_kind_next(struct reel_page_costs *costs)
{
	enum reel_page_kind kind = reel_page_kind_cheaper(costs);
	uint32_t blocks = atomic_load_explicit(&costs->blocks, memory_order_relaxed);

	if (!trial_is_due(costs, blocks, kind))
		return kind;
	/* One thread makes the trial. */
	if (!atomic_compare_exchange_strong_explicit(&costs->blocks, &blocks, 0,
						     memory_order_relaxed, memory_order_relaxed))
		return kind;
	atomic_fetch_add_explicit(&costs->trials, 1, memory_order_relaxed);
	return other_than(kind);
}

void reel_page_kind_note(struct reel_page_costs *costs, enum reel_page_kind kind,
			 uint64_t picoseconds)
{
	enum reel_page_kind cheaper = reel_page_kind_cheaper(costs);
	uint64_t cost = reel_min_u64(picoseconds, (uint64_t)MAX_RISE * cost_of(costs, kind));

	cost = reel_min_u64(cost < least[kind] ? least[kind] : cost, MAX_COST);
	atomic_store_explicit(&costs->last[kind], (uint32_t)cost, memory_order_relaxed);
	if (reel_page_kind_cheaper(costs) == cheaper) {
		atomic_fetch_add_explicit(&costs->blocks, 1, memory_order_relaxed);
		return;
	}
	atomic_store_explicit(&costs->trials, 0, memory_order_relaxed);
	atomic_store_explicit(&costs->blocks, 0, memory_order_relaxed);
}
