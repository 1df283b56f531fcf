/* SPDX-License-Identifier: MIT */
/* The operands of collective calls. */
#include <config.h>

#include <string.h>

#include "ranks.h"

const struct move_pattern move_patterns[MOVES] = {
	[GATHER] = {false, true, true, false, false},
	[GATHERV] = {false, true, true, false, true},
	[SCATTER] = {true, false, false, true, false},
	[SCATTERV] = {true, false, false, true, true},
	[ALLGATHER] = {false, false, true, false, false},
	[ALLGATHERV] = {false, false, true, false, true},
	[ALLTOALL] = {false, false, true, true, false},
	[ALLTOALLV] = {false, false, true, true, true},
	[ALLTOALLW] = {false, false, true, true, true},
};

static struct usage usage;

/* Units come in twos, so that types of 1 and of 2 units have them. */
static enum shape draw_shape(struct random *random)
{
	enum shape shape;

	do
		shape = one_in(random, 2) ? PLAIN : (enum shape)below(random, SHAPES);
	while (units_of(shape) > 2);
	return shape;
}

/* ---- Moves ---- */

/* How many units go from rank i to rank j: units[i][j]. */
static void draw_units(int units[MAX_RANKS][MAX_RANKS], const struct move_operation *o, int n,
		       struct random *random)
{
	const struct move_pattern *p = &move_patterns[o->move];
	int all = 2 * below(random, 2) + 2 * !one_in(random, 4);

	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++) {
			units[i][j] = p->varying ? 2 * below(random, 3) : all;
			if (n > 4 && units[i][j] > 2)
				units[i][j] = 2;
			if (!p->out_blocks && j > 0)
				units[i][j] = units[i][0];
			if (o->in_place && p->in_blocks && p->out_blocks && j < i)
				units[i][j] = units[j][i];
		}
}

/* Gives a rank memory for its blocks, one after the other; with gaps where they may be. */
static bool place_blocks(struct slice *blocks, const int *units, int n,
			 const struct move_operation *o, int member, enum kind kind,
			 struct random *random)
{
	bool gaps = move_patterns[o->move].varying;
	enum shape shape = draw_shape(random);
	int place[MAX_RANKS], at = 0, begin;

	for (int i = 0; i < n; i++) {
		if (o->move == ALLTOALLW && i > 0)
			shape = draw_shape(random);
		blocks[i] = (struct slice){kind, shape, 0, units[i] / units_of(shape)};
		place[i] = at;
		at += (blocks[i].count + (gaps && one_in(random, 4))) * extent_of(shape);
	}
	begin = find_area(&usage, random, member, kind, at);
	for (int i = 0; i < n; i++)
		blocks[i].at = begin + place[i];
	return begin >= 0;
}

/* The same block for all. */
static bool place_block(struct slice *blocks, int units, int n, int member, enum kind kind,
			struct random *random)
{
	struct slice slice = {kind, draw_shape(random), 0, 0};
	bool found = find_room(&usage, random, member, &slice, units, false);

	for (int i = 0; i < n; i++)
		blocks[i] = slice;
	return found;
}

bool draw_move(struct move_operation *o, const struct communicator *c, struct random *random)
{
	int units[MAX_RANKS][MAX_RANKS], back[MAX_RANKS], n = c->size;
	const struct move_pattern *p;
	enum kind kind = draw_kind(random);

	memset(&usage, 0, sizeof usage);
	o->move = (enum move)below(random, MOVES);
	o->root = below(random, n);
	o->in_place = one_in(random, 3);
	p = &move_patterns[o->move];
	draw_units(units, o, n, random);
	for (int i = 0; i < n; i++) {
		for (int j = 0; j < n; j++)
			back[j] = units[j][i];
		if (!(p->out_blocks ? place_blocks(o->sent[i], units[i], n, o, c->member[i], kind,
						   random)
				    : place_block(o->sent[i], units[i][0], n, c->member[i], kind,
						  random)))
			return false;
		if (!(p->in_blocks ? place_blocks(o->received[i], back, n, o, c->member[i], kind,
						  random)
				   : place_block(o->received[i], units[o->root][i], n, c->member[i],
						 kind, random)))
			return false;
	}
	return true;
}

/* ---- Reductions ---- */

static void draw_operator(struct reduction_operation *r, struct random *random)
{
	do
		r->kind = draw_kind(random);
	while (r->kind == MIXED);
	r->operator = SUM;
	if (r->kind == PAIRS)
		r->operator = one_in(random, 2) ? MINLOC : MAXLOC;
	else if (r->kind < COMPLEX)
		r->operator = (enum operator)below(random, MINLOC);
}

static void draw_counts(struct reduction_operation *r, int n, bool scattered, struct random *random)
{
	int each = below(random, 3);

	r->count = scattered ? 0 : below(random, 4);
	for (int i = 0; scattered && i < n; i++) {
		r->counts[i] = r->reducing == REDUCE_SCATTER ? below(random, 3) : each;
		r->count += r->counts[i];
	}
}

static int at_least_one(int units)
{
	return units > 0 ? units : 1;
}

bool draw_reduction(struct reduction_operation *r, const struct communicator *c,
		    struct random *random)
{
	bool scattered;

	memset(&usage, 0, sizeof usage);
	r->reducing = (enum reducing)below(random, REDUCINGS);
	r->in_place = one_in(random, 3);
	r->root = below(random, c->size);
	draw_operator(r, random);
	scattered = r->reducing == REDUCE_SCATTER || r->reducing == REDUCE_SCATTER_BLOCK;
	draw_counts(r, c->size, scattered, random);
	for (int i = 0; i < c->size; i++) {
		int results = scattered && !r->in_place ? r->counts[i] : r->count;

		/* MPICH refuses two equal addresses, also for no elements. */
		r->operand[i] = find_area(&usage, random, c->member[i], r->kind,
					  at_least_one(r->count));
		r->result[i] =
			find_area(&usage, random, c->member[i], r->kind, at_least_one(results));
		if (r->operand[i] < 0 || r->result[i] < 0)
			return false;
	}
	return true;
}

/* ---- Bcast ---- */

bool draw_bcast(struct operation *o, const struct communicator *c, struct random *random)
{
	enum kind kind = draw_kind(random);
	int units = 2 * below(random, 4);

	memset(&usage, 0, sizeof usage);
	o->bcast.root = below(random, c->size);
	for (int i = 0; i < c->size; i++) {
		o->bcast.slice[i] = (struct slice){kind, draw_shape(random), 0, 0};
		if (!find_room(&usage, random, c->member[i], &o->bcast.slice[i], units, false))
			return false;
	}
	return true;
}
