/* SPDX-License-Identifier: MIT */
/* The fake device carries out operations in order, and sees those that are not allowed. */
#include <config.h>

#include "os/annotate.h"
#include "helpers/gpu-support.h"

/* ThreadSanitizer sees the deliberate races of this test before the fake device does. */
#ifdef REEL_THREAD_SANITIZER
#define MAY_RACE false
#else
#define MAY_RACE true
#endif

enum { BYTES = 1 << 16 };

static const struct reel_driver *driver;
static reel_cu_stream stream, other;
static reel_cu_event event, second;
static reel_cu_address memory;
static unsigned char *from, *to;

static bool begin(struct fake_options options)
{
	reel_cu_context context;
	void *pinned[2];

	driver = fake_device_open(&options);
	if (driver->cuInit(0) || driver->cuDevicePrimaryCtxRetain(&context, 0) ||
	    driver->cuCtxPushCurrent(context) || driver->cuStreamCreate(&stream, 0) ||
	    driver->cuStreamCreate(&other, 0) || driver->cuEventCreate(&event, 0) ||
	    driver->cuEventCreate(&second, 0) || driver->cuMemAlloc(&memory, BYTES) ||
	    driver->cuMemHostAlloc(&pinned[0], BYTES, 0) ||
	    driver->cuMemHostAlloc(&pinned[1], BYTES, 0))
		return false;
	from = pinned[0];
	to = pinned[1];
	fill(from, BYTES, options.seed);
	return true;
}

static unsigned end(void)
{
	driver->cuStreamSynchronize(stream);
	driver->cuStreamSynchronize(other);
	driver->cuMemFree(memory);
	driver->cuMemFreeHost(from);
	driver->cuMemFreeHost(to);
	driver->cuStreamDestroy(stream);
	driver->cuStreamDestroy(other);
	driver->cuEventDestroy(event);
	driver->cuEventDestroy(second);
	driver->cuCtxPopCurrent(NULL);
	driver->cuDevicePrimaryCtxRelease(0);
	return fake_device_close();
}

/* Copies data out on one stream and back on the other, which may wait for an event of the first. */
static bool travels(bool waits)
{
	driver->cuMemcpyHtoDAsync(memory, from, BYTES, stream);
	driver->cuEventRecord(event, stream);
	if (waits)
		driver->cuStreamWaitEvent(other, event, 0);
	driver->cuMemcpyDtoHAsync(to, memory, BYTES, other);
	driver->cuEventRecord(second, other);
	driver->cuEventSynchronize(second);
	return memcmp(from, to, BYTES) == 0;
}

static void events_order_streams(void)
{
	unsigned seeds = is_brief() ? 50 : 400, wrong = 0, unordered = 0, wrongs = 0, left = 0;

	for (uint64_t seed = 0; seed < seeds; seed++) {
		if (!begin((struct fake_options){.seed = seed}))
			wrong++;
		wrong += !travels(true);
		wrongs += fake_device_wrongs();
		left += end();
		if (!MAY_RACE)
			continue;
		begin((struct fake_options){.seed = seed});
		unordered += !travels(false);
		end();
	}
	is_int(wrong, 0, "fake device: an event orders copies, with %u seeds", seeds);
	is_int(wrongs, 0, "fake device: these copies are no fault");
	is_int(left, 0, "fake device: all that was made was freed");
	ok(unordered > 0 || !MAY_RACE, "fake device: others came too early %u times", unordered);
}

/* If operations are late, only a wait lets them go, so that each missing wait is seen. */
static void late_operations_come_when_they_are_waited_for(void)
{
	unsigned wrong = 0, unordered = 0, polls = 0;

	for (uint64_t seed = 0; seed < 40; seed++) {
		begin((struct fake_options){.seed = seed, .late = true});
		wrong += !travels(true) + fake_device_wrongs();
		driver->cuMemcpyDtoHAsync(to, memory, BYTES, stream);
		while (driver->cuStreamQuery(stream))
			polls++;
		wrong += memcmp(from, to, BYTES) != 0;
		wrong += end();
		if (!MAY_RACE)
			continue;
		begin((struct fake_options){.seed = 4 * seed, .late = true});
		unordered += !travels(false);
		end();
	}
	is_int(wrong, 0, "fake device: late operations come in order, one with a poll, of %u polls",
	       polls);
	ok(unordered == 40 || !MAY_RACE, "fake device: unordered copies came late %u times of 40",
	   unordered);
}

