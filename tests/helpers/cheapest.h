/* SPDX-License-Identifier: MIT */
/*
 * The least cost of a way between places, which have numbers, by steps with costs that are whole
 * numbers (Dijkstra, with a list of places for each cost). For tests that compare plans with all
 * sequences of actions.
 */
#ifndef TESTS_CHEAPEST_H
#define TESTS_CHEAPEST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHEAPEST_MAX 65535

static struct {
	uint16_t *cost; /* of each place; CHEAPEST_MAX: not reached */
	struct {
		uint32_t place;
		int32_t next;
	} *entries;
	size_t count, room;
	int32_t of_cost[CHEAPEST_MAX]; /* the first entry of each list */
} cheapest;

/* Notes that a place can be reached at this cost. */
static inline void cheapest_reach(uint32_t place, unsigned cost)
{
	if (cost >= CHEAPEST_MAX)
		abort();
	if (cheapest.cost[place] <= cost)
		return;
	if (cheapest.count == cheapest.room) {
		cheapest.room = cheapest.room ? 2 * cheapest.room : 1024;
		cheapest.entries =
			realloc(cheapest.entries, cheapest.room * sizeof *cheapest.entries);
		if (!cheapest.entries)
			abort();
	}
	cheapest.cost[place] = (uint16_t)cost;
	cheapest.entries[cheapest.count].place = place;
	cheapest.entries[cheapest.count].next = cheapest.of_cost[cost];
	cheapest.of_cost[cost] = (int32_t)cheapest.count++;
}

/*
 * Returns the cost of the cheapest end, or CHEAPEST_MAX: none can be reached. visit() returns true
 * at an end, and otherwise calls cheapest_reach() for the places that a step leads to.
 */
static inline unsigned cheapest_cost(size_t places, uint32_t start, const void *context,
				     bool visit(const void *context, uint32_t place, unsigned cost))
{
	cheapest.cost = realloc(cheapest.cost, places * sizeof *cheapest.cost);
	if (!cheapest.cost)
		abort();
	memset(cheapest.cost, 0xff, places * sizeof *cheapest.cost);
	memset(cheapest.of_cost, 0xff, sizeof cheapest.of_cost);
	cheapest.count = 0;
	cheapest_reach(start, 0);
	for (unsigned cost = 0; cost < CHEAPEST_MAX; cost++)
		while (cheapest.of_cost[cost] >= 0) {
			int32_t entry = cheapest.of_cost[cost];
			uint32_t place = cheapest.entries[entry].place;

			cheapest.of_cost[cost] = cheapest.entries[entry].next;
			if (cheapest.cost[place] == cost && visit(context, place, cost))
				return cost;
		}
	return CHEAPEST_MAX;
}

static inline void cheapest_free(void)
{
	free(cheapest.cost);
	free(cheapest.entries);
}

#endif
