/* SPDX-License-Identifier: MIT */
/*
 * Compares random sequences of calls on many parcels, some of them in memory that is lent, with a
 * tape beside them, with plain copies: by one thread, and by several threads whose small parcels share
 * slabs.
 *
 * TEST_SEEDS=N runs N sequences for each kind of pool; TEST_SEED=S runs only the sequence S. A
 * failure prints its seed.
 */
#include <config.h>

#include <errno.h>

#include <reel/parcel.h>

#include "helpers/spill-support.h"
#include "helpers/support.h"

enum { PARCELS = 40, STEPS = 600 };

struct item {
	reel_parcel *parcel; /* NULL: there is none */
	unsigned char *copy;
	void *open; /* NULL: it is sealed */
	bool unchanged; /* since it was unsealed */
	unsigned pins;
};

/* The state of one thread. */
static _Thread_local struct run {
	reel_pool *pool;
	reel_tape tape;
	uint64_t pushed;
	uint64_t random;
	struct item item[PARCELS];
	unsigned wrong;
} run;

static uint64_t below(uint64_t n)
{
	run.random ^= run.random << 13;
	run.random ^= run.random >> 7;
	run.random ^= run.random << 17;
	return run.random % n;
}

static size_t any_size(void)
{
	switch (below(6)) {
	case 0:
		return below(100);
	case 1:
		return 1 + below(SLAB / 2);
	case 2:
		return SLAB;
	case 3:
		return 1 + below(5 * SLAB);
	default:
		return 1 + below(SLAB);
	}
}

/* The store of this pool refuses some puts. */
static bool puts_fail;

/* If no slab can leave memory, the error may be that of the last refused put. */
static bool is_want_of_memory(int error)
{
	return error == -EDQUOT || (puts_fail && error == -ENOSPC);
}

/* Returns true if the call succeeded, or failed for want of memory. */
static bool went_well(int error)
{
	if (!error)
		return true;
	if (!is_want_of_memory(error)) {
		tap_note("a call returned %d: %s", error, reel_error_text(error));
		run.wrong++;
	}
	return false;
}

static void rewrite(struct item *item)
{
	size_t bytes = reel_parcel_bytes(item->parcel);
	size_t first = bytes ? below(bytes) : 0;
	size_t n = bytes ? 1 + below(bytes - first) : 0;
	unsigned seed = (unsigned)below(1 << 30);

	for (size_t i = first; i < first + n; i++)
		((unsigned char *)item->open)[i] = item->copy[i] = (unsigned char)(seed + i * 7);
}

/* Before memory that is lent, in the same page. */
struct loan {
	void *allocation;
	size_t bytes;
};

/* Number of loans of all threads that were not taken back. */
static _Atomic unsigned loans;

static void *borrowed_memory(size_t bytes)
{
	char *allocation = malloc(sizeof(struct loan) + 4096 + 64 + bytes);
	char *data = allocation + sizeof(struct loan) + below(2) * below(4096);

	if (!allocation)
		abort();
	if (below(3) == 0)
		data += -(uintptr_t)data % 64;
	memcpy(data - sizeof(struct loan), &(struct loan){allocation, bytes}, sizeof(struct loan));
	return data;
}

/* Overwrites what comes back, so that a later use of it is seen. */
static void take_back(void)
{
	char *data;

	while ((data = reel_parcel_take_back(run.pool))) {
		struct loan loan;

		memcpy(&loan, data - sizeof loan, sizeof loan);
		memset(data - sizeof loan, 0xee, sizeof loan + loan.bytes);
		free(loan.allocation);
		loans--;
	}
}

static void lend(struct item *item, size_t bytes, const struct reel_parcel_options *options)
{
	item->copy = malloc(bytes + 1);
	item->open = borrowed_memory(bytes);
	if (!item->copy)
		abort();
	for (size_t i = 0; i < bytes; i++)
		((unsigned char *)item->open)[i] = item->copy[i] = (unsigned char)(bytes + i * 5);
	loans++;
	if (!went_well(reel_parcel_lend(&item->parcel, run.pool, item->open, bytes, options))) {
		struct loan loan;

		memcpy(&loan, (char *)item->open - sizeof loan, sizeof loan);
		free(loan.allocation);
		free(item->copy);
		item->parcel = NULL;
		loans--;
	}
	item->open = NULL;
}

