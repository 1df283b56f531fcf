/* SPDX-License-Identifier: MIT */
/*
 * Each call of the driver fails, once or for good, and each operation of the device fails, on the
 * fake device. A call that fails once costs no data. A lost device loses the data on it: pushed
 * values come back, or the tape has an error and gives all ones; and the next tier is used.
 */
#include <config.h>

#include <errno.h>
#include <unistd.h>

#include "helpers/gpu-support.h"
#include "helpers/pool-support.h"
#include "helpers/store-fault.h"

enum { FRAMES = 5, SLABS = 16 };

static struct {
	unsigned opened, absent, unnamed, wrong, unlike, lost, told, stuck, wrongs;
	uint64_t pageable;
	int error;
	char message[512];
} seen;

static void note(const reel_tape *tape, int error, const char *message, void *context)
{
	(void)tape;
	(void)context;
	seen.told++;
	seen.error = error;
	snprintf(seen.message, sizeof seen.message, "%s", message);
}

/* Pops all words, and returns the number of lost ones, which are all ones. Others must be right. */
static unsigned pop_all(reel_tape *tape, uint64_t words)
{
	unsigned ones = 0;

	for (uint64_t i = words; i-- > 0;) {
		uint64_t word = reel_pop(tape, uint64_t);

		ones += word == UINT64_MAX;
		seen.wrong += word != UINT64_MAX && word != value_at(1, i);
	}
	seen.unlike += ones && !reel_tape_error(tape);
	return ones;
}

static void one_sweep(reel_pool *pool)
{
	reel_tape tape = open_tape(pool, 0);
	uint64_t words = SLABS * small_slab() / 8;

	push_values(&tape, 1, 0, words);
	seen.lost += pop_all(&tape, words) > 0;
	reel_tape_close(&tape);
}

static reel_store *open_store(const struct reel_fault_rule *rule)
{
	reel_store *leaf, *first;

	reel_fail(0, "%s", "");
	first = faulty_gpu_store(8 * small_slab(), small_slab(), 2, rule, &leaf);
	seen.opened += first != NULL;
	if (!first) {
		seen.absent++;
		seen.unnamed += !*reel_error_text(0);
	}
	return before_memory(first);
}

/* Runs two sweeps, the second one after the fault, if any. */
static void scenario_with(const struct reel_fault_rule *rule)
{
	struct reel_pool_options options = small_options();
	reel_pool *pool;
	unsigned lost;

	options.hard_budget = FRAMES * small_slab();
	options.store = open_store(rule);
	pool = open_pool(options);
	one_sweep(pool);
	lost = seen.lost;
	fake_device_stop_failing();
	one_sweep(pool);
	seen.stuck += seen.lost > lost;
	if (reel_pool_close(pool))
		abort();
}

static void scenario(void)
{
	scenario_with(NULL);
}

static void begin(uint64_t seed)
{
	open_fake((struct fake_options){.seed = seed});
}

static void end(void)
{
	seen.wrongs += fake_device_wrongs();
	seen.pageable += fake_device_pageable_bytes();
	close_fake();
}

static void nothing_fails(uint64_t *calls, uint64_t *operations)
{
	begin(1);
	scenario();
	*calls = fake_device_calls();
	*operations = fake_device_operations();
	is_int(seen.wrong + seen.lost + seen.told, 0, "fake device: without a fault all comes back");
	end();
	ok(*calls > 100 && *operations > 20, "fake device: it takes %llu calls and %llu operations",
	   (unsigned long long)*calls, (unsigned long long)*operations);
}

static void nothing_is_silently_wrong(const char *after)
{
	is_int(seen.wrong, 0, "fake device: no word is wrong after %s", after);
	is_int(seen.unlike, 0, "fake device: no word is missing without an error of the tape");
	is_int(seen.unnamed, 0, "fake device: a store that did not open said why");
	is_int(seen.wrongs, 0, "fake device: nothing was touched before its event");
	is_int(seen.pageable, 0, "fake device: no copy was of memory that is not pinned");
}

static void the_next_tape_goes_on(void)
{
	is_int(seen.stuck, 0, "fake device: the next tape goes on, without the device perhaps");
}

static uint64_t step(uint64_t number)
{
	return is_brief() ? 1 + number / 8 : 1;
}

/* Tries some more calls than were counted, since the order of threads changes their number. */
static void each_call_fails_once(uint64_t calls)
{
	memset(&seen, 0, sizeof seen);
	for (uint64_t k = 0; k < calls + 10; k += step(k)) {
		begin(k);
		fake_device_fail_call(k, k % 2 ? REEL_CU_LAUNCH_FAILED : REEL_CU_OUT_OF_MEMORY,
				      false);
		scenario();
		end();
	}
	nothing_is_silently_wrong("a call that fails once");
	the_next_tape_goes_on();
	is_int(seen.lost, 0, "fake device: nothing is lost");
	ok(seen.absent && seen.opened, "fake device: %u stores did not open, %u did", seen.absent,
	   seen.opened);
}

static void each_call_loses_the_device(uint64_t calls)
{
	memset(&seen, 0, sizeof seen);
	for (uint64_t k = 0; k < calls + 10; k += step(k)) {
		begin(k);
		fake_device_fail_call(k, REEL_CU_LAUNCH_FAILED, true);
		scenario();
		end();
	}
	nothing_is_silently_wrong("a call from which on all fail");
	the_next_tape_goes_on();
	ok(seen.lost && seen.error == -ENODEV && strstr(seen.message, "No such device"),
	   "fake device: %u tapes had an error: %s", seen.told, seen.message);
}

