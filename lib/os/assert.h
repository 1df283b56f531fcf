/* SPDX-License-Identifier: MIT */
/*
 * Assertions: conditions that no program can break. Only a fault of Reel itself, or memory that
 * something else has overwritten, makes one of these fail; a mistake of a program or a refusal of
 * the system is an error, and not an assertion. `./configure --enable-assertions` compiles them, as
 * all test builds do; a release has none.
 *
 *	REEL_ASSERT(condition)             some instructions; never on the fast paths of inline.h
 *	REEL_ASSERT_EXPENSIVE(condition)   walks a tape or a list
 */
#ifndef REEL_LIB_ASSERT_H
#define REEL_LIB_ASSERT_H

#include "config.h"

/* ---- Exported as REEL_PRIVATE ------------------------------------------------ */

_Noreturn void reel_assertion_failed(const char *condition, const char *file, int line,
				     const char *function);

#if REEL_ASSERTIONS
#define REEL_ASSERT(condition)                                                                     \
	((condition) ? (void)0 : reel_assertion_failed(#condition, __FILE__, __LINE__, __func__))
#else
/* Compiled, so that it stays right, and never run. */
#define REEL_ASSERT(condition) ((void)(0 && (condition)))
#endif

#define REEL_ASSERT_EXPENSIVE(condition) REEL_ASSERT(condition)

#endif
