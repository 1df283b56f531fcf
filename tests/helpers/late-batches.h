/* SPDX-License-Identifier: MIT */
#ifndef TESTS_LATE_BATCHES_H
#define TESTS_LATE_BATCHES_H

#include <reel/extend.h>

#define LATE_BATCH_BYTES 8192

#ifdef __cplusplus
extern "C" {
#endif

/* The distance of the puts that fail with -ENOSPC; 0: none fails. */
reel_store *late_batches_open(uint64_t seed, unsigned put_fails_every);
/* Number of puts that the store may not be given. */
unsigned late_batches_wrongs(const reel_store *store);
/* Places that are in use. */
unsigned late_batches_used(const reel_store *store);
unsigned late_batches_puts(const reel_store *store);

#ifdef __cplusplus
}
#endif

#endif
