/* SPDX-License-Identifier: MIT */
/*
 * Push and pop of single values: by value in C, by reference in Fortran. Each function works on the
 * stack of the calling thread.
 *
 * This file is compiled a second time for archives, which copy it into programs. All functions that
 * it calls must therefore be in adstack.map.
 */
#include "forms.h"

#if defined(__GNUC__)
#define REEL_NOINLINE __attribute__((noinline))
#else
#define REEL_NOINLINE
#endif

/*
 * The slow path is a tail call, so the fast path needs no stack frame. The inline functions of the
 * header return from their slow path and would save registers in each call. The slow path of a pop
 * is not cold: in a repeat level half of the pops may read a layer. `reel profile` takes functions
 * for the library's by their names.
 */
#define SCALAR_PATHS(Name, name, type)                                                             \
	REEL_COLD static void reel_adstack_push_slow_##Name(type x)                                \
	{                                                                                          \
		char *slot = reel_adstack_push_slow(sizeof x, REEL_ADSTACK_##Name);                \
                                                                                                   \
		*(reel_adstack_##Name *)(void *)slot = x;                                          \
		reel_adstack_tape.top = slot + sizeof x;                                           \
	}                                                                                          \
                                                                                                   \
	REEL_COLD static void reel_adstack_pop_slow_##Name(reel_adstack_##Name *x)                 \
	{                                                                                          \
		const char *slot = reel_adstack_pop_gathered(sizeof *x, REEL_ADSTACK_##Name);      \
                                                                                                   \
		*x = *(const reel_adstack_##Name *)(const void *)slot;                             \
	}                                                                                          \
                                                                                                   \
	REEL_NOINLINE static void reel_adstack_pop_beyond_##Name(reel_adstack_##Name *x)           \
	{                                                                                          \
		const char *slot = reel_adstack_read(sizeof *x);                                   \
                                                                                                   \
		if (REEL_UNLIKELY(!slot))                                                          \
			reel_adstack_pop_slow_##Name(x);                                           \
		else                                                                               \
			*x = *(const reel_adstack_##Name *)(const void *)slot;                     \
	}                                                                                          \
                                                                                                   \
	REEL_ALWAYS_INLINE void push_##Name(type x)                                                \
	{                                                                                          \
		char *slot = reel_adstack_tape.top;                                                \
                                                                                                   \
		if (REEL_UNLIKELY(reel_above(slot, sizeof x, reel_adstack_tape.ceiling))) {        \
			reel_adstack_push_slow_##Name(x);                                          \
			return;                                                                    \
		}                                                                                  \
		*(reel_adstack_##Name *)(void *)slot = x;                                          \
		reel_adstack_tape.top = slot + sizeof x;                                           \
	}                                                                                          \
                                                                                                   \
	REEL_ALWAYS_INLINE void pop_##Name(reel_adstack_##Name *x)                                 \
	{                                                                                          \
		char *top = reel_adstack_tape.top;                                                 \
                                                                                                   \
		if (REEL_UNLIKELY(reel_under(top, sizeof *x, reel_adstack_tape.floor))) {          \
			reel_adstack_pop_beyond_##Name(x);                                         \
			return;                                                                    \
		}                                                                                  \
		top -= sizeof *x;                                                                  \
		reel_adstack_tape.top = top;                                                       \
		*x = *(const reel_adstack_##Name *)(const void *)top;                              \
	}
REEL_ADSTACK_SCALARS(SCALAR_PATHS)

#define SCALAR(Name, name, type)                                                                   \
	FORM(void, push##Name, (type x), { push_##Name(x); })                                      \
	FORM(void, pop##Name, (type * x), { pop_##Name(x); })                                      \
	FORTRAN(void, push##name, (reel_adstack_##Name *x), { push_##Name(*x); })                  \
	FORTRAN(void, pop##name, (reel_adstack_##Name *x), { pop_##Name(x); })
REEL_ADSTACK_SCALARS(SCALAR)

/* ---- Bits ---- */

REEL_NOINLINE static void pop_bits_slow(int *x, unsigned n, enum reel_adstack_type type)
{
	*x = (int)reel_adstack_pop_bits_slow(n, type);
}

/* The inline function of the header would save a register in each call. */
REEL_ALWAYS_INLINE void pop_bits(int *x, unsigned n, enum reel_adstack_type type)
{
	if (REEL_UNLIKELY(reel_adstack_tape.bits << n == 0 ||
			  reel_adstack_tape.floor == REEL_FALSE_FLOOR))
		pop_bits_slow(x, n, type);
	else
		*x = (int)reel_adstack_pop_bits(n, type);
}

#define PUSH_BITS(x, Name, n)                                                                      \
	reel_adstack_push_bits(REEL_ADSTACK_BITS_OF(x, n), n, REEL_ADSTACK_##Name##_bits)
#define POP_BITS(x, Name, n) pop_bits(x, n, REEL_ADSTACK_##Name##_bits)

#define CONTROL(Name, name, n)                                                                     \
	FORM(void, push##Name, (int x), { PUSH_BITS(x, Name, n); })                                \
	FORM(void, pop##Name, (int *x), { POP_BITS(x, Name, n); })                                 \
	FORTRAN(void, push##name, (const int *x), { PUSH_BITS(*x, Name, n); })                     \
	FORTRAN(void, pop##name, (int *x), { POP_BITS(x, Name, n); })
REEL_ADSTACK_BITS(CONTROL)

FORM(void, pushBit, (int x), { reel_adstack_push_bits(x != 0, 1, REEL_ADSTACK_Bit); })
FORM(int, popBit, (void), { return (int)reel_adstack_pop_bits(1, REEL_ADSTACK_Bit); })
FORTRAN(void, pushbit, (const int *x), { reel_adstack_push_bits(*x != 0, 1, REEL_ADSTACK_Bit); })
FORTRAN(int, popbit, (void), { return (int)reel_adstack_pop_bits(1, REEL_ADSTACK_Bit); })

/* For a POINTER of Fortran that consists of an address only. */
FORTRAN(void, pushpointer, (reel_adstack_Pointer8 *x), { push_Pointer8(*x); })
FORTRAN(void, poppointer, (reel_adstack_Pointer8 *x), { pop_Pointer8(x); })
