/* SPDX-License-Identifier: MIT */
/* Bytes as people read them. */
#ifndef REEL_LIB_BYTES_H
#define REEL_LIB_BYTES_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Writes a number of bytes with at least two digits, or fewer if they are exact: "512", "1.5G",
 * "16M", or if `is_long`, "512 bytes", "1.5 GiB", "16 MiB".
 */
static inline void reel_bytes_text(char *text, size_t size, double bytes, bool is_long)
{
	static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	unsigned unit = 0;

	for (; bytes >= 1023.5 && unit < 6; unit++)
		bytes /= 1024;
	snprintf(text, size, unit && bytes < 9.95 ? "%.1f%s%.*s" : "%.0f%s%.*s", bytes,
		 is_long ? " " : "", is_long ? 5 : unit > 0, units[unit]);
}

#endif
