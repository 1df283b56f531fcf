/* SPDX-License-Identifier: MIT */
/*
 * Collective calls that move blocks and change none. In the reverse sweep each block's adjoint goes
 * back to the rank that the block came from, which adds what comes in the order of ranks.
 */
#include "config.h"

#include <errno.h>

#include <reel/extend.h>

#include "check.h"

/* Of a call: between whom blocks travel. What is not said is: from each rank to each one. */
static const struct pattern {
	const char *name;
	bool sent_to_root;	 /* and to no other rank */
	bool sent_by_root;	 /* and by no other rank */
	bool sent_in_blocks;	 /* another one to each rank; otherwise the same to each */
	bool received_in_blocks; /* one from each rank; otherwise there is one */
	bool uneven;		 /* counts may differ between ranks */
} patterns[] = {
	[REEL_MPI_GATHER] = {"reel_mpi_gather", true, false, false, true, false},
	[REEL_MPI_GATHERV] = {"reel_mpi_gatherv", true, false, false, true, true},
	[REEL_MPI_SCATTER] = {"reel_mpi_scatter", false, true, true, false, false},
	[REEL_MPI_SCATTERV] = {"reel_mpi_scatterv", false, true, true, false, true},
	[REEL_MPI_ALLGATHER] = {"reel_mpi_allgather", false, false, false, true, false},
	[REEL_MPI_ALLGATHERV] = {"reel_mpi_allgatherv", false, false, false, true, true},
	[REEL_MPI_ALLTOALL] = {"reel_mpi_alltoall", false, false, true, true, false},
	[REEL_MPI_ALLTOALLV] = {"reel_mpi_alltoallv", false, false, true, true, true},
	[REEL_MPI_ALLTOALLW] = {"reel_mpi_alltoallw", false, false, true, true, true},
};

/* The blocks of a rank on one side. Of Alltoallw, displacements are in bytes. */
struct side {
	char *base;
	int count;
	const int *counts, *displacements;
	MPI_Datatype type;
	const MPI_Datatype *types;
	bool in_blocks;
};

/* Makes the message of the block that goes to rank i or comes from it. */
static int block_of(struct reel_mpi_message *m, const struct side *side, int i, MPI_Comm comm)
{
	MPI_Aint lower, extent, at = 0;
	int error;

	m->type = side->types ? side->types[i] : side->type;
	m->count = side->counts && side->in_blocks ? side->counts[i] : side->count;
	m->peer = i;
	m->tag = 0;
	m->buffer = side->base;
	error = reel_mpi_open_message(m, comm);
	if (error)
		return error;
	m->through = m->attached->sums;
	if (side->in_blocks) {
		MPI_Type_get_extent(m->type, &lower, &extent);
		at = side->types	   ? side->displacements[i]
		     : side->displacements ? side->displacements[i] * extent
					   : (MPI_Aint)i * m->count * extent;
	}
	if (m->count > 0)
		m->buffer = side->base + at;
	return 0;
}

/* A call of a rank. */
struct move {
	const struct pattern *pattern;
	struct side sent, received;
	int rank, size, root;
	bool own_stays; /* the block from the rank to itself is in its place already */
};

static bool sends_to(const struct move *move, int i)
{
	return (!move->pattern->sent_to_root || i == move->root) &&
	       (!move->pattern->sent_by_root || move->rank == move->root) &&
	       !(move->own_stays && i == move->rank);
}

static bool receives_from(const struct move *move, int i)
{
	return (!move->pattern->sent_to_root || move->rank == move->root) &&
	       (!move->pattern->sent_by_root || i == move->root) &&
	       !(move->own_stays && i == move->rank);
}

