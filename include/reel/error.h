/* SPDX-License-Identifier: MIT */
/*
 * Errors: one rule for all of Reel.
 *
 *	error = reel_pool_open(&pool, &options);
 *	if (error)
 *		fprintf(stderr, "no pool: %s\n", reel_error_text(error));
 *
 * A function that can fail returns 0 or a negative number of errno.h, and leaves a text for the
 * thread that called it. An object that is used in loops (a tape, a lane, an adjoint array) keeps
 * its first error instead, so that a loop need not test each call: the error is reported once, to
 * the error handler, when it happens, and returned by the functions that end the work.
 */
#ifndef REEL_ERROR_H
#define REEL_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Returns the text of the last failure in this thread if it returned `error`, or if `error` is 0,
 * and otherwise the general meaning of `error`. One line without a newline, which names the failure
 * and, if there is one, the remedy. Without memory for a thread's first text, it is the general
 * meaning. Never NULL; valid until the next failure in this thread, and until the thread ends.
 */
const char *reel_error_text(int error);

/*
 * Called once per tape and error, by the thread whose call failed. `tape` is NULL if something else
 * failed, and the work continues: an adjoint array, the writing of a restart file. `message` is one
 * line without a newline, valid during the call. The handler may ask for the tape's error, and must
 * not use the tape otherwise.
 *
 * The handler may leave by longjmp(), or in C++ by an exception: a push, a pop or another call on a
 * tape calls it last, when a refused push is counted and nothing of it is on the tape. The error
 * sticks as if the handler had returned. A handler that is called in a callback of a run also
 * leaves that callback (reel/run.h); a handler that is called in a parallel region must return.
 */
struct reel_tape;
typedef void reel_error_handler(const struct reel_tape *tape, int error, const char *message,
				void *context);

/*
 * Installs a handler for the process. NULL installs the default, which writes the message to
 * stderr. Call it before threads use tapes.
 */
void reel_set_error_handler(reel_error_handler *handler, void *context);

#ifdef __cplusplus
}
#endif

#endif
