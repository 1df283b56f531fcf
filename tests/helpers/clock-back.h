/* SPDX-License-Identifier: MIT */
/*
 * As if the clock that people set were set back by an hour each time right after it has been read.
 * A wait that goes by it takes an hour longer. Linked with $(clock_back_ldflags).
 */
#ifndef TESTS_CLOCK_BACK_H
#define TESTS_CLOCK_BACK_H

#include <time.h>

int __real_clock_gettime(clockid_t clock, struct timespec *time);

int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	int error = __real_clock_gettime(clock, time);

	if (clock == CLOCK_REALTIME)
		time->tv_sec += 3600;
	return error;
}

#endif
