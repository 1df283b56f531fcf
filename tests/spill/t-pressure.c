/* SPDX-License-Identifier: MIT */
/*
 * Tests memory pressure, which a fake trigger reports: the soft budget is lowered and restored,
 * idle and stored slabs leave memory, and no value changes.
 */
#include <config.h>

#include <sys/wait.h>
#include <time.h>

#include "helpers/file-support.h"
#include "helpers/late-store.h"
#include "helpers/pool-support.h"
#include "helpers/pretended-trigger.h"

#define HARD 64
#define OPENED 48 /* soft budget, in slabs */
#define LOWEST (OPENED / 4)
#define SLABS 32 /* of a tape that is within the soft budget */

/* ---- The trigger ---- */

static bool is_absent;
static unsigned opened;

void __wrap_reel_memory_pressure_open(struct reel_memory_pressure *pressure, const char *root);

void __wrap_reel_memory_pressure_open(struct reel_memory_pressure *pressure, const char *root)
{
	(void)root;
	opened++;
	*pressure = (struct reel_memory_pressure){.file = -1};
	if (!is_absent)
		open_trigger(pressure);
}

static reel_pool *open_under(unsigned flags, struct late_store **late)
{
	*late = late_open(7);
	return open_pool((struct reel_pool_options){
		.slab_bytes = small_slab(),
		.first_slab_bytes = small_slab() / FIRST_SLABS,
		.hard_budget = HARD * small_slab(),
		.soft_budget = OPENED * small_slab(),
		.flags = flags,
		.store = &(*late)->store,
	});
}

static void close_under(reel_pool *pool, struct late_store *late, const char *after)
{
	close_pool_at_rest(pool, after);
	is_int(late->wrongs, 0, "the store was given nothing wrong by %s", after);
	free(late);
	if (pretended.test >= 0)
		remove_trigger();
}

/* ---- Waits. The harness ends a test that waits for ever ---- */

static uint64_t soft_slabs(reel_pool *pool)
{
	return stats_of(pool).soft_budget / small_slab();
}

static uint64_t resident_slabs(reel_pool *pool)
{
	return stats_of(pool).resident_bytes / small_slab();
}

static uint64_t events(reel_pool *pool)
{
	return stats_of(pool).pressure_events;
}

