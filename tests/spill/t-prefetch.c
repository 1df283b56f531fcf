/* SPDX-License-Identifier: MIT */
/*
 * Tests reads of slabs in bad cases: no frame is left for a pop, or the store fails a read ahead.
 */
#include <config.h>

#include <errno.h>
#include <sched.h>

#include "spill/thread/thread.h"
#include "helpers/pool-support.h"
#include "helpers/store-verbs.h"

enum { FRAMES = 16, OTHERS = FRAMES / 2 - 1, SLABS = 4 * FRAMES };

/* ---- A store in memory whose gets fail, or end later ---- */

struct gate_store {
	reel_store store;
	reel_store *below;
	_Atomic bool fails, holds;
	_Atomic(reel_transfer *) held;
	_Atomic unsigned syncs; /* while a get was held */
};

static struct gate_store *gate_of(reel_store *store)
{
	return (struct gate_store *)store;
}

static void gate_get(reel_store *store, reel_transfer *transfer)
{
	struct gate_store *gate = gate_of(store);

	if (gate->fails)
		reel_transfer_complete(transfer, -EIO);
	else if (gate->holds)
		gate->held = transfer;
	else
		reel_store_get(gate->below, transfer);
}

static int gate_sync(reel_store *store, int64_t timeout_ns)
{
	struct gate_store *gate = gate_of(store);

	(void)timeout_ns;
	gate->syncs += gate->held != NULL;
	return gate->held ? -ETIMEDOUT : 0;
}

static void gate_open(struct gate_store *gate)
{
	static const struct reel_store_verbs verbs = {
		.name = "gate", .put = pass_put, .get = gate_get, .drop = pass_drop,
		.sync = gate_sync, .capacity = pass_capacity, .close = pass_close};

	*gate = (struct gate_store){.store.verbs = &verbs};
	if (reel_store_memory_open(&gate->below, UINT64_MAX))
		abort();
}

static void open_gate(struct gate_store *gate)
{
	reel_transfer *transfer = gate->held;

	gate->holds = false;
	gate->held = NULL;
	reel_store_get(gate->below, transfer);
}

/* ---- A pool whose frames are all tops of tapes ---- */

static reel_pool *pool_on(struct gate_store *gate)
{
	struct reel_pool_options options = small_options();

	gate_open(gate);
	options.hard_budget = FRAMES * options.slab_bytes;
	options.soft_budget = FRAMES / 2 * options.slab_bytes;
	options.store = &gate->store;
	return open_pool(options);
}

/* Each other tape has a frame of first slabs, and one on top of them with one value. */
static void take_all_frames(reel_pool *pool, reel_tape other[OTHERS])
{
	for (unsigned i = 0; i < OTHERS; i++) {
		other[i] = open_tape(pool, 0);
		push_values(&other[i], i + 2, 0, values_in(pool, 0) + 1);
	}
	reel_offload_settle(reel_offload_of(pool));
}

static bool close_others(reel_pool *pool, reel_tape *other, unsigned first, unsigned n)
{
	bool as_pushed = true;

	for (unsigned i = first; i < first + n; i++) {
		as_pushed &= pop_values(&other[i], i + 2, 0, values_in(pool, 0) + 1);
		reel_tape_close(&other[i]);
	}
	return as_pushed;
}

static void a_pop_goes_one_frame_beyond_the_budget(void)
{
	struct gate_store gate;
	reel_pool *pool = pool_on(&gate);
	reel_tape tape = open_tape(pool, 0), other[OTHERS];
	uint64_t n = values_in(pool, SLABS);

	tap_case("a pop for which there is no frame");
	push_values(&tape, 1, 0, n);
	take_all_frames(pool, other);
	is_int(stats_of(pool).resident_bytes, pool->hard_budget, "the budget is used up");
	ok(pop_values(&tape, 1, 0, n), "what is popped comes back all the same");
	is_int(stats_of(pool).peak_resident_bytes, pool->hard_budget + pool->slab_bytes,
	       "and is one frame beyond it at a time");
	ok(stats_of(pool).resident_bytes <= pool->hard_budget, "that is paid back");
	reel_tape_close(&tape);
	ok(close_others(pool, other, 0, OTHERS), "and so do the others");
	close_pool_at_rest(pool, "a pop beyond the budget");
}

/* ---- A push that waits meanwhile ---- */

struct worker {
	reel_tape tape;
	uint64_t values;
	bool good;
};

static void *pop_one_slab(void *argument)
{
	struct worker *worker = argument;
	const struct reel_slab *slab = worker->tape.slab;

	worker->good = true;
	while (worker->tape.slab == slab)
		worker->good &= pop_values(&worker->tape, 1, --worker->values, 1);
	reel_tape_hand_over(&worker->tape);
	return NULL;
}

