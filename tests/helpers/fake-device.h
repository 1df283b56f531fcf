/* SPDX-License-Identifier: MIT */
/*
 * A device for tests: the driver's functions over host memory. Each stream is a thread,
 * which carries its operations out in order, after delays that the seed draws; between
 * streams, and towards the host, only events and waits make an order, as on a real device.
 *
 * It sees mistakes that a real device would answer with wrong data, now and then, and counts
 * them in fake_device_wrongs():
 *
 *	a source that changes between the copy's call and the event after it; a target
 *	that is written meanwhile (until then a target is poisoned)
 *	a copy from or to memory that is not the device's, or was freed
 *	memory that is freed or unregistered while a copy uses it
 *	registered memory that went back to the system before it was unregistered
 *	operations of two streams on the same memory that nothing orders
 *	a handle that is none; a driver call in a host function
 *
 * With `late` a stream carries an operation out when the host waits for it, or when another stream
 * for which the host waits needs it. cuStreamQuery() lets one operation go. Unless seed % 4 is 0,
 * each other call also lets an operation of a stream go, with a probability that depends on the
 * seed, so operations come at all times that are permitted. fake_device_close() drops the others.
 *
 * With `link_bytes_per_second` the device has a clock, and no delays. Its times are calculated when
 * calls are made, so that all runs have the same ones. A copy between host and device takes its
 * bytes over this rate, and a copy on the device a sixtieth of this. fake_device_kernels_take() sets
 * the time of a kernel. A call of the driver takes the host 2 us, and all else that the host does
 * takes none. The link carries one copy at a time in each direction, in the order of the calls, and
 * kernels share nothing. A stream begins an operation after the call that enqueued it, and after all
 * that the stream waits for. A wait lasts until the stream or event has ended, and queries compare
 * with the host's time. The host sleeps in a wait for an event of that kind (BLOCKING_SYNC), and
 * wakes up 50 us late; in other waits it is busy. With a clock only one thread may call the driver.
 *
 * With `paced` it is a device to measure with: the streams sleep until the link has carried their
 * copies, and nothing is watched or poisoned. A thread that sleeps in a wait for an event wakes up
 * late by the time of 9 MiB on the link, as on an H100: 175 us at 53 GB/s.
 *
 * A device address is the address of the host memory that stands for it, so an emulated
 * kernel can run in a stream's order, as a host function. One device at a time, of the
 * process. The functions below are any thread's.
 */
#ifndef REEL_GPU_FAKE_DEVICE_H
#define REEL_GPU_FAKE_DEVICE_H

#include "gpu/driver/driver.h"

/* All zero is sensible. */
struct fake_options {
	uint64_t seed;         /* of the delays */
	size_t memory_bytes;   /* 0: 1 GiB */
	size_t pinned_bytes;   /* most host memory that can be pinned; 0: any */
	unsigned devices;      /* 0: 1; all are alike, and share the memory */
	unsigned delay_us;     /* the longest sleep; 0: threads yield, no more */
	bool eager;            /* no delays at all */
	bool late;             /* operations come as late as waits permit; see below */
	bool absent;           /* there is a driver, but no device */
	double link_bytes_per_second; /* 0: no clock; see below */
	bool paced;            /* copies really take this time, and there is no clock; see below */
};

/* The memory of the device that host functions read and write which are enqueued from now on. */
void fake_device_kernels_use(void *memory, size_t bytes);

/* Sets the time that each host function takes by the clock, of those enqueued from now on. */
void fake_device_kernels_take(double seconds);
/* The host's time by the clock, and for how much of it the host slept. */
double fake_device_seconds(void);
double fake_device_idle_seconds(void);

const struct reel_driver *fake_device_open(const struct fake_options *options);

/* Ends all threads and frees all memory. Returns how many objects nobody had freed. */
unsigned fake_device_close(void);

/* Calls of the table so far, except the two that explain errors. */
uint64_t fake_device_calls(void);

/* The name of the call with this number, of those so far; NULL: there are fewer. */
const char *fake_device_call_name(uint64_t number);

/*
 * From now on: the call with this number (the first is 0) returns `result` and does
 * nothing else. With `persistent` the device is lost then: operations under way stay
 * undone, and all calls return `result`.
 */
void fake_device_fail_call(uint64_t number, reel_cu_result result, bool persistent);

/* The device is lost when it carries out this operation of a stream. */
void fake_device_fail_operation(uint64_t number, reel_cu_result result);
uint64_t fake_device_operations(void);

/* Waits until no stream has an operation left. */
void fake_device_finish(void);

/*
 * From now on: the call with this number of those with this name does nothing, and says that it
 * succeeded, as if the program left it out: an event, a wait or a copy. The next waits begin
 * `pause_us` later, so that other threads have time to use memory that they believe complete.
 */
void fake_device_skip_call(const char *name, uint64_t number, unsigned pause_us);

/* None of the above any more; a lost device stays lost. */
void fake_device_stop_failing(void);

unsigned fake_device_wrongs(void);
/* The last one, in words. */
const char *fake_device_wrong(void);

/* Bytes that were copied from or to host memory that is not pinned. */
uint64_t fake_device_pageable_bytes(void);
/* Host memory that is pinned now: allocated, and registered. */
size_t fake_device_pinned_bytes(void);
size_t fake_device_registered_bytes(void);

#endif
