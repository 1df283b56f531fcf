/* SPDX-License-Identifier: MIT */
/* Collective calls for Fortran. */
#include "buffers.h"

/* One side of a call. A member is NULL or 0 if the call does not have it. */
struct side {
	const CFI_cdesc_t *array;
	int count;
	const int *counts, *displacements;
	const MPI_Fint *type;
};

/* ---- Calls with one buffer, and with none ---- */

#define BROADCAST(NAME, FORM)                                                                      \
	int reel_fortran_mpi_##NAME(reel_tape *tape, const CFI_cdesc_t *buf, int count,            \
				    const MPI_Fint *type, int root, const MPI_Fint *comm)          \
	{                                                                                          \
		RETURN_WITH_BUFFER(buf, true,                                                      \
				   reel_mpi_bcast_at(tape, MPI_CALL_SITE, FORM, buffer.at, count,  \
						     TYPE(type), root, COMM(comm), NULL));         \
	}

BROADCAST(bcast, REEL_MPI_FORWARD)
BROADCAST(bcast_reverse, REEL_MPI_REVERSE)

int reel_fortran_mpi_barrier(reel_tape *tape, const MPI_Fint *comm)
{
	return reel_mpi_barrier_at(tape, MPI_CALL_SITE, REEL_MPI_FORWARD, COMM(comm), NULL);
}

int reel_fortran_mpi_barrier_reverse(reel_tape *tape, const MPI_Fint *comm)
{
	return reel_mpi_barrier_at(tape, MPI_CALL_SITE, REEL_MPI_REVERSE, COMM(comm), NULL);
}

/* ---- Calls that move blocks ---- */

static int move(reel_tape *tape, const char *call_site, enum reel_mpi_form form,
		enum reel_mpi_move kind, struct side s, struct side r, int root,
		const MPI_Fint *comm)
{
	RETURN_WITH_BUFFERS(s.array, r.array, form == REEL_MPI_REVERSE,
			    reel_mpi_move_at(tape, call_site, form, kind, buffers.sent.at, s.count,
					     s.counts, s.displacements, TYPE(s.type), NULL,
					     buffers.received.at, r.count, r.counts,
					     r.displacements, TYPE(r.type), NULL, root, COMM(comm),
					     NULL));
}

/* Defines NAME and its reverse with the arguments of Fortran's call, by FUNCTION. */
#define BOTH(NAME, ARGUMENTS, FUNCTION, ...)                                                       \
	int reel_fortran_mpi_##NAME ARGUMENTS                                                      \
	{                                                                                          \
		return FUNCTION(tape, MPI_CALL_SITE, REEL_MPI_FORWARD, __VA_ARGS__, comm);         \
	}                                                                                          \
                                                                                                   \
	int reel_fortran_mpi_##NAME##_reverse ARGUMENTS                                            \
	{                                                                                          \
		return FUNCTION(tape, MPI_CALL_SITE, REEL_MPI_REVERSE, __VA_ARGS__, comm);         \
	}

#define SENT(...) ((struct side){sent, __VA_ARGS__, sent_type})
#define RECEIVED(...) ((struct side){received, __VA_ARGS__, type})

#define ROOTED                                                                                     \
	(reel_tape * tape, const CFI_cdesc_t *sent, int sent_count, const MPI_Fint *sent_type,     \
	 const CFI_cdesc_t *received, int count, const MPI_Fint *type, int root,                   \
	 const MPI_Fint *comm)

BOTH(gather, ROOTED, move, REEL_MPI_GATHER, SENT(sent_count, NULL, NULL),
     RECEIVED(count, NULL, NULL), root)
BOTH(scatter, ROOTED, move, REEL_MPI_SCATTER, SENT(sent_count, NULL, NULL),
     RECEIVED(count, NULL, NULL), root)

#define UNROOTED                                                                                   \
	(reel_tape * tape, const CFI_cdesc_t *sent, int sent_count, const MPI_Fint *sent_type,     \
	 const CFI_cdesc_t *received, int count, const MPI_Fint *type, const MPI_Fint *comm)

BOTH(allgather, UNROOTED, move, REEL_MPI_ALLGATHER, SENT(sent_count, NULL, NULL),
     RECEIVED(count, NULL, NULL), 0)
