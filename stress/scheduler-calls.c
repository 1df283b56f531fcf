/* SPDX-License-Identifier: MIT */
/*
 * Calls that the linker leads here. Locks and semaphores stay real ones, which only the
 * scheduler waits for: so the child of a fork, and threads outside, find them as they are.
 */
#include <config.h>

#include "scheduler.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>

/* One in IDLE_WAKE_UPS waits for a condition ends for no reason. */
#define IDLE_WAKE_UPS 8
#define MAX_BARRIERS 8

#define WRAPPED(result, name, ...)                                                                 \
	result __real_##name(__VA_ARGS__);                                                         \
	result __wrap_##name(__VA_ARGS__);                                                         \
	result __wrap_##name(__VA_ARGS__)

static uint64_t ns_of(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
}

/* ---- Mutexes and conditions ---- */

static int lock(pthread_mutex_t *mutex)
{
	int error;

	while ((error = pthread_mutex_trylock(mutex)) == EBUSY)
		scheduler_wait(mutex, "a mutex", SCHEDULER_NEVER);
	return error;
}

WRAPPED(int, pthread_mutex_lock, pthread_mutex_t *mutex)
{
	if (!scheduler_self())
		return __real_pthread_mutex_lock(mutex);
	scheduler_step("pthread_mutex_lock", 0);
	return lock(mutex);
}

int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);

static int unlock(pthread_mutex_t *mutex)
{
	int error = __real_pthread_mutex_unlock(mutex);

	scheduler_wake(mutex, true);
	return error;
}

WRAPPED(int, pthread_mutex_unlock, pthread_mutex_t *mutex)
{
	int error;

	if (!scheduler_self())
		return __real_pthread_mutex_unlock(mutex);
	error = unlock(mutex);
	scheduler_step("pthread_mutex_unlock", 0);
	return error;
}

static bool wait_unlocked(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t deadline_ns)
{
	bool woken = true;

	unlock(mutex);
	if (scheduler_chance(IDLE_WAKE_UPS))
		scheduler_step("an idle wake-up", 0);
	else
		woken = scheduler_wait(condition, "a condition", deadline_ns);
	lock(mutex);
	return woken;
}

WRAPPED(int, pthread_cond_wait, pthread_cond_t *condition, pthread_mutex_t *mutex)
{
	if (!scheduler_self())
		return __real_pthread_cond_wait(condition, mutex);
	scheduler_step("pthread_cond_wait", 0);
	wait_unlocked(condition, mutex, SCHEDULER_NEVER);
	return 0;
}

WRAPPED(int, pthread_cond_timedwait, pthread_cond_t *condition, pthread_mutex_t *mutex,
	const struct timespec *until)
{
	if (!scheduler_self())
		return __real_pthread_cond_timedwait(condition, mutex, until);
	scheduler_step("pthread_cond_timedwait", 0);
	return wait_unlocked(condition, mutex, ns_of(until)) ? 0 : ETIMEDOUT;
}

WRAPPED(int, pthread_cond_signal, pthread_cond_t *condition)
{
	if (!scheduler_self())
		return __real_pthread_cond_signal(condition);
	scheduler_step("pthread_cond_signal", 0);
	scheduler_wake(condition, false);
	return 0;
}

WRAPPED(int, pthread_cond_broadcast, pthread_cond_t *condition)
{
	if (!scheduler_self())
		return __real_pthread_cond_broadcast(condition);
	scheduler_step("pthread_cond_broadcast", 0);
	scheduler_wake(condition, true);
	return 0;
}

/* ---- Semaphores ---- */

static int take(sem_t *semaphore, uint64_t deadline_ns)
{
	while (sem_trywait(semaphore)) {
		if (errno != EAGAIN)
			return -1;
		if (scheduler_wait(semaphore, "a semaphore", deadline_ns))
			continue;
		if (!sem_trywait(semaphore))
			return 0;
		errno = ETIMEDOUT;
		return -1;
	}
	return 0;
}

WRAPPED(int, sem_wait, sem_t *semaphore)
{
	if (!scheduler_self())
		return __real_sem_wait(semaphore);
	scheduler_step("sem_wait", 0);
	return take(semaphore, SCHEDULER_NEVER);
}

