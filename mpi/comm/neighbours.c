/* SPDX-License-Identifier: MIT */
/* Topologies of communicators. */
#include "config.h"

#include "neighbours.h"

#include <errno.h>
#include <stdlib.h>

#include <reel/extend.h>

#include "error.h"

/* ---- The neighbours ---- */

/* Makes room for the numbers of neighbours that are set. */
static int make_room(struct reel_mpi_neighbours *n)
{
	REEL_ASSERT(n->sources >= 0 && n->destinations >= 0);
	REEL_ASSERT(!n->source && !n->destination);
	n->source = malloc((size_t)n->sources * sizeof *n->source + 1);
	n->destination = malloc((size_t)n->destinations * sizeof *n->destination + 1);
	return n->source && n->destination ? 0 : -ENOMEM;
}

/* Both neighbours of each dimension, the lower one first. */
static int read_grid(struct reel_mpi_neighbours *n, MPI_Comm comm)
{
	int dimensions, error;

	MPI_Cartdim_get(comm, &dimensions);
	REEL_ASSERT(dimensions >= 0);
	n->sources = n->destinations = 2 * dimensions;
	error = make_room(n);
	for (int d = 0; d < dimensions && !error; d++) {
		MPI_Cart_shift(comm, d, 1, &n->source[2 * d], &n->source[2 * d + 1]);
		n->destination[2 * d] = n->source[2 * d];
		n->destination[2 * d + 1] = n->source[2 * d + 1];
	}
	return error;
}

static int read_graph(struct reel_mpi_neighbours *n, MPI_Comm comm, int rank)
{
	int error;

	MPI_Graph_neighbors_count(comm, rank, &n->sources);
	n->destinations = n->sources;
	error = make_room(n);
	if (!error) {
		MPI_Graph_neighbors(comm, rank, n->sources, n->source);
		MPI_Graph_neighbors(comm, rank, n->sources, n->destination);
	}
	return error;
}

static int read_distributed_graph(struct reel_mpi_neighbours *n, MPI_Comm comm)
{
	int weighted, error;
	int *weights;

	MPI_Dist_graph_neighbors_count(comm, &n->sources, &n->destinations, &weighted);
	error = make_room(n);
	/* MPI_UNWEIGHTED is refused where there are weights. */
	weights = malloc((size_t)(n->sources + n->destinations) * sizeof *weights + 1);
	if (!error && weights)
		MPI_Dist_graph_neighbors(comm, n->sources, n->source, weights, n->destinations,
					 n->destination, weights + n->sources);
	free(weights);
	return weights ? error : -ENOMEM;
}

static int read_topology(struct reel_mpi_neighbours *n, MPI_Comm comm, int rank)
{
	int topology;

	MPI_Topo_test(comm, &topology);
	switch (topology) {
	case MPI_CART:
		return read_grid(n, comm);
	case MPI_GRAPH:
		return read_graph(n, comm, rank);
	case MPI_DIST_GRAPH:
		return read_distributed_graph(n, comm);
	default:
		return -EINVAL;
	}
}

/* Requires `attached->lock`. */
static int find(struct reel_mpi_attached *attached, const char *call)
{
	struct reel_mpi_neighbours *n;
	int error;

	REEL_ASSERT(reel_mpi_is_locked(attached));
	if (attached->neighbours)
		return 0;
	n = calloc(1, sizeof *n);
	/* A duplicate of a communicator has its topology. */
	error = n ? read_topology(n, attached->sums, attached->rank) : -ENOMEM;
	if (!error) {
		attached->neighbours = n;
		return 0;
	}
	reel_mpi_free_neighbours(n);
	return error == -EINVAL
		       ? reel_fail(error, "%s: the communicator has no neighbours; make it by "
					  "MPI_Cart_create() or MPI_Dist_graph_create_adjacent()",
				   call)
		       : reel_fail(error, "%s: no memory for the neighbours", call);
}

