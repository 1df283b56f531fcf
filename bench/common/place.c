/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "place.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/facts.h"
#include "tools/kernel-file.h"

enum { MAX_CPUS = 8192, MAX_NODES = 1024, PATH_SIZE = 128 };

static bool list_allowed(struct places *places)
{
	size_t bytes = CPU_ALLOC_SIZE(MAX_CPUS);
	cpu_set_t *set = CPU_ALLOC(MAX_CPUS);
	bool known = set && sched_getaffinity(0, bytes, set) == 0;

	if (known)
		places->place = calloc((size_t)CPU_COUNT_S(bytes, set), sizeof *places->place);
	for (size_t cpu = 0; places->place && cpu < MAX_CPUS; cpu++)
		if (CPU_ISSET_S(cpu, bytes, set))
			places->place[places->count++].cpu = (int)cpu;
	CPU_FREE(set);
	return places->count > 0;
}

/* ---- By the kernel ---- */

static int node_of(int cpu)
{
	char path[PATH_SIZE];

	for (int node = 0; node < MAX_NODES; node++) {
		snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/node%d/cpulist", cpu,
			 node);
		if (kernel_file_list_count(path) != UNKNOWN)
			return node;
	}
	return 0;
}

/* Returns the first processor of the core. A processor without a list is a core by itself. */
static int core_of(int cpu)
{
	char path[PATH_SIZE], siblings[256];

	snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
		 cpu);
	return kernel_file_line(path, siblings, sizeof siblings) ? atoi(siblings) : cpu;
}

static void places_from_kernel(struct places *places)
{
	for (size_t i = 0; i < places->count; i++) {
		struct place *place = &places->place[i];

		place->node = node_of(place->cpu);
		place->core = core_of(place->cpu);
		place->sibling = place->cpu;
	}
}

/* ---- The order ---- */

static int compare(int a, int b)
{
	return (a > b) - (a < b);
}

static int by_nearness(const void *left, const void *right)
{
	const struct place *a = left, *b = right;
	int order = compare(a->node, b->node);

	if (!order)
		order = compare(a->core, b->core);
	return order ? order : compare(a->sibling, b->sibling);
}

static int by_distance(const void *left, const void *right)
{
	const struct place *a = left, *b = right;
	int order = compare(a->sibling, b->sibling);

	if (!order)
		order = compare(a->core, b->core);
	return order ? order : compare(a->node, b->node);
}

/* Numbers the cores of each node from 0, and the processors of each core from 0. */
static void number(struct places *places)
{
	int node = -1, core = -1;
	struct place next = {0};

	for (size_t i = 0; i < places->count; i++) {
		struct place *place = &places->place[i];

		if (place->node != node)
			next.core = next.sibling = 0;
		else if (place->core != core)
			next.core++, next.sibling = 0;
		else
			next.sibling++;
		node = place->node;
		core = place->core;
		place->core = next.core;
		place->sibling = next.sibling;
	}
}

void places_sort(struct places *places)
{
	qsort(places->place, places->count, sizeof *places->place, by_nearness);
	number(places);
	if (places->kind == PLACE_SCATTER)
		qsort(places->place, places->count, sizeof *places->place, by_distance);
}

bool places_find(struct places *places, enum place_kind kind)
{
	*places = (struct places){.kind = kind};
	if (!list_allowed(places))
		return false;
	places_from_kernel(places);
	places_sort(places);
	return true;
}

void places_release(struct places *places)
{
	free(places->place);
}

void places_bind(const struct places *places, int thread)
{
	size_t bytes = CPU_ALLOC_SIZE(MAX_CPUS);
	cpu_set_t *set;

	if (places->kind == PLACE_NONE || !places->count)
		return;
	set = CPU_ALLOC(MAX_CPUS);
	if (!set)
		return;
	CPU_ZERO_S(bytes, set);
	CPU_SET_S((size_t)places->place[(size_t)thread % places->count].cpu, bytes, set);
	if (sched_setaffinity(0, bytes, set))
		perror("reel-scale: a thread is not bound");
	CPU_FREE(set);
}
