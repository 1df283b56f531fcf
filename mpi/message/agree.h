/* SPDX-License-Identifier: MIT */
/* Checked mode for collective calls: the ranks compare their calls. */
#ifndef REEL_MPI_AGREE_H
#define REEL_MPI_AGREE_H

#include "check.h"

struct reel_mpi_call {
	struct reel_mpi_attached *attached;
	reel_tape *tape;
	const char *name; /* of the forward call */
	const char *call_site;
	int root;
	int64_t numbers; /* the same on all ranks; -1: need not be; 0: no adjoint, and no note */
	struct reel_mpi_signature signature; /* the same on all ranks except `own` */
	bool reverse;
	bool started; /* an I-form: ranks may start and reverse it long before the others do */
	bool notes; /* notes the common result of the ranks: all have a tape, or none has */
};

/* Returns the description of a call whose message all ranks have alike. */
struct reel_mpi_call reel_mpi_call_of(const struct reel_mpi_message *message, const char *name,
				      int root, bool reverse);

/*
 * Sets the fields of a reduction that ranks compare: its operation for all ranks, and for each rank
 * alone a hash, which extends `own` by the handle of the operation and by whether the call is in
 * place.
 */
void reel_mpi_sign_operation(struct reel_mpi_call *call, MPI_Op op, bool in_place, uint32_t own);

/*
 * Compares the call with the calls of the other ranks, and in the reverse sweep with the note
 * before. Returns 0, or -EBADMSG on all ranks, if it does not mirror the forward call on one of
 * them, or if they differ. Of an I-form each rank compares the reverse call with its own note
 * alone, and nothing else: it returns as reel_mpi_mirror().
 */
int reel_mpi_agree_on_call(const struct reel_mpi_call *call);

/* Forward, when all else is on the tape: notes the call. Returns `error`, or the tape's. */
int reel_mpi_note_agreed(const struct reel_mpi_call *call, int error);

/*
 * Reverse, before anything is sent: compares the call with the note on the tape, and sets the
 * serial number. If they differ, the ranks that wait for an adjoint of either get a header that
 * says so. Returns 0, -EBADMSG, or the error by which the tape was lost before.
 */
int reel_mpi_mirror(struct reel_mpi_message *message, bool receive);

#endif