static void begin(struct item *item)
{
	static const uint32_t elements[] = {0, 8, 4, REEL_INCOMPRESSIBLE};
	struct reel_parcel_options options = {.layout = {.element = elements[below(4)]}};
	size_t bytes = any_size();

	if (below(2)) {
		lend(item, bytes, &options);
		return;
	}
	if (!went_well(reel_parcel_open(&item->parcel, run.pool, bytes, &options, &item->open))) {
		item->parcel = NULL;
		return;
	}
	item->copy = malloc(bytes + 1);
	if (!item->copy)
		abort();
	memset(item->open, 0, bytes);
	memset(item->copy, 0, bytes);
	rewrite(item);
}

static void end(struct item *item)
{
	while (item->pins) {
		reel_parcel_unpin(item->parcel);
		item->pins--;
	}
	run.wrong += reel_parcel_close(item->parcel) != 0;
	free(item->copy);
	*item = (struct item){0};
}

static void look(struct item *item)
{
	const void *data;
	int error = below(2) ? reel_parcel_pin(item->parcel, &data)
			     : reel_parcel_pin_for(item->parcel, &data, (uint32_t)below(2));

	if (error == -EAGAIN || !went_well(error))
		return;
	run.wrong += !reel_parcel_is_in_memory(item->parcel);
	item->pins++;
	run.wrong += memcmp(data, item->copy, reel_parcel_bytes(item->parcel)) != 0;
	if (below(4)) {
		reel_parcel_unpin(item->parcel);
		item->pins--;
	}
}

static void change(struct item *item)
{
	if (!went_well(reel_parcel_unseal(item->parcel, &item->open))) {
		item->open = NULL;
		return;
	}
	run.wrong += memcmp(item->open, item->copy, reel_parcel_bytes(item->parcel)) != 0;
	item->unchanged = below(3) == 0;
	if (!item->unchanged)
		rewrite(item);
}

/* Seals a parcel, and checks that no other one has written to its memory. */
static void seal(struct item *item)
{
	run.wrong += memcmp(item->open, item->copy, reel_parcel_bytes(item->parcel)) != 0;
	if (below(3) == 0)
		run.wrong += reel_parcel_seal_compared(item->parcel) != 0;
	else
		run.wrong += (item->unchanged ? reel_parcel_seal_unchanged(item->parcel)
					      : reel_parcel_seal(item->parcel)) != 0;
	item->open = NULL;
	item->unchanged = false;
}

static void announce(void)
{
	reel_parcel *order[2 * PARCELS];
	size_t n = 0;

	for (uint64_t i = below(2 * PARCELS); i > 0; i--) {
		const struct item *item = &run.item[below(PARCELS)];

		if (item->parcel && !item->open)
			order[n++] = item->parcel;
	}
	run.wrong += reel_parcel_announce(order, n) != 0;
	if (below(3) == 0)
		reel_parcel_withdraw(order, below(n + 1));
}

static void use_tape(void)
{
	uint64_t n = below(3 * SLAB_WORDS);

	if (below(2)) {
		push_values(&run.tape, 1, run.pushed, n);
		run.pushed += n;
		/* Pinned parcels may leave too little memory for the tape. */
		if (is_want_of_memory(reel_tape_error(&run.tape))) {
			reel_tape_close(&run.tape);
			run.tape = open_tape(run.pool, 0);
			run.pushed = 0;
		}
	} else {
		n = n > run.pushed ? run.pushed : n;
		run.pushed -= n;
		run.wrong += !pop_values(&run.tape, 1, run.pushed, n);
	}
}

