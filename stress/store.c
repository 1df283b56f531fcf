/* SPDX-License-Identifier: MIT */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spill/thread/thread.h"
#include "helpers/pool-support.h"
#include "stress.h"
#include "helpers/store-count.h"
#include "helpers/store-fault.h"

/* Number of transfers of a round that may fail; later ones do not. */
#define TRANSFERS_WITH_FAULTS 2048

/* ---- Faults ---- */

static void add_rule(struct stress_store *stack, struct reel_fault_rule rule)
{
	stack->rules[stack->rule_count++] = rule;
}

/* At most one rule for a transfer, so that those that were met can be counted. */
static bool draw_rule(struct stress_random *random, const struct stress_mix *mix, bool put,
		      struct reel_fault_rule *rule)
{
	static const enum reel_fault faults[] = {REEL_FAULT_ERROR, REEL_FAULT_ERROR,
						 REEL_FAULT_LATE, REEL_FAULT_FLIP,
						 REEL_FAULT_MISPLACE};

	for (unsigned kind = 0; kind < FAULT_VANISH; kind++) {
		bool fits = kind == FAULT_PUT ? put
			    : kind == FAULT_GET || kind == FAULT_MISPLACE ? !put : true;

		if (!fits || !mix->one_in[kind] || !stress_one_in(random, mix->one_in[kind]))
			continue;
		rule->fault = faults[kind];
		rule->error = stress_one_in(random, 2) ? -EIO : -ENOSPC;
		rule->bit = stress_below(random, 8 * 256);
		return true;
	}
	return false;
}

/* The store vanishes first: of several rules for one transfer it is the first that holds. */
static void draw_rules(struct stress_store *stack, struct stress_random *random,
		       const struct stress_mix *mix)
{
	if (mix->one_in[FAULT_VANISH])
		add_rule(stack, (struct reel_fault_rule){.fault = REEL_FAULT_VANISH, .put = true,
							 .at = mix->one_in[FAULT_VANISH]});
	for (uint64_t at = 0; at < 2 * TRANSFERS_WITH_FAULTS; at++) {
		struct reel_fault_rule rule = {.put = at % 2, .at = at / 2};

		if (draw_rule(random, mix, rule.put, &rule))
			add_rule(stack, rule);
	}
}

static bool has_faults(const struct stress_mix *mix)
{
	for (unsigned kind = 0; kind < FAULTS; kind++)
		if (mix->one_in[kind])
			return true;
	return false;
}

/* Rules are met in the order of their numbers, each by one transfer. */
uint64_t stress_store_faults(struct stress_store *stack)
{
	struct reel_store_counts counts;
	uint64_t met = 0;

	if (!stack->count)
		return 0;
	reel_store_get_counts(stack->count, &counts);
	for (size_t i = 0; i < stack->rule_count; i++)
		met += stack->rules[i].at < (stack->rules[i].put ? counts.puts : counts.gets);
	return met;
}

/* ---- Stacks ---- */

static const char *directory(void)
{
	const char *named = stress_options.directory ? stress_options.directory : getenv("TMPDIR");

	return named ? named : "/var/tmp";
}

/* "memory=64K" */
static uint64_t memory_of(const char *text)
{
	char *unit;
	uint64_t bytes = strtoull(text + strlen("memory="), &unit, 10);

	return bytes << (*unit == 'K' ? 10 : *unit == 'M' ? 20 : *unit == 'G' ? 30 : 0);
}

/* A leaf fails below a checksum layer, which is there with or without faults. */
static void add_faults(struct stress_store *stack, const struct stress_draw *draw, reel_store *leaf)
{
	const struct stress_mix *mix = &draw->mix;
	struct stress_random random = {scramble(draw->seed) << 24};

	stack->rules = calloc(2 * TRANSFERS_WITH_FAULTS + 1, sizeof *stack->rules);
	if (!stack->rules)
		abort();
	draw_rules(stack, &random, mix);
	if (reel_store_fault_open(&leaf, leaf, stack->rules, stack->rule_count) ||
	    reel_store_count_open(&stack->count, leaf) ||
	    reel_store_checksum_open(&stack->store, stack->count))
		abort();
	stack->loses = mix->one_in[FAULT_GET] || mix->one_in[FAULT_FLIP] ||
		       mix->one_in[FAULT_MISPLACE] || mix->one_in[FAULT_VANISH];
	stack->refuses = mix->one_in[FAULT_PUT] || mix->one_in[FAULT_VANISH];
	stack->misplaces = mix->one_in[FAULT_MISPLACE];
}

/* Adds the layers named before the last comma on top of the stack; 0, or a layer's error. */
static int add_layers(struct stress_store *stack, const char *text, size_t length)
{
	struct reel_codec_options codec = {0};
	reel_store *first;
	int error;

	while (length) {
		size_t begin = length;

		while (begin && text[begin - 1] != ',')
			begin--;
		if (!strncmp(text + begin, "lz4", 3)) {
			codec.layout.stride = (uint32_t)strtoul(text + begin + 4, NULL, 10);
			codec.layout.element = codec.layout.stride ? 8 : 0;
			error = reel_store_codec_open(&stack->store, stack->store, &codec);
		} else {
			error = reel_store_open(&first, "memory=64K", NULL);
			error = error ? error
				      : reel_store_overflow_open(&stack->store, first,
								 stack->store);
		}
		if (error)
			return error;
		length = begin ? begin - 1 : 0;
	}
	return 0;
}

