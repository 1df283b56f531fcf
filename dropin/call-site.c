/* SPDX-License-Identifier: MIT */
/*
 * A hash table of the call sites that were asked for. Any thread runs these functions, without a
 * lock. An entry is never changed or removed, so its text stays valid.
 */
#include "config.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if HAVE_DLADDR
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#endif

#include "call-site.h"

#define PLACES 4096u

struct place {
	const void *address;
	char text[128];
};

static _Atomic(struct place *) places[PLACES];

#if HAVE_DLADDR
/* The address for addr2line. In a program that is not relocated, it is the address itself. */
static uintptr_t address_in_file(uintptr_t address, const Dl_info *file)
{
	const ElfW(Ehdr) *header = file->dli_fbase;

	return header->e_type == ET_EXEC ? address : address - (uintptr_t)file->dli_fbase;
}

static void describe(struct place *place)
{
	/* An address inside the call: the return address may belong to the next line. */
	uintptr_t address = (uintptr_t)place->address - 1;
	const char *name;
	Dl_info file;

	if (!dladdr((void *)address, &file) || !file.dli_fname) {
		snprintf(place->text, sizeof place->text, "%p", (void *)address);
		return;
	}
	name = strrchr(file.dli_fname, '/');
	name = name ? name + 1 : file.dli_fname;
	snprintf(place->text, sizeof place->text,
		 file.dli_sname ? "%.48s+0x%jx (%.48s)" : "%.48s+0x%jx", name,
		 (uintmax_t)address_in_file(address, &file), file.dli_sname);
}
#else
static void describe(struct place *place)
{
	snprintf(place->text, sizeof place->text, "%p", place->address);
}
#endif

static struct place *new_place(const void *address)
{
	struct place *place = malloc(sizeof *place);

	if (place) {
		place->address = address;
		describe(place);
	}
	return place;
}

static const char *no_room = "a place that there is no room to note";

/*
 * Returns the text of the slot, or NULL if the slot belongs to another address. Fills a free slot
 * first.
 */
static const char *in_slot(_Atomic(struct place *) *slot, const void *address)
{
	/* Acquire: pairs with the release below. Makes the address and the text visible. */
	struct place *there = atomic_load_explicit(slot, memory_order_acquire);
	struct place *fresh;

	if (!there) {
		fresh = new_place(address);
		if (!fresh)
			return no_room;
		/* Release: pairs with the acquires above and of a failed exchange. */
		if (atomic_compare_exchange_strong_explicit(slot, &there, fresh,
							    memory_order_release,
							    memory_order_acquire))
			return fresh->text;
		free(fresh);
	}
	return there->address == address ? there->text : NULL;
}

const char *reel_call_site_of_return(const void *return_address)
{
	size_t start = (size_t)(((uint64_t)(uintptr_t)return_address * 0x9e3779b97f4a7c15u) >> 32);

	for (size_t i = 0; i < PLACES; i++) {
		const char *text = in_slot(&places[(start + i) % PLACES], return_address);

		if (text)
			return text;
	}
	return no_room;
}
