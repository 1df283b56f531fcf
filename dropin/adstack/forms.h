/* SPDX-License-Identifier: MIT */
/*
 * The original's functions by all of their names. Each is declared before it is defined, since
 * no header of this library declares it; the declaration without `inline` makes it one that others
 * can call, and `inline` tells gcc's optimisation at link time that calls may go.
 *
 * Fortran passes all arguments by reference, and compilers call PUSHREAL8 pushreal8_ as a rule,
 * pushreal8__ if it has an underscore of its own and they follow f2c, or pushreal8.
 */
#ifndef REEL_ADSTACK_FORMS_H
#define REEL_ADSTACK_FORMS_H

#include "stack.h"

/* clang warns of static functions in such ones, and has no archive for its own optimisation. */
#if defined(__GNUC__) && !defined(__clang__)
#define REEL_ADSTACK_INLINE inline
#else
#define REEL_ADSTACK_INLINE
#endif

#define FORM(result, name, parameters, ...)                                                        \
	result name parameters;                                                                    \
	REEL_ADSTACK_INLINE result name parameters __VA_ARGS__

#define FORTRAN(result, name, parameters, ...)                                                     \
	FORM(result, name##_, parameters, __VA_ARGS__)                                             \
	FORM(result, name##__, parameters, __VA_ARGS__)                                            \
	FORM(result, name, parameters, __VA_ARGS__)

#endif