WRAPPED(int, sem_timedwait, sem_t *semaphore, const struct timespec *until)
{
	if (!scheduler_self())
		return __real_sem_timedwait(semaphore, until);
	scheduler_step("sem_timedwait", 0);
	return take(semaphore, ns_of(until));
}

#if HAVE_SEM_CLOCKWAIT
/* There is one clock here. */
WRAPPED(int, sem_clockwait, sem_t *semaphore, clockid_t clock, const struct timespec *until)
{
	if (!scheduler_self())
		return __real_sem_clockwait(semaphore, clock, until);
	scheduler_step("sem_clockwait", 0);
	return take(semaphore, ns_of(until));
}
#endif

WRAPPED(int, sem_post, sem_t *semaphore)
{
	int error;

	if (!scheduler_self())
		return __real_sem_post(semaphore);
	error = __real_sem_post(semaphore);
	scheduler_wake(semaphore, true);
	scheduler_step("sem_post", 0);
	return error;
}

/* ---- Barriers ---- */

static struct barrier {
	const pthread_barrier_t *of;
	unsigned threads, arrived;
	uint64_t rounds;
} barriers[MAX_BARRIERS];

/* NULL asks for a free one. */
static struct barrier *find_barrier(const pthread_barrier_t *of)
{
	for (unsigned i = 0; i < MAX_BARRIERS; i++)
		if (barriers[i].of == of)
			return &barriers[i];
	abort();
}

WRAPPED(int, pthread_barrier_init, pthread_barrier_t *barrier,
	const pthread_barrierattr_t *attributes, unsigned threads)
{
	if (scheduler_self())
		*find_barrier(NULL) = (struct barrier){.of = barrier, .threads = threads};
	return __real_pthread_barrier_init(barrier, attributes, threads);
}

WRAPPED(int, pthread_barrier_destroy, pthread_barrier_t *barrier)
{
	if (scheduler_self())
		find_barrier(barrier)->of = NULL;
	return __real_pthread_barrier_destroy(barrier);
}

WRAPPED(int, pthread_barrier_wait, pthread_barrier_t *barrier)
{
	struct barrier *known;
	uint64_t round;

	if (!scheduler_self())
		return __real_pthread_barrier_wait(barrier);
	scheduler_step("pthread_barrier_wait", 0);
	known = find_barrier(barrier);
	round = known->rounds;
	if (++known->arrived == known->threads) {
		known->arrived = 0;
		known->rounds++;
		scheduler_wake(barrier, true);
		return PTHREAD_BARRIER_SERIAL_THREAD;
	}
	while (known->rounds == round)
		scheduler_wait(barrier, "a barrier", SCHEDULER_NEVER);
	return 0;
}

/* ---- Threads ---- */

WRAPPED(int, pthread_create, pthread_t *id, const pthread_attr_t *attributes,
	void *(*body)(void *), void *argument)
{
	struct scheduler_thread *thread;
	int error;

	if (!scheduler_self())
		return __real_pthread_create(id, attributes, body, argument);
	thread = scheduler_announce(body, argument);
	error = __real_pthread_create(id, attributes, scheduler_live, thread);
	if (error)
		scheduler_withdraw(thread);
	else
		scheduler_know(thread, (uintptr_t)*id);
	scheduler_step("pthread_create", 0);
	return error;
}

WRAPPED(int, pthread_join, pthread_t id, void **result)
{
	if (scheduler_self()) {
		scheduler_step("pthread_join", 0);
		scheduler_await_end((uintptr_t)id);
	}
	return __real_pthread_join(id, result);
}

WRAPPED(int, sched_yield, void)
{
	if (!scheduler_self())
		return __real_sched_yield();
	scheduler_step("sched_yield", 0);
	scheduler_step_aside();
	return 0;
}

/* ---- Time ---- */

WRAPPED(int, clock_gettime, clockid_t clock, struct timespec *time)
{
	uint64_t now = scheduler_now_ns();

	if (!scheduler_self())
		return __real_clock_gettime(clock, time);
	time->tv_sec = (time_t)(now / 1000000000u);
	time->tv_nsec = (long)(now % 1000000000u);
	return 0;
}

WRAPPED(int, nanosleep, const struct timespec *time, struct timespec *left)
{
	if (!scheduler_self())
		return __real_nanosleep(time, left);
	scheduler_step("nanosleep", 0);
	scheduler_wait(NULL, "its time", scheduler_now_ns() + ns_of(time));
	return 0;
}
