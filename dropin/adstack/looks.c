/* SPDX-License-Identifier: MIT */
/*
 * Looks at single values, and push, pop and look of a Real16, which is treated as an array of 16
 * bytes. Each function works on the stack of the calling thread.
 */
#include "forms.h"

#define LOOK(Name, name, type)                                                                     \
	FORM(void, look##Name, (type * x),                                                         \
	     { reel_adstack_look(x, sizeof *x, REEL_ADSTACK_##Name); })                            \
	FORTRAN(void, look##name, (reel_adstack_##Name *x),                                        \
		{ reel_adstack_look(x, sizeof *x, REEL_ADSTACK_##Name); })
REEL_ADSTACK_SCALARS(LOOK)

FORTRAN(void, lookpointer, (reel_adstack_Pointer8 *x),
	{ reel_adstack_look(x, sizeof *x, REEL_ADSTACK_Pointer8); })

#define LOOK_BITS(Name, n) ((int)reel_adstack_look_bits(n, REEL_ADSTACK_##Name##_bits))

#define LOOK_CONTROL(Name, name, n)                                                                \
	FORM(void, look##Name, (int *x), { *x = LOOK_BITS(Name, n); })                             \
	FORTRAN(void, look##name, (int *x), { *x = LOOK_BITS(Name, n); })
REEL_ADSTACK_BITS(LOOK_CONTROL)

/*
 * A REAL*16 of Fortran has 16 bytes. C passes it by reference as well, because a long double may
 * have fewer bytes.
 */
FORTRAN(void, pushreal16, (const void *x), { reel_adstack_push_array(x, 16, REEL_ADSTACK_Real16); })
FORTRAN(void, popreal16, (void *x), { reel_adstack_pop_array(x, 16, REEL_ADSTACK_Real16); })
FORTRAN(void, lookreal16, (void *x), { reel_adstack_look(x, 16, REEL_ADSTACK_Real16); })


_Static_assert(sizeof(long double) <= 16, "a long double is a REAL*16");

FORM(void, pushReal16, (long double *x), {
	char copy[16] = {0};

	memcpy(copy, x, sizeof *x);
	reel_adstack_push_array(copy, 16, REEL_ADSTACK_Real16);
})
FORM(void, popReal16, (long double *x), {
	char copy[16];

	reel_adstack_pop_array(copy, 16, REEL_ADSTACK_Real16);
	memcpy(x, copy, sizeof *x);
})
FORM(void, lookReal16, (long double *x), {
	char copy[16];

	reel_adstack_look(copy, 16, REEL_ADSTACK_Real16);
	memcpy(x, copy, sizeof *x);
})
