/* SPDX-License-Identifier: MIT */
/*
 * Tests parcels on each kind of store: without faults, with each put or get failing, with a full
 * store, with each request for memory refused, and in a program that is killed. A pin gives the
 * written data or an error.
 */
#include <config.h>

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <reel/parcel.h>

#include "helpers/process-support.h"
#include "helpers/refusals.h"
#include "helpers/spill-support.h"
#include "helpers/store-count.h"
#include "helpers/store-fault.h"
#include "os/os.h"
#include "spill/pool/child-pool.h"

enum { BUDGET = 12, PARCELS = 30 };

static size_t size_of(unsigned number)
{
	static const size_t sizes[] = {SLAB, 100, 3 * SLAB + 5, SLAB / 2, SLAB / 3, 2 * SLAB};

	return sizes[number % COUNT(sizes)];
}

/* ---- The program ---- */

static struct {
	reel_parcel *parcel[PARCELS]; /* NULL: opening was refused */
	uint64_t contents[PARCELS];
	unsigned wrong;
	unsigned refused, lost;
	int refusal, loss; /* the first error of each */
} seen;

static void note_refusal(int error)
{
	if (!seen.refused++)
		seen.refusal = error;
}

static void open_all(reel_pool *pool)
{
	for (unsigned i = 0; i < PARCELS; i++) {
		void *data;
		int error = reel_parcel_open(&seen.parcel[i], pool, size_of(i), NULL, &data);

		if (error) {
			seen.parcel[i] = NULL;
			note_refusal(error);
			continue;
		}
		seen.contents[i] = (uint64_t)i << 32;
		fill(data, size_of(i), seen.contents[i]);
		seen.wrong += reel_parcel_seal(seen.parcel[i]) != 0;
	}
}

static void note_loss(unsigned i, const void *data, int error)
{
	if (error == -EDQUOT || error == -ENOMEM) {
		note_refusal(error);
		return;
	}
	seen.wrong += data != NULL;
	seen.wrong += reel_parcel_pin(seen.parcel[i], &data) != error;
	if (!seen.lost++)
		seen.loss = error;
}

static void read_one(unsigned i)
{
	const void *data = NULL;
	int error;

	if (!seen.parcel[i])
		return;
	error = reel_parcel_pin(seen.parcel[i], &data);
	if (error) {
		note_loss(i, data, error);
		return;
	}
	seen.wrong += !is_filled(data, size_of(i), seen.contents[i]);
	reel_parcel_unpin(seen.parcel[i]);
}

static void rewrite(unsigned i)
{
	void *data = NULL;
	int error;

	if (!seen.parcel[i])
		return;
	error = reel_parcel_unseal(seen.parcel[i], &data);
	if (error) {
		note_loss(i, data, error);
		return;
	}
	seen.wrong += !is_filled(data, size_of(i), seen.contents[i]);
	seen.contents[i] += 1 << 24;
	fill(data, size_of(i), seen.contents[i]);
	seen.wrong += reel_parcel_seal(seen.parcel[i]) != 0;
}

/* Pins parcels backward, as announced, writes some again, and pins all forward. */
static void program(reel_pool *pool)
{
	reel_parcel *order[PARCELS];
	size_t n = 0;

	memset(&seen, 0, sizeof seen);
	open_all(pool);
	for (unsigned i = PARCELS; i-- > 0;)
		if (seen.parcel[i])
			order[n++] = seen.parcel[i];
	/* An announcement may fail without memory, and then no parcel is read ahead. */
	(void)reel_parcel_announce(order, n);
	for (unsigned i = PARCELS; i-- > 0;)
		read_one(i);
	for (unsigned i = 0; i < PARCELS; i += 4)
		rewrite(i);
	for (unsigned i = 0; i < PARCELS; i++)
		read_one(i);
	for (unsigned i = 0; i < PARCELS; i++)
		seen.wrong += reel_parcel_close(seen.parcel[i]) != 0;
}

static bool went_well(reel_pool *pool)
{
	program(pool);
	return !seen.wrong && !seen.refused && !seen.lost;
}

/* ---- Each kind of store ---- */

static void a_store_keeps_parcels(reel_store *store, const char *what)
{
	reel_pool *pool = open_pool(spilling(store, BUDGET, BUDGET / 2));

	tap_case(what);
	ok(went_well(pool) && went_well(pool), "%s: parcels above the budget come back", what);
	ok(stats_of(pool).read_bytes > 0, "some from the store");
	ok(stats_of(pool).peak_resident_bytes <= BUDGET * SLAB, "the budget is kept");
	close_pool_at_rest(pool, what);
}

static void each_store_keeps_parcels(void)
{
	static const char *const words[] = {"file", "memory=64M", "lz4,memory=64M", "lz4,file",
					    "memory=16K,memory=64M", "memory=16K,file",
					    "memory=16K,lz4=8,memory=64M"};
	reel_store *store;

	for (unsigned i = 0; i < COUNT(words); i++) {
		if (reel_store_open(&store, words[i], "."))
			tap_skip(1, "%s: %s", words[i], reel_error_text(0));
		else
			a_store_keeps_parcels(store, words[i]);
	}
}

