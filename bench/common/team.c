/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "team.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "measure.h"

struct team {
	const struct team_work *work;
	const struct places *places;
	pthread_barrier_t start;
};

struct member {
	struct team *team;
	int number;
	pthread_t thread;
	double begun, ended;
	double busy; /* seconds on a processor between begun and ended */
};

/* If the threads had a smaller share of their processors during a run, the run is disturbed. */
#define UNDISTURBED 0.97

static double own_seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void *run_member(void *argument)
{
	struct member *member = argument;
	const struct team_work *work = member->team->work;

	places_bind(member->team->places, member->number);
	if (work->prepare)
		work->prepare(work->context, member->number);
	pthread_barrier_wait(&member->team->start);
	member->begun = measure_seconds();
	member->busy = -own_seconds();
	work->run(work->context, member->number);
	member->busy += own_seconds();
	member->ended = measure_seconds();
	if (work->finish)
		work->finish(work->context, member->number);
	return NULL;
}

static void join(struct member *members, int threads)
{
	for (int t = 0; t < threads; t++)
		pthread_join(members[t].thread, NULL);
	for (int t = 1; t < threads; t++) {
		struct member *all = &members[0], *one = &members[t];

		all->begun = one->begun < all->begun ? one->begun : all->begun;
		all->ended = one->ended > all->ended ? one->ended : all->ended;
		all->busy += one->busy;
	}
}

/* Returns the seconds of a run, and in *busy the sum of the threads' processor times. */
static double run_once(struct team *team, int threads, double *busy)
{
	struct member *members = calloc((size_t)threads, sizeof *members);
	double seconds;

	if (!members || pthread_barrier_init(&team->start, NULL, (unsigned)threads))
		abort();
	for (int t = 0; t < threads; t++) {
		members[t] = (struct member){.team = team, .number = t};
		if (pthread_create(&members[t].thread, NULL, run_member, &members[t])) {
			fprintf(stderr,
				"reel-scale: the system cannot start %d threads; see --threads\n",
				threads);
			exit(1);
		}
	}
	join(members, threads);
	seconds = members[0].ended - members[0].begun;
	*busy = members[0].busy;
	pthread_barrier_destroy(&team->start);
	free(members);
	return seconds;
}

double team_run(const struct team_work *work, int threads, const struct places *places)
{
	struct team team = {.work = work, .places = places};
	int usable = threads < work->processors ? threads : work->processors;
	double best = 0, most = -1;

	for (int i = 0; i == 0 || (i < work->tries && most < UNDISTURBED); i++) {
		double busy, seconds = run_once(&team, threads, &busy);

		busy /= seconds * usable;
		if (busy > most) {
			most = busy;
			best = seconds;
		}
	}
	return best;
}
