/* SPDX-License-Identifier: MIT */
/*
 * The program cancels its threads: no function of the library is a cancellation point, and other
 * threads can use and close what a cancelled thread leaves. store-suite.c does the same for stores,
 * t-omp-checkpoint.c for sweeps by several threads, t-gradient.c for a whole program.
 */
#include <config.h>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include <reel/parcel.h>

#include "helpers/cancel-support.h"
#include "helpers/held-store.h"
#include "helpers/pool-support.h"
#include "helpers/recurrence.h"

#define SLABS 8

static reel_pool *pool;

/* ---- A store of the program, each verb of which is a cancellation point ---- */

struct tempting {
	reel_store store;
	reel_store *below;
};

static reel_store *below(reel_store *store)
{
	pthread_testcancel();
	return ((struct tempting *)store)->below;
}

static void tempting_put(reel_store *store, reel_transfer *transfer)
{
	reel_store_put(below(store), transfer);
}

static void tempting_get(reel_store *store, reel_transfer *transfer)
{
	reel_store_get(below(store), transfer);
}

static void tempting_drop(reel_store *store, struct reel_extent place)
{
	reel_store_drop(below(store), place);
}

static int tempting_sync(reel_store *store, int64_t timeout_ns)
{
	return reel_store_sync(below(store), timeout_ns);
}

static void tempting_capacity(reel_store *store, struct reel_store_capacity *capacity)
{
	reel_store_get_capacity(below(store), capacity);
	capacity->registers = true;
}

static void tempting_close(reel_store *store)
{
	reel_store_close(below(store));
	free(store);
}

static int tempting_register(reel_store *store, void *memory, size_t bytes)
{
	(void)memory;
	(void)bytes;
	below(store);
	return 0;
}

static void tempting_unregister(reel_store *store, void *memory, size_t bytes)
{
	(void)memory;
	(void)bytes;
	below(store);
}

static reel_store *tempting_open(void)
{
	static const struct reel_store_verbs verbs = {.name = "tempting",
						      .put = tempting_put,
						      .get = tempting_get,
						      .drop = tempting_drop,
						      .sync = tempting_sync,
						      .capacity = tempting_capacity,
						      .close = tempting_close,
						      .register_memory = tempting_register,
						      .unregister_memory = tempting_unregister};
	struct tempting *tempting = calloc(1, sizeof *tempting);

	if (!tempting || reel_store_memory_open(&tempting->below, UINT64_MAX))
		abort();
	tempting->store.verbs = &verbs;
	return &tempting->store;
}

/* ---- Pools, and tapes that wait for their store ---- */

static reel_store *file_open(void)
{
	reel_store *store;

	if (reel_store_file_open(&store, &(struct reel_file_options){
					 .directory = ".", .flags = REEL_FILE_TMPFS}))
		abort();
	return store;
}

static reel_pool *open_spilling(reel_store *store)
{
	struct reel_pool_options options = small_options();

	options.hard_budget = SLABS * small_slab();
	options.store = store;
	return open_pool(options);
}

static void use_tape(reel_pool *on)
{
	uint64_t top = values_in(on, 4 * SLABS);
	reel_tape tape = open_tape(on, 0);

	push_values(&tape, 1, 0, top);
	if (!pop_values(&tape, 1, 0, top))
		abort();
	reel_tape_close(&tape);
}

/* Uses parcels of half a slab, two of which share a slab, and one that is larger than a slab. */
static void use_parcels(reel_pool *on)
{
	reel_parcel *parcel[4 * SLABS];
	struct reel_parcel_stats stats;
	size_t bytes = stats_of(on).slab_bytes / 2;
	void *data;
	const void *again;

	for (size_t p = 0; p < COUNT(parcel); p++)
		if (reel_parcel_open(&parcel[p], on, p ? bytes : 3 * bytes, NULL, &data) ||
		    reel_parcel_seal(parcel[p]))
			abort();
	if (reel_parcel_announce(parcel, COUNT(parcel)))
		abort();
	for (size_t p = 0; p < COUNT(parcel); p++) {
		if (reel_parcel_pin(parcel[p], &again))
			abort();
		reel_parcel_unpin(parcel[p]);
	}
	if (reel_parcel_unseal(parcel[0], &data))
		abort();
	reel_parcel_get_stats(on, &stats);
	for (size_t p = 0; p < COUNT(parcel); p++)
		if (reel_parcel_close(parcel[p]))
			abort();
}