static bool comes_to(reel_pool *pool, uint64_t (*number)(reel_pool *), uint64_t low, uint64_t high)
{
	const struct timespec pause = {.tv_nsec = 10000000};

	for (unsigned looks = 0; looks < 6000; looks++) {
		uint64_t now = number(pool);

		if (now >= low && now <= high)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

/* ---- The pressure ---- */

static void memory_is_given_back_while_it_lasts(void)
{
	unsigned before = open_descriptors();
	struct late_store *late;
	reel_pool *pool = open_under(REEL_POOL_OBEY_LIMITS, &late);
	uint64_t n = values_in(pool, SLABS);
	reel_tape tape = open_tape(pool, 0);
	struct reel_pool_stats stats;

	tap_case("a tape below the soft budget");
	push_values(&tape, 1, 0, n);
	reel_offload_settle(reel_offload_of(pool));
	stats = stats_of(pool);
	ok(stats.soft_budget == OPENED * small_slab() && !stats.written_bytes &&
	   !stats.pressure_events && resident_slabs(pool) >= SLABS,
	   "without pressure all of it stays in memory");
	raise_trigger();
	ok(comes_to(pool, soft_slabs, 0, LOWEST), "pressure lowers the soft budget");
	ok(comes_to(pool, resident_slabs, 0, LOWEST + 2),
	   "and no more than that and the slabs on top stays in memory");
	/* More events than the halvings from OPENED to LOWEST. */
	ok(comes_to(pool, events, 4, UINT64_MAX), "the events are counted");
	stats = stats_of(pool);
	is_int((long long)(stats.soft_budget / small_slab()), LOWEST,
	       "the soft budget has a lower limit");
	ok(stats.written_bytes > 0 && stats.trimmed_bytes >= (SLABS - LOWEST - 2) * small_slab(),
	   "the store has the rest, and the system its memory");
	ok(pop_values(&tape, 1, n / 2, n - n / 2), "values come back while it lasts");
	reel_offload_settle(reel_offload_of(pool));
	ok(resident_slabs(pool) <= LOWEST + 2, "and no more is read ahead than memory is for");
	push_values(&tape, 2, n / 2, n);
	lower_trigger();
	ok(comes_to(pool, soft_slabs, OPENED, OPENED), "after it the soft budget is as it was");
	stats = stats_of(pool);
	ok(pop_values(&tape, 2, n / 2, n) && pop_values(&tape, 1, 0, n / 2),
	   "and values come back");
	is_int((long long)stats_of(pool).pressure_events, (long long)stats.pressure_events,
	       "no event is counted without pressure");
	reel_tape_close(&tape);
	close_under(pool, late, "pressure");
	is_int(open_descriptors(), before, "no descriptor is left");
}

static void idle_frames_are_trimmed(void)
{
	struct late_store *late;
	reel_pool *pool = open_under(REEL_POOL_OBEY_LIMITS, &late);
	reel_tape tape = open_tape(pool, 0);

	tap_case("idle frames");
	push_values(&tape, 1, 0, values_in(pool, LOWEST / 2));
	ok(pop_values(&tape, 1, 0, values_in(pool, LOWEST / 2)), "a tape comes back");
	reel_tape_close(&tape);
	ok(resident_slabs(pool) >= LOWEST / 2, "and its slabs are idle");
	raise_trigger();
	ok(comes_to(pool, resident_slabs, 0, 1), "pressure gives all back but first slabs");
	close_under(pool, late, "idle frames");
}

static void a_removed_group_restores_the_budget(void)
{
	unsigned before = open_descriptors();
	struct late_store *late;
	reel_pool *pool = open_under(REEL_POOL_OBEY_LIMITS, &late);

	tap_case("a control group that is removed");
	raise_trigger();
	ok(comes_to(pool, soft_slabs, 0, LOWEST), "pressure lowers the soft budget");
	remove_trigger();
	ok(comes_to(pool, soft_slabs, OPENED, OPENED), "the soft budget is as it was");
	reel_offload_settle(reel_offload_of(pool));
	is_int(open_descriptors(), before, "and the trigger is closed");
	close_under(pool, late, "a group that is removed");
}

/* ---- Threads and processes ---- */

#define THREADS 3

static reel_pool *shared;
static _Atomic unsigned wrong;

static void *go_up_and_down(void *argument)
{
	unsigned thread = *(unsigned *)argument;
	uint64_t n = values_in(shared, SLABS);
	reel_tape tape = open_tape(shared, 0);

	for (unsigned round = 0; round < 8; round++) {
		push_values(&tape, thread, 0, n);
		if (thread == 0 && round % 2 == 0)
			raise_trigger();
		wrong += !pop_values(&tape, thread, 0, n);
		if (thread == 0 && round % 2 == 1)
			lower_trigger();
	}
	wrong += reel_tape_error(&tape) != 0;
	reel_tape_close(&tape);
	return NULL;
}

static void threads_go_on_under_pressure(void)
{
	struct late_store *late;

	tap_case("threads");
	shared = open_under(REEL_POOL_OBEY_LIMITS, &late);
	raise_trigger();
	ok(comes_to(shared, soft_slabs, 0, LOWEST), "pressure lowers the soft budget");
	run_threads(THREADS, go_up_and_down);
	is_int(wrong, 0, "all values come back");
	close_under(shared, late, "threads");
}

static void in_the_child(reel_pool *pool, unsigned before)
{
	is_int(open_descriptors(), before - 1, "the child has no trigger");
	is_int((long long)soft_slabs(pool), OPENED, "and the soft budget of the pool");
	tap_child_end();
}

static void the_child_of_a_fork_has_no_trigger(void)
{
	struct late_store *late;
	reel_pool *pool = open_under(REEL_POOL_OBEY_LIMITS, &late);
	unsigned before = open_descriptors();
	pid_t child;

	tap_case("fork");
	raise_trigger();
	ok(comes_to(pool, soft_slabs, 0, LOWEST), "pressure lowers the soft budget");
	child = fork_with_timeout();
	if (child == 0)
		in_the_child(pool, before);
	ok(tap_child_passed(child), "the child has none");
	is_int((long long)soft_slabs(pool), LOWEST, "the parent's soft budget stays lowered");
	lower_trigger();
	ok(comes_to(pool, soft_slabs, OPENED, OPENED), "until the pressure has ended");
	close_under(pool, late, "a fork");
}

/* ---- No trigger ---- */

static void push_and_pop(reel_pool *pool)
{
	uint64_t n = values_in(pool, SLABS);
	reel_tape tape = open_tape(pool, 0);

	push_values(&tape, 1, 0, n);
	ok(pop_values(&tape, 1, 0, n), "a tape comes back");
	reel_tape_close(&tape);
	is_int((long long)stats_of(pool).pressure_events, 0, "there is no event");
}

static void pools_without_the_flag_or_a_store_have_no_trigger(void)
{
	unsigned before = opened;
	struct late_store *late;
	reel_pool *pool = open_under(0, &late);

	tap_case("no trigger");
	push_and_pop(pool);
	close_under(pool, late, "a tape without the flag");
	pool = open_pool((struct reel_pool_options){.flags = REEL_POOL_OBEY_LIMITS});
	push_and_pop(pool);
	close_pool(pool, "a tape without a store");
	is_int(opened, before, "no trigger was opened");
}

static void a_kernel_without_pressure_is_no_error(void)
{
	struct late_store *late;
	reel_pool *pool;

	tap_case("no pressure in the kernel");
	is_absent = true;
	record_reports();
	pool = open_under(REEL_POOL_OBEY_LIMITS, &late);
	push_and_pop(pool);
	is_int(reported.calls, 0, "nothing is reported");
	close_under(pool, late, "a kernel without pressure");
	is_absent = false;
}

static void the_default_pool_with_a_store_obeys(void)
{
	unsigned before = opened;
	pid_t child;

	tap_case("the default pool");
	child = fork_with_timeout();
	if (child == 0) {
		setenv("REEL_STORE", "memory=8M", 1);
		setenv("REEL_BUDGET", "16M", 1);
		ok(reel_pool_default() && opened == before + 1, "it opens a trigger");
		tap_child_end();
	}
	ok(tap_child_passed(child), "it obeys the pressure");
}

int main(void)
{
	struct reel_memory_pressure pressure;

	if (!open_trigger(&pressure))
		tap_skip_all("sockets have no data out of band here");
	reel_memory_pressure_close(&pressure);
	remove_trigger();
	tap_begin();
	memory_is_given_back_while_it_lasts();
	idle_frames_are_trimmed();
	a_removed_group_restores_the_budget();
	threads_go_on_under_pressure();
	the_child_of_a_fork_has_no_trigger();
	pools_without_the_flag_or_a_store_have_no_trigger();
	a_kernel_without_pressure_is_no_error();
	the_default_pool_with_a_store_obeys();
	return tap_end();
}
