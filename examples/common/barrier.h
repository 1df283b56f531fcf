/* SPDX-License-Identifier: MIT */
/*
 * Barriers by hand, to compare with: their threads spin and never sleep, so that each one needs a
 * processor of its own. A barrier is all zero at first, and so is `passed` of each thread, the
 * number of times that the thread has passed.
 */
#ifndef EXAMPLES_BARRIER_H
#define EXAMPLES_BARRIER_H

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

#define BARRIER_LINE 128
#define BARRIER_MAX_THREADS 64
#define BARRIER_MAX_STEPS 6 /* the logarithm of it */

static inline void barrier_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Acquire: pairs with the release by which another thread of the barrier counts. */
static inline void barrier_await(_Atomic uint64_t *word, uint64_t least)
{
	unsigned looks = 0;

	while (atomic_load_explicit(word, memory_order_acquire) < least) {
		barrier_pause();
		/* Another thread may wait for this processor. */
		if (++looks % 16384 == 0)
			sched_yield();
	}
}

/* All threads count in one word, and look there until all have come. */
struct spin_barrier {
	_Alignas(BARRIER_LINE) _Atomic uint64_t arrivals;
};

static inline void spin_barrier_pass(struct spin_barrier *barrier, uint64_t *passed, int threads)
{
	/*
	 * Acquire and release: pairs with the same line of the other threads, and with
	 * barrier_await().
	 */
	atomic_fetch_add_explicit(&barrier->arrivals, 1, memory_order_acq_rel);
	barrier_await(&barrier->arrivals, ++*passed * (uint64_t)threads);
}

/*
 * In step k each thread tells the one that is 2^k after it, and waits for the one that is 2^k
 * before it (Hensgen, Finkel and Manber, Two Algorithms for Barrier Synchronization, 1988).
 */
struct dissemination_barrier {
	struct {
		_Alignas(BARRIER_LINE) _Atomic uint64_t told;
	} at[BARRIER_MAX_THREADS][BARRIER_MAX_STEPS];
};

static inline void dissemination_barrier_pass(struct dissemination_barrier *barrier,
					      uint64_t *passed, int thread, int threads)
{
	++*passed;
	for (int k = 0, distance = 1; distance < threads; k++, distance *= 2) {
		int next = (thread + distance) % threads;

		/* Release: pairs with barrier_await() of the next thread. */
		atomic_store_explicit(&barrier->at[next][k].told, *passed, memory_order_release);
		barrier_await(&barrier->at[thread][k].told, *passed);
	}
}

#endif
