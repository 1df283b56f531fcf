/* SPDX-License-Identifier: MIT */
/*
 * The driver pins the frames of a pool for as long as it has them, on the fake device, which sees
 * when memory goes back to the system while it is pinned. TEST_SEEDS=N runs N seeds of random
 * schedules; TEST_SEED=S runs them from the seed S on.
 */
#include <config.h>

#include <errno.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <reel/parcel.h>

#include "gpu/driver/frames.h"
#include "helpers/gpu-support.h"
#include "helpers/pool-support.h"
#include "spill/pool/child-pool.h"

enum { PARCELS = 12, STEPS = 120, SMALL = 100 };

static struct reel_gpu_stats pins_of(reel_pool *pool)
{
	struct reel_gpu_stats stats;

	reel_gpu_get_pool_stats(pool, &stats);
	return stats;
}

static reel_pool *open_pinned(struct reel_pool_options options)
{
	reel_pool *pool = open_pool(options);

	if (reel_gpu_pin_pool(pool, 0)) {
		printf("Bail out! cannot pin a pool: %s\n", reel_error_text(0));
		exit(EXIT_FAILURE);
	}
	return pool;
}

/* Slabs of a page, and one first slab in each. */
static struct reel_pool_options budget(unsigned slabs, reel_store *store)
{
	return (struct reel_pool_options){
		.slab_bytes = small_slab(),
		.first_slab_bytes = small_slab(),
		.hard_budget = slabs * small_slab(),
		.store = store,
	};
}

