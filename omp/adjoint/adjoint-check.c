/* SPDX-License-Identifier: MIT */
/*
 * Check mode: finds elements that two lanes use in one phase. `users` has a word for each element:
 * the epoch of the last use in the upper half, the lane in the lower half. Each phase of each sweep
 * is a new epoch, so words are cleared only when epochs run out. Any thread that runs a lane calls
 * the functions. All accesses to `users` are relaxed: of two lanes that use an element, the later
 * one in the order of changes of its word finds the earlier one, and no other memory depends on the
 * word.
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "adjoint.h"
#include "os/assert.h"
#include "os/environment.h"
#include "os/os.h"

int reel_adjoint_check_open(reel_adjoint *adjoint)
{
	const char *text = reel_environment("REEL_CHECKED");

	REEL_ASSERT(!adjoint->users);
	if (!(adjoint->flags & REEL_ADJOINT_CHECKED) && !(text && !strcmp(text, "1")))
		return 0;
	if (adjoint->n > PTRDIFF_MAX / sizeof *adjoint->users)
		return -ENOMEM;
	adjoint->users = reel_adjoint_map((adjoint->n + 1) * sizeof *adjoint->users);
	return adjoint->users ? 0 : -ENOMEM;
}

void reel_adjoint_check_close(reel_adjoint *adjoint)
{
	if (adjoint->users)
		reel_os_unmap((void *)adjoint->users, (adjoint->n + 1) * sizeof *adjoint->users);
}

/* The upper half of a phase is its epoch, the lower half the program's number for the phase. */
static uint64_t next_phase(uint64_t phase, int number)
{
	return ((phase >> 32) + 1) << 32 | (uint32_t)number;
}

/* Half of all epochs are left to the phases of a sweep. */
#define LAST_EPOCH_TO_BEGIN ((uint32_t)1 << 31)

void reel_adjoint_check_begin(reel_adjoint *adjoint)
{
	/* Relaxed: the program's own barrier orders this function before all adds. */
	uint64_t phase = atomic_load_explicit(&adjoint->phase, memory_order_relaxed);

	if (phase >> 32 >= LAST_EPOCH_TO_BEGIN) {
		for (size_t i = 0; i < adjoint->n; i++)
			atomic_store_explicit(&adjoint->users[i], 0, memory_order_relaxed);
		phase = 0;
	}
	atomic_store_explicit(&adjoint->phase, next_phase(phase, 0), memory_order_relaxed);
}

/* All threads call this after a barrier. The first one starts the epoch, the others find it. */
void reel_adjoint_phase(reel_adjoint *adjoint, int number)
{
	/* Relaxed: a thread calls this before it adds, or the program orders it before the adds. */
	uint64_t phase = atomic_load_explicit(&adjoint->phase, memory_order_relaxed);

	while ((uint32_t)phase != (uint32_t)number &&
	       !atomic_compare_exchange_weak_explicit(&adjoint->phase, &phase,
						      next_phase(phase, number),
						      memory_order_relaxed, memory_order_relaxed))
		;
}

static void conflict(reel_adjoint *adjoint, size_t i, unsigned before, unsigned lane, int phase)
{
	REEL_ASSERT(before != lane && before < adjoint->lanes_begun);
	/* Relaxed: a counter, which orders no other memory. */
	atomic_fetch_add_explicit(&adjoint->conflicts, 1, memory_order_relaxed);
	/* Relaxed: the thread that sets the flag is the only one that writes `conflict`. */
	if (!atomic_flag_test_and_set_explicit(&adjoint->conflict_claimed, memory_order_relaxed)) {
		adjoint->conflict =
			(struct reel_adjoint_conflict){i, {before, lane}, phase};
		/*
		 * Release: pairs with the acquire in reel_adjoint_get_conflict(). Makes
		 * `conflict` visible.
		 */
		atomic_store_explicit(&adjoint->conflict_told, true, memory_order_release);
	}
	if (adjoint->policy == REEL_ADJOINT_OWNER)
		reel_adjoint_fail(adjoint, -EADDRINUSE,
				  "%s: element %zu is used by lanes %u and %u in phase %d, so "
				  "OWNER would lose sums; use PRIVATE or ATOMIC, or put a phase "
				  "between them", adjoint->name, i, before, lane, phase);
}

/*
 * Stores nothing if the lane already was the last user. A second lane that used the element in the
 * meantime has found this lane in the word, or this lane finds it at its next exchange.
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

	/* The words of unused elements have epoch 0. */
	REEL_ASSERT(phase >> 32 > 0);
	if (first > adjoint->n || n > adjoint->n - first) {
		reel_adjoint_fail(adjoint, -ERANGE,
				  "%s: lane %u uses %zu elements from index %zu, and there are "
				  "%zu; the addition is dropped",
				  adjoint->name, lane, n, first, adjoint->n);
		return false;
	}
	for (size_t i = first; i < first + n; i++)
		use(adjoint, i, lane, phase);
	return true;
}

bool reel_adjoint_get_conflict(const reel_adjoint *adjoint, struct reel_adjoint_conflict *first)
{
	/* Acquire: pairs with the release in conflict(). Makes `conflict` visible. */
	if (!atomic_load_explicit(&adjoint->conflict_told, memory_order_acquire))
		return false;
	REEL_ASSERT(adjoint->conflict.index < adjoint->n);
	*first = adjoint->conflict;
	return true;
}
