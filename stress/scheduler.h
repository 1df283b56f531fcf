/* SPDX-License-Identifier: MIT */
/*
 * A schedule that a seed decides. Between scheduler_begin() and scheduler_end() the calling
 * thread and all that it starts run one at a time: they hand a token to each other at each
 * yield point (lib/os/yield.h) and at each call that locks, waits, signals, starts a thread or
 * asks for the time, which the linker leads here (scheduler_ldflags in local.mk). The scheduler
 * knows all waits, so it finds threads which all wait for each other at once; time passes with
 * the steps, and a wait ends by its time when no thread can run, or by chance. A condition
 * may wake a thread for no reason, as it may without a scheduler.
 *
 * All other threads, and all of them outside of a schedule, run as ever. Only calls in code that
 * is linked into the program are led here: not those in a runtime of OpenMP's.
 */
#ifndef REEL_STRESS_SCHEDULER_H
#define REEL_STRESS_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

enum schedule {
	SCHEDULE_FREE,   /* the system's */
	SCHEDULE_RANDOM, /* any thread, each time or seldom */
	/*
	 * Of those that can run, the one of the highest priority; priorities are drawn, and
	 * at a few steps, drawn too, the thread that runs falls below all others ("A Randomized
	 * Scheduler with Probabilistic Guarantees of Finding Bugs", ASPLOS 2010); in half of the
	 * seeds now and then up to the end.
	 */
	SCHEDULE_PCT,
};

struct scheduler_options {
	enum schedule schedule;
	uint64_t seed;
	uint64_t max_steps; /* more are an endless loop; 0: ten millions */
	/* Ends the program, once no thread can go on. */
	void (*stuck)(const char *why);
};

struct scheduler_trace {
	uint64_t steps;
	uint64_t changes; /* steps after which another thread went on */
	uint64_t hash;    /* of all steps: which thread was where */
};

/* The calling thread is number 0. SCHEDULE_FREE: nothing is scheduled. */
void scheduler_begin(const struct scheduler_options *options);
/* All others have ended and were joined. */
struct scheduler_trace scheduler_end(void);
/* Of this thread: from here on it runs as ever, and no other one does. */
void scheduler_freeze(void);
/* Where each thread is, and the last steps, as lines that begin with '#'. */
void scheduler_print(void);

/*
 * The calling thread stops at its n-th step from now, until scheduler_resume(), or until the
 * others can do nothing without it: all wait, or take many steps and come to no end.
 */
void scheduler_stop_at(uint64_t n);
/* Its steps since scheduler_stop_at(). */
uint64_t scheduler_steps_since(void);
/* Where the thread stands that has stopped; NULL: none has. */
const char *scheduler_stopped(void);
/* Returns true if a thread that had stopped went on since the others needed it. */
bool scheduler_was_needed(void);
void scheduler_resume(void);

/* ---- For scheduler-calls.c ------------------------------------------------------------- */

#define SCHEDULER_NEVER UINT64_MAX

struct scheduler_thread;

/* The calling thread; NULL: it is not scheduled. */
struct scheduler_thread *scheduler_self(void);
/* It is at this place, and another one may go on before it returns. */
void scheduler_step(const char *function, int line);
/* Let others go on first. */
void scheduler_step_aside(void);
/* Wait for a wake-up of the object, which `what` names. False: the time was over first. */
bool scheduler_wait(const void *object, const char *what, uint64_t deadline_ns);
/* Wake all that wait for it, or one. */
void scheduler_wake(const void *object, bool all);
/* True one in n times. */
bool scheduler_chance(unsigned n);
uint64_t scheduler_now_ns(void);

/* A thread to come, which runs body(argument); NULL: it could not be made, undo it. */
struct scheduler_thread *scheduler_announce(void *(*body)(void *), void *argument);
void scheduler_withdraw(struct scheduler_thread *thread);
/* Its life, from its first step to its last. */
void *scheduler_live(void *thread);
void scheduler_know(struct scheduler_thread *thread, uintptr_t id);
/* Waits for the end of the thread with this id. */
void scheduler_await_end(uintptr_t id);

#endif