int reel_mpi_find_neighbours(struct reel_mpi_attached *attached, const char *call,
			     const struct reel_mpi_neighbours **neighbours)
{
	int error;

	pthread_mutex_lock(&attached->lock);
	error = find(attached, call);
	*neighbours = attached->neighbours;
	pthread_mutex_unlock(&attached->lock);
	REEL_ASSERT(error || *neighbours);
	return error;
}

void reel_mpi_free_neighbours(struct reel_mpi_neighbours *n)
{
	if (!n)
		return;
	free(n->source);
	free(n->destination);
	for (int i = 0; i < REEL_MPI_MATCHINGS; i++)
		free(n->block[i]);
	free(n);
}

/* ---- Which block is which ---- */

/* The arguments of a call with one number for each neighbour. */
struct blocks {
	int *number, *one; /* 0, 1, 2, …: sent, and displacements; and 1, 1, 1, … */
	MPI_Aint *bytes;
	MPI_Datatype *type;
};

/* `request` is NULL for the calls that wait. */
static int call_mpi(enum reel_mpi_matching matching, const struct blocks *b, int *received,
		    MPI_Comm comm, MPI_Request *request)
{
	switch (matching) {
	case REEL_MPI_MATCH_ALLTOALL:
	case REEL_MPI_MATCH_IALLTOALL:
		return REEL_MPI_CALL(request, MPI_Neighbor_alltoall, MPI_Ineighbor_alltoall,
				     b->number, 1, MPI_INT, received, 1, MPI_INT, comm);
	case REEL_MPI_MATCH_ALLTOALLV:
	case REEL_MPI_MATCH_IALLTOALLV:
		return REEL_MPI_CALL(request, MPI_Neighbor_alltoallv, MPI_Ineighbor_alltoallv,
				     b->number, b->one, b->number, MPI_INT, received, b->one,
				     b->number, MPI_INT, comm);
	default:
		return REEL_MPI_CALL(request, MPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw,
				     b->number, b->one, b->bytes, b->type, received, b->one,
				     b->bytes, b->type, comm);
	}
}

/* Sends each block its own number. */
static int measure(enum reel_mpi_matching matching, int neighbours, int *received, MPI_Comm comm,
		   const char *call)
{
	size_t n = (size_t)neighbours + 1;
	MPI_Aint *bytes = malloc(n * (sizeof *bytes + sizeof(MPI_Datatype) + 2 * sizeof(int)));
	MPI_Request request = MPI_REQUEST_NULL;
	bool starts = matching >= REEL_MPI_MATCH_IALLTOALL;
	struct blocks b = {.bytes = bytes};
	int error;

	REEL_ASSERT(neighbours >= 0 && matching < REEL_MPI_MATCHINGS);
	if (!bytes || !received) {
		free(bytes);
		return reel_fail(-ENOMEM, "%s: no memory for the neighbours", call);
	}
	b.type = (MPI_Datatype *)(void *)(bytes + n);
	b.number = (int *)(void *)(b.type + n);
	b.one = b.number + n;
	for (int i = 0; i < neighbours; i++) {
		b.number[i] = i;
		b.one[i] = 1;
		b.bytes[i] = (MPI_Aint)sizeof(int) * i;
		b.type[i] = MPI_INT;
	}
	error = reel_mpi_error(call_mpi(matching, &b, received, comm, starts ? &request : NULL),
			       call);
	if (!error)
		error = reel_mpi_error(MPI_Wait(&request, MPI_STATUS_IGNORE), call);
	free(bytes);
	return error;
}

int reel_mpi_match_neighbours(struct reel_mpi_attached *attached, const char *call,
			      enum reel_mpi_matching matching)
{
	struct reel_mpi_neighbours *n = attached->neighbours;
	int most = n->sources > n->destinations ? n->sources : n->destinations;
	int *received, error;

	REEL_ASSERT(most >= 0);
	/* Collective calls on one communicator come one after the other: no lock is needed. */
	if (n->block[matching])
		return 0;
	received = calloc((size_t)most + 1, sizeof *received);
	error = measure(matching, most, received, attached->sums, call);
	if (error)
		free(received);
	else
		n->block[matching] = received;
	return error;
}
