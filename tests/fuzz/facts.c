/* SPDX-License-Identifier: MIT */
/* `reel info` prints any text as one line, or as JSON that means the same text. */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/facts.h"
#include "fuzz.h"
#include "targets.h"

static char *print(const struct facts *facts, bool json)
{
	char *page = NULL;
	size_t size;
	FILE *stream = open_memstream(&page, &size);

	FUZZ_EXPECT(stream);
	facts_print(facts, json, stream);
	FUZZ_EXPECT(!fclose(stream) && strlen(page) == size);
	return page;
}

/* ---- The text ---- */

static void check_text(const char *page)
{
	unsigned lines = 0;

	for (; *page; page++) {
		lines += *page == '\n';
		FUZZ_EXPECT(*page == '\n' || ((unsigned char)*page >= 0x20 && *page != 0x7f));
	}
	FUZZ_EXPECT(lines == 2);
}

/* ---- JSON ---- */

static const char *expect(const char *at, const char *text)
{
	FUZZ_EXPECT(!strncmp(at, text, strlen(text)));
	return at + strlen(text);
}

static unsigned hexadecimal(const char *digits)
{
	unsigned number = 0;

	for (int i = 0; i < 4; i++) {
		const char *all = "0123456789abcdef", *digit = strchr(all, digits[i]);

		FUZZ_EXPECT(digits[i] && digit);
		number = 16 * number + (unsigned)(digit - all);
	}
	return number;
}

/* Returns true if a UTF-8 character of `bytes` bytes begins here, by the tables of RFC 3629. */
static bool is_character(const unsigned char *text, unsigned bytes)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	static const unsigned lead[] = {0, 0, 0xc0, 0xe0, 0xf0}, mask[] = {0, 0, 0xe0, 0xf0, 0xf8};
	uint32_t code = text[0] & ~mask[bytes] & 0xff;

	if ((text[0] & mask[bytes]) != lead[bytes])
		return false;
	for (unsigned i = 1; i < bytes; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return false;
		code = code << 6 | (text[i] & 0x3f);
	}
	return code >= least[bytes] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

static unsigned character_bytes(const unsigned char *text)
{
	if (*text < 0x80)
		return 1;
	for (unsigned bytes = 2; bytes <= 4; bytes++)
		if (is_character(text, bytes))
			return bytes;
	return 0;
}

/* Checks a string that means `text`; an invalid byte is U+FFFD. Returns the place behind it. */
static const char *check_string(const char *at, const char *text)
{
	at = expect(at, "\"");
	while (*text) {
		unsigned bytes = character_bytes((const unsigned char *)text);

		FUZZ_EXPECT(*at != '"' && (unsigned char)*at >= 0x20);
		if (*at == '\\' && at[1] == 'u') {
			unsigned code = hexadecimal(at + 2);

			FUZZ_EXPECT(bytes ? code == (unsigned char)*text : code == 0xfffd);
			at += 6;
			text += bytes ? bytes : 1;
			continue;
		}
		FUZZ_EXPECT(bytes);
		at += *at == '\\';
		FUZZ_EXPECT(!strncmp(at, text, bytes));
		at += bytes;
		text += bytes;
	}
	return expect(at, "\"");
}

static void check_json(const char *page, const char *text, long long number)
{
	char digits[32];

	page = expect(page, "{\n  \"text\": ");
	page = check_string(page, text);
	page = expect(page, ",\n  \"number\": ");
	snprintf(digits, sizeof digits, "%lld", number);
	page = expect(page, number < 0 ? "null" : digits);
	expect(page, "\n}\n");
}

int fuzz_facts(const uint8_t *data, size_t size)
{
	struct fuzz_input input = {data, size};
	long long number = (long long)fuzz_number(&input, 8);
	struct facts facts = {0};
	char *text = fuzz_allocate(input.left + 1), *page;

	memcpy(text, input.next, input.left);
	text[input.left] = '\0';
	facts_add_text(&facts, "text", text);
	facts_add_bytes(&facts, "number", number);
	page = print(&facts, false);
	check_text(page);
	free(page);
	page = print(&facts, true);
	check_json(page, text, number);
	free(page);
	facts_release(&facts);
	free(text);
	return 0;
}
