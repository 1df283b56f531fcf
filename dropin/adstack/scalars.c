/* SPDX-License-Identifier: MIT */
/* Push, pop and look of single values: by value in C, by reference in Fortran. */
#include "forms.h"

#if defined(__GNUC__)
#define REEL_NOINLINE __attribute__((noinline))
#else
#define REEL_NOINLINE
#endif

/*
 * The slow way is a tail call, so that the fast one needs no frame: the header's inline functions,
 * which come back from there, would save registers in each call. In a
 * repeat level half of the pops may go beyond the thread's tape: that is no cold code.
 */
#define SCALAR_PATHS(Name, name, type)                                                             \
	REEL_COLD static void push_slow_##Name(type x, const void *from)                           \
	{                                                                                          \
		char *slot;                                                                        \
                                                                                                   \
		reel_adstack.from = from;                                                          \
		slot = reel_adstack_push_slow(sizeof x, REEL_ADSTACK_##Name);                      \
		*(reel_adstack_##Name *)(void *)slot = x;                                          \
		reel_adstack_tape.top = slot + sizeof x;                                           \
	}                                                                                          \
                                                                                                   \
	REEL_COLD static void pop_slow_##Name(reel_adstack_##Name *x, const void *from)            \
	{                                                                                          \
		const char *slot;                                                                  \
                                                                                                   \
		reel_adstack.from = from;                                                          \
		slot = reel_adstack_pop_slow(sizeof *x, REEL_ADSTACK_##Name);                      \
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
	FORM(void, look##Name, (type * x),                                                         \
	     { reel_adstack_look(x, sizeof *x, REEL_ADSTACK_##Name); })                            \
	FORTRAN(void, push##name, (reel_adstack_##Name *x), { push_##Name(*x); })                  \
	FORTRAN(void, pop##name, (reel_adstack_##Name *x), { pop_##Name(x); })                     \
	FORTRAN(void, look##name, (reel_adstack_##Name *x),                                        \
		{ reel_adstack_look(x, sizeof *x, REEL_ADSTACK_##Name); })
REEL_ADSTACK_SCALARS(SCALAR)

/* ---- Bits ---- */

REEL_COLD static void push_bits_slow(unsigned x, unsigned n, enum reel_adstack_type type,
				     const void *from)
{
	reel_adstack.from = from;
	reel_adstack_push_bits_slow(x, n, type);
}

REEL_COLD static void pop_bits_slow(int *x, unsigned n, enum reel_adstack_type type,
				    const void *from)
{
	reel_adstack.from = from;
	*x = (int)reel_adstack_pop_bits_slow(n, type);
}

REEL_COLD static int pop_bit_slow(const void *from)
{
	reel_adstack.from = from;
	return (int)reel_adstack_pop_bits_slow(1, REEL_ADSTACK_Bit);
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
		push_bits_slow(x, n, type, REEL_RETURN_ADDRESS);
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
	return POPS_BITS_SLOWLY(1) ? pop_bit_slow(REEL_RETURN_ADDRESS)
				   : (int)reel_adstack_pop_bits(1, REEL_ADSTACK_Bit);
}

#define PUSH_BITS(x, Name, n) push_bits(REEL_ADSTACK_BITS_OF(x, n), n, REEL_ADSTACK_##Name##_bits)
#define POP_BITS(x, Name, n) pop_bits(x, n, REEL_ADSTACK_##Name##_bits)
#define LOOK_BITS(Name, n) ((int)reel_adstack_look_bits(n, REEL_ADSTACK_##Name##_bits))

#define CONTROL(Name, name, n)                                                                     \
	FORM(void, push##Name, (int x), { PUSH_BITS(x, Name, n); })                                \
	FORM(void, pop##Name, (int *x), { POP_BITS(x, Name, n); })                                 \
	FORM(void, look##Name, (int *x), { *x = LOOK_BITS(Name, n); })                             \
	FORTRAN(void, push##name, (const int *x), { PUSH_BITS(*x, Name, n); })                     \
	FORTRAN(void, pop##name, (int *x), { POP_BITS(x, Name, n); })                              \
	FORTRAN(void, look##name, (int *x), { *x = LOOK_BITS(Name, n); })
REEL_ADSTACK_BITS(CONTROL)

FORM(void, pushBit, (int x), { push_bits(x != 0, 1, REEL_ADSTACK_Bit); })
FORM(int, popBit, (void), { return pop_bit(); })
FORTRAN(void, pushbit, (const int *x), { push_bits(*x != 0, 1, REEL_ADSTACK_Bit); })
FORTRAN(int, popbit, (void), { return pop_bit(); })

/* A REAL*16 of Fortran has 16 bytes; by reference in C, too, where a long double may have fewer. */
#define REAL16(push, pop, look)                                                                    \
	FORM(void, push, (long double *x),                                                         \
	     { reel_adstack_push_array(x, 16, REEL_ADSTACK_Real16, REEL_RETURN_ADDRESS); })        \
	FORM(void, pop, (long double *x),                                                          \
	     { reel_adstack_pop_array(x, 16, REEL_ADSTACK_Real16, REEL_RETURN_ADDRESS); })         \
	FORM(void, look, (long double *x), { reel_adstack_look(x, 16, REEL_ADSTACK_Real16); })

_Static_assert(sizeof(long double) <= 16, "a long double is a REAL*16");

FORM(void, pushReal16, (long double *x), {
	char copy[16] = {0};

	memcpy(copy, x, sizeof *x);
	reel_adstack_push_array(copy, 16, REEL_ADSTACK_Real16, REEL_RETURN_ADDRESS);
})
FORM(void, popReal16, (long double *x), {
	char copy[16];

	reel_adstack_pop_array(copy, 16, REEL_ADSTACK_Real16, REEL_RETURN_ADDRESS);
	memcpy(x, copy, sizeof *x);
})
FORM(void, lookReal16, (long double *x), {
	char copy[16];

	reel_adstack_look(copy, 16, REEL_ADSTACK_Real16);
	memcpy(x, copy, sizeof *x);
})
REAL16(pushreal16_, popreal16_, lookreal16_)
REAL16(pushreal16__, popreal16__, lookreal16__)
REAL16(pushreal16, popreal16, lookreal16)

/* A POINTER of Fortran that is no more than an address. */
FORTRAN(void, pushpointer, (reel_adstack_Pointer8 *x), { push_Pointer8(*x); })
FORTRAN(void, poppointer, (reel_adstack_Pointer8 *x), { pop_Pointer8(x); })
FORTRAN(void, lookpointer, (reel_adstack_Pointer8 *x),
	{ reel_adstack_look(x, sizeof *x, REEL_ADSTACK_Pointer8); })
