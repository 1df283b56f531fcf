/* SPDX-License-Identifier: MIT */
#ifndef REEL_TOOLS_FACTS_H
#define REEL_TOOLS_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * An ordered list of named facts, printed as aligned text or as one JSON object.
 *
 * What could not be found is a fact too, an unknown one: a negative number or a
 * NULL text.  It prints as "unknown" and as null.  The name must outlive the list
 * and be unique in it; a text is copied.  Memory that runs out while adding is
 * remembered and reported by facts_print, so adding needs no test.
 */
struct fact;

struct facts {
	struct fact *list;
	size_t count;
	size_t capacity;
	bool out_of_memory;
};

enum { UNKNOWN = -1 };

void facts_add_text(struct facts *facts, const char *name, const char *text);
void facts_add_number(struct facts *facts, const char *name, long long number);
void facts_add_bytes(struct facts *facts, const char *name, long long bytes);
void facts_add_real(struct facts *facts, const char *name, double real);
void facts_add_flag(struct facts *facts, const char *name, bool flag);

/*
 * Writes all facts or, when memory is short, none: 0 or -ENOMEM.  Errors of the
 * stream itself stay with the stream.
 */
int facts_print(const struct facts *facts, bool json, FILE *stream);

void facts_release(struct facts *facts);

#endif
