/* SPDX-License-Identifier: MIT */
/* The token: its holder, the next thread, and the report if no thread can go on. */
#include <config.h>

#include "scheduler.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "helpers/support.h"

#define MAX_THREADS 64
#define MAX_CHANGES 5
#define MAX_STEPS 10000000
/* Most steps that a thread that can run may have to wait, where priorities decide. */
#define FAIR_STEPS 2000
/* Number of waits in a row that end by their time after which a wait counts as endless. */
#define MAX_TIMEOUTS 1000
/* Number of steps of others without an end after which a stopped thread counts as needed. */
#define MAX_STEPS_WITHOUT 20000
/* The time of a step. */
#define STEP_NS 1000
#define STEPS_SHOWN 32
/* Destructors of other keys run before a thread has ended; there are four rounds of them. */
#define LAST_DESTRUCTOR_ROUND 2

enum activity { NONE, RUNNING, WAITING, STOPPED, ENDED };

struct place {
	unsigned thread;
	const char *function;
	int line;
};

struct scheduler_thread {
	enum activity activity;
	unsigned number;
	sem_t token;
	int64_t priority;
	uint64_t ran_at;
	struct place at;
	const void *object;
	const char *what;
	uint64_t deadline_ns;
	bool timed_out;
	uint64_t steps;
	uint64_t stops_at;
	unsigned destructor_round;
	uintptr_t id;
	void *(*body)(void *);
	void *argument;
};

/* All of it is the token holder's. */
static struct {
	struct scheduler_options options;
	struct scheduler_thread thread[MAX_THREADS];
	unsigned numbers;
	uint64_t random;
	unsigned seldom;          /* one in `seldom` steps, at random, another thread goes on */
	unsigned changes;
	uint64_t change_at[MAX_CHANGES];
	unsigned change_every;    /* 0: there are no more changes */
	int64_t lowest;
	uint64_t now_ns;
	unsigned timeouts;
	bool was_needed;
	struct scheduler_trace trace;
	struct place last[STEPS_SHOWN];
} scheduler;

static _Thread_local struct scheduler_thread *self;
static pthread_key_t end_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

int __real_sem_wait(sem_t *semaphore);
int __real_sem_post(sem_t *semaphore);

struct scheduler_thread *scheduler_self(void)
{
	return self;
}

/* ---- Draws ---- */

static uint64_t draw(void)
{
	return scramble(scheduler.random++);
}

static uint64_t draw_below(uint64_t bound)
{
	return draw() % bound;
}

bool scheduler_chance(unsigned n)
{
	return draw_below(n) == 0;
}

/*
 * Short programs and long ones: the changes lie within 8 to 16,384 steps. Half of the seeds
 * go on with changes, one in 16 to 4096 steps.
 */
static void draw_changes(void)
{
	uint64_t within = (uint64_t)8 << draw_below(12);

	scheduler.seldom = 1u << draw_below(6);
	scheduler.changes = 1 + (unsigned)draw_below(MAX_CHANGES);
	for (unsigned i = 0; i < scheduler.changes; i++)
		scheduler.change_at[i] = draw_below(within);
	if (scheduler_chance(2))
		scheduler.change_every = 16u << draw_below(9);
}

/* ---- The next thread ---- */

static bool can_run(const struct scheduler_thread *thread)
{
	return thread->activity == RUNNING;
}

static bool waits_for_time(const struct scheduler_thread *thread)
{
	return thread->activity == WAITING && thread->deadline_ns != SCHEDULER_NEVER;
}

static bool has_stopped(const struct scheduler_thread *thread)
{
	return thread->activity == STOPPED;
}

static unsigned count_threads(bool (*is_one)(const struct scheduler_thread *thread))
{
	unsigned n = 0;

	for (unsigned i = 0; i < MAX_THREADS; i++)
		n += is_one(&scheduler.thread[i]);
	return n;
}

/* The n-th of them; NULL: there are fewer. */
static struct scheduler_thread *find_thread(bool (*is_one)(const struct scheduler_thread *thread),
					    uint64_t n)
{
	for (unsigned i = 0; i < MAX_THREADS; i++)
		if (is_one(&scheduler.thread[i]) && n-- == 0)
			return &scheduler.thread[i];
	return NULL;
}

