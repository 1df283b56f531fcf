/* SPDX-License-Identifier: MIT */
/*
 * Numbers of a command line. A text that is none, or a number out of range, ends the program.
 */
#ifndef EXAMPLES_NUMBERS_H
#define EXAMPLES_NUMBERS_H

#include <stdint.h>

/* Reads `count` numbers separated by commas, all of the text; returns whether it was that. */
int read_numbers(const char *text, int count, double *number);

double read_number(const char *option, const char *text, double least, double most);
int read_integer(const char *option, const char *text, int least, int most);

/* The least multiple of `unit` that is at least `bytes`. */
static inline uint64_t round_up(uint64_t bytes, uint64_t unit)
{
	return (bytes + unit - 1) / unit * unit;
}

/* A number of bytes such as 512M or 4G, at least 1. */
uint64_t read_bytes(const char *option, const char *text);

#endif