/* ---- Faults ---- */

static const struct kind {
	const char *name;
	struct reel_fault_rule rule;
	/* Errors by which a parcel may be lost and refused; 0: it may not. */
	int loss, refusal;
} kinds[] = {
	{"a put fails", {.fault = REEL_FAULT_ERROR, .put = true, .error = -EIO}, 0, 0},
	{"a put is late", {.fault = REEL_FAULT_LATE, .put = true}, 0, 0},
	{"a get fails", {.fault = REEL_FAULT_ERROR, .error = -EIO}, -EIO, 0},
	{"a get is late", {.fault = REEL_FAULT_LATE}, 0, 0},
	{"a get finds a bit flipped", {.fault = REEL_FAULT_FLIP, .bit = 777}, -EBADMSG, 0},
	{"a get finds something else", {.fault = REEL_FAULT_MISPLACE}, -EBADMSG, 0},
	{"a bit is flipped in a put", {.fault = REEL_FAULT_FLIP, .put = true, .bit = 999},
	 -EBADMSG, 0},
	{"all puts fail",
	 {.fault = REEL_FAULT_ERROR, .put = true, .persistent = true, .error = -ENOSPC}, 0, -ENOSPC},
	{"all gets fail", {.fault = REEL_FAULT_ERROR, .persistent = true, .error = -EIO}, -EIO, 0},
	{"all gets find something else", {.fault = REEL_FAULT_MISPLACE, .persistent = true},
	 -EBADMSG, 0},
	{"the store vanishes", {.fault = REEL_FAULT_VANISH, .put = true, .persistent = true},
	 -ENODEV, -ENODEV},
};

static bool is_as_it_may_be(const struct kind *kind)
{
	return !seen.wrong && (!seen.lost || seen.loss == kind->loss) &&
	       (!seen.refused || (kind->refusal && (seen.refusal == kind->refusal ||
						     seen.refusal == -EDQUOT)));
}

/* Returns true if the fault came. */
static bool fails_at(const struct kind *kind, uint64_t k, bool *good)
{
	struct reel_fault_rule rule = kind->rule;
	struct reel_store_counts counts;
	reel_store *memory, *faulty, *count;
	reel_pool *pool;
	bool came;

	rule.at = k;
	if (reel_store_memory_open(&memory, UINT64_MAX) ||
	    reel_store_fault_open(&faulty, memory, &rule, 1) ||
	    reel_store_count_open(&count, faulty))
		abort();
	pool = open_pool(spilling(count, BUDGET, BUDGET / 2));
	program(pool);
	reel_offload_settle(reel_offload_of(pool));
	reel_store_get_counts(count, &counts);
	*good = is_as_it_may_be(kind) && pool_is_whole(pool);
	if (!*good)
		tap_note("%s, number %llu: %u wrong, %u lost with %d, %u refused with %d",
			 kind->name, (unsigned long long)k, seen.wrong, seen.lost, seen.loss,
			 seen.refused, seen.refusal);
	came = (kind->rule.put ? counts.puts : counts.gets) > k;
	*good &= !came || kind->rule.persistent || went_well(pool);
	*good &= reel_pool_close(pool) == 0;
	return came;
}

static void each_transfer_fails(void)
{
	tap_case("faults");
	for (const struct kind *kind = kinds; kind < kinds + COUNT(kinds); kind++) {
		uint64_t step = stride_of(7), k = 0;
		bool good = true, came = true;

		for (; came && good; k += step)
			came = fails_at(kind, k, &good);
		ok(good && k > step, "%s, at each of %llu places: what was written, or an error",
		   kind->name, (unsigned long long)(k / step));
	}
}

static void a_full_store_is_said(void)
{
	reel_store *store;
	reel_pool *pool;

	tap_case("a full store");
	if (reel_store_memory_open(&store, 8 * SLAB))
		abort();
	pool = open_pool(spilling(store, BUDGET, BUDGET / 2));
	program(pool);
	ok(seen.refused > 0 && !seen.lost && !seen.wrong,
	   "refuses %u parcels, and the others come back", seen.refused);
	is_int(seen.refusal, -ENOSPC, "the first one since the store is full");
	close_pool_at_rest(pool, "a full store");
}

/* A parcel in the store finds no memory, because the store accepts no more puts. */
static void a_pin_says_that_the_store_is_full(void)
{
	reel_parcel *parcel[64];
	reel_store *store;
	reel_pool *pool;
	const void *data;
	unsigned n = 0;
	void *fresh;

	if (reel_store_memory_open(&store, 8 * SLAB))
		abort();
	pool = open_pool(spilling(store, BUDGET, BUDGET / 2));
	while (n < COUNT(parcel) && !reel_parcel_open(&parcel[n], pool, SLAB, NULL, &fresh))
		reel_parcel_seal(parcel[n++]);
	is_int(reel_parcel_pin(parcel[0], &data), -EDQUOT, "a pin is refused");
	ok(strstr(reel_error_text(0), "the store takes no more: No space left"), "and says why: %s",
	   reel_error_text(0));
	while (n)
		reel_parcel_close(parcel[--n]);
	close_pool_at_rest(pool, "a full store, with pins");
}