static struct scheduler_thread *any_thread(bool (*is_one)(const struct scheduler_thread *thread))
{
	unsigned n = count_threads(is_one);

	return n ? find_thread(is_one, draw_below(n)) : NULL;
}

static struct scheduler_thread *highest_thread(void)
{
	struct scheduler_thread *highest = NULL;

	for (unsigned i = 0; i < MAX_THREADS; i++) {
		struct scheduler_thread *thread = &scheduler.thread[i];

		if (can_run(thread) && (!highest || thread->priority > highest->priority))
			highest = thread;
	}
	return highest;
}

static void fall(struct scheduler_thread *thread)
{
	thread->priority = --scheduler.lowest;
}

static bool somebody_starves(void)
{
	for (unsigned i = 0; i < MAX_THREADS; i++)
		if (can_run(&scheduler.thread[i]) &&
		    scheduler.trace.steps - scheduler.thread[i].ran_at > FAIR_STEPS)
			return true;
	return false;
}

static void change_priorities(void)
{
	for (unsigned i = 0; i < scheduler.changes; i++)
		if (scheduler.change_at[i] == scheduler.trace.steps)
			fall(self);
	if (somebody_starves() ||
	    (scheduler.change_every && scheduler_chance(scheduler.change_every)))
		fall(self);
}

static struct scheduler_thread *choose(void)
{
	if (scheduler.options.schedule == SCHEDULE_PCT)
		return highest_thread();
	if (can_run(self) && !scheduler_chance(scheduler.seldom))
		return self;
	return any_thread(can_run);
}

static void run_again(struct scheduler_thread *thread)
{
	thread->activity = RUNNING;
	thread->ran_at = scheduler.trace.steps;
	thread->object = NULL;
	thread->what = NULL;
}

static void time_out(struct scheduler_thread *thread)
{
	if (scheduler.now_ns < thread->deadline_ns)
		scheduler.now_ns = thread->deadline_ns;
	thread->timed_out = true;
	run_again(thread);
}

static struct scheduler_thread *first_to_time_out(void)
{
	struct scheduler_thread *first = NULL;

	for (unsigned i = 0; i < MAX_THREADS; i++) {
		struct scheduler_thread *thread = &scheduler.thread[i];

		if (waits_for_time(thread) &&
		    (!first || thread->deadline_ns < first->deadline_ns))
			first = thread;
	}
	return first;
}

void scheduler_resume(void)
{
	struct scheduler_thread *thread;

	while ((thread = find_thread(has_stopped, 0)))
		run_again(thread);
}

static void go_on_with_stopped(void)
{
	scheduler.was_needed = true;
	scheduler.timeouts = 0;
	scheduler_resume();
}

static void get_stuck(const char *why)
{
	scheduler_freeze();
	scheduler.options.stuck(why);
	abort();
}

/* No thread can run: time passes; or a stopped thread is needed; or the program is stuck. */
static void unblock(void)
{
	struct scheduler_thread *first = first_to_time_out();

	if (first && scheduler.timeouts++ < MAX_TIMEOUTS) {
		time_out(first);
		return;
	}
	if (!find_thread(has_stopped, 0))
		get_stuck(first ? "no thread can go on, but for those that wait in vain again and "
				  "again"
				: "no thread can go on: all wait");
	go_on_with_stopped();
}

static struct scheduler_thread *next_thread(void)
{
	struct scheduler_thread *early = any_thread(waits_for_time);

	if (early && scheduler_chance(256))
		time_out(early);
	while (!count_threads(can_run))
		unblock();
	return choose();
}

static void hand_token(struct scheduler_thread *next)
{
	scheduler.trace.changes++;
	__real_sem_post(&next->token);
}

static void reschedule(void)
{
	struct scheduler_thread *next = next_thread();

	if (next == self)
		return;
	hand_token(next);
	__real_sem_wait(&self->token);
}

/* ---- Steps ---- */

static void hash(const struct place *at)
{
	uint64_t h = scheduler.trace.hash;

	h = (h ^ at->thread) * 0x100000001b3u;
	for (const char *c = at->function; *c; c++)
		h = (h ^ (unsigned char)*c) * 0x100000001b3u;
	scheduler.trace.hash = (h ^ (unsigned)at->line) * 0x100000001b3u;
}

