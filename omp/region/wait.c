/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "wait.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "os/cancel.h"
#include "os/yield.h"

/* After that, so often the processor is given up before the thread sleeps. */
#define YIELDS 80
/* Some ten microseconds. */
#define LOOKS 1000
/* One of so many waits looks as often as at first. */
#define PROBE 64

/* Threads sleep at one of these places, by the address of what they wait for. */
#define PLACES 64

static struct place {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	_Atomic unsigned sleepers;
} places[PLACES] = {
#define PLACE {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0}
#define FOUR PLACE, PLACE, PLACE, PLACE
#define SIXTEEN FOUR, FOUR, FOUR, FOUR
	SIXTEEN, SIXTEEN, SIXTEEN, SIXTEEN
#undef SIXTEEN
#undef FOUR
#undef PLACE
};

static struct place *place_of(const _Atomic uint64_t *word)
{
	return &places[(uintptr_t)word / sizeof *word % PLACES];
}

/* The other thread of a core goes on meanwhile. */
static inline void relax(void)
{
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
	__builtin_ia32_pause();
#elif defined(__GNUC__) && defined(__aarch64__)
	__asm__ volatile("yield");
#endif
	reel_yield_point();
}

/* Sequentially consistent: pairs with who changes the word; see sleep_until_over(). */
static bool has_come(const struct reel_omp_wait *wait)
{
	return atomic_load_explicit(wait->word, memory_order_seq_cst) == wait->value;
}

static bool is_over(const struct reel_omp_wait *wait)
{
	/* Sequentially consistent: pairs with who sets it. */
	return has_come(wait) ||
	       (wait->failed && atomic_load_explicit(wait->failed, memory_order_seq_cst));
}

/*
 * All are sequentially consistent: either this thread sees the new value, or who changes it
 * sees that somebody sleeps, and wakes him after he has begun to.
 */
static void sleep_until_over(const struct reel_omp_wait *wait)
{
	REEL_UNCANCELLED;
	struct place *place = place_of(wait->word);

	pthread_mutex_lock(&place->lock);
	atomic_fetch_add_explicit(&place->sleepers, 1, memory_order_seq_cst);
	while (!is_over(wait))
		pthread_cond_wait(&place->changed, &place->lock);
	atomic_fetch_sub_explicit(&place->sleepers, 1, memory_order_seq_cst);
	pthread_mutex_unlock(&place->lock);
}

static void wake(struct place *place)
{
	if (!atomic_load_explicit(&place->sleepers, memory_order_seq_cst))
		return;
	reel_yield_point();
	pthread_mutex_lock(&place->lock);
	pthread_cond_broadcast(&place->changed);
	pthread_mutex_unlock(&place->lock);
}

void reel_omp_wake(const _Atomic uint64_t *word)
{
	wake(place_of(word));
}

void reel_omp_wake_all(void)
{
	for (unsigned i = 0; i < PLACES; i++)
		wake(&places[i]);
}

/*
 * Two threads may have to share a processor, with others idle or not: then looking keeps away
 * the very thread that is waited for. A thread for which all looks were in vain halves them for
 * its next wait, down to few; one that sees what it waits for doubles them again. Looks that have
 * become few can miss what comes a little later, and would stay few: so now and then a thread looks
 * as often as at first, and if that is not in vain, it goes on so.
 */
static bool look(const struct reel_omp_wait *wait)
{
	static _Thread_local unsigned halvings, waits;
	bool probes = ++waits % PROBE == 0;
	unsigned looks = probes ? wait->looks : wait->looks >> halvings;

	if (looks < REEL_OMP_FEW_LOOKS)
		looks = REEL_OMP_FEW_LOOKS;
	for (unsigned i = 0; i < looks; i++) {
		if (is_over(wait)) {
			halvings -= probes ? halvings : halvings > 0;
			return true;
		}
		relax();
	}
	halvings += !probes && looks > REEL_OMP_FEW_LOOKS;
	return is_over(wait);
}

bool reel_omp_await(const struct reel_omp_wait *wait)
{
	bool over = look(wait);

	for (unsigned yield = 0; yield < YIELDS && !over; yield++) {
		sched_yield();
		over = is_over(wait);
	}
	if (!over)
		sleep_until_over(wait);
	return has_come(wait);
}

unsigned reel_omp_looks(int threads)
{
	/* Relaxed: a number, that belongs to no other data. 0: not asked for yet. */
	static _Atomic long processors;
	long known = atomic_load_explicit(&processors, memory_order_relaxed);

	if (!known) {
		REEL_UNCANCELLED;

		known = sysconf(_SC_NPROCESSORS_ONLN);
		atomic_store_explicit(&processors, known, memory_order_relaxed);
	}
	return threads <= known ? LOOKS : REEL_OMP_FEW_LOOKS;
}
