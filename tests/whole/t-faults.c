/* SPDX-License-Identifier: MIT */
/* Refuses each request for memory in turn, by the hooks of helpers/refusals.h. */
#include <config.h>

#include <errno.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <reel/plan.h>

#include "helpers/pool-support.h"
#include "helpers/refusals.h"

static reel_pool *shared_pool;

static _Atomic unsigned errors_told;
static _Atomic bool wrong;

static void note_error(const reel_tape *tape, int error, const char *message, void *context)
{
	(void)tape;
	(void)context;
	errors_told++;
	if (error != -ENOMEM || !message)
		wrong = true;
}

static void expect(bool condition)
{
	if (!condition)
		wrong = true;
}

/* Pushes n values. Returns the number of values taken before the first refusal. */
static uint64_t push_some(reel_tape *tape, uint64_t seed, uint64_t n)
{
	uint64_t taken = 0;

	for (uint64_t i = 0; i < n; i++) {
		reel_push(tape, value_at(seed, i));
		taken += !reel_tape_error(tape);
	}
	return taken;
}

static void pop_some(reel_tape *tape, uint64_t seed, uint64_t n, uint64_t taken)
{
	for (uint64_t i = n; i-- > taken;)
		expect(reel_pop(tape, uint64_t) == UINT64_MAX);
	expect(pop_values(tape, seed, 0, taken));
}

static bool push_giant(reel_tape *tape, size_t n)
{
	uint64_t *span = reel_push_span(tape, uint64_t, n);

	expect(!span == !!reel_tape_error(tape));
	for (size_t i = 0; span && i < n; i++)
		span[i] = value_at(3, i);
	return span;
}

static void pop_giant(reel_tape *tape, size_t n, bool taken)
{
	const uint64_t *span = reel_pop_span(tape, uint64_t, n);

	expect(!span == !taken);
	for (size_t i = 0; span && i < n; i++)
		expect(span[i] == value_at(3, i));
}

/* Pops the topmost values; if a hold can be had, pops them again, with a push in between. */
static void pop_twice(reel_tape *tape, uint64_t seed, uint64_t n, uint64_t taken)
{
	bool held = reel_tape_hold(tape) == 0;
	bool pushed;

	pop_some(tape, seed, n, taken);
	if (!held)
		return;
	reel_push(tape, (uint64_t)5);
	pushed = !reel_tape_error(tape);
	expect(reel_pop(tape, uint64_t) == (pushed ? 5 : UINT64_MAX));
	expect(reel_tape_replay(tape) == 0);
	pop_some(tape, seed, n, taken);
	expect(reel_tape_release(tape) == 0);
}

#define ARRAY 3000

static void use_tape(reel_pool *pool, unsigned flags)
{
	static const uint64_t array[ARRAY] = {1, 2, 3};
	size_t n = (size_t)values_in(pool, 2);
	uint64_t some, more;
	uint64_t copy[ARRAY];
	reel_tape tape;
	bool large, whole;

	expect(reel_tape_open(&tape, pool, flags) == 0);
	some = push_some(&tape, 1, n);
	large = push_giant(&tape, n);
	reel_push_array(&tape, array, ARRAY);
	whole = !reel_tape_error(&tape);
	more = push_some(&tape, 2, n);
	pop_twice(&tape, 2, n, more);
	reel_pop_array(&tape, copy, ARRAY);
	expect(copy[2] == (whole ? array[2] : UINT64_MAX));
	pop_giant(&tape, n, large);
	pop_some(&tape, 1, n, some);
	expect(reel_tape_is_empty(&tape));
	reel_tape_close(&tape);
}

/* A tape that cannot be frozen keeps its values. A reader that cannot be opened may be closed. */
static void use_recording(reel_pool *pool, unsigned flags)
{
	size_t n = (size_t)values_in(pool, 2);
	reel_recording *recording;
	reel_tape tape, reader;
	uint64_t taken;
	int error;

	expect(reel_tape_open(&tape, pool, flags) == 0);
	taken = push_some(&tape, 4, n);
	if (reel_tape_freeze(&tape, &recording)) {
		pop_some(&tape, 4, n, taken);
		reel_tape_close(&tape);
		return;
	}
	error = reel_reader_open(&reader, recording);
	expect(!error || error == -ENOMEM);
	if (!error)
		pop_twice(&reader, 4, n, n);
	reel_tape_close(&reader);
	reel_recording_close(recording);
}

static void *use_shared_pool(void *unused)
{
	(void)unused;
	use_tape(shared_pool, 0);
	return NULL;
}

