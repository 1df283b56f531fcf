/* SPDX-License-Identifier: MIT */
/*
 * Waits for a word to get a value: looks, then gives the processor up, then sleeps. Any thread
 * waits and wakes. A wait ends when the value has come, when something has failed, or when OpenMP
 * has cancelled the parallel region; no wake-up is lost (see reel_omp_sleep()).
 */
#include "config.h"

#include "wait.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "os/assert.h"
#include "os/cancel.h"
#include "os/clock.h"
#include "os/yield.h"
#include "team.h"

/* Number of times that a thread looks, which takes some ten microseconds. */
#define LOOKS 1000
/* Number of times that it gives the processor up before it sleeps. */
#define YIELDS 80
/* One wait in PROBE is a so-called probe: it looks as often as the first wait. */
#define PROBE 64
/* Time after which a sleeping thread asks again whether OpenMP has cancelled the region. */
#define ASKING_NS 20000000

/* Threads sleep in one of these queues, by the address of the word. */
#define QUEUES 64

static struct queue {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	_Atomic unsigned sleepers;
} queues[QUEUES];

/*
 * Called once, before the first thread sleeps. Threads that wake others look at `sleepers` first.
 */
static void open_queues(void)
{
	for (unsigned i = 0; i < QUEUES; i++) {
		pthread_mutex_init(&queues[i].lock, NULL);
		reel_clock_condition(&queues[i].changed);
	}
}

/* Both terms are needed: words of 8 bytes may be neighbours, or lie 128 bytes apart. */
static struct queue *queue_of(const _Atomic uint64_t *word)
{
	uintptr_t address = (uintptr_t)word;

	return &queues[(address / sizeof *word + address / 128) % QUEUES];
}

/* Lets the other thread of the core go on. */
static inline void relax(void)
{
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
	__builtin_ia32_pause();
#elif defined(__GNUC__) && defined(__aarch64__)
	__asm__ volatile("yield");
#endif
	reel_yield_point();
}

static bool is_over(const struct reel_omp_wait *wait)
{
	/*
	 * Sequentially consistent: pairs with reel_region_note_mistake() at a barrier, and with
	 * reel_lane_end_waits() in a wait for a turn.
	 */
	return reel_omp_has_come(wait) || atomic_load_explicit(wait->failed, memory_order_seq_cst);
}

/*
 * Sleeps until the queue is woken. Nobody wakes it when a region is cancelled, so where that can
 * be, the thread wakes by itself to ask. Returns whether the region is cancelled.
 */
static bool sleep_in(struct queue *queue)
{
	struct timespec end;

	if (!reel_omp_is_cancellable()) {
		pthread_cond_wait(&queue->changed, &queue->lock);
		return false;
	}
	end = reel_clock_after(ASKING_NS);
	pthread_cond_timedwait(&queue->changed, &queue->lock, &end);
	return reel_omp_is_cancelled();
}

/*
 * All accesses are sequentially consistent: either this thread sees the new value, or the thread
 * that changes it sees a sleeper, and wakes it after it has begun to sleep.
 */
bool reel_omp_sleep(const struct reel_omp_wait *wait)
{
	REEL_UNCANCELLED;
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct queue *queue = queue_of(wait->word);
	bool cancelled = false;
	unsigned sleepers;

	pthread_once(&once, open_queues);
	pthread_mutex_lock(&queue->lock);
	atomic_fetch_add_explicit(&queue->sleepers, 1, memory_order_seq_cst);
	while (!is_over(wait) && !cancelled)
		cancelled = sleep_in(queue);
	sleepers = atomic_fetch_sub_explicit(&queue->sleepers, 1, memory_order_seq_cst);
	REEL_ASSERT(sleepers > 0);
	(void)sleepers;
	pthread_mutex_unlock(&queue->lock);
	return reel_omp_has_come(wait);
}

static void wake(struct queue *queue)
{
	/*
	 * Sequentially consistent: pairs with the addition in reel_omp_sleep(). If this thread sees
	 * no sleeper, a thread that is about to sleep sees the new value of the word.
	 */
	if (!atomic_load_explicit(&queue->sleepers, memory_order_seq_cst))
		return;
	reel_yield_point();
	pthread_mutex_lock(&queue->lock);
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
}

void reel_omp_wake(const _Atomic uint64_t *word)
{
	wake(queue_of(word));
}

void reel_omp_wake_all(void)
{
	for (unsigned i = 0; i < QUEUES; i++)
		wake(&queues[i]);
}

/*
 * Two threads may have to share a processor. Then looking keeps away the very thread that this one
 * waits for. So a thread that looked in vain halves the looks of its next wait, down to few, and a
 * thread that looked with success doubles them. Few looks may miss a value that comes a little
 * later and would stay few, so one wait in PROBE looks as often as at first, and a success restores
 * that number.
 */
static bool look_often(const struct reel_omp_wait *wait)
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

bool reel_omp_look(const struct reel_omp_wait *wait)
{
	bool over = look_often(wait);

	for (unsigned yield = 0; yield < YIELDS && !over; yield++) {
		sched_yield();
		over = is_over(wait);
	}
	return over;
}

bool reel_omp_has_processors(int threads)
{
	/* Relaxed is enough: a number that guards no memory. 0: not known yet. */
	static _Atomic long processors;
	long known = atomic_load_explicit(&processors, memory_order_relaxed);

	if (!known) {
		REEL_UNCANCELLED;
		long found = sysconf(_SC_NPROCESSORS_ONLN);

		if (atomic_compare_exchange_strong_explicit(&processors, &known, found,
							    memory_order_relaxed,
							    memory_order_relaxed))
			known = found;
	}
	return threads <= known;
}

unsigned reel_omp_looks(int threads)
{
	return reel_omp_has_processors(threads) ? LOOKS : REEL_OMP_FEW_LOOKS;
}
