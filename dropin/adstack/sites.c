/* SPDX-License-Identifier: MIT */
/*
 * REEL_STATS=1 by place of the call: each thread has a hash table with an entry for each place. The
 * lists of the table only grow. A thread writes its own table only; the report, which runs at exit,
 * reads all tables and adds the entries of a place.
 */
#include "stack.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct adstack_site {
	struct adstack_site *next;
	const void *from;
	struct adstack_count count;
};

static size_t list_of(const void *from)
{
	return (size_t)(((uint64_t)(uintptr_t)from * 0x9e3779b97f4a7c15u) >> 56);
}

_Static_assert(REEL_ADSTACK_SITE_LISTS == 1 << (64 - 56), "each hash has a list");

struct adstack_count *reel_adstack_site(struct adstack_sites *sites, const void *from)
{
	_Atomic(struct adstack_site *) *list = &sites->list[list_of(from)];
	/* Relaxed is enough: only this thread adds to the list. */
	struct adstack_site *first = atomic_load_explicit(list, memory_order_relaxed), *site;

	for (site = first; site; site = site->next)
		if (site->from == from)
			return &site->count;
	site = reel_adstack_allocate(sizeof *site, "REEL_STATS");
	site->next = first;
	site->from = from;
	/* Release: pairs with the acquire in copy_sites(). Makes the members of `site` visible. */
	atomic_store_explicit(list, site, memory_order_release);
	return &site->count;
}

/* Returns the number of entries of all tables, and copies the first `room` of them to `copy`. */
static size_t copy_sites(struct adstack_sites *const *sites, size_t threads,
			 struct adstack_site *copy, size_t room)
{
	size_t n = 0;

	for (size_t thread = 0; thread < threads; thread++)
		for (size_t list = 0; list < REEL_ADSTACK_SITE_LISTS; list++) {
			/* Acquire: pairs with the release in reel_adstack_site(). */
			const struct adstack_site *site = atomic_load_explicit(
				&sites[thread]->list[list], memory_order_acquire);

			for (; site; site = site->next, n++)
				if (n < room)
					copy[n] = *site;
		}
	return n;
}

static int by_place(const void *left, const void *right)
{
	const struct adstack_site *a = left, *b = right;

	return ((uintptr_t)a->from > (uintptr_t)b->from) - ((uintptr_t)a->from < (uintptr_t)b->from);
}

static uint64_t bytes_of(const struct adstack_count *count)
{
	return count->pushed_bytes + count->popped_bytes;
}

static int by_traffic(const void *left, const void *right)
{
	const struct adstack_site *a = left, *b = right;
	uint64_t bytes_a = bytes_of(&a->count), bytes_b = bytes_of(&b->count);

	return bytes_a == bytes_b ? by_place(left, right) : bytes_a < bytes_b ? 1 : -1;
}

static void add(struct adstack_count *sum, const struct adstack_count *count)
{
	sum->pushes += count->pushes;
	sum->pops += count->pops;
	sum->pushed_bytes += count->pushed_bytes;
	sum->popped_bytes += count->popped_bytes;
}

/* Adds entries of the same place, which follow each other, and returns how many are left. */
static size_t merge(struct adstack_site *sites, size_t n)
{
	size_t merged = 0;

	for (size_t i = 0; i < n; i++)
		if (merged && sites[merged - 1].from == sites[i].from)
			add(&sites[merged - 1].count, &sites[i].count);
		else
			sites[merged++] = sites[i];
	return merged;
}

void reel_adstack_report_sites(struct adstack_sites *const *sites, size_t threads)
{
	size_t room = copy_sites(sites, threads, NULL, 0), n;
	struct adstack_site *all = room ? calloc(room, sizeof *all) : NULL;

	if (!all)
		return;
	n = copy_sites(sites, threads, all, room);
	n = n < room ? n : room;
	qsort(all, n, sizeof *all, by_place);
	n = merge(all, n);
	qsort(all, n, sizeof *all, by_traffic);
	for (size_t i = 0; i < n; i++)
		fprintf(stderr,
			"reel: adstack: at %s: %llu pushed, %llu bytes; %llu popped, %llu bytes\n",
			reel_caller_site(all[i].from), (unsigned long long)all[i].count.pushes,
			(unsigned long long)all[i].count.pushed_bytes,
			(unsigned long long)all[i].count.pops,
			(unsigned long long)all[i].count.popped_bytes);
	free(all);
}
