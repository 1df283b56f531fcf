/* SPDX-License-Identifier: MIT */
/*
 * Tests parcels: sizes, small ones that share slabs, wrong calls, a budget that is used up, lost
 * contents, forks, announced orders, and several readers at the same time.
 */
#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <reel/parcel.h>

#include "helpers/clock-back.h"
#include "helpers/held-store.h"
#include "helpers/spill-support.h"
#include "helpers/store-fault.h"
#include "helpers/support.h"
#include "os/os.h"
#include "spill/pool/child-pool.h"
#include "spill/parcel/parcel.h"

enum { BUDGET = 24 };

static struct reel_parcel_stats parcel_stats(reel_pool *pool)
{
	struct reel_parcel_stats stats;

	reel_parcel_get_stats(pool, &stats);
	return stats;
}

static void write_bytes(void *data, size_t bytes, unsigned seed)
{
	unsigned char *to = data;

	for (size_t i = 0; i < bytes; i++)
		to[i] = (unsigned char)value_at(seed, i);
}

static bool has_bytes(const void *data, size_t bytes, unsigned seed)
{
	const unsigned char *from = data;

	for (size_t i = 0; i < bytes; i++)
		if (from[i] != (unsigned char)value_at(seed, i))
			return false;
	return true;
}

static reel_parcel *sealed(reel_pool *pool, size_t bytes, unsigned seed)
{
	reel_parcel *parcel;
	void *data;

	if (reel_parcel_open(&parcel, pool, bytes, NULL, &data))
		abort();
	write_bytes(data, bytes, seed);
	if (reel_parcel_seal(parcel))
		abort();
	return parcel;
}

static bool reads(reel_parcel *parcel, unsigned seed)
{
	const void *data;
	bool right;

	if (reel_parcel_pin(parcel, &data))
		return false;
	right = has_bytes(data, reel_parcel_bytes(parcel), seed);
	reel_parcel_unpin(parcel);
	return right;
}

/* ---- Sizes ---- */

static size_t size_of(unsigned parcel)
{
	static const size_t sizes[] = {1, 15, 16, 63, 64, 65, SLAB / 2, SLAB / 2 + 1, SLAB - 1, SLAB,
				       SLAB + 1, 3 * SLAB, 7 * SLAB - 5, 100, 1000, 14 * SLAB};

	return sizes[parcel % (sizeof sizes / sizeof *sizes)];
}

static void all_sizes_come_back(reel_pool *pool, const char *what, bool backward)
{
	enum { PARCELS = 64 };
	reel_parcel *parcel[PARCELS];
	unsigned wrong = 0;

	tap_case(what);
	for (unsigned i = 0; i < PARCELS; i++)
		parcel[i] = sealed(pool, size_of(i), i);
	for (unsigned i = 0; i < PARCELS; i++) {
		unsigned which = backward ? PARCELS - 1 - i : i;

		wrong += !reads(parcel[which], which);
	}
	is_int(wrong, 0, "all parcels come back");
	is_int(parcel_stats(pool).parcels, PARCELS, "so many there are");
	is_int(parcel_stats(pool).pinned_bytes, 0, "none is pinned");
	for (unsigned i = 0; i < PARCELS; i++)
		wrong += reel_parcel_close(parcel[i]) != 0;
	is_int(wrong, 0, "and can be closed");
	is_int(parcel_stats(pool).resident_bytes, 0, "nothing is left of them");
}

static void sizes_in_memory(void)
{
	reel_pool *pool = open_pool(small_options());

	all_sizes_come_back(pool, "without a store", false);
	close_pool_at_rest(pool, "parcels in memory");
}

static void sizes_in_a_store(bool backward, unsigned failing)
{
	struct late_store *late = late_open(5 + backward);
	reel_pool *pool = open_pool(spilling(&late->store, BUDGET, 12));

	late_fail(late, failing);
	all_sizes_come_back(pool, "with a store", backward);
	ok(stats_of(pool).written_bytes > 0, "some have been written");
	ok(stats_of(pool).peak_resident_bytes <= BUDGET * SLAB, "all in the budget");
	close_all(pool, late, "parcels of all sizes");
}

static void the_alignment_is_as_said(void)
{
	reel_pool *pool = open_pool(small_options());
	reel_parcel *parcel[8];
	unsigned wrong = 0;

	tap_case("alignment");
	for (unsigned i = 0; i < 8; i++) {
		void *data;
		size_t bytes = i % 2 ? 64 + i : 1 + i;

		reel_parcel_open(&parcel[i], pool, bytes, NULL, &data);
		wrong += (uintptr_t)data % (bytes < 64 ? 16 : 64) != 0;
	}
	is_int(wrong, 0, "parcels are aligned to 64 bytes, small ones to 16");
	is_int(stats_of(pool).slabs_in_use, 1, "and share a slab");
	for (unsigned i = 0; i < 8; i++)
		reel_parcel_close(parcel[i]);
	is_int(stats_of(pool).slabs_in_use, 0, "which is given back with the last of them");
	close_pool_at_rest(pool, "small parcels");
}

/* Returns the number of sizes just below SIZE_MAX that are not refused as too large. */
static unsigned count_accepted(reel_pool *pool)
{
	unsigned accepted = 0;
	reel_parcel *parcel;
	void *data;

	for (size_t below = 0; below <= 8192; below++)
		accepted += reel_parcel_open(&parcel, pool, SIZE_MAX - below, NULL, &data) !=
			    -EOVERFLOW;
	return accepted;
}

static void sizes_that_no_memory_holds(reel_pool *pool, const char *what)
{
	reel_parcel *parcel;
	void *data;

	tap_case("too large");
	is_int(count_accepted(pool), 0, "%s, sizes just below SIZE_MAX are refused", what);
	is_int(reel_parcel_open(&parcel, pool, (size_t)PTRDIFF_MAX + 1, NULL, &data), -EOVERFLOW,
	       "and one above PTRDIFF_MAX");
	ok(strstr(reel_error_text(0), "address space"), "%s", reel_error_text(0));
	is_int(stats_of(pool).resident_bytes, 0, "nothing is charged for them");
}

static void sizes_that_no_budget_holds(void)
{
	static const size_t bytes[] = {BUDGET * SLAB + 1, 100 * BUDGET * SLAB, PTRDIFF_MAX / 2,
				       PTRDIFF_MAX - SLAB};
	struct late_store *late = late_open(43);
	reel_pool *pool = open_pool(spilling(&late->store, BUDGET, 12));
	reel_parcel *parcel;
	void *data;

	sizes_that_no_memory_holds(pool, "with a store");
	for (unsigned i = 0; i < COUNT(bytes); i++) {
		is_int(reel_parcel_open(&parcel, pool, bytes[i], NULL, &data), -EDQUOT,
		       "%zu bytes are above the budget", bytes[i]);
		ok(strstr(reel_error_text(0), "never fits"), "%s", reel_error_text(0));
	}
	close_all(pool, late, "sizes above the budget");
}

static void sizes_without_a_budget(void)
{
	reel_pool *pool = open_pool(small_options());

	sizes_that_no_memory_holds(pool, "without a store");
	close_pool_at_rest(pool, "sizes that no memory holds");
}

/* ---- Layouts ---- */

static void the_store_knows_what_does_not_compress(void)
{
	struct reel_parcel_options options = {.layout = {REEL_INCOMPRESSIBLE, 0}};
	struct late_store *late = late_open(59);
	reel_pool *pool = open_pool(spilling(&late->store, BUDGET, 12));
	reel_parcel *parcel;
	void *data;

	tap_case("a parcel that does not compress");
	if (is_int(reel_parcel_open(&parcel, pool, SLAB, &options, &data), 0, "is opened")) {
		reel_parcel_seal(parcel);
		is_int(reel_slab_io_of(reel_offload_of(pool), parcel->bin->slab)->layout.element,
		       REEL_INCOMPRESSIBLE, "its layout goes to the store");
		reel_parcel_close(parcel);
	}
	close_all(pool, late, "a parcel that does not compress");
}

/* ---- Calls in the wrong state ---- */

static void wrong_calls_are_refused(void)
{
	reel_pool *pool = open_pool(small_options());
	reel_parcel *parcel;
	const void *data;
	void *own;

	tap_case("wrong calls");
	is_int(reel_parcel_open(&parcel, pool, 8, &(struct reel_parcel_options){.reserved = {1}},
				&own), -EINVAL, "a reserved member");
	is_int(reel_parcel_open(&parcel, pool, 8,
				&(struct reel_parcel_options){.layout = {.element = 99}}, &own),
	       -EINVAL, "a layout that there is not");
	reel_parcel_open(&parcel, pool, 8, NULL, &own);
	is_int(reel_parcel_pin(parcel, &data), -EINVAL, "an open parcel is not pinned");
	ok(strstr(reel_error_text(0), "seal it first"), "%s", reel_error_text(0));
	is_int(reel_parcel_unseal(parcel, &own), -EINVAL, "nor unsealed");
	is_int(reel_parcel_seal(parcel), 0, "it is sealed");
	is_int(reel_parcel_seal(parcel), -EINVAL, "once");
	reel_parcel_pin(parcel, &data);
	is_int(reel_parcel_unseal(parcel, &own), -EBUSY, "a pinned parcel is not unsealed");
	is_int(reel_parcel_close(parcel), -EBUSY, "nor closed");
	is_int(reel_pool_close(pool), -EBUSY, "nor is its pool");
	reel_parcel_unpin(parcel);
	is_int(reel_parcel_close(parcel), 0, "then it is");
	is_int(reel_parcel_close(NULL), 0, "NULL can be closed");
	is_int(reel_parcel_announce(NULL, 0), 0, "no parcels can be announced");
	close_pool_at_rest(pool, "wrong calls");
}

/* ---- Writing again ---- */

/* Has two parcels in memory together that take all of the budget, so that all others leave it. */
static void push_out(reel_pool *pool)
{
	reel_parcel *first = sealed(pool, BUDGET / 2 * SLAB, 99), *second;
	const void *read;

	if (reel_parcel_pin(first, &read))
		abort();
	second = sealed(pool, BUDGET / 2 * SLAB, 98);
	reel_parcel_unpin(first);
	settle(pool);
	reel_parcel_close(first);
	reel_parcel_close(second);
}