static void pause_us(long us)
{
	nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

/*
 * Returns true if exactly the resident frames are pinned. The offload thread may be moving some, so
 * the figures may differ for a while.
 */
static bool pins_are_resident(reel_pool *pool)
{
	for (unsigned i = 0; i < 20000; i++) {
		size_t resident = (size_t)stats_of(pool).resident_bytes;

		if (fake_device_registered_bytes() == resident &&
		    pins_of(pool).pinned_bytes == resident)
			return true;
		pause_us(100);
	}
	tap_note("%zu bytes are pinned, and %llu are resident", fake_device_registered_bytes(),
		 (unsigned long long)stats_of(pool).resident_bytes);
	return false;
}

/* ---- Places where a pool takes frames, and gives them back ---- */

static void *open_parcel(reel_parcel **parcel, reel_pool *pool, size_t bytes)
{
	void *data;

	if (reel_parcel_open(parcel, pool, bytes, NULL, &data)) {
		printf("Bail out! no parcel: %s\n", reel_error_text(0));
		exit(EXIT_FAILURE);
	}
	return data;
}

static void whole_and_large_frames_are_pinned(void)
{
	struct reel_pool_options options = small_options();
	reel_parcel *small, *large;
	reel_pool *pool;

	open_fake((struct fake_options){0});
	pool = open_pinned(options);
	is_int(fake_device_registered_bytes(), 0, "fake device: a pool without frames pins none");
	open_parcel(&small, pool, SMALL);
	ok(stats_of(pool).resident_bytes && pins_are_resident(pool),
	   "fake device: a frame is pinned");
	open_parcel(&large, pool, 5 * small_slab());
	ok(stats_of(pool).resident_bytes >= 6 * small_slab() && pins_are_resident(pool),
	   "fake device: and a large one");
	is_int(reel_gpu_pin_pool(pool, 0), 0, "fake device: the pool is pinned already");
	reel_parcel_close(small);
	reel_parcel_close(large);
	ok(pins_are_resident(pool), "fake device: idle frames stay pinned");
	reel_pool_trim(pool, 0);
	is_int(fake_device_registered_bytes(), 0, "fake device: frames that go back do not");
	open_parcel(&small, pool, SMALL);
	ok(stats_of(pool).resident_bytes && pins_are_resident(pool),
	   "fake device: a frame that comes again is pinned again");
	reel_parcel_close(small);
	is_int(pins_of(pool).refused_adoptions, 0, "fake device: none was refused");
	close_pool(pool, "frames");
	is_int(fake_device_registered_bytes(), 0, "fake device: a closed pool has no frame");
	close_fake_after("frames");
}

/* Memory of the program is none of the pool's frames. */
static void lent_memory_is_not_pinned(void)
{
	size_t bytes = 4 * small_slab();
	char *memory = aligned_alloc(small_slab(), bytes);
	reel_parcel *parcel;
	reel_pool *pool;

	open_fake((struct fake_options){0});
	pool = open_pinned(small_options());
	ok(!reel_parcel_lend(&parcel, pool, memory, bytes, NULL), "memory is lent");
	ok(stats_of(pool).resident_bytes >= bytes && fake_device_registered_bytes() == 0,
	   "fake device: it counts, and is not pinned");
	reel_parcel_close(parcel);
	ok(reel_parcel_take_back(pool) == memory, "and comes back");
	close_pool(pool, "lent memory");
	close_fake_after("lent memory");
	free(memory);
}

/* A pop is never refused, so the pool takes a frame beyond a budget that is all in use. */
static void overdrawn_frames_are_pinned(void)
{
	static const enum reel_slab_kind kinds[] = {REEL_SLAB_WHOLE, REEL_SLAB_LARGE};
	reel_pool *pool;

	open_fake((struct fake_options){0});
	pool = open_pinned(budget(8, before_memory(NULL)));
	for (size_t i = 0; i < COUNT(kinds); i++) {
		struct reel_slab *slab = reel_supply_take_frameless(pool);

		slab->kind = (uint8_t)kinds[i];
		slab->bytes = (i + 1) * small_slab();
		ok(reel_supply_overdraw(pool, slab) && pins_are_resident(pool),
		   "fake device: an overdrawn frame is pinned");
		reel_supply_give(pool, kinds[i], slab);
	}
	close_pool(pool, "overdrawn frames");
	close_fake_after("overdrawn frames");
}

/* The system refuses to take back locked memory. */
static void locked_frames_stay_pinned(void)
{
	reel_parcel *parcel;
	reel_pool *pool;
	void *data;

	open_fake((struct fake_options){0});
	pool = open_pinned(budget(8, NULL));
	data = open_parcel(&parcel, pool, small_slab() / 2);
	/* Sanitizers lock no memory, and say that they did. */
	if (is_sanitized() || mlock(data, SMALL)) {
		tap_skip(2, "no memory can be locked");
		reel_parcel_close(parcel);
	} else {
		reel_parcel_close(parcel);
		is_int(reel_pool_trim(pool, 0), 0, "locked memory does not go back");
		ok(stats_of(pool).resident_bytes && pins_are_resident(pool),
		   "fake device: it stays pinned");
		munlock(data, SMALL);
	}
	close_pool(pool, "locked frames");
	close_fake_after("locked frames");
}

/* ---- Pools that have frames already ---- */

static void frames_from_before_are_left_alone(void)
{
	reel_parcel *before, *idle, *after;
	reel_pool *pool;

	open_fake((struct fake_options){0});
	pool = open_pool(budget(64, NULL));
	open_parcel(&before, pool, 3 * small_slab());
	open_parcel(&idle, pool, small_slab() / 2);
	reel_parcel_close(idle);
	is_int(reel_gpu_pin_pool(pool, 0), 0, "fake device: a pool in use is pinned");
	is_int(stats_of(pool).resident_bytes, 3 * small_slab(), "it gave its idle frames back");
	is_int(fake_device_registered_bytes(), 0, "fake device: a frame in use is not pinned");
	open_parcel(&after, pool, small_slab() / 2);
	is_int(fake_device_registered_bytes(), small_slab(), "fake device: an idle one is, then");
	reel_parcel_close(before);
	reel_pool_trim(pool, 0);
	ok(pins_are_resident(pool), "fake device: frames that nobody pinned go back");
	open_parcel(&before, pool, 3 * small_slab());
	ok(pins_are_resident(pool), "fake device: they are pinned when they come again");
	reel_parcel_close(before);
	reel_parcel_close(after);
	close_pool(pool, "late pins");
	close_fake_after("late pins");
}

/* ---- Random schedules ---- */

struct schedule {
	reel_pool *pool;
	uint64_t random;
	reel_tape tape;
	uint64_t words; /* on the tape */
	struct {
		reel_parcel *parcel;
		uint64_t seed;
		bool pinned;
	} slot[PARCELS];
	unsigned wrong;
};

static uint64_t draw(struct schedule *s, uint64_t below)
{
	s->random = scramble(s->random + 1);
	return s->random % below;
}

static void end_parcel(struct schedule *s, unsigned n)
{
	if (s->slot[n].pinned)
		reel_parcel_unpin(s->slot[n].parcel);
	s->wrong += reel_parcel_close(s->slot[n].parcel) != 0;
	s->slot[n].parcel = NULL;
	s->slot[n].pinned = false;
}

/* A budget that is used up refuses. Sizes of bins, and of several slabs. */
static void begin_parcel(struct schedule *s, unsigned n)
{
	size_t bytes = 8 * (1 + draw(s, draw(s, 2) ? SMALL : small_slab() / 2));
	void *data;

	if (reel_parcel_open(&s->slot[n].parcel, s->pool, bytes, NULL, &data)) {
		s->slot[n].parcel = NULL;
		return;
	}
	s->slot[n].seed = draw(s, UINT32_MAX);
	fill(data, bytes, s->slot[n].seed);
	reel_parcel_seal(s->slot[n].parcel);
}

static void use_parcel(struct schedule *s, unsigned n)
{
	const void *data;

	if (s->slot[n].pinned) {
		reel_parcel_unpin(s->slot[n].parcel);
		s->slot[n].pinned = false;
	} else if (!reel_parcel_pin(s->slot[n].parcel, &data)) {
		s->slot[n].pinned = true;
		s->wrong += !is_filled(data, reel_parcel_bytes(s->slot[n].parcel),
				       s->slot[n].seed);
	}
}

static void move_tape(struct schedule *s)
{
	uint64_t words = draw(s, small_slab() / 2);

	if (draw(s, 2) && s->words < 4 * small_slab()) {
		push_words(&s->tape, s->words, s->words + words);
		s->words += words;
	} else if (s->words) {
		words = words < s->words ? words : s->words;
		s->wrong += wrong_words(&s->tape, s->words - words, s->words);
		s->words -= words;
	}
	/* The rest of a tape that was refused a push is dropped. */
	if (reel_tape_error(&s->tape)) {
		reel_tape_close(&s->tape);
		s->tape = open_tape(s->pool, 0);
		s->words = 0;
	}
}

static void step(struct schedule *s)
{
	unsigned n = (unsigned)draw(s, PARCELS);

	switch (draw(s, 8)) {
	case 0:
		reel_pool_trim(s->pool, draw(s, 2) ? 0 : draw(s, 16 * small_slab()));
		break;
	case 1:
	case 2:
	case 3:
		move_tape(s);
		break;
	default:
		if (!s->slot[n].parcel)
			begin_parcel(s, n);
		else if (draw(s, 3))
			use_parcel(s, n);
		else
			end_parcel(s, n);
	}
}

static void begin_schedule(struct schedule *s, reel_pool *pool, uint64_t seed)
{
	*s = (struct schedule){.pool = pool, .random = scramble(seed)};
	s->tape = open_tape(pool, 0);
}

static void end_schedule(struct schedule *s)
{
	for (unsigned n = 0; n < PARCELS; n++)
		if (s->slot[n].parcel)
			end_parcel(s, n);
	reel_tape_close(&s->tape);
}

enum store { NO_STORE, MEMORY, GPU, BOTH, STORES };

static reel_store *open_store(enum store which)
{
	size_t slot = small_slab();
	reel_store *leaf = NULL;

	if (which == NO_STORE)
		return NULL;
	if (which != MEMORY && !gpu_store(32 * slot, slot, 2, &leaf))
		abort();
	return before_memory(which == MEMORY ? NULL : leaf);
}

/* With a GPU's store the pool and the store pin the same frames. */
static void one_seed(uint64_t seed, struct schedule *total)
{
	struct schedule s;
	reel_pool *pool;
	bool exact = true;

	open_fake((struct fake_options){.seed = seed, .late = seed % 3 == 1});
	pool = open_pinned(budget(10 + (unsigned)(seed % 20), open_store(seed % STORES)));
	begin_schedule(&s, pool, seed);
	for (unsigned n = 0; n < STEPS && exact; n++) {
		step(&s);
		exact = pins_are_resident(pool);
	}
	end_schedule(&s);
	total->wrong += s.wrong + !exact + !pins_are_resident(pool);
	total->wrong += pins_of(pool).refused_adoptions != 0;
	total->wrong += reel_pool_close(pool) != 0;
	total->wrong += fake_device_registered_bytes() != 0;
	total->wrong += fake_device_wrongs() + (fake_device_pageable_bytes() != 0);
	total->wrong += !close_fake();
	if (total->wrong)
		tap_note("seed %llu", (unsigned long long)seed);
}

static void exactly_the_resident_frames_are_pinned(void)
{
	uint64_t first = number_from_environment("TEST_SEED", 0);
	uint64_t seeds = number_from_environment("TEST_SEEDS", is_brief() ? 100 : 1000);
	struct schedule total = {0};

	for (uint64_t seed = first; seed < first + seeds && !total.wrong; seed++)
		one_seed(seed, &total);
	is_int(total.wrong, 0, "fake device: %llu random schedules, after each step",
	       (unsigned long long)seeds);
}

/* Returns true if the pinned bytes are those that are resident in two pools. */
static bool pins_of_two_are_resident(const struct schedule two[2])
{
	size_t resident = 0;

	for (unsigned i = 0; i < 2; i++) {
		size_t of_pool = (size_t)stats_of(two[i].pool).resident_bytes;

		if (pins_of(two[i].pool).pinned_bytes != of_pool)
			return false;
		resident += of_pool;
	}
	return fake_device_registered_bytes() == resident;
}

/* Each pool gives idle memory back while the other one is short. */
static void pools_share_a_budget(void)
{
	struct reel_pool_options options = budget(48, NULL);
	struct schedule two[2];
	bool exact = true;
	reel_pool *pool;

	snprintf(options.shared_budget, sizeof options.shared_budget, "p%ld", (long)getpid());
	if (is_emulated() || reel_pool_open(&pool, &options)) {
		tap_skip(1, "processes share no budget here");
		return;
	}
	close_pool(pool, "a shared budget");
	open_fake((struct fake_options){0});
	for (unsigned i = 0; i < 2; i++)
		begin_schedule(&two[i], open_pinned(options), i);
	for (unsigned n = 0; n < 4 * STEPS && exact; n++) {
		step(&two[n % 2]);
		exact = pins_of_two_are_resident(two);
	}
	for (unsigned i = 0; i < 2; i++) {
		end_schedule(&two[i]);
		exact = exact && !two[i].wrong && !reel_pool_close(two[i].pool);
	}
	ok(exact, "fake device: two pools share a budget");
	close_fake_after("a shared budget");
}

/* ---- Threads ---- */

static reel_pool *shared_pool;
static _Atomic unsigned wrong_of_threads;

static void *run_schedule(void *number)
{
	uint64_t seed = *(unsigned *)number;
	struct schedule s;

	wrong_of_threads += reel_gpu_pin_pool(shared_pool, 0) != 0;
	begin_schedule(&s, shared_pool, 1000 + seed);
	for (unsigned n = 0; n < STEPS; n++)
		step(&s);
	end_schedule(&s);
	return NULL;
}

static void threads_share_a_pool(void)
{
	for (enum store store = 0; store < STORES; store++) {
		open_fake((struct fake_options){.seed = store});
		shared_pool = open_pool(budget(40, open_store(store)));
		run_threads(2, run_schedule);
		/* Frames from before the first call are not pinned. */
		reel_pool_trim(shared_pool, 0);
		ok(!wrong_of_threads && pins_are_resident(shared_pool),
		   "fake device: two threads pin a pool, and use it");
		close_pool(shared_pool, "two threads");
		close_fake_after("two threads");
	}
}

static struct reel_driver slow_driver;
static const struct reel_driver *fast_driver;

/* While a thread retains the context, another thread pins the pool. */
static reel_cu_result retain_late(reel_cu_context *context, reel_cu_device device)
{
	reel_driver_replace(fast_driver);
	wrong_of_threads += reel_gpu_pin_pool(shared_pool, 0) != 0;
	return fast_driver->cuDevicePrimaryCtxRetain(context, device);
}

static void one_thread_pins_a_pool(void)
{
	reel_parcel *parcel;

	open_fake((struct fake_options){0});
	fast_driver = reel_driver_get(NULL);
	slow_driver = *fast_driver;
	slow_driver.cuDevicePrimaryCtxRetain = retain_late;
	reel_driver_replace(&slow_driver);
	shared_pool = open_pool(small_options());
	is_int(reel_gpu_pin_pool(shared_pool, 0), 0, "fake device: two threads pin a pool");
	open_parcel(&parcel, shared_pool, SMALL);
	ok(!wrong_of_threads && pins_are_resident(shared_pool),
	   "fake device: one of two threads is first");
	reel_parcel_close(parcel);
	close_pool(shared_pool, "a thread that was second");
	close_fake_after("a thread that was second");
}

/* ---- Refusals ---- */

static void what_cannot_be_pinned_is_said(void)
{
	size_t limit = 4 * small_slab();
	reel_parcel *large, *other, *small;
	reel_pool *pool;

	open_fake((struct fake_options){.pinned_bytes = limit});
	pool = open_pinned(small_options());
	open_parcel(&large, pool, 2 * limit);
	is_int(pins_of(pool).pinned_bytes, 0, "fake device: a frame cannot be pinned");
	open_parcel(&other, pool, 2 * limit);
	is_int(pins_of(pool).refused_adoptions, 1, "the driver is asked once");
	ok(strstr(pins_of(pool).problem, "CUDA_ERROR_OUT_OF_MEMORY"), "the reason is kept: %s",
	   pins_of(pool).problem);
	open_parcel(&small, pool, limit);
	is_int(pins_of(pool).pinned_bytes, limit, "fake device: a smaller frame is pinned");
	reel_parcel_close(small);
	reel_parcel_close(other);
	reel_pool_trim(pool, 0);
	open_parcel(&other, pool, 2 * limit);
	is_int(pins_of(pool).refused_adoptions, 2, "after a frame went back it is asked again");
	reel_parcel_close(other);
	reel_parcel_close(large);
	close_pool(pool, "a limit of pinned memory");
	close_fake_after("a limit of pinned memory");
}

static void errors_have_words(void)
{
	struct reel_pool_options odd = {.slab_bytes = 512, .first_slab_bytes = 256};
	reel_pool *pool = open_pool(small_options());

	open_fake((struct fake_options){.absent = true});
	is_int(reel_gpu_pin_pool(pool, 0), -ENODEV, "fake device: no device is there");
	ok(strstr(reel_error_text(-ENODEV), "no GPU"), "%s", reel_error_text(-ENODEV));
	close_fake();
	open_fake((struct fake_options){0});
	is_int(reel_gpu_pin_pool(pool, 1), -ENODEV, "fake device: there is no second one");
	is_int(pins_of(pool).pinned_bytes, 0, "a pool without pins has no figures");
	close_pool(pool, "errors");
	pool = open_pool(odd);
	is_int(reel_gpu_pin_pool(pool, 0), -EINVAL, "slabs of less than a page are refused");
	ok(strstr(reel_error_text(-EINVAL), "512"), "%s", reel_error_text(-EINVAL));
	close_pool(pool, "slabs of less than a page");
	close_fake_after("errors");
}

/* Counts what is wrong in a schedule while the call with this number fails. */
static unsigned run_with_failure(uint64_t number, struct reel_gpu_stats *pins)
{
	struct schedule s;
	reel_pool *pool;
	const char *name;
	unsigned wrong;

	open_fake((struct fake_options){0});
	fake_device_fail_call(number, REEL_CU_UNKNOWN, false);
	pool = open_pool(budget(12, open_store(MEMORY)));
	reel_gpu_pin_pool(pool, 0);
	begin_schedule(&s, pool, 5);
	for (unsigned i = 0; i < STEPS / 4; i++)
		step(&s);
	end_schedule(&s);
	*pins = pins_of(pool);
	wrong = s.wrong + (reel_pool_close(pool) != 0) + fake_device_wrongs();
	name = fake_device_call_name(number);
	/* A call that would have unpinned memory, or released the context, leaves it. */
	if (!close_fake() && strcmp(name, "cuMemHostUnregister") &&
	    strcmp(name, "cuCtxPushCurrent") && strcmp(name, "cuDevicePrimaryCtxRelease"))
		wrong++;
	return wrong;
}

/* Each of the first calls of the driver fails once. The first ones find the device. */
static void each_call_fails(void)
{
	uint64_t stride = is_brief() ? 5 : 1;
	unsigned wrong = 0, unpinned = 0;
	struct reel_gpu_stats pins;

	for (uint64_t n = 0; n < 100; n += stride) {
		wrong += run_with_failure(n, &pins);
		unpinned += pins.refused_adoptions > 0 && pins.pinned_bytes > 0;
	}
	is_int(wrong, 0, "fake device: values are right whichever call fails");
	ok(unpinned > 0, "%u pools have a frame that is not pinned", unpinned);
}

/* ---- Forks ---- */

/* The fake device ends a child that calls the driver. */
static void a_child_leaves_the_driver_alone(void)
{
	reel_parcel *parcel, *other;
	reel_pool *pool;
	pid_t child;

	open_fake((struct fake_options){0});
	pool = open_pinned(small_options());
	open_parcel(&parcel, pool, 3 * small_slab());
	child = fork_with_timeout();
	if (child == 0) {
		open_parcel(&other, pool, 7 * small_slab());
		reel_parcel_close(parcel);
		reel_parcel_close(other);
		reel_pool_trim(pool, 0);
		is_int(reel_gpu_pin_pool(pool, 0), -ENODEV, "a child has no GPU");
		is_int(pins_of(pool).pinned_bytes, 0, "and no figures");
		close_pool(pool, "a fork");
		tap_child_end();
	}
	ok(tap_child_passed(child), "fake device: the child of a fork goes on without it");
	ok(pins_are_resident(pool), "fake device: the parent's frames stay pinned");
	reel_parcel_close(parcel);
	close_pool(pool, "a fork");
	close_fake_after("a fork");
}

/* The default pool stays open until the process ends. */
static void pin_the_default_pool(void)
{
	reel_parcel *parcel;

	open_fake((struct fake_options){0});
	is_int(reel_gpu_pin_pool(NULL, 0), 0, "fake device: the default pool is pinned");
	open_parcel(&parcel, NULL, 8 << 20);
	is_int(pins_of(NULL).pinned_bytes, 8 << 20, "fake device: its frames are");
	reel_parcel_close(parcel);
}

/* ---- Pools with a parent ---- */

/* A child that pins the frames that it borrows shares the pins of its parent. */
static void a_child_pool_shares_the_pins(void)
{
	struct reel_frame_listener *listener;
	size_t bytes = 2 * small_slab();
	reel_parcel *parcel;
	reel_pool *parent, *child;
	void *data;

	open_fake((struct fake_options){0});
	parent = open_pinned(budget(16, NULL));
	if (reel_frames_open(&listener, 0) ||
	    reel_pool_open_child(&child, parent, before_memory(NULL), bytes, 1, listener))
		abort();
	ok(!reel_parcel_open_alone(&parcel, child, bytes, &data) && pins_are_resident(parent),
	   "fake device: a frame that a pool borrows is pinned once");
	is_int(pins_of(child).pinned_bytes, bytes, "by both pools");
	is_int(pins_of(child).refused_adoptions, 0, "and refused to neither");
	reel_parcel_close(parcel);
	reel_pool_close_child(child, true);
	ok(stats_of(parent).resident_bytes == bytes && pins_are_resident(parent),
	   "fake device: it stays pinned for the parent");
	close_pool(parent, "a child pool");
	close_fake_after("a child pool");
}

int main(void)
{
	tap_begin();
	reel_set_error_handler(ignore_report, NULL);
	whole_and_large_frames_are_pinned();
	lent_memory_is_not_pinned();
	overdrawn_frames_are_pinned();
	locked_frames_stay_pinned();
	frames_from_before_are_left_alone();
	exactly_the_resident_frames_are_pinned();
	pools_share_a_budget();
	threads_share_a_pool();
	one_thread_pins_a_pool();
	what_cannot_be_pinned_is_said();
	errors_have_words();
	each_call_fails();
	a_child_leaves_the_driver_alone();
	in_child(pin_the_default_pool, "the default pool");
	a_child_pool_shares_the_pins();
	return tap_end();
}
