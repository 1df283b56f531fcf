/* SPDX-License-Identifier: MIT */
/*
 * Tests processes that share a budget, each with a store: they finish with right values, the budget
 * holds, and memory goes from those that do not need it to those that do.
 */
#include <config.h>

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include <reel/parcel.h>

#include "helpers/process-support.h"
#include "helpers/share-support.h"
#include "spill/pool/child-pool.h"

#define SLAB ((size_t)16384)
#define BUDGET (96 * SLAB)
#define RANKS 8

static reel_pool *open_sharing(bool stores)
{
	struct reel_file_options file = {
		.directory = ".", .slot_bytes = SLAB, .threads = 1, .flags = REEL_FILE_TMPFS};
	struct reel_pool_options options = {
		.slab_bytes = SLAB, .first_slab_bytes = SLAB / 4, .hard_budget = BUDGET};

	memcpy(options.shared_budget, name, sizeof name);
	if (stores && reel_store_file_open(&options.store, &file)) {
		printf("Bail out! no file store: %s\n", reel_error_text(0));
		_exit(EXIT_FAILURE);
	}
	return open_pool(options);
}

static void pass_ms(unsigned ms)
{
	nanosleep(&(struct timespec){.tv_nsec = (long)ms * 1000000}, NULL);
}

int __real_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);

/* Number of pauses of the offload thread of this pool. */
static reel_pool *watched;
static _Atomic unsigned naps;
/* A pause closes this parcel, as another thread would, and those that follow are counted. */
static reel_parcel *unused;
static _Atomic unsigned pauses;

int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	naps += watched && reel_offload_is_this_thread(reel_offload_of(watched));
	if (unused) {
		reel_parcel_close(unused);
		unused = NULL;
		pauses = 0;
	} else {
		pauses++;
	}
	return __real_nanosleep(time, left);
}

static uint64_t resident_slabs(reel_pool *pool)
{
	return stats_of(pool).resident_bytes / SLAB;
}

/* The harness ends a test that waits for ever. */
static bool comes_below(reel_pool *pool, uint64_t slabs)
{
	for (unsigned looks = 0; looks < 6000; looks++) {
		if (resident_slabs(pool) <= slabs)
			return true;
		pass_ms(10);
	}
	return false;
}

static bool sweep(reel_pool *pool, uint64_t seed, uint64_t slabs)
{
	uint64_t n = values_in(pool, slabs);
	reel_tape tape = open_tape(pool, 0);
	bool right;

	push_values(&tape, seed, 0, n);
	right = pop_values(&tape, seed, 0, n) && !reel_tape_error(&tape);
	reel_tape_close(&tape);
	return right;
}

/* ---- Ranks ---- */

static _Noreturn void be_rank(unsigned rank)
{
	reel_pool *pool = open_sharing(true);
	bool right = true;

	for (unsigned round = 0; round < 2; round++)
		right &= sweep(pool, rank, 24 * (rank + 1));
	_exit(right && !reel_pool_close(pool) ? 0 : 1);
}

static void unlike_ranks_finish(void)
{
	pid_t rank[RANKS];
	struct reel_share *watch;
	unsigned running = RANKS, failed = 0, above = 0;

	tap_case("eight ranks");
	if (reel_share_join(&watch, name, BUDGET, 0))
		tap_skip_all("no budget is shared here: %s", reel_error_text(0));
	for (unsigned i = 0; i < RANKS; i++) {
		rank[i] = fork_with_timeout();
		if (rank[i] == 0)
			be_rank(i);
	}
	while (running) {
		int status;
		pid_t ended = waitpid(-1, &status, WNOHANG);

		above += total_of(watch) > BUDGET;
		running -= ended > 0;
		failed += ended > 0 && status != 0;
		sched_yield();
	}
	is_int(failed, 0, "tapes of 24 to 192 slabs come back under one budget of 96");
	is_int(above, 0, "all together were never above it");
	is_int(total_of(watch), 0, "and have given all back");
	reel_share_leave(watch);
	ok(access(path, F_OK), "no file is left");
}

