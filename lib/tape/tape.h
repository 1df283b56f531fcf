/* SPDX-License-Identifier: MIT */
/*
 * The tape's parts, in the order of a value's way:
 *
 *	push.c   what the inline push leaves: a new tape, a full window, refusals
 *	bits.c   the bit word; span.c and array.c, many values at once
 *	seal.c   the next slab is put on top
 *	pop.c    what the inline pop leaves: the slab below comes back
 *	mark.c   marks and rewinding; hold.c, holds and replay
 *	check.c  checked mode; error.c, what goes wrong
 *
 * The window is where the tape pushes and pops now: the buffer inside the
 * struct, or the frame of the topmost slab. Slabs are linked downwards, and each
 * one knows how far the window below it was filled, so several slabs may stand
 * on one: a hold that is popped and pushed on branches there.
 */
#ifndef REEL_LIB_TAPE_H
#define REEL_LIB_TAPE_H

#include "config.h"

#include <reel/tape.h>
#include <reel/extend.h>

#include "pool/slab.h"

/* Every pop gives all ones: the tape is out of step with the program. */
#define REEL_OUT_OF_STEP UINT64_MAX

/* Errors of this tape are not reported: who uses it does, or tries again. */
#define REEL_TAPE_SILENT 0x80000000u
/* The notes of another tape, which is checked: there are none of these. */
#define REEL_TAPE_NOTES 0x10000000u

/* The tape of a drop-in library, which is told of its errors in place of the error handler. */
#define REEL_TAPE_DROPIN 0x40000000u

/* The tape of a lane: libreel-omp is told of its errors, besides the error handler. */
#define REEL_TAPE_LANE 0x08000000u

/*
 * The span before the one pushed last is read on: the slab below the top one stays the owner's, and in
 * memory, until another slab is put on both.
 */
#define REEL_TAPE_KEEPS_BELOW 0x04000000u

/* Each push and pop takes the slow path, where a drop-in library counts them. */
#define REEL_TAPE_WATCHED 0x20000000u

_Static_assert((REEL_CHECKED ^ REEL_TAPE_SILENT ^ REEL_TAPE_NOTES ^ REEL_TAPE_DROPIN ^
		REEL_TAPE_LANE ^ REEL_TAPE_KEEPS_BELOW ^ REEL_TAPE_WATCHED) ==
		       (REEL_CHECKED | REEL_TAPE_SILENT | REEL_TAPE_NOTES | REEL_TAPE_DROPIN |
			REEL_TAPE_LANE | REEL_TAPE_KEEPS_BELOW | REEL_TAPE_WATCHED),
	       "flags differ");

static inline char *reel_window_base(const reel_tape *tape)
{
	return tape->slab ? tape->slab->frame : (char *)(uintptr_t)tape->first;
}

static inline char *reel_window_end(const reel_tape *tape)
{
	return reel_window_base(tape) + (tape->slab ? tape->slab->bytes : sizeof tape->first);
}

static inline uint64_t reel_window_filled(const reel_tape *tape)
{
	return tape->top ? (uint64_t)(tape->top - reel_window_base(tape)) : 0;
}

/* What lies in the window is under a hold and must not be overwritten. */
static inline bool reel_window_held(const reel_tape *tape)
{
	return (tape->slab ? tape->slab->holds : 0) != tape->holds;
}

/* tape.c: set the limits, true or false ones, that the tape's state asks for. */
void reel_tape_limits(reel_tape *tape);
/* Begin the inline window, and take up what the pool asks for; 0 or -ENOMEM. */
int reel_tape_start(reel_tape *tape);

/* push.c: count a push that could not be honoured; one of no bits counts as one bit. */
void reel_tape_refuse(reel_tape *tape, uint64_t bits);

/* seal.c: whether no error sticks; begins the inline window of a new tape. */
bool reel_tape_takes_pushes(reel_tape *tape);
/*
 * Make room for `bytes` (a multiple of 8) at the top, on a fresh slab if
 * need be. Returns the top, or NULL after reporting an error.
 */
