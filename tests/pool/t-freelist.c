/* SPDX-License-Identifier: MIT */
/*
 * Tests the shared list alone, with four slabs, so that races come soon. Built once for each
 * implementation, with yield points, independently of the library.
 */
#include <config.h>

#include <string.h>
#include <time.h>

#include "helpers/pool-support.h"

#define SLABS 4
#define MAX_THREADS 8
#define HAND_OVERS_PER_LOOK_AT_THE_CLOCK 64
#define SECONDS_PER_RACE 0.3

static struct reel_slab table[SLABS];
static struct freelist list;

static void start_empty(void)
{
	memset(table, 0, sizeof table);
	freelist_init(&list, table);
}

static void start_full(void)
{
	start_empty();
	for (int i = 0; i < SLABS; i++)
		freelist_push(&list, &table[i]);
}

static void it_is_last_in_first_out(void)
{
	start_full();
	for (int i = SLABS; i-- > 0;)
		is_pointer(freelist_pop(&list), &table[i], "slab %d comes in its turn", i);
}

static void an_empty_list_gives_none(void)
{
	start_empty();
	is_pointer(freelist_pop(&list), NULL, "a new list is empty");
	freelist_push(&list, &table[0]);
	is_pointer(freelist_pop(&list), &table[0], "the first slab of the table can be its only one");
	is_pointer(freelist_pop(&list), NULL, "after that it is empty again");
	is_pointer(freelist_pop(&list), NULL,
		   "an empty list stays empty, however often it is asked");
}

static void it_leaves_the_chain_and_the_frame_alone(void)
{
	char frame;

	start_empty();
	table[0].below = &table[1];
	table[0].frame = &frame;
	freelist_push(&list, &table[2]);
	freelist_push(&list, &table[0]);
	freelist_pop(&list);
	ok(table[0].below == &table[1] && table[0].frame == &frame,
	   "a slab keeps its chain and its frame");
}

/* A double-width swap needs an aligned head. On another one it would end the program. */
static void every_head_in_a_pool_is_aligned(void)
{
	ok(_Alignof(struct freelist) >= 16, "a list is aligned to 16 bytes");
	ok(offsetof(struct reel_pool, warm) % 16 == 0, "the warm lists of a pool are aligned");
	ok(sizeof(struct freelist) % 16 == 0, "each of them");
	ok(offsetof(struct reel_pool, cold) % 16 == 0, "the cold one");
	ok(offsetof(struct reel_pool, frameless) % 16 == 0,
	   "the frameless list of a pool is aligned");
}

/* A pop that has loaded the head, and not exchanged it. */
#if REEL_POOL_CK
struct late_pop {
	ck_stack_t seen;
	ck_stack_t wanted;
};

static struct late_pop begin_pop(void)
{
	struct late_pop pop = {.seen = list.stack};

	pop.wanted.head = pop.seen.head->next;
	pop.wanted.generation = pop.seen.generation + 1;
	return pop;
}

static bool end_pop(struct late_pop pop)
{
	return ck_pr_cas_ptr_2(&list.stack, &pop.seen, &pop.wanted);
}
#else
struct late_pop {
	uint64_t seen;
	uint64_t wanted;
};

static struct late_pop begin_pop(void)
{
	struct late_pop pop = {.seen = list.head};
	uint64_t index = pop.seen & FREELIST_INDEX_MASK;

	pop.wanted = (pop.seen & ~FREELIST_INDEX_MASK) + FREELIST_INDEX_MASK + 1;
	pop.wanted |= table[index - 1].next;
	return pop;
}

static bool end_pop(struct late_pop pop)
{
	return atomic_compare_exchange_strong(&list.head, &pop.seen, pop.wanted);
}
#endif

static void a_late_pop_of_an_unchanged_list_succeeds(void)
{
	struct late_pop pop;

	start_full();
	pop = begin_pop();
	ok(end_pop(pop), "a pop that nobody came between succeeds");
	is_pointer(freelist_pop(&list), &table[SLABS - 2], "the pop leaves the next slab on top");
}

