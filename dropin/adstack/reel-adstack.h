/* SPDX-License-Identifier: MIT */
/*
 * The stack of intermediate values that adjoint code of Tapenade calls, on Reel's tape.
 *
 * Generated code is not changed. It is linked with -lreel-adstack in place of adStack.o,
 * adBuffer.o, adOMP.o, adBinomial.o and adFixedPoint.o; README.md of this library has the recipe.
 * This header is for two uses:
 *
 * Forced into generated C code (cc -include reel-adstack.h), it makes each push and pop of a
 * scalar inline, and keeps the original headers out by their own guards. In code that is bound
 * by its tape, such as stencils, this is worth a factor of two and more.
 *
 * Included by a program, it declares the functions that the original does not have:
 * an error handler, a way to start again, and pushes of more than 2^31 elements.
 *
 * The stack. Each thread has one stack, a tape of Reel that belongs to the library. It begins
 * with the thread's first push and ends with the thread. Values are packed: a Real8 takes 8
 * bytes, an Integer4 takes 4, a Control3b takes 3 bits of a word of 32. They are one sequence of
 * bytes, on any number of slabs: ten Real8 that were pushed as an array may be popped one
 * by one. Bits are collected in a word of 32 bits that is pushed when it is full, so bits and bytes
 * keep their common order.
 *
 * Repeat levels. adStack_startRepeat() protects the values on the stack: they can be popped, and
 * adStack_resetRepeat() brings all of them back, again and again. adStack_endRepeat() ends the
 * protection and leaves the top where it is. Pushes are allowed at any depth; after their pops,
 * reading continues where it was. Levels nest. A stack that was recorded once can thus be reversed
 * any number of times. A look is a pop that the next push or pop takes back.
 *
 * Threads. All functions may be called by any thread and work on the stack of the calling one;
 * none takes a lock. The thread that pushed a value must pop it. Explicit tasks of OpenMP, which
 * run on any thread, need segments (below).
 *
 * Errors end the program with exit status 1, after a line on stderr that names the call, the number
 * of bytes, the thread and the repeat level. The errors are: memory or the budget is used up, the
 * store failed, a program pops more than it pushed, or it ends a level that it did not start. In
 * checked mode (REEL_CHECKED=1) a pop whose type differs from the type of its push is also an
 * error.
 *
 * Environment: the variables of the default pool (reel/pool.h): REEL_BUDGET, REEL_SPILL_DIR,
 * REEL_STORE, REEL_CHECKED. REEL_STATS=1 counts pushes, pops and bytes by type and thread, and the
 * exact peak, and writes them to stderr when the program ends. It sends each call to the slow path.
 * REEL_PROFILE=FILE and reel profile FILE show which lines push the bytes.
 *
 * Cost: a push or a pop of a scalar is a compare, a load or store, and a new top; the compare
 * serves slabs, levels and errors alike.
 */
#ifndef REEL_ADSTACK_H
#define REEL_ADSTACK_H

#include <limits.h>
#include <stdint.h>

#include <reel/tape.h>

/* ---- Beyond the original ------------------------------------------------------- */

/*
 * Called in place of the exit, after the line was written to stderr. `error` is a value of
 * reel_tape_error(). The stack of the calling thread must not be used again before
 * reel_adstack_reset(); the handler may leave by longjmp(). If it returns, the program exits
 * with status 1. NULL brings back the exit. Install it before threads use their stacks.
 */
typedef void reel_adstack_handler(int error, const char *message, void *context);
void reel_adstack_set_handler(reel_adstack_handler *handler, void *context);

/*
 * Drop all values of the calling thread's stack, its repeat levels and its error, and give its
 * memory back to the pool. The stack can be used again.
 */
void reel_adstack_reset(void);

/* pushNArray() and popNArray() without their bound of 2 GiB. NULL is allowed for no bytes. */
void reel_adstack_push_bytes(const void *source, size_t bytes);
void reel_adstack_pop_bytes(void *target, size_t bytes);