static void use_pool(void *open_store)
{
	reel_store *(*const *open)(void) = open_store;
	reel_pool *own = open_spilling((*open)());
	struct reel_slab *large;
	pid_t child;

	do
		use_tape(own);
	while (!stats_of(own).stalls);
	use_parcels(own);
	if (reel_pool_take(own, REEL_SLAB_LARGE, 2 * small_slab(), &large))
		abort();
	reel_pool_give(own, large);
	reel_offload_settle(reel_offload_of(own));
	reel_pool_trim(own, 0);
	child = fork();
	if (child == 0)
		_exit(0);
	if (child < 0 || reel_pool_close(own))
		abort();
}

static void pools_and_tapes(void)
{
	static const struct {
		const char *name;
		reel_store *(*open)(void);
	} stores[] = {{"a file", file_open}, {"a store of the program's own", tempting_open}};

	for (size_t i = 0; i < COUNT(stores); i++)
		ok(outlasts_cancellation(use_pool, (void *)(uintptr_t)&stores[i].open),
		   "no function of a pool with %s is a cancellation point", stores[i].name);
	while (wait(NULL) > 0)
		;
}

/* ---- Threads that wait when they are cancelled ---- */

static reel_tape tape;
static uint64_t height;

static void *push_and_end(void *unused)
{
	push_values(&tape, 1, 0, height);
	pthread_testcancel();
	return unused;
}

static void *pop_and_end(void *unused)
{
	pop_values(&tape, 1, 0, height);
	pthread_testcancel();
	return unused;
}

static void cancel_and_join(pthread_t thread, struct held_store *held, const char *what)
{
	void *result;

	pthread_cancel(thread);
	held_release(held);
	held_end_gets(held, 0);
	pthread_join(thread, &result);
	ok(result == PTHREAD_CANCELED, "a thread that is cancelled in %s ends after it", what);
	reel_tape_close(&tape);
	use_tape(pool);
	ok(pool_is_whole(pool), "other threads go on, and find the pool whole");
}

static struct held_store *begin_waiting(pthread_t *thread, void *(*body)(void *), bool gets)
{
	struct held_store *held = held_open();

	held->holds = !gets;
	pool = open_spilling(&held->store);
	tape = open_tape(pool, 0);
	height = values_in(pool, 4 * SLABS);
	if (gets) {
		push_values(&tape, 1, 0, height);
		held_hold_gets(held);
	}
	if (pthread_create(thread, NULL, body, NULL))
		abort();
	return held;
}

static void a_waiting_push(void)
{
	pthread_t thread;
	struct held_store *held = begin_waiting(&thread, push_and_end, false);

	while (!somebody_waits(reel_offload_of(pool)))
		sched_yield();
	cancel_and_join(thread, held, "a push that waits");
	is_int(reel_pool_close(pool), 0, "the pool closes");
}

/* The pop waits for the slab that is read first. */
static void a_waiting_pop(void)
{
	pthread_t thread;
	struct held_store *held = begin_waiting(&thread, pop_and_end, true);

	while (!held_gets(held))
		sched_yield();
	cancel_and_join(thread, held, "a pop that waits");
	is_int(reel_pool_close(pool), 0, "the pool closes");
}

/* ---- Reports ---- */

static void report_everything(void *unused)
{
	struct reel_pool_options options = small_options();
	reel_tape own;

	(void)unused;
	setenv("REEL_BUDGET", "much", 1);
	reel_pool_default();
	options.hard_budget = small_slab();
	pool = open_pool(options);
	own = open_tape(pool, 0);
	push_values(&own, 1, 0, values_in(pool, 2));
	if (reel_tape_error(&own) != -EDQUOT)
		abort();
	reel_tape_close(&own);
	reel_pool_close(pool);
}

static void reports(void)
{
	int shown = dup(STDERR_FILENO), hidden = open("reports", O_RDWR | O_CREAT | O_TRUNC, 0600);
	bool outlasted;

	dup2(hidden, STDERR_FILENO);
	outlasted = outlasts_cancellation(report_everything, NULL);
	dup2(shown, STDERR_FILENO);
	ok(outlasted, "no report on stderr is a cancellation point");
	ok(lseek(hidden, 0, SEEK_END) > 100, "the reports are written in full");
	close(shown);
	close(hidden);
}

