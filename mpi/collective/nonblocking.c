/* SPDX-License-Identifier: MIT */
/* What the I-forms of collective calls have in common. */
#include "config.h"

#include "nonblocking.h"

#include <errno.h>

#include <reel/extend.h>

#include "comm/error.h"
#include "message/order.h"
#include "message/transfer.h"
#include "message/wait.h"

int reel_mpi_make_request(struct reel_mpi_request *request, MPI_Request started, MPI_Comm comm,
			  const char *site, int error)
{
	/* It has no numbers and no rank: its wait has nothing to note, and no order to keep. */
	*request = (struct reel_mpi_request){.mode = error ? REEL_MPI_NULL : REEL_MPI_COLLECTIVE,
					     .peer = MPI_PROC_NULL, .type = MPI_INT, .comm = comm,
					     .request = started, .site = site};
	if (!error)
		reel_mpi_move_request(request, REEL_MPI_STARTED);
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
