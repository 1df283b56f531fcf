/* SPDX-License-Identifier: MIT */
/*
 * Macros that define a function of the original under all of its names. Each function is declared
 * before its definition, because no header of this library declares it. The declaration without
 * `inline` exports the function; `inline` in the definition lets gcc's link-time optimisation
 * replace calls.
 *
 * Fortran passes all arguments by reference. Most Fortran compilers call PUSHREAL8 pushreal8_.
 * Others call it pushreal8, and compilers that follow f2c append two underscores to a name that
 * contains one.
 */
#ifndef REEL_ADSTACK_FORMS_H
#define REEL_ADSTACK_FORMS_H

#include "stack.h"

/* clang warns of static functions in inline ones, and Reel builds no archive for clang's LTO. */
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
