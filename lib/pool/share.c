/* SPDX-License-Identifier: MIT */
/*
 * Charges and refunds of a budget that several processes share, and how they share it. Nobody may
 * use a share in the child of a fork.
 *
 * Allotments: a member that is not short of memory keeps its share, up to the allotment. The
 * members that are short divide the rest equally. Each member computes its allotment when it looks;
 * no member writes to the slot of another one.
 */
#include "config.h"

#include "os/clock.h"
#include "os/integer.h"
#include "os/process.h"
#include "os/yield.h"
#include "share.h"

#define UNIT 64
#define UNIT_BITS 44
#define UNITS (((uint64_t)1 << UNIT_BITS) - 1)
/* Time between two searches for processes that have ended. With the looks: less than 100 ms. */
#define CHECK_MS 30
/* A member is short of memory for this time after a charge was refused. */
#define SHORT_MS (4 * REEL_SHARE_LOOK_MS)
/* For one look, the other members give back idle memory only. Then they write. */
#define PATIENCE_MS REEL_SHARE_LOOK_MS

uint64_t reel_share_now(void)
{
	return reel_clock_ns() / 1000000 + 1;
}

/* ---- The total ---- */

static uint64_t bytes_of(uint64_t total)
{
	return (total & UNITS) * UNIT;
}

/* Counts the change, so that reconcile() does not mistake two changes for none. */
static uint64_t changed(uint64_t total, uint64_t bytes)
{
	REEL_ASSERT(bytes % UNIT == 0 && bytes / UNIT <= UNITS);
	return ((total >> UNIT_BITS) + 1) << UNIT_BITS | bytes / UNIT;
}

static uint64_t budget_of(const struct reel_share_file *file)
{
	return atomic_load_explicit(&file->budget, memory_order_relaxed);
}

/*
 * Release, and acquire on success: pairs with the acquires in reconcile(). A process that sees the
 * new total also sees the claim, and one that sees a lowered claim sees the lowered total.
 */
static bool change_total(struct reel_share_file *file, uint64_t *total, uint64_t bytes)
{
	reel_yield_point();
	return atomic_compare_exchange_weak_explicit(&file->total, total, changed(*total, bytes),
						     memory_order_acq_rel, memory_order_relaxed);
}

static void add_claim(struct reel_share *share, size_t bytes)
{
	atomic_fetch_add_explicit(&share->slot->claimed, bytes, memory_order_relaxed);
}

/* Release: pairs with the acquire of `claimed` in reconcile(). The total was lowered before. */
static void drop_claim(struct reel_share *share, size_t bytes)
{
	uint64_t before = atomic_fetch_sub_explicit(&share->slot->claimed, bytes,
						    memory_order_release);

	REEL_ASSERT(before >= bytes);
	(void)before;
}

static bool claim(struct reel_share *share, size_t bytes, uint64_t budget)
{
	uint64_t total;

	add_claim(share, bytes);
	total = atomic_load_explicit(&share->file->total, memory_order_relaxed);
	do {
		if (bytes_of(total) > budget || bytes > budget - bytes_of(total)) {
			drop_claim(share, bytes);
			return false;
		}
	} while (!change_total(share->file, &total, bytes_of(total) + bytes));
	atomic_fetch_add_explicit(&share->kept, bytes, memory_order_relaxed);
	return true;
}

static void release(struct reel_share *share, size_t bytes)
{
	uint64_t total = atomic_load_explicit(&share->file->total, memory_order_relaxed);

	do
		REEL_ASSERT(bytes_of(total) >= bytes);
	while (!change_total(share->file, &total, bytes_of(total) - bytes));
	drop_claim(share, bytes);
}

/* ---- The reserve ---- */

static size_t take_reserve(struct reel_share *share, size_t bytes)
{
	size_t reserve = atomic_load_explicit(&share->reserve, memory_order_relaxed), taken;

	do
		taken = reel_min_size(reserve, bytes);
	while (taken && !atomic_compare_exchange_weak_explicit(&share->reserve, &reserve,
							       reserve - taken,
							       memory_order_relaxed,
							       memory_order_relaxed));
	return taken;
}

static void fill_reserve(struct reel_share *share, size_t bytes)
{
	atomic_fetch_add_explicit(&share->reserve, bytes, memory_order_relaxed);
}