static void what_is_unsealed_can_be_changed(size_t bytes)
{
	struct late_store *late = late_open(11);
	reel_pool *pool = open_pool(spilling(&late->store, BUDGET, 4));
	reel_parcel *parcel = sealed(pool, bytes, 1), *beside = sealed(pool, bytes, 2);
	unsigned wrong = 0;
	void *data;

	tap_case("a parcel that is written again");
	for (unsigned i = 0; i < 20; i++) {
		if (i % 3)
			push_out(pool);
		if (reel_parcel_unseal(parcel, &data)) {
			wrong++;
			break;
		}
		wrong += !has_bytes(data, bytes, i ? 100 + i - 1 : 1);
		write_bytes(data, bytes, 100 + i);
		wrong += !reads(beside, 2);
		reel_parcel_seal(parcel);
		if (i % 2)
			push_out(pool);
		wrong += !reads(parcel, 100 + i);
	}
	is_int(wrong, 0, "%zu bytes have what was written last", bytes);
	reel_parcel_close(parcel);
	reel_parcel_close(beside);
	close_all(pool, late, "parcels that were written again");
}

/* The put that is under way must not read data that are written now. */
static void unsealing_waits_for_a_put(void)
{
	struct held_store *held = held_open();
	reel_pool *pool = open_pool(spilling(&held->store, BUDGET, 2));
	reel_parcel *parcel = sealed(pool, 3 * SLAB, 1);
	const void *read;
	void *data;

	tap_case("a parcel that is being put");
	while (held_transfers(held) < 3)
		sched_yield();
	is_int(reel_parcel_pin(parcel, &read), 0, "can be pinned");
	ok(has_bytes(read, 3 * SLAB, 1), "and read");
	reel_parcel_unpin(parcel);
	held_release(held);
	is_int(reel_parcel_unseal(parcel, &data), 0, "and be unsealed when that has ended");
	write_bytes(data, 3 * SLAB, 2);
	reel_parcel_seal(parcel);
	push_out(pool);
	ok(reads(parcel, 2), "it has what was written last");
	reel_parcel_close(parcel);
	close_pool_at_rest(pool, "a parcel that was being put");
}

/* An unchanged parcel keeps its copy. A changed one, and others in its slab, are put again. */
static void what_is_unchanged_is_not_written_again(size_t bytes)
{
	struct late_store *late = late_open(13);
	reel_pool *pool = open_pool(spilling(&late->store, BUDGET, 4));
	reel_parcel *parcel = sealed(pool, bytes, 1), *beside = sealed(pool, bytes, 2);
	/* This parcel has no room beside small ones, so no more are added to their slab. */
	reel_parcel *next = sealed(pool, SLAB / 2, 7);
	uint64_t stored;
	void *data;

	tap_case("a parcel that is sealed unchanged");
	push_out(pool);
	ok(!reel_parcel_is_in_memory(parcel), "%zu bytes that are in the store", bytes);
	stored = parcel_stats(pool).stored_bytes;
	ok(!reel_parcel_unseal(parcel, &data) && has_bytes(data, bytes, 1), "are unsealed");
	is_int(reel_parcel_seal_unchanged(parcel), 0, "and sealed as they were");
	is_int(reel_parcel_seal_unchanged(parcel), -EINVAL, "once");
	is_int(parcel_stats(pool).stored_bytes, stored, "the store still has them");
	push_out(pool);
	ok(!reel_parcel_is_in_memory(parcel), "they leave memory");
	ok(reads(parcel, 1) && reads(beside, 2), "and come back");
	ok(!reel_parcel_unseal(parcel, &data), "unsealed again");
	write_bytes(data, bytes, 3);
	reel_parcel_seal(parcel);
	push_out(pool);
	ok(reads(parcel, 3) && reads(beside, 2), "they have what was written");
	reel_parcel_close(next);
	reel_parcel_close(parcel);
	reel_parcel_close(beside);
	close_all(pool, late, "a parcel that was sealed unchanged");
}

/* A program that does not know if a parcel has changed lets its checksum decide. */
static void what_is_compared_is_written_where_it_differs(size_t bytes)
{
	reel_store *store = NULL;
	int error = reel_store_open(&store, "memory=1M", NULL);
	reel_pool *pool = open_pool(spilling(store, BUDGET, 4));
	reel_parcel *parcel = sealed(pool, bytes, 1), *beside = sealed(pool, bytes, 2);
	reel_parcel *next = sealed(pool, SLAB / 2, 7);
	uint64_t stored;
	void *data, *other;

	tap_case("a parcel that is sealed and compared");
	is_int(error, 0, "a store that does not verify");
	push_out(pool);
	stored = parcel_stats(pool).stored_bytes;
	ok(!reel_parcel_unseal(parcel, &data) && has_bytes(data, bytes, 1),
	   "%zu bytes that are in the store are unsealed", bytes);
	is_int(reel_parcel_seal_compared(parcel), 0, "and sealed as they were");
	is_int(reel_parcel_seal_compared(parcel), -EINVAL, "once");
	is_int(parcel_stats(pool).stored_bytes, stored, "the store still has them");
	push_out(pool);
	ok(reads(parcel, 1) && reads(beside, 2), "they come back");
	ok(!reel_parcel_unseal(parcel, &data) && !reel_parcel_unseal(beside, &other),
	   "two are unsealed");
	((unsigned char *)data)[bytes - 1] ^= 1;
	is_int(reel_parcel_seal_compared(parcel), 0, "one of them with another last bit");
	is_int(reel_parcel_seal_compared(beside), 0, "the other one as it was");
	push_out(pool);
	ok(!reel_parcel_unseal(parcel, &data), "it comes back");
	((unsigned char *)data)[bytes - 1] ^= 1;
	ok(has_bytes(data, bytes, 1), "with this bit");
	reel_parcel_seal(parcel);
	ok(reads(beside, 2), "and the other one as it was");
	reel_parcel_close(next);
	reel_parcel_close(parcel);
	reel_parcel_close(beside);
	close_pool_at_rest(pool, "a parcel that was compared");
}

/* ---- Room ---- */

/*
 * Parcels of 0 bytes have addresses, take little memory, and spill with the slab that they share.
 */
static void parcels_of_no_bytes(void)
{
	struct late_store *late = late_open(3);
	reel_pool *pool = open_pool(spilling(&late->store, BUDGET, 4));
	reel_parcel *none[3], *beside;
	const void *data = NULL;
	unsigned wrong = 0;

	tap_case("a parcel of 0 bytes");
	for (unsigned i = 0; i < 3; i++)
		none[i] = sealed(pool, 0, i);
	beside = sealed(pool, 100, 9);
	is_int(reel_parcel_bytes(none[0]), 0, "has 0 bytes");
	push_out(pool);
	is_int(reel_parcel_announce(none, 3), 0, "can be announced");
	for (unsigned i = 0; i < 3; i++) {
		wrong += reel_parcel_pin(none[i], &data) || !data;
		reel_parcel_unpin(none[i]);
		wrong += reel_parcel_close(none[i]) != 0;
	}
	is_int(wrong, 0, "pinned and closed");
	ok(reads(beside, 9), "beside others");
	reel_parcel_close(beside);
	close_all(pool, late, "parcels of 0 bytes");
}

enum { LITTLE = 400 };

/* Opens parcels of 8 bytes with different options in turn, and seals them. */
static void little_ones_share(const struct reel_parcel_options *options, unsigned kinds,
			      const char *what)
{
	reel_pool *pool = open_pool(small_options());
	reel_parcel *parcel[LITTLE];
	unsigned failed = 0;
	void *data;

	tap_case(what);
	for (unsigned i = 0; i < LITTLE; i++) {
		failed += reel_parcel_open(&parcel[i], pool, 8, &options[i % kinds], &data) != 0;
		failed += reel_parcel_seal(parcel[i]) != 0;
	}
	is_int(failed, 0, "are opened");
	ok(stats_of(pool).slabs_in_use <= 3 * kinds, "%s take %llu slabs", what,
	   (unsigned long long)stats_of(pool).slabs_in_use);
	is_int(parcel_stats(pool).resident_bytes, stats_of(pool).slabs_in_use * SLAB,
	       "which the statistics count");
	is_int(parcel_stats(pool).parcels, LITTLE, "each parcel counts");
	for (unsigned i = 0; i < LITTLE; i++)
		reel_parcel_close(parcel[i]);
	is_int(stats_of(pool).slabs_in_use, 0, "and are given back");
	close_pool_at_rest(pool, what);
}

static void small_parcels_share(void)
{
	struct reel_parcel_options layouts[12] = {{{0}, {0}}};

	for (uint32_t i = 0; i < COUNT(layouts); i++)
		layouts[i].layout.element = 1 + i;
	little_ones_share(layouts, 1, "parcels of one layout");
	little_ones_share(layouts, 2, "parcels of two layouts in turn");
	little_ones_share(layouts, COUNT(layouts), "parcels of more layouts than bins");
}

/* Parcels must not use idle memory of larger ones. */
static void waste_little(reel_pool *pool, size_t bytes)
{
	enum { PIECES = 20 };
	size_t page = reel_os_page_bytes(), most = PIECES * (bytes + bytes / 8 + page);
	reel_parcel *parcel[PIECES];
	unsigned failed = 0;
	void *data;

	for (unsigned i = 0; i < PIECES; i++) {
		failed += reel_parcel_open(&parcel[i], pool, bytes, NULL, &data) != 0;
		memset(data, 1, bytes);
	}
	is_int(failed, 0, "parcels of %zu bytes are opened", bytes);
	ok(parcel_stats(pool).resident_bytes <= most, "%llu bytes for %u of them",
	   (unsigned long long)parcel_stats(pool).resident_bytes, PIECES);
	ok(stats_of(pool).resident_bytes <= most, "and %llu in the pool",
	   (unsigned long long)stats_of(pool).resident_bytes);
	is_int(parcel_stats(pool).pinned_bytes, parcel_stats(pool).resident_bytes, "all open");
	for (unsigned i = 0; i < PIECES; i++)
		reel_parcel_close(parcel[i]);
}

/* Slabs have 16 pages, so whole pages are less than a slab. */
static void large_parcels_waste_little(void)
{
	size_t slab = 16 * reel_os_page_bytes();
	size_t sizes[] = {5 * slab, slab / 2 + 1, slab * 5 / 8, slab * 3 / 4, slab * 7 / 8 + 1,
			  slab + 1, slab * 9 / 8, 2 * slab + 1};
	struct reel_pool_options options = {.slab_bytes = slab};

	tap_case("room for parcels above half a slab");
	for (unsigned i = 0; i < COUNT(sizes); i++) {
		reel_pool *pool = open_pool(options);

		waste_little(pool, sizes[i]);
		waste_little(pool, sizes[i] > 4 * slab ? sizes[i] / 2 : sizes[i]);
		close_pool_at_rest(pool, "parcels above half a slab");
	}
}

