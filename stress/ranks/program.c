/* SPDX-License-Identifier: MIT */
/* Draws a program: all that its seed chooses. */
#include <config.h>

#include <string.h>

#include "ranks.h"

struct program program;

/* ---- Random numbers ---- */

static uint64_t mix(uint64_t n)
{
	n = (n ^ n >> 31) * 0x7fb5d329728ea185u;
	n = (n ^ n >> 27) * 0x81dadef4bc2dd44du;
	return n ^ n >> 33;
}

static uint64_t number(struct random *random)
{
	return mix(random->next += 0x9e3779b97f4a7c15u);
}

struct random random_of(uint64_t seed, uint64_t a, uint64_t b)
{
	return (struct random){mix(seed + mix(a + mix(b + 0x632be59bd9b4e019u)))};
}

int below(struct random *random, int bound)
{
	return (int)(number(random) % (uint64_t)bound);
}

bool one_in(struct random *random, int n)
{
	return below(random, n) == 0;
}

/* ---- Communicators ---- */

int number_in(const struct communicator *communicator, int world_rank)
{
	for (int i = 0; i < communicator->size; i++)
		if (communicator->member[i] == world_rank)
			return i;
	return -1;
}

/* As make_communicators() of reel-stress-ranks.c makes them. */
static void describe_communicators(int ranks)
{
	struct communicator *c = program.communicator;

	c[0].size = c[1].size = ranks;
	c[4].size = ranks > 2 ? ranks - 1 : ranks;
	c[2].size = c[3].size = 0;
	for (int i = 0; i < ranks; i++)
		c[0].member[i] = c[1].member[i] = c[4].member[i] = i;
	for (int i = ranks; i-- > 0;)
		c[2 + i % 2].member[c[2 + i % 2].size++] = i;
	program.communicators = MAX_COMMUNICATORS;
}

/* ---- Operations ---- */

enum kind draw_kind(struct random *random)
{
	static const enum kind smooth[] = {DOUBLES, COMPLEX, PAIRS};

	if (program.smooth)
		return smooth[below(random, 3)];
	return one_in(random, 3) ? DOUBLES : (enum kind)below(random, KINDS);
}

static void draw_local(struct operation *o, struct random *random)
{
	/* In a smooth program the doubles and the pairs, which have the first numbers. */
	int leaves = program.smooth ? units_in_memory(DOUBLES) + units_in_memory(PAIRS)
				    : number_of_leaves();

	o->kind = LOCAL;
	o->statements = 1 + below(random, MAX_STATEMENTS);
	for (int r = 0; r < program.ranks; r++)
		for (int k = 0; k < o->statements; k++)
			o->statement[r][k] = (struct statement){
				below(random, leaves), below(random, leaves),
				below(random, leaves), below(random, 2)};
}

static void draw_collective(struct operation *o, const struct communicator *c,
			    struct random *random)
{
	static const enum operation_kind kinds[] = {MOVE, MOVE, MOVE, REDUCTION, REDUCTION,
						    REDUCTION, BCAST, BARRIER};
	bool drawn = true;

	o->kind = kinds[below(random, 8)];
	if (o->kind == MOVE)
		drawn = draw_move(&o->move, c, random);
	else if (o->kind == REDUCTION)
		drawn = draw_reduction(&o->reduction, c, random);
	else if (o->kind == BCAST)
		drawn = draw_bcast(o, c, random);
	if (!drawn)
		o->kind = BARRIER;
}

static bool has_any_source(const struct exchange *e)
{
	for (int m = 0; m < e->messages; m++)
		if (e->message[m].any_source)
			return true;
	return false;
}

/* The exchange that was drawn last comes again, after statements. */
static void repeat(int i, struct random *random)
{
	struct operation *o = program.operation;
	struct exchange *e = &o[i].exchange;

	/* Else a message of the second time may be taken the first time. */
	e->barrier_after |= has_any_source(e);
	o[i + 1].communicator = o[i].communicator;
	draw_local(&o[i + 1], random);
	o[i + 2] = o[i];
}

