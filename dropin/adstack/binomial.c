/* SPDX-License-Identifier: MIT */
/*
 * Binomial checkpointing of a loop of known length (Griewank 1992). The functions tell the program
 * which snapshot to push, look at or pop, which step to advance over and which step to reverse.
 * The actions come in the order of the original, which rounds cuts downwards and may therefore cost
 * a few advances more than the optimum. The numbers of sessions and snapshots have no limit.
 *
 * Each thread has sessions of its own. A session holds segments of the loop; each segment begins at
 * a snapshot, and the topmost segment is reversed first.
 */
#include "forms.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { PUSHSNAP = 1, LOOKSNAP, POPSNAP, ADVANCE, FIRSTTURN, TURN };

enum { RESTORE = -1 };

/* Steps count from the snapshot of the segment; the steps below `length` are not reversed yet. */
struct segment {
	int64_t length;
	/* The step of the program's state; RESTORE: the program must take it from the snapshot. */
	int64_t position;
	/* The step of the next snapshot. */
	int64_t cut;
};

struct adstack_session {
	struct adstack_session *outer;
	int64_t snapshots;
	/* Number of the topmost segment (0 is the whole loop), and the step at which it begins. */
	int64_t top;
	int64_t begin;
	/* Number of steps of the loop. */
	int64_t length;
	size_t room;
	struct segment *segment;
};

static void begin_session(int length, int snapshots)
{
	struct adstack_session *session;

	reel_adstack_begin();
	if (length <= 0)
		reel_adstack_fail(-EINVAL, "adBinomial_init: a loop of %d steps cannot be reversed",
				  length);
	if (snapshots <= 0 && length > 1)
		reel_adstack_fail(-EINVAL, "adBinomial_init: a loop of %d steps cannot be reversed "
				  "with %d snapshots; it needs at least 1", length, snapshots);
	session = reel_adstack_allocate(sizeof *session, "a binomial session");
	session->room = 16;
	session->segment = reel_adstack_allocate(session->room * sizeof *session->segment,
						 "the snapshots of a binomial session");
	session->outer = reel_adstack.stack.sessions;
	session->snapshots = snapshots;
	session->length = length;
	session->segment[0].length = length;
	reel_adstack.stack.sessions = session;
}

static void end_session(void)
{
	struct adstack_session *session = reel_adstack.stack.sessions;

	reel_adstack.stack.sessions = session->outer;
	free(session->segment);
	free(session);
}

void reel_adstack_sessions_end(void)
{
	while (reel_adstack.stack.sessions)
		end_session();
}

/* With s snapshots, and each step run at most r times, a loop can have C(s + r, s) steps. */
static int64_t min_repetitions(int64_t length, int64_t snapshots)
{
	int64_t repetitions = 1;
	int64_t reach = snapshots + 1;

	while (reach < length) {
		repetitions++;
		reach = reach * (snapshots + repetitions) / repetitions;
	}
	return repetitions;
}

static void set_cut(struct adstack_session *session)
{
	struct segment *segment = &session->segment[session->top];
	int64_t free_snapshots = session->snapshots - session->top + 1;
	int64_t repetitions;

	if (segment->length <= 1) {
		segment->cut = 0;
	} else if (free_snapshots == 1) {
		segment->cut = segment->length - 1;
	} else {
		repetitions = min_repetitions(segment->length, free_snapshots);
		segment->cut = segment->length * repetitions / (repetitions + free_snapshots);
		if (segment->cut == 0)
			segment->cut = 1;
		if (segment->cut >= segment->length)
			segment->cut = segment->length - 1;
	}
}

static void grow(struct adstack_session *session)
{
	size_t room = 2 * session->room;
	struct segment *segment;

	if ((size_t)session->top + 1 < session->room)
		return;
	segment = realloc(session->segment, room * sizeof *segment);
	if (!segment)
		reel_adstack_fail(-ENOMEM, "no memory for the snapshots of a binomial session");
	session->segment = segment;
	session->room = room;
}

static int push_snapshot(struct adstack_session *session)
{
	const struct segment *below;

	grow(session);
	below = &session->segment[session->top++];
	session->begin += below->position;
	session->segment[session->top] =
		(struct segment){.length = below->length - below->position};
	set_cut(session);
	return PUSHSNAP;
}

static int turn(struct adstack_session *session)
{
	struct segment *segment = &session->segment[session->top];
	int64_t step = session->begin + segment->position + 1;
	int64_t left = segment->position;

	/* All steps of the segment are reversed, and its snapshot is popped. */
	if (left == 0 && session->top > 0) {
		segment = &session->segment[--session->top];
		session->begin -= segment->position;
		left = segment->cut;
	}
	segment->length = left;
	segment->position = RESTORE;
	set_cut(session);
	return step == session->length ? FIRSTTURN : TURN;
}

/* Steps count from 1; the number of a snapshot is the number of steps before its state. */
static int next(int *action, int *step)
{
	struct adstack_session *session = reel_adstack.stack.sessions;
	struct segment *segment;

	if (!session)
		reel_adstack_fail(-EINVAL,
				  "adBinomial_next without adBinomial_init() on this thread");
	segment = &session->segment[session->top];
	if (segment->length <= 0 && session->top == 0) {
		*action = *step = -1;
		end_session();
		return 0;
	}
	*step = (int)(session->begin + segment->position + 1);
	if (segment->position == RESTORE) {
		segment->position = 0;
		*action = segment->length == 1 ? POPSNAP : LOOKSNAP;
	} else if (segment->position == segment->length - 1) {
		*action = turn(session);
	} else if (segment->position == segment->cut) {
		--*step;
		*action = push_snapshot(session);
	} else {
		segment->position++;
		*action = ADVANCE;
	}
	return 1;
}

/* Ends the loop early: the step that the program was told to advance over was its last one. */
static void resize(void)
{
	struct adstack_session *session = reel_adstack.stack.sessions;
	struct segment *segment;

	if (!session)
		reel_adstack_fail(-EINVAL,
				  "adBinomial_resize without adBinomial_init() on this thread");
	segment = &session->segment[session->top];
	printf("adBinomial: the loop ends with step %lld, of %lld expected\n",
	       (long long)(session->begin + segment->position), (long long)session->length);
	fflush(stdout);
	session->length = session->begin + segment->position;
	segment->length = segment->position--;
}

FORM(void, adBinomial_init, (int length, int snapshots, int first_step), {
	(void)first_step;
	begin_session(length, snapshots);
})
FORM(int, adBinomial_next, (int *action, int *step), { return next(action, step); })
FORM(void, adBinomial_resize, (void), { resize(); })
FORTRAN(void, adbinomial_init, (const int *length, const int *snapshots, const int *first_step), {
	(void)first_step;
	begin_session(*length, *snapshots);
})
FORTRAN(int, adbinomial_next, (int *action, int *step), { return next(action, step); })
FORTRAN(void, adbinomial_resize, (void), { resize(); })