/* Lowers `kept` by at most `bytes`, to no less than the minimum. Returns by how much. */
static size_t lower_kept(struct reel_share *share, size_t bytes)
{
	size_t kept = atomic_load_explicit(&share->kept, memory_order_relaxed), lowered;

	do
		lowered = reel_min_size(bytes, kept - reel_min_size(share->minimum, kept));
	while (lowered && !atomic_compare_exchange_weak_explicit(&share->kept, &kept,
								 kept - lowered,
								 memory_order_relaxed,
								 memory_order_relaxed));
	return lowered;
}

/* ---- Charges ---- */

static bool is_short(const struct reel_share_slot *slot, uint64_t now)
{
	uint64_t at = atomic_load_explicit(&slot->short_at, memory_order_relaxed);

	return at && now < at + SHORT_MS;
}

/* Relaxed, all: the times guard no data. */
static void note_shortage(struct reel_share_slot *slot)
{
	uint64_t now = reel_share_now();

	if (!is_short(slot, now))
		atomic_store_explicit(&slot->short_since, now, memory_order_relaxed);
	atomic_store_explicit(&slot->short_at, now, memory_order_relaxed);
}

/* Free memory belongs to the members that are short and have less than their allotment. */
static bool is_above_allotment(const struct reel_share *share, size_t bytes)
{
	size_t most = reel_share_most(share);

	return most != SIZE_MAX && reel_share_claimed(share) + bytes > most;
}

bool reel_share_charge(struct reel_share *share, size_t bytes)
{
	size_t taken = take_reserve(share, bytes), rest = bytes - taken;

	if (!rest)
		return true;
	if (!is_above_allotment(share, rest) && claim(share, rest, budget_of(share->file)))
		return true;
	fill_reserve(share, taken);
	note_shortage(share->slot);
	return false;
}

void reel_share_overdraw(struct reel_share *share, size_t bytes)
{
	size_t rest = bytes - take_reserve(share, bytes);
	bool fits = !rest || claim(share, rest, UNITS * UNIT);

	REEL_ASSERT(fits);
	(void)fits;
}

void reel_share_refund(struct reel_share *share, size_t bytes)
{
	size_t rest = lower_kept(share, bytes);

	fill_reserve(share, bytes - rest);
	if (rest)
		release(share, rest);
}

void reel_share_return_all(struct reel_share *share)
{
	release(share, reel_share_claimed(share));
	/* Release: pairs with the acquire in process_of(). The slot has no claim any more. */
	atomic_store_explicit(&share->slot->process, 0, memory_order_release);
}

static uint64_t free_bytes(const struct reel_share_file *file)
{
	uint64_t used = bytes_of(atomic_load_explicit(&file->total, memory_order_relaxed));

	return budget_of(file) - reel_min_u64(used, budget_of(file));
}

bool reel_share_has_room(struct reel_share *share, size_t bytes)
{
	size_t reserve = atomic_load_explicit(&share->reserve, memory_order_relaxed);
	size_t rest = bytes - reel_min_size(reserve, bytes);

	if (!rest || (!is_above_allotment(share, rest) && rest <= free_bytes(share->file)))
		return true;
	note_shortage(share->slot);
	return false;
}

/* ---- Processes that have ended ---- */

/* Acquire: pairs with the release in take_slot() (share-file.c). Makes the slot visible. */
static uint64_t process_of(const struct reel_share_slot *slot)
{
	return atomic_load_explicit(&slot->process, memory_order_acquire);
}

static unsigned slots_of(const struct reel_share_file *file)
{
	return atomic_load_explicit(&file->slots, memory_order_acquire);
}

/*
 * Corrects a total that has more than all slots have claimed. If a process has raised or lowered
 * the total since it was read, the exchange fails, and the next look tries again. Acquire: pairs
 * with the releases in change_total() and drop_claim().
 */
static void reconcile(struct reel_share_file *file)
{
	uint64_t total = atomic_load_explicit(&file->total, memory_order_acquire), sum = 0;

	for (unsigned i = 0; i < slots_of(file); i++) {
		reel_yield_point();
		if (process_of(&file->slot[i]))
			sum += atomic_load_explicit(&file->slot[i].claimed, memory_order_acquire);
	}
	if (sum < bytes_of(total))
		change_total(file, &total, sum);
}

