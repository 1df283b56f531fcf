/* SPDX-License-Identifier: MIT */
/* Bcast, Barrier, and the tree by which adjoints of all ranks are summed. */
#include "config.h"

#include "reduce.h"

enum { TREE_TAG = 1 };

/* If it fails, the buffer is NaN, and the ranks above get that: none is left waiting. */
static int add_from(struct reel_mpi_message *m, int peer)
{
	m->peer = peer;
	m->tag = TREE_TAG;
	m->through = m->attached->sums;
	return reel_mpi_add_adjoint(m);
}

int reel_mpi_sum_to(struct reel_mpi_message *m, int root)
{
	int size = m->attached->size, relative = (m->attached->rank - root + size) % size;
	int error = 0;

	for (int step = 1; step < size; step *= 2) {
		int own;

		if (relative & step) {
			own = reel_mpi_check(MPI_Send(m->buffer, m->count, m->type,
						      (relative - step + root) % size, TREE_TAG,
						      m->attached->sums),
					     m->call);
			return error ? error : own;
		}
		if (relative + step < size) {
			own = add_from(m, (relative + step + root) % size);
			error = error ? error : own;
		}
	}
	return error;
}

int reel_mpi_bcast_at(reel_tape *tape, const char *site, void *buffer, int count, MPI_Datatype type,
		      int root, MPI_Comm comm)
{
	struct reel_mpi_message m = {.call = "reel_mpi_bcast", .site = site, .tape = tape,
				     .buffer = buffer, .count = count, .type = type};
	int error = reel_mpi_open_message(&m, comm);

	if (!error)
		error = reel_mpi_check(MPI_Bcast(buffer, count, type, root, comm), m.call);
	return reel_mpi_stick(tape, error);
}

int reel_mpi_bcast_reverse_at(reel_tape *tape, const char *site, void *buffer_bar, int count,
			      MPI_Datatype type, int root, MPI_Comm comm)
{
	struct reel_mpi_message m = {.call = "reel_mpi_bcast_reverse", .site = site, .tape = tape,
				     .buffer = buffer_bar, .count = count, .type = type};
	int error = reel_mpi_open_message(&m, comm);

	if (!error && reel_mpi_is_active(&m)) {
		error = reel_mpi_sum_to(&m, root);
		if (error)
			reel_mpi_layout_poison(m.layout, count, buffer_bar);
		else if (m.attached->rank != root)
			reel_mpi_layout_zero(m.layout, count, buffer_bar);
	}
	return reel_mpi_stick(tape, error);
}

int reel_mpi_barrier_at(reel_tape *tape, const char *site, MPI_Comm comm)
{
	(void)site;
	return reel_mpi_stick(tape, reel_mpi_check(MPI_Barrier(comm), "reel_mpi_barrier"));
}