/* Otherwise it would put slab 2, which is in use, on top of the list. */
static void a_late_pop_fails_after_its_head_came_back(void)
{
	struct late_pop pop;
	struct reel_slab *head;

	start_full();
	pop = begin_pop();
	head = freelist_pop(&list);
	freelist_pop(&list);
	freelist_push(&list, head);
	ok(!end_pop(pop), "a pop fails whose head went and came back");
	is_pointer(freelist_pop(&list), head, "the list is as it was left");
	is_pointer(freelist_pop(&list), &table[SLABS - 3],
		   "the list below its head is as it was left");
}

static void a_late_pop_fails_after_the_list_was_emptied(void)
{
	struct late_pop pop;

	start_full();
	pop = begin_pop();
	for (int i = 0; i < SLABS; i++)
		freelist_pop(&list);
	freelist_push(&list, &table[SLABS - 1]);
	ok(!end_pop(pop), "a pop fails whose head is alone on the list by now");
}

static _Atomic int owner[SLABS];
static _Atomic bool wrong_owner, wrong_payload;
static _Atomic uint64_t hand_overs;
static double end_of_race;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Writes two words of the slab's owner that belong together. */
static void write_payload(struct reel_slab *slab, uint64_t word)
{
	slab->serial = word;
	slab->bytes = (size_t)~word;
}

static struct reel_slab *take(int me)
{
	struct reel_slab *slab = freelist_pop(&list);

	if (!slab)
		return NULL;
	if (atomic_exchange_explicit(&owner[slab - table], me, memory_order_relaxed) != 0)
		wrong_owner = true;
	if (slab->bytes != (size_t)~slab->serial)
		wrong_payload = true;
	write_payload(slab, slab->serial + (uint64_t)me);
	return slab;
}

static void give(int me, struct reel_slab *slab)
{
	if (atomic_exchange_explicit(&owner[slab - table], 0, memory_order_relaxed) != me)
		wrong_owner = true;
	freelist_push(&list, slab);
}

/* Takes two slabs and gives them back in either order, so that a head goes and comes back. */
static void *exchange_slabs(void *number)
{
	int me = 1 + *(int *)number;
	uint64_t n = 0;

	do {
		struct reel_slab *one = take(me);
		struct reel_slab *other = take(me);

		if (one && n % 2)
			give(me, one);
		if (other)
			give(me, other);
		if (one && n % 2 == 0)
			give(me, one);
	} while (++n % HAND_OVERS_PER_LOOK_AT_THE_CLOCK || now() < end_of_race);
	hand_overs += n;
	return NULL;
}

static bool holds_every_slab_once(void)
{
	bool seen[SLABS] = {false};
	struct reel_slab *slab;
	int n = 0;

	while ((slab = freelist_pop(&list)) && n++ < SLABS && !seen[slab - table])
		seen[slab - table] = true;
	return !slab && n == SLABS;
}

static void threads_exchange_slabs(unsigned threads)
{
	start_empty();
	for (int i = 0; i < SLABS; i++) {
		write_payload(&table[i], (uint64_t)i);
		freelist_push(&list, &table[i]);
	}
	wrong_owner = wrong_payload = false;
	hand_overs = 0;
	end_of_race = now() + SECONDS_PER_RACE;
	run_threads(threads, exchange_slabs);
	tap_note("%llu hand-overs", (unsigned long long)hand_overs);
	ok(!wrong_owner, "%u threads: a slab has one owner at a time", threads);
	ok(!wrong_payload, "%u threads: what was written before a push is seen after the pop",
	   threads);
	ok(holds_every_slab_once(), "%u threads: every slab is on the list once at the end",
	   threads);
}

int main(void)
{
	tap_begin();
	tap_note("%s", REEL_FREELIST_IMPLEMENTATION);
	it_is_last_in_first_out();
	an_empty_list_gives_none();
	it_leaves_the_chain_and_the_frame_alone();
	every_head_in_a_pool_is_aligned();
	a_late_pop_of_an_unchanged_list_succeeds();
	a_late_pop_fails_after_its_head_came_back();
	a_late_pop_fails_after_the_list_was_emptied();
	threads_exchange_slabs(2);
	threads_exchange_slabs(3);
	threads_exchange_slabs(MAX_THREADS);
	return tap_end();
}