static void a_target_is_poisoned_until_its_event(void)
{
	unsigned seeds = is_brief() ? 50 : 400, early = 0;

	for (uint64_t seed = 0; seed < seeds; seed++) {
		begin((struct fake_options){.seed = seed, .delay_us = 100});
		travels(true);
		driver->cuMemcpyDtoHAsync(to, memory, BYTES, stream);
		early += driver->cuStreamQuery(stream) == REEL_CU_NOT_READY && to[0] == 0xf5 &&
			 to[BYTES - 1] == 0xf5;
		end();
	}
	ok(early > 0, "fake device: reads that are too early see poison, %u times of %u", early,
	   seeds);
}

/* Each of these functions leaves one fault. */

static void the_source_changes(void)
{
	driver->cuMemcpyHtoDAsync(memory, from, BYTES, stream);
	from[7] ^= 1;
	driver->cuEventRecord(event, stream);
	driver->cuEventSynchronize(event);
}

static void the_target_is_written(void)
{
	driver->cuMemcpyDtoHAsync(to, memory, BYTES, stream);
	while (driver->cuStreamQuery(stream))
		;
	to[7] ^= 1;
	driver->cuEventRecord(event, stream);
	driver->cuEventSynchronize(event);
}

static void the_memory_is_too_short(void)
{
	driver->cuMemcpyHtoDAsync(memory + 1, from, BYTES, stream);
}

static void call_the_driver(void *argument)
{
	(void)argument;
	driver->cuStreamQuery(stream);
}

static void a_host_function_calls_the_driver(void)
{
	driver->cuLaunchHostFunc(stream, call_the_driver, NULL);
	driver->cuStreamSynchronize(stream);
}

static void a_handle_is_none(void)
{
	driver->cuEventRecord((reel_cu_event)(void *)stream, stream);
}

static void memory_is_freed_twice(void)
{
	reel_cu_address short_lived;

	driver->cuMemAlloc(&short_lived, BYTES);
	driver->cuMemFree(short_lived);
	driver->cuMemFree(short_lived);
}

static void release(void *argument)
{
	while (!*(_Atomic bool *)argument)
		;
}

static void memory_is_unregistered_too_early(void)
{
	void *registered = aligned_alloc(4096, BYTES);
	_Atomic bool goes_on = false;

	memset(registered, 0, BYTES);
	driver->cuMemHostRegister(registered, BYTES, 0);
	driver->cuLaunchHostFunc(stream, release, &goes_on);
	driver->cuMemcpyHtoDAsync(memory, registered, BYTES, stream);
	driver->cuMemHostUnregister(registered);
	goes_on = true;
	driver->cuStreamSynchronize(stream);
	free(registered);
}

static void nothing_orders_two_streams(void)
{
	_Atomic bool goes_on = false;

	driver->cuLaunchHostFunc(stream, release, &goes_on);
	driver->cuMemcpyHtoDAsync(memory, from, BYTES, stream);
	driver->cuMemcpyDtoHAsync(to, memory, BYTES, other);
	driver->cuStreamSynchronize(other);
	goes_on = true;
	driver->cuStreamSynchronize(stream);
}

static const struct {
	const char *what;
	void (*does)(void);
	bool races;
} faults[] = {
	{"a source that changes under way", the_source_changes, true},
	{"a target that is written before its event", the_target_is_written, true},
	{"a copy beyond the memory's end", the_memory_is_too_short, false},
	{"a driver call in a host function", a_host_function_calls_the_driver, false},
	{"a handle of another kind", a_handle_is_none, false},
	{"memory that is freed twice", memory_is_freed_twice, false},
	{"memory that is unregistered under way", memory_is_unregistered_too_early, false},
	{"two streams on the same memory", nothing_orders_two_streams, false},
};

static void it_sees_each_fault(void)
{
	for (size_t i = 0; i < COUNT(faults); i++) {
		if (faults[i].races && !MAY_RACE)
			continue;
		begin((struct fake_options){.seed = i});
		faults[i].does();
		is_int(fake_device_wrongs(), 1, "fake device: it sees %s", faults[i].what);
		end();
	}
}

static void it_counts_pageable_copies(void)
{
	static unsigned char pageable[BYTES];

	begin((struct fake_options){0});
	driver->cuMemcpyHtoDAsync(memory, pageable, 100, stream);
	driver->cuMemcpyHtoDAsync(memory, from, BYTES, stream);
	is_int(fake_device_pageable_bytes(), 100, "fake device: it counts copies of pageable memory");
	driver->cuStreamSynchronize(stream);
	end();
}

