/* SPDX-License-Identifier: MIT */
/*
 * Push, pop and look of arrays, by the names of the original. Each function works on the stack of
 * the calling thread. A number of elements below 1 counts as none.
 */
#include "forms.h"

static size_t bytes_of(int n, size_t element)
{
	return n > 0 ? (size_t)n * element : 0;
}

static void push(const void *x, int n, enum reel_adstack_type type)
{
	reel_adstack_push_array(x, bytes_of(n, reel_adstack_types[type].element), type);
}

static void pop(void *x, int n, enum reel_adstack_type type)
{
	reel_adstack_pop_array(x, bytes_of(n, reel_adstack_types[type].element), type);
}

static void look(void *x, int n, enum reel_adstack_type type)
{
	reel_adstack_look(x, bytes_of(n, reel_adstack_types[type].element), type);
}

#define PUSH(x, n, Name) push(x, n, REEL_ADSTACK_##Name)
#define POP(x, n, Name) pop(x, n, REEL_ADSTACK_##Name)

#define ARRAY(Name, name, element, bytes)                                                          \
	FORM(void, push##Name##Array, (element * x, int n), { PUSH(x, n, Name); })                 \
	FORM(void, pop##Name##Array, (element * x, int n), { POP(x, n, Name); })                   \
	FORM(void, look##Name##Array, (element * x, int n), { look(x, n, REEL_ADSTACK_##Name); })  \
	FORTRAN(void, push##name##array, (void *x, const int *n), { PUSH(x, *n, Name); })          \
	FORTRAN(void, pop##name##array, (void *x, const int *n), { POP(x, *n, Name); })            \
	FORTRAN(void, look##name##array, (void *x, const int *n),                                  \
		{ look(x, *n, REEL_ADSTACK_##Name); })
REEL_ADSTACK_ARRAYS(ARRAY)

/* An earlier version had a third argument. The ABIs of all supported systems ignore it. */
FORM(void, pushNArray, (char *x, int n), { PUSH(x, n, Bytes); })
FORM(void, popNArray, (char *x, int n), { POP(x, n, Bytes); })
FORM(void, lookNArray, (char *x, int n), { look(x, n, REEL_ADSTACK_Bytes); })
FORM(void, pushNarray, (char *x, int n), { PUSH(x, n, Bytes); })
FORM(void, popNarray, (char *x, int n), { POP(x, n, Bytes); })
FORM(void, lookNarray, (char *x, int n), { look(x, n, REEL_ADSTACK_Bytes); })
FORTRAN(void, pushnarray, (void *x, const int *n), { PUSH(x, *n, Bytes); })
FORTRAN(void, popnarray, (void *x, const int *n), { POP(x, *n, Bytes); })
FORTRAN(void, looknarray, (void *x, const int *n), { look(x, *n, REEL_ADSTACK_Bytes); })