/* ---- Memory goes where it is needed ---- */

static _Noreturn void be_other(unsigned long sweeps, bool stores)
{
	reel_pool *pool = open_sharing(stores);
	bool right = true;

	for (unsigned long i = 0; i < sweeps; i++)
		right &= sweep(pool, i, stores ? 200 : 30);
	_exit(right && !reel_pool_close(pool) ? 0 : 1);
}

/* Runs a program: a sanitizer may start no threads in the child of a program with threads. */
static pid_t start_sweeps(unsigned sweeps, bool stores)
{
	pid_t child = fork_with_timeout();
	char number[16];

	if (child)
		return child;
	snprintf(number, sizeof number, "%u", sweeps);
	execl("/proc/self/exe", "t-spill-share", name, number, stores ? "stores" : "", NULL);
	_exit(EXIT_FAILURE);
}

static bool succeeds(pid_t child)
{
	int status;

	return waitpid(child, &status, 0) == child && status == 0;
}

static void end(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void a_process_that_calculates_gives_memory(void)
{
	reel_pool *pool = open_sharing(true);
	reel_tape tape = open_tape(pool, 0);
	uint64_t n = values_in(pool, 80);
	pid_t child;

	tap_case("a tape that is not used");
	push_values(&tape, 1, 0, n);
	ok(resident_slabs(pool) >= 64, "a tape has most of the budget");
	child = start_sweeps(100000, true);
	ok(comes_below(pool, 50), "half of it leaves while another process needs memory");
	end(child);
	ok(pop_values(&tape, 1, 0, n) && !reel_tape_error(&tape), "its values come back");
	reel_tape_close(&tape);
	close_pool_at_rest(pool, "a tape that was not used");
}

static void idle_memory_goes_first(void)
{
	reel_pool *pool = open_sharing(true);
	struct reel_pool_stats stats;
	pid_t child;

	tap_case("idle memory");
	ok(sweep(pool, 1, 60) && resident_slabs(pool) >= 60, "a process has idle memory");
	stats = stats_of(pool);
	child = start_sweeps(100000, true);
	ok(comes_below(pool, 6), "it goes when another process needs memory");
	end(child);
	is_int(stats_of(pool).written_bytes, stats.written_bytes, "nothing is written for that");
	close_pool_at_rest(pool, "idle memory");
}

static void a_process_without_a_store_waits_for_memory(void)
{
	reel_pool *pool = open_sharing(true);
	reel_tape tape = open_tape(pool, 0);
	uint64_t n = values_in(pool, 80);

	tap_case("no store");
	push_values(&tape, 1, 0, n);
	ok(succeeds(start_sweeps(1, false)), "a push without a store waits until others give");
	ok(pop_values(&tape, 1, 0, n) && !reel_tape_error(&tape), "whose values come back");
	reel_tape_close(&tape);
	close_pool_at_rest(pool, "a process without a store");
}

/* Idle memory counts for the shared budget: the process has it already. */
static void threads_of_one_process_give_each_other_memory(void)
{
	reel_pool *pool = open_sharing(false);
	reel_parcel *parcel;
	void *data;

	tap_case("two threads");
	is_int(reel_parcel_open(&unused, pool, BUDGET / 4 * 3, NULL, &data), 0, "one has memory");
	is_int(reel_parcel_open(&parcel, pool, BUDGET / 2, NULL, &data), 0, "the other one waits");
	is_int(pauses, 0, "no longer than until the first gives it back");
	reel_parcel_close(parcel);
	close_pool_at_rest(pool, "two threads");
}

/* Such as a run in the default pool. Two frames of the child serve all of its parcels by turns. */
static void a_child_that_reads_waits_for_no_process(void)
{
	enum { PARCELS = 8 };
	reel_pool *parent = open_sharing(false), *child;
	reel_parcel *parcel[PARCELS], *large;
	reel_store *memory;
	unsigned wrong = 0;
	void *data;

	tap_case("a child pool");
	if (reel_store_memory_open(&memory, 1 << 24) ||
	    reel_pool_open_child(&child, parent, memory, SLAB, 0, NULL))
		abort();
	for (unsigned i = 0; i < PARCELS; i++) {
		wrong += reel_parcel_open_alone(&parcel[i], child, SLAB, &data) != 0;
		memset(data, (int)i, SLAB);
		reel_parcel_seal(parcel[i]);
	}
	reel_pool_settle(child);
	wrong += reel_parcel_open(&large, parent, BUDGET - 2 * SLAB, NULL, &data) != 0;
	reel_parcel_announce(parcel, PARCELS);
	naps = 0;
	watched = child;
	for (unsigned i = 0; i < PARCELS; i++) {
		const unsigned char *bytes;

		wrong += reel_parcel_pin(parcel[i], (const void **)&bytes) || bytes[0] != i ||
			 bytes[SLAB - 1] != i;
		reel_parcel_unpin(parcel[i]);
	}
	is_int(wrong, 0, "reads its parcels back while the budget is used up");
	is_int(naps, 0, "its offload thread does not wait for other processes");
	watched = NULL;
	for (unsigned i = 0; i < PARCELS; i++)
		reel_parcel_close(parcel[i]);
	reel_parcel_close(large);
	is_int(reel_pool_close_child(child, true), 0, "the child is closed");
	close_pool_at_rest(parent, "a parent");
}

/* ---- Ends ---- */

static void killed_processes_give_back(void)
{
	unsigned rounds = is_brief() ? 20 : 400, kept = 0, failed = 0;
	reel_pool *pool = open_sharing(true);

	tap_case("kills");
	for (unsigned round = 0; round < rounds; round++) {
		pid_t child = start_sweeps(100000, true);
		unsigned waits = 0;

		pass_ms(1 + (unsigned)(scramble(round) % 20));
		end(child);
		/* The offload thread of this process looks. */
		while (total_of(pool->share) != reel_share_claimed(pool->share) && waits++ < 2000)
			pass_ms(5);
		kept += total_of(pool->share) != reel_share_claimed(pool->share);
		failed += !sweep(pool, round, 100);
	}
	is_int(kept, 0, "what killed processes had comes back");
	is_int(failed, 0, "and the other process goes on");
	close_pool_at_rest(pool, "kills");
	ok(access(path, F_OK), "no file is left");
}

static void the_child_of_a_fork_joins(void)
{
	char text[64];
	pid_t child = fork_with_timeout();

	if (child == 0) {
		pid_t grandchild;

		snprintf(text, sizeof text, "shared:%s:32M", name);
		setenv("REEL_BUDGET", text, 1);
		setenv("REEL_STORE", "memory=64M", 1);
		ok(sweep(reel_pool_default(), 1, 40), "the default pool has a shared budget");
		grandchild = fork_with_timeout();
		if (grandchild == 0) {
			ok(sweep(reel_pool_default(), 2, 40) && reel_pool_default()->share,
			   "the default pool of its child joins");
			tap_child_end();
		}
		ok(tap_child_passed(grandchild), "with a share of its own");
		exit(sweep(reel_pool_default(), 3, 40) ? 0 : 1);
	}
	ok(succeeds(child), "a child of a fork joins by its own default pool");
	ok(access(path, F_OK), "no file is left");
}

int main(int count, char **arguments)
{
	if (count == 4) {
		memcpy(name, arguments[1], strlen(arguments[1]));
		be_other(strtoul(arguments[2], NULL, 10), *arguments[3]);
	}
	name_shared_budget();
	tap_begin();
	reel_set_error_handler(ignore_report, NULL);
	unlike_ranks_finish();
	a_process_that_calculates_gives_memory();
	idle_memory_goes_first();
	a_process_without_a_store_waits_for_memory();
	threads_of_one_process_give_each_other_memory();
	a_child_that_reads_waits_for_no_process();
	killed_processes_give_back();
	if (is_sanitized())
		tap_skip(2, "threads in the child of a fork");
	else
		the_child_of_a_fork_joins();
	return tap_end();
}
