/* SPDX-License-Identifier: MIT */
/*
 * What the library keeps of a communicator that was attached: an attribute of it, so that
 * MPI_Comm_free() ends it. It holds duplicates for adjoints, the requests of the forward sweep that
 * have begun and not ended, and the adjoints of this rank that are on their way.
 */
#ifndef REEL_MPI_ATTACHED_H
#define REEL_MPI_ATTACHED_H

#include <pthread.h>
#include <stddef.h>

#include <reel/mpi.h>

/* A temporary for adjoints; `data` is aligned as malloc() aligns. */
struct reel_mpi_buffer {
	struct reel_mpi_buffer *next;
	size_t bytes;
	MPI_Request request;
	max_align_t data[];
};

struct reel_mpi_neighbours;
struct reel_mpi_operation;

struct reel_mpi_attached {
	MPI_Comm messages; /* adjoints of messages, with the tags of the program's */
	MPI_Comm sums;	   /* adjoints in collective calls */
	int rank, size;
	/* Guards what follows, where MPI was initialised for several threads at once. */
	pthread_mutex_t lock;
	struct reel_mpi_request *oldest;   /* begun and not ended, in the order of beginning */
	struct reel_mpi_buffer *sending;   /* in the order of sending */
	struct reel_mpi_buffer **last_sent; /* where the next one is linked */
	struct reel_mpi_buffer *spare;
	struct reel_mpi_neighbours *neighbours; /* NULL until the first call among neighbours */
	struct reel_mpi_operation *operations;	/* of the program, with their adjoints */
	int reversing; /* number of requests whose wait was reversed, and not their start */
};

/* Finds what belongs to `comm`. Returns 0 or -EINVAL: it is not attached; `call` is in the text. */
int reel_mpi_find(MPI_Comm comm, const char *call, struct reel_mpi_attached **attached);

/* Takes a temporary of at least so many bytes. NULL: there is no memory, which the text says. */
struct reel_mpi_buffer *reel_mpi_take_buffer(struct reel_mpi_attached *attached, size_t bytes);
void reel_mpi_give_buffer(struct reel_mpi_attached *attached, struct reel_mpi_buffer *buffer);

/* Keeps a buffer until its request is complete. */
void reel_mpi_keep_sending(struct reel_mpi_attached *attached, struct reel_mpi_buffer *buffer);

/* Returns 0 if `code` is MPI_SUCCESS; otherwise leaves MPI's text, with `call` before it. */
int reel_mpi_check(int code, const char *call);

#endif
