/* SPDX-License-Identifier: MIT */
/*
 * Functions for errors that Reel's own libraries call besides reel/error.h and reel_fail() of
 * reel/extend.h. Any thread calls them.
 */
#ifndef REEL_LIB_ERROR_H
#define REEL_LIB_ERROR_H

#include <reel/extend.h>

/* ---- Exported as REEL_PRIVATE ------------------------------------------------ */

/* A few words for an error of Reel's functions; for other errors the text of strerror(). */
const char *reel_strerror(int error);

/* Leaves the text `message`, and calls the error handler. Returns `error`. `tape` may be NULL. */
int reel_report(const struct reel_tape *tape, int error, const char *message);

#endif
