/* SPDX-License-Identifier: MIT */
/* Lanes of a reverse sweep on threads, for the tests of adjoints. */
#ifndef TESTS_ADJOINT_SUPPORT_H
#define TESTS_ADJOINT_SUPPORT_H

#include <reel/adjoint.h>

#include <pthread.h>

#include "support.h"

#define MAX_THREADS 8

/* The work of a lane; and how the lanes are dealt to threads. */
typedef void lane_body(reel_adjoint *adjoint, unsigned lane, void *context);

struct team {
	reel_adjoint *adjoint;
	lane_body *body;
	void *context;
	unsigned lanes, threads;
};

struct member {
	const struct team *team;
	unsigned number;
};

static inline void *run_lanes(void *argument)
{
	struct member *member = argument;
	const struct team *team = member->team;

	for (unsigned lane = member->number; lane < team->lanes; lane += team->threads)
		team->body(team->adjoint, lane, team->context);
	return NULL;
}

static inline void *run_reduction(void *argument)
{
	struct member *member = argument;

	reel_adjoint_reduce(member->team->adjoint, member->number, member->team->threads);
	return NULL;
}

static inline void on_threads(const struct team *team, void *(*run)(void *))
{
	struct member members[MAX_THREADS];
	pthread_t threads[MAX_THREADS];

	for (unsigned t = 0; t < team->threads; t++) {
		members[t] = (struct member){team, t};
		if (pthread_create(&threads[t], NULL, run, &members[t]))
			abort();
	}
	for (unsigned t = 0; t < team->threads; t++)
		pthread_join(threads[t], NULL);
}

/* A sweep: the numbers of threads that run the lanes, and that reduce; 0: the end does. */
static inline int sweep(reel_adjoint *adjoint, lane_body *body, void *context, unsigned lanes,
			unsigned threads, unsigned reducers)
{
	struct team team = {adjoint, body, context, lanes, threads};
	int error = reel_adjoint_begin(adjoint, lanes);

	if (error)
		return error;
	on_threads(&team, run_lanes);
	team.threads = reducers;
	on_threads(&team, run_reduction);
	return reel_adjoint_end(adjoint);
}

static inline reel_adjoint *open_adjoint(double *array, size_t n,
					 struct reel_adjoint_options options)
{
	reel_adjoint *adjoint;

	if (reel_adjoint_open(&adjoint, array, n, &options)) {
		printf("Bail out! cannot open an adjoint\n");
		exit(EXIT_FAILURE);
	}
	return adjoint;
}

static inline struct reel_adjoint_stats stats_of(const reel_adjoint *adjoint)
{
	struct reel_adjoint_stats stats;

	reel_adjoint_get_stats(adjoint, &stats);
	return stats;
}

#endif