/* Returns whether a pool could be opened. */
static bool use_everything(void)
{
	struct reel_pool_options options = small_options();
	int error = reel_pool_open(&shared_pool, &options);

	expect(!error || error == -ENOMEM);
	if (error)
		return false;
	refusal.key = &shared_pool->cache_key;
	use_tape(shared_pool, REEL_CHECKED);
	reel_pool_trim(shared_pool, 0);
	use_tape(shared_pool, 0);
	use_recording(shared_pool, REEL_CHECKED);
	use_recording(shared_pool, 0);
	run_threads(2, use_shared_pool);
	stop_refusing();
	expect(count_caches(shared_pool, true) <= 1);
	expect(pool_is_whole(shared_pool));
	refusal.key = NULL;
	expect(reel_pool_close(shared_pool) == 0);
	shared_pool = NULL;
	return true;
}

static void arm(unsigned first, bool all_that_follow)
{
	refuse(REFUSE_MEMORY | REFUSE_MAPPING | REFUSE_ADVICE | REFUSE_KEY, first, all_that_follow);
	errors_told = 0;
}

/* Refuses request 1, 2, ... until a run makes fewer requests. Returns the number of requests. */
static unsigned refuse_each(bool all_that_follow)
{
	for (unsigned k = 1;; k++) {
		size_t before = refusal.mapped;

		arm(k, all_that_follow);
		use_everything();
		expect(refusal.mapped == before);
		if (!refusal.refused)
			return k - 1;
		arm(0, false);
		expect(use_everything() && !errors_told && refusal.mapped == before);
	}
}

static void memory_runs_out_anywhere(bool all_that_follow, const char *what)
{
	unsigned faults;

	wrong = false;
	faults = refuse_each(all_that_follow);
	ok(faults > 10, "%s: %u places", what, faults);
	ok(!wrong, "values pushed before are kept, the error is reported, nothing leaks, "
		   "and the next run succeeds");
}

#define THREADS 8

static pthread_barrier_t start;

static void *take_the_first_slab(void *unused)
{
	struct reel_slab *slab;

	(void)unused;
	pthread_barrier_wait(&start);
	expect(reel_pool_take(shared_pool, REEL_SLAB_WHOLE, 0, &slab) == 0);
	reel_pool_give(shared_pool, slab);
	return NULL;
}

/* Each thread that finds no arena maps one. All but the first thread must unmap theirs. */
static void threads_need_the_first_arena_at_once(void)
{
	size_t before = refusal.mapped;

	arm(0, false);
	pthread_barrier_init(&start, NULL, THREADS);
	for (int i = 0; i < 100; i++) {
		shared_pool = open_pool(small_options());
		run_threads(THREADS, take_the_first_slab);
		reel_pool_close(shared_pool);
	}
	shared_pool = NULL;
	is_int(refusal.mapped, before, "arenas that are mapped in vain are unmapped");
	pthread_barrier_destroy(&start);
}

static _Atomic bool may_take, has_taken, may_give, has_given;
static int written;

/* Relaxed: nothing but the pool may order the threads. */
static void await(_Atomic bool *event)
{
	while (!atomic_load_explicit(event, memory_order_relaxed))
		sched_yield();
}

static void allow(_Atomic bool *event)
{
	atomic_store_explicit(event, true, memory_order_relaxed);
}

static void *write_between_take_and_give(void *unused)
{
	struct reel_slab *slab;

	(void)unused;
	await(&may_take);
	expect(reel_pool_take(shared_pool, REEL_SLAB_WHOLE, 0, &slab) == 0);
	allow(&has_taken);
	await(&may_give);
	written = 1;
	reel_pool_give(shared_pool, slab);
	allow(&has_given);
	return NULL;
}

static void let_the_other_take(void)
{
	allow(&may_take);
	await(&has_taken);
}

/* With yield points, the other thread takes a slab between the counts of gives and of takes. */
static bool takes_while_it_is_counted;

#if REEL_YIELD_POINTS
bool reel_yield_hook(const char *function, int line);

bool reel_yield_hook(const char *function, int line)
{
	(void)line;
	if (!takes_while_it_is_counted || strcmp(function, "count_gives") != 0)
		return false;
	let_the_other_take();
	return true;
}
#endif

