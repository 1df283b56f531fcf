/* SPDX-License-Identifier: MIT */
/* I-forms of collective calls. */
#include "config.h"

#include "nonblocking.h"

#include <errno.h>

#include <reel/extend.h>

#include "broadcast.h"
#include "comm/error.h"
#include "message/order.h"
#include "message/transfer.h"
#include "message/wait.h"

/* ---- Requests and operands ---- */

int reel_mpi_make_request(struct reel_mpi_request *request, MPI_Request started, MPI_Comm comm,
			  const char *site, int error)
{
	/* It has no numbers and no rank: its wait has nothing to note, and no order to keep. */
	*request = (struct reel_mpi_request){.mode = error ? REEL_MPI_NULL : REEL_MPI_COLLECTIVE,
					     .state = REEL_MPI_STARTED, .peer = MPI_PROC_NULL,
					     .type = MPI_INT, .comm = comm, .request = started,
					     .site = site};
	return error;
}

int reel_mpi_check_unused(const struct reel_mpi_request *request, const char *call)
{
	if (request->mode == REEL_MPI_NULL)
		return 0;
	return reel_fail(-EINVAL, "%s: the request is in use; in the reverse sweep that of a "
				  "collective call is null",
			 call);
}

/* Waits for all ranks, and sets *lost to whether the operands of any are lost. */
static int agree_on_loss(const struct reel_mpi_message *m, bool *lost)
{
	struct reel_mpi_buffer *buffer = reel_mpi_take_buffer(m->attached, sizeof(int));
	int *any, error;

	if (!buffer)
		return -ENOMEM;
	any = (int *)(void *)buffer->data;
	*any = *lost;
	error = reel_mpi_await_all(m, MPI_Iallreduce(MPI_IN_PLACE, any, 1, MPI_INT, MPI_MAX,
						     m->attached->sums, &buffer->request),
				   &buffer->request);
	if (!error)
		*lost = *any;
	reel_mpi_give_buffer(m->attached, buffer);
	return error;
}

int reel_mpi_pop_operands(struct reel_mpi_message *m, void *operands)
{
	int own = -EINVAL, error;
	bool lost;

	if (m->tape) {
		reel_mpi_pop_numbers(m, operands);
		own = reel_tape_error(m->tape);
	}
	lost = own != 0;
	error = agree_on_loss(m, &lost);
	if (error || !lost)
		return error;
	return reel_fail(own ? own : -EBADMSG, "%s: the operands are lost that the start of the "
					       "call noted on %s",
			 m->call, own ? "this rank" : "another rank");
}

/* ---- Calls that move data ---- */

