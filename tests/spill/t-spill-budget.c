/* SPDX-License-Identifier: MIT */
/*
 * Tests the smallest budget for tapes with a store: the number of slabs in reel/pool.h, which the
 * message of a refused push names, is enough, and one slab less is not.
 */
#include <config.h>

#include "helpers/late-store.h"
#include "spill/thread/thread.h"
#include "helpers/pool-support.h"

#define SLAB ((size_t)1024)
#define SLAB_WORDS (SLAB / 8)
#define MAX_HOLDS 3

struct setting {
	unsigned pieces; /* first slabs in one slab */
	unsigned holds;
	bool checked;
};

/* Returns the number of slabs by the formula of reel/pool.h. */
static unsigned slabs_for(struct setting setting)
{
	unsigned tapes = setting.checked ? 2 : 1;
	unsigned first_slabs = 4 * (1 + setting.holds) * tapes;
	unsigned slabs = (setting.holds ? 3 : 2) * tapes;

	if (setting.pieces > 1)
		slabs += (first_slabs + setting.pieces - 1) / setting.pieces;
	return slabs;
}

static const char *name_of(struct setting setting)
{
	static char name[96];

	snprintf(name, sizeof name, "slabs of %u first ones, %u holds%s", setting.pieces,
		 setting.holds, setting.checked ? ", checked" : "");
	return name;
}

static reel_pool *open_budget(struct setting setting, unsigned slabs, struct late_store *late)
{
	return open_pool((struct reel_pool_options){
		.slab_bytes = SLAB,
		.first_slab_bytes = SLAB / setting.pieces,
		.hard_budget = slabs * SLAB,
		.flags = setting.checked ? REEL_POOL_CHECKED : 0,
		.store = &late->store,
	});
}

static void close_budget(reel_pool *pool, struct late_store *late)
{
	ok(!reel_pool_close(pool) && !late->wrongs, "the pool closes");
	free(late);
}

static bool stays_within_budget(reel_pool *pool)
{
	return stats_of(pool).refused == 0 &&
	       stats_of(pool).peak_resident_bytes <= pool->hard_budget;
}

/* ---- A tape whose words are a function of their height ---- */

struct climber {
	reel_tape tape;
	uint64_t height;
	uint64_t held[MAX_HOLDS];
	unsigned holds;
	unsigned wrong;
};

static void climb(struct climber *climber, uint64_t words)
{
	push_words(&climber->tape, climber->height, climber->height + words);
	climber->height += words;
}

static void descend(struct climber *climber, uint64_t words)
{
	if (words > climber->height)
		words = climber->height;
	climber->wrong += wrong_words(&climber->tape, climber->height - words, climber->height);
	climber->height -= words;
}

static void hold(struct climber *climber)
{
	climber->wrong += reel_tape_hold(&climber->tape) != 0;
	climber->held[climber->holds++] = climber->height;
}

static void replay(struct climber *climber)
{
	climber->wrong += reel_tape_replay(&climber->tape) != 0;
	climber->height = climber->held[climber->holds - 1];
}

static void release(struct climber *climber)
{
	climber->wrong += reel_tape_release(&climber->tape) != 0;
	climber->holds--;
}

/* ---- The number for one tape ---- */

/* In each hold values are pushed from the bottom on, and in the last one also from half way on. */
static void use_all_that_a_tape_may(struct climber *climber, unsigned holds)
{
	climb(climber, 10 * SLAB_WORDS);
	while (climber->holds < holds) {
		hold(climber);
		descend(climber, climber->height);
		climb(climber, 10 * SLAB_WORDS);
	}
	if (holds)
		replay(climber);
	descend(climber, 3 * SLAB_WORDS / 2);
	climb(climber, 4 * SLAB_WORDS);
	descend(climber, 3 * SLAB_WORDS);
	climb(climber, SLAB_WORDS);
	while (climber->holds)
		release(climber);
	descend(climber, climber->height);
}

