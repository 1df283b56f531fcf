/* SPDX-License-Identifier: MIT */
#include "numbers.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <reel/plan.h>

#include "report.h"

int read_numbers(const char *text, int count, double *number)
{
	for (int k = 0; k < count; k++) {
		char *end;

		if (isspace((unsigned char)*text))
			return 0;
		number[k] = strtod(text, &end);
		if (end == text || !isfinite(number[k]) || *end != (k + 1 < count ? ',' : '\0'))
			return 0;
		text = end + 1;
	}
	return 1;
}

double read_number(const char *option, const char *text, double least, double most)
{
	double number;

	if (!read_numbers(text, 1, &number) || number < least || number > most)
		fail("--%s %s: give a number from %g to %g", option, text, least, most);
	return number;
}

int read_integer(const char *option, const char *text, int least, int most)
{
	char *end;
	long number;

	errno = 0;
	number = strtol(text, &end, 10);
	if (end == text || *end || errno || isspace((unsigned char)*text) || number < least ||
	    number > most)
		fail("--%s %s: give a whole number from %d to %d", option, text, least, most);
	return (int)number;
}

uint64_t read_bytes(const char *option, const char *text)
{
	size_t bytes;

	if (reel_parse_bytes(text, &bytes) || bytes < 1 || (uint64_t)bytes > (uint64_t)1 << 60)
		fail("--%s %s: give a number of bytes such as 512M or 4G (K, M, G, T)", option,
		     text);
	return bytes;
}