int reel_mpi_start_move(enum reel_mpi_move kind, const struct reel_mpi_side *s,
			const struct reel_mpi_side *r, int root, MPI_Comm comm, MPI_Request *request)
{
	switch (kind) {
	case REEL_MPI_GATHER:
		return MPI_Igather(s->base, s->count, s->type, r->base, r->count, r->type, root,
				   comm, request);
	case REEL_MPI_GATHERV:
		return MPI_Igatherv(s->base, s->count, s->type, r->base, r->counts,
				    r->displacements, r->type, root, comm, request);
	case REEL_MPI_SCATTER:
		return MPI_Iscatter(s->base, s->count, s->type, r->base, r->count, r->type, root,
				    comm, request);
	case REEL_MPI_SCATTERV:
		return MPI_Iscatterv(s->base, s->counts, s->displacements, s->type, r->base,
				     r->count, r->type, root, comm, request);
	case REEL_MPI_ALLGATHER:
		return MPI_Iallgather(s->base, s->count, s->type, r->base, r->count, r->type, comm,
				      request);
	case REEL_MPI_ALLGATHERV:
		return MPI_Iallgatherv(s->base, s->count, s->type, r->base, r->counts,
				       r->displacements, r->type, comm, request);
	case REEL_MPI_ALLTOALL:
		return MPI_Ialltoall(s->base, s->count, s->type, r->base, r->count, r->type, comm,
				     request);
	case REEL_MPI_ALLTOALLV:
		return MPI_Ialltoallv(s->base, s->counts, s->displacements, s->type, r->base,
				      r->counts, r->displacements, r->type, comm, request);
	case REEL_MPI_ALLTOALLW:
		return MPI_Ialltoallw(s->base, s->counts, s->displacements, s->types, r->base,
				      r->counts, r->displacements, r->types, comm, request);
	case REEL_MPI_NEIGHBOR_ALLGATHER:
		return MPI_Ineighbor_allgather(s->base, s->count, s->type, r->base, r->count,
					       r->type, comm, request);
	case REEL_MPI_NEIGHBOR_ALLGATHERV:
		return MPI_Ineighbor_allgatherv(s->base, s->count, s->type, r->base, r->counts,
						r->displacements, r->type, comm, request);
	case REEL_MPI_NEIGHBOR_ALLTOALL:
		return MPI_Ineighbor_alltoall(s->base, s->count, s->type, r->base, r->count,
					      r->type, comm, request);
	case REEL_MPI_NEIGHBOR_ALLTOALLV:
		return MPI_Ineighbor_alltoallv(s->base, s->counts, s->displacements, s->type,
					       r->base, r->counts, r->displacements, r->type, comm,
					       request);
	default:
		return MPI_Ineighbor_alltoallw(s->base, s->counts, s->bytes, s->types, r->base,
					       r->counts, r->bytes, r->types, comm, request);
	}
}

int reel_mpi_imove_at(reel_tape *tape, const char *site, enum reel_mpi_move kind, const void *sent,
		      int sent_count, const int *sent_counts, const int *sent_displacements,
		      MPI_Datatype sent_type, const MPI_Datatype *sent_types, void *received,
		      int count, const int *counts, const int *displacements, MPI_Datatype type,
		      const MPI_Datatype *types, int root, MPI_Comm comm,
		      struct reel_mpi_request *request)
{
	struct reel_mpi_side from = {(void *)(uintptr_t)sent, sent_count, sent_counts,
				     sent_displacements, sent_type, sent_types, NULL, false};
	struct reel_mpi_side to = {received, count, counts, displacements, type, types, NULL, false};

	return reel_mpi_forward_move(tape, site, kind, &from, &to, root, comm, request);
}

int reel_mpi_imove_reverse_at(reel_tape *tape, const char *site, enum reel_mpi_move kind,
			      void *sent_bar, int sent_count, const int *sent_counts,
			      const int *sent_displacements, MPI_Datatype sent_type,
			      const MPI_Datatype *sent_types, void *received_bar, int count,
			      const int *counts, const int *displacements, MPI_Datatype type,
			      const MPI_Datatype *types, int root, MPI_Comm comm,
			      const struct reel_mpi_request *request)
{
	struct reel_mpi_side from = {sent_bar, sent_count, sent_counts, sent_displacements,
				     sent_type, sent_types, NULL, false};
	struct reel_mpi_side to = {received_bar, count, counts, displacements, type, types, NULL,
				   false};
	int error = reel_mpi_check_unused(request, "the reverse of a collective call");

	return error ? reel_mpi_stick(tape, error)
		     : reel_mpi_reverse_move(tape, site, kind, &from, &to, root, comm, true);
}

int reel_mpi_ineighbor_alltoallw_at(reel_tape *tape, const char *site, const void *sent,
				    const int *sent_counts, const MPI_Aint *sent_bytes,
				    const MPI_Datatype *sent_types, void *received,
				    const int *counts, const MPI_Aint *bytes,
				    const MPI_Datatype *types, MPI_Comm comm,
				    struct reel_mpi_request *request)
{
	struct reel_mpi_side from = {(void *)(uintptr_t)sent, 0, sent_counts, NULL,
				     MPI_DATATYPE_NULL, sent_types, sent_bytes, false};
	struct reel_mpi_side to = {received, 0, counts, NULL, MPI_DATATYPE_NULL, types, bytes,
				   false};

