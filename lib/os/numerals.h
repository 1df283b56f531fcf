/* SPDX-License-Identifier: MIT */
/*
 * Numbers with a decimal point, whatever locale the program has set. In many locales strtod() and
 * printf() use a comma: a variable such as REEL_END_AFTER=0.5 would be refused there, and other
 * programs could not read the output. A function that prints a fraction begins with
 *
 *	REEL_POINT_NUMERALS;
 *
 * which gives the calling thread the numerals of the "C" locale until the function returns. Other
 * threads keep the locale of the program. This nests. Such a function calls nothing of the program.
 */
#ifndef REEL_LIB_NUMERALS_H
#define REEL_LIB_NUMERALS_H

#include <locale.h>
#include <stdlib.h>

/* Returns the locale to restore; 0: there is no memory, and the locale stays. */
static inline locale_t reel_numerals_begin(void)
{
	locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);

	return plain ? uselocale(plain) : (locale_t)0;
}

static inline void reel_numerals_end(const locale_t *before)
{
	if (*before)
		freelocale(uselocale(*before));
}

#define REEL_POINT_NUMERALS                                                                        \
	__attribute__((cleanup(reel_numerals_end), unused)) const locale_t reel_locale_before =    \
		reel_numerals_begin()

/* strtod() with a decimal point. */
static inline double reel_parse_number(const char *text, char **end)
{
	REEL_POINT_NUMERALS;

	return strtod(text, end);
}

#endif
