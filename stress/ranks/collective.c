/* SPDX-License-Identifier: MIT */
/* Collective calls, in both sweeps. */
#include <config.h>

#include "ranks.h"

#define TYPE(slice) datatype((slice)->kind, (slice)->shape)

/* The call in the direction of the sweep. */
#define BOTH(call, ...)                                                                            \
	(reverse ? reel_mpi_##call##_reverse(tape, __VA_ARGS__)                                    \
		 : reel_mpi_##call(tape, __VA_ARGS__))

/* ---- Moves ---- */

/* The arguments of one side of a call. Of Alltoallw, displacements are in bytes. */
struct side {
	void *p;
	int count, counts[MAX_RANKS], displacements[MAX_RANKS];
	MPI_Datatype type, types[MAX_RANKS];
};

static struct side side_of(const struct slice *blocks, int n, struct memory *x, bool bytes)
{
	struct side side = {place_of(x, &blocks[0]), .count = blocks[0].count,
			    .type = TYPE(&blocks[0])};

	for (int i = 0; i < n; i++) {
		int units = blocks[i].at - blocks[0].at;

		side.counts[i] = blocks[i].count;
		side.types[i] = TYPE(&blocks[i]);
		side.displacements[i] = bytes ? units * (int)unit_bytes(blocks[i].kind)
					      : units / extent_of(blocks[i].shape);
	}
	return side;
}

static int call_move(const struct move_operation *o, struct side *s, struct side *r, bool reverse,
		     reel_tape *tape, MPI_Comm comm)
{
	switch (o->move) {
	case GATHER:
		return BOTH(gather, s->p, s->count, s->type, r->p, r->count, r->type, o->root,
			    comm);
	case GATHERV:
		return BOTH(gatherv, s->p, s->count, s->type, r->p, r->counts, r->displacements,
			    r->type, o->root, comm);
	case SCATTER:
		return BOTH(scatter, s->p, s->count, s->type, r->p, r->count, r->type, o->root,
			    comm);
	case SCATTERV:
		return BOTH(scatterv, s->p, s->counts, s->displacements, s->type, r->p, r->count,
			    r->type, o->root, comm);
	case ALLGATHER:
		return BOTH(allgather, s->p, s->count, s->type, r->p, r->count, r->type, comm);
	case ALLGATHERV:
		return BOTH(allgatherv, s->p, s->count, s->type, r->p, r->counts, r->displacements,
			    r->type, comm);
	case ALLTOALL:
		return BOTH(alltoall, s->p, s->count, s->type, r->p, r->count, r->type, comm);
	case ALLTOALLV:
		return BOTH(alltoallv, s->p, s->counts, s->displacements, s->type, r->p, r->counts,
			    r->displacements, r->type, comm);
	default:
		return BOTH(alltoallw, s->p, s->counts, s->displacements, s->types, r->p, r->counts,
			    r->displacements, r->types, comm);
	}
}

/*
 * Returns true if the rank passes MPI_IN_PLACE: in place of the block that it receives from a
 * Scatter, or sends in other calls.
 */
static bool is_in_place(const struct move_operation *o, int number)
{
	const struct move_pattern *p = &move_patterns[o->move];

	return o->in_place && (number == o->root || !(p->rooted_send || p->rooted_receive));
}

static void run_move(const struct move_operation *o, const struct communicator *c, int number,
		     reel_tape *tape, struct memory *x, bool reverse)
{
	struct side s = side_of(o->sent[number], c->size, x, o->move == ALLTOALLW);
	struct side r = side_of(o->received[number], c->size, x, o->move == ALLTOALLW);

	if (is_in_place(o, number))
		*(move_patterns[o->move].rooted_send ? &r.p : &s.p) = MPI_IN_PLACE;
	must(call_move(o, &s, &r, reverse, tape, c->comm), "a move");
}

/* ---- Reductions ---- */

static MPI_Op op_of(enum operator operator)
{
	const MPI_Op ops[OPERATORS] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_MINLOC, MPI_MAXLOC};

	return ops[operator];
}

static int call_reduction(const struct reduction_operation *r, void *s, void *d, int number,
			  bool reverse, reel_tape *tape, MPI_Comm comm)
{
	MPI_Datatype type = datatype(r->kind, PLAIN);
	MPI_Op op = op_of(r->operator);

	switch (r->reducing) {
	case REDUCE:
		return BOTH(reduce, s, d, r->count, type, op, r->root, comm);
	case ALLREDUCE:
		return BOTH(allreduce, s, d, r->count, type, op, comm);
	case REDUCE_SCATTER:
		return BOTH(reduce_scatter, s, d, r->counts, type, op, comm);
	case REDUCE_SCATTER_BLOCK:
		return BOTH(reduce_scatter_block, s, d, r->counts[number], type, op, comm);
	case SCAN:
		return BOTH(scan, s, d, r->count, type, op, comm);
	default:
		return BOTH(exscan, s, d, r->count, type, op, comm);
	}
}

/* Overwrites values that the standard leaves undefined by 0, whose adjoint is lost. */
static void clear_undefined(const struct reduction_operation *r, int number, struct memory *x)
{
	static const long double zero[4];
	int first = r->count;

	if (r->reducing == EXSCAN && number == 0)
		first = 0;
	else if (r->in_place &&
		 (r->reducing == REDUCE_SCATTER || r->reducing == REDUCE_SCATTER_BLOCK))
		first = r->counts[number];
	for (int k = first; k < r->count; k++)
		copy_unit(unit(x, r->kind, r->result[number] + k), zero, r->kind);
}

static void run_reduction(const struct reduction_operation *r, const struct communicator *c,
			  int number, reel_tape *tape, struct memory *x, bool reverse)
{
	void *s = unit(x, r->kind, r->operand[number]), *d = unit(x, r->kind, r->result[number]);

	if (r->in_place && (r->reducing != REDUCE || number == r->root))
		s = MPI_IN_PLACE;
	if (reverse)
		clear_undefined(r, number, x);
	must(call_reduction(r, s, d, number, reverse, tape, c->comm), "a reduction");
	if (!reverse)
		clear_undefined(r, number, x);
}

void run_collective(const struct operation *o, reel_tape *tape, struct memory *x, bool reverse)
{
	const struct communicator *c = &program.communicator[o->communicator];
	int number = number_in(c, whereabouts.rank);

	if (number < 0)
		return;
	if (o->kind == MOVE) {
		run_move(&o->move, c, number, tape, x, reverse);
	} else if (o->kind == REDUCTION) {
		run_reduction(&o->reduction, c, number, tape, x, reverse);
	} else if (o->kind == BCAST) {
		const struct slice *slice = &o->bcast.slice[number];

		must(BOTH(bcast, place_of(x, slice), slice->count, TYPE(slice), o->bcast.root,
			  c->comm),
		     "Bcast");
	} else {
		must(BOTH(barrier, c->comm), "Barrier");
	}
}
