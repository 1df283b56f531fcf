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
 * is not cold: in a repeat level half of the pops may read a layer.
 */
#define SCALAR_PATHS(Name, name, type)                                                             \
	REEL_COLD static void push_slow_##Name(type x, const void *from)                           \
	{                                                                                          \
		char *slot = reel_adstack_push_from(sizeof x, REEL_ADSTACK_##Name, from);          \
                                                                                                   \
		*(reel_adstack_##Name *)(void *)slot = x;                                          \
		reel_adstack_tape.top = slot + sizeof x;                                           \
	}                                                                                          \
                                                                                                   \
	REEL_COLD static void pop_slow_##Name(reel_adstack_##Name *x, const void *from)            \
	{                                                                                          \
		const char *slot = reel_adstack_pop_from(sizeof *x, REEL_ADSTACK_##Name, from);    \
                                                                                                   \
		*x = *(const reel_adstack_##Name *)(const void *)slot;                             \
	}                                                                                          \
                                                                                                   \
	REEL_NOINLINE static void pop_beyond_##Name(reel_adstack_##Name *x, const void *from)      \
	{                                                                                          \
		const char *slot = reel_adstack_read(sizeof *x);                                   \
                                                                                                   \
		if (REEL_UNLIKELY(!slot))                                                          \
			pop_slow_##Name(x, from);                                                  \
		else                                                                               \
			*x = *(const reel_adstack_##Name *)(const void *)slot;                     \
	}                                                                                          \
                                                                                                   \
	REEL_ALWAYS_INLINE void push_##Name(type x)                                                \
	{                                                                                          \
		char *slot = reel_adstack_tape.top;                                                \
                                                                                                   \
		if (REEL_UNLIKELY(reel_above(slot, sizeof x, reel_adstack_tape.ceiling))) {        \
			push_slow_##Name(x, REEL_RETURN_ADDRESS);                                  \
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
			pop_beyond_##Name(x, REEL_RETURN_ADDRESS);                                 \
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

REEL_NOINLINE static void pop_bits_slow(int *x, unsigned n, enum reel_adstack_type type,
					const void *from)
{
	*x = (int)reel_adstack_pop_bits_from(n, type, from);
}

#define PUSHES_BITS_SLOWLY(n)                                                                      \
	REEL_UNLIKELY((uint32_t)(reel_adstack_tape.bits >> (n)) != 0 ||                            \
		      reel_adstack_tape.ceiling == REEL_FALSE_CEILING)
#define POPS_BITS_SLOWLY(n)                                                                        \
	REEL_UNLIKELY(reel_adstack_tape.bits << (n) == 0 ||                                        \
		      reel_adstack_tape.floor == REEL_FALSE_FLOOR)

REEL_ALWAYS_INLINE void push_bits(unsigned x, unsigned n, enum reel_adstack_type type)
{
	if (PUSHES_BITS_SLOWLY(n))
		reel_adstack_push_bits_from(x, n, type, REEL_RETURN_ADDRESS);
	else
		reel_adstack_push_bits(x, n, type);
}

REEL_ALWAYS_INLINE void pop_bits(int *x, unsigned n, enum reel_adstack_type type)
{
	if (POPS_BITS_SLOWLY(n))
		pop_bits_slow(x, n, type, REEL_RETURN_ADDRESS);
	else
		*x = (int)reel_adstack_pop_bits(n, type);
}

REEL_ALWAYS_INLINE int pop_bit(void)
{
	return (int)(POPS_BITS_SLOWLY(1) ? reel_adstack_pop_bits_from(1, REEL_ADSTACK_Bit,
								      REEL_RETURN_ADDRESS)
					 : reel_adstack_pop_bits(1, REEL_ADSTACK_Bit));
}

#define PUSH_BITS(x, Name, n) push_bits(REEL_ADSTACK_BITS_OF(x, n), n, REEL_ADSTACK_##Name##_bits)
#define POP_BITS(x, Name, n) pop_bits(x, n, REEL_ADSTACK_##Name##_bits)

#define CONTROL(Name, name, n)                                                                     \
	FORM(void, push##Name, (int x), { PUSH_BITS(x, Name, n); })                                \
	FORM(void, pop##Name, (int *x), { POP_BITS(x, Name, n); })                                 \
	FORTRAN(void, push##name, (const int *x), { PUSH_BITS(*x, Name, n); })                     \
	FORTRAN(void, pop##name, (int *x), { POP_BITS(x, Name, n); })
REEL_ADSTACK_BITS(CONTROL)

FORM(void, pushBit, (int x), { push_bits(x != 0, 1, REEL_ADSTACK_Bit); })
FORM(int, popBit, (void), { return pop_bit(); })
FORTRAN(void, pushbit, (const int *x), { push_bits(*x != 0, 1, REEL_ADSTACK_Bit); })
FORTRAN(int, popbit, (void), { return pop_bit(); })

/* For a POINTER of Fortran that consists of an address only. */
FORTRAN(void, pushpointer, (reel_adstack_Pointer8 *x), { push_Pointer8(*x); })
FORTRAN(void, poppointer, (reel_adstack_Pointer8 *x), { pop_Pointer8(x); })
