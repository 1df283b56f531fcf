/* SPDX-License-Identifier: MIT */
/*
 * Environment variables: reads them unless the program runs with the rights of another user, and
 * parses numbers of bytes. Any thread; no state.
 */
#include "config.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cancel.h"
#include "environment.h"
#include "signals.h"

const char *reel_environment(const char *name)
{
#if HAVE_SECURE_GETENV
	const char *text = secure_getenv(name);
#else
	const char *text = getenv(name);
#endif
	return text && *text ? text : NULL;
}

void reel_environment_refuse(const char *name, const char *value, const char *remedy)
{
	REEL_UNCANCELLED;
	REEL_UNSIGNALLED;

	fprintf(stderr, "reel: %s=%s is ignored: %s\n", name, value, remedy);
}

/*
 * Reads ".25", at most 7 digits, as a part of 2^shift bytes; of digits behind those nothing is
 * left.
 */
static uint64_t parse_fraction(const char *text, unsigned shift)
{
	uint64_t number = 0, of = 1;

	for (int i = 1; i <= 7 && text[i] >= '0' && text[i] <= '9'; i++) {
		number = 10 * number + (uint64_t)(text[i] - '0');
		of *= 10;
	}
	return (number << shift) / of;
}

int reel_parse_bytes(const char *text, size_t *bytes)
{
	static const char units[] = "KMGT";
	unsigned long long number;
	const char *unit, *point;
	unsigned shift = 0;
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	number = strtoull(text, &end, 10);
	if (errno)
		return -ERANGE;
	point = end;
	if (*point == '.')
		end += 1 + strspn(end + 1, "0123456789");
	if (*end) {
		unit = strchr(units, *end);
		if (!unit || end[1] || end == point + 1)
			return -EINVAL;
		shift = 10 * (unsigned)(unit - units + 1);
	} else if (end > point) {
		return -EINVAL;
	}
	/* A size_t may have fewer bits than the shift. */
	if (number > (uint64_t)SIZE_MAX >> shift)
		return -ERANGE;
	*bytes = (size_t)(number << shift);
	if (end > point && *point == '.')
		*bytes += (size_t)parse_fraction(point, shift);
	return 0;
}
