/* SPDX-License-Identifier: MIT */
/* Requests for Fortran. The program must not move them between start and wait. */
#include "buffers.h"

#include <errno.h>

#include <reel/extend.h>

_Static_assert(sizeof(struct reel_mpi_request) == REEL_MPI_REQUEST_WORDS * sizeof(int64_t),
	       "type(reel_mpi_request) has the size of the struct that configure has seen");

/* ---- Describing and beginning ---- */

#define DESCRIBE(NAME)                                                                             \
	int reel_fortran_mpi_##NAME(const CFI_cdesc_t *buf, int count, const MPI_Fint *type,       \
				    int peer, int tag, const MPI_Fint *comm,                       \
				    struct reel_mpi_request *request)                              \
	{                                                                                          \
		void *at;                                                                          \
		int error = reel_fortran_lasting_buffer(&at, buf, NULL);                           \
                                                                                                   \
		if (!error)                                                                        \
			reel_mpi_##NAME(at, count, TYPE(type), peer, tag, COMM(comm), request);    \
		return error;                                                                      \
	}

DESCRIBE(send_init)
DESCRIBE(ssend_init)
DESCRIBE(recv_init)

/* `begin` is the function of C, and `__VA_ARGS__` the mode that it takes first, if it has one. */
#define BEGIN(NAME, begin, ...)                                                                    \
	int reel_fortran_mpi_##NAME(reel_tape *tape, const CFI_cdesc_t *buf, int count,            \
				    const MPI_Fint *type, int peer, int tag, const MPI_Fint *comm, \
				    struct reel_mpi_request *request)                              \
	{                                                                                          \
		void *at;                                                                          \
		int error = reel_fortran_lasting_buffer(&at, buf, tape);                           \
                                                                                                   \
		return error ? error                                                               \
			     : begin(tape, MPI_CALL_SITE, __VA_ARGS__ at, count, TYPE(type), peer, \
				     tag, COMM(comm), request);                                    \
	}
#define MODE(mode) mode,

BEGIN(isend, reel_mpi_isend_at, MODE(REEL_MPI_STANDARD))
BEGIN(issend, reel_mpi_isend_at, MODE(REEL_MPI_SYNCHRONOUS))
BEGIN(ibsend, reel_mpi_isend_at, MODE(REEL_MPI_BUFFERED))
BEGIN(irsend, reel_mpi_isend_at, MODE(REEL_MPI_READY))
BEGIN(irecv, reel_mpi_irecv_at, )

int reel_fortran_mpi_start(reel_tape *tape, struct reel_mpi_request *request)
{
	return reel_mpi_start_at(tape, MPI_CALL_SITE, request);
}

int reel_fortran_mpi_start_reverse(reel_tape *tape, struct reel_mpi_request *request)
{
	return reel_mpi_start_reverse_at(tape, MPI_CALL_SITE, request);
}

/* ---- Waiting ---- */

int reel_fortran_mpi_wait(reel_tape *tape, struct reel_mpi_request *request, MPI_Status *status)
{
	return reel_mpi_wait_at(tape, MPI_CALL_SITE, request, reel_fortran_status(status));
}

int reel_fortran_mpi_wait_reverse(reel_tape *tape, struct reel_mpi_request *request,
				  MPI_Status *status)
{
	return reel_mpi_wait_reverse_at(tape, MPI_CALL_SITE, request, reel_fortran_status(status));
}

/* Returns 0; or -EINVAL, which sticks to the tape, if there are no n contiguous requests. */
static int check_requests(const CFI_cdesc_t *requests, int n, reel_tape *tape)
{
	if (n <= 0 ||
	    (reel_fortran_is_contiguous(requests) && (size_t)n <= reel_fortran_elements(requests)))
		return 0;
	return reel_fortran_stick(
		tape, reel_fail(-EINVAL,
				"a wait for %d requests was given %zu, %s gaps; pass an array of "
				"them, since they cannot be moved",
				n, reel_fortran_elements(requests),
				reel_fortran_is_contiguous(requests) ? "without" : "with"));
}

#define WAITALL(NAME)                                                                              \
	int reel_fortran_mpi_##NAME(reel_tape *tape, int n, const CFI_cdesc_t *requests,           \
				    MPI_Status *statuses)                                          \
	{                                                                                          \
		int error = check_requests(requests, n, tape);                                     \
                                                                                                   \
		return error ? error                                                               \
			     : reel_mpi_##NAME##_at(tape, MPI_CALL_SITE, n, requests->base_addr,   \
						    reel_fortran_statuses(statuses));              \
	}

WAITALL(waitall)
WAITALL(waitall_reverse)

/* The index counts from 1 in Fortran. */
#define WAITANY(NAME)                                                                              \
	int reel_fortran_mpi_##NAME(reel_tape *tape, int n, const CFI_cdesc_t *requests,           \
				    int *index, MPI_Status *status)                                \
	{                                                                                          \
		int error = check_requests(requests, n, tape);                                     \
                                                                                                   \
		*index = MPI_UNDEFINED;                                                            \
		if (!error)                                                                        \
			error = reel_mpi_##NAME##_at(tape, MPI_CALL_SITE, n, requests->base_addr,  \
						     index, reel_fortran_status(status));          \
		if (*index != MPI_UNDEFINED)                                                       \
			++*index;                                                                  \
		return error;                                                                      \
	}

WAITANY(waitany)
WAITANY(waitany_reverse)
