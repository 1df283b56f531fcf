/* SPDX-License-Identifier: MIT */
/*
 * The tree by which adjoints of ranks are summed. A sum is made in an order that does not depend on
 * which rank is first.
 */
#ifndef REEL_MPI_BROADCAST_H
#define REEL_MPI_BROADCAST_H

#include "message/message.h"

/*
 * Adds the message's buffer of each rank to the buffer of `root`. The sum is a binomial tree of
 * ranks, seen from root. The other ranks have parts of the sum afterwards.
 */
int reel_mpi_sum_to(struct reel_mpi_message *message, int root);

#endif
