/* SPDX-License-Identifier: MIT */
/*
 * The state of a communicator that was attached: an attribute of the communicator, so that
 * MPI_Comm_free() ends it. It holds duplicates for adjoints, the requests of the forward sweep that
 * have begun and not ended, and the adjoints of this rank that are on their way.
 */
#ifndef REEL_MPI_ATTACHED_H
#define REEL_MPI_ATTACHED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <reel/mpi.h>

#include "os/assert.h"

/* A temporary for adjoints; `data` is aligned as malloc() aligns. */
struct reel_mpi_buffer {
	struct reel_mpi_buffer *next;
	size_t bytes;
	MPI_Request request;
	int peer, tag; /* where an adjoint is sent, for the watchdog */
	const char *call_site;
	max_align_t data[];
};

/*
 * Since the communicator was attached. Relaxed is enough for all accesses: they are figures, and
 * order no other memory.
 */
struct reel_mpi_counters {
	_Atomic uint64_t adjoints, adjoint_bytes; /* sent back */
	_Atomic uint64_t waits, wait_ns;	  /* for adjoints that came later than needed */
	_Atomic uint64_t note_bytes;
};
struct reel_mpi_neighbours;
struct reel_mpi_operation;

struct reel_mpi_attached {
	MPI_Comm messages; /* adjoints of messages, with the tags of the program's */
	MPI_Comm sums;	   /* adjoints in collective calls */
	int rank, size;
	/* Guards the members below, where MPI was initialised for several threads at once. */
	pthread_mutex_t lock;
	struct reel_mpi_request *oldest;   /* begun and not ended, in the order of beginning */
	struct reel_mpi_buffer *sending;   /* in the order of sending */
	struct reel_mpi_buffer **last_sent; /* where the next one is linked */
	struct reel_mpi_buffer *spare;
	int lost; /* first error in sending adjoints that no call has returned, or 0 */
	struct reel_mpi_neighbours *neighbours; /* NULL until the first call among neighbours */
	struct reel_mpi_operation *operations;	/* of the program, with their adjoints */
	int reversing; /* number of requests whose wait was reversed, and not their start */
	struct reel_mpi_buffer *given_up;  /* MPI uses them until the end */
	struct reel_mpi_checks *checks;	   /* checked mode (message/check.h), or NULL */
	/*
	 * Checked mode: a reverse call has failed, and calls that are not reversed are no other
	 * mistake. Relaxed is enough: detaching reads it, after all calls on the communicator.
	 */
	atomic_bool failed;
	uint64_t watch_ns;		   /* 0: no watchdog. Set while no other call runs. */
	struct reel_mpi_counters counters;
};

/*
 * Makes the state the attribute of `comm`; `end` frees it, with the communicator or in
 * reel_mpi_delete_attached(). All calls give the same function. Returns 0 or an error of MPI.
 */
int reel_mpi_set_attached(MPI_Comm comm, struct reel_mpi_attached *attached,
			  MPI_Comm_delete_attr_function *end);
void reel_mpi_delete_attached(MPI_Comm comm);

/* Returns true, and sets *attached, if `comm` is attached. */
bool reel_mpi_is_attached(MPI_Comm comm, struct reel_mpi_attached **attached);

/* Finds the state of `comm`. Returns 0 or -EINVAL: it is not attached; `call` is in the text. */
int reel_mpi_find(MPI_Comm comm, const char *call, struct reel_mpi_attached **attached);

/* Nanoseconds of REEL_MPI_WATCH, or 0. */
uint64_t reel_mpi_watch_of_environment(void);

/* Takes a temporary of at least `bytes` bytes. NULL: there is no memory, which the text says. */
struct reel_mpi_buffer *reel_mpi_take_buffer(struct reel_mpi_attached *attached, size_t bytes);

/* Gives a temporary back. If its request is not MPI_REQUEST_NULL, MPI still uses it: given up. */
void reel_mpi_give_buffer(struct reel_mpi_attached *attached, struct reel_mpi_buffer *buffer);

/*
 * Leaves to MPI a request that is not MPI_REQUEST_NULL, and that no rank is going to complete.
 * *request is MPI_REQUEST_NULL then.
 */
void reel_mpi_give_up(struct reel_mpi_attached *attached, MPI_Request *request);

/* Keeps a buffer, which is sent to a rank, until its request is complete. */
void reel_mpi_keep_sending(struct reel_mpi_attached *attached, struct reel_mpi_buffer *buffer,
			   int peer, int tag, const char *call_site);

/* Takes the buffer that was sent first off the list. Requires `attached->lock`. */
struct reel_mpi_buffer *reel_mpi_first_sent(struct reel_mpi_attached *attached);

/*
 * Moves buffers that MPI has sent to the spare ones. Sets `lost` if MPI has failed. Requires
 * `attached->lock`.
 */
void reel_mpi_reap(struct reel_mpi_attached *attached);

/* Receives a message that MPI has matched, and drops it. Returns 0 or -ENOMEM. */
int reel_mpi_drop_matched(struct reel_mpi_attached *attached, MPI_Message *matched,
			  const MPI_Status *status);

/* A duplicate of `comm` that returns its errors. Returns 0 or an error. */
int reel_mpi_duplicate(MPI_Comm comm, MPI_Comm *duplicate);

/* For assertions: returns true if a thread holds `attached->lock`. */
static inline bool reel_mpi_is_locked(struct reel_mpi_attached *attached)
{
	if (pthread_mutex_trylock(&attached->lock))
		return true;
	pthread_mutex_unlock(&attached->lock);
	return false;
}

/* An error of a reverse call has told the program that its calls do not match. */
static inline void reel_mpi_set_failed(struct reel_mpi_attached *attached)
{
	/* Relaxed: see `failed`. */
	atomic_store_explicit(&attached->failed, true, memory_order_relaxed);
}

static inline void reel_mpi_count(_Atomic uint64_t *counter, uint64_t by)
{
	/* Relaxed: see struct reel_mpi_counters. */
	atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
}

#endif
