/* SPDX-License-Identifier: MIT */
#ifndef REEL_TOOLS_JSON_H
#define REEL_TOOLS_JSON_H

#include <stdio.h>

/*
 * Writes the text as a JSON string with its quotes. JSON admits UTF-8 only, so bytes that are not
 * UTF-8 become U+FFFD, the replacement character.
 */
void json_print_string(FILE *stream, const char *text);

/*
 * Writes at most `characters` characters of the text to a terminal. Bytes that could be a command
 * to it, and bytes that are not UTF-8, become "?".
 */
void json_print_plain(FILE *stream, const char *text, int characters);

/* Writes the text into HTML, outside of tags or in quotes. Control characters also become "?". */
void html_print(FILE *stream, const char *text);

#endif