/* Returns true if no push was refused and no pop went beyond the budget. */
static bool is_enough(struct setting setting, unsigned slabs)
{
	struct late_store *late = late_open(1);
	reel_pool *pool = open_budget(setting, slabs, late);
	struct climber climber = {.tape = open_tape(pool, 0)};
	bool enough;

	use_all_that_a_tape_may(&climber, setting.holds);
	enough = stays_within_budget(pool);
	ok(!enough || !climber.wrong, "all comes back from a budget of %u slabs", slabs);
	reel_tape_close(&climber.tape);
	close_budget(pool, late);
	return enough;
}

static void the_number_is_enough_and_one_less_is_not(struct setting setting)
{
	unsigned slabs = slabs_for(setting);
	char number[64];

	tap_case(name_of(setting));
	record_reports();
	ok(is_enough(setting, slabs), "%u slabs are enough", slabs);
	ok(!is_enough(setting, slabs - 1), "%u are not", slabs - 1);
	snprintf(number, sizeof number, "needs room for %u slabs of %zu bytes", slabs, SLAB);
	ok(!reported.calls || strstr(reported.message, number), "the number is told: %s",
	   reported.message);
}

static void the_number_for_one_tape(void)
{
	static const unsigned pieces[] = {1, 2, 4, 16};

	for (size_t p = 0; p < COUNT(pieces); p++)
		for (unsigned holds = 0; holds <= MAX_HOLDS; holds++)
			for (int checked = 0; checked < 2; checked++)
				the_number_is_enough_and_one_less_is_not(
					(struct setting){pieces[p], holds, checked});
}

/* ---- Several tapes need a multiple of the number ---- */

enum { THREADS = 2, CLIMBERS = 3 };

static struct {
	reel_pool *pool;
	struct setting setting;
	uint64_t seed;
	_Atomic unsigned wrong;
} crowd;

static void act(struct climber *climber, uint64_t random)
{
	uint64_t words = 1 + (random >> 32) % (random % 3 ? 8 * SLAB_WORDS : SLAB_WORDS / 2);

	switch (random % 8) {
	case 0:
		if (climber->holds < crowd.setting.holds)
			hold(climber);
		break;
	case 1:
		if (climber->holds)
			replay(climber);
		break;
	case 2:
		if (climber->holds && (random >> 16) % 2)
			release(climber);
		break;
	case 3:
		descend(climber, climber->height);
		break;
	case 4:
		descend(climber, words);
		break;
	default:
		climb(climber, words);
	}
}

static void *act_at_random(void *number)
{
	uint64_t random = crowd.seed + ((uint64_t)*(unsigned *)number << 32);
	struct climber climber[CLIMBERS] = {0};

	for (unsigned i = 0; i < CLIMBERS; i++)
		climber[i].tape = open_tape(crowd.pool, 0);
	for (unsigned step = 0; step < 60; step++) {
		uint64_t choice = scramble(++random);

		act(&climber[choice % CLIMBERS], choice / CLIMBERS);
	}
	for (unsigned i = 0; i < CLIMBERS; i++) {
		crowd.wrong += climber[i].wrong;
		reel_tape_close(&climber[i].tape);
	}
	return NULL;
}

static void the_number_for_each_tape_is_enough(struct setting setting, uint64_t seed)
{
	struct late_store *late = late_open(seed);

	tap_case(name_of(setting));
	record_reports();
	crowd.setting = setting;
	crowd.seed = seed;
	crowd.wrong = 0;
	crowd.pool = open_budget(setting, THREADS * CLIMBERS * slabs_for(setting), late);
	run_threads(THREADS, act_at_random);
	ok(!crowd.wrong, "all comes back, seed %llu%s", (unsigned long long)seed, reported.message);
	ok(stays_within_budget(crowd.pool), "no tape lacks a slab");
	close_budget(crowd.pool, late);
}

static void the_number_for_many_tapes(void)
{
	static const unsigned pieces[] = {1, 2, 4, 16};
	uint64_t seeds = is_brief() ? 2 : 20;

	for (size_t p = 0; p < COUNT(pieces); p++)
		for (unsigned holds = 0; holds <= MAX_HOLDS; holds += MAX_HOLDS)
			for (uint64_t seed = 1; seed <= seeds; seed++)
				the_number_for_each_tape_is_enough(
					(struct setting){pieces[p], holds, seed % 2}, seed);
}

int main(void)
{
	tap_begin();
	the_number_for_one_tape();
	the_number_for_many_tapes();
	return tap_end();
}