/* Number of open repeat levels on the calling thread's stack. */
unsigned reel_adstack_repeat_level(void);

/*
 * Segments: stacks for OpenMP's explicit tasks. A task may run on any thread, and its reverse task
 * on another one, so it needs a stack of its own, which the reverse task takes up again:
 *
 *	reel_adstack_segment *segment[N] = {0};
 *
 *	#pragma omp task                              #pragma omp task
 *	{                                             {
 *	    reel_adstack_segment_enter(&segment[i]);      reel_adstack_segment_enter(&segment[i]);
 *	    forward(i);                                   reverse(i);
 *	    reel_adstack_segment_leave(&segment[i]);      reel_adstack_segment_leave(&segment[i]);
 *	}                                             }
 *
 * Between the two, all calls of this thread work on the segment, which is empty when it is
 * entered first; repeat levels, schedules and checkpointing loops also belong to the segment.
 * Leaving gives the thread its own stack back, and frees the segment if it is empty and has no open
 * level (*segment is NULL then). reel_adstack_segment_drop() frees a segment with all its values.
 *
 * A thread may run other tasks while a task waits inside of its segment: these enter and leave
 * segments of their own. A task must enter and leave on the same thread, so it must be tied (not
 * `untied`). Only one task at a time may be in a segment, and the program's task dependences must
 * make the reverse task come later. A program that breaks these rules ends with a message.
 *
 * Fortran: integer(8), or type(c_ptr), initially 0, by the same names.
 *
 * Without a segment a task uses the stack of the thread that it runs on. This is right only if the
 * task pops all that it pushed before it ends; otherwise the next task on the thread finds its
 * values. If the runtime has omp_in_explicit_task() (OpenMP 6), the first such task that begins a
 * stack or crosses into a slab is reported on stderr. libgomp of gcc 12 does not have it. Such a
 * program is noticed if a thread pops more than it pushed (an error that names the remedy), if a
 * pop has another type (in checked mode), or by the counts of REEL_STATS=1.
 *
 * Cost: an allocation, when a segment is entered first, and some hundred bytes copied.
 */
typedef struct reel_adstack_segment reel_adstack_segment;

void reel_adstack_segment_enter(reel_adstack_segment **segment);
void reel_adstack_segment_leave(reel_adstack_segment **segment);
void reel_adstack_segment_drop(reel_adstack_segment **segment);

/* ---- The original's types -------------------------------------------------------- */

/* INTEGER*8: long if it has 64 bits, as in the original's header. */
#if ULONG_MAX > UINT32_MAX
#define REEL_ADSTACK_LONG long
#else
#define REEL_ADSTACK_LONG long long
#endif

/* X(Name, name, TYPE): scalars that are pushed by value. */
#define REEL_ADSTACK_SCALARS(X)                                                                    \
	X(Integer4, integer4, int)                                                                 \
	X(Integer8, integer8, REEL_ADSTACK_LONG)                                                   \
	X(Real4, real4, float)                                                                     \
	X(Real8, real8, double)                                                                    \
	X(Complex8, complex8, float _Complex)                                                      \
	X(Complex16, complex16, double _Complex)                                                   \
	X(Character, character, char)                                                              \
	X(Pointer4, pointer4, void *)                                                              \
	X(Pointer8, pointer8, void *)

/* X(Name, name, TYPE, bytes of an element): arrays, (TYPE *, int n). */
#define REEL_ADSTACK_ARRAYS(X)                                                                     \
	X(Integer4, integer4, int, 4)                                                              \
	X(Integer8, integer8, REEL_ADSTACK_LONG, 8)                                                \
	X(Integer16, integer16, void, 16)                                                          \
	X(Real4, real4, float, 4)                                                                  \
	X(Real8, real8, double, 8)                                                                 \
	X(Real16, real16, long double, 16)                                                         \
	X(Real32, real32, void, 32)                                                                \
	X(Complex4, complex4, void, 4)                                                             \
	X(Complex8, complex8, void, 8)                                                             \
	X(Complex16, complex16, void, 16)                                                          \
	X(Complex32, complex32, void, 32)                                                          \
	X(Character, character, char, 1)                                                           \
	X(Boolean, boolean, void, 4)                                                               \
	X(Pointer4, pointer4, void, 4)                                                             \
	X(Pointer8, pointer8, void, 8)

