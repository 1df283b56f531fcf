/* SPDX-License-Identifier: MIT */
/*
 * Converts the arguments of mpi_f08 to arguments of C, for the functions that reel_mpi.F90 calls:
 *
 *	buffers.c      buffers, statuses, and MPI_IN_PLACE and its like
 *	messages.c     communicators, and messages whose calls wait
 *	requests.c     requests, which are the program's variables
 *	collectives.c  collective calls
 */
#ifndef REEL_DROPIN_BUFFERS_H
#define REEL_DROPIN_BUFFERS_H

#include "fortran.h"

#include <reel/mpi.h>

#define COMM(handle) MPI_Comm_f2c(*(handle))
#define TYPE(handle) MPI_Type_f2c(*(handle))

/* The call site in Fortran, in a function that Fortran calls. */
#define MPI_CALL_SITE reel_call_site_of_return(REEL_RETURN_ADDRESS)

struct reel_fortran_buffer {
	void *at; /* the address that MPI gets */
	char *copy;
	const CFI_cdesc_t *array;
};

/*
 * Opens an argument: copies a section with gaps. The close writes the copy back if the call may
 * have changed it (`changed`), and frees it. Returns 0, or -ENOMEM, which sticks to the tape; then
 * there is nothing to close.
 */
int reel_fortran_open_buffer(struct reel_fortran_buffer *buffer, const CFI_cdesc_t *array,
			     reel_tape *tape);
void reel_fortran_close_buffer(struct reel_fortran_buffer *buffer, bool changed);

/* Returns from a function with the result of `call`, which takes the open `buffer.at`. */
#define RETURN_WITH_BUFFER(array, changed, call)                                                   \
	struct reel_fortran_buffer buffer;                                                         \
	int error = reel_fortran_open_buffer(&buffer, (array), tape);                              \
                                                                                                   \
	if (error)                                                                                 \
		return error;                                                                      \
	error = call;                                                                              \
	reel_fortran_close_buffer(&buffer, (changed));                                             \
	return error

/*
 * Sets *at to the address of a buffer that stays in use after the call. Returns 0, or -EINVAL,
 * which sticks to the tape: the buffer has gaps, and its copy would end with the call.
 */
int reel_fortran_lasting_buffer(void **at, const CFI_cdesc_t *array, reel_tape *tape);

/* Both buffers of a call that sends and receives: all of them are opened, or none. */
struct reel_fortran_buffers {
	struct reel_fortran_buffer sent, received;
};

int reel_fortran_open_buffers(struct reel_fortran_buffers *buffers, const CFI_cdesc_t *sent,
			      const CFI_cdesc_t *received, reel_tape *tape);
void reel_fortran_close_buffers(struct reel_fortran_buffers *buffers, bool sent_changed);

/* As RETURN_WITH_BUFFER(), with `buffers.sent.at` and `buffers.received.at`. */
#define RETURN_WITH_BUFFERS(sent, received, sent_changed, call)                                    \
	struct reel_fortran_buffers buffers;                                                       \
	int error = reel_fortran_open_buffers(&buffers, (sent), (received), tape);                 \
                                                                                                   \
	if (error)                                                                                 \
		return error;                                                                      \
	error = call;                                                                              \
	reel_fortran_close_buffers(&buffers, (sent_changed));                                      \
	return error

/* NULL: the program omitted the status. configure tests that type(MPI_Status) is the C struct. */
MPI_Status *reel_fortran_status(MPI_Status *status);
MPI_Status *reel_fortran_statuses(MPI_Status *statuses);

/* Leaves the error on the tape, if there is one. Returns `error`. */
int reel_fortran_stick(reel_tape *tape, int error);

#endif
