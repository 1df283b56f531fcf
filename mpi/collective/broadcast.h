/* SPDX-License-Identifier: MIT */
/*
 * The tree by which adjoints of ranks are summed. A sum is made in an order that does not depend on
 * which rank is first.
 */
#ifndef REEL_MPI_BROADCAST_H
#define REEL_MPI_BROADCAST_H

#include "message/agree.h"

/*
 * Adds the message's buffer of each rank to that of `root`. The sum is a binomial tree of ranks,
 * seen from root. What the other ranks have afterwards is part of the sum.
 */
int reel_mpi_sum_to(struct reel_mpi_message *message, int root);

/*
 * The reverse of a Bcast, after the ranks have agreed on it: sums the adjoints, and sets all but
 * that of root to 0.
 */
int reel_mpi_reverse_bcast(struct reel_mpi_message *message, int root);

/* Returns the description of a Bcast that checked mode compares. */
struct reel_mpi_call reel_mpi_bcast_call(const struct reel_mpi_message *message, int root,
					 bool reverse);

#endif
