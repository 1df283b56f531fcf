/* SPDX-License-Identifier: MIT */
/*
 * Call sites that are given as a file and a line. A member of reel.hpp gets them as default
 * arguments, which cannot be joined when they are compiled. Checked mode keeps the addresses of the
 * texts, so each stays where it is until the process ends.
 */
#include "config.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <reel/tape.h>

struct call_site {
	struct call_site *next;
	int line;
	size_t length; /* of the file's name, with which the text begins */
	char text[];
};

#define BUCKETS 256

static _Atomic(struct call_site *) buckets[BUCKETS];

/* Compares names by their letters: the string of an earlier call may be gone. */
static struct call_site *call_site_in(struct call_site *call_site, const char *file, size_t length,
				      int line)
{
	while (call_site && (call_site->line != line || call_site->length != length ||
			     memcmp(call_site->text, file, length) != 0))
		call_site = call_site->next;
	return call_site;
}

static struct call_site *new_call_site(const char *file, size_t length, int line)
{
	size_t room = length + sizeof ":-2147483648";
	struct call_site *call_site = malloc(sizeof *call_site + room);

	if (call_site) {
		call_site->line = line;
		call_site->length = length;
		snprintf(call_site->text, room, "%s:%d", file, line);
	}
	return call_site;
}

const char *reel_call_site_of(const char *file, int line)
{
	_Atomic(struct call_site *) *bucket = &buckets[(unsigned)line % BUCKETS];
	size_t length = strlen(file);
	/* Acquire: pairs with the release of the exchange. Makes the members visible. */
	struct call_site *first = atomic_load_explicit(bucket, memory_order_acquire);
	struct call_site *call_site = call_site_in(first, file, length, line), *mine = NULL;

	while (!call_site) {
		if (!mine)
			mine = new_call_site(file, length, line);
		if (!mine)
			return file;
		mine->next = first;
		/*
		 * Release: pairs with the acquires above and of a failed exchange, which finds the
		 * call sites that other threads have put before `first`.
		 */
		if (atomic_compare_exchange_strong_explicit(bucket, &first, mine,
							    memory_order_acq_rel,
							    memory_order_acquire))
			return mine->text;
		call_site = call_site_in(first, file, length, line);
	}
	free(mine);
	return call_site->text;
}
