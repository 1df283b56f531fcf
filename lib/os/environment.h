/* SPDX-License-Identifier: MIT */
/* Environment variables, for the parts that they govern. reel_parse_bytes() is public. */
#ifndef REEL_LIB_ENVIRONMENT_H
#define REEL_LIB_ENVIRONMENT_H

#include <reel/plan.h>

/* ---- Exported as REEL_PRIVATE ------------------------------------------------ */

/* NULL: not set, empty, or not to be trusted (a set-user-id program). */
const char *reel_environment(const char *name);

/* Writes one line to stderr: the variable, its value, and the remedy. */
void reel_environment_refuse(const char *name, const char *value, const char *remedy);

#endif