/* X(Name, name, number of bits). */
#define REEL_ADSTACK_BITS(X)                                                                       \
	X(Boolean, boolean, 1)                                                                     \
	X(Control1b, control1b, 1)                                                                 \
	X(Control2b, control2b, 2)                                                                 \
	X(Control3b, control3b, 3)                                                                 \
	X(Control4b, control4b, 4)                                                                 \
	X(Control5b, control5b, 5)                                                                 \
	X(Control6b, control6b, 6)                                                                 \
	X(Control7b, control7b, 7)                                                                 \
	X(Control8b, control8b, 8)                                                                 \
	X(Control9b, control9b, 9)

enum reel_adstack_type {
#define REEL_ADSTACK_TYPE(Name, name, type, bytes) REEL_ADSTACK_##Name,
	REEL_ADSTACK_ARRAYS(REEL_ADSTACK_TYPE)
#undef REEL_ADSTACK_TYPE
	REEL_ADSTACK_Bytes,
	REEL_ADSTACK_Bit,
#define REEL_ADSTACK_TYPE(Name, name, bits) REEL_ADSTACK_##Name##_bits,
	REEL_ADSTACK_BITS(REEL_ADSTACK_TYPE)
#undef REEL_ADSTACK_TYPE
	REEL_ADSTACK_TYPES
};

/* ---- The fast paths ---------------------------------------------------------------- */

/* The topmost tape of the calling thread's stack. Programs must not use its members. */
extern _Thread_local reel_tape reel_adstack_tape __attribute__((tls_model("initial-exec")));

/* Returns the address for a value of `bytes` bytes. The caller stores it and raises the top. */
REEL_COLD char *reel_adstack_push_slow(size_t bytes, enum reel_adstack_type type);
/* Pops a value and returns its address, which is valid until the next call. */
REEL_COLD const char *reel_adstack_pop_slow(size_t bytes, enum reel_adstack_type type);
REEL_COLD void reel_adstack_push_bits_slow(unsigned value, unsigned n, enum reel_adstack_type type);
REEL_COLD unsigned reel_adstack_pop_bits_slow(unsigned n, enum reel_adstack_type type);

