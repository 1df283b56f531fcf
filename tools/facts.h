/* SPDX-License-Identifier: MIT */
#ifndef REEL_TOOLS_FACTS_H
#define REEL_TOOLS_FACTS_H

#include <stdbool.h>
#include <stdio.h>

/*
 * An ordered list of named facts, printed as aligned text or as one JSON object.
 *
 * A fact that could not be found is added as well, as a negative number or a NULL text. It is
 * printed as "unknown", and as null in JSON. The name must outlive the list and be unique in it; a
 * text is copied.
 */
struct fact;

struct facts {
	struct fact *list;
	int count, room;
};

enum { UNKNOWN = -1 };

void facts_add_text(struct facts *facts, const char *name, const char *text);
void facts_add_number(struct facts *facts, const char *name, long long number);
void facts_add_bytes(struct facts *facts, const char *name, long long bytes);
void facts_add_real(struct facts *facts, const char *name, double real);
void facts_add_flag(struct facts *facts, const char *name, bool flag);

/* Writes all facts. ferror() tells errors of the stream. */
void facts_print(const struct facts *facts, bool json, FILE *stream);

void facts_release(struct facts *facts);

#endif
