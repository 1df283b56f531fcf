/* SPDX-License-Identifier: MIT */
/* Shared by the tests on the fake device. */
#ifndef TESTS_GPU_SUPPORT_H
#define TESTS_GPU_SUPPORT_H

#include <reel/gpu.h>

#include "fake-device.h"
#include "support.h"
#include "helpers/store-fault.h"

static inline void open_fake(struct fake_options options)
{
	reel_driver_replace(fake_device_open(&options));
}

/* Whether nothing was left there that the device would have to keep. */
static inline bool close_fake(void)
{
	unsigned left = fake_device_close();

	reel_driver_replace(NULL);
	return left == 0;
}

/*
 * A leaf for puts of this number of bytes, with a fault above it, or none (NULL), and a checksum.
 * NULL: reel_error_text(0) says why.
 */
static inline reel_store *faulty_gpu_store(uint64_t bytes, size_t slot_bytes, unsigned depth,
					   const struct reel_fault_rule *rule, reel_store **leaf)
{
	struct reel_gpu_store_options options = {
		.bytes = bytes, .slot_bytes = slot_bytes, .depth = depth};
	reel_store *below, *store;

	if (reel_store_gpu_open(leaf, &options))
		return NULL;
	below = *leaf;
	if ((rule && reel_store_fault_open(&below, *leaf, rule, 1)) ||
	    reel_store_checksum_open(&store, below))
		abort();
	return store;
}

static inline reel_store *gpu_store(uint64_t bytes, size_t slot_bytes, unsigned depth,
				    reel_store **leaf)
{
	return faulty_gpu_store(bytes, slot_bytes, depth, NULL, leaf);
}

/* Puts that `first` refuses go to `next`. `first` may be NULL: it is not there. */
static inline reel_store *before(reel_store *first, reel_store *next)
{
	reel_store *second, *store;

	if (reel_store_checksum_open(&second, next))
		abort();
	if (!first)
		return second;
	if (reel_store_overflow_open(&store, first, second))
		abort();
	return store;
}

static inline reel_store *before_memory(reel_store *first)
{
	reel_store *memory;

	if (reel_store_memory_open(&memory, UINT64_MAX))
		abort();
	return before(first, memory);
}

static inline void close_fake_after(const char *what)
{
	unsigned wrongs = fake_device_wrongs();
	uint64_t pageable = fake_device_pageable_bytes();

	is_int(wrongs, 0, "fake device: nothing was touched before its event (%s)", what);
	is_int(pageable, 0, "fake device: no copy was of memory that is not pinned (%s)", what);
	ok(close_fake(), "fake device: nothing is left on it (%s)", what);
}

#endif