/* A tape needs the whole budget while all parcels are sealed. */
static void a_sealed_parcel_holds_no_slab(unsigned budget)
{
	struct reel_parcel_options options[2] = {{{8, 0}, {0}}, {{4, 0}, {0}}};
	struct late_store *late = late_open(61);
	struct reel_pool_options tight = spilling(&late->store, budget, 1);
	reel_parcel *parcel[2];
	reel_pool *pool;
	reel_tape tape;
	void *data;

	tap_case("a tape beside small parcels that are sealed");
	tight.first_slab_bytes = SLAB;
	pool = open_pool(tight);
	for (unsigned i = 0; i < 2; i++) {
		if (reel_parcel_open(&parcel[i], pool, 8, &options[i], &data))
			abort();
		write_bytes(data, 8, i);
		reel_parcel_seal(parcel[i]);
	}
	tape = open_tape(pool, 0);
	push_values(&tape, 1, 0, 20 * SLAB_WORDS);
	is_int(reel_tape_error(&tape), 0, "no push is refused with a budget of %u slabs", budget);
	ok(pop_values(&tape, 1, 0, 20 * SLAB_WORDS), "its values come back");
	ok(reads(parcel[0], 0) && reads(parcel[1], 1), "and those of the parcels");
	reel_tape_close(&tape);
	for (unsigned i = 0; i < 2; i++)
		reel_parcel_close(parcel[i]);
	close_all(pool, late, "a tape beside small parcels");
}

/* A pin needs the whole budget. */
static void a_pin_finds_the_slab_of_a_sealed_parcel(void)
{
	struct late_store *late = late_open(67);
	reel_pool *pool = open_pool(spilling(&late->store, BUDGET, 12));
	reel_parcel *large = sealed(pool, BUDGET * SLAB, 1), *small = sealed(pool, 8, 2);

	tap_case("a pin that needs the slab of a small parcel");
	ok(reads(large, 1), "is not refused");
	ok(reads(small, 2), "and the small one comes back");
	reel_parcel_close(large);
	reel_parcel_close(small);
	close_all(pool, late, "a pin that needs all of the budget");
}

/* ---- A budget that is used up ---- */

/* The room of one parcel is enough for the next call of the program. */
static void a_full_pool_gives_up_one_parcel_ahead(void)
{
	enum { PARCELS = 4, PARCEL = BUDGET / PARCELS * SLAB };
	struct late_store *late = late_open(31);
	reel_pool *pool = open_pool(spilling(&late->store, BUDGET, 1));
	unsigned in_memory = 0, right = 0;
	reel_parcel *parcel[PARCELS];
	void *data;

	tap_case("parcels that fill the budget, and are in the store");
	for (unsigned i = 0; i < PARCELS; i++)
		parcel[i] = sealed(pool, PARCEL, i);
	settle(pool);
	if (reel_parcel_unseal(parcel[0], &data))
		abort();
	reel_parcel_seal(parcel[0]);
	settle(pool);
	for (unsigned i = 0; i < PARCELS; i++)
		in_memory += reel_parcel_is_in_memory(parcel[i]);
	ok(in_memory >= PARCELS - 1, "when one is changed, at most one leaves memory: %u stay",
	   in_memory);
	for (unsigned i = 0; i < PARCELS; i++)
		right += reads(parcel[i], i);
	is_int(right, PARCELS, "all have what was written");
	for (unsigned i = 0; i < PARCELS; i++)
		reel_parcel_close(parcel[i]);
	close_all(pool, late, "a full pool");
}

static void a_used_up_budget_is_said(void)
{
	struct late_store *late = late_open(13);
	reel_pool *pool = open_pool(spilling(&late->store, BUDGET, 12));
	reel_parcel *away = sealed(pool, 10 * SLAB, 1);
	reel_parcel *pinned[2], *more;
	const void *data;
	void *own;

	tap_case("parcels that are pinned and use the budget up");
	push_out(pool);
	for (unsigned i = 0; i < 2; i++) {
		pinned[i] = sealed(pool, 9 * SLAB, 2 + i);
		is_int(reel_parcel_pin(pinned[i], &data), 0, "one is pinned");
	}
	is_int(reel_parcel_open(&more, pool, 10 * SLAB, NULL, &own), -EDQUOT, "no other is opened");
	ok(strstr(reel_error_text(0), "73728 bytes of parcels are open or pinned"), "%s",
	   reel_error_text(0));
	is_int(reel_parcel_pin(away, &data), -EDQUOT, "one that is in the store is not pinned");
	ok(strstr(reel_error_text(0), "unpin"), "%s", reel_error_text(0));
	ok(stats_of(pool).peak_resident_bytes <= BUDGET * SLAB, "the budget is kept");
	reel_parcel_unpin(pinned[0]);
	ok(reads(away, 1), "it can be pinned when another one is not");
	reel_parcel_unpin(pinned[1]);
	ok(reads(pinned[0], 2) && reads(pinned[1], 3), "all have what was written");
	reel_parcel_close(away);
	reel_parcel_close(pinned[0]);
	reel_parcel_close(pinned[1]);
	close_all(pool, late, "a budget that was used up");
}

struct opening {
	reel_pool *pool;
	reel_parcel *parcel;
	int error;
};

static void *open_large(void *argument)
{
	struct opening *opening = argument;
	void *data;

	opening->error =
		reel_parcel_open(&opening->parcel, opening->pool, 14 * SLAB, NULL, &data);
	return NULL;
}

/* A put keeps the memory of its closed parcel, and another thread waits for that memory. */
static void a_closed_parcel_makes_room_when_its_put_ends(void)
{
	struct held_store *held = held_open();
	struct opening opening = {.pool = open_pool(spilling(&held->store, BUDGET, 2))};
	pthread_t thread;

	tap_case("a parcel that is closed while it is being put");
	opening.parcel = sealed(opening.pool, 14 * SLAB, 1);
	while (!held_transfers(held))
		sched_yield();
	reel_parcel_close(opening.parcel);
	pthread_create(&thread, NULL, open_large, &opening);
	while (!somebody_waits(reel_offload_of(opening.pool)))
		sched_yield();
	held_release(held);
	pthread_join(thread, NULL);
	if (is_int(opening.error, 0, "another one is opened in its memory"))
		reel_parcel_close(opening.parcel);
	close_pool_at_rest(opening.pool, "a parcel that was closed while it was being put");
}

/* ---- Memory that is lent ---- */

static void lent_memory_stays_until_its_put_has_ended(void)
{
	enum { BYTES = 3 * SLAB + 7 };
	struct held_store *held = held_open();
	reel_pool *pool = open_pool(spilling(&held->store, BUDGET, 2));
	char *memory = malloc(BYTES + 1);
	reel_parcel *parcel;
	const void *data;

	tap_case("a parcel in memory that is lent");
	write_bytes(memory + 1, BYTES, 1);
	is_int(reel_parcel_lend(&parcel, pool, NULL, 1, NULL), -EINVAL, "no address is refused");
	is_int(reel_parcel_lend(&parcel, pool, memory + 1, BYTES, NULL), 0, "it is lent");
	ok(parcel_stats(pool).resident_bytes >= BYTES, "it counts");
	is_int(reel_parcel_pin(parcel, &data), 0, "the parcel is pinned");
	ok(data == memory + 1, "and lies there");
	reel_parcel_unpin(parcel);
	while (!held_transfers(held))
		sched_yield();
	is_int(reel_parcel_close(parcel), 0, "it is closed while it is put");
	ok(!reel_parcel_take_back(pool), "the put still needs the memory");
	held_release(held);
	settle(pool);
	ok(reel_parcel_take_back(pool) == memory + 1, "then it comes back");
	ok(!reel_parcel_take_back(pool), "once");
	is_int(reel_parcel_lend(&parcel, pool, memory, SLAB / 8, NULL), 0, "a short one is lent");
	ok(reel_parcel_take_back(pool) == memory, "and comes back at once");
	memset(memory, 0, BYTES);
	ok(reads(parcel, 1) == false && reel_parcel_close(parcel) == 0, "since it was copied");
	close_pool_at_rest(pool, "lent memory");
	free(memory);
}

static void lent_memory_comes_back_when_its_contents_have_left(void)
{
	enum { BYTES = 2 * SLAB, PARCELS = 2 * BUDGET };
	struct late_store *late = late_open(2);
	reel_pool *pool = open_pool(spilling(&late->store, BUDGET, 2));
	reel_parcel *parcel[PARCELS];
	unsigned wrong = 0, loans = 0;
	char *memory;

	tap_case("lent memory whose contents leave for the store");
	for (unsigned i = 0; i < PARCELS; i++) {
		memory = malloc(BYTES);
		write_bytes(memory, BYTES, i);
		wrong += reel_parcel_lend(&parcel[i], pool, memory, BYTES, NULL) != 0;
		for (loans++; (memory = reel_parcel_take_back(pool)); loans--) {
			memset(memory, 0, BYTES);
			free(memory);
		}
		wrong += loans > BUDGET / 2;
	}
	/* Each lies in parts of three pages. */
	ok(loans >= BUDGET / 3 - 1, "the others stay while the budget has room");
	for (unsigned i = PARCELS; i-- > 0;)
		wrong += !reads(parcel[i], i) || reel_parcel_close(parcel[i]) != 0;
	is_int(wrong, 0, "all others come back, and so do their contents");
	is_int(stats_of(pool).peak_resident_bytes <= BUDGET * SLAB, true, "within the budget");
	settle(pool);
	for (; (memory = reel_parcel_take_back(pool)); loans--)
		free(memory);
	is_int(loans, 0, "all memory is back");
	close_all(pool, late, "lent memory");
}

/* ---- Memory that a store knows ---- */

static _Atomic int64_t registered_bytes;

static int count_registered(reel_store *store, void *memory, size_t bytes)
{
	(void)store;
	(void)memory;
	registered_bytes += (int64_t)bytes;
	return 0;
}

static void count_unregistered(reel_store *store, void *memory, size_t bytes)
{
	(void)store;
	(void)memory;
	registered_bytes -= (int64_t)bytes;
}

static void registering_capacity(reel_store *store, struct reel_store_capacity *capacity)
{
	(void)store;
	*capacity = (struct reel_store_capacity){.total_bytes = UINT64_MAX, .align = 1,
						 .best_depth = 4, .verified = true,
						 .registers = true};
}

/* A thread that needs another size, or a trim, gives the memory back to the system. */
static void memory_is_registered_no_longer_than_it_is_there(void)
{
	struct late_store *late = late_open(19);
	struct reel_store_verbs verbs = *late->store.verbs;
	reel_parcel *parcel;
	reel_pool *pool;

	tap_case("a store that has to know memory");
	verbs.capacity = registering_capacity;
	verbs.register_memory = count_registered;
	verbs.unregister_memory = count_unregistered;
	late->store.verbs = &verbs;
	pool = open_pool(spilling(&late->store, BUDGET, 2));
	parcel = sealed(pool, 9 * SLAB, 1);
	settle(pool);
	is_int(registered_bytes, 9 * SLAB, "knows what it has been given");
	reel_parcel_close(parcel);
	parcel = sealed(pool, 2 * SLAB, 1);
	is_int(registered_bytes, 0, "until that has gone back to the system");
	settle(pool);
	push_out(pool);
	ok(reads(parcel, 1), "what comes back");
	reel_parcel_close(parcel);
	reel_pool_trim(pool, 0);
	is_int(registered_bytes, 0, "is forgotten with its memory, too");
	close_all(pool, late, "memory that a store knows");
}

