/* SPDX-License-Identifier: MIT */
/*
 * Collective calls that move blocks and change none. In the reverse sweep each block's adjoint goes
 * back to the rank that the block came from, which adds the adjoints in the order of ranks, or of
 * its neighbours.
 */
#include "config.h"

#include <errno.h>

#include <reel/extend.h>

#include "comm/error.h"
#include "comm/neighbours.h"
#include "message/agree.h"
#include "message/transfer.h"
#include "nonblocking.h"

/* The blocks of a rank on one side of a call that moves blocks. */
struct side {
	char *base;
	int count;
	const int *counts, *displacements; /* of Alltoallw, displacements are in bytes */
	MPI_Datatype type;
	const MPI_Datatype *types;
	const MPI_Aint *bytes; /* displacements of Neighbor_alltoallw, which has no others */
	bool in_blocks;
};

/*
 * The ranks between which the blocks of a call travel. If no member says otherwise, each rank sends
 * a block to each rank, or each neighbour to each neighbour, which then stands where a rank does.
 */
#define PATTERN(call, ...) {REEL_MPI_NAMES(call), __VA_ARGS__}
static const struct pattern {
	const char *name[REEL_MPI_FORMS];
	bool sent_to_root;	 /* and to no other rank */
	bool sent_by_root;	 /* and by no other rank */
	bool sent_in_blocks;	 /* another one to each rank; otherwise the same to each */
	bool received_in_blocks; /* one from each rank; otherwise there is one */
	bool uneven;		 /* counts may differ between ranks */
} patterns[] = {
	[REEL_MPI_GATHER] = PATTERN("gather", true, false, false, true, false),
	[REEL_MPI_GATHERV] = PATTERN("gatherv", true, false, false, true, true),
	[REEL_MPI_SCATTER] = PATTERN("scatter", false, true, true, false, false),
	[REEL_MPI_SCATTERV] = PATTERN("scatterv", false, true, true, false, true),
	[REEL_MPI_ALLGATHER] = PATTERN("allgather", false, false, false, true, false),
	[REEL_MPI_ALLGATHERV] = PATTERN("allgatherv", false, false, false, true, true),
	[REEL_MPI_ALLTOALL] = PATTERN("alltoall", false, false, true, true, false),
	[REEL_MPI_ALLTOALLV] = PATTERN("alltoallv", false, false, true, true, true),
	[REEL_MPI_ALLTOALLW] = PATTERN("alltoallw", false, false, true, true, true),
	[REEL_MPI_NEIGHBOR_ALLGATHER] =
		PATTERN("neighbor_allgather", false, false, false, true, true),
	[REEL_MPI_NEIGHBOR_ALLGATHERV] =
		PATTERN("neighbor_allgatherv", false, false, false, true, true),
	[REEL_MPI_NEIGHBOR_ALLTOALL] = PATTERN("neighbor_alltoall", false, false, true, true, true),
	[REEL_MPI_NEIGHBOR_ALLTOALLV] =
		PATTERN("neighbor_alltoallv", false, false, true, true, true),
	[REEL_MPI_NEIGHBOR_ALLTOALLW] =
		PATTERN("neighbor_alltoallw", false, false, true, true, true),
};

/* Describes block i in the message. */
static int block_of(struct reel_mpi_message *m, const struct side *side, int i, MPI_Comm comm)
{
	MPI_Aint lower, extent, at = 0;
	int error;

	m->type = side->types ? side->types[i] : side->type;
	m->count = side->counts && side->in_blocks ? side->counts[i] : side->count;
	m->buffer = side->base;
	error = reel_mpi_open_message(m, comm);
	if (error)
		return error;
	m->through = m->attached->sums;
	if (side->in_blocks) {
		MPI_Type_get_extent(m->type, &lower, &extent);
		at = side->bytes	   ? side->bytes[i]
		     : side->types	   ? side->displacements[i]
		     : side->displacements ? side->displacements[i] * extent
					   : (MPI_Aint)i * m->count * extent;
	}
	if (m->count > 0)
		m->buffer = side->base + at;
	return 0;
}

/* A call of a rank. */
struct move {
	reel_tape *tape;
	const char *call_site;
	enum reel_mpi_move kind;
	int root;
	MPI_Comm comm;
	enum reel_mpi_form form;
	struct side from, to; /* as the program gives them */
	/* Set by open_move(): */
	const struct pattern *pattern;
	const char *call; /* its name, for texts of errors */
	struct side sent, received;
	int rank, size;
	bool in_place;
	bool own_stays; /* the block from the rank to itself is in its place already */
	struct reel_mpi_attached *attached;
	const struct reel_mpi_neighbours *neighbours; /* NULL: blocks travel between all ranks */
	const int *number; /* number of each received block at its source; NULL: all are equal */
};

