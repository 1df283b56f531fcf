/* SPDX-License-Identifier: MIT */
/*
 * Tapes that are reversed more than once: the same stretch again and again (replay), or by any
 * number of threads at the same time (recordings), for example one for each of several objectives;
 * and the hand-over of a tape to another thread.
 *
 *	reel_recording *recording;
 *
 *	forward sweep, which pushes on `tape`
 *	error = reel_tape_freeze(&tape, &recording);
 *
 *	in each thread, as often as it likes:
 *		reel_tape reader;
 *
 *		error = reel_reader_open(&reader, recording);
 *		reverse sweep, which pops from `reader`
 *		reel_tape_close(&reader);
 *
 *	reel_recording_close(recording);
 *
 * A reader is a tape (reel/tape.h) that begins with the contents of the frozen tape. Pops change
 * only this reader: the recording does not change. reel_tape_replay() brings the reader back to its
 * beginning. Pushes on a reader go to its own slabs.
 *
 * On a pool with a store a recording leaves memory as a tape does. Readers that run side by side
 * share slabs that are read back: each slab is read once for all of them.
 *
 * Several seeds. Often a reader is not needed for each seed: the values that a reverse sweep pops
 * do not depend on the seed, so one sweep can carry a short vector of adjoints, and read the
 * recording once for all of them:
 *
 *	x = reel_pop(&reader, double);
 *	for (s = 0; s < SEEDS; s++)
 *		x_bar[s] = cos(x) * x_bar[s];
 *
 * Threads. Any number of threads may open, use and close readers of one recording at once. Each
 * reader belongs to one thread at a time.
 *
 * Cost. Pops on a reader cost the same as pops on a tape in a hold. A step to the next slab is an
 * atomic addition on a cache line that the readers of that slab share, and a wait if another reader
 * is just entering or leaving it.
 *
 * fork: the child must not use recordings and their readers.
 */
#ifndef REEL_RECORDING_H
#define REEL_RECORDING_H

#include <reel/tape.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Replay ------------------------------------------------------------------ */

/*
 * Replay: reverse the same stretch of a tape several times (fixed-point
 * adjoints, several right-hand sides, a frozen tape).
 *
 *	reel_tape_hold(&tape);
 *	for (k = 0; k < iterations; k++) {
 *		reel_tape_replay(&tape);
 *		reverse sweep over some or all of the tape
 *	}
 *	reel_tape_release(&tape);
 *
 * reel_tape_hold() marks the current top and keeps everything below it, even after pops.
 * reel_tape_replay() goes back to that mark; pushes since then are dropped. reel_tape_release()
 * ends the hold and leaves the top in place: values popped since the mark are gone. Pushes are
 * allowed in a hold, at any depth; they overwrite nothing. Holds nest; replay and release apply to
 * the innermost hold. Closing the tape ends all holds.
 *
 * Returns 0, or -ENOMEM (hold), -EINVAL (replay or release without a hold), which sticks.
 *
 * Constant time, apart from the slabs that a release gives back. In a hold, the
 * first push after a pop takes a slab.
 */
int reel_tape_hold(reel_tape *tape);
int reel_tape_replay(reel_tape *tape);
int reel_tape_release(reel_tape *tape);

/* ---- Another thread ---------------------------------------------------------- */

/*
 * Give up ownership: the next thread to use the tape owns it. Needed in checked mode only, where a
 * use by another thread is otherwise an error (-EPERM); the caller must synchronise the two threads
 * in any case.
 */
void reel_tape_hand_over(reel_tape *tape);

/* ---- Recordings -------------------------------------------------------------- */

typedef struct reel_recording reel_recording;

/*
 * Makes a recording of the contents of the tape, which is all zero afterwards, as after
 * reel_tape_close(). Its marks become invalid.
 *
 * Returns 0, or, with the tape unchanged,
 *   -EBUSY   a hold is open: release it first; or the tape is a reader
 *   -ENOMEM  no memory
 *   the error that sticks to the tape
 *
 * Cost: O(slabs), and 48 bytes for each of them.
 */
int reel_tape_freeze(reel_tape *tape, reel_recording **recording);

/*
 * Makes *reader a tape with the contents of the recording. The old contents of *reader are
 * overwritten, not closed. Waits for the store if the top of the recording is there.
 *
 * Returns 0, or -ENOMEM. Errors of the store stick to the reader, as to a tape.
 */
int reel_reader_open(reel_tape *reader, reel_recording *recording);

/*
 * Ends the program's use of the recording; NULL is allowed. Its memory goes back to the pool when
 * its last reader has also been closed, which must happen before the pool is closed.
 */
void reel_recording_close(reel_recording *recording);

#ifdef __cplusplus
}
#endif

#endif
