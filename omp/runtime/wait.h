/* SPDX-License-Identifier: MIT */
/* Waiting for a number that another thread sets: awake at first, then asleep. */
#ifndef REEL_OMP_WAIT_H
#define REEL_OMP_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct reel_omp_wait {
	const _Atomic uint64_t *word;
	/* A word that is larger by at most `beyond` has had that value. */
	uint64_t value, beyond;
	/* An error that also ends the wait, once it is not 0. */
	const _Atomic int32_t *failed;
	/* Number of times that the thread looks at `word` before it first yields the processor. */
	unsigned looks;
};

/* Returns true if the word has, or has had, that value. */
static inline bool reel_omp_has_come(const struct reel_omp_wait *wait)
{
	/*
	 * Sequentially consistent: pairs with arrive() and let_go_on() (barrier.c) and with
	 * reel_ordered_done() (ordered.c). Makes all that preceded the change of the word visible.
	 */
	return atomic_load_explicit(wait->word, memory_order_seq_cst) - wait->value <= wait->beyond;
}

/*
 * Waits without sleeping, for some ten microseconds. Returns whether the wait is over: the value
 * has come, or something has failed.
 */
bool reel_omp_look(const struct reel_omp_wait *wait);

/*
 * Sleeps until the word has that value. Returns false if something has failed, or if OpenMP has
 * cancelled the parallel region: the threads that left it may be those that would set the word.
 */
bool reel_omp_sleep(const struct reel_omp_wait *wait);

/*
 * After the word was changed or something failed, by a sequentially consistent operation: wakes the
 * threads that sleep until this word (or any word) changes. Each of them looks again.
 */
void reel_omp_wake(const _Atomic uint64_t *word);
void reel_omp_wake_all(void);

/* Number of looks for a wait whose length depends on the program, such as one for a turn. */
#define REEL_OMP_FEW_LOOKS 20

/*
 * Returns true if the machine has a processor for each of `threads` threads. The answer to a number
 * never changes, so that all threads of a team get the same one.
 */
bool reel_omp_has_processors(int threads);

/*
 * Returns the number of looks for a wait in a team of `threads` threads: few if the machine has
 * fewer processors, since looking keeps the other threads from theirs.
 */
unsigned reel_omp_looks(int threads);

#endif