char *reel_tape_room(reel_tape *tape, size_t bytes);
/* The same, but not in the buffer inside the struct, which moves with the tape. */
char *reel_tape_room_on_slab(reel_tape *tape, size_t bytes);
/* Give the slab that was left last back to the pool. */
void reel_tape_drop_spare(reel_tape *tape);
/*
 * Report a push for which the pool had no `bytes` more. The message begins with `push`, which says
 * which push was refused; `error` is the reason. Returns error.
 */
int reel_tape_fail_for_room(reel_tape *tape, int error, const char *push, size_t bytes);

/* pop.c: leave an empty window for the one below; false: there is none. */
bool reel_tape_step_down(reel_tape *tape);
/* Leave the topmost slab, whatever is on it; the window below is entered next, or left. */
void reel_tape_leave_slab(reel_tape *tape);
/* Go on in the window that the tape has come to, which is filled so far. */
void reel_tape_enter(reel_tape *tape, uint64_t filled);
/* Where the topmost `bytes` begin; NULL after reporting an error. */
char *reel_tape_topmost(reel_tape *tape, size_t bytes, const char *site);
/*
 * Whether a pop of this many bits has to give all ones, because it mirrors a
 * refused push or because the tape is out of step. Counts it.
 */
bool reel_tape_pops_refused(reel_tape *tape, uint64_t bits);

/* mark.c: the present top; and the same as one of the places that a tape goes back to. */
struct reel_position reel_tape_position(const reel_tape *tape);
struct reel_position reel_tape_return_position(const reel_tape *tape);
/* Go back to a place known to be on the tape, without its notes. */
void reel_tape_restore(reel_tape *tape, struct reel_position position);

/* hold.c: the hold keeps a slab that was popped through, readable for one pop more. */
void reel_hold_retain(reel_tape *tape, struct reel_slab *slab);
/* Whether a replay brings refused pushes back. */
bool reel_hold_retains_refused(const reel_tape *tape);

/* check.c. All are no-ops (and true) on a tape that is not checked. */
int reel_check_start(reel_tape *tape);
void reel_check_end(reel_tape *tape);
/* Note a push of n elements; false: refused, and reported. */
bool reel_check_push(reel_tape *tape, const reel_type *type, size_t n, const char *site);
/* Compare a pop with the push it mirrors; false: they differ, and it was reported. */
bool reel_check_pop(reel_tape *tape, const reel_type *type, size_t n, const char *site);
bool reel_check_look(reel_tape *tape, const reel_type *type, size_t n, const char *site);
/* Take back what the last reel_check_push() noted. */
void reel_check_undo(reel_tape *tape);
void reel_check_hand_over(reel_tape *tape);
void reel_check_clear_error(reel_tape *tape);
/* The tape of notes, marked, rewound and held together with its tape; or NULL. */
reel_tape *reel_check_entries(const reel_tape *tape);

/* error.c: who hears of the errors of a REEL_TAPE_DROPIN; set before there is one. */
extern reel_error_handler *reel_dropin_error_handler;
/* error.c: make `error` stick, unless one does already, and report it. Returns error. */
int reel_tape_fail(reel_tape *tape, int error, const char *format, ...)
#if defined(__GNUC__)
	__attribute__((format(printf, 3, 4)))
#endif
	;
/* The same, where pushes and pops do not mirror any more. */
int reel_tape_fail_out_of_step(reel_tape *tape, int error, const char *format, ...)
#if defined(__GNUC__)
	__attribute__((format(printf, 3, 4)))
#endif
	;
/*
 * error.c: when no steps are left that are recorded and not reversed, the tape is as high as it was
 * before; if not, -EBADMSG sticks. `first` and `last`: the steps reversed last, for the message.
 * Returns the tape's error.
 */
int reel_tape_check_balance(reel_tape *tape, uint64_t before, int64_t first, int64_t last);

#endif