/* A description's last store, with faults, and then its layers. */
static int open_with_faults(struct stress_store *stack, const struct stress_draw *draw)
{
	const char *comma = strrchr(draw->store, ',');
	const char *last = comma ? comma + 1 : draw->store;
	struct reel_file_options file = {.directory = directory()};
	reel_store *leaf;
	int error;

	if (!strcmp(last, "file"))
		error = reel_store_file_open(&leaf, &file);
	else
		error = reel_store_memory_open(&leaf, memory_of(last));
	if (error)
		return error;
	add_faults(stack, draw, leaf);
	error = comma ? add_layers(stack, draw->store, (size_t)(comma - draw->store)) : 0;
	if (error)
		reel_store_close(stack->store);
	return error;
}

static int try_to_open(struct stress_store *stack, const struct stress_draw *draw)
{
	*stack = (struct stress_store){0};
	return has_faults(&draw->mix) ? open_with_faults(stack, draw)
				      : reel_store_open(&stack->store, draw->store, directory());
}

/* A store that this machine has not got is drawn as one that it has. */
static void open_described(struct stress_store *stack, struct stress_draw *draw)
{
	if (!try_to_open(stack, draw))
		return;
	if (stress_options.store) {
		fprintf(stderr, "reel-stress: --store %s: %s\n", draw->store, reel_error_text(0));
		exit(2);
	}
	free(stack->rules);
	draw->store = "memory=1M";
	if (try_to_open(stack, draw))
		abort();
}

/* Raises the sizes of slabs to multiples of the store's alignment. */
static void raise_slabs(struct stress_draw *draw, size_t align)
{
	struct reel_pool_options *pool = &draw->pool;
	size_t slabs = pool->hard_budget / pool->slab_bytes;

	if (pool->slab_bytes % align == 0)
		return;
	pool->slab_bytes += align - pool->slab_bytes % align;
	pool->first_slab_bytes = pool->slab_bytes;
	pool->hard_budget = slabs * pool->slab_bytes;
	pool->soft_budget = 0;
}

void stress_store_open(struct stress_store *stack, struct stress_draw *draw)
{
	struct reel_store_capacity capacity;

	*stack = (struct stress_store){0};
	if (!strcmp(draw->store, "none"))
		return;
	if (strcmp(draw->store, "late")) {
		open_described(stack, draw);
	} else {
		stack->late = late_open(draw->seed);
		stack->store = &stack->late->store;
		if (has_faults(&draw->mix))
			add_faults(stack, draw, stack->store);
	}
	stack->refuses |= strstr(draw->store, "memory") && !strstr(draw->store, "file");
	reel_store_get_capacity(stack->store, &capacity);
	raise_slabs(draw, capacity.align);
}

/* ---- A pool and its store ---- */

void stress_stage_open(struct stress_stage *stage, struct stress_draw *draw)
{
	*stage = (struct stress_stage){.draw = draw};
	stress_store_open(&stage->store, draw);
	draw->pool.store = stage->store.store;
	if (reel_pool_open(&stage->pool, &draw->pool)) {
		fprintf(stderr, "reel-stress: %s\n", reel_error_text(0));
		exit(2);
	}
	stress_watch_stage(stage);
}

static bool is_store_error(int error)
{
	return error == -EIO || error == -ENOSPC || error == -ENODEV;
}

bool stress_is_refusal(const struct stress_stage *stage, int error)
{
	if (error == -EDQUOT)
		return stage->draw->pool.hard_budget != 0;
	if (error == -ECHILD)
		return stress_in_child;
	return stage->store.refuses && is_store_error(error);
}

bool stress_is_loss(const struct stress_stage *stage, int error)
{
	return stage->store.loses && (is_store_error(error) || error == -EBADMSG);
}

/* A fault takes one slab, and so one tape, at most; a store that vanishes takes all. */
static void check_losses(struct stress_stage *stage, uint64_t faults)
{
	uint64_t lost = stage->lost;

	if (lost > faults && !stage->draw->mix.one_in[FAULT_VANISH])
		stress_fail("%llu tapes and parcels were lost by %llu faults",
			    (unsigned long long)lost, (unsigned long long)faults);
}

/* The offload thread has nothing to do: the store may be asked here. */
static void check_store(const struct stress_stage *stage)
{
	const struct stress_store *stack = &stage->store;
	struct reel_store_capacity capacity = {0};

	if (stack->store)
		reel_store_get_capacity(stack->store, &capacity);
	if (capacity.used_bytes || (stack->late && stack->late->used))
		stress_fail("the store keeps %llu bytes, %u slabs, that are nobody's",
			    (unsigned long long)capacity.used_bytes,
			    stack->late ? stack->late->used : 0);
	if (stack->late && stack->late->wrongs && !stack->misplaces)
		stress_fail("the store was given %u things that are wrong", stack->late->wrongs);
}

void stress_stage_close(struct stress_stage *stage)
{
	struct stress_worker *self = &stress_workers[0];
	uint64_t faults;

	stress_watch(self);
	stress_at(self, "settles", 0);
	if (reel_offload_of(stage->pool))
		reel_offload_settle(reel_offload_of(stage->pool));
	faults = stress_store_faults(&stage->store);
	check_losses(stage, faults);
	check_store(stage);
	stress_at(self, "looks at the pool's lists", 0);
	if (stage->threads_live_on ? stats_of(stage->pool).slabs_in_use != 0
				   : !pool_is_whole(stage->pool))
		stress_fail("the pool is not whole");
	stress_watch_stage(NULL);
	stress_faults += faults;
	stress_at(self, "closes the pool", 0);
	if (reel_pool_close(stage->pool))
		stress_fail("the pool does not close");
	stress_unwatch(self);
	free(stage->store.late);
	free(stage->store.rules);
}
