/* SPDX-License-Identifier: MIT */
/* Waiting for calls that MPI has begun: under the watchdog, and without holding the processor. */
#ifndef REEL_MPI_WAIT_H
#define REEL_MPI_WAIT_H

#include "message.h"

enum reel_mpi_wait { REEL_MPI_FROM_PEER, REEL_MPI_TO_PEER, REEL_MPI_FOR_ALL };

/*
 * Tests the request until it is complete, an error occurs, or reel_clock_ns() reaches `end`
 * (UINT64_MAX: never). Sets *complete. Gives up the processor between tests: with more threads than
 * processors, MPI_Wait() would spin while the thread that has to act does not run. `call` names the
 * call in texts of errors.
 */
int reel_mpi_poll(const char *call, MPI_Request *request, MPI_Status *status, uint64_t end,
		  int *complete);

/*
 * Waits until the request is complete. With a watchdog, a reverse call, and a forward call that
 * notes something, waits at most `watch_ns`, and then returns -ETIMEDOUT; a receive has been
 * cancelled then, and another request is not MPI_REQUEST_NULL: its memory is MPI's until it is
 * complete.
 */
int reel_mpi_await(const struct reel_mpi_message *message, enum reel_mpi_wait what,
		   MPI_Request *request, MPI_Status *status);

/*
 * Waits for a collective call in the same way; `code` is the code that MPI returned when it began.
 */
int reel_mpi_await_all(const struct reel_mpi_message *message, int code, MPI_Request *request);

/*
 * Combines `count` values of all ranks by `op`, and waits in the same way. If that fails, the
 * values stay as they are, and the temporary in which MPI combines them is MPI's until it has done
 * so.
 */
int reel_mpi_combine(const struct reel_mpi_message *message, void *values, int count,
		     MPI_Datatype type, MPI_Op op);

#endif
