/* SPDX-License-Identifier: MIT */
/* Where threads that stand for the processes of a run agree: group->max() of run-group.h. */
#ifndef TESTS_MEETING_H
#define TESTS_MEETING_H

#include <pthread.h>
#include <stdint.h>
#include <string.h>

enum { MEETING_VALUES = 8 };

struct meeting {
	pthread_mutex_t lock;
	pthread_cond_t all_have_come;
	unsigned members, come, round;
	int64_t largest[MEETING_VALUES]; /* of the members that have come so far */
	int64_t agreed[MEETING_VALUES];	 /* by the last round; all read it before they come again */
};

static inline void clear_meeting(struct meeting *meeting)
{
	meeting->come = 0;
	for (int i = 0; i < MEETING_VALUES; i++)
		meeting->largest[i] = INT64_MIN;
}

static inline void open_meeting(struct meeting *meeting, unsigned members)
{
	clear_meeting(meeting);
	meeting->members = members;
	meeting->round = 0;
	pthread_mutex_init(&meeting->lock, NULL);
	pthread_cond_init(&meeting->all_have_come, NULL);
}

static inline void close_meeting(struct meeting *meeting)
{
	pthread_mutex_destroy(&meeting->lock);
	pthread_cond_destroy(&meeting->all_have_come);
}

/* Sets the values to the largest that any member brings. `context` is the meeting. */
static inline int meet(void *context, int64_t *values, int count)
{
	struct meeting *meeting = context;
	unsigned round;

	pthread_mutex_lock(&meeting->lock);
	round = meeting->round;
	for (int i = 0; i < count; i++)
		if (values[i] > meeting->largest[i])
			meeting->largest[i] = values[i];
	if (++meeting->come == meeting->members) {
		memcpy(meeting->agreed, meeting->largest, sizeof meeting->agreed);
		clear_meeting(meeting);
		meeting->round++;
		pthread_cond_broadcast(&meeting->all_have_come);
	}
	while (round == meeting->round)
		pthread_cond_wait(&meeting->all_have_come, &meeting->lock);
	memcpy(values, meeting->agreed, (size_t)count * sizeof *values);
	pthread_mutex_unlock(&meeting->lock);
	return 0;
}

#endif
