/* SPDX-License-Identifier: MIT */
/*
 * The list of facts behind "reel info" and `reel plan`. A list belongs to one thread. Facts are
 * printed in the order in which they were added.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "facts.h"
#include "json.h"
#include "os/bytes.h"
#include "verb.h"

struct fact {
	const char *name;
	char *text;
	char *json; /* NULL: the text as a string of JSON */
};

static char *copy(const char *text)
{
	return strcpy(need_memory(NULL, strlen(text) + 1), text);
}

static void add(struct facts *facts, const char *name, const char *text, const char *json)
{
	facts->list = grow(facts->list, facts->count, &facts->room, sizeof *facts->list);
	facts->list[facts->count++] =
		(struct fact){name, copy(text), json ? copy(json) : NULL};
}

void facts_add_number(struct facts *facts, const char *name, long long number)
{
	char text[24];

	snprintf(text, sizeof text, "%lld", number);
	add(facts, name, number < 0 ? "unknown" : text, number < 0 ? "null" : text);
}

void facts_add_bytes(struct facts *facts, const char *name, long long bytes)
{
	char json[24], rounded[32], text[64];

	if (bytes < 1024) {
		facts_add_number(facts, name, bytes);
		return;
	}
	snprintf(json, sizeof json, "%lld", bytes);
	reel_bytes_text(rounded, sizeof rounded, (double)bytes, true);
	snprintf(text, sizeof text, "%s (%s)", json, rounded);
	add(facts, name, text, json);
}

void facts_add_real(struct facts *facts, const char *name, double real)
{
	char text[32];

	snprintf(text, sizeof text, "%.12g", real);
	add(facts, name, text, text);
}

void facts_add_flag(struct facts *facts, const char *name, bool flag)
{
	add(facts, name, flag ? "yes" : "no", flag ? "true" : "false");
}

void facts_add_text(struct facts *facts, const char *name, const char *text)
{
	add(facts, name, text ? text : "unknown", text ? NULL : "null");
}

void facts_release(struct facts *facts)
{
	for (int i = 0; i < facts->count; i++) {
		free(facts->list[i].text);
		free(facts->list[i].json);
	}
	free(facts->list);
	*facts = (struct facts){ 0 };
}

/* Replaces control characters: an environment variable may hold any, and a fact has one line. */
static void print_line(FILE *stream, const char *text)
{
	if (!*text)
		fputs("\"\"", stream);
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte < 0x20 || byte == 0x7f)
			fprintf(stream, "\\x%02x", byte);
		else
			fputc(byte, stream);
	}
}

static void print_text(const struct facts *facts, FILE *stream)
{
	size_t width = 0;

	for (int i = 0; i < facts->count; i++)
		if (strlen(facts->list[i].name) > width)
			width = strlen(facts->list[i].name);
	for (int i = 0; i < facts->count; i++) {
		const char *name = facts->list[i].name;

		fprintf(stream, "%s:%*s", name, (int)(width - strlen(name)) + 1, "");
		print_line(stream, facts->list[i].text);
		fputc('\n', stream);
	}
}

static void print_json(const struct facts *facts, FILE *stream)
{
	fputc('{', stream);
	for (int i = 0; i < facts->count; i++) {
		fputs(i ? ",\n  " : "\n  ", stream);
		json_print_string(stream, facts->list[i].name);
		fputs(": ", stream);
		if (facts->list[i].json)
			fputs(facts->list[i].json, stream);
		else
			json_print_string(stream, facts->list[i].text);
	}
	fputs("\n}\n", stream);
}

void facts_print(const struct facts *facts, bool json, FILE *stream)
{
	if (json)
		print_json(facts, stream);
	else
		print_text(facts, stream);
}
