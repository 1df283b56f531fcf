/* SPDX-License-Identifier: MIT */
/*
 * REEL_STATS=1 by call site: each thread has a hash table with an entry for each call site. The
 * lists of the table only grow. A thread writes its own table only; the report, which runs at exit,
 * reads all tables and adds the entries of a call site.
 */
#include "stack.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct adstack_call_site {
	struct adstack_call_site *next;
	const void *from;
	struct adstack_count count;
};

static size_t list_of(const void *from)
{
	return (size_t)(((uint64_t)(uintptr_t)from * 0x9e3779b97f4a7c15u) >> 56);
}

_Static_assert(REEL_ADSTACK_CALL_SITE_LISTS == 1 << (64 - 56), "each hash has a list");

struct adstack_count *reel_adstack_call_site(struct adstack_call_sites *call_sites,
					     const void *from)
{
	_Atomic(struct adstack_call_site *) *list = &call_sites->list[list_of(from)];
	/* Relaxed is enough: only this thread adds to the list. */
	struct adstack_call_site *first = atomic_load_explicit(list,
							       memory_order_relaxed), *call_site;

	for (call_site = first; call_site; call_site = call_site->next)
		if (call_site->from == from)
			return &call_site->count;
	call_site = reel_adstack_allocate(sizeof *call_site, "REEL_STATS");
	call_site->next = first;
	call_site->from = from;
	/* Release: pairs with the acquire in copy_call_sites(). Makes the members visible. */
	atomic_store_explicit(list, call_site, memory_order_release);
	return &call_site->count;
}

/* Returns the number of entries of all tables, and copies the first `room` of them to `copy`. */
static size_t copy_call_sites(struct adstack_call_sites *const *call_sites, size_t threads,
			      struct adstack_call_site *copy, size_t room)
{
	size_t n = 0;

	for (size_t thread = 0; thread < threads; thread++)
		for (size_t list = 0; list < REEL_ADSTACK_CALL_SITE_LISTS; list++) {
			/* Acquire: pairs with the release in reel_adstack_call_site(). */
			const struct adstack_call_site *call_site = atomic_load_explicit(
				&call_sites[thread]->list[list], memory_order_acquire);

			for (; call_site; call_site = call_site->next, n++)
				if (n < room)
					copy[n] = *call_site;
		}
	return n;
}

static int by_address(const void *left, const void *right)
{
	const struct adstack_call_site *a = left, *b = right;

	return ((uintptr_t)a->from > (uintptr_t)b->from) -
	       ((uintptr_t)a->from < (uintptr_t)b->from);
}

static uint64_t bytes_of(const struct adstack_count *count)
{
	return count->pushed_bytes + count->popped_bytes;
}

static int by_traffic(const void *left, const void *right)
{
	const struct adstack_call_site *a = left, *b = right;
	uint64_t bytes_a = bytes_of(&a->count), bytes_b = bytes_of(&b->count);

	return bytes_a == bytes_b ? by_address(left, right) : bytes_a < bytes_b ? 1 : -1;
}

static void add(struct adstack_count *sum, const struct adstack_count *count)
{
	sum->pushes += count->pushes;
	sum->pops += count->pops;
	sum->pushed_bytes += count->pushed_bytes;
	sum->popped_bytes += count->popped_bytes;
}

/* Adds entries of one call site, which follow each other, and returns how many are left. */
static size_t merge(struct adstack_call_site *call_sites, size_t n)
{
	size_t merged = 0;

	for (size_t i = 0; i < n; i++)
		if (merged && call_sites[merged - 1].from == call_sites[i].from)
			add(&call_sites[merged - 1].count, &call_sites[i].count);
		else
			call_sites[merged++] = call_sites[i];
	return merged;
}

void reel_adstack_report_call_sites(struct adstack_call_sites *const *call_sites, size_t threads)
{
	size_t room = copy_call_sites(call_sites, threads, NULL, 0), n;
	struct adstack_call_site *all = room ? calloc(room, sizeof *all) : NULL;

	if (!all)
		return;
	n = copy_call_sites(call_sites, threads, all, room);
	n = n < room ? n : room;
	qsort(all, n, sizeof *all, by_address);
	n = merge(all, n);
	qsort(all, n, sizeof *all, by_traffic);
	for (size_t i = 0; i < n; i++)
		fprintf(stderr,
			"reel: adstack: at %s: %llu pushed, %llu bytes; %llu popped, %llu bytes\n",
			reel_call_site_of_return(all[i].from),
			(unsigned long long)all[i].count.pushes,
			(unsigned long long)all[i].count.pushed_bytes,
			(unsigned long long)all[i].count.pops,
			(unsigned long long)all[i].count.popped_bytes);
	free(all);
}
