/* SPDX-License-Identifier: MIT */
/*
 * Segments: stacks that belong to no thread. A thread that enters a segment exchanges its own stack
 * with the stack of the segment, and exchanges them back when it leaves. Segments nest, because a
 * thread may run a task while another one of its tasks waits.
 *
 * One thread at a time is in a segment; `user` makes sure of it.
 */
#include "forms.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/cancel.h"
#include "os/signals.h"

struct reel_adstack_segment {
	/* Number of the thread that is in the segment; 0: none. */
	_Atomic unsigned user;
	/* The stack of the segment; while a thread is in the segment, the stack of the thread. */
	reel_tape tape;
	struct adstack_stack stack;
	/* The segment that the thread was in when it entered this one. */
	reel_adstack_segment *outer;
};

/* Requires that no look is open on either stack. */
static void exchange(reel_adstack_segment *segment)
{
	struct adstack_stack present = reel_adstack.stack;
	reel_tape tape;

	REEL_ASSERT(!reel_adstack.looking);
	memset(&tape, 0, sizeof tape);
	reel_tape_move(&tape, reel_adstack_own());
	reel_tape_hand_over(&tape);
	for (struct adstack_layer *layer = present.layers; layer; layer = layer->below)
		reel_tape_hand_over(&layer->tape);
	reel_tape_move(reel_adstack_own(), &segment->tape);
	reel_adstack.stack = segment->stack;
	reel_adstack_find_reader();
	reel_tape_move(&segment->tape, &tape);
	segment->stack = present;
}

static void enter(reel_adstack_segment **handle)
{
	reel_adstack_segment *segment = *handle;
	unsigned user;

	reel_adstack_begin();
	reel_adstack_is_counting();
	reel_adstack_end_look();
	if (!segment)
		segment = reel_adstack_allocate(sizeof *segment, "a segment");
	/*
	 * Acquire: pairs with the release in leave(). Makes visible the stack that the last thread
	 * left in the segment.
	 */
	user = atomic_exchange_explicit(&segment->user, reel_adstack.number, memory_order_acquire);
	if (user)
		reel_adstack_fail(-EBUSY,
				  "reel_adstack_segment_enter: thread %u is in this segment; one "
				  "task at a time may be, and has to leave it",
				  user);
	exchange(segment);
	segment->outer = reel_adstack.segment;
	reel_adstack.segment = segment;
	*handle = segment;
}

static bool is_used_up(void)
{
	const struct adstack_stack *stack = &reel_adstack.stack;

	return !reel_adstack_bytes() && !reel_adstack_bit_count() && !stack->levels &&
	       !stack->schedules && !stack->sessions && !stack->fixed_points;
}

static void leave(reel_adstack_segment **handle)
{
	reel_adstack_segment *segment = reel_adstack.segment;
	bool used_up;

	if (!segment || segment != *handle)
		reel_adstack_fail(-EPERM,
				  "reel_adstack_segment_leave: this is not the segment that this "
				  "thread entered last; a task enters and leaves on one thread, so "
				  "it must be tied, and leave the last segment first");
	reel_adstack_end_look();
	used_up = is_used_up();
	if (used_up)
		reel_adstack_reset();
	reel_adstack.segment = segment->outer;
	exchange(segment);
	if (used_up) {
		free(segment);
		*handle = NULL;
		return;
	}
	/* Release: pairs with the acquire in enter(). Makes the stack of the segment visible. */
	atomic_store_explicit(&segment->user, 0, memory_order_release);
}

static void drop_all(void)
{
	reel_adstack_reset();
	reel_adstack_schedules_end();
	reel_adstack_sessions_end();
	reel_adstack_fixed_points_end();
}

static void drop(reel_adstack_segment **handle)
{
	if (!*handle)
		return;
	enter(handle);
	drop_all();
	leave(handle);
}

/* Drops the segments that a thread has entered and not left when it ends. */
void reel_adstack_segments_end(void)
{
	while (reel_adstack.segment) {
		reel_adstack_segment *segment = reel_adstack.segment;

		drop_all();
		leave(&segment);
	}
}

FORTRAN(void, reel_adstack_segment_enter, (reel_adstack_segment **segment), { enter(segment); })
FORTRAN(void, reel_adstack_segment_leave, (reel_adstack_segment **segment), { leave(segment); })
FORTRAN(void, reel_adstack_segment_drop, (reel_adstack_segment **segment), { drop(segment); })

/* ---- Tasks without a segment ---- */

/* OpenMP 6 has this function; older runtimes do not tell tasks apart. */
extern int omp_in_explicit_task(void) __attribute__((weak));

void reel_adstack_note_task(void)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (reel_adstack.segment || !omp_in_explicit_task || !omp_in_explicit_task())
		return;
	/* Relaxed is enough: the flag only makes sure that one thread writes the message. */
	if (atomic_flag_test_and_set_explicit(&said, memory_order_relaxed))
		return;
	REEL_UNCANCELLED;
	REEL_UNSIGNALLED;
	fprintf(stderr,
		"reel: adstack: an explicit OpenMP task uses the stack of thread %u; values that "
		"another task is to pop need a segment: reel_adstack_segment_enter() and _leave() "
		"in both\n",
		reel_adstack.number);
}
