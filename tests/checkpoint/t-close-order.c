/* SPDX-License-Identifier: MIT */
/*
 * Tests pools whose tapes, parcels and runs are closed in any order. The pool refuses to close
 * until the last one is closed, so that none reads memory of a closed pool. A failure prints its
 * seed.
 */
#include <config.h>

#include <reel/parcel.h>

#include "helpers/pool-support.h"
#include "helpers/recurrence.h"

enum { STEPS = 20, MAX_OBJECTS = 5, BYTES = 3000 };

enum kind { TAPE, PARCEL, RUN, RUN_WITH_STORE, KINDS };

struct object {
	enum kind kind;
	reel_tape tape;
	reel_parcel *parcel;
	reel_run *run;
};

static const reel_model model = {
	.state_bytes = sizeof(struct state), .advance = advance, .record = record, .reverse = reverse};

static struct run counts = {.failing_advance = -1, .failing_record = -1, .failing_reverse = -1};

static uint64_t random_state;

static unsigned below(unsigned n)
{
	random_state = scramble(random_state);
	return (unsigned)(random_state % n);
}

static void open_run(struct object *object, reel_pool *pool, const reel_plan *plan)
{
	struct reel_run_options options = {.pool = pool};

	if (object->kind == RUN_WITH_STORE && reel_store_open(&options.store[1], "memory=16M", NULL))
		exit(EXIT_FAILURE);
	if (reel_run_open(&object->run, plan, &model, &options))
		exit(EXIT_FAILURE);
}

static void open_object(struct object *object, reel_pool *pool, const reel_plan *plan)
{
	void *data;

	object->kind = (enum kind)below(KINDS);
	if (object->kind == TAPE) {
		reel_tape_open(&object->tape, pool, 0);
		push_values(&object->tape, 1, 0, values_in(pool, 1) + below(1000));
	} else if (object->kind == PARCEL) {
		if (reel_parcel_open(&object->parcel, pool, BYTES, 0, &data))
			exit(EXIT_FAILURE);
		memset(data, 1, BYTES);
		reel_parcel_seal(object->parcel);
	} else {
		open_run(object, pool, plan);
	}
}

/* A new run, and a run after both sweeps, have no slab. */
static bool sweep(struct object *object)
{
	struct state state = {{0.5}}, bar = {{1}};
	unsigned sweeps = below(3);
	int error = 0;

	if (object->kind < RUN)
		return true;
	if (sweeps > 0)
		error = reel_run_forward(object->run, &counts, &state);
	if (sweeps > 1 && !error)
		error = reel_run_reverse(object->run, &counts, &state, &bar);
	return !error;
}

static void close_object(struct object *object)
{
	if (object->kind == TAPE)
		reel_tape_close(&object->tape);
	else if (object->kind == PARCEL)
		reel_parcel_close(object->parcel);
	else
		reel_run_close(object->run);
}

static reel_pool *random_pool(void)
{
	struct reel_pool_options options = small_options();

	options.hard_budget = 256 * small_slab();
	if (below(2) && reel_store_open(&options.store, "memory=16M", NULL))
		exit(EXIT_FAILURE);
	return open_pool(options);
}

/* Returns true if the pool could be closed after its last object, and not before. */
static bool one_order(const reel_plan *plan, uint64_t number)
{
	struct object object[MAX_OBJECTS] = {0};
	unsigned n;
	bool right = true;
	reel_pool *pool;

	random_state = number * 0x9e3779b97f4a7c15u + 1;
	n = 1 + below(MAX_OBJECTS);
	pool = random_pool();
	for (unsigned i = 0; i < n; i++) {
		open_object(&object[i], pool, plan);
		right &= sweep(&object[i]);
	}
	while (n > 0) {
		unsigned closed = below(n);

		right &= reel_pool_close(pool) == -EBUSY;
		close_object(&object[closed]);
		n--;
		/* A tape that memcpy() has moved needs reel_tape_move(). */
		if (object[n].kind == TAPE && closed != n)
			reel_tape_move(&object[closed].tape, &object[n].tape);
		object[closed].kind = object[n].kind;
		object[closed].parcel = object[n].parcel;
		object[closed].run = object[n].run;
	}
	return right & !reel_pool_close(pool);
}

static void a_pool_outlives_all_that_is_opened_on_it(void)
{
	uint64_t seeds = number_from_environment("TEST_SEEDS", is_brief() ? 100 : 5000);
	struct reel_problem problem = {.steps = STEPS, .tiers = 2, .tier = {{.slots = 2}, {.slots = 3}}};
	reel_plan *plan;
	unsigned wrong = 0;

	if (reel_plan_open(&plan, REEL_MULTISTAGE, &problem))
		exit(EXIT_FAILURE);
	for (uint64_t i = 1; i <= seeds; i++)
		if (!one_order(plan, i) && !wrong++)
			tap_note("seed %llu", (unsigned long long)i);
	is_int(wrong, 0, "a pool is busy until its last tape, parcel or run is closed");
	reel_plan_close(plan);
}

int main(void)
{
	tap_begin();
	a_pool_outlives_all_that_is_opened_on_it();
	return tap_end();
}
