/* SPDX-License-Identifier: MIT */
/* A layer that counts transfers and their bytes. */
#ifndef TESTS_STORE_COUNT_H
#define TESTS_STORE_COUNT_H

#include <reel/extend.h>

#ifdef __cplusplus
extern "C" {
#endif

struct reel_store_counts {
	uint64_t puts, gets, drops;
	uint64_t put_bytes, got_bytes; /* of transfers that succeeded */
	uint64_t failed_puts, failed_gets;
};

/* Counts transfers and their bytes. 0, or -ENOMEM. reel_store_get_counts(): any thread. */
int reel_store_count_open(reel_store **store, reel_store *below);
void reel_store_get_counts(reel_store *count, struct reel_store_counts *counts);

/* Makes the store claim to register memory, like a store of a device. Nothing else changes. */
void reel_store_count_registers(reel_store *store);

#ifdef __cplusplus
}
#endif

#endif