/* Without this order a give may be counted before its take. ThreadSanitizer checks the order. */
static void who_sees_a_give_sees_what_was_before_it(bool cached)
{
	pthread_t thread;

	may_take = has_taken = may_give = has_given = false;
	written = 0;
	shared_pool = open_pool(small_options());
	refusal.key = &shared_pool->cache_key;
	refuse(REFUSE_KEY, !cached, true);
	pthread_create(&thread, NULL, write_between_take_and_give, NULL);
	if (takes_while_it_is_counted)
		stats_of(shared_pool);
	let_the_other_take();
	is_int(stats_of(shared_pool).slabs_in_use, 1, "a slab is in use that another thread took");
	allow(&may_give);
	await(&has_given);
	/* The give may become visible here with a delay. */
	for (unsigned i = 0; i < 100000 && stats_of(shared_pool).slabs_in_use; i++)
		sched_yield();
	ok(!slabs_in_use(shared_pool) && written,
	   "a thread that sees a give sees all writes before it, by a thread %s magazines",
	   cached ? "with" : "without");
	pthread_join(thread, NULL);
	refusal.key = NULL;
	reel_pool_close(shared_pool);
	shared_pool = NULL;
}

static void a_thread_comes_while_takes_are_counted(void)
{
	takes_while_it_is_counted = true;
	who_sees_a_give_sees_what_was_before_it(true);
	takes_while_it_is_counted = false;
}

/* The all-zero tape has no pool yet; its first slab needs the default pool. */
static void the_default_pool_is_wanting(void)
{
	reel_tape tape = {0};
	uint64_t n = 100, taken;

	arm(1, true);
	is_pointer(reel_pool_default(), NULL, "there is no default pool without memory");
	is_int(reel_tape_open(&tape, NULL, 0), -ENOMEM, "a tape on it does not open");
	taken = push_some(&tape, 1, n);
	is_int(reel_tape_error(&tape), -ENOMEM, "an all-zero tape takes no values without memory");
	arm(0, false);
	pop_some(&tape, 1, n, taken);
	is_int(reel_tape_clear_error(&tape), -ENOMEM,
	       "the error of an all-zero tape can be cleared");
	ok(push_some(&tape, 1, n) == n && pop_values(&tape, 1, 0, n),
	   "an all-zero tape takes values once there is memory");
	reel_tape_close(&tape);
}

#if defined(REEL_ADDRESS_SANITIZER) || defined(REEL_THREAD_SANITIZER)
static void address_space_is_limited(void)
{
	tap_skip(2, "a sanitizer needs all address space");
}
#else
static void limit_address_space(size_t more)
{
	rlim_t bytes = address_space() + more;

	setrlimit(RLIMIT_AS, &(struct rlimit){.rlim_cur = bytes, .rlim_max = bytes});
}

/* Pushes until the system refuses memory, and pops all values. */
static void fill_address_space(size_t more)
{
	reel_tape tape;
	reel_pool *pool;
	uint64_t n = 0;

	limit_address_space(more);
	if (!ok(reel_pool_open(&pool, NULL) == 0, "a pool opens"))
		return;
	reel_tape_open(&tape, pool, 0);
	while (push_values(&tape, 1, n, 1), !reel_tape_error(&tape))
		n++;
	is_int(reel_tape_error(&tape), -ENOMEM, "the error");
	ok(n * sizeof(uint64_t) > (more - reel_supply_table_bytes()) / 2, "most memory was used");
	(void)reel_pop(&tape, uint64_t);
	ok(pop_values(&tape, 1, 0, n), "all values come back");
	reel_tape_close(&tape);
	is_int(reel_pool_close(pool), 0, "the pool closes");
}

static void have_no_address_space(void)
{
	reel_pool *pool;

	limit_address_space(reel_supply_table_bytes() / 2);
	is_int(reel_pool_open(&pool, NULL), -ENOMEM, "no pool opens");
}

static void address_space_is_limited(void)
{
	size_t table = reel_supply_table_bytes();
	pid_t child;

	if (is_emulated()) {
		tap_skip(2, "an emulator has no limit of address space");
		return;
	}
	child = fork();
	if (child == 0) {
		fill_address_space(table + ((size_t)48 << 20));
		tap_child_end();
	}
	ok(tap_child_passed(child), "the system's limit is handled as any other lack of memory");
	child = fork();
	if (child == 0) {
		have_no_address_space();
		tap_child_end();
	}
	ok(tap_child_passed(child), "a limit without room for a pool is handled, too");
}
#endif