/* Says what MPI_IN_PLACE stands for. */
static void resolve_in_place(struct move *move)
{
	bool sent = move->sent.base == MPI_IN_PLACE, received = move->received.base == MPI_IN_PLACE;
	bool in_blocks = move->pattern->sent_in_blocks;

	move->own_stays = received || (sent && !in_blocks);
	if (sent && in_blocks) {
		move->sent = move->received;
	} else if (sent && !move->pattern->sent_to_root) {
		/* Each rank gets what lies in the rank's own block. */
		const struct side *to = &move->received;
		MPI_Aint lower, extent;

		MPI_Type_get_extent(to->type, &lower, &extent);
		move->sent.count = to->counts ? to->counts[move->rank] : to->count;
		move->sent.type = to->type;
		move->sent.base = to->base + (to->displacements
						      ? to->displacements[move->rank]
						      : (MPI_Aint)move->rank * to->count) *
						     extent;
	}
}

/* Calls `act` for the block to or from each rank that there is. */
static int each_block(const struct move *move, reel_tape *tape, const char *site, bool sent,
		      MPI_Comm comm, int (*act)(struct reel_mpi_message *message))
{
	const struct side *side = sent ? &move->sent : &move->received;
	int error = 0;

	for (int i = 0; i < move->size; i++) {
		struct reel_mpi_message m = {.call = move->pattern->name, .site = site, .tape = tape};
		int own;

		if (!(sent ? sends_to(move, i) : receives_from(move, i)))
			continue;
		own = block_of(&m, side, i, comm);
		if (!own && act)
			own = act(&m);
		if (!error)
			error = own;
	}
	return error;
}

static int poison(struct reel_mpi_message *m)
{
	reel_mpi_layout_poison(m->layout, m->count, m->buffer);
	return 0;
}

static int open_move(struct move *move, enum reel_mpi_move kind, const struct side *sent,
		     const struct side *received, int root, MPI_Comm comm)
{
	struct reel_mpi_attached *attached;
	int error;

	if ((size_t)kind >= sizeof patterns / sizeof *patterns)
		return reel_fail(-EINVAL, "unknown collective call %d", (int)kind);
	move->pattern = &patterns[kind];
	error = reel_mpi_find(comm, move->pattern->name, &attached);
	if (error)
		return error;
	move->sent = *sent;
	move->received = *received;
	move->sent.in_blocks = move->pattern->sent_in_blocks;
	move->received.in_blocks = move->pattern->received_in_blocks;
	move->rank = attached->rank;
	move->size = attached->size;
	move->root = root;
	resolve_in_place(move);
	return 0;
}

/* The side of a call that a rank has whatever it has in place. */
static const struct side *own_side(const struct move *move)
{
	bool is_root = move->rank == move->root;

	if (move->pattern->sent_to_root ? !is_root : move->pattern->sent_by_root && is_root)
		return &move->sent;
	return &move->received;
}

/*
 * What all ranks have to say alike, for checked mode. Where counts differ between ranks, they are
 * not compared.
 */
static int describe(struct reel_mpi_call *call, const struct move *move, reel_tape *tape,
		    const char *site, MPI_Comm comm, bool reverse)
{
	const struct side *side = own_side(move);
	bool uneven = move->pattern->uneven;
	struct reel_mpi_message m = {.call = move->pattern->name, .type = side->type,
				     .count = uneven ? 1 : side->count};
	int error = side->types ? 0 : reel_mpi_open_message(&m, comm);

	*call = (struct reel_mpi_call){.tape = tape, .name = m.call, .site = site,
				       .root = move->root, .numbers = -1, .reverse = reverse};
	if (!error)
		error = reel_mpi_find(comm, m.call, &call->attached);
	if (!error && !side->types)
		call->numbers = reel_mpi_numbers_of(&m);
	if (uneven && call->numbers)
		call->numbers = -1;
	return error;
}

