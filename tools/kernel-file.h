/* SPDX-License-Identifier: MIT */
#ifndef REEL_TOOLS_KERNEL_FILE_H
#define REEL_TOOLS_KERNEL_FILE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The one-line files by which the kernel describes the machine. A number that cannot be read is
 * UNKNOWN (facts.h).
 */

/* Reads the first line without its end; false if there is none, or if it does not fit. */
bool kernel_file_line(const char *path, char *line, size_t size);

/* Reads a decimal number. */
long long kernel_file_number(const char *path);

/* Reads a list such as "0-3,8", and returns how many numbers it names. */
long long kernel_file_list_count(const char *path);

/* Reads the number of bytes that /proc/meminfo has for this name. */
long long kernel_memory_bytes(const char *name);

#endif
