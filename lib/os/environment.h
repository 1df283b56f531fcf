/* SPDX-License-Identifier: MIT */
/* Environment variables, for the parts that they govern. */
#ifndef REEL_LIB_ENVIRONMENT_H
#define REEL_LIB_ENVIRONMENT_H

#include <stddef.h>

/* NULL: not set, empty, or not to be trusted (a set-user-id program). */
const char *reel_environment(const char *name);

/* One line on stderr: what was set, and what to set instead. */
void reel_environment_refuse(const char *name, const char *value, const char *remedy);

/* "512M": a number and optionally K, M, G or T. 0, -EINVAL, or -ERANGE. */
int reel_parse_bytes(const char *text, size_t *bytes);

#endif