static void note_step(const char *function, int line)
{
	self->at = (struct place){self->number, function, line};
	scheduler.last[scheduler.trace.steps % STEPS_SHOWN] = self->at;
	hash(&self->at);
	self->steps++;
	self->ran_at = ++scheduler.trace.steps;
	scheduler.now_ns += STEP_NS;
}

static bool is_missed(const struct scheduler_thread *stopped)
{
	return stopped && scheduler.trace.steps - stopped->ran_at > MAX_STEPS_WITHOUT;
}

void scheduler_step(const char *function, int line)
{
	note_step(function, line);
	if (scheduler.trace.steps > scheduler.options.max_steps)
		get_stuck("there is no end: too many steps");
	if (scheduler.options.schedule == SCHEDULE_PCT)
		change_priorities();
	if (is_missed(find_thread(has_stopped, 0)))
		go_on_with_stopped();
	if (self->steps == self->stops_at)
		self->activity = STOPPED;
	reschedule();
}

void scheduler_step_aside(void)
{
	fall(self);
	if (scheduler.options.schedule == SCHEDULE_RANDOM && count_threads(can_run) > 1)
		hand_token(any_thread(can_run));
	else
		hand_token(next_thread());
	__real_sem_wait(&self->token);
}

bool reel_yield_hook(const char *function, int line);

bool reel_yield_hook(const char *function, int line)
{
	if (self)
		scheduler_step(function, line);
	return self != NULL;
}

bool scheduler_wait(const void *object, const char *what, uint64_t deadline_ns)
{
	self->activity = WAITING;
	self->object = object;
	self->what = what;
	self->deadline_ns = deadline_ns;
	self->timed_out = false;
	reschedule();
	return !self->timed_out;
}

static void wake_one(const void *object)
{
	struct scheduler_thread *chosen = NULL;
	unsigned n = 0;

	for (unsigned i = 0; i < MAX_THREADS; i++) {
		struct scheduler_thread *thread = &scheduler.thread[i];

		if (thread->activity == WAITING && thread->object == object &&
		    scheduler_chance(++n))
			chosen = thread;
	}
	if (chosen)
		run_again(chosen);
	scheduler.timeouts = chosen ? 0 : scheduler.timeouts;
}

void scheduler_wake(const void *object, bool all)
{
	if (!all) {
		wake_one(object);
		return;
	}
	for (unsigned i = 0; i < MAX_THREADS; i++) {
		struct scheduler_thread *thread = &scheduler.thread[i];

		if (thread->activity != WAITING || thread->object != object)
			continue;
		run_again(thread);
		scheduler.timeouts = 0;
	}
}

uint64_t scheduler_now_ns(void)
{
	return scheduler.now_ns;
}

/* ---- Threads ---- */

static struct scheduler_thread *new_thread(void)
{
	for (unsigned i = 0; i < MAX_THREADS; i++) {
		struct scheduler_thread *thread = &scheduler.thread[i];

		if (thread->activity != NONE)
			continue;
		*thread = (struct scheduler_thread){
			.activity = RUNNING,
			.number = scheduler.numbers,
			.priority = (int64_t)(draw() >> 2),
			.ran_at = scheduler.trace.steps,
			.at = {scheduler.numbers, "its beginning", 0},
		};
		scheduler.numbers++;
		sem_init(&thread->token, 0, 0);
		return thread;
	}
	get_stuck("there are too many threads");
	return NULL;
}

struct scheduler_thread *scheduler_announce(void *(*body)(void *), void *argument)
{
	struct scheduler_thread *thread = new_thread();

	thread->body = body;
	thread->argument = argument;
	return thread;
}

void scheduler_withdraw(struct scheduler_thread *thread)
{
	sem_destroy(&thread->token);
	thread->activity = NONE;
}

void *scheduler_live(void *thread)
{
	self = thread;
	__real_sem_wait(&self->token);
	pthread_setspecific(end_key, self);
	return self->body(self->argument);
}