	return reel_mpi_forward_move(tape, site, REEL_MPI_NEIGHBOR_ALLTOALLW, &from, &to, 0, comm,
				     request);
}

int reel_mpi_ineighbor_alltoallw_reverse_at(reel_tape *tape, const char *site, void *sent_bar,
					    const int *sent_counts, const MPI_Aint *sent_bytes,
					    const MPI_Datatype *sent_types, void *received_bar,
					    const int *counts, const MPI_Aint *bytes,
					    const MPI_Datatype *types, MPI_Comm comm,
					    const struct reel_mpi_request *request)
{
	struct reel_mpi_side from = {sent_bar, 0, sent_counts, NULL, MPI_DATATYPE_NULL, sent_types,
				     sent_bytes, false};
	struct reel_mpi_side to = {received_bar, 0, counts, NULL, MPI_DATATYPE_NULL, types, bytes,
				   false};
	int error = reel_mpi_check_unused(request, "reel_mpi_ineighbor_alltoallw_reverse");

	return error ? reel_mpi_stick(tape, error)
		     : reel_mpi_reverse_move(tape, site, REEL_MPI_NEIGHBOR_ALLTOALLW, &from, &to, 0,
					     comm, true);
}

int reel_mpi_ibcast_at(reel_tape *tape, const char *site, void *buffer, int count,
		       MPI_Datatype type, int root, MPI_Comm comm, struct reel_mpi_request *request)
{
	struct reel_mpi_message m = {.call = "reel_mpi_ibcast", .site = site, .tape = tape,
				     .buffer = buffer, .count = count, .type = type};
	MPI_Request started = MPI_REQUEST_NULL;
	struct reel_mpi_call call;
	int error = reel_mpi_open_message(&m, comm);

	if (!error)
		error = reel_mpi_error(MPI_Ibcast(buffer, count, type, root, comm, &started),
				       m.call);
	reel_mpi_make_request(request, started, comm, site, error);
	if (!error) {
		call = reel_mpi_bcast_call(&m, root, false);
		error = reel_mpi_note_started(&call, 0);
	}
	return reel_mpi_stick(tape, error);
}

int reel_mpi_ibcast_reverse_at(reel_tape *tape, const char *site, void *buffer_bar, int count,
			       MPI_Datatype type, int root, MPI_Comm comm,
			       const struct reel_mpi_request *request)
{
	struct reel_mpi_message m = {.call = "reel_mpi_ibcast_reverse", .site = site, .tape = tape,
				     .buffer = buffer_bar, .count = count, .type = type};
	struct reel_mpi_call call;
	int error = reel_mpi_check_unused(request, m.call);

	if (!error)
		error = reel_mpi_open_message(&m, comm);
	if (error)
		return reel_mpi_stick(tape, error);
	call = reel_mpi_bcast_call(&m, root, true);
	error = reel_mpi_mirror_started(&call);
	if (error)
		reel_mpi_layout_poison(m.layout, m.count, m.buffer);
	else
		error = reel_mpi_reverse_bcast(&m, root);
	return reel_mpi_stick(tape, error);
}

int reel_mpi_ibarrier_at(reel_tape *tape, const char *site, MPI_Comm comm,
			 struct reel_mpi_request *request)
{
	static const char call[] = "reel_mpi_ibarrier";
	struct reel_mpi_attached *attached;
	MPI_Request started = MPI_REQUEST_NULL;
	int error = reel_mpi_find(comm, call, &attached);

	if (!error)
		error = reel_mpi_error(MPI_Ibarrier(comm, &started), call);
	return reel_mpi_stick(tape, reel_mpi_make_request(request, started, comm, site, error));
}

int reel_mpi_ibarrier_reverse_at(reel_tape *tape, const char *site, MPI_Comm comm,
				 const struct reel_mpi_request *request)
{
	int error = reel_mpi_check_unused(request, "reel_mpi_ibarrier_reverse");

	return error ? reel_mpi_stick(tape, error) : reel_mpi_barrier_reverse_at(tape, site, comm);
}
