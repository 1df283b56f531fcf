/* SPDX-License-Identifier: MIT */
/* The chain of ranks: for each rank, the result of the operands of the ranks below. */
#ifndef REEL_MPI_SCAN_H
#define REEL_MPI_SCAN_H

#include "comm/factor.h"
#include "message/message.h"

/* Bytes from the first of `count` elements to where the next one would begin. */
static inline size_t reel_mpi_span(const struct reel_mpi_message *message, int count)
{
	REEL_ASSERT(count >= 0 && message->layout->extent >= 0);
	REEL_ASSERT(!count || message->layout->extent <= PTRDIFF_MAX / count);
	return (size_t)count * (size_t)message->layout->extent;
}

/*
 * Notes the operand and the result of the ranks below; or of a minimum one bit: whether the operand
 * is below the minimum of the ranks below.
 */
int reel_mpi_note_chain(struct reel_mpi_message *message, enum reel_mpi_factor factor, MPI_Op op,
			const char *operand);

/*
 * The reverse of Scan, or of Exscan, which is exclusive: adds to the message's buffer, and sets
 * result_bar to 0. `spare` has room for REEL_MPI_CHAIN_SPARE operands.
 */
enum { REEL_MPI_CHAIN_SPARE = 5 };
int reel_mpi_reverse_chain(struct reel_mpi_message *message, enum reel_mpi_factor factor, MPI_Op op,
			   bool exclusive, char *result_bar, char *spare);

#endif
