/* SPDX-License-Identifier: MIT */
/* Threads and the tapes that they hand to each other, with all else that uses the pool. */
#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "helpers/pool-support.h"
#include "stress.h"
#include "subject.h"

/* Features that a seed may choose; the draw's bits. */
enum { HAND_OVER, TRIM, STATS, FLUSH, THREAD_EXIT, FORK, FEATURES };

#define MAX_TAPES (MAX_WORKERS + 4)
#define FORKS_A_ROUND 4

struct scene {
	struct stress_stage stage;
	struct subject subject[MAX_TAPES];
	/* NULL: a thread has it. */
	_Atomic(struct subject *) place[MAX_TAPES];
	_Atomic unsigned forks;
	_Atomic uint64_t max_takes;
};

static bool has(const struct scene *scene, unsigned feature)
{
	return scene->stage.draw->features >> feature & 1;
}

static struct subject *take_tape(struct scene *scene, unsigned at)
{
	/* Acquire: pairs with the release in put_tape(), by the thread that had it. */
	return atomic_exchange_explicit(&scene->place[at], NULL, memory_order_acquire);
}

static void put_tape(struct scene *scene, unsigned at, struct subject *subject)
{
	reel_tape_hand_over(&subject->tape);
	/* Release: pairs with the acquire in take_tape(). */
	atomic_store_explicit(&scene->place[at], subject, memory_order_release);
}

/* ---- The pool ---- */

static void read_stats(struct scene *scene)
{
	/* Acquire: the takes that other threads saw precede this reading. */
	uint64_t takes = atomic_load_explicit(&scene->max_takes, memory_order_acquire);
	struct reel_pool_stats stats = stats_of(scene->stage.pool);

	if (stats.slabs_in_use > stats.takes || stats.takes < takes)
		stress_fail("%llu slabs are in use, of %llu takes, after %llu",
			    (unsigned long long)stats.slabs_in_use,
			    (unsigned long long)stats.takes, (unsigned long long)takes);
	if (!scene->stage.draw->pool.store && stats.resident_bytes > stats.hard_budget)
		stress_fail("%llu bytes are resident", (unsigned long long)stats.resident_bytes);
	atomic_compare_exchange_strong_explicit(&scene->max_takes, &takes, stats.takes,
						memory_order_release, memory_order_relaxed);
}

/* The child goes on with the tape that its thread had, and opens a new one. */
static void act_in_child(void *context)
{
	struct subject *own = context;
	struct stress_random random = {own->number << 40};
	struct subject another;

	subject_open(&another, own->stage, own->number + 1000);
	for (int i = 0; i < 20; i++)
		subject_act(&another, &stress_workers[0], &random);
	subject_empty(&another);
	subject_close(&another);
	subject_empty(own);
	subject_close(own);
	reel_pool_trim(own->stage->pool, 0);
}

static void fork_with(struct scene *scene, struct subject *subject, struct stress_worker *worker)
{
	if (scene->forks++ >= FORKS_A_ROUND)
		return;
	stress_at(worker, "forks", subject->number);
	stress_fork(worker, act_in_child, subject);
}

/* Now and then something else than a tape's operation; returns whether it was. */
static bool use_pool(struct scene *scene, struct stress_worker *worker,
		     struct stress_random *random)
{
	reel_pool *pool = scene->stage.pool;

	switch (stress_below(random, 24)) {
	case 0:
		if (!has(scene, TRIM))
			return false;
		stress_at(worker, "trims", 0);
		reel_pool_trim(pool, stress_below(random, 16) * scene->stage.draw->pool.slab_bytes);
		return true;
	case 1:
		if (!has(scene, STATS))
			return false;
		stress_at(worker, "reads the counters", 0);
		read_stats(scene);
		return true;
	case 2:
		if (!has(scene, FLUSH))
			return false;
		stress_at(worker, "flushes", 0);
		reel_pool_flush(pool);
		return true;
	default:
		return false;
	}
}

/* ---- Threads ---- */

struct shift {
	struct scene *scene;
	struct stress_worker *worker;
	struct stress_random random;
	unsigned number;
	unsigned operations;
};

/* So that the harness itself can be tested. */
static void go_wrong(struct subject *subject)
{
	if (!strcmp(stress_options.pretend, "wrong"))
		subject_forget(subject);
	else
		for (;;)
			pause();
}

/* A few operations on one tape. */
static void use_tape(struct shift *shift)
{
	struct scene *scene = shift->scene;
	const struct stress_draw *draw = scene->stage.draw;
	unsigned at = has(scene, HAND_OVER) ? stress_below(&shift->random, draw->tapes)
					    : shift->number;
	struct subject *subject = take_tape(scene, at);

	if (!subject)
		return;
	for (unsigned n = 1 + stress_below(&shift->random, 6); n; n--)
		subject_act(subject, shift->worker, &shift->random);
	if (has(scene, FORK) && stress_one_in(&shift->random, 200))
		fork_with(scene, subject, shift->worker);
	if (stress_options.pretend && shift->operations < stress_options.operations / 2)
		go_wrong(subject);
	put_tape(scene, at, subject);
}

/* A thread ends in the middle, with slabs in its magazines, and another one goes on. */
static bool ends(struct shift *shift)
{
	return has(shift->scene, THREAD_EXIT) && stress_one_in(&shift->random, 50);
}

static void *work(void *argument);

static void go_on_in_another_thread(struct shift *shift)
{
	pthread_t thread;

	stress_at(shift->worker, "waits for a thread", 0);
	if (pthread_create(&thread, NULL, work, shift))
		abort();
	pthread_join(thread, NULL);
}

static void *work(void *argument)
{
	struct shift *shift = argument;

	while (shift->operations) {
		shift->operations--;
		if (!use_pool(shift->scene, shift->worker, &shift->random))
			use_tape(shift);
		if (ends(shift))
			break;
	}
	return NULL;
}

static void work_in_shifts(struct stress_worker *worker, void *context)
{
	struct scene *scene = context;
	unsigned number = (unsigned)(worker - stress_workers);
	struct shift shift = {.scene = scene, .worker = worker, .number = number - 1,
			      .operations = stress_options.operations};

	shift.random.next = scene->stage.draw->seed << 24 ^ (uint64_t)number << 56;
	work(&shift);
	while (shift.operations)
		go_on_in_another_thread(&shift);
}

static void end_tapes(struct scene *scene)
{
	struct stress_worker *self = &stress_workers[0];

	stress_watch(self);
	for (unsigned i = 0; i < scene->stage.draw->tapes; i++) {
		struct subject *subject = take_tape(scene, i);

		stress_at(self, "empties a tape", i);
		if (i % 4)
			subject_empty(subject);
		subject_close(subject);
	}
	stress_unwatch(self);
}

void stress_tapes(struct stress_draw *draw)
{
	static struct scene scene;

	scene.forks = 0;
	scene.max_takes = 0;
	stress_stage_open(&scene.stage, draw);
	for (unsigned i = 0; i < draw->tapes; i++) {
		subject_open(&scene.subject[i], &scene.stage, i);
		put_tape(&scene, i, &scene.subject[i]);
	}
	stress_run(draw->threads, work_in_shifts, &scene);
	end_tapes(&scene);
	stress_stage_close(&scene.stage);
}