static void a_lost_device_moves_nothing(void)
{
	begin((struct fake_options){0});
	memset(to, 1, BYTES);
	fake_device_fail_operation(fake_device_operations() + 1, REEL_CU_ILLEGAL_ADDRESS);
	driver->cuMemcpyHtoDAsync(memory, from, BYTES, stream);
	driver->cuMemcpyDtoHAsync(to, memory, BYTES, stream);
	driver->cuEventRecord(event, stream);
	is_int(driver->cuEventSynchronize(event), REEL_CU_ILLEGAL_ADDRESS,
	       "fake device: an operation that fails loses the device");
	is_int(driver->cuMemAlloc(&memory, 1), REEL_CU_ILLEGAL_ADDRESS, "fake device: for good");
	ok(memcmp(from, to, BYTES) != 0, "fake device: later operations are not carried out");
	fake_device_close();
	begin((struct fake_options){0});
	fake_device_fail_call(fake_device_calls() + 1, REEL_CU_UNKNOWN, false);
	ok(!driver->cuStreamQuery(stream) && driver->cuStreamQuery(stream) == REEL_CU_UNKNOWN &&
		   !driver->cuStreamQuery(stream),
	   "fake device: one call fails, as asked for");
	is_string(fake_device_call_name(fake_device_calls() - 1), "cuStreamQuery",
		  "fake device: calls have names");
	end();
}

static void calculate(void *argument)
{
	*(int *)argument += 1;
}

/* Returns the nearest number of microseconds on the clock since `start`. */
static long long passed_us(double start)
{
	return (long long)((fake_device_seconds() - start) * 1e6 + 0.5);
}

/* A copy takes 6000 us. Each call takes 2 us, and counts before what it enqueues begins. */
static void the_clock_is_calculated(void)
{
	reel_cu_event sleeping;
	double start;
	int ran = 0;

	begin((struct fake_options){.link_bytes_per_second = BYTES / 6e-3});
	fake_device_kernels_take(3e-3);
	start = fake_device_seconds();
	driver->cuMemcpyHtoDAsync(memory, from, BYTES, stream);
	driver->cuEventRecord(event, stream);
	driver->cuMemsetD8Async(memory, 1, BYTES, stream);
	driver->cuStreamWaitEvent(other, event, 0);
	driver->cuLaunchHostFunc(other, calculate, &ran);
	is_int(driver->cuStreamQuery(stream), REEL_CU_NOT_READY,
	       "fake device: a stream is busy until its time has come");
	is_int(passed_us(start), 12, "fake device: the clock counts calls");
	driver->cuEventSynchronize(event);
	is_int(passed_us(start), 6002, "fake device: a copy takes its time by the clock");
	driver->cuStreamSynchronize(stream);
	is_int(passed_us(start), 6102, "fake device: a set takes a sixtieth of that");
	driver->cuStreamSynchronize(other);
	is_int(passed_us(start), 9002, "fake device: a kernel runs beside it, after the event");
	ok(!driver->cuStreamQuery(other) && ran == 1, "fake device: a stream ends in its time");
	driver->cuMemcpyDtoHAsync(to, memory, BYTES / 2, stream);
	driver->cuMemcpyDtoHAsync(to + BYTES / 2, memory, BYTES / 2, other);
	fake_device_finish();
	is_int(passed_us(start), 15006, "fake device: the link carries one copy after the other");
	driver->cuEventCreate(&sleeping, REEL_CU_EVENT_BLOCKING_SYNC);
	driver->cuMemcpyHtoDAsync(memory, from, BYTES, stream);
	driver->cuEventRecord(sleeping, stream);
	start = fake_device_seconds();
	is_int(driver->cuEventQuery(sleeping), REEL_CU_NOT_READY,
	       "fake device: an event has not come until its time");
	driver->cuEventSynchronize(sleeping);
	is_int(passed_us(start), 6048, "fake device: the host wakes up 50 us late");
	ok(passed_us(start) - (long long)(fake_device_idle_seconds() * 1e6 + 0.5) == 4,
	   "fake device: it slept, after two calls");
	is_int(driver->cuEventQuery(sleeping), 0, "fake device: the event has come");
	driver->cuEventDestroy(sleeping);
	end();
}

int main(void)
{
	tap_begin();
	events_order_streams();
	late_operations_come_when_they_are_waited_for();
	if (MAY_RACE)
		a_target_is_poisoned_until_its_event();
	it_sees_each_fault();
	it_counts_pageable_copies();
	a_lost_device_moves_nothing();
	the_clock_is_calculated();
	return tap_end();
}
