/* SPDX-License-Identifier: MIT */
/*
 * Strings in JSON, in HTML and on a terminal. Bytes that are not valid UTF-8 are replaced, so the
 * output is always valid, whatever the environment or a file name holds.
 */
#include "config.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "json.h"

static size_t length_by_lead(unsigned char lead)
{
	if (lead < 0x80)
		return 1;
	if (lead >= 0xc2 && lead <= 0xdf)
		return 2;
	if (lead >= 0xe0 && lead <= 0xef)
		return 3;
	if (lead >= 0xf0 && lead <= 0xf4)
		return 4;
	return 0;
}

/* The second byte tells overlong forms, surrogates and characters above U+10FFFF: all invalid. */
static bool second_byte_fits(unsigned char lead, unsigned char second)
{
	switch (lead) {
	case 0xe0:
		return second >= 0xa0;
	case 0xed:
		return second <= 0x9f;
	case 0xf0:
		return second >= 0x90;
	case 0xf4:
		return second <= 0x8f;
	default:
		return true;
	}
}

/* Number of bytes of the UTF-8 character at `text`; 0 if there is no valid character. */
static size_t character_length(const unsigned char *text)
{
	size_t length = length_by_lead(text[0]);

	for (size_t i = 1; i < length; i++)
		if (text[i] < 0x80 || text[i] > 0xbf)
			return 0;
	if (length > 1 && !second_byte_fits(text[0], text[1]))
		return 0;
	return length;
}

static void print_character(FILE *stream, const unsigned char *text, size_t length)
{
	if (length == 0)
		fputs("\\ufffd", stream);
	else if (text[0] == '"' || text[0] == '\\')
		fprintf(stream, "\\%c", text[0]);
	else if (text[0] < 0x20 || text[0] == 0x7f)
		fprintf(stream, "\\u%04x", text[0]);
	else
		fwrite(text, 1, length, stream);
}

void json_print_string(FILE *stream, const char *text)
{
	const unsigned char *rest = (const unsigned char *)text;

	fputc('"', stream);
	while (*rest) {
		size_t length = character_length(rest);

		print_character(stream, rest, length);
		rest += length ? length : 1;
	}
	fputc('"', stream);
}

/* Control characters are those below a space, DEL, and U+0080 to U+009F. */
static bool is_control(const unsigned char *text)
{
	return text[0] < 0x20 || text[0] == 0x7f || (text[0] == 0xc2 && text[1] < 0xa0);
}

static size_t print_plain(FILE *stream, const unsigned char *text)
{
	size_t length = character_length(text);

	if (length == 0 || is_control(text))
		fputc('?', stream);
	else
		fwrite(text, 1, length, stream);
	return length ? length : 1;
}

void json_print_plain(FILE *stream, const char *text, int characters)
{
	for (; *text && characters > 0; characters--)
		text += print_plain(stream, (const unsigned char *)text);
}

void html_print(FILE *stream, const char *text)
{
	while (*text)
		if (strchr("<>&\"", *text))
			fprintf(stream, "&#%d;", *text++);
		else
			text += print_plain(stream, (const unsigned char *)text);
}
