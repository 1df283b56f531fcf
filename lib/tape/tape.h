/* SPDX-License-Identifier: MIT */
/*
 * Functions and flags that the files of the tape share. README.md of this folder describes each
 * file.
 *
 * The window is the memory in which the tape pushes and pops: the buffer inside the struct, or the
 * frame of the top slab. Slabs are linked downwards, and each slab keeps how far the window below
 * it was filled. Several slabs may therefore stand on the same slab: if a tape is popped and
 * pushed on in a hold, the new slabs branch off.
 *
 * Only the owner of a tape calls these functions.
 */
#ifndef REEL_LIB_TAPE_H
#define REEL_LIB_TAPE_H

#include "config.h"

#include <reel/extend.h>
#include <reel/recording.h>

#include "os/assert.h"
#include "pool/slab.h"
#include "trace/profile.h"
#include "trace/trace.h"

/* A value of `refused`: pops do not mirror pushes any more, so every pop gives all ones. */
#define REEL_OUT_OF_STEP UINT64_MAX

/* Errors of this tape are not reported; the code that uses it reports them or tries again. */
#define REEL_TAPE_SILENT 0x80000000u
/* The tape holds the notes of a tape in checked mode; it has no notes of its own. */
#define REEL_TAPE_NOTES 0x10000000u

/* The tape of a drop-in library, whose handler gets its errors in place of the error handler. */
#define REEL_TAPE_DROPIN 0x40000000u

/* The tape of a lane: the listener of libreel-omp gets its errors besides the error handler. */
#define REEL_TAPE_LANE 0x08000000u

/*
 * The program still reads the span below the span that it pushed last. The slab below the top slab
 * therefore stays open and in memory until another slab is put on the top slab.
 */
#define REEL_TAPE_KEEPS_BELOW 0x04000000u

/* Each push and pop takes the slow path, where a drop-in library counts it. */
#define REEL_TAPE_WATCHED 0x20000000u

/* The error handler has not been told of the error; see reel_tape_report(). */
#define REEL_TAPE_UNREPORTED 0x02000000u
/* A trace has the bytes of the tape, and is told when they change. */
#define REEL_TAPE_TRACED 0x01000000u

