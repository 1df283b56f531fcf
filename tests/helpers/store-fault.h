/* SPDX-License-Identifier: MIT */
/* A layer that makes transfers fail. */
#ifndef TESTS_STORE_FAULT_H
#define TESTS_STORE_FAULT_H

#include <reel/extend.h>

#ifdef __cplusplus
extern "C" {
#endif

enum reel_fault {
	REEL_FAULT_ERROR,    /* complete with `error`, without asking the store below */
	REEL_FAULT_LATE,     /* complete when the next transfer comes, or at sync */
	REEL_FAULT_FLIP,     /* turn over bit number `bit` of header and data */
	REEL_FAULT_MISPLACE, /* get the block of another put: the first one that is not dropped */
	REEL_FAULT_VANISH    /* every transfer from now on is -ENODEV */
};

struct reel_fault_rule {
	enum reel_fault fault;
	bool put;         /* of puts, else of gets */
	bool persistent;  /* from number `at` on, else that one only */
	uint64_t at;      /* the first put or get is number 0 */
	int error;        /* negative errno */
	uint64_t bit;
};

/*
 * Make transfers fail as the rules say; for tests. The rules are copied. 0, -ENOMEM, or -EINVAL:
 * `count` rules at NULL.
 */
int reel_store_fault_open(reel_store **store, reel_store *below,
			  const struct reel_fault_rule *rules, size_t count);

#ifdef __cplusplus
}
#endif

#endif