BOTH(alltoall, UNROOTED, move, REEL_MPI_ALLTOALL, SENT(sent_count, NULL, NULL),
     RECEIVED(count, NULL, NULL), 0)

#define GATHERV                                                                                    \
	(reel_tape * tape, const CFI_cdesc_t *sent, int sent_count, const MPI_Fint *sent_type,     \
	 const CFI_cdesc_t *received, const int *counts, const int *displacements,                 \
	 const MPI_Fint *type, int root, const MPI_Fint *comm)

BOTH(gatherv, GATHERV, move, REEL_MPI_GATHERV, SENT(sent_count, NULL, NULL),
     RECEIVED(0, counts, displacements), root)

#define SCATTERV                                                                                   \
	(reel_tape * tape, const CFI_cdesc_t *sent, const int *sent_counts,                        \
	 const int *sent_displacements, const MPI_Fint *sent_type, const CFI_cdesc_t *received,    \
	 int count, const MPI_Fint *type, int root, const MPI_Fint *comm)

BOTH(scatterv, SCATTERV, move, REEL_MPI_SCATTERV, SENT(0, sent_counts, sent_displacements),
     RECEIVED(count, NULL, NULL), root)

#define ALLGATHERV                                                                                 \
	(reel_tape * tape, const CFI_cdesc_t *sent, int sent_count, const MPI_Fint *sent_type,     \
	 const CFI_cdesc_t *received, const int *counts, const int *displacements,                 \
	 const MPI_Fint *type, const MPI_Fint *comm)

BOTH(allgatherv, ALLGATHERV, move, REEL_MPI_ALLGATHERV, SENT(sent_count, NULL, NULL),
     RECEIVED(0, counts, displacements), 0)

#define ALLTOALLV                                                                                  \
	(reel_tape * tape, const CFI_cdesc_t *sent, const int *sent_counts,                        \
	 const int *sent_displacements, const MPI_Fint *sent_type, const CFI_cdesc_t *received,    \
	 const int *counts, const int *displacements, const MPI_Fint *type, const MPI_Fint *comm)

BOTH(alltoallv, ALLTOALLV, move, REEL_MPI_ALLTOALLV, SENT(0, sent_counts, sent_displacements),
     RECEIVED(0, counts, displacements), 0)

/* ---- Reductions ---- */

#define OP(handle) MPI_Op_f2c(*(handle))

static int reduce(reel_tape *tape, const char *call_site, enum reel_mpi_form form,
		  enum reel_mpi_reduction kind, const CFI_cdesc_t *sent,
		  const CFI_cdesc_t *received, int count, const MPI_Fint *type, const MPI_Fint *op,
		  int root, const MPI_Fint *comm)
{
	RETURN_WITH_BUFFERS(sent, received, form == REEL_MPI_REVERSE,
			    reel_mpi_reduction_at(tape, call_site, form, kind, buffers.sent.at,
						  buffers.received.at, count, NULL, TYPE(type),
						  OP(op), root, COMM(comm), NULL));
}

BOTH(reduce,
     (reel_tape * tape, const CFI_cdesc_t *sent, const CFI_cdesc_t *received, int count,
      const MPI_Fint *type, const MPI_Fint *op, int root, const MPI_Fint *comm),
     reduce, REEL_MPI_REDUCE, sent, received, count, type, op, root)

#define FOR_ALL                                                                                    \
	(reel_tape * tape, const CFI_cdesc_t *sent, const CFI_cdesc_t *received, int count,        \
	 const MPI_Fint *type, const MPI_Fint *op, const MPI_Fint *comm)

BOTH(allreduce, FOR_ALL, reduce, REEL_MPI_ALLREDUCE, sent, received, count, type, op, 0)
BOTH(reduce_scatter_block, FOR_ALL, reduce, REEL_MPI_REDUCE_SCATTER_BLOCK, sent, received, count,
     type, op, 0)
BOTH(scan, FOR_ALL, reduce, REEL_MPI_SCAN, sent, received, count, type, op, 0)
BOTH(exscan, FOR_ALL, reduce, REEL_MPI_EXSCAN, sent, received, count, type, op, 0)
