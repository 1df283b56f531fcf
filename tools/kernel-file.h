/* SPDX-License-Identifier: MIT */
#ifndef REEL_TOOLS_KERNEL_FILE_H
#define REEL_TOOLS_KERNEL_FILE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The one-line files by which the kernel describes the machine.  Numbers that
 * cannot be read are UNKNOWN (facts.h).
 */

/* The first line, without its end; false if there is none that fits. */
bool kernel_file_line(const char *path, char *line, size_t size);

/* A decimal number, perhaps followed by K, M or G. */
long long kernel_file_number(const char *path);

/* How many a list such as "0-3,8" names. */
long long kernel_file_list_count(const char *path);

/* The bytes that /proc/meminfo gives for this name. */
long long kernel_memory_bytes(const char *name);

#endif
