/* SPDX-License-Identifier: MIT */
/*
 * Pushes and pops for adjoint code that was differentiated again in tangent mode. A push stores a
 * value, then its derivative or one derivative for each direction; a pop takes them in the opposite
 * order. The functions are for Fortran only and work on the stack of the calling thread.
 */
#include "forms.h"

/* Numbers below 1 count as 0. The product does not overflow: the array lies in memory. */
static size_t bytes_of(int n, int directions, size_t element)
{
	return n > 0 && directions > 0 ? (size_t)n * (size_t)directions * element : 0;
}

static void push_pair(const void *x, const void *tangent, int n, int directions,
		      enum reel_adstack_type type)
{
	size_t element = reel_adstack_types[type].element;

	reel_adstack_push_array(x, bytes_of(n, 1, element), type);
	reel_adstack_push_array(tangent, bytes_of(n, directions, element), type);
}

static void pop_pair(void *x, void *tangent, int n, int directions, enum reel_adstack_type type)
{
	size_t element = reel_adstack_types[type].element;

	reel_adstack_pop_array(tangent, bytes_of(n, directions, element), type);
	reel_adstack_pop_array(x, bytes_of(n, 1, element), type);
}

#define PAIR(Name, name)                                                                           \
	FORTRAN(void, push##name##_d, (void *x, void *xd),                                         \
		{ push_pair(x, xd, 1, 1, REEL_ADSTACK_##Name); })                                  \
	FORTRAN(void, pop##name##_d, (void *x, void *xd),                                          \
		{ pop_pair(x, xd, 1, 1, REEL_ADSTACK_##Name); })                                   \
	FORTRAN(void, push##name##_dv, (void *x, void *xd, const int *directions),                 \
		{ push_pair(x, xd, 1, *directions, REEL_ADSTACK_##Name); })                        \
	FORTRAN(void, pop##name##_dv, (void *x, void *xd, const int *directions),                  \
		{ pop_pair(x, xd, 1, *directions, REEL_ADSTACK_##Name); })                         \
	FORTRAN(void, push##name##array_d, (void *x, void *xd, const int *n),                      \
		{ push_pair(x, xd, *n, 1, REEL_ADSTACK_##Name); })                                 \
	FORTRAN(void, pop##name##array_d, (void *x, void *xd, const int *n),                       \
		{ pop_pair(x, xd, *n, 1, REEL_ADSTACK_##Name); })                                  \
	FORTRAN(void, push##name##array_dv,                                                        \
		(void *x, void *xd, const int *n, const int *directions),                          \
		{ push_pair(x, xd, *n, *directions, REEL_ADSTACK_##Name); })                       \
	FORTRAN(void, pop##name##array_dv,                                                         \
		(void *x, void *xd, const int *n, const int *directions),                          \
		{ pop_pair(x, xd, *n, *directions, REEL_ADSTACK_##Name); })

PAIR(Real4, real4)
PAIR(Real8, real8)
PAIR(Real16, real16)
PAIR(Complex8, complex8)
PAIR(Complex16, complex16)