/* ---- Lost parcels ---- */

static void a_lost_parcel_is_an_error(enum reel_fault fault, int error)
{
	struct reel_fault_rule rule = {.fault = fault, .persistent = true, .error = -EIO, .at = 3};
	reel_store *memory, *faulty;
	reel_parcel *parcel[8];
	unsigned wrong = 0, failed = 0;
	reel_pool *pool;
	const void *data;

	tap_case("gets that fail");
	if (reel_store_memory_open(&memory, 1 << 24) ||
	    reel_store_fault_open(&faulty, memory, &rule, 1))
		abort();
	pool = open_pool(spilling(faulty, BUDGET, 2));
	for (unsigned i = 0; i < 8; i++)
		parcel[i] = sealed(pool, 7 * SLAB, i);
	for (unsigned i = 0; i < 8; i++) {
		int result = reel_parcel_pin(parcel[i], &data);

		wrong += result ? result != error : !has_bytes(data, 7 * SLAB, i);
		failed += result != 0;
		if (!result)
			reel_parcel_unpin(parcel[i]);
		else
			wrong += reel_parcel_pin(parcel[i], &data) != error;
	}
	is_int(wrong, 0, "each parcel is right, or its pins say error %d", error);
	ok(failed > 0, "%u fail", failed);
	reel_parcel_announce((reel_parcel *[]){parcel[7], parcel[0]}, 2);
	if (!reel_parcel_pin(parcel[7], &data))
		reel_parcel_unpin(parcel[7]);
	is_int(reel_parcel_pin(parcel[0], &data), error, "the first one is lost");
	is_int(reel_offload_of(pool)->demands_in_use, 0, "an order of them ends with the last one");
	for (unsigned i = 1; i < 8; i++)
		reel_parcel_close(parcel[i]);
	is_int(reel_pool_close(pool), -EBUSY, "a lost parcel, which has no slab, keeps its pool");
	reel_parcel_close(parcel[0]);
	close_pool_at_rest(pool, "lost parcels");
}

/* ---- Waits ---- */

bool __real_reel_write_round(struct reel_offload *offload);
bool __wrap_reel_write_round(struct reel_offload *offload);

/* When the offload thread has found no frame for the first parcel, the second one is closed. */
static struct {
	reel_parcel *asked, *closed;
} meeting;

/* When the offload thread of this pool has found nothing to write, another thread seals a slab. */
static reel_pool *retired;

bool __wrap_reel_write_round(struct reel_offload *offload)
{
	reel_parcel *closed = meeting.closed;

	if (closed && reel_slab_state_of(meeting.asked->bin->slab) == REEL_SLAB_READ_QUEUED) {
		meeting.closed = NULL;
		reel_parcel_close(closed);
	}
	if (__real_reel_write_round(offload))
		return true;
	if (offload->pool == retired && offload->has_waiters) {
		retired = NULL;
		reel_parcels_retire_idle(reel_pool_parcels(offload->pool));
	}
	return false;
}

/*
 * A small parcel lies in a slab that is kept for the next ones. Two threads that are refused at the
 * same time both look for such a slab, and the one that is later finds it sealed.
 */
static void a_slab_that_another_thread_seals_is_found(void)
{
	struct late_store *late = late_open(61);
	reel_pool *pool = open_pool(spilling(&late->store, BUDGET, BUDGET));
	reel_parcel *parcel[BUDGET], *more = NULL;
	void *data;

	tap_case("a slab of small parcels that another thread seals");
	parcel[0] = sealed(pool, 100, 1);
	for (unsigned i = 1; i < BUDGET; i++)
		if (reel_parcel_open(&parcel[i], pool, SLAB, NULL, &data))
			abort();
	settle(pool);
	retired = pool;
	is_int(reel_parcel_open(&more, pool, SLAB, NULL, &data), 0, "serves a thread that waited");
	ok(!retired, "and was refused before");
	reel_parcel_close(more);
	for (unsigned i = 0; i < BUDGET; i++)
		reel_parcel_close(parcel[i]);
	close_all(pool, late, "a slab that another thread seals");
}

static void a_pin_that_does_not_wait_gets_a_frame(void)
{
	struct late_store *late = late_open(59);
	reel_pool *pool = open_pool(spilling(&late->store, BUDGET, BUDGET));
	reel_parcel *away = sealed(pool, SLAB, 1), *parcel[BUDGET];
	unsigned tries = 0;
	const void *read;
	void *data;

	tap_case("a pin that does not wait, and a frame that comes after the look for one");
	for (unsigned i = 0; i < BUDGET; i++)
		if (reel_parcel_open(&parcel[i], pool, SLAB, NULL, &data))
			abort();
	settle(pool);
	meeting.asked = away;
	meeting.closed = parcel[0];
	is_int(reel_parcel_pin_for(away, &read, 0), -EAGAIN, "asks for its parcel");
	while (!reel_parcel_is_in_memory(away) && tries++ < 60000)
		usleep(1000);
	ok(reel_parcel_is_in_memory(away), "which comes, though it is not asked for again");
	for (unsigned i = 1; i < BUDGET; i++)
		reel_parcel_close(parcel[i]);
	reel_parcel_close(away);
	close_all(pool, late, "a pin that does not wait");
}

static _Atomic bool has_opened;

static void *open_twelve(void *pool)
{
	reel_parcel *parcel;
	void *data;

	if (!reel_parcel_open(&parcel, pool, 12 * SLAB, NULL, &data)) {
		has_opened = true;
		reel_parcel_close(parcel);
	}
	return NULL;
}

/* While the store writes other parcels, which takes for ever. It may be the store of a child. */
static void a_large_parcel_gets_what_another_thread_gives(bool has_child)
{
	struct held_store *held = held_open();
	reel_pool *pool = open_pool(spilling(has_child ? NULL : &held->store, BUDGET, BUDGET));
	reel_pool *writer = pool;
	reel_parcel *written[8], *large;
	pthread_t thread;
	void *data;

	tap_case("a large parcel, and memory that another thread gives back");
	has_opened = false;
	if (has_child && reel_pool_open_child(&writer, pool, &held->store, SLAB, 0, NULL))
		abort();
	for (unsigned i = 0; i < 8; i++) {
		if (has_child ? reel_parcel_open_alone(&written[i], writer, SLAB, &data)
			      : reel_parcel_open(&written[i], writer, SLAB, NULL, &data))
			abort();
		memset(data, 0, SLAB);
		reel_parcel_seal(written[i]);
	}
	if (reel_parcel_open(&large, pool, 16 * SLAB, NULL, &data) ||
	    pthread_create(&thread, NULL, open_twelve, pool))
		abort();
	while (!somebody_waits(reel_offload_of(writer)) || !held_transfers(held))
		sched_yield();
	reel_parcel_close(large);
	for (unsigned tries = 0; tries < 6000 && !has_opened; tries++)
		usleep(10000);
	ok(has_opened, "a thread that waits for the store takes it");
	held_release(held);
	pthread_join(thread, NULL);
	for (unsigned i = 0; i < 8; i++)
		reel_parcel_close(written[i]);
	if (has_child)
		is_int(reel_pool_close_child(writer, true), 0, "the child is closed");
	close_pool_at_rest(pool, "waits");
}

/* ---- Forks ---- */

static _Atomic bool settling;

static void *settle_again_and_again(void *pool)
{
	while (settling)
		reel_offload_settle(reel_offload_of(pool));
	return NULL;
}

