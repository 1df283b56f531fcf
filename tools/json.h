/* SPDX-License-Identifier: MIT */
#ifndef REEL_TOOLS_JSON_H
#define REEL_TOOLS_JSON_H

#include <stdio.h>

/*
 * Writes the text as a JSON string, quotes included.  JSON admits UTF-8 only, so
 * that bytes which are none come out as U+FFFD, the replacement character.
 */
void json_print_string(FILE *stream, const char *text);

#endif
