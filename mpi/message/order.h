/* SPDX-License-Identifier: MIT */
/*
 * The states of requests, and the order of messages. Requests are the program's. Those that carry
 * adjoints and have begun are in a list of their communicator until they have ended, so that the
 * order of messages between two ranks is known. reel_mpi_move_request() alone changes a state.
 *
 *	IDLE --start--> STARTED --MPI has ended it--> COMPLETE --wait--> IDLE    forward sweep
 *	IDLE --wait_reverse--> REVERSED --start_reverse--> IDLE                  reverse sweep
 *
 * The wait of a request completes it, or the wait of another request that has to be waited for
 * first.
 */
#ifndef REEL_MPI_ORDER_H
#define REEL_MPI_ORDER_H

#include "message.h"

enum reel_mpi_request_state {
	REEL_MPI_IDLE,
	REEL_MPI_STARTED,  /* MPI has it */
	REEL_MPI_COMPLETE, /* MPI has ended it, and the program has not waited for it */
	REEL_MPI_REVERSED, /* its adjoint is under way */
	REEL_MPI_REQUEST_STATES
};

/* Changes the state of a request to one that may follow. */
void reel_mpi_move_request(struct reel_mpi_request *request, enum reel_mpi_request_state to);

/*
 * Waits for MPI to end a request that is STARTED, which then is COMPLETE, whatever code MPI
 * returns. Returns that code, also if the request was COMPLETE: the wait of another request may
 * have come first.
 */
int reel_mpi_complete_request(struct reel_mpi_request *request);
/* Makes a request COMPLETE that MPI has ended with this code. Its `status` is set. */
void reel_mpi_note_completion(struct reel_mpi_request *request, int code);

bool reel_mpi_is_receive(const struct reel_mpi_request *request);

/* Makes the message of a request. Returns as reel_mpi_open_message(). */
int reel_mpi_message_of(struct reel_mpi_message *message, const struct reel_mpi_request *request,
			const char *call, const char *call_site, reel_tape *tape);

/* Returns true if a request of this address is in the list. Does not read it: it may be garbage. */
bool reel_mpi_is_listed(MPI_Comm comm, const struct reel_mpi_request *request);

/* Add a request to the end of the list, and remove one that is in it. */
void reel_mpi_append_request(struct reel_mpi_attached *attached, struct reel_mpi_request *request);
void reel_mpi_unlink_request(struct reel_mpi_attached *attached,
			     const struct reel_mpi_request *request);

/*
 * Returns 0 if the requests that began before `request` (NULL: all) leave the message's adjoint in
 * order, or -ENOTSUP. A receive with a wildcard that may have taken an earlier message is waited
 * for, to see which one it took.
 */
int reel_mpi_check_order(const struct reel_mpi_message *message, bool receive,
			 const struct reel_mpi_request *request);

/*
 * Returns the request among the `n` requests whose message came before the message of `request`,
 * which is complete; or `request`, if there is none. The returned request is complete.
 */
struct reel_mpi_request *reel_mpi_oldest_same(struct reel_mpi_request *request, int n,
					      struct reel_mpi_request *requests);

#endif
