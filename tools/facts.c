/* SPDX-License-Identifier: MIT */
/*
 * The list of facts behind "reel info" and `reel plan --costs`. A list belongs to one thread. Facts
 * are printed in the order in which they were added; after a lack of memory none is printed.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "facts.h"
#include "json.h"
#include "os/bytes.h"

enum fact_kind {
	FACT_UNKNOWN,
	FACT_TEXT,
	FACT_NUMBER,
	FACT_BYTES,
	FACT_REAL,
	FACT_FLAG,
};

struct fact {
	const char *name;
	enum fact_kind kind;
	long long number;
	double real;
	char *text;
};

static bool make_room(struct facts *facts)
{
	size_t capacity = facts->capacity ? 2 * facts->capacity : 64;
	struct fact *list;

	if (facts->count < facts->capacity)
		return true;
	list = realloc(facts->list, capacity * sizeof(*list));
	if (!list)
		return false;
	facts->list = list;
	facts->capacity = capacity;
	return true;
}

static bool add(struct facts *facts, struct fact fact)
{
	if (!make_room(facts)) {
		facts->out_of_memory = true;
		return false;
	}
	facts->list[facts->count++] = fact;
	return true;
}

static void add_number(struct facts *facts, const char *name, enum fact_kind kind,
		       long long number)
{
	if (number < 0)
		kind = FACT_UNKNOWN;
	add(facts, (struct fact){ .name = name, .kind = kind, .number = number });
}

void facts_add_number(struct facts *facts, const char *name, long long number)
{
	add_number(facts, name, FACT_NUMBER, number);
}

void facts_add_bytes(struct facts *facts, const char *name, long long bytes)
{
	add_number(facts, name, FACT_BYTES, bytes);
}

void facts_add_real(struct facts *facts, const char *name, double real)
{
	add(facts, (struct fact){ .name = name, .kind = FACT_REAL, .real = real });
}

void facts_add_flag(struct facts *facts, const char *name, bool flag)
{
	add(facts, (struct fact){ .name = name, .kind = FACT_FLAG, .number = flag });
}

void facts_add_text(struct facts *facts, const char *name, const char *text)
{
	char *copy = text ? strdup(text) : NULL;
	enum fact_kind kind = copy ? FACT_TEXT : FACT_UNKNOWN;

	if (text && !copy)
		facts->out_of_memory = true;
	if (!add(facts, (struct fact){ .name = name, .kind = kind, .text = copy }))
		free(copy);
}

void facts_release(struct facts *facts)
{
	for (size_t i = 0; i < facts->count; i++)
		free(facts->list[i].text);
	free(facts->list);
	*facts = (struct facts){ 0 };
}

static void print_bytes(FILE *stream, long long bytes)
{
	char text[32];

	fprintf(stream, "%lld", bytes);
	if (bytes < 1024)
		return;
	reel_bytes_text(text, sizeof text, (double)bytes, true);
	fprintf(stream, " (%s)", text);
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

static void print_text_value(FILE *stream, const struct fact *fact)
{
	switch (fact->kind) {
	case FACT_UNKNOWN:
		fputs("unknown", stream);
		break;
	case FACT_TEXT:
		print_line(stream, fact->text);
		break;
	case FACT_NUMBER:
		fprintf(stream, "%lld", fact->number);
		break;
	case FACT_BYTES:
		print_bytes(stream, fact->number);
		break;
	case FACT_REAL:
		fprintf(stream, "%.12g", fact->real);
		break;
	case FACT_FLAG:
		fputs(fact->number ? "yes" : "no", stream);
		break;
	}
}

static void print_json_value(FILE *stream, const struct fact *fact)
{
	switch (fact->kind) {
	case FACT_UNKNOWN:
		fputs("null", stream);
		break;
	case FACT_TEXT:
		json_print_string(stream, fact->text);
		break;
	case FACT_NUMBER:
	case FACT_BYTES:
		fprintf(stream, "%lld", fact->number);
		break;
	case FACT_REAL:
		fprintf(stream, "%.12g", fact->real);
		break;
	case FACT_FLAG:
		fputs(fact->number ? "true" : "false", stream);
		break;
	}
}

static size_t longest_name(const struct facts *facts)
{
	size_t longest = 0;

	for (size_t i = 0; i < facts->count; i++)
		if (strlen(facts->list[i].name) > longest)
			longest = strlen(facts->list[i].name);
	return longest;
}

static void print_text(const struct facts *facts, FILE *stream)
{
	size_t width = longest_name(facts);

	for (size_t i = 0; i < facts->count; i++) {
		const char *name = facts->list[i].name;

		fprintf(stream, "%s:%*s", name, (int)(width - strlen(name)) + 1, "");
		print_text_value(stream, &facts->list[i]);
		fputc('\n', stream);
	}
}

static void print_json(const struct facts *facts, FILE *stream)
{
	fputc('{', stream);
	for (size_t i = 0; i < facts->count; i++) {
		fputs(i ? ",\n  " : "\n  ", stream);
		json_print_string(stream, facts->list[i].name);
		fputs(": ", stream);
		print_json_value(stream, &facts->list[i]);
	}
	fputs("\n}\n", stream);
}

/* Prints to memory first, so that the stream gets all facts or none. */
int facts_print(const struct facts *facts, bool json, FILE *stream)
{
	char *page = NULL;
	size_t size = 0;
	FILE *memory = facts->out_of_memory ? NULL : open_memstream(&page, &size);
	bool lost;

	if (!memory)
		return -ENOMEM;
	if (json)
		print_json(facts, memory);
	else
		print_text(facts, memory);
	lost = ferror(memory);
	lost |= fclose(memory) != 0;
	if (!lost)
		fwrite(page, 1, size, stream);
	free(page);
	return lost ? -ENOMEM : 0;
}