_Static_assert((REEL_TAPE_SILENT ^ REEL_TAPE_NOTES ^ REEL_TAPE_DROPIN ^ REEL_TAPE_LANE ^
		REEL_TAPE_KEEPS_BELOW ^ REEL_TAPE_WATCHED ^ REEL_TAPE_UNREPORTED ^
		REEL_TAPE_TRACED) == 0xff000000u && REEL_CHECKED < 0x01000000u,
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

/* Returns true if a hold keeps the contents of the window, which a push must not overwrite. */
static inline bool reel_window_held(const reel_tape *tape)
{
	return (tape->slab ? tape->slab->holds : 0) != tape->holds;
}

/* For assertions: whether the top lies in the window and the bit word has room. */
static inline bool reel_window_is_sound(const reel_tape *tape)
{
	/* A top below the window makes `filled` wrap to a number above each capacity. */
	return reel_window_filled(tape) <=
		       (tape->slab ? tape->slab->bytes : sizeof tape->first) &&
	       tape->bit_count < 64;
}

/* For assertions: whether a slab that the tape has entered still fits on the window below it. */
static inline bool reel_slab_is_linked(const struct reel_slab *slab)
{
	const struct reel_slab *below = slab->below;

	if (!below)
		return slab->slab_index == 0 && slab->below_offset <= REEL_INLINE_BYTES;
	return slab->slab_index == below->slab_index + 1 && slab->below_offset <= below->bytes &&
	       slab->serial > below->serial && slab->holds >= below->holds;
}

/* tape.c: set true limits, or false ones if the state of the tape needs the slow paths. */
void reel_tape_limits(reel_tape *tape);
/* Begin the inline window, and checked mode if the pool asks for it; 0 or -ENOMEM. */
int reel_tape_start(reel_tape *tape);

/*
 * tape.c: whether the tape is a copy of another struct, as far as that can be seen. If so, empties
 * it, since all that it refers to is the other's, and fails with -EINVAL.
 */
bool reel_tape_is_copy(reel_tape *tape);

/* push.c: count a refused push, so that its pop is also refused; 0 bits count as one bit. */
void reel_tape_refuse(reel_tape *tape, uint64_t bits);
/*
 * Number of bits that n refused elements add to `refused`; their pop computes the same number.
 * Mutants survive (arithmetic, constant): any number that the pop also computes will do.
 */
static inline uint64_t reel_tape_refused_bits(size_t n, size_t size)
{
	return REEL_TOO_MANY(n, size) ? (uint64_t)1 << 62 : (uint64_t)REEL_ROUND(n * size) * 8;
}

/* room.c: whether no error sticks; begins the inline window of a new tape. */
bool reel_tape_takes_pushes(reel_tape *tape);
/*
 * Make room for `bytes` at the top, on another slab if the window has too little. `bytes` is a
 * multiple of 8, except on the tapes of libreel-adstack, which packs values. Returns the top, or
 * NULL after an error. `call_site` is for profiles.
 */
char *reel_tape_room(reel_tape *tape, size_t bytes, const char *call_site);
/* The same, but not in the buffer inside the struct, which moves with the tape. */
char *reel_tape_room_on_slab(reel_tape *tape, size_t bytes, const char *call_site);
static inline void reel_tape_trace(const reel_tape *tape, uint64_t bytes)
{
	if (tape->flags & REEL_TAPE_TRACED)
		REEL_TRACE(TAPE, 0, (int64_t)(uintptr_t)tape, (int64_t)bytes);
}
/* In the child of a fork: let an empty tape leave its parent's default pool for the child's. */
void reel_tape_leave_parent_pool(reel_tape *tape);
/* Give the spare back to the pool. */
void reel_tape_drop_spare(reel_tape *tape);
/*
 * Fail a push for which the pool had no `bytes` more. The message begins with `push`, which says
 * which push was refused; `error` is the reason. Returns error.
 */
int reel_tape_fail_for_room(reel_tape *tape, int error, const char *push, size_t bytes);

/*
 * profile.c: a push of the `bytes` above the top, which have room, may be one whose place stands
 * for the top slab in a profile. All pushes that do without the fast path call this.
 */
void reel_tape_note_place(reel_tape *tape, size_t bytes, const char *call_site);
static inline void reel_tape_profile(reel_tape *tape, size_t bytes, const char *call_site)
{
	if (reel_profiles())
		reel_tape_note_place(tape, bytes, call_site);
}
/* Returns where a push is looked at next, or the end of the window. Requires a profile. */
char *reel_tape_profile_ceiling(const reel_tape *tape);
/* `slab` is put on the slab below it, which a profile counts by its bytes from then on. */
void reel_tape_cover(const reel_tape *tape, struct reel_slab *slab, const char *call_site);
/* A slab is given up: the profile counts neither its bytes nor the bytes of the slab below. */
void reel_tape_uncover(struct reel_slab *slab);

/* pop.c: leave an empty window for the window below; false: there is none. */
bool reel_tape_step_down(reel_tape *tape);
/* Leave the top slab, whatever is on it. The caller then enters the window below, or leaves it. */
void reel_tape_leave_slab(reel_tape *tape);
/* Enter the window of `tape->slab`, which is filled up to `filled` bytes. */
void reel_tape_enter(reel_tape *tape, uint64_t filled);
/* Returns where the topmost `bytes` begin; NULL after an error. */
char *reel_tape_topmost(reel_tape *tape, size_t bytes, const char *call_site);
/*
 * Returns true if a pop of `bits` bits must give all ones, because it mirrors a refused push or
 * because the tape is out of step. If so, counts the pop.
 */
bool reel_tape_pops_refused(reel_tape *tape, uint64_t bits);

/*
 * below.c: the owner seals the slabs below the top of its tape, acquires them again on the way
 * down, and requests those that it will need next. Without a store these functions do nothing.
 *
 * Before another slab covers the top slab: leave it to the offload thread, or the slab below it, if
 * the tape keeps the one below its top.
 */
void reel_below_seal(reel_tape *tape);
/* Leave a slab to the offload thread that the tape was popped through and that a hold keeps. */
void reel_below_retain(reel_tape *tape, struct reel_slab *slab);
/* As reel_slab_acquire(), for the slab that is the top slab now. */
int reel_below_acquire(reel_tape *tape, struct reel_slab *slab);
/* Request the slabs that the tape will need next. Called after a step down. */
void reel_below_read_ahead(reel_tape *tape);
/* Give the `demand` of a tape back that has no slabs any more. */
void reel_below_end(reel_tape *tape);

/* mark.c: the present top. */
struct reel_position reel_tape_position(const reel_tape *tape);
/* The present top, for reel_tape_restore(): never the bottom of a slab. */
struct reel_position reel_tape_return_position(const reel_tape *tape);
/* Go back to a position that is on the tape. The notes of checked mode stay as they are. */
void reel_tape_restore(reel_tape *tape, struct reel_position position);

/* hold.c: keep a slab that the tape was popped through; it stays readable for one pop more. */
void reel_hold_retain(reel_tape *tape, struct reel_slab *slab);
/* Returns true if a hold is open that the program began. */
bool reel_hold_is_open(const reel_tape *tape);
/* The reader that the tape is, or NULL. */
struct reel_reader *reel_hold_reader(const reel_tape *tape);
/* The hold of a reader: its replay goes back to `at`. False: no memory. */
bool reel_hold_begin_reader(reel_tape *tape, struct reel_reader *reader,
			    struct reel_position at);
/* Ends it and the reader: the tape has no slabs then, except its spare. */
void reel_hold_end_reader(reel_tape *tape);
/* Returns true if a replay brings refused pushes back. */
bool reel_hold_retains_refused(const reel_tape *tape);

/* recording.c, for slabs of the recording that a reader reads. Returns as reel_slab_acquire(). */
int reel_reader_pin(reel_tape *tape, struct reel_slab *slab);
/* Does nothing if the reader has not pinned the slab. */
void reel_reader_unpin(reel_tape *tape, struct reel_slab *slab);
/* Unpins its slabs, and frees the recording if nobody else uses it. */
void reel_reader_end(reel_tape *tape);

/* check.c. On a tape that is not checked these functions do nothing, and return true. */
int reel_check_start(reel_tape *tape);
void reel_check_end(reel_tape *tape);
/* Returns whether this struct is a copy of a checked tape, whose place is another struct. */
bool reel_check_is_copy(const reel_tape *tape);
/* The tape has been moved to this struct. */
void reel_check_move(reel_tape *tape);
/* Note a push of n elements; false: refused, and the error sticks. */
bool reel_check_push(reel_tape *tape, const reel_type *type, size_t n, const char *call_site);
/*
 * Compare a pop with the push it mirrors, and remove the note if `pops`; false: they differ, and
 * the error sticks.
 */
bool reel_check_compare(reel_tape *tape, const reel_type *type, size_t n, const char *call_site,
			bool pops);
/* Remove the note of the last reel_check_push(). */
void reel_check_undo(reel_tape *tape);
/* The tape of the notes, which is marked, rewound and held together with its tape; or NULL. */
reel_tape *reel_check_entries(const reel_tape *tape);

/* error.c: gets the errors of tapes with REEL_TAPE_DROPIN; set before such a tape is opened. */
extern reel_error_handler *reel_dropin_error_handler;
/*
 * error.c: make `error` stick, unless another error sticks. The error handler is told of it by
 * reel_tape_report(), which each function calls last that a program calls and that may fail.
 * Returns error.
 */
int reel_tape_fail(reel_tape *tape, int error, const char *format, ...)
#if defined(__GNUC__)
	__attribute__((format(printf, 3, 4)))
#endif
	;
/*
 * error.c: tell the error handler of an error that it has not been told of. The handler may leave
 * by longjmp() or an exception, so the tape is as the program is to find it.
 */
void reel_tape_report(reel_tape *tape);
/* error.c: pops do not mirror pushes any more, so each pop gives all ones. */
void reel_tape_put_out_of_step(reel_tape *tape);
/* Puts the tape out of step, and gives it the error as reel_tape_fail() does. */
#define reel_tape_fail_out_of_step(tape, error, ...)                                               \
	(reel_tape_put_out_of_step(tape), reel_tape_fail(tape, error, __VA_ARGS__))
/*
 * error.c: all steps that were recorded are reversed now. If the tape is not empty, -EBADMSG
 * sticks. The message names the steps that were reversed last: `first` up to, but not including,
 * `last`. Returns the tape's error.
 */
int reel_tape_check_balance(reel_tape *tape, int64_t first, int64_t last);

#endif