static void each_operation_loses_the_device(uint64_t operations)
{
	memset(&seen, 0, sizeof seen);
	for (uint64_t k = 0; k < operations + 10; k += step(k)) {
		begin(k);
		fake_device_fail_operation(k, REEL_CU_ILLEGAL_ADDRESS);
		scenario();
		end();
	}
	nothing_is_silently_wrong("an operation that fails");
	the_next_tape_goes_on();
	ok(seen.lost && seen.error == -ENODEV, "fake device: %u tapes had an error: %s", seen.told,
	   seen.message);
}

/* ---- Faults between the device's store and the checksum ---- */

static void each_transfer_goes_wrong(enum reel_fault fault, bool put)
{
	for (uint64_t at = 0; at < 12; at += is_brief() ? 3 : 1) {
		struct reel_fault_rule rule = {.fault = fault, .put = put, .at = at,
					       .error = -EIO, .bit = 600 + 1000 * at};

		begin(at);
		scenario_with(&rule);
		end();
	}
}

static void transfers_go_wrong(void)
{
	memset(&seen, 0, sizeof seen);
	each_transfer_goes_wrong(REEL_FAULT_ERROR, true);
	each_transfer_goes_wrong(REEL_FAULT_ERROR, false);
	each_transfer_goes_wrong(REEL_FAULT_LATE, true);
	each_transfer_goes_wrong(REEL_FAULT_LATE, false);
	each_transfer_goes_wrong(REEL_FAULT_FLIP, false);
	each_transfer_goes_wrong(REEL_FAULT_MISPLACE, false);
	nothing_is_silently_wrong("a transfer that fails, is late or damaged");
	is_int(seen.lost, 0, "fake device: nothing is lost");
	memset(&seen, 0, sizeof seen);
	each_transfer_goes_wrong(REEL_FAULT_FLIP, true);
	nothing_is_silently_wrong("a put that is damaged");
	ok(seen.lost && seen.error == -EBADMSG, "fake device: %u tapes had an error: %s", seen.told,
	   seen.message);
	memset(&seen, 0, sizeof seen);
	each_transfer_goes_wrong(REEL_FAULT_VANISH, false);
	nothing_is_silently_wrong("a device that vanishes");
	ok(seen.lost && seen.error == -ENODEV, "fake device: %u tapes had an error: %s", seen.told,
	   seen.message);
}

/* ---- The store alone ---- */

static unsigned char data[512];

static reel_store *open_leaf(void)
{
	reel_store *store;

	if (reel_store_gpu_open(&store, &(struct reel_gpu_store_options){.bytes = 1 << 20,
									 .slot_bytes = 512}))
		abort();
	return store;
}

/* A pool would repeat a get that failed. Without a pool the store must do so itself. */
static void a_call_that_fails_costs_no_transfer(void)
{
	unsigned failed = 0, k = 0;
	bool comes;

	do {
		reel_transfer transfer = {.data = data, .bytes = sizeof data};
		reel_store *store;
		uint64_t at;

		begin(k);
		store = open_leaf();
		at = fake_device_calls() + k;
		fake_device_fail_call(at, REEL_CU_UNKNOWN, false);
		fill(data, sizeof data, k);
		failed += reel_store_put_and_wait(store, &transfer) != 0;
		memset(data, 0, sizeof data);
		failed += reel_store_get_and_wait(store, &transfer) != 0;
		failed += !is_filled(data, sizeof data, k++);
		comes = fake_device_calls() > at;
		reel_store_close(store);
		close_fake();
	} while (comes);
	ok(failed == 0 && k > 8, "fake device: a put and a get stand each of %u calls failing once",
	   k - 1);
}

static void the_reason_is_kept(void)
{
	reel_transfer transfer = {.data = data, .bytes = sizeof data};
	struct reel_gpu_stats stats;
	reel_store *store;
	uint64_t calls;

	begin(0);
	store = open_leaf();
	is_int(reel_store_put_and_wait(store, &transfer), 0, "fake device: a put");
	fake_device_fail_operation(fake_device_operations(), REEL_CU_ILLEGAL_ADDRESS);
	is_int(reel_store_get_and_wait(store, &transfer), -ENODEV,
	       "fake device: a get that finds the device lost");
	calls = fake_device_calls();
	is_int(reel_store_put_and_wait(store, &transfer), -ENODEV,
	       "a put after the device was lost is refused");
	is_int(fake_device_calls(), calls, "the refused put does not ask the driver any more");
	reel_gpu_get_stats(store, &stats);
	is_int(stats.used_bytes, 512, "the refused put takes no room");
	ok(strstr(stats.problem, "CUDA_ERROR_ILLEGAL_ADDRESS") && stats.failed_gets == 1,
	   "the reason is in the store's figures: %s", stats.problem);
	reel_store_close(store);
	close_fake();
	begin(0);
	store = open_leaf();
	fake_device_fail_operation(0, REEL_CU_ILLEGAL_ADDRESS);
	is_int(reel_store_put_and_wait(store, &transfer), -ENODEV,
	       "fake device: a put that finds the device lost");
	reel_gpu_get_stats(store, &stats);
	ok(stats.used_bytes == 0 && stats.failed_puts == 1,
	   "a put that fails takes no room either");
	reel_store_close(store);
	close_fake();
}

int main(void)
{
	uint64_t calls, operations;

	tap_begin();
	reel_set_error_handler(note, NULL);
	nothing_fails(&calls, &operations);
	each_call_fails_once(calls);
	each_call_loses_the_device(calls);
	each_operation_loses_the_device(operations);
	transfers_go_wrong();
	a_call_that_fails_costs_no_transfer();
	the_reason_is_kept();
	return tap_end();
}
