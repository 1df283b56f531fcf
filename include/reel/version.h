/* SPDX-License-Identifier: MIT */
/*
 * The version of the headers, and of the library that a program runs with.
 *
 * For bindings, which have no headers and repeat their declarations. As long as the shared library
 * has the same number (libreel.so.0), these do not change: the sizes of public structs and the
 * places of their members, where new members take a `reserved` member; the values of enumerators,
 * of flags and of limits (REEL_...). All members of a struct are 0 except those that are set.
 * Schedules, plans, pools, runs, parcels and recordings are pointers, and their structs are the
 * library's own. Inline functions and macros (pushes, pops, spans, arrays, the verbs of a store)
 * are in no library.
 */
#ifndef REEL_VERSION_H
#define REEL_VERSION_H

/* The version of these headers as a number that can be compared: 10203 is 1.2.3. */
#define REEL_VERSION 200

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The version of the library that runs, which may be newer than the headers a
 * program was compiled with. Any thread; a constant string.
 */
const char *reel_version(void);

/* Returns the version of the library that runs as a number like REEL_VERSION. */
int reel_version_number(void);

#ifdef __cplusplus
}
#endif

#endif
