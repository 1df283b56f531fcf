/* SPDX-License-Identifier: MIT */
/*
 * The states of requests, and the order of messages. Requests are the program's. Those that carry
 * adjoints and have begun are in a list of their communicator until they have ended, so that the
 * order of messages between two ranks is known.
 *
 *	IDLE      --start-->           STARTED   --wait-->           IDLE    forward sweep
 *	STARTED   --another's wait-->  COMPLETE  --wait-->           IDLE
 *	IDLE      --wait_reverse-->    REVERSED  --start_reverse-->  IDLE    reverse sweep
 */
#ifndef REEL_MPI_ORDER_H
#define REEL_MPI_ORDER_H

#include "message.h"

enum { REEL_MPI_IDLE, REEL_MPI_STARTED, REEL_MPI_COMPLETE, REEL_MPI_REVERSED };

bool reel_mpi_is_receive(const struct reel_mpi_request *request);

/* Makes the message of a request. Returns as reel_mpi_open_message(). */
int reel_mpi_message_of(struct reel_mpi_message *message, const struct reel_mpi_request *request,
			const char *call, const char *site, reel_tape *tape);

/* Add a request to the end of the list, and remove one that is in it. */
void reel_mpi_append_request(struct reel_mpi_attached *attached, struct reel_mpi_request *request);
void reel_mpi_unlink_request(struct reel_mpi_attached *attached,
			     const struct reel_mpi_request *request);

/*
 * Whether the requests that began before `request` (NULL: all) leave the message's adjoint in
 * order. A receive with a wildcard that may have taken an earlier message is waited for, to see
 * which one it took. Returns 0 or -ENOTSUP.
 */
int reel_mpi_check_order(const struct reel_mpi_message *message, bool receive,
			 const struct reel_mpi_request *request);

/*
 * Returns the request among the `n` requests whose message came before that of `request`, which is
 * complete; or `request`, if there is none. What it returns is complete.
 */
struct reel_mpi_request *reel_mpi_oldest_same(struct reel_mpi_request *request, int n,
					      struct reel_mpi_request *requests);

#endif