/* Opens a plan and checks it. Returns 0 or -ENOMEM. */
static int use_plan(enum reel_planner planner)
{
	struct reel_problem problem = {
		.steps = 50, .tiers = 2, .tier = {{3, 0, 0}, {60, 1, 1}}};
	struct reel_schedule_report report;
	reel_plan *opened;
	int error = reel_plan_open(&opened, planner, &problem);

	if (error)
		return error;
	error = reel_plan_check(opened, NULL, 50, &report);
	reel_plan_close(opened);
	return error;
}

static int choose_by_cost(void)
{
	struct reel_costs costs = {.steps = 12, .state_bytes = 10, .tape_bytes = 20,
				   .memory_bytes = 75, .workers = 2, .tiers = 1};
	struct reel_choice choice;

	return reel_costs_choose(&costs, &choice);
}

static int run_no_steps(void *context, void *state, int64_t first, int64_t last)
{
	(void)context;
	(void)state;
	(void)first;
	(void)last;
	return 0;
}

static int record_no_steps(void *context, void *state, int64_t first, int64_t last,
			   reel_tape *tape)
{
	(void)tape;
	return run_no_steps(context, state, first, last);
}

static int measure_costs(void)
{
	static const reel_model model = {8, run_no_steps, record_no_steps, record_no_steps, NULL,
					 NULL};
	struct reel_costs costs = {.steps = 1};
	uint64_t state = 0, adjoint = 0;
	reel_tape tape = {0};

	return reel_costs_measure(&costs, &tape, &model, NULL, &state, &adjoint);
}

/* A refusal may cause no error: a pool can replace some requests, or do without them. */
static void measuring_says_that_it_has_no_memory(void)
{
	unsigned k = 0, refused = 0;
	int error;

	wrong = false;
	do {
		arm(++k, false);
		error = measure_costs();
		refused += error == -ENOMEM;
		expect(!error || (refusal.refused && error == -ENOMEM));
	} while (refusal.refused);
	ok(!wrong && refused > 2, "measuring: memory runs out at %u of %u places", refused, k - 1);
}

static void a_choice_says_that_it_has_no_memory(void)
{
	unsigned k = 0;
	int error;

	wrong = false;
	do {
		arm(++k, false);
		error = choose_by_cost();
		expect(error == (refusal.refused ? -ENOMEM : 0));
	} while (refusal.refused);
	ok(!wrong && k > 2, "costs: memory runs out at each of %u places", k - 1);
}

/* Runs on a thread of its own, which has no error text yet. */
static void *have_no_text(void *unused)
{
	static const char general[] = "invalid argument, or a mark that is not on the tape";

	refuse(REFUSE_MEMORY, 1, true);
	reel_fail(-EINVAL, "there is no memory for this");
	stop_refusing();
	is_string(reel_error_text(0), general,
		  "an error without memory for a text has the text of its number");
	is_string(reel_error_text(-EINVAL), general,
		  "an error that is given has the text of its number");
	reel_fail(-EINVAL, "there is memory for this");
	is_string(reel_error_text(0), "there is memory for this", "the next error has a text");
	return unused;
}

static void an_error_without_memory_has_words(void)
{
	tap_case("the text of an error");
	reel_fail(-EBUSY, "the text of another thread");
	run_thread(have_no_text, NULL);
	is_string(reel_error_text(0), "the text of another thread", "each thread has a text of its own");
}

static void a_plan_says_that_it_has_no_memory(void)
{
	for (int p = 0; p < REEL_PLANNERS; p++) {
		unsigned k = 0;
		int error;

		wrong = false;
		do {
			arm(++k, false);
			error = use_plan((enum reel_planner)p);
			expect(error == (refusal.refused ? -ENOMEM : 0));
		} while (refusal.refused);
		ok(!wrong && k > 2, "%s: memory runs out at each of %u places",
		   reel_planner_name((enum reel_planner)p), k - 1);
	}
}

int main(void)
{
	tap_begin();
	reel_set_error_handler(note_error, NULL);
	memory_runs_out_anywhere(false, "one request is refused");
	memory_runs_out_anywhere(true, "one request and all that follow are refused");
	an_error_without_memory_has_words();
	a_plan_says_that_it_has_no_memory();
	a_choice_says_that_it_has_no_memory();
	measuring_says_that_it_has_no_memory();
	threads_need_the_first_arena_at_once();
	who_sees_a_give_sees_what_was_before_it(true);
	who_sees_a_give_sees_what_was_before_it(false);
	a_thread_comes_while_takes_are_counted();
	the_default_pool_is_wanting();
	address_space_is_limited();
	return tap_end();
}