/* A fork and a wait for the store both give the offload thread a command, and wait for it. */
static void forks_and_waits_for_the_store_meet(void)
{
	struct late_store *late = late_open(23);
	reel_pool *pool = open_pool(spilling(&late->store, BUDGET, 2));
	pthread_t thread[2];
	unsigned wrong = 0;

	tap_case("forks while other threads wait for the store");
	settling = true;
	for (unsigned i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, settle_again_and_again, pool);
	for (unsigned i = 0; i < 50; i++) {
		pid_t child = fork();
		int status = 1;

		if (!child)
			_exit(0);
		waitpid(child, &status, 0);
		wrong += status != 0;
	}
	settling = false;
	for (unsigned i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	is_int(wrong, 0, "none of them waits for ever");
	close_all(pool, late, "forks");
}

static void a_child_has_what_is_in_memory(void)
{
	struct late_store *late = late_open(17);
	reel_pool *pool = open_pool(spilling(&late->store, BUDGET, 2));
	reel_parcel *away = sealed(pool, 9 * SLAB, 1), *here;
	const void *data;
	pid_t child;
	int status;

	tap_case("a fork");
	push_out(pool);
	here = sealed(pool, 1000, 2);
	child = fork();
	if (!child)
		_exit(reads(here, 2) && reel_parcel_pin(away, &data) == -ECHILD ? 0 : 1);
	waitpid(child, &status, 0);
	is_int(status, 0, "the child reads what is in memory, and is told of the rest");
	ok(reads(away, 1) && reads(here, 2), "the parent reads both");
	reel_parcel_close(away);
	reel_parcel_close(here);
	close_all(pool, late, "a fork");
}

static _Atomic bool has_locked, may_unlock;

/* Imitates a thread that pins a parcel of this bin, and waits for the store. */
static void *lock_pins(void *bin)
{
	pthread_mutex_lock(&((struct reel_bin *)bin)->pins.lock);
	has_locked = true;
	while (!may_unlock)
		sched_yield();
	pthread_mutex_unlock(&((struct reel_bin *)bin)->pins.lock);
	return NULL;
}

/* The parcels are in one slab. In the child the thread that used it does not exist. */
static void a_child_needs_no_thread_of_the_parent(void)
{
	struct late_store *late = late_open(41);
	reel_pool *pool = open_pool(spilling(&late->store, BUDGET, 12));
	reel_parcel *own = sealed(pool, SLAB / 3, 1), *beside = sealed(pool, SLAB / 3, 2);
	reel_parcel *next = sealed(pool, SLAB / 2, 3);
	pthread_t thread;
	pid_t child;

	tap_case("a fork while another thread pins a parcel of the same slab");
	if (pthread_create(&thread, NULL, lock_pins, own->bin))
		abort();
	while (!has_locked)
		sched_yield();
	ok(own->bin == beside->bin, "the parcels share a slab");
	child = fork_with_timeout();
	if (!child) {
		ok(reads(own, 1), "the child reads the parcel of its thread");
		reel_parcel_close(own);
		tap_child_end();
	}
	ok(tap_child_passed(child), "the child goes on");
	may_unlock = true;
	pthread_join(thread, NULL);
	ok(reads(own, 1) && reads(beside, 2), "the parent reads both");
	reel_parcel_close(own);
	reel_parcel_close(beside);
	reel_parcel_close(next);
	close_all(pool, late, "a fork amid a pin");
}

/* While the process forks, a thread opens the first parcel of this pool. */
static reel_pool *forking;
static reel_parcel *first_parcel;
static pthread_t opener;

static void *open_first(void *unused)
{
	struct reel_pool_client *client;
	void *data;

	if (reel_parcel_open(&first_parcel, forking, 1, NULL, &data))
		abort();
	client = forking->parcels;
	client->verbs->lock(client);
	has_locked = true;
	while (!may_unlock)
		sched_yield();
	client->verbs->unlock(client);
	return unused;
}

static reel_pool *trimming_parent;

/* Runs after the library's own handler before a fork. */
static void act_amid_fork(void)
{
	if (trimming_parent)
		reel_children_trim(trimming_parent);
	if (!forking)
		return;
	if (pthread_create(&opener, NULL, open_first, NULL))
		abort();
	/* Waits longer than opening a parcel takes, which here waits for the end of the fork. */
	for (unsigned i = 0; i < 20 && !has_locked; i++)
		usleep(1000);
}

static void the_first_parcel_waits_for_a_fork(void)
{
	pid_t child;

	tap_case("a fork while the first parcel of a pool is opened");
	has_locked = may_unlock = false;
	forking = open_pool(small_options());
	child = fork_with_timeout();
	if (!child)
		tap_child_end();
	ok(tap_child_passed(child), "the child ends");
	while (!has_locked)
		sched_yield();
	is_int(pthread_mutex_trylock(&((struct reel_parcels *)forking->parcels)->lock), EBUSY,
	       "the fork unlocks nothing that it has not locked");
	may_unlock = true;
	pthread_join(opener, NULL);
	reel_parcel_close(first_parcel);
	close_pool_at_rest(forking, "a fork");
	forking = NULL;
}

/* ---- Pools with a parent ---- */

enum { FRAMES = 4 };

/* Returns a child pool with idle frames, whose parcels are closed. */
static reel_pool *child_with_idle_frames(reel_pool *parent)
{
	reel_pool *child;
	reel_store *memory;
	reel_parcel *parcel[FRAMES];
	void *data;

	if (reel_store_memory_open(&memory, 1 << 24) ||
	    reel_pool_open_child(&child, parent, memory, SLAB, FRAMES, NULL))
		abort();
	for (unsigned i = 0; i < FRAMES; i++)
		if (reel_parcel_open_alone(&parcel[i], child, SLAB, &data))
			abort();
	for (unsigned i = 0; i < FRAMES; i++)
		reel_parcel_close(parcel[i]);
	return child;
}

static void close_family(reel_pool *parent, reel_pool *child, struct late_store *late)
{
	is_int(stats_of(child).resident_bytes, 0, "the child keeps none");
	is_int(reel_pool_close_child(child, true), 0, "the child is closed");
	if (late)
		close_all(parent, late, "a parent");
	else
		close_pool_at_rest(parent, "a parent");
}

static void idle_frames_serve_a_large_parcel(struct late_store *late)
{
	struct reel_pool_options options = spilling(late ? &late->store : NULL, BUDGET, 12);
	reel_pool *parent = open_pool(options), *child = child_with_idle_frames(parent);
	reel_parcel *parcel;
	void *data;

	tap_case(late ? "idle frames of a child, a store" : "idle frames of a child, no store");
	is_int(stats_of(child).resident_bytes, FRAMES * SLAB, "frames of a child are idle");
	is_int(reel_parcel_open(&parcel, parent, options.hard_budget, NULL, &data), 0,
	       "the parent has all of its budget");
	reel_parcel_close(parcel);
	close_family(parent, child, late);
}

/* The store refuses puts, so no frame comes from evictions. */
static void idle_frames_serve_whole_slabs(void)
{
	struct late_store *late = late_open(29);
	reel_pool *parent = open_pool(spilling(&late->store, BUDGET, BUDGET));
	reel_pool *child = child_with_idle_frames(parent);
	reel_parcel *parcel[BUDGET];
	unsigned refused = 0;
	void *data;

	tap_case("idle frames of a child, whole slabs");
	late_fail(late, 1);
	for (unsigned i = 0; i < BUDGET; i++)
		refused += reel_parcel_open(&parcel[i], parent, SLAB, NULL, &data) != 0;
	is_int(refused, 0, "the parent has all of its budget");
	for (unsigned i = 0; i < BUDGET - refused; i++)
		reel_parcel_close(parcel[i]);
	close_family(parent, child, late);
}

static void idle_frames_serve_a_pin(void)
{
	struct late_store *late = late_open(31);
	reel_pool *parent = open_pool(spilling(&late->store, BUDGET, 12)), *child;
	reel_parcel *parcel[] = {sealed(parent, 14 * SLAB, 1), sealed(parent, 10 * SLAB, 2)};
	const void *data[2];

	tap_case("idle frames of a child, pins");
	child = child_with_idle_frames(parent);
	is_int(reel_parcel_pin(parcel[0], &data[0]), 0, "a parcel is pinned");
	is_int(reel_parcel_pin(parcel[1], &data[1]), 0, "and another one, with all of the budget");
	for (unsigned i = 0; i < 2; i++) {
		reel_parcel_unpin(parcel[i]);
		reel_parcel_close(parcel[i]);
	}
	close_family(parent, child, late);
}

static void put_slowly(reel_store *store, reel_transfer *transfer)
{
	usleep(10000);
	late_put(store, transfer);
}

/* Takes the whole budget, and gives it back. Returns 0 or an error. */
static int use_all(reel_pool *pool)
{
	reel_parcel *parcel;
	void *data;
	int error = reel_parcel_open(&parcel, pool, stats_of(pool).hard_budget, NULL, &data);

	return error ? error : reel_parcel_close(parcel);
}

static int use_nearly_all_by_a_tape(reel_pool *pool)
{
	reel_tape tape;
	int error;

	reel_tape_open(&tape, pool, 0);
	push_values(&tape, 1, 0, (BUDGET - 1) * SLAB / sizeof(uint64_t));
	error = reel_tape_error(&tape);
	reel_tape_close(&tape);
	reel_pool_flush(pool);
	return error;
}

/* Parcels of the child fill the budget. Their frames come back only after its store has them. */
struct writing_child {
	struct late_store *late;
	struct reel_store_verbs slow;
	reel_pool *parent, *child;
	reel_parcel *stored[BUDGET];
};

static void fill_budget(struct writing_child *family, reel_parcel **parcel)
{
	void *data;

	for (unsigned i = 0; i < BUDGET; i++) {
		if (reel_parcel_open_alone(&parcel[i], family->child, SLAB, &data))
			abort();
		write_bytes(data, SLAB, i);
	}
	for (unsigned i = 0; i < BUDGET; i++)
		reel_parcel_seal(parcel[i]);
}

/* The parent has its own store, or none. The child keeps `idle` idle frames. */
static void open_writing(struct writing_child *family, struct late_store *parents, size_t idle)
{
	*family = (struct writing_child){.late = late_open(37)};
	family->slow = *family->late->store.verbs;
	family->slow.put = put_slowly;
	family->late->store.verbs = &family->slow;
	family->parent = open_pool(spilling(parents ? &parents->store : NULL, BUDGET, 12));
	if (reel_pool_open_child(&family->child, family->parent, &family->late->store, SLAB, idle, NULL))
		abort();
	fill_budget(family, family->stored);
}

static void close_writing(struct writing_child *family, struct late_store *parents)
{
	unsigned wrong = 0;

	for (unsigned i = 0; i < BUDGET; i++) {
		wrong += !reads(family->stored[i], i);
		reel_parcel_close(family->stored[i]);
	}
	is_int(wrong, 0, "the child's parcels keep their contents");
	reel_pool_settle(family->child);
	is_int(family->late->wrongs + family->late->used, 0, "the store was used rightly");
	is_int(reel_pool_close_child(family->child, true), 0, "the child is closed");
	if (parents)
		close_all(family->parent, parents, "a parent");
	else
		close_pool_at_rest(family->parent, "a parent");
	free(family->late);
}

static void a_child_that_writes_makes_room(int use(reel_pool *), const char *who)
{
	struct writing_child family;

	tap_case("a child that writes");
	open_writing(&family, NULL, FRAMES);
	is_int(use(family.parent), 0, "%s of the parent waits for its memory", who);
	close_writing(&family, NULL);
}

/* The puts of some parcels are under way when these are closed. */
static void a_child_that_closes_makes_room(void)
{
	struct writing_child family;

	tap_case("a child that closes what it writes");
	open_writing(&family, NULL, BUDGET);
	while (!family.late->puts)
		sched_yield();
	for (unsigned i = 0; i < BUDGET; i++)
		reel_parcel_close(family.stored[i]);
	is_int(use_all(family.parent), 0, "a parcel of the parent waits for its memory");
	reel_pool_settle(family.child);
	is_int(family.late->wrongs + family.late->used, 0, "the store was used rightly");
	close_family(family.parent, family.child, NULL);
	free(family.late);
}

/* Opens parcels of whole slabs. The child gives back memory that is no whole slab. */
static void it_makes_room_for_whole_slabs(size_t idle)
{
	struct late_store *late = late_open(41);
	struct writing_child family;
	reel_parcel *parcel[BUDGET];
	unsigned refused = 0;
	void *data;

	tap_case("a child that writes, and a parent with a store");
	open_writing(&family, late, idle);
	for (unsigned i = 0; i < BUDGET; i++)
		refused += reel_parcel_open(&parcel[i], family.parent, SLAB, NULL, &data) != 0;
	is_int(refused, 0, "the parent has all of its budget");
	for (unsigned i = 0; i < BUDGET - refused; i++)
		reel_parcel_close(parcel[i]);
	close_writing(&family, late);
}

/* Another child pool, such as one of a run or an arena, also gets the memory. */
static void it_makes_room_for_a_sibling(void)
{
	struct writing_child family;
	reel_parcel *parcel, *more[BUDGET];
	reel_store *memory;
	reel_pool *sibling;
	void *data;

	tap_case("a child that writes, and a sibling");
	open_writing(&family, NULL, 0);
	if (reel_store_memory_open(&memory, 1 << 24) ||
	    reel_pool_open_child(&sibling, family.parent, memory, SLAB, 0, NULL))
		abort();
	is_int(reel_parcel_open_alone(&parcel, sibling, SLAB, &data), 0, "gets a frame");
	write_bytes(data, SLAB, 1);
	reel_parcel_seal(parcel);
	reel_pool_await_puts(sibling, 0);
	fill_budget(&family, more);
	ok(reads(parcel, 1), "and reads its parcel back into one");
	reel_parcel_close(parcel);
	for (unsigned i = 0; i < BUDGET; i++)
		reel_parcel_close(more[i]);
	is_int(reel_pool_close_child(sibling, true), 0, "the sibling is closed");
	close_writing(&family, NULL);
}

/* With room in the parent's budget, sealed parcels stay; without it the oldest are written. */
static void frames_stay_while_there_is_room(void)
{
	enum { FEW = BUDGET / 2 };
	struct late_store *late = late_open(47);
	reel_pool *parent = open_pool(spilling(NULL, BUDGET, 12)), *child;
	reel_parcel *parcel[FEW], *large;
	unsigned wrong = 0;
	void *data;

	tap_case("a child whose frames stay");
	if (reel_pool_open_child(&child, parent, &late->store, SLAB, REEL_FRAMES_STAY, NULL))
		abort();
	for (unsigned i = 0; i < FEW; i++) {
		if (reel_parcel_open_alone(&parcel[i], child, SLAB, &data))
			abort();
		write_bytes(data, SLAB, i);
		reel_parcel_seal(parcel[i]);
		/* The next one is younger: ages are counted in milliseconds. */
		usleep(2000);
	}
	reel_pool_settle(child);
	is_int(late->puts, 0, "none of %u parcels is written", FEW);
	is_int(reel_parcel_open(&large, parent, (BUDGET - 2) * SLAB, NULL, &data), 0,
	       "the parent gets nearly all of its budget");
	ok(!reel_parcel_is_in_memory(parcel[0]) && reel_parcel_is_in_memory(parcel[FEW - 1]),
	   "the parcel that was sealed first leaves memory, the last one stays");
	for (unsigned i = FEW; i-- > 0;)
		wrong += !reads(parcel[i], i);
	is_int(wrong, 0, "the child's parcels keep their contents");
	for (unsigned i = 0; i < FEW; i++)
		reel_parcel_close(parcel[i]);
	reel_pool_settle(child);
	is_int(late->wrongs + late->used, 0, "the store was used rightly");
	ok(stats_of(child).resident_bytes > 0, "idle frames stay");
	reel_parcel_close(large);
	is_int(use_all(parent), 0, "until the parent needs them");
	close_family(parent, child, NULL);
	free(late);
}

static reel_pool *puts_into;
static _Atomic int put_error;

/* A store of the program that takes memory of the pool whose states it writes. */
static void put_with_memory(reel_store *store, reel_transfer *transfer)
{
	reel_parcel *parcel;
	void *data;
	int error = reel_parcel_open(&parcel, puts_into, BUDGET * SLAB, NULL, &data);

	put_error = error;
	if (!error)
		reel_parcel_close(parcel);
	late_put(store, transfer);
}

static void a_put_does_not_wait_for_itself(void)
{
	struct late_store *late = late_open(43);
	struct reel_store_verbs verbs = *late->store.verbs;
	reel_pool *parent = open_pool(spilling(NULL, BUDGET, 12)), *child;
	reel_parcel *parcel;
	void *data;

	tap_case("a put that takes memory");
	verbs.put = put_with_memory;
	late->store.verbs = &verbs;
	puts_into = parent;
	if (reel_pool_open_child(&child, parent, &late->store, SLAB, 0, NULL) ||
	    reel_parcel_open_alone(&parcel, child, SLAB, &data))
		abort();
	memset(data, 0, SLAB);
	reel_parcel_seal(parcel);
	reel_pool_await_puts(child, 0);
	is_int(put_error, -EDQUOT, "is refused what the slab that it writes has");
	reel_parcel_close(parcel);
	reel_pool_settle(child);
	is_int(reel_pool_close_child(child, true), 0, "and ends");
	close_pool_at_rest(parent, "a parent");
	free(late);
}

static reel_parcel *open_parcel[BUDGET];

/* A store that is full. With its first put another thread seals the parcels of the parent. */
static void refuse_put(reel_store *store, reel_transfer *transfer)
{
	(void)store;
	for (unsigned i = 0; i < BUDGET && open_parcel[i]; i++)
		reel_parcel_seal(open_parcel[i]);
	open_parcel[0] = NULL;
	reel_transfer_complete(transfer, -ENOSPC);
}

/* The parent's store has nothing to write at first, and waits for the child end in vain. */
static void the_store_is_asked_again_after_a_wait_for_a_child(void)
{
	struct late_store *late = late_open(43), *childs = late_open(53);
	struct reel_store_verbs verbs = *childs->store.verbs;
	reel_pool *parent = open_pool(spilling(&late->store, BUDGET, BUDGET)), *child;
	reel_parcel *parcel[BUDGET], *more = NULL;
	void *data;

	tap_case("parcels that are sealed while a thread waits for a child");
	verbs.put = refuse_put;
	childs->store.verbs = &verbs;
	if (reel_pool_open_child(&child, parent, &childs->store, SLAB, REEL_FRAMES_STAY, NULL))
		abort();
	for (unsigned i = 0; i < BUDGET; i++)
		if (i < FRAMES ? reel_parcel_open_alone(&parcel[i], child, SLAB, &data)
			       : reel_parcel_open(&parcel[i], parent, SLAB, NULL, &data))
			abort();
	for (unsigned i = FRAMES; i < BUDGET; i++)
		open_parcel[i - FRAMES] = parcel[i];
	for (unsigned i = 0; i < FRAMES; i++)
		reel_parcel_seal(parcel[i]);
	is_int(reel_parcel_open(&more, parent, SLAB, NULL, &data), 0, "give their memory");
	reel_parcel_close(more);
	for (unsigned i = 0; i < BUDGET; i++)
		reel_parcel_close(parcel[i]);
	is_int(reel_pool_close_child(child, true), 0, "the child is closed");
	close_all(parent, late, "a parent");
	free(childs);
}

/* A handler of the program, which runs during the fork, finds the lists of children locked. */
static void a_fork_waits_for_no_trim(void)
{
	reel_pool *parent = open_pool(spilling(NULL, BUDGET, 12));
	reel_pool *child = child_with_idle_frames(parent);
	pid_t process;

	tap_case("idle frames of a child, and a fork");
	trimming_parent = parent;
	process = fork_with_timeout();
	if (!process)
		tap_child_end();
	trimming_parent = NULL;
	ok(tap_child_passed(process), "the process forks");
	is_int(stats_of(child).resident_bytes, FRAMES * SLAB, "amid a fork they stay");
	is_int(reel_children_trim(parent), 1, "and gives them back afterwards");
	is_int(reel_pool_close_child(child, true), 0, "the child is closed");
	close_pool_at_rest(parent, "a parent");
}

/* ---- Orders ---- */

enum { MANY = 60 };

static void an_order_is_read_ahead(bool backward, size_t bytes, unsigned repeated)
{
	struct late_store *late = late_open(19);
	reel_pool *pool = open_pool(spilling(&late->store, BUDGET, 16));
	reel_parcel *parcel[MANY], *order[2 * MANY];
	unsigned wrong = 0, n = 0;

	tap_case("an announced order");
	for (unsigned i = 0; i < MANY; i++)
		parcel[i] = sealed(pool, bytes, i);
	for (unsigned i = 0; i < MANY; i++) {
		unsigned which = backward ? MANY - 1 - i : i;

		for (unsigned again = 0; again <= (repeated && i % repeated == 0); again++)
			order[n++] = parcel[which];
	}
	is_int(reel_parcel_announce(order, n), 0, "is announced");
	for (unsigned i = 0; i < n; i++) {
		unsigned which = 0;

		while (parcel[which] != order[i])
			which++;
		wrong += !reads(order[i], which);
	}
	is_int(wrong, 0, "all come back, of %zu bytes", bytes);
	ok(parcel_stats(pool).hits > 0, "some had been read before they were needed: %llu of %llu",
	   (unsigned long long)parcel_stats(pool).hits,
	   (unsigned long long)parcel_stats(pool).announced);
	is_int(parcel_stats(pool).announced, n, "each announced pin counts");
	is_int(reel_offload_of(pool)->demands_in_use, 0, "the order has ended with its last parcel");
	for (unsigned i = 0; i < MANY; i++)
		reel_parcel_close(parcel[i]);
	close_all(pool, late, "an order");
}

/*
 * The budget has room for one of these parcels. The next one is read as soon as this one is closed,
 * or is not pinned any more, and stays until its pin.
 */
static void a_frame_that_is_free_is_read_into(bool closes)
{
	enum { LARGE = 14 * SLAB, PARCELS = 20 };
	struct late_store *late = late_open(31);
	reel_pool *pool = open_pool(spilling(&late->store, BUDGET, 16));
	reel_parcel *parcel[PARCELS];
	struct reel_pool_stats stats;
	unsigned wrong = 0, in_time = 0;

	tap_case("a frame that is free");
	for (unsigned i = PARCELS; i-- > 0;)
		parcel[i] = sealed(pool, LARGE, i);
	reel_parcel_announce(parcel, PARCELS);
	for (unsigned i = 0; i < PARCELS; i++) {
		/* Each parcel comes if its predecessor is closed, however long a busy machine takes. */
		for (unsigned tries = 0; tries < (closes ? 60000 : 1000); tries++) {
			if (reel_parcel_is_in_memory(parcel[i]))
				break;
			usleep(1000);
		}
		in_time += reel_parcel_is_in_memory(parcel[i]);
		wrong += !reads(parcel[i], i);
		if (closes)
			reel_parcel_close(parcel[i]);
	}
	is_int(wrong, 0, "all parcels come back");
	ok(in_time >= (closes ? PARCELS : PARCELS / 2), "they are read before their pins: %u of %d",
	   in_time, PARCELS);
	reel_pool_get_stats(pool, &stats);
	ok(stats.read_bytes <= PARCELS * LARGE, "each of them once: %llu bytes of %d",
	   (unsigned long long)stats.read_bytes, PARCELS * LARGE);
	for (unsigned i = 0; !closes && i < PARCELS; i++)
		reel_parcel_close(parcel[i]);
	close_all(pool, late, "frames that are free");
}

/*
 * A thread that waits for the store holds the lock of pins. The system's clock is set back
 * meanwhile.
 */
static void who_waits_is_not_waited_for(reel_parcel *parcel)
{
	const void *data;
	pthread_t thread;

	has_locked = may_unlock = false;
	if (pthread_create(&thread, NULL, lock_pins, parcel->bin))
		abort();
	while (!has_locked)
		sched_yield();
	is_int(reel_parcel_pin_for(parcel, &data, 0), -EAGAIN, "it is not there");
	ok(strstr(reel_error_text(-EAGAIN), "not in memory yet"), "%s", reel_error_text(-EAGAIN));
	is_int(reel_parcel_pin_for(parcel, &data, 20), -EAGAIN, "nor after 20 ms");
	may_unlock = true;
	pthread_join(thread, NULL);
}

static void who_cannot_wait_comes_again(void)
{
	enum { BYTES = 3 * SLAB };
	struct late_store *late = late_open(23);
	reel_pool *pool = open_pool(spilling(&late->store, BUDGET, 2));
	reel_parcel *parcel = sealed(pool, BYTES, 1), *open;
	struct reel_parcel_stats stats;
	const void *data;
	void *own;
	unsigned tries = 0;
	int error;

	tap_case("a pin that does not wait");
	is_int(reel_parcel_pin(parcel, &data), 0, "a parcel that is pinned");
	is_int(reel_parcel_pin_for(parcel, &data, 0), 0, "is pinned once more at once");
	reel_parcel_unpin(parcel);
	reel_parcel_unpin(parcel);
	push_out(pool);
	ok(!reel_parcel_is_in_memory(parcel), "it leaves memory");
	who_waits_is_not_waited_for(parcel);
	while ((error = reel_parcel_pin_for(parcel, &data, 1)) == -EAGAIN && tries < 10000)
		tries++;
	is_int(error, 0, "when the store has brought it, it is");
	ok(has_bytes(data, BYTES, 1), "as it was");
	reel_parcel_unpin(parcel);
	push_out(pool);
	reel_parcel_pin_for(parcel, &data, 0);
	settle(pool);
	ok(reel_parcel_is_in_memory(parcel), "who asks once finds it later");
	is_int(reel_parcel_pin_for(parcel, &data, 0), 0, "and pins it without a wait");
	reel_parcel_unpin(parcel);
	reel_parcel_get_stats(pool, &stats);
	is_int(stats.pinned_bytes, 0, "no pin is left of the tries");
	reel_parcel_open(&open, pool, 8, NULL, &own);
	ok(reel_parcel_is_in_memory(open), "an open parcel is in memory");
	is_int(reel_parcel_pin_for(open, &data, 0), -EINVAL, "and is not pinned");
	reel_parcel_close(open);
	reel_parcel_close(parcel);
	close_all(pool, late, "pins that do not wait");
}

/* Pins without a wait, until the result is not "not yet". */
static int ask_until_told(reel_parcel *parcel, const void **data)
{
	int error = -EAGAIN;

	for (unsigned tries = 0; error == -EAGAIN && tries < 20000; tries++) {
		struct timespec pause = {.tv_nsec = 100000};

		error = reel_parcel_pin_for(parcel, data, 0);
		nanosleep(&pause, NULL);
	}
	return error;
}

static void fail_to_get(reel_store *store, reel_transfer *transfer)
{
	(void)store;
	reel_transfer_complete(transfer, -EAGAIN);
}

static void who_only_asks_is_told_of_a_loss(void)
{
	struct late_store *late = late_open(37);
	struct reel_store_verbs verbs = *late->store.verbs;
	reel_parcel *parcel;
	reel_pool *pool;
	const void *data;

	tap_case("a pin that does not wait, of what the store has lost");
	verbs.get = fail_to_get;
	late->store.verbs = &verbs;
	pool = open_pool(spilling(&late->store, BUDGET, 2));
	parcel = sealed(pool, 3 * SLAB, 1);
	push_out(pool);
	ok(!reel_parcel_is_in_memory(parcel), "it leaves memory");
	is_int(ask_until_told(parcel, &data), -EIO, "is told, and does not ask for ever");
	is_int(reel_parcel_pin(parcel, &data), -EIO, "as is whoever waits");
	reel_parcel_close(parcel);
	close_all(pool, late, "a loss");
}

/* Below the hard budget no slab is written, unless a thread needs the memory. */
static void who_only_asks_gets_room(void)
{
	struct late_store *late = late_open(29);
	reel_pool *pool = open_pool(spilling(&late->store, BUDGET, BUDGET));
	reel_parcel *parcel = sealed(pool, 3 * SLAB, 1), *full[2], *open;
	const void *data;
	void *own;

	tap_case("a pin that does not wait, where memory is full");
	push_out(pool);
	full[0] = sealed(pool, 14 * SLAB, 2);
	full[1] = sealed(pool, 10 * SLAB, 3);
	ok(!reel_parcel_is_in_memory(parcel), "of what was never written");
	is_int(ask_until_told(parcel, &data), 0, "makes room in the end");
	ok(has_bytes(data, 3 * SLAB, 1), "and finds the contents");
	reel_parcel_unpin(parcel);
	reel_parcel_close(full[0]);
	reel_parcel_close(full[1]);
	reel_parcel_open(&open, pool, 22 * SLAB, NULL, &own);
	ok(!reel_parcel_is_in_memory(parcel), "where memory is full of what is open");
	is_int(ask_until_told(parcel, &data), -EDQUOT, "there is none");
	ok(strstr(reel_error_text(-EDQUOT), "unpin some"), "the reason is: %s",
	   reel_error_text(-EDQUOT));
	is_int(reel_parcel_pin_for(parcel, &data, 0), -EAGAIN, "a parcel is refused once more");
	settle(pool);
	reel_parcel_close(open);
	is_int(reel_parcel_pin(parcel, &data), 0, "and has come when there was room");
	reel_parcel_unpin(parcel);
	push_out(pool);
	is_int(reel_parcel_pin_for(parcel, &data, 0), -EAGAIN, "an old refusal is forgotten then");
	is_int(ask_until_told(parcel, &data), 0, "until some is closed");
	reel_parcel_unpin(parcel);
	reel_parcel_close(parcel);
	close_all(pool, late, "asking for room");
}

/* The store has begun to read the parcel, and holds the get back. */
static void a_wait_has_an_end(void)
{
	enum { BYTES = 3 * SLAB };
	struct held_store *held = held_open();
	reel_pool *pool = open_pool(spilling(&held->store, BUDGET, 2));
	reel_parcel *parcel;
	const void *data;

	tap_case("a pin that waits for some time");
	held_release(held);
	parcel = sealed(pool, BYTES, 1);
	/* If all parcels were used in the same millisecond, another one may leave memory. */
	while (reel_parcel_is_in_memory(parcel))
		push_out(pool);
	held_hold_gets(held);
	is_int(reel_parcel_pin_for(parcel, &data, 0), -EAGAIN, "asks for what is not there");
	is_int(reel_parcel_pin_for(parcel, &data, 20), -EAGAIN, "waits in vain");
	is_int(reel_parcel_pin_for(parcel, &data, 1), -EAGAIN, "and once more");
	is_int(parcel_stats(pool).pinned_bytes, 0, "nothing is pinned");
	held_end_gets(held, 0);
	is_int(reel_parcel_pin_for(parcel, &data, 100000), 0, "until it comes");
	ok(has_bytes(data, BYTES, 1), "as it was");
	reel_parcel_unpin(parcel);
	reel_parcel_close(parcel);
	close_pool_at_rest(pool, "waits that have an end");
}

/* Several threads pin parcels of one bin at the same time, and some of them do not wait. */
static void *pin_now_and_then(void *pinned)
{
	uint64_t wrong = 0;

	for (unsigned i = 0; i < 3000; i++) {
		const void *data;
		int error = i % 3 ? reel_parcel_pin_for(pinned, &data, i % 2)
				  : reel_parcel_pin(pinned, &data);

		if (!error) {
			wrong += !has_bytes(data, 64, 5);
			reel_parcel_unpin(pinned);
		}
		wrong += error && error != -EAGAIN;
	}
	return (void *)(uintptr_t)wrong;
}

static void *push_out_often(void *pool)
{
	for (unsigned i = 0; i < 30; i++)
		push_out(pool);
	return NULL;
}

static void some_wait_and_some_do_not(void)
{
	struct late_store *late = late_open(17);
	reel_pool *pool = open_pool(spilling(&late->store, BUDGET + 12, 4));
	reel_parcel *parcel = sealed(pool, 64, 5);
	pthread_t thread[3], pusher;
	uintptr_t wrong = 0;

	tap_case("threads that pin one parcel, with and without a wait");
	if (pthread_create(&pusher, NULL, push_out_often, pool))
		abort();
	for (unsigned i = 0; i < 3; i++)
		if (pthread_create(&thread[i], NULL, pin_now_and_then, parcel))
			abort();
	for (unsigned i = 0; i < 3; i++) {
		void *result;

		pthread_join(thread[i], &result);
		wrong += (uintptr_t)result;
	}
	pthread_join(pusher, NULL);
	is_int(wrong, 0, "find what it has, or that it is not there");
	is_int(parcel_stats(pool).pinned_bytes, 0, "no pin is left");
	reel_parcel_close(parcel);
	close_all(pool, late, "threads that pin one parcel");
}

static void announcements_can_be_taken_back(void)
{
	enum { PARCELS = 12, BYTES = 2 * SLAB };
	struct late_store *late = late_open(19);
	reel_pool *pool = open_pool(spilling(&late->store, BUDGET, 4));
	reel_parcel *parcel[PARCELS], *order[2 * PARCELS];
	unsigned wrong = 0;
	uint64_t before;

	tap_case("an announcement that is taken back");
	for (unsigned i = 0; i < PARCELS; i++)
		parcel[i] = sealed(pool, BYTES, i);
	for (unsigned i = 0; i < 2 * PARCELS; i++)
		order[i] = parcel[i % PARCELS];
	reel_parcel_announce(order, 2 * PARCELS);
	/* Withdraws the first use of every second parcel. */
	for (unsigned i = 1; i < PARCELS; i += 2)
		reel_parcel_withdraw(&parcel[i], 1);
	for (unsigned i = 0; i < PARCELS; i += 2)
		wrong += !reads(parcel[i], i);
	for (unsigned i = 0; i < PARCELS; i++)
		wrong += !reads(parcel[i], i);
	is_int(wrong, 0, "leaves the other uses");
	before = parcel_stats(pool).announced;
	is_int(before, PARCELS / 2 + PARCELS, "which all have come");
	reel_parcel_announce(order, PARCELS);
	reel_parcel_withdraw(order, PARCELS);
	reel_parcel_withdraw(order, PARCELS);
	for (unsigned i = 0; i < PARCELS; i++)
		wrong += !reads(parcel[i], i);
	is_int(wrong, 0, "all of it may be taken back, and once more");
	is_int(parcel_stats(pool).announced, before, "then nothing was announced");
	for (unsigned i = 0; i < PARCELS; i++)
		reel_parcel_close(parcel[i]);
	close_all(pool, late, "announcements that are taken back");
}

static void cannot_be_announced(reel_parcel *first, reel_parcel *wrong, const char *why)
{
	is_int(reel_parcel_announce((reel_parcel *[]){first, first, wrong}, 3), -EINVAL,
	       "not announced: %s", why);
	ok(strstr(reel_error_text(0), "parcel 2 of 3 cannot be announced"), "%s",
	   reel_error_text(0));
}

/* Both pools have offload threads, which would handle slabs of the other pool. */
static void wrong_orders_are_refused(void)
{
	struct late_store *late[2] = {late_open(47), late_open(53)};
	reel_parcel *first, *elsewhere, *open;
	reel_pool *pool[2];
	void *data;

	tap_case("orders that cannot be");
	for (unsigned i = 0; i < 2; i++)
		pool[i] = open_pool(spilling(&late[i]->store, BUDGET, 12));
	first = sealed(pool[0], SLAB, 1);
	elsewhere = sealed(pool[1], SLAB, 2);
	if (reel_parcel_open(&open, pool[0], SLAB, NULL, &data))
		abort();
	cannot_be_announced(first, elsewhere, "a parcel of another pool");
	cannot_be_announced(first, open, "an open parcel");
	is_int(reel_offload_of(pool[0])->demands_in_use, 0, "no order has begun");
	ok(reads(first, 1) && reads(elsewhere, 2), "the parcels can be pinned");
	reel_parcel_close(first);
	reel_parcel_close(elsewhere);
	reel_parcel_close(open);
	close_all(pool[0], late[0], "orders that were refused");
	close_all(pool[1], late[1], "an order over two pools");
}

static void orders_may_be_changed(void)
{
	struct late_store *late = late_open(23);
	reel_pool *pool = open_pool(spilling(&late->store, BUDGET, 8));
	reel_parcel *parcel[MANY];
	unsigned wrong = 0;

	tap_case("orders that are not kept");
	for (unsigned i = 0; i < MANY; i++)
		parcel[i] = sealed(pool, SLAB, i);
	reel_parcel_announce(parcel, MANY);
	for (unsigned i = 0; i < MANY / 2; i += 3)
		wrong += !reads(parcel[i], i);
	reel_parcel_announce(parcel, MANY / 3);
	is_int(reel_offload_of(pool)->demands_in_use, 2, "two orders are under way");
	reel_parcel_announce(parcel + MANY / 3, MANY - MANY / 3);
	is_int(reel_offload_of(pool)->demands_in_use, 2, "a third one takes the rest of the first");
	for (unsigned i = 0; i < MANY; i += 2)
		reel_parcel_close(parcel[i]);
	for (unsigned i = 1; i < MANY; i += 2)
		wrong += !reads(parcel[i], i);
	is_int(wrong, 0, "all that is left comes back");
	for (unsigned i = 1; i < MANY; i += 2)
		reel_parcel_close(parcel[i]);
	is_int(reel_offload_of(pool)->demands_in_use, 0, "no order is left");
	close_all(pool, late, "orders that were not kept");
}

/* ---- Several readers ---- */

static struct {
	reel_parcel *parcel[MANY];
	_Atomic unsigned wrong, started;
} shared;

static void *read_all(void *unused)
{
	unsigned me = shared.started++;

	for (unsigned round = 0; round < 4; round++)
		for (unsigned i = 0; i < MANY; i++) {
			unsigned which = me % 2 ? i : MANY - 1 - i;

			shared.wrong += !reads(shared.parcel[which], which);
		}
	return unused;
}

static void many_read_at_once(size_t bytes)
{
	struct late_store *late = late_open(29);
	reel_pool *pool = open_pool(spilling(&late->store, BUDGET, 8));

	tap_case("several threads that read the same parcels");
	shared.wrong = shared.started = 0;
	for (unsigned i = 0; i < MANY; i++)
		shared.parcel[i] = sealed(pool, bytes, i);
	run_threads(4, read_all);
	is_int(shared.wrong, 0, "each sees what was written, %zu bytes", bytes);
	for (unsigned i = 0; i < MANY; i++)
		reel_parcel_close(shared.parcel[i]);
	close_all(pool, late, "several readers");
}

/* A tape and parcels evict each other, and both come back. */
static void tapes_and_parcels_share_the_budget(void)
{
	struct late_store *late = late_open(31);
	reel_pool *pool = open_pool(spilling(&late->store, BUDGET, 12));
	reel_tape tape = open_tape(pool, 0);
	reel_parcel *parcel[MANY];
	unsigned wrong = 0;

	tap_case("a tape beside parcels");
	for (unsigned i = 0; i < MANY; i++) {
		push_values(&tape, 1, i * SLAB_WORDS, SLAB_WORDS);
		parcel[i] = sealed(pool, SLAB + i, i);
	}
	for (unsigned i = MANY; i-- > 0;) {
		wrong += !pop_values(&tape, 1, i * SLAB_WORDS, SLAB_WORDS);
		wrong += !reads(parcel[i], i);
		reel_parcel_close(parcel[i]);
	}
	is_int(wrong, 0, "both come back");
	ok(stats_of(pool).peak_resident_bytes <= BUDGET * SLAB, "in one budget");
	reel_tape_close(&tape);
	close_all(pool, late, "a tape beside parcels");
}

/* Otherwise each pin would evict frames that are needed soon. */
static void a_pin_is_no_growth(void)
{
	struct late_store *late = late_open(37);
	reel_pool *pool = open_pool(spilling(&late->store, BUDGET, 4));
	struct reel_offload *offload = reel_offload_of(pool);
	reel_parcel *parcel[12], *again = NULL;
	struct reel_slab *slab;
	unsigned clean = 0, growths = 0;
	void *data;

	tap_case("pins of what is in memory");
	for (unsigned i = 0; i < COUNT(parcel); i++)
		parcel[i] = sealed(pool, SLAB, i);
	reel_offload_settle(offload);
	reel_offload_pause(offload);
	for (unsigned i = 0; i < COUNT(parcel); i++) {
		slab = parcel[i]->bin->slab;
		if (reel_slab_state_of(slab) != REEL_SLAB_CLEAN)
			continue;
		clean++;
		again = parcel[i];
		offload->growth_hint = false;
		growths += !reads(parcel[i], i) || offload->growth_hint;
	}
	ok(clean > 0, "%u are clean", clean);
	is_int(growths, 0, "none of them tells of growth");
	is_int(reel_parcel_unseal(again, &data), 0, "one of them is opened");
	offload->growth_hint = false;
	reel_parcel_seal(again);
	ok(offload->growth_hint, "sealed again it does, since it has to be written again");
	reel_offload_resume(offload);
	for (unsigned i = 0; i < COUNT(parcel); i++)
		reel_parcel_close(parcel[i]);
	close_all(pool, late, "pins");
}

/* Registers before the library does when it is loaded: the last registered handler runs first. */
__attribute__((constructor(101))) static void register_handler(void)
{
	if (pthread_atfork(act_amid_fork, NULL, NULL))
		abort();
}

int main(void)
{
	tap_begin();
	record_reports();
	sizes_in_memory();
	sizes_in_a_store(false, 0);
	sizes_in_a_store(true, 0);
	sizes_in_a_store(false, 7);
	the_alignment_is_as_said();
	sizes_without_a_budget();
	sizes_that_no_budget_holds();
	the_store_knows_what_does_not_compress();
	wrong_calls_are_refused();
	what_is_unsealed_can_be_changed(100);
	what_is_unsealed_can_be_changed(SLAB);
	what_is_unsealed_can_be_changed(3 * SLAB + 7);
	what_is_unchanged_is_not_written_again(SLAB / 3);
	what_is_unchanged_is_not_written_again(SLAB);
	what_is_unchanged_is_not_written_again(3 * SLAB + 7);
	what_is_compared_is_written_where_it_differs(SLAB / 3);
	what_is_compared_is_written_where_it_differs(SLAB);
	what_is_compared_is_written_where_it_differs(3 * SLAB + 7);
	unsealing_waits_for_a_put();
	parcels_of_no_bytes();
	small_parcels_share();
	large_parcels_waste_little();
	a_sealed_parcel_holds_no_slab(2);
	a_sealed_parcel_holds_no_slab(3);
	a_pin_finds_the_slab_of_a_sealed_parcel();
	a_full_pool_gives_up_one_parcel_ahead();
	a_used_up_budget_is_said();
	a_closed_parcel_makes_room_when_its_put_ends();
	lent_memory_stays_until_its_put_has_ended();
	lent_memory_comes_back_when_its_contents_have_left();
	memory_is_registered_no_longer_than_it_is_there();
	a_lost_parcel_is_an_error(REEL_FAULT_ERROR, -EIO);
	a_lost_parcel_is_an_error(REEL_FAULT_MISPLACE, -EBADMSG);
	a_pin_that_does_not_wait_gets_a_frame();
	a_slab_that_another_thread_seals_is_found();
	a_large_parcel_gets_what_another_thread_gives(false);
	a_large_parcel_gets_what_another_thread_gives(true);
	forks_and_waits_for_the_store_meet();
	a_child_has_what_is_in_memory();
	a_child_needs_no_thread_of_the_parent();
	the_first_parcel_waits_for_a_fork();
	idle_frames_serve_a_large_parcel(NULL);
	idle_frames_serve_a_large_parcel(late_open(23));
	idle_frames_serve_whole_slabs();
	idle_frames_serve_a_pin();
	a_child_that_writes_makes_room(use_all, "a parcel");
	a_child_that_writes_makes_room(use_nearly_all_by_a_tape, "a tape");
	a_child_that_closes_makes_room();
	it_makes_room_for_whole_slabs(FRAMES);
	it_makes_room_for_whole_slabs(0);
	it_makes_room_for_a_sibling();
	frames_stay_while_there_is_room();
	a_put_does_not_wait_for_itself();
	the_store_is_asked_again_after_a_wait_for_a_child();
	a_fork_waits_for_no_trim();
	an_order_is_read_ahead(false, SLAB, 0);
	an_order_is_read_ahead(true, SLAB, 0);
	an_order_is_read_ahead(true, 2 * SLAB + 9, 0);
	an_order_is_read_ahead(false, SLAB / 4, 7);
	a_frame_that_is_free_is_read_into(true);
	a_frame_that_is_free_is_read_into(false);
	wrong_orders_are_refused();
	orders_may_be_changed();
	announcements_can_be_taken_back();
	who_cannot_wait_comes_again();
	who_only_asks_is_told_of_a_loss();
	who_only_asks_gets_room();
	a_wait_has_an_end();
	some_wait_and_some_do_not();
	many_read_at_once(SLAB);
	many_read_at_once(SLAB / 3);
	many_read_at_once(2 * SLAB);
	tapes_and_parcels_share_the_budget();
	a_pin_is_no_growth();
	return tap_end();
}
