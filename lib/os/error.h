/* SPDX-License-Identifier: MIT */
/*
 * What Reel's own libraries call besides reel/error.h and reel_fail() of reel/extend.h. Any thread
 * calls these functions.
 */
#ifndef REEL_LIB_ERROR_H
#define REEL_LIB_ERROR_H

#include <reel/extend.h>

/* ---- Exported as REEL_PRIVATE ------------------------------------------------ */

/* A few words for an error of Reel's functions; for other errors what strerror() gives. */
const char *reel_strerror(int error);

/* Leaves the text `message`, and calls the error handler. Returns `error`. `tape` may be NULL. */
int reel_report(const struct reel_tape *tape, int error, const char *message);

#endif