/* ---- Refusals of the system ---- */

static void memory_is_refused(bool all_that_follow)
{
	unsigned places = 0, wrong = 0;

	tap_case("memory that is refused");
	for (bool refused = true; refused; places++) {
		reel_store *store;
		reel_pool *pool;

		if (reel_store_memory_open(&store, UINT64_MAX))
			abort();
		pool = open_pool(spilling(store, BUDGET, BUDGET / 2));
		refuse_from(1 + places, all_that_follow);
		program(pool);
		stop_refusing();
		refused = refusal.refused > 0;
		wrong += seen.wrong || seen.lost ||
			 (seen.refused && seen.refusal != -ENOMEM && seen.refusal != -EDQUOT);
		if (wrong == 1)
			tap_note("place %u: %u wrong, %u lost with %d, %u refused with %d", places,
				 seen.wrong, seen.lost, seen.loss, seen.refused, seen.refusal);
		reel_offload_settle(reel_offload_of(pool));
		wrong += !went_well(pool) || !pool_is_whole(pool) || reel_pool_close(pool) != 0;
	}
	ok(!wrong && places > 10, "at each of %u places%s nothing is lost, and nothing leaks", places,
	   all_that_follow ? " and after it" : "");
}

/* The system has no mapping for the pages of the parcel, but the pool has an idle slab. */
static void a_slab_serves_without_mappings(void)
{
	struct reel_pool_options options = {.slab_bytes = 16 * reel_os_page_bytes()};
	reel_pool *pool = open_pool(options);
	reel_parcel *parcel;
	void *data;

	tap_case("mappings that are refused");
	if (reel_parcel_open(&parcel, pool, options.slab_bytes, NULL, &data) ||
	    reel_parcel_close(parcel))
		abort();
	refuse(REFUSE_MAPPING, 1, true);
	is_int(reel_parcel_open(&parcel, pool, options.slab_bytes / 2 + 1, NULL, &data), 0,
	       "a parcel takes a slab");
	stop_refusing();
	ok(refusal.refused > 0, "where a mapping was refused");
	reel_parcel_close(parcel);
	close_pool_at_rest(pool, "mappings that were refused");
}

/* The budget has room for the frame, which no wait for the store of the child brings. */
static void a_pin_in_a_child_ends_without_mappings(void)
{
	reel_pool *parent = open_pool(spilling(NULL, BUDGET, BUDGET)), *child;
	reel_store *store;
	reel_parcel *parcel;
	void *written;
	const void *data;
	int error;

	tap_case("mappings that are refused to a child pool");
	if (reel_store_memory_open(&store, 1 << 24) ||
	    reel_pool_open_child(&child, parent, store, SLAB, 0, NULL) ||
	    reel_parcel_open_alone(&parcel, child, SLAB, &written))
		abort();
	fill(written, SLAB, 1);
	reel_parcel_seal(parcel);
	reel_pool_settle(child);
	reel_pool_trim(parent, 0);
	refuse(REFUSE_MAPPING, 1, true);
	error = reel_parcel_pin(parcel, &data);
	stop_refusing();
	ok(refusal.refused > 0 && (error == -EDQUOT || error == -ENOMEM),
	   "a pin that gets no frame ends: %d", error);
	is_int(reel_parcel_pin(parcel, &data), 0, "and is right later");
	ok(is_filled(data, SLAB, 1), "value by value");
	reel_parcel_unpin(parcel);
	reel_parcel_close(parcel);
	is_int(reel_pool_close_child(child, true), 0, "the child is closed");
	close_pool_at_rest(parent, "mappings that were refused to a child");
}

/* ---- Processes ---- */

static _Noreturn void use_parcels_for_ever(void)
{
	reel_store *store;
	reel_pool *pool;

	if (reel_store_file_open(&store, &(struct reel_file_options){.directory = ".",
								     .flags = REEL_FILE_TMPFS}))
		_exit(1);
	pool = open_pool(spilling(store, BUDGET, BUDGET / 2));
	for (;;)
		if (!went_well(pool))
			_exit(1);
}

static void a_process_is_killed(void)
{
	unsigned names = names_in("."), killed = 0, times = is_brief() ? 10 : 50;

	tap_case("a process that is killed");
	for (unsigned i = 0; i < times; i++) {
		pid_t child = fork_with_timeout();
		int status;

		if (child == 0)
			use_parcels_for_ever();
		usleep((unsigned)(scramble(i) % 8000));
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
		killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
	}
	is_int(killed, times, "a process was killed while its parcels went to a file, each time");
	if (files_have_no_name())
		is_int(names_in("."), names, "and left no file");
	else
		tap_skip(1, "a file has a name here until it is unlinked");
}

int main(void)
{
	tap_begin();
	record_reports();
	each_store_keeps_parcels();
	each_transfer_fails();
	a_full_store_is_said();
	a_pin_says_that_the_store_is_full();
	memory_is_refused(false);
	memory_is_refused(true);
	a_slab_serves_without_mappings();
	a_pin_in_a_child_ends_without_mappings();
	a_process_is_killed();
	return tap_end();
}
