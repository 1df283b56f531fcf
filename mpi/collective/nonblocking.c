/* SPDX-License-Identifier: MIT */
/* The I-forms of collective calls begin and end by these functions. */
#include "config.h"

#include "nonblocking.h"

#include <errno.h>

#include <reel/extend.h>

#include "message/order.h"
#include "message/transfer.h"
#include "message/wait.h"

int reel_mpi_make_request(struct reel_mpi_request *request, MPI_Request started, MPI_Comm comm,
			  const char *call_site, int error)
{
	/* It has no numbers and no rank: its wait has nothing to note, and no order to keep. */
	*request = (struct reel_mpi_request){.mode = error ? REEL_MPI_NULL : REEL_MPI_COLLECTIVE,
					     .peer = MPI_PROC_NULL, .type = MPI_INT, .comm = comm,
					     .request = started, .call_site = call_site};
	if (!error)
		reel_mpi_move_request(request, REEL_MPI_STARTED);
	REEL_ASSERT(error <= 0);
	return error;
}

int reel_mpi_check_unused(const struct reel_mpi_request *request, const char *call)
{
	if (request->mode == REEL_MPI_NULL)
		return 0;
	return reel_fail(-EINVAL, "%s: the request is in use; in the reverse sweep the request "
				  "of a collective call is null",
			 call);
}

int reel_mpi_pop_operands(struct reel_mpi_message *m, void *operands)
{
	int own = -EINVAL, lost, error;

	if (m->tape) {
		reel_mpi_pop_numbers(m, operands);
		own = reel_tape_error(m->tape);
	}
	lost = own != 0;
	error = reel_mpi_combine(m, &lost, 1, MPI_INT, MPI_MAX);
	REEL_ASSERT(error || lost == 0 || lost == 1);
	if (error || !lost)
		return error;
	return reel_fail(own ? own : -EBADMSG, "%s: the operands are lost that the start of the "
					       "call noted on %s",
			 m->call, own ? "this rank" : "another rank");
}