static void *enter_too_many_layers(void *unused)
{
	reel_transfer transfer = {0};

	pthread_cancel(pthread_self());
	for (int i = 0; i <= REEL_MAX_LAYERS; i++)
		reel_transfer_enter(&transfer, NULL, NULL, NULL);
	return unused;
}

static void a_report_before_the_end(void)
{
	pthread_t thread;
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		if (dup2(open("/dev/null", O_WRONLY), STDERR_FILENO) < 0 ||
		    pthread_create(&thread, NULL, enter_too_many_layers, NULL))
			_exit(1);
		pthread_join(thread, NULL);
		_exit(0);
	}
	waitpid(child, &status, 0);
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT,
	   "a cancelled thread ends the program where it must");
}

/* ---- A store without a pool ---- */

static void put_and_get(void *unused)
{
	reel_store *store = tempting_open();
	char data[64] = {0};
	reel_transfer transfer = {.data = data, .bytes = sizeof data};

	(void)unused;
	if (reel_store_put_and_wait(store, &transfer) || reel_store_get_and_wait(store, &transfer))
		abort();
	reel_store_close(((struct tempting *)store)->below);
	free(store);
}

static void transfers_that_are_waited_for(void)
{
	ok(outlasts_cancellation(put_and_get, NULL),
	   "no transfer that is waited for is a cancellation point");
}

/* ---- Runs ---- */

#define STEPS 30

static reel_run *open_run(const reel_plan *plan, const reel_model *model,
			  struct reel_run_options options)
{
	options.store[1] = tempting_open();
	return open_checkpoint(plan, model, &options);
}

static void run_and_resume(void *unused)
{
	struct reel_run_options options = {.restart = "restart",
					   .restart_seconds = 1e-9,
					   .adjoint_bytes = sizeof(struct state)};
	struct run counts = no_failure;
	struct state state = start, bar = seed;
	reel_plan *plan = plan_for(REEL_MULTISTAGE, STEPS, 2);
	reel_run *run = open_run(plan, &copied, options);

	(void)unused;
	if (reel_run_forward(run, &counts, &state))
		abort();
	reel_run_close(run);
	run = open_run(plan, &copied, options);
	state = start;
	if (reel_run_resume(run, NULL, &bar) || reel_run_forward(run, &counts, &state) ||
	    reel_run_reverse(run, &counts, &state, &bar))
		abort();
	reel_run_close(run);
	reel_plan_close(plan);
}

static void runs(void)
{
	ok(outlasts_cancellation(run_and_resume, NULL),
	   "no function of a run with stores and a restart file is a cancellation point");
}

/* Callbacks belong to the program, so they may be cancellation points. */
static int reverse_and_end(void *context, void *adjoint, int64_t first, int64_t last,
			   reel_tape *on)
{
	if (last < STEPS / 2) {
		pthread_cancel(pthread_self());
		pthread_testcancel();
	}
	return reverse(context, adjoint, first, last, on);
}

static const reel_model ending = {sizeof(struct state), advance, record, reverse_and_end, NULL,
				  NULL};

static void *run_until_cancelled(void *run)
{
	struct run counts = no_failure;
	struct state state = start, bar = seed;

	reel_run_forward(run, &counts, &state);
	reel_run_reverse(run, &counts, &state, &bar);
	return NULL;
}

static void a_run_that_is_left(void)
{
	reel_plan *plan = plan_for(REEL_MULTISTAGE, STEPS, 2);
	reel_run *run;
	pthread_t thread;
	void *result;

	pool = open_pool(small_options());
	run = open_run(plan, &ending, (struct reel_run_options){.pool = pool});
	if (pthread_create(&thread, NULL, run_until_cancelled, run))
		abort();
	pthread_join(thread, &result);
	ok(result == PTHREAD_CANCELED, "a thread may be cancelled in a model's callback");
	reel_run_close(run);
	reel_plan_close(plan);
	close_pool_at_rest(pool, "a run that a cancelled thread has left");
}

int main(void)
{
	tap_begin();
	pools_and_tapes();
	a_waiting_push();
	a_waiting_pop();
	reports();
	a_report_before_the_end();
	transfers_that_are_waited_for();
	runs();
	a_run_that_is_left();
	return tap_end();
}
