/* SPDX-License-Identifier: MIT */
/*
 * The version of the headers, and of the library that a program runs with.
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

/* The same as a number, as REEL_VERSION: for bindings, which have no headers. */
int reel_version_number(void);

#ifdef __cplusplus
}
#endif

#endif