static void step(void)
{
	struct item *item = &run.item[below(PARCELS)];

	take_back();
	if (below(40) == 0)
		announce();
	else if (below(20) == 0)
		use_tape();
	else if (!item->parcel)
		begin(item);
	else if (item->open)
		seal(item);
	else if (item->pins)
		reel_parcel_unpin(item->parcel), item->pins--;
	else if (below(12) == 0)
		end(item);
	else if (below(4) == 0)
		change(item);
	else
		look(item);
}

/* Returns true if the sequence of this seed had no mistake. */
static bool sequence(reel_pool *pool, uint64_t seed)
{
	run.pool = pool;
	run.random = seed * 0x9e3779b97f4a7c15u + 1;
	run.wrong = 0;
	run.pushed = 0;
	run.tape = open_tape(pool, 0);
	for (unsigned i = 0; i < STEPS && !run.wrong; i++)
		step();
	run.wrong += reel_tape_error(&run.tape) != 0;
	for (struct item *item = run.item; item < run.item + PARCELS; item++)
		if (item->parcel)
			end(item);
	reel_tape_close(&run.tape);
	take_back();
	return !run.wrong;
}

static void sequences(reel_pool *pool, const char *what)
{
	uint64_t seeds = number_from_environment("TEST_SEEDS", is_brief() ? 20 : 400);
	uint64_t only = number_from_environment("TEST_SEED", 0), wrong = 0;

	tap_case(what);
	for (uint64_t seed = 1; seed <= seeds && !only; seed++)
		if (!sequence(pool, seed) && !wrong++)
			tap_note("seed %llu", (unsigned long long)seed);
	if (only)
		wrong += !sequence(pool, only);
	is_int(wrong, 0, "%s: all parcels have what was written", what);
}

/* A put that is under way keeps what was lent to a closed parcel. */
static void take_all_back(reel_pool *pool)
{
	run.pool = pool;
	if (reel_offload_of(pool))
		settle(pool);
	take_back();
	is_int(loans, 0, "all memory that was lent is back");
}

enum { THREADS = 3 };

static reel_pool *shared;
static _Atomic unsigned wrong_sequences;

static void *run_sequences(void *number)
{
	uint64_t first = 1000 * (1 + *(unsigned *)number);
	uint64_t seeds = number_from_environment("TEST_SEEDS", is_brief() ? 5 : 100);

	for (uint64_t seed = first; seed < first + seeds; seed++)
		wrong_sequences += !sequence(shared, seed);
	return NULL;
}

/* Pushes of several threads may be refused at the same time, which needs no report. */
static void say_nothing(const reel_tape *tape, int error, const char *message, void *context)
{
	(void)tape;
	(void)error;
	(void)message;
	(void)context;
}

static void by_threads(unsigned failing)
{
	struct late_store *late = late_open(3);

	tap_case("several threads");
	reel_set_error_handler(say_nothing, NULL);
	shared = open_pool(spilling(&late->store, 64, 32));
	late_fail(late, failing);
	puts_fail = failing;
	wrong_sequences = 0;
	run_threads(THREADS, run_sequences);
	is_int(wrong_sequences, 0, "all parcels of all threads have what was written");
	take_all_back(shared);
	close_all(shared, late, "several threads");
}

static void on_a_store(const char *what, unsigned budget, unsigned soft, unsigned failing)
{
	struct late_store *late = late_open(budget);
	reel_pool *pool = open_pool(spilling(&late->store, budget, soft));

	late_fail(late, failing);
	puts_fail = failing;
	sequences(pool, what);
	/* A single sequence may be over before a parcel leaves memory. */
	if (!number_from_environment("TEST_SEED", 0))
		ok(stats_of(pool).read_bytes > 0, "some were read from the store");
	take_all_back(pool);
	close_all(pool, late, what);
}

int main(void)
{
	reel_pool *pool;

	tap_begin();
	record_reports();
	pool = open_pool(small_options());
	sequences(pool, "in memory");
	take_all_back(pool);
	close_pool_at_rest(pool, "parcels in memory");
	on_a_store("memory for some", 48, 24, 0);
	on_a_store("memory for few", 16, 8, 0);
	on_a_store("puts that fail now and then", 32, 8, 6);
	by_threads(0);
	by_threads(7);
	return tap_end();
}
