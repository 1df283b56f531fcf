/* SPDX-License-Identifier: MIT */
/* Where threads that stand for the processes of a run agree: group->max() of run-group.h. */
#ifndef TESTS_MEETING_H
#define TESTS_MEETING_H

#include <pthread.h>
#include <stdint.h>
#include <string.h>

enum { MEETING_VALUES = 8 };

struct meeting {
	pthread_barrier_t barrier;
	pthread_mutex_t lock;
	int64_t largest[MEETING_VALUES]; /* of the members that have come so far */
};

static inline void clear_meeting(struct meeting *meeting)
{
	for (int i = 0; i < MEETING_VALUES; i++)
		meeting->largest[i] = INT64_MIN;
}

static inline void open_meeting(struct meeting *meeting, unsigned members)
{
	clear_meeting(meeting);
	pthread_mutex_init(&meeting->lock, NULL);
	pthread_barrier_init(&meeting->barrier, NULL, members);
}

static inline void close_meeting(struct meeting *meeting)
{
	pthread_mutex_destroy(&meeting->lock);
	pthread_barrier_destroy(&meeting->barrier);
}

/* Sets the values to the largest that any member brings. `context` is the meeting. */
static inline int meet(void *context, int64_t *values, int count)
{
	struct meeting *meeting = context;

	pthread_mutex_lock(&meeting->lock);
	for (int i = 0; i < count; i++)
		if (values[i] > meeting->largest[i])
			meeting->largest[i] = values[i];
	pthread_mutex_unlock(&meeting->lock);
	pthread_barrier_wait(&meeting->barrier);
	memcpy(values, meeting->largest, (size_t)count * sizeof *values);
	if (pthread_barrier_wait(&meeting->barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
		clear_meeting(meeting);
	pthread_barrier_wait(&meeting->barrier);
	return 0;
}

#endif
