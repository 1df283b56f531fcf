/* SPDX-License-Identifier: MIT */
#ifndef REEL_VERSION_H
#define REEL_VERSION_H

/* The version of these headers. */
#define REEL_VERSION_MAJOR 0
#define REEL_VERSION_MINOR 1
#define REEL_VERSION_PATCH 0
#define REEL_VERSION "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The version of the library that runs, which may be newer than the headers a
 * program was compiled with. Any thread; a constant string.
 */
const char *reel_version(void);

#ifdef __cplusplus
}
#endif

#endif
