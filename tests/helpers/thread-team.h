/* SPDX-License-Identifier: MIT */
/*
 * A team of plain threads, in the place of OpenMP's in programs: its barrier is one that
 * sanitizers can see.
 */
#ifndef TESTS_THREAD_TEAM_H
#define TESTS_THREAD_TEAM_H

#include <pthread.h>

#define MAX_THREADS 70

struct team {
	int threads;
	pthread_barrier_t barrier;
	pthread_mutex_t lock;
	void *context;
};

struct member {
	struct team *team;
	int number;
	void (*body)(const struct member *member);
	pthread_t thread;
};

static inline void *run_member(void *argument)
{
	struct member *member = argument;

	member->body(member);
	return NULL;
}

static inline void team_barrier(const struct member *member)
{
	pthread_barrier_wait(&member->team->barrier);
}

static inline void team_lock(const struct member *member)
{
	pthread_mutex_lock(&member->team->lock);
}

static inline void team_unlock(const struct member *member)
{
	pthread_mutex_unlock(&member->team->lock);
}

/* The calling thread is member 0. Takes no memory. */
static inline void run_team(int threads, void (*body)(const struct member *member), void *context)
{
	struct team team = {.threads = threads, .context = context};
	struct member member[MAX_THREADS];

	pthread_barrier_init(&team.barrier, NULL, (unsigned)threads);
	pthread_mutex_init(&team.lock, NULL);
	for (int i = 0; i < threads; i++) {
		member[i] = (struct member){.team = &team, .number = i, .body = body};
		if (i > 0)
			pthread_create(&member[i].thread, NULL, run_member, &member[i]);
	}
	body(&member[0]);
	for (int i = 1; i < threads; i++)
		pthread_join(member[i].thread, NULL);
	pthread_barrier_destroy(&team.barrier);
	pthread_mutex_destroy(&team.lock);
}

#endif
