/* SPDX-License-Identifier: MIT */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stress.h"
#include "subject.h"
#include "helpers/support.h"

uint64_t stress_number(struct stress_random *random)
{
	return scramble(random->next++);
}

unsigned stress_below(struct stress_random *random, unsigned bound)
{
	return (unsigned)(stress_number(random) % bound);
}

bool stress_one_in(struct stress_random *random, unsigned n)
{
	return stress_below(random, n) == 0;
}

/* ---- Mixes of faults ---- */

static const char *const fault_names[FAULTS] = {"put", "get", "late", "flip", "misplace", "vanish"};

static bool read_one(struct stress_mix *mix, const char *text, size_t length)
{
	for (unsigned kind = 0; kind < FAULTS; kind++) {
		size_t name = strlen(fault_names[kind]);
		char *end;

		if (length <= name + 1 || strncmp(text, fault_names[kind], name) ||
		    text[name] != '=')
			continue;
		mix->one_in[kind] = (unsigned)strtoul(text + name + 1, &end, 10);
		return end == text + length && mix->one_in[kind] > 0;
	}
	return false;
}

bool stress_mix_read(struct stress_mix *mix, const char *text)
{
	*mix = (struct stress_mix){{0}};
	if (!strcmp(text, "none"))
		return true;
	for (;;) {
		size_t length = strcspn(text, ",");

		if (!read_one(mix, text, length))
			return false;
		if (!text[length])
			return true;
		text += length + 1;
	}
}

static struct stress_mix draw_mix(struct stress_random *random)
{
	static const unsigned odds[] = {4, 16, 64};
	struct stress_mix mix = {{0}};

	if (stress_one_in(random, 2))
		return mix;
	for (unsigned kind = 0; kind < FAULT_VANISH; kind++)
		if (stress_one_in(random, 3))
			mix.one_in[kind] = odds[stress_below(random, COUNT_OF(odds))];
	if (stress_one_in(random, 16))
		mix.one_in[FAULT_VANISH] = 1 + stress_below(random, 300);
	return mix;
}

/* ---- Pools ---- */

static const char *draw_store(struct stress_random *random)
{
	static const char *const stores[] = {
		"none",	      "none",	     "none",	      "late", "late",	  "memory=64K",
		"memory=1M",  "memory=64M",  "lz4,memory=1M", "file", "lz4,file", "memory=64K,file",
		"lz4=8,memory=64M"};

	return stores[stress_below(random, COUNT_OF(stores))];
}

static size_t draw_slab_bytes(struct stress_random *random)
{
	static const size_t sizes[] = {64, 128, 192, 256, 1024, 4096, 4096, 16384, 65536};

	return sizes[stress_below(random, COUNT_OF(sizes))];
}

/* A divisor of the slab, of 64 bytes or more. */
static size_t draw_first_slab_bytes(struct stress_random *random, size_t slab_bytes)
{
	size_t bytes = slab_bytes >> stress_below(random, 5);

	return bytes % 64 || slab_bytes % bytes || bytes < slab_bytes / 1024 ? slab_bytes : bytes;
}

/* 0: no bound. */
static unsigned draw_pool_slabs(struct stress_random *random, unsigned tapes, bool stored)
{
	static const unsigned few[] = {2, 4, 8, 64};
	unsigned fair = tapes * 4;

	if (stress_one_in(random, 2))
		return stored || stress_one_in(random, 2) ? fair : 0;
	return few[stress_below(random, COUNT_OF(few))];
}

static void draw_pool(struct stress_draw *draw, struct stress_random *random)
{
	struct reel_pool_options *pool = &draw->pool;
	bool stored = strcmp(draw->store, "none") != 0;
	unsigned share = 1 + stress_below(random, 4);
	unsigned slabs;

	pool->slab_bytes = draw_slab_bytes(random);
	slabs = draw_pool_slabs(random, draw->tapes * (draw->flags ? 2 : 1), stored);
	if (stress_options.slab_bytes)
		pool->slab_bytes = stress_options.slab_bytes;
	if (stress_options.pool_slabs >= 0)
		slabs = (unsigned)stress_options.pool_slabs;
	pool->first_slab_bytes = draw_first_slab_bytes(random, pool->slab_bytes);
	pool->magazine_slabs = stress_one_in(random, 2) ? 0 : 1 + stress_below(random, 16);
	pool->flags = stress_one_in(random, 4) ? REEL_POOL_SMALL_PAGES : 0;
	pool->hard_budget = slabs * pool->slab_bytes;
	if (stored && !slabs)
		pool->hard_budget = 64 * pool->slab_bytes;
	if (stress_options.budget)
		pool->hard_budget = stress_options.budget;
	if (share < 4)
		pool->soft_budget = pool->hard_budget / 4 * share;
}

/* Each operation is there or not, and has a weight if it is. */
static void draw_weights(struct stress_draw *draw, struct stress_random *random)
{
	for (unsigned i = 0; i < MAX_WEIGHTS; i++)
		draw->weight[i] = stress_one_in(random, 2)
					  ? (uint8_t)(1 + stress_below(random, 8)) : 0;
}

struct stress_draw stress_draw(uint64_t seed)
{
	struct stress_random random = {seed << 24};
	struct stress_draw draw = {.seed = seed};

	draw.threads = 1 + stress_below(&random, MAX_THREADS_DRAWN);
	if (stress_options.threads)
		draw.threads = stress_options.threads;
	draw.tapes = draw.threads + stress_below(&random, 4);
	draw.flags = stress_one_in(&random, 4) ? REEL_CHECKED : 0;
	draw.store = draw_store(&random);
	if (stress_options.store)
		draw.store = stress_options.store;
	/* No schedule controls the system's own asynchronous work. */
	if (stress_options.schedule != SCHEDULE_FREE && strstr(draw.store, "file"))
		draw.store = "late";
	draw.mix = draw_mix(&random);
	if (stress_options.fault_mix)
		stress_mix_read(&draw.mix, stress_options.fault_mix);
	draw_pool(&draw, &random);
	draw.shapes = (uint32_t)stress_number(&random) & ALL_SHAPES;
	if (!draw.shapes)
		draw.shapes = ALL_SHAPES;
	draw.features = (uint32_t)stress_number(&random);
	draw_weights(&draw, &random);
	return draw;
}

static int print_mix(const struct stress_mix *mix, char *text, size_t size)
{
	int n = 0;

	text[0] = '\0';
	for (unsigned kind = 0; kind < FAULTS && n >= 0 && (size_t)n < size; kind++)
		if (mix->one_in[kind])
			n += snprintf(text + n, size - (size_t)n, "%s%s=%u", n ? "," : "",
				      fault_names[kind], mix->one_in[kind]);
	return n;
}

void stress_draw_print(const struct stress_draw *draw, char *text, size_t size)
{
	char mix[128];

	snprintf(text, size,
		 "%u threads, %u tapes%s, slabs of %zu (first %zu, magazines of %u), budget %zu, "
		 "soft %zu, store %s, faults %s, shapes %x, features %x",
		 draw->threads, draw->tapes, draw->flags ? ", checked" : "", draw->pool.slab_bytes,
		 draw->pool.first_slab_bytes, draw->pool.magazine_slabs, draw->pool.hard_budget,
		 draw->pool.soft_budget, draw->store,
		 print_mix(&draw->mix, mix, sizeof mix) ? mix : "none", (unsigned)draw->shapes,
		 (unsigned)draw->features);
}
