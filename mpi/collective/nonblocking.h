/* SPDX-License-Identifier: MIT */
/*
 * Collective calls that begin and end. Forward, the start calls MPI and makes a request of the
 * program; the start notes the operands if the reverse needs them, since other ranks cannot be
 * waited for there. In the reverse sweep the start does all: MPI demands that ranks start these
 * calls in one order, and not that they wait for them in one.
 */
#ifndef REEL_MPI_NONBLOCKING_H
#define REEL_MPI_NONBLOCKING_H

#include "message/message.h"

/* The names of a collective call, by enum reel_mpi_form. */
enum { REEL_MPI_FORMS = REEL_MPI_START_REVERSE + 1 };
#define REEL_MPI_NAMES(call)                                                                       \
	{"reel_mpi_" call, "reel_mpi_" call "_reverse", "reel_mpi_i" call,                         \
	 "reel_mpi_i" call "_reverse"}

/* Calls that begin and end have a request, others have none. */
static inline bool reel_mpi_is_reverse(enum reel_mpi_form form, const struct reel_mpi_request *own)
{
	REEL_ASSERT(!own == (form < REEL_MPI_START));
	return form == REEL_MPI_REVERSE || form == REEL_MPI_START_REVERSE;
}

/* Makes the program's request of one that MPI has started, or leaves it null if `error`. */
int reel_mpi_make_request(struct reel_mpi_request *request, MPI_Request started, MPI_Comm comm,
			  const char *call_site, int error);

/* Returns 0, or -EINVAL: a request of the program has begun and not ended. */
int reel_mpi_check_unused(const struct reel_mpi_request *request, const char *call);

/*
 * Pops the operands that the start noted. Collective: if they are lost on a rank, all ranks fail,
 * or else the others would choose another minimum.
 */
int reel_mpi_pop_operands(struct reel_mpi_message *message, void *operands);

#endif
