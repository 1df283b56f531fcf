/* SPDX-License-Identifier: MIT */
/*
 * The tape: the forward sweep pushes values, and the reverse sweep pops them.
 *
 *	reel_tape tape = {0};
 *
 *	for (int i = 0; i < n; i++) {           forward sweep
 *		reel_push(&tape, x);
 *		x = sin(x) * a[i];
 *	}
 *	for (int i = n; i-- > 0;) {             reverse sweep
 *		x = reel_pop(&tape, double);
 *		a_bar[i] += sin(x) * x_bar;
 *		x_bar = cos(x) * a[i] * x_bar;
 *	}
 *	reel_tape_close(&tape);
 *
 * Order. Pops mirror pushes: last in, first out, over all kinds of values together; each pop names
 * the type, or the number of bits or elements, that its push had.
 *
 * Memory. A tape is a plain struct that the caller may keep anywhere. A struct of all zeros is an
 * empty tape on the default pool, so static, thread-private and zero-filled tapes just work. The
 * first 128 bytes go to a buffer inside the struct; then slabs come from the pool. A record takes
 * its size rounded up to 8 bytes; bits are packed.
 *
 * Copies. A tape must not be copied, nor moved by realloc(): reel_tape_move() moves it. In C++ a
 * copy does not compile. In C and Fortran, a copy of a checked tape fails with -EINVAL at its first
 * use, and all its pops give all ones. A copy of an unchecked tape fails in the same way only while
 * the tape has no slab, when it needs the library; otherwise it is not detected until both structs
 * give back the same slabs.
 *
 * Threads. A tape belongs to one thread at a time and takes no lock. The program may hand it to
 * another thread by any synchronisation (a barrier, a join, a task dependence); see
 * reel_tape_hand_over() (reel/recording.h).
 *
 * Errors are sticky: after the first error every push is refused and counted, so a loop needs no
 * test; test reel_tape_error() at its end. Earlier values stay and can be popped, unless pushes and
 * pops do not mirror each other any more. A pop of a refused push, or without a push, gives bytes
 * of all ones (a quiet NaN in every floating-point type, -1 in integers, true in bits, an invalid
 * pointer), never stale data.
 *
 * Cost. A push or a pop of a value in the current slab is inline, wait-free and has no atomic
 * operation: a compare, a load or store, and a new top. A push that crosses into another slab takes
 * it from the thread's magazine (wait-free) or from the pool (lock-free). All rare cases are behind
 * the same compare.
 *
 * Checked mode (REEL_CHECKED, REEL_POOL_CHECKED, or REEL_CHECKED=1 in the environment) notes type,
 * size and call site of each push. The first pop that does not mirror its push, and the first push
 * or pop by a thread that does not own the tape, is reported with both places. Types differ if
 * their sizes do, or if one is an integer, a floating-point number, a pointer or a struct and the
 * other is not, or if they are two types given to REEL_RECORD. Elements of spans and arrays are
 * compared in the same way, except that an array of structs or of rows matches any array of the
 * same size. Checked mode takes some tens of times longer and 32 bytes more per push; results are
 * the same.
 *
 * Cancellation (pthread_cancel). No function of Reel is a cancellation point, even if it waits for
 * a store or for another thread, or reports an error. The request stays pending, and the thread
 * ends at the next cancellation point of the program; a loop of pushes and pops has no cancellation
 * point except pthread_testcancel(). Other threads continue, and may close the tapes of that
 * thread. Callbacks and error handlers belong to the program and may be cancellation points, unless
 * several threads run them (reel/omp.h, reel_tasks_reverse()). A thread must not be cancelled
 * asynchronously (PTHREAD_CANCEL_ASYNCHRONOUS) in a function of Reel: it would end with locks
 * locked.
 *
 * Signals. Nothing here may be called from a signal handler.
 */
#ifndef REEL_TAPE_H
#define REEL_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <reel/pool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct reel_tape reel_tape;

/* Flags of reel_tape_open(): checked mode for this tape. */
#define REEL_CHECKED 1u

/* ---- Opening and closing ------------------------------------------------ */

/*
 * Make *tape an empty tape on `pool` (NULL: the default pool).
 *
 * Needed only to choose a pool or flags; the old contents of *tape are overwritten, not closed. The
 * tape must be closed before the pool. Takes no memory.
 *
 * Returns 0, or -EINVAL for an unknown flag; if the default pool could not be opened,
 * -ENOMEM, or -ENXIO for its store (pool.h).
 */
