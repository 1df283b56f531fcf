/* SPDX-License-Identifier: MIT */
/* The calls of MPI, and their errors. */
#ifndef REEL_MPI_ERROR_H
#define REEL_MPI_ERROR_H

#include "os/assert.h"

/* Calls MPI: `call`, or with a request its I-form, whose last argument is the request. */
#define REEL_MPI_CALL(request, call, i_form, ...)                                                  \
	((request) ? i_form(__VA_ARGS__, (request)) : call(__VA_ARGS__))

/*
 * Returns 0 if `code` is MPI_SUCCESS; -ENOMEM, -EMSGSIZE (a receive was too small) or -EIO with the
 * text of MPI, with `call` before it.
 */
int reel_mpi_error(int code, const char *call);

#endif
