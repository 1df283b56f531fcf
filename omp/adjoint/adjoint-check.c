/* SPDX-License-Identifier: MIT */
/*
 * Check mode. The user of an element is the epoch (above) and the lane (below) that used it
 * last; a phase of a sweep is an epoch, so that nothing has to be cleared. All accesses are
 * relaxed: lanes that conflict meet in the order of changes of one word, whatever the
 * order of all else.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "adjoint.h"

bool reel_adjoint_asked_to_check(unsigned flags)
{
#if HAVE_SECURE_GETENV
	const char *text = secure_getenv("REEL_CHECKED");
#else
	const char *text = getenv("REEL_CHECKED");
#endif
	return flags & REEL_ADJOINT_CHECKED || (text && !strcmp(text, "1"));
}

int reel_adjoint_check_open(reel_adjoint *adjoint)
{
	struct adjoint_copy users = {0};

	if (adjoint->n > PTRDIFF_MAX / sizeof *adjoint->users)
		return -ENOMEM;
	if (reel_adjoint_copy_map(&users, (adjoint->n + 1) * sizeof *adjoint->users))
		return -ENOMEM;
	adjoint->users = (_Atomic uint64_t *)users.mapping;
	return 0;
}

void reel_adjoint_check_close(reel_adjoint *adjoint)
{
	size_t bytes = (adjoint->n + 1) * sizeof *adjoint->users;
	struct adjoint_copy users = {(char *)adjoint->users, reel_adjoint_copy_bytes(bytes)};

	reel_adjoint_copy_unmap(&users);
}

/* The epoch is above, the number that the program gave below. */
static uint64_t next_phase(uint64_t phase, int number)
{
	return ((phase >> 32) + 1) << 32 | (uint32_t)number;
}

void reel_adjoint_check_begin(reel_adjoint *adjoint)
{
	/* Relaxed: the program orders this before all adds. */
	uint64_t phase = atomic_load_explicit(&adjoint->phase, memory_order_relaxed);

	atomic_store_explicit(&adjoint->phase, next_phase(phase, 0), memory_order_relaxed);
}

/* Of the threads that come here after a barrier one makes the epoch, and the others see it. */
void reel_adjoint_phase(reel_adjoint *adjoint, int number)
{
	/* Relaxed: a thread that adds in this phase has been here, or the program orders it. */
	uint64_t phase = atomic_load_explicit(&adjoint->phase, memory_order_relaxed);

	while ((uint32_t)phase != (uint32_t)number &&
	       !atomic_compare_exchange_weak_explicit(&adjoint->phase, &phase,
						      next_phase(phase, number),
						      memory_order_relaxed, memory_order_relaxed))
		;
}

static void conflict(reel_adjoint *adjoint, size_t i, unsigned before, unsigned lane, int phase)
{
	/* Relaxed: it guards no memory. */
	atomic_fetch_add_explicit(&adjoint->conflicts, 1, memory_order_relaxed);
	/* Relaxed: who is first owns `conflict` until the release. */
	if (!atomic_flag_test_and_set_explicit(&adjoint->conflict_claimed, memory_order_relaxed)) {
		adjoint->conflict =
			(struct reel_adjoint_conflict){i, {before, lane}, phase};
		/* Release: pairs with the acquire in reel_adjoint_get_conflict(). */
		atomic_store_explicit(&adjoint->conflict_told, true, memory_order_release);
	}
	if (adjoint->policy == REEL_ADJOINT_OWNER)
		reel_adjoint_fail(adjoint, -EADDRINUSE,
				  "%s: element %zu is used by lanes %u and %u in phase %d, so "
				  "OWNER would lose sums; use PRIVATE or ATOMIC, or put a phase "
				  "between them",
				  adjoint->name, i, before, lane, phase);
}

/*
 * If the lane has been the last user before, nothing is stored: a lane that came in between
 * found this one, or is found by it at its next exchange.
 */
static void use(reel_adjoint *adjoint, size_t i, unsigned lane, uint64_t phase)
{
	uint64_t epoch = phase >> 32, user = epoch << 32 | lane;
	uint64_t before = atomic_load_explicit(&adjoint->users[i], memory_order_relaxed);

	if (before == user)
		return;
	before = atomic_exchange_explicit(&adjoint->users[i], user, memory_order_relaxed);
	if (before != user && before >> 32 == epoch)
		conflict(adjoint, i, (unsigned)(uint32_t)before, lane, (int)(uint32_t)phase);
}

bool reel_adjoint_check_use(reel_adjoint *adjoint, unsigned lane, size_t first, size_t n)
{
	/* Relaxed: see reel_adjoint_phase(). */
	uint64_t phase = atomic_load_explicit(&adjoint->phase, memory_order_relaxed);

	if (first > adjoint->n || n > adjoint->n - first) {
		reel_adjoint_fail(adjoint, -ERANGE,
				  "%s: lane %u uses %zu elements from index %zu, and there are "
				  "%zu; what was to be added there is dropped",
				  adjoint->name, lane, n, first, adjoint->n);
		return false;
	}
	for (size_t i = first; i < first + n; i++)
		use(adjoint, i, lane, phase);
	return true;
}

bool reel_adjoint_get_conflict(const reel_adjoint *adjoint, struct reel_adjoint_conflict *first)
{
	/* Acquire: pairs with the release in conflict(). */
	if (!atomic_load_explicit(&adjoint->conflict_told, memory_order_acquire))
		return false;
	*first = adjoint->conflict;
	return true;
}