/* A destructor: the keys of pools have theirs, which are part of the schedule. */
static void end(void *thread)
{
	struct scheduler_thread *ending = thread;

	if (ending->destructor_round++ < LAST_DESTRUCTOR_ROUND) {
		pthread_setspecific(end_key, ending);
		return;
	}
	ending->activity = ENDED;
	scheduler_wake(ending, true);
	hand_token(next_thread());
	self = NULL;
}

void scheduler_know(struct scheduler_thread *thread, uintptr_t id)
{
	thread->id = id;
}

void scheduler_await_end(uintptr_t id)
{
	struct scheduler_thread *thread = scheduler.thread;

	while (thread->activity == NONE || thread->id != id || thread == self)
		if (++thread == scheduler.thread + MAX_THREADS)
			get_stuck("a thread is joined that is not there");
	while (thread->activity != ENDED)
		scheduler_wait(thread, "the end of a thread", SCHEDULER_NEVER);
	thread->activity = NONE;
	sem_destroy(&thread->token);
}

/* In the child of a fork there is one thread. */
static void leave_child_alone(void)
{
	self = NULL;
}

/*
 * Before the library registers its handlers when it is loaded, so that these run in the schedule
 * before a fork, and in no schedule in the child.
 */
__attribute__((constructor(101))) static void register_handler(void)
{
	if (pthread_atfork(NULL, NULL, leave_child_alone))
		abort();
}

static void prepare(void)
{
	if (pthread_key_create(&end_key, end))
		abort();
}

void scheduler_begin(const struct scheduler_options *options)
{
	if (options->schedule == SCHEDULE_FREE)
		return;
	pthread_once(&once, prepare);
	memset(&scheduler, 0, sizeof scheduler);
	scheduler.options = *options;
	if (!options->max_steps)
		scheduler.options.max_steps = MAX_STEPS;
	scheduler.random = options->seed << 32;
	scheduler.now_ns = UINT64_C(1000000000) * 1000000;
	scheduler.trace.hash = 0xcbf29ce484222325u;
	draw_changes();
	self = new_thread();
}

static bool is_there(const struct scheduler_thread *thread)
{
	return thread->activity != NONE;
}

struct scheduler_trace scheduler_end(void)
{
	if (!self)
		return (struct scheduler_trace){0};
	if (count_threads(is_there) != 1)
		get_stuck("a thread is left");
	scheduler_withdraw(self);
	self = NULL;
	return scheduler.trace;
}

void scheduler_freeze(void)
{
	self = NULL;
}

/* ---- A thread that stops ---- */

void scheduler_stop_at(uint64_t n)
{
	self->steps = 0;
	self->stops_at = n;
}

uint64_t scheduler_steps_since(void)
{
	return self->steps;
}

const char *scheduler_stopped(void)
{
	static char text[128];
	const struct scheduler_thread *thread = find_thread(has_stopped, 0);

	if (!thread)
		return NULL;
	snprintf(text, sizeof text, "%s:%d", thread->at.function, thread->at.line);
	return text;
}

bool scheduler_was_needed(void)
{
	return scheduler.was_needed;
}

/* ---- Reports ---- */

static void print_place(const struct place *at)
{
	printf(" %u %s", at->thread, at->function);
	if (at->line)
		printf(":%d", at->line);
}

static void print_thread(const struct scheduler_thread *thread)
{
	printf("#   thread");
	print_place(&thread->at);
	if (thread->activity == WAITING)
		printf(", waits for %s", thread->what);
	else
		printf(", %s", thread->activity == STOPPED ? "has stopped"
			       : thread->activity == ENDED ? "has ended" : "can run");
	putchar('\n');
}

void scheduler_print(void)
{
	uint64_t steps = scheduler.trace.steps;
	uint64_t shown = steps < STEPS_SHOWN ? steps : STEPS_SHOWN;

	if (!steps)
		return;
	printf("# step %llu of the schedule\n", (unsigned long long)steps);
	for (unsigned i = 0; i < MAX_THREADS; i++)
		if (is_there(&scheduler.thread[i]))
			print_thread(&scheduler.thread[i]);
	printf("# the last steps:");
	for (uint64_t i = steps - shown; i < steps; i++) {
		printf("%s", i == steps - shown ? "" : ",");
		print_place(&scheduler.last[i % STEPS_SHOWN]);
	}
	putchar('\n');
}