static int call_mpi(enum reel_mpi_move kind, const struct side *s, const struct side *r, int root,
		    MPI_Comm comm)
{
	switch (kind) {
	case REEL_MPI_GATHER:
		return MPI_Gather(s->base, s->count, s->type, r->base, r->count, r->type, root, comm);
	case REEL_MPI_GATHERV:
		return MPI_Gatherv(s->base, s->count, s->type, r->base, r->counts, r->displacements,
				   r->type, root, comm);
	case REEL_MPI_SCATTER:
		return MPI_Scatter(s->base, s->count, s->type, r->base, r->count, r->type, root,
				   comm);
	case REEL_MPI_SCATTERV:
		return MPI_Scatterv(s->base, s->counts, s->displacements, s->type, r->base, r->count,
				    r->type, root, comm);
	case REEL_MPI_ALLGATHER:
		return MPI_Allgather(s->base, s->count, s->type, r->base, r->count, r->type, comm);
	case REEL_MPI_ALLGATHERV:
		return MPI_Allgatherv(s->base, s->count, s->type, r->base, r->counts,
				      r->displacements, r->type, comm);
	case REEL_MPI_ALLTOALL:
		return MPI_Alltoall(s->base, s->count, s->type, r->base, r->count, r->type, comm);
	case REEL_MPI_ALLTOALLV:
		return MPI_Alltoallv(s->base, s->counts, s->displacements, s->type, r->base,
				     r->counts, r->displacements, r->type, comm);
	default:
		return MPI_Alltoallw(s->base, s->counts, s->displacements, s->types, r->base,
				     r->counts, r->displacements, r->types, comm);
	}
}

int reel_mpi_move_at(reel_tape *tape, const char *site, enum reel_mpi_move kind, const void *sent,
		     int sent_count, const int *sent_counts, const int *sent_displacements,
		     MPI_Datatype sent_type, const MPI_Datatype *sent_types, void *received,
		     int count, const int *counts, const int *displacements, MPI_Datatype type,
		     const MPI_Datatype *types, int root, MPI_Comm comm)
{
	struct side from = {(void *)(uintptr_t)sent, sent_count, sent_counts, sent_displacements,
			    sent_type, sent_types, false};
	struct side to = {received, count, counts, displacements, type, types, false};
	struct reel_mpi_call call;
	struct move move;
	int error = open_move(&move, kind, &from, &to, root, comm);

	/* What hides its numbers is refused before any rank waits. */
	if (!error)
		error = each_block(&move, tape, site, true, comm, NULL);
	if (!error)
		error = each_block(&move, tape, site, false, comm, NULL);
	if (!error)
		error = describe(&call, &move, tape, site, comm, false);
	if (error)
		return reel_mpi_stick(tape, error);
	error = reel_mpi_agree(&call);
	if (!error)
		error = reel_mpi_check(call_mpi(kind, &from, &to, root, comm), move.pattern->name);
	return reel_mpi_stick(tape, reel_mpi_note_agreed(&call, error));
}

int reel_mpi_move_reverse_at(reel_tape *tape, const char *site, enum reel_mpi_move kind,
			     void *sent_bar, int sent_count, const int *sent_counts,
			     const int *sent_displacements, MPI_Datatype sent_type,
			     const MPI_Datatype *sent_types, void *received_bar, int count,
			     const int *counts, const int *displacements, MPI_Datatype type,
			     const MPI_Datatype *types, int root, MPI_Comm comm)
{
	struct side from = {sent_bar, sent_count, sent_counts, sent_displacements, sent_type,
			    sent_types, false};
	struct side to = {received_bar, count, counts, displacements, type, types, false};
	struct move move;
	struct reel_mpi_call call;
	int error = open_move(&move, kind, &from, &to, root, comm), own;

	if (error)
		return reel_mpi_stick(tape, error);
	error = describe(&call, &move, tape, site, comm, true);
	if (!error)
		error = reel_mpi_agree(&call);
	if (error) {
		each_block(&move, tape, site, true, comm, poison);
		each_block(&move, tape, site, false, comm, poison);
		return reel_mpi_stick(tape, error);
	}
	error = each_block(&move, tape, site, false, comm, reel_mpi_send_adjoint);
	own = each_block(&move, tape, site, true, comm, reel_mpi_add_adjoint);
	return reel_mpi_stick(tape, error ? error : own);
}