int reel_tape_open(reel_tape *tape, reel_pool *pool, unsigned flags);

/*
 * Drop the contents of the tape and give its memory back to the pool. The struct is all zero
 * afterwards: an empty tape on the default pool. Its marks become invalid.
 */
void reel_tape_close(reel_tape *tape);

/*
 * Move a tape to another struct, with its contents, marks and error; marks
 * stay valid. *to must be all zero or closed; *from is all zero afterwards.
 */
void reel_tape_move(reel_tape *to, reel_tape *from);

/* Number of bytes on the tape, without gaps at slab ends and unfilled bit words. */
uint64_t reel_tape_bytes(const reel_tape *tape);

/* Returns true if nothing is on the tape, neither values nor bits nor refused pushes. */
bool reel_tape_is_empty(const reel_tape *tape);

/* ---- Errors -------------------------------------------------------------- */

/*
 * The sticky error: 0, or the first of
 *   -EDQUOT    a push was refused at the pool's hard budget
 *   -ECHILD    in the child of a fork, where the store belongs to the parent: the same, or a pop of
 *              a value that is only in the store
 *   -ENOMEM    a push was refused for lack of memory
 *   -EOVERFLOW a span or array larger than the address space
 *   -ENODATA   a pop of an empty tape
 *   -EBADMSG   a pop that does not mirror its push, or a slab that differs from its put into the
 *              pool's store
 *   -EPERM     checked mode: use by a thread that does not own the tape
 *   -EINVAL    a mark that is not on the tape any more, a replay without a hold,
 *              a bit count above 32, or a tape that was copied
 *   -EBUSY     a rewind to a mark from outside the innermost hold
 *   -ENXIO     the first push, on the default pool: the environment asks for a store that
 *              cannot be opened (pool.h)
 * or an error of the pool's store: -ENOSPC, it is full; -EMSGSIZE, the pool's slabs are larger than
 * its slots; -EIO, or any other error of its own. The error handler gets the slab and the reason.
 * A store can pass -ECHILD, -ENOMEM and -EBADMSG through. If it returns another of the codes above,
 * the tape has -ENOSPC for -EDQUOT, -EACCES for -EPERM (the system denied a call), and -EIO
 * otherwise.
 */
int reel_tape_error(const reel_tape *tape);

/*
 * Clear the error, so that the tape accepts pushes again. Returns the cleared error (0 if none), or
 * -EBUSY if refused pushes have not been popped or rewound: the tape would then be out of step.
 */
int reel_tape_clear_error(reel_tape *tape);

/* ---- Values --------------------------------------------------------------- */

/*
 * void reel_push(reel_tape *tape, SCALAR x);
 * TYPE reel_pop(reel_tape *tape, TYPE);
 *
 * Push x, or pop it: any standard integer, floating-point or complex type, or a pointer. A bool is
 * pushed as one bit. Mind C's promotions: 'c' and a < b are ints.
 *
 *	reel_push(&tape, x);                   forward sweep
 *	x = reel_pop(&tape, double);           reverse sweep, in the opposite order
 *
 * After an error pushes are refused. A pop of a refused push, or of an empty tape, gives all ones:
 * NaN in floating-point types, -1 in integers, true in a bool. Test reel_tape_error().
 *
 * In C++ these also take any struct that is trivially copyable and has a default constructor.
 *
 *
 * REEL_RECORD(NAME, TYPE);
 *
 * At file scope: make TYPE (a struct, or any complete type that can be assigned)
 * a record type. NAME is one word. Then, all inline:
 *
 * void reel_push_record(reel_tape *tape, NAME, TYPE x);
 * TYPE reel_pop_record(reel_tape *tape, NAME);
 * reel_cursor reel_cursor_push_record(reel_tape *tape, reel_cursor c, NAME, TYPE x);
 * reel_cursor reel_cursor_pop_record(reel_tape *tape, reel_cursor c, NAME, TYPE *x);
 *
 * A record costs one check, regardless of its size. A record larger than the pool's slabs gets a
 * slab of its own.
 */

/* ---- Bits ------------------------------------------------------------------ */

/*
 * void reel_push_bits(reel_tape *tape, uint64_t value, unsigned n);
 * uint64_t reel_pop_bits(reel_tape *tape, unsigned n);
 *
 * Push the low n bits of value, 0 <= n <= 32: branch numbers, trip counts, small enumerations.
 * Packed 64 to a word, in order with all other values. Any other n is -EINVAL.
 *
 * void reel_push_bit(reel_tape *tape, bool bit);
 * bool reel_pop_bit(reel_tape *tape);
 *
 * One bit: the outcome of a branch.
 */

