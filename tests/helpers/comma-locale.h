/* SPDX-License-Identifier: MIT */
/* A locale whose decimal point is a comma, made here: a bare system has none. */
#ifndef TESTS_COMMA_LOCALE_H
#define TESTS_COMMA_LOCALE_H

#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static inline bool write_comma_locale(void)
{
	FILE *definition = fopen("comma", "w"), *characters = fopen("ascii", "w");

	if (!definition || !characters)
		return false;
	fprintf(definition, "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \"\"\ngrouping -1\n"
			    "END LC_NUMERIC\n");
	fprintf(characters, "<code_set_name> ANSI_X3.4-1968\n<mb_cur_min> 1\n<mb_cur_max> 1\n"
			    "CHARMAP\n");
	for (unsigned c = 0; c < 128; c++)
		fprintf(characters, "<U%04X> /x%02x C\n", c, c);
	fprintf(characters, "END CHARMAP\n");
	return !fclose(definition) && !fclose(characters);
}

/* False: this system cannot make such a locale. */
static inline bool use_comma_locale(void)
{
	char text[16];

	if (!write_comma_locale())
		return false;
	/* It warns of the categories that are not there. */
	if (system("localedef -c -i ./comma -f ./ascii ./comma.ASCII >localedef.said 2>&1") == -1)
		return false;
	setenv("LOCPATH", ".", 1);
	if (!setlocale(LC_NUMERIC, "comma.ASCII"))
		return false;
	snprintf(text, sizeof text, "%.1f", 0.5);
	return text[1] == ',';
}

#endif
