/* SPDX-License-Identifier: MIT */
/* Where the program calls the library. */
#ifndef REEL_OMP_CALLER_H
#define REEL_OMP_CALLER_H

/*
 * In a public function: an address in the code that called it; NULL if the compiler does not tell.
 */
#if defined(__GNUC__)
#define REEL_CALLER __builtin_return_address(0)
#else
#define REEL_CALLER NULL
#endif

#endif