static void *push_one_slab(void *argument)
{
	struct worker *worker = argument;
	const struct reel_slab *slab = worker->tape.slab;

	while (worker->tape.slab == slab && !reel_tape_error(&worker->tape))
		push_values(&worker->tape, 2, worker->values++, 1);
	worker->good = !reel_tape_error(&worker->tape);
	reel_tape_hand_over(&worker->tape);
	return NULL;
}

static pthread_t start(void *(*body)(void *), struct worker *worker)
{
	pthread_t thread;

	reel_tape_hand_over(&worker->tape);
	if (pthread_create(&thread, NULL, body, worker))
		abort();
	return thread;
}

/* Two frames are freed during the get. One of them pays for the frame beyond the budget. */
static void a_push_is_not_refused_while_a_pop_reads(void)
{
	struct gate_store gate;
	reel_pool *pool = pool_on(&gate);
	struct worker popper = {.tape = open_tape(pool, 0), .values = values_in(pool, SLABS)};
	struct worker pusher = {.values = values_in(pool, 0) + 1};
	reel_tape other[OTHERS];
	pthread_t pops, pushes;

	tap_case("a push that waits for a frame, as a pop does");
	push_values(&popper.tape, 1, 0, popper.values);
	take_all_frames(pool, other);
	reel_tape_move(&pusher.tape, &other[0]);
	reel_offload_pause(reel_offload_of(pool));
	gate.holds = true;
	pops = start(pop_one_slab, &popper);
	pushes = start(push_one_slab, &pusher);
	while (!popper.tape.demand->awaited || !somebody_waits(reel_offload_of(pool)))
		sched_yield();
	reel_offload_resume(reel_offload_of(pool));
	while (!gate.syncs)
		sched_yield();
	ok(somebody_waits(reel_offload_of(pool)), "it waits on while the pop is served");
	ok(close_others(pool, other, 1, 2), "others end meanwhile");
	open_gate(&gate);
	pthread_join(pops, NULL);
	pthread_join(pushes, NULL);
	ok(popper.good, "what is popped comes back");
	ok(pusher.good, "and the push has its frame");
	reel_tape_close(&pusher.tape);
	ok(close_others(pool, other, 3, OTHERS - 3), "the others come back");
	ok(pop_values(&popper.tape, 1, 0, popper.values), "and so does the rest");
	reel_tape_close(&popper.tape);
	close_pool_at_rest(pool, "a push that waits");
}

/* ---- A store whose gets fail ---- */

static unsigned slabs_in(const reel_pool *pool, enum reel_slab_state state)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < pool->table_used; i++)
		n += reel_slab_state_of(&pool->table[i]) == state;
	return n;
}

/* The offload thread is paused, so it reads the requested slabs only when it continues. */
static uint64_t pop_until_it_asks(reel_tape *tape, uint64_t n)
{
	const struct reel_demand *demand = tape->demand;
	uint32_t before = demand->requested;

	while (demand->requested == before)
		if (!pop_values(tape, 1, --n, 1))
			ok(false, "what is in memory comes back");
	return n;
}

static void what_cannot_be_read_in_advance_stays_in_the_store(void)
{
	struct gate_store gate;
	reel_pool *pool = pool_on(&gate);
	reel_tape tape = open_tape(pool, 0);
	uint64_t n = values_in(pool, SLABS);
	unsigned stored;

	tap_case("a store that cannot give what is asked for in advance");
	push_values(&tape, 1, 0, n);
	reel_offload_settle(reel_offload_of(pool));
	reel_offload_pause(reel_offload_of(pool));
	stored = slabs_in(pool, REEL_SLAB_STORED);
	n = pop_until_it_asks(&tape, n);
	ok(slabs_in(pool, REEL_SLAB_READ_QUEUED) > 0, "slabs are wanted");
	gate.fails = true;
	reel_offload_resume(reel_offload_of(pool));
	reel_offload_settle(reel_offload_of(pool));
	ok(stats_of(pool).failed_gets > 0, "gets fail");
	is_int(slabs_in(pool, REEL_SLAB_LOST), 0, "no slab is lost");
	is_int(slabs_in(pool, REEL_SLAB_STORED), stored, "each is in the store as before");
	gate.fails = false;
	ok(pop_values(&tape, 1, 0, n), "all comes back when the store can give again");
	is_int(reel_tape_error(&tape), 0, "without an error");
	reel_tape_close(&tape);
	close_pool_at_rest(pool, "gets that fail");
}

int main(void)
{
	tap_begin();
	a_pop_goes_one_frame_beyond_the_budget();
	a_push_is_not_refused_while_a_pop_reads();
	what_cannot_be_read_in_advance_stays_in_the_store();
	return tap_end();
}