/*
 * Relaxed: an ended process changes nothing any more. The exchange decides which member frees its
 * slot.
 */
void reel_share_free_ended(struct reel_share_file *file)
{
	for (unsigned i = 0; i < slots_of(file); i++) {
		uint64_t process = process_of(&file->slot[i]);

		if (process && !reel_process_runs(process))
			atomic_compare_exchange_strong_explicit(&file->slot[i].process, &process, 0,
								memory_order_relaxed,
								memory_order_relaxed);
	}
	reconcile(file);
}

/* One member at a time checks: it wins the exchange. If it is killed, another one checks next. */
static void check_processes(struct reel_share_file *file, uint64_t now)
{
	uint64_t checked = atomic_load_explicit(&file->checked_at, memory_order_relaxed);

	if (now >= checked + CHECK_MS &&
	    atomic_compare_exchange_strong_explicit(&file->checked_at, &checked, now,
						    memory_order_relaxed, memory_order_relaxed))
		reel_share_free_ended(file);
}

/* ---- Allotments ---- */

/* Returns true if the member gets the whole allotment. */
static bool wants_all(const struct reel_share *share, const struct reel_share_slot *slot,
		      uint64_t now)
{
	return slot == share->slot || is_short(slot, now);
}

/* Bytes of all members if none may have more than the allotment. */
static uint64_t bytes_with(const struct reel_share *share, uint64_t allotment, uint64_t now)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < slots_of(share->file); i++) {
		const struct reel_share_slot *slot = &share->file->slot[i];
		uint64_t claimed = atomic_load_explicit(&slot->claimed, memory_order_relaxed);

		if (wants_all(share, slot, now))
			claimed = allotment;
		if (process_of(slot))
			bytes += reel_min_u64(claimed, allotment);
	}
	return bytes;
}

/* The largest allotment with which all fits into the budget, to a 512th of the budget. */
static uint64_t allotment_of(const struct reel_share *share, uint64_t now)
{
	uint64_t budget = budget_of(share->file), allotment = 0;

	for (uint64_t step = budget / 2; step > budget / 1024; step /= 2)
		if (bytes_with(share, allotment + step, now) <= budget)
			allotment += step;
	return allotment > share->minimum ? allotment : share->minimum;
}

/* Another member has been short for `patience` ms and still is. */
static bool others_are_short(const struct reel_share *share, uint64_t now, uint64_t patience)
{
	for (unsigned i = 0; i < slots_of(share->file); i++) {
		const struct reel_share_slot *slot = &share->file->slot[i];

		uint64_t since = atomic_load_explicit(&slot->short_since, memory_order_relaxed);

		if (slot != share->slot && process_of(slot) && is_short(slot, now) &&
		    now >= since + patience)
			return true;
	}
	return false;
}

bool reel_share_is_wanted(const struct reel_share *share)
{
	uint64_t now = reel_share_now();

	return !is_short(share->slot, now) && others_are_short(share, now, 0);
}

uint64_t reel_share_short_ms(const struct reel_share *share)
{
	uint64_t since = atomic_load_explicit(&share->slot->short_since, memory_order_relaxed);
	uint64_t now = reel_share_now();

	/* Another thread may have been refused memory after this one read the clock. */
	return is_short(share->slot, now) ? now - reel_min_u64(since, now) + 1 : 0;
}

bool reel_share_look(struct reel_share *share, unsigned after_ms)
{
	uint64_t now = reel_share_now(), allotment, within_reach;
	bool gives;

	if (now < after_ms + atomic_load_explicit(&share->looked_at, memory_order_relaxed))
		return false;
	atomic_store_explicit(&share->looked_at, now, memory_order_relaxed);
	check_processes(share->file, now);
	allotment = allotment_of(share, now);
	within_reach = reel_share_claimed(share) + free_bytes(share->file);
	gives = others_are_short(share, now, PATIENCE_MS);
	atomic_store_explicit(&share->bound, (size_t)reel_min_u64(allotment, within_reach),
			      memory_order_relaxed);
	atomic_store_explicit(&share->most, gives ? (size_t)allotment : SIZE_MAX,
			      memory_order_relaxed);
	return true;
}