/* Returns true if block i travels: to rank i if it is `sent`, else from rank i. */
static bool has_block(const struct move *move, bool sent, int i)
{
	int from = sent ? move->rank : i, to = sent ? i : move->rank;

	return (!move->pattern->sent_to_root || to == move->root) &&
	       (!move->pattern->sent_by_root || from == move->root) &&
	       !(move->own_stays && from == to);
}

/* Puts the buffer in the place of MPI_IN_PLACE. */
static void resolve_in_place(struct move *move)
{
	bool sent = move->sent.base == MPI_IN_PLACE, received = move->received.base == MPI_IN_PLACE;
	bool in_blocks = move->pattern->sent_in_blocks;

	REEL_ASSERT(!move->neighbours);
	move->in_place = sent || received;
	move->own_stays = received || (sent && !in_blocks);
	if (sent && in_blocks) {
		move->sent = move->received;
	} else if (sent && !move->pattern->sent_to_root) {
		/* Each rank gets the contents of the rank's own block. */
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

static int blocks_on(const struct move *move, bool sent)
{
	return !move->neighbours ? move->size
	       : sent		 ? move->neighbours->destinations
				 : move->neighbours->sources;
}

/* Says with which rank and tag the adjoint of a block travels. */
static void address(struct reel_mpi_message *m, const struct move *move, bool sent, int i)
{
	const struct reel_mpi_neighbours *n = move->neighbours;

	REEL_ASSERT(i >= 0 && i < blocks_on(move, sent));
	m->peer = !n ? i : sent ? n->destination[i] : n->source[i];
	m->tag = !move->number ? 0 : sent ? i : move->number[i];
}

/* Calls `act` for each block that there is. */
static int each_block(const struct move *move, bool sent,
		      int (*act)(struct reel_mpi_message *message))
{
	const struct side *side = sent ? &move->sent : &move->received;
	int error = 0;

	for (int i = 0; i < blocks_on(move, sent); i++) {
		struct reel_mpi_message m = {.call = move->call, .call_site = move->call_site,
					     .tape = move->tape};
		int own;

		if (!has_block(move, sent, i))
			continue;
		address(&m, move, sent, i);
		own = block_of(&m, side, i, move->comm);
		if (!own)
			own = act(&m);
		error = error ? error : own;
	}
	return error;
}

static int poison(struct reel_mpi_message *m)
{
	reel_mpi_layout_poison(m->layout, m->count, m->buffer);
	return 0;
}

static int open_move(struct move *move)
{
	int error;

	if ((size_t)move->kind >= sizeof patterns / sizeof *patterns)
		return reel_fail(-EINVAL, "unknown collective call %d", (int)move->kind);
	move->pattern = &patterns[move->kind];
	move->call = move->pattern->name[move->form];
	error = reel_mpi_find(move->comm, move->call, &move->attached);
	if (!error && move->kind >= REEL_MPI_NEIGHBOR_ALLGATHER)
		error = reel_mpi_find_neighbours(move->attached, move->call, &move->neighbours);
	if (error)
		return error;
	move->sent = move->from;
	move->received = move->to;
	move->sent.in_blocks = move->pattern->sent_in_blocks;
	move->received.in_blocks = move->pattern->received_in_blocks;
	move->rank = move->attached->rank;
	REEL_ASSERT(!move->number && !move->in_place && !move->own_stays);
	move->size = move->attached->size;
	if (!move->neighbours)
		resolve_in_place(move);
	else if (move->from.base == MPI_IN_PLACE || move->to.base == MPI_IN_PLACE)
		return reel_fail(-EINVAL, "%s: MPI_IN_PLACE stands in no call among neighbours",
				 move->call);
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

/* Extends a hash by the numbers in each block of a side. */
static uint32_t hash_blocks(uint32_t hash, const struct move *move, bool sent)
{
	const struct side *side = sent ? &move->sent : &move->received;

	for (int i = 0; i < blocks_on(move, sent); i++) {
		struct reel_mpi_message m = {.call = move->call};

		if (has_block(move, sent, i) && !block_of(&m, side, i, move->comm))
			hash = reel_mpi_hash_numbers(hash, &m);
	}
	return reel_mpi_hash(hash, move->in_place);
}

/*
 * Describes the call for checked mode. Where counts differ between ranks, the ranks do not compare
 * them, nor the kinds of numbers: each one compares its own with its note.
 */
static int describe(struct reel_mpi_call *call, const struct move *move, bool reverse)
{
	const struct side *side = own_side(move);
	bool uneven = move->pattern->uneven;
	struct reel_mpi_message m = {.call = move->call, .type = side->type,
				     .count = uneven ? 1 : side->count};
	int error = side->types ? 0 : reel_mpi_open_message(&m, move->comm);
	uint32_t hash = REEL_MPI_HASH;

	*call = (struct reel_mpi_call){.attached = move->attached, .tape = move->tape,
				       .name = move->pattern->name[REEL_MPI_FORWARD],
				       .call_site = move->call_site, .root = move->root,
				       .numbers = -1, .started = move->form >= REEL_MPI_START,
				       .reverse = reverse};
	if (error)
		return error;
	if (!side->types)
		call->numbers = reel_mpi_numbers_of(&m);
	if (uneven && call->numbers)
		call->numbers = -1;
	REEL_ASSERT(call->numbers >= -1);
	if (move->attached->checks) {
		hash = hash_blocks(hash_blocks(hash, move, true), move, false);
		call->signature = reel_mpi_make_signature(uneven ? 0 : reel_mpi_kinds_of(&m), 0,
							  hash);
	}
	return 0;
}

/* The arguments of MPI for one side of a call. */
#define EVEN(side) (side)->base, (side)->count, (side)->type
#define UNEVEN(side) (side)->base, (side)->counts, (side)->displacements, (side)->type
#define TYPED(side) (side)->base, (side)->counts, (side)->displacements, (side)->types
#define TYPED_BYTES(side) (side)->base, (side)->counts, (side)->bytes, (side)->types

/* Calls MPI; with a request, the I-form. */
static int call_mpi(const struct move *move, MPI_Request *request)
{
	const struct side *from = &move->from, *to = &move->to;
	MPI_Comm comm = move->comm;
	int root = move->root;

	switch (move->kind) {
	case REEL_MPI_GATHER:
		return REEL_MPI_CALL(request, MPI_Gather, MPI_Igather, EVEN(from), EVEN(to),
				     root, comm);
	case REEL_MPI_GATHERV:
		return REEL_MPI_CALL(request, MPI_Gatherv, MPI_Igatherv, EVEN(from), UNEVEN(to),
				     root, comm);
	case REEL_MPI_SCATTER:
		return REEL_MPI_CALL(request, MPI_Scatter, MPI_Iscatter, EVEN(from), EVEN(to),
				     root, comm);
	case REEL_MPI_SCATTERV:
		return REEL_MPI_CALL(request, MPI_Scatterv, MPI_Iscatterv, UNEVEN(from), EVEN(to),
				     root, comm);
	case REEL_MPI_ALLGATHER:
		return REEL_MPI_CALL(request, MPI_Allgather, MPI_Iallgather, EVEN(from), EVEN(to),
				     comm);
	case REEL_MPI_ALLGATHERV:
		return REEL_MPI_CALL(request, MPI_Allgatherv, MPI_Iallgatherv, EVEN(from),
				     UNEVEN(to), comm);
	case REEL_MPI_ALLTOALL:
		return REEL_MPI_CALL(request, MPI_Alltoall, MPI_Ialltoall, EVEN(from), EVEN(to),
				     comm);
	case REEL_MPI_ALLTOALLV:
		return REEL_MPI_CALL(request, MPI_Alltoallv, MPI_Ialltoallv, UNEVEN(from),
				     UNEVEN(to), comm);
	case REEL_MPI_ALLTOALLW:
		return REEL_MPI_CALL(request, MPI_Alltoallw, MPI_Ialltoallw, TYPED(from), TYPED(to),
				     comm);
	case REEL_MPI_NEIGHBOR_ALLGATHER:
		return REEL_MPI_CALL(request, MPI_Neighbor_allgather, MPI_Ineighbor_allgather,
				     EVEN(from), EVEN(to), comm);
	case REEL_MPI_NEIGHBOR_ALLGATHERV:
		return REEL_MPI_CALL(request, MPI_Neighbor_allgatherv, MPI_Ineighbor_allgatherv,
				     EVEN(from), UNEVEN(to), comm);
	case REEL_MPI_NEIGHBOR_ALLTOALL:
		return REEL_MPI_CALL(request, MPI_Neighbor_alltoall, MPI_Ineighbor_alltoall,
				     EVEN(from), EVEN(to), comm);
	case REEL_MPI_NEIGHBOR_ALLTOALLV:
		return REEL_MPI_CALL(request, MPI_Neighbor_alltoallv, MPI_Ineighbor_alltoallv,
				     UNEVEN(from), UNEVEN(to), comm);
	default:
		return REEL_MPI_CALL(request, MPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw,
				     TYPED_BYTES(from), TYPED_BYTES(to), comm);
	}
}

/* `request` is NULL if the call waits. */
static int forward(struct move *move, struct reel_mpi_request *request)
{
	MPI_Request started = MPI_REQUEST_NULL;
	struct reel_mpi_call call;
	int error = open_move(move);

	/* A type that hides its numbers, or a wrong count, is refused before any rank waits. */
	if (!error)
		error = each_block(move, true, reel_mpi_check_packed);
	if (!error)
		error = each_block(move, false, reel_mpi_check_packed);
	if (!error)
		error = describe(&call, move, false);
	/* Ranks start I-forms where others may not be yet: of those this compares nothing. */
	if (!error)
		error = reel_mpi_agree_on_call(&call);
	if (!error)
		error = reel_mpi_error(call_mpi(move, request ? &started : NULL), move->call);
	if (request)
		reel_mpi_make_request(request, started, move->comm, move->call_site, error);
	return reel_mpi_stick(move->tape, error ? error : reel_mpi_note_agreed(&call, 0));
}

/* Finds which block of a neighbour came as which block. */
static int match(struct move *move)
{
	enum reel_mpi_matching matching;
	int error;

	if (!move->neighbours || !move->pattern->sent_in_blocks)
		return 0;
	matching = (enum reel_mpi_matching)(move->kind - REEL_MPI_NEIGHBOR_ALLTOALL +
					    (move->form >= REEL_MPI_START
						     ? REEL_MPI_MATCH_IALLTOALL
						     : REEL_MPI_MATCH_ALLTOALL));
	error = reel_mpi_match_neighbours(move->attached, move->call, matching);
	move->number = move->neighbours->block[matching];
	REEL_ASSERT(error || move->number);
	return error;
}

/* `request` is NULL if the forward call waited. */
static int reverse(struct move *move, const struct reel_mpi_request *request)
{
	struct reel_mpi_call call;
	int error = open_move(move), own;

	if (!error && request)
		error = reel_mpi_check_unused(request, move->call);
	if (error)
		return reel_mpi_stick(move->tape, error);
	error = describe(&call, move, true);
	if (!error)
		error = reel_mpi_agree_on_call(&call);
	/* After that all ranks make this call: finding the blocks is collective. */
	if (!error)
		error = match(move);
	if (error) {
		each_block(move, true, poison);
		each_block(move, false, poison);
		return reel_mpi_stick(move->tape, error);
	}
	error = each_block(move, false, reel_mpi_send_adjoint);
	own = each_block(move, true, reel_mpi_add_adjoint);
	return reel_mpi_stick(move->tape, error ? error : own);
}

/* ---- Calls ---- */

static int carry_out(struct move *move, struct reel_mpi_request *request)
{
	return reel_mpi_is_reverse(move->form, request) ? reverse(move, request)
							: forward(move, request);
}

int reel_mpi_move_at(reel_tape *tape, const char *call_site, enum reel_mpi_form form,
		     enum reel_mpi_move kind, const void *sent, int sent_count,
		     const int *sent_counts, const int *sent_displacements, MPI_Datatype sent_type,
		     const MPI_Datatype *sent_types, void *received, int count, const int *counts,
		     const int *displacements, MPI_Datatype type, const MPI_Datatype *types,
		     int root, MPI_Comm comm, struct reel_mpi_request *request)
{
	struct move move = {
		.tape = tape, .call_site = call_site, .kind = kind, .root = root, .comm = comm,
		.form = form,
		.from = {.base = (char *)(uintptr_t)sent, .count = sent_count,
			 .counts = sent_counts, .displacements = sent_displacements,
			 .type = sent_type, .types = sent_types},
		.to = {.base = received, .count = count, .counts = counts,
		       .displacements = displacements, .type = type, .types = types}};

	return carry_out(&move, request);
}

int reel_mpi_neighbor_alltoallw_at(reel_tape *tape, const char *call_site, enum reel_mpi_form form,
				   const void *sent, const int *sent_counts,
				   const MPI_Aint *sent_bytes, const MPI_Datatype *sent_types,
				   void *received, const int *counts, const MPI_Aint *bytes,
				   const MPI_Datatype *types, MPI_Comm comm,
				   struct reel_mpi_request *request)
{
	struct move move = {
		.tape = tape, .call_site = call_site, .kind = REEL_MPI_NEIGHBOR_ALLTOALLW,
		.comm = comm, .form = form,
		.from = {.base = (char *)(uintptr_t)sent, .counts = sent_counts,
			 .bytes = sent_bytes, .type = MPI_DATATYPE_NULL, .types = sent_types},
		.to = {.base = received, .counts = counts, .bytes = bytes,
		       .type = MPI_DATATYPE_NULL, .types = types}};

	return carry_out(&move, request);
}