static void draw_operations(struct random *random)
{
	int wanted = 3 + below(random, MAX_OPERATIONS - 4), i = 0;

	while (i < wanted) {
		struct operation *o = &program.operation[i];
		const struct communicator *c;

		o->communicator = below(random, program.communicators);
		o->same_as = i;
		c = &program.communicator[o->communicator];
		if (!c->size || i == 0 || one_in(random, 4)) {
			draw_local(o, random);
		} else if (one_in(random, 2)) {
			draw_collective(o, c, random);
		} else {
			o->kind = EXCHANGE;
			draw_exchange(&o->exchange, c, random, 16 * i);
			if (i + 3 <= wanted && one_in(random, 3)) {
				repeat(i, random);
				i += 2;
			}
		}
		i++;
	}
	program.operations = i;
}

void draw_program(uint64_t seed, int ranks)
{
	struct random random = random_of(seed, 1, (uint64_t)ranks);

	program.seed = seed;
	program.ranks = ranks;
	program.smooth = one_in(&random, 4);
	program.tape_flags = one_in(&random, 2) ? REEL_CHECKED : 0;
	program.spilled = one_in(&random, 3);
	program.on_one_rank = one_in(&random, 2);
	program.root = program.on_one_rank ? below(&random, ranks) : 0;
	describe_communicators(ranks);
	draw_operations(&random);
	program.rehearsal = one_in(&random, 4) ? below(&random, program.operations + 1) : 0;
}

/* ---- Numbers ---- */

void set_beginning(struct memory *memory, int rank)
{
	struct random random = random_of(program.seed, 2, (uint64_t)rank);

	memset(memory, 0, sizeof *memory);
	for (int leaf = 0; leaf < number_of_leaves(); leaf++) {
		int range = is_narrow(leaf) ? 8 : 32;

		set_leaf(memory, leaf,
			 program.smooth ? (below(&random, 20001) - 10000) / 10007.0
					: below(&random, range) - range / 2);
	}
	for (int i = 0; i < units_in_memory(MIXED); i++) {
		memory->s[i].number = below(&random, 1000);
		memory->s[i].unsent = below(&random, 1000);
	}
	for (int i = 0; i < units_in_memory(PAIRS); i++)
		memory->p[i].number = below(&random, 4);
}

double weight_of(int rank, int leaf)
{
	struct random random = random_of(program.seed, 3 + (uint64_t)rank, (uint64_t)leaf);

	return below(&random, 8) - 4;
}

/* ---- Memory that is in use ---- */

enum { FREE, READ, WRITTEN };

static unsigned char *use_of(struct usage *usage, int rank, enum kind kind, int index)
{
	static struct memory none;

	return usage->used[rank] + ((char *)unit(&none, kind, index) - (char *)&none);
}

static bool is_free(struct usage *usage, int rank, enum kind kind, int index, bool shared)
{
	unsigned char use = *use_of(usage, rank, kind, index);
	unsigned char last = use_of(usage, rank, kind, index)[unit_bytes(kind) - 1];

	return (use == FREE || (shared && use == READ)) &&
	       (last == FREE || (shared && last == READ));
}

static bool take_at(struct usage *usage, int rank, const struct slice *slice, int units,
		    bool shared)
{
	for (int k = 0; k < units; k++)
		if (!is_free(usage, rank, slice->kind, unit_at(slice, k), shared))
			return false;
	for (int k = 0; k < units; k++)
		memset(use_of(usage, rank, slice->kind, unit_at(slice, k)),
		       shared ? READ : WRITTEN, unit_bytes(slice->kind));
	return true;
}

bool find_room(struct usage *usage, struct random *random, int rank, struct slice *slice, int units,
	       bool shared)
{
	int span;

	slice->at = 0;
	slice->count = units / units_of(slice->shape);
	span = slice->count * extent_of(slice->shape);
	if (units == 0)
		return true;
	if (span > units_in_memory(slice->kind))
		return false;
	for (int tries = 0; tries < 60; tries++) {
		slice->at = below(random, units_in_memory(slice->kind) - span + 1);
		if (take_at(usage, rank, slice, units, shared))
			return true;
	}
	return false;
}

int find_area(struct usage *usage, struct random *random, int rank, enum kind kind, int units)
{
	struct slice slice = {kind, PLAIN, 0, 0};

	return find_room(usage, random, rank, &slice, units, false) ? slice.at : -1;
}