/* ---- Spans: many values as one plain array ---------------------------------- */

/*
 * TYPE *reel_push_span(reel_tape *tape, TYPE, size_t n);
 *
 * Push n elements at once and return their address, aligned for TYPE; the caller writes them before
 * the next call on the tape. NULL if refused: this is the only push whose result must be tested.
 * The elements are contiguous: a span larger than the pool's slabs gets a slab of its own; spans of
 * 2 to 16 KiB are the fastest way to use a tape, since the loop over them vectorises.
 *
 * const TYPE *reel_pop_span(reel_tape *tape, TYPE, size_t n);
 *
 * Take the span that was pushed last, with the same n, off the tape and return its address, to be
 * read in any order. It stays readable until the next call on the tape, except that a second pop of
 * a span keeps the first span readable: the two spans popped last can be read together. NULL if the
 * push was refused, or if there was none.
 *
 * In the reverse sweep walk through a span, and from one span to the next, in the same direction,
 * downwards. Otherwise the processor prefetches in the wrong direction.
 *
 * Types whose alignment is above 8 bytes work and cost 8 to 64 bytes more per span.
 *
 * Choice of layout: push records of a loop that does not vectorise, or records with many fields, as
 * structs; push others as columns in a span, or as tiles (a span of a struct of short arrays,
 * double x[8], y[8]); push bytes in a separate span. For a single loop over a known number of
 * records, push one span for all of them: it is one array, without any check, and only written
 * pages take memory (a budget counts the whole span).
 */

/*
 * void reel_push_array(reel_tape *tape, const TYPE *source, size_t n);
 * void reel_pop_array(reel_tape *tape, TYPE *target, size_t n);
 *
 * Push and pop n elements by copying. An array of any size is spread over several slabs if
 * necessary. Large arrays are written past the cache if the tape is too high for the cache.
 */

/* ---- Cursors: many values in a loop ------------------------------------------ */

/*
 * reel_cursor reel_push_cursor(const reel_tape *tape);
 * reel_cursor reel_pop_cursor(const reel_tape *tape);
 * reel_cursor reel_cursor_push(reel_tape *tape, reel_cursor c, SCALAR x);
 * reel_cursor reel_cursor_pop(reel_tape *tape, reel_cursor c, SCALAR *x);
 * void reel_cursor_close(reel_tape *tape, reel_cursor c);
 *
 * A cursor holds the top of the tape in the caller's registers while a loop pushes, or pops, many
 * values. It is passed and returned by value; its address should not be taken. Between opening and
 * closing it, nothing else may be called on the tape.
 *
 *	reel_cursor c = reel_push_cursor(&tape);
 *	for (i = 0; i < n; i++)
 *		c = reel_cursor_push(&tape, c, x[i]);
 *	reel_cursor_close(&tape, c);
 *
 *	reel_cursor c = reel_pop_cursor(&tape);
 *	for (i = n; i-- > 0;)
 *		c = reel_cursor_pop(&tape, c, &x[i]);
 *	reel_cursor_close(&tape, c);
 *
 * reel_cursor_push() and reel_cursor_pop() take the scalars of reel_push()
 * except bool, pointers as const void *; REEL_RECORD() makes them for records.
 */
typedef struct reel_cursor {
	char *top;
	char *limit;
} reel_cursor;

/* ---- Marks -------------------------------------------------------------------- */

/* A height of a tape. Opaque; valid until the tape is popped below it. */
typedef struct reel_mark {
	struct reel_position {
		struct reel_slab *slab;
		uint64_t serial;
		uint64_t offset;
		uint64_t below;
		uint64_t bits;
		uint64_t refused;
		uint32_t bit_count;
		uint32_t holds;
	} values, ledger;
} reel_mark;

/* The current top of the tape. Constant time. */
reel_mark reel_tape_mark(const reel_tape *tape);

/*
 * Drop all pushes since the mark, including refused pushes. A mark above the current top, or in a
 * slab that the tape has left since, is -EINVAL; a mark from outside the innermost hold is -EBUSY;
 * both stick. (If the tape was popped below the mark and pushed again within one slab, the mark
 * means the place at the same height. A mark from an earlier hold of the same depth counts as a
 * mark of the current hold.) Otherwise 0. Cost: giving back each dropped slab.
 */
int reel_tape_rewind(reel_tape *tape, reel_mark mark);

#ifdef __cplusplus
}
#endif

#include <reel/inline.h>

#endif