/* Values are packed, so they may lie at any address; they are stored by their own type. */
#define REEL_ADSTACK_SCALAR(Name, name, type)                                                      \
	typedef type reel_adstack_##Name __attribute__((aligned(1)));                              \
                                                                                                   \
	REEL_ALWAYS_INLINE void reel_adstack_push_##Name(type x)                                   \
	{                                                                                          \
		char *slot = reel_adstack_tape.top;                                                \
                                                                                                   \
		if (REEL_UNLIKELY(reel_above(slot, sizeof x, reel_adstack_tape.ceiling)))          \
			slot = reel_adstack_push_slow(sizeof x, REEL_ADSTACK_##Name);              \
		*(reel_adstack_##Name *)(void *)slot = x;                                          \
		reel_adstack_tape.top = slot + sizeof x;                                           \
	}                                                                                          \
                                                                                                   \
	REEL_ALWAYS_INLINE type reel_adstack_pop_##Name(void)                                      \
	{                                                                                          \
		char *top = reel_adstack_tape.top;                                                 \
		const char *slot;                                                                  \
                                                                                                   \
		if (REEL_UNLIKELY(reel_under(top, sizeof(type), reel_adstack_tape.floor))) {       \
			slot = reel_adstack_pop_slow(sizeof(type), REEL_ADSTACK_##Name);           \
			return *(const reel_adstack_##Name *)(const void *)slot;                   \
		}                                                                                  \
		slot = top - sizeof(type);                                                         \
		reel_adstack_tape.top = top - sizeof(type);                                        \
		return *(const reel_adstack_##Name *)(const void *)slot;                           \
	}

REEL_ADSTACK_SCALARS(REEL_ADSTACK_SCALAR)

/*
 * Fewer than 32 bits wait in the tape's word of 64 bits. The bit that was pushed last is the
 * highest bit of the word, and the lowest set bit of the word, below all waiting bits, tells their
 * number. The least significant bit of a value is pushed first. The push of the 32nd bit would move
 * the lowest set bit into the lower half of the word; it sends all of them to the stack as 4 bytes
 * instead. The word of a tape that has not begun is 0.
 */
#define REEL_ADSTACK_WORD_BITS 32u
#define REEL_ADSTACK_NO_BITS ((uint64_t)1 << 63)

REEL_ALWAYS_INLINE void reel_adstack_push_bits(unsigned value, unsigned n,
					       enum reel_adstack_type type)
{
	uint64_t word = reel_adstack_tape.bits >> n;

	if (REEL_UNLIKELY((uint32_t)word != 0 ||
			  reel_adstack_tape.ceiling == REEL_FALSE_CEILING)) {
		reel_adstack_push_bits_slow(value, n, type);
		return;
	}
	reel_adstack_tape.bits = word | (uint64_t)value << (64 - n);
}

REEL_ALWAYS_INLINE unsigned reel_adstack_pop_bits(unsigned n, enum reel_adstack_type type)
{
	uint64_t word = reel_adstack_tape.bits;

	if (REEL_UNLIKELY(word << n == 0 || reel_adstack_tape.floor == REEL_FALSE_FLOOR))
		return reel_adstack_pop_bits_slow(n, type);
	reel_adstack_tape.bits = word << n;
	return (unsigned)(word >> (64 - n));
}

/* A push of one bit stores whether the value differs from 0, as with Fortran's LOGICAL. */
#define REEL_ADSTACK_BITS_OF(x, n) ((n) == 1 ? (unsigned)((x) != 0) : (unsigned)(x))

/* ---- The original's functions, inline ------------------------------------------------ */

#ifndef REEL_ADSTACK_LIBRARY

/* The names of the original, and the names in lower case that C code of early versions calls. */

#define ADBUFFER_LOADED 1
#define ADSTACK_LOADED 1
#define ADSTACK_INCLUDED 1

/* The complex scalars are macros, because generated code also passes structs of its own. */
#define REEL_ADSTACK_PLAIN_SCALARS(X)                                                              \
	X(Integer4, integer4, int)                                                                 \
	X(Integer8, integer8, REEL_ADSTACK_LONG)                                                   \
	X(Real4, real4, float)                                                                     \
	X(Real8, real8, double)                                                                    \
	X(Character, character, char)                                                              \
	X(Pointer4, pointer4, void *)                                                              \
	X(Pointer8, pointer8, void *)

#define REEL_ADSTACK_DEFINE(Name, name, type)                                                      \
	REEL_ALWAYS_INLINE void push##Name(type x) { reel_adstack_push_##Name(x); }                \
	REEL_ALWAYS_INLINE void push##name(type x) { reel_adstack_push_##Name(x); }                \
	REEL_ALWAYS_INLINE void pop##Name(type *x) { *x = reel_adstack_pop_##Name(); }             \
	REEL_ALWAYS_INLINE void pop##name(type *x) { *x = reel_adstack_pop_##Name(); }             \
	void look##Name(type *x);                                                                  \
	REEL_ALWAYS_INLINE void look##name(type *x) { look##Name(x); }
REEL_ADSTACK_PLAIN_SCALARS(REEL_ADSTACK_DEFINE)
#undef REEL_ADSTACK_DEFINE

#define REEL_ADSTACK_DEFINE(Name, name, n)                                                         \
	REEL_ALWAYS_INLINE void push##Name(int x)                                                  \
	{                                                                                          \
		reel_adstack_push_bits(REEL_ADSTACK_BITS_OF(x, n), n, REEL_ADSTACK_##Name##_bits); \
	}                                                                                          \
	REEL_ALWAYS_INLINE void push##name(int x) { push##Name(x); }                               \
	REEL_ALWAYS_INLINE void pop##Name(int *x)                                                  \
	{                                                                                          \
		*x = (int)reel_adstack_pop_bits(n, REEL_ADSTACK_##Name##_bits);                    \
	}                                                                                          \
	REEL_ALWAYS_INLINE void pop##name(int *x) { pop##Name(x); }                                \
	void look##Name(int *x);                                                                   \
	REEL_ALWAYS_INLINE void look##name(int *x) { look##Name(x); }
REEL_ADSTACK_BITS(REEL_ADSTACK_DEFINE)
#undef REEL_ADSTACK_DEFINE

REEL_ALWAYS_INLINE void pushBit(int x)
{
	reel_adstack_push_bits(x != 0, 1, REEL_ADSTACK_Bit);
}

REEL_ALWAYS_INLINE int popBit(void)
{
	return (int)reel_adstack_pop_bits(1, REEL_ADSTACK_Bit);
}

#define pushComplex8(x)                                                                            \
	do {                                                                                       \
		__typeof__(x) reel_adstack_copy = (x);                                             \
		reel_adstack_push_bytes(&reel_adstack_copy, 8);                                    \
	} while (0)
#define pushComplex16(x)                                                                           \
	do {                                                                                       \
		__typeof__(x) reel_adstack_copy = (x);                                             \
		reel_adstack_push_bytes(&reel_adstack_copy, 16);                                   \
	} while (0)
#define popComplex8(x) reel_adstack_pop_bytes((x), 8)
#define popComplex16(x) reel_adstack_pop_bytes((x), 16)

/* A Real16, alone or in an array, takes 16 bytes, even if a long double has fewer. */
void pushReal16(long double *x);
void popReal16(long double *x);
void lookReal16(long double *x);

/* Out of line, because inlined copies of constant size are slower and not smaller. */
#define REEL_ADSTACK_DECLARE(Name, name, type, bytes)                                              \
	void push##Name##Array(type *x, int n);                                                    \
	void pop##Name##Array(type *x, int n);                                                     \
	void look##Name##Array(type *x, int n);                                                    \
	REEL_ALWAYS_INLINE void push##name##array(type *x, int n) { push##Name##Array(x, n); }     \
	REEL_ALWAYS_INLINE void pop##name##array(type *x, int n) { pop##Name##Array(x, n); }       \
	REEL_ALWAYS_INLINE void look##name##array(type *x, int n) { look##Name##Array(x, n); }
REEL_ADSTACK_ARRAYS(REEL_ADSTACK_DECLARE)
#undef REEL_ADSTACK_DECLARE

/* An earlier version of the original had a third argument. */
#define REEL_ADSTACK_FIRST(n, ...) ((n) > 0 ? (size_t)(n) : 0)
#define pushNArray(x, ...) reel_adstack_push_bytes((x), REEL_ADSTACK_FIRST(__VA_ARGS__, 0))
#define popNArray(x, ...) reel_adstack_pop_bytes((x), REEL_ADSTACK_FIRST(__VA_ARGS__, 0))
void lookNArray(char *x, int n);

void adStack_startRepeat(void);
void adStack_resetRepeat(void);
void adStack_endRepeat(void);
uint64_t adStack_getCurrentStackSize(void);
void adStack_showPeakSize(void);
void adStack_showTotalTraffic(void);
void adStack_showTraffic(void);
void adStack_showStackSize(int label);
void adStack_showStack(char *place);
int stackIsThreadSafe(void);

#endif

#endif
