/* SPDX-License-Identifier: MIT */
/*
 * OpenMP where the compiler has it, one thread where it has not.
 */
#ifndef EXAMPLES_PARALLEL_H
#define EXAMPLES_PARALLEL_H

#ifdef _OPENMP
#include <omp.h>
#define PARALLEL_REGION _Pragma("omp parallel")
#define BARRIER _Pragma("omp barrier")
#define CRITICAL _Pragma("omp critical")
#else
#define PARALLEL_REGION
#define BARRIER
#define CRITICAL
#endif

/* The number of the calling thread in its team, from 0. */
static inline int thread_number(void)
{
#ifdef _OPENMP
	return omp_get_thread_num();
#else
	return 0;
#endif
}

/* How many threads that team has. */
static inline int team_size(void)
{
#ifdef _OPENMP
	return omp_get_num_threads();
#else
	return 1;
#endif
}

/*
 * Make later parallel regions teams of this number of threads, and those inside of one a team of
 * one; returns the team size obtained.
 */
static inline int request_threads(int threads)
{
	int obtained = 1;
#ifdef _OPENMP
	omp_set_dynamic(0);
	omp_set_max_active_levels(1);
	omp_set_num_threads(threads);
#pragma omp parallel
	{
#pragma omp single
		obtained = omp_get_num_threads();
	}
#else
	(void)threads;
#endif
	return obtained;
}

/* The number of threads to use when the user names none. */
static inline int default_threads(void)
{
#ifdef _OPENMP
	return omp_get_max_threads();
#else
	return 1;
#endif
}

#endif
