/* SPDX-License-Identifier: MIT */
/*
 * Call sites of languages that cannot form "file:line" when they compile. Checked mode keeps the
 * addresses of these texts, so each stays where it is until the process ends.
 */
#include "config.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <reel/tape.h>

struct site {
	struct site *next;
	int line;
	size_t length; /* of the file's name, with which the text begins */
	char text[];
};

#define BUCKETS 256

static _Atomic(struct site *) buckets[BUCKETS];

/* By the name's letters, as the string that the caller passed may be gone. */
static struct site *site_in(struct site *site, const char *file, size_t length, int line)
{
	while (site && (site->line != line || site->length != length ||
			memcmp(site->text, file, length) != 0))
		site = site->next;
	return site;
}

static struct site *new_site(const char *file, size_t length, int line)
{
	size_t room = length + sizeof ":-2147483648";
	struct site *site = malloc(sizeof *site + room);

	if (site) {
		site->line = line;
		site->length = length;
		snprintf(site->text, room, "%s:%d", file, line);
	}
	return site;
}

const char *reel_site_of(const char *file, int line)
{
	_Atomic(struct site *) *bucket = &buckets[(unsigned)line % BUCKETS];
	size_t length = strlen(file);
	/* Acquire: reads what the release below has published, the members of each site. */
	struct site *first = atomic_load_explicit(bucket, memory_order_acquire);
	struct site *site = site_in(first, file, length, line), *mine = NULL;

	while (!site) {
		if (!mine)
			mine = new_site(file, length, line);
		if (!mine)
			return file;
		mine->next = first;
		/* Release: publishes mine. Acquire: reads the sites that other threads have published. */
		if (atomic_compare_exchange_strong_explicit(bucket, &first, mine, memory_order_acq_rel,
							    memory_order_acquire))
			return mine->text;
		site = site_in(first, file, length, line);
	}
	free(mine);
	return site->text;
}
