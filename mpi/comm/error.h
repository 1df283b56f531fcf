/* SPDX-License-Identifier: MIT */
/* The errors of MPI's calls. */
#ifndef REEL_MPI_ERROR_H
#define REEL_MPI_ERROR_H

/*
 * Returns 0 if `code` is MPI_SUCCESS; -ENOMEM, -EMSGSIZE (a receive was too small) or -EIO with the
 * text of MPI, with `call` before it.
 */
int reel_mpi_error(int code, const char *call);

#endif
