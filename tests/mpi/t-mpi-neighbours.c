/* SPDX-License-Identifier: MIT */
/* Compares collective calls among neighbours, on each topology, with their transposed Jacobian. */
#include "config.h"

#include "helpers/ranks.h"

#define WORLD MPI_COMM_WORLD
#define D MPI_DOUBLE

/* True: the tests use I-forms, which begin, and wait for them. */
static bool begin_and_end;
static struct reel_mpi_request request;

#define IGNORED MPI_STATUS_IGNORE

/* Makes the forward call, or the reverse call if `reverse` is set. */
#define BOTH(call, ...)                                                                            \
	(!begin_and_end ? (reverse ? reel_mpi_neighbor_##call##_reverse(tape, __VA_ARGS__)         \
				   : reel_mpi_neighbor_##call(tape, __VA_ARGS__))                  \
	 : reverse	? reel_mpi_wait_reverse(tape, &request, IGNORED) ||                        \
			    reel_mpi_ineighbor_##call##_reverse(tape, __VA_ARGS__, &request)       \
			: reel_mpi_ineighbor_##call(tape, __VA_ARGS__, &request) ||                \
			    reel_mpi_wait(tape, &request, IGNORED))

enum { MAX_NEIGHBOURS = 4, MAX_COUNT = 3, HALF = MAX_NEIGHBOURS * MAX_COUNT };
enum { ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW, CALLS };

/* A communicator, with its neighbours in the order in which the program has given them. */
struct graph {
	MPI_Comm comm;
	int call;
	int sources, destinations;
	int source[MAX_NEIGHBOURS], destination[MAX_NEIGHBOURS];
};

/*
 * Returns the number of elements in each block between two ranks. For Alltoallw it is equal for all
 * ranks: if a rank has more sources than destinations, MPI_Neighbor_alltoallw() of MPICH 4.0.2
 * takes the count of another block.
 */
static int count_between(int call, int a, int b)
{
	return b == MPI_PROC_NULL || call == ALLTOALLW ? 2 : (a + b) % MAX_COUNT + (a == b);
}

static int exchange(reel_tape *tape, double *s, bool reverse, void *context)
{
	const struct graph *g = context;
	double *x = s, *y = s + HALF;
	int sent[MAX_NEIGHBOURS], counts[MAX_NEIGHBOURS], begins[MAX_NEIGHBOURS];
	MPI_Aint bytes[MAX_NEIGHBOURS];
	MPI_Datatype types[MAX_NEIGHBOURS] = {D, D, D, D};

	for (int i = 0; i < MAX_NEIGHBOURS; i++) {
		sent[i] = i < g->destinations ? count_between(g->call, rank, g->destination[i]) : 2;
		counts[i] = i < g->sources ? count_between(g->call, rank, g->source[i]) : 2;
		begins[i] = MAX_COUNT * i;
		bytes[i] = (MPI_Aint)sizeof(double) * begins[i];
	}
	switch (g->call) {
	case ALLGATHER:
		return BOTH(allgather, x, 2, D, y, 2, D, g->comm);
	case ALLGATHERV:
		for (int i = 0; i < g->sources; i++)
			counts[i] = g->source[i] < 0 ? 1 : g->source[i] % MAX_COUNT + 1;
		return BOTH(allgatherv, x, rank % MAX_COUNT + 1, D, y, counts, begins, D, g->comm);
	case ALLTOALL:
		return BOTH(alltoall, x, 2, D, y, 2, D, g->comm);
	case ALLTOALLV:
		return BOTH(alltoallv, x, sent, begins, D, y, counts, begins, D, g->comm);
	default:
		return BOTH(alltoallw, x, sent, bytes, types, y, counts, bytes, types, g->comm);
	}
}

static bool is_transposed(struct graph *g)
{
	bool passed = holds(!reel_mpi_attach(g->comm, 0));

	for (int i = 0; i < 2 * CALLS; i++) {
		double s[2 * HALF];

		g->call = i / 2;
		begin_and_end = i % 2;
		for (int k = 0; k < 2 * HALF; k++)
			s[k] = rank * 3 + k;
		if (!transpose_holds(exchange, g, 2 * HALF, s, 1)) {
			fprintf(stderr, "# call %d, begin and end: %d\n", g->call, begin_and_end);
			passed = false;
		}
		passed &= holds(!reel_mpi_reverse_end(g->comm));
	}
	MPI_Comm_free(&g->comm);
	return passed;
}

/* The grid has all ranks in one dimension, and one rank in the other one. */
static bool is_transposed_on_grid(int periodic, int dimensions)
{
	int sizes[] = {ranks, 1}, periods[] = {periodic, periodic};
	struct graph g = {.sources = 2 * dimensions, .destinations = 2 * dimensions};
	int left = periodic || rank ? (rank + ranks - 1) % ranks : MPI_PROC_NULL;
	int right = periodic || rank + 1 < ranks ? (rank + 1) % ranks : MPI_PROC_NULL;
	int above = periodic ? rank : MPI_PROC_NULL;
	int neighbours[] = {left, right, above, above};

	memcpy(g.source, neighbours, sizeof neighbours);
	memcpy(g.destination, neighbours, sizeof neighbours);
	MPI_Cart_create(WORLD, dimensions, sizes, periods, 0, &g.comm);
	return is_transposed(&g);
}

static bool open_grid(void)
{
	return is_transposed_on_grid(0, 2);
}

static bool ring(void)
{
	return is_transposed_on_grid(1, 1);
}

static bool torus(void)
{
	return is_transposed_on_grid(1, 2);
}

/*
 * Each rank sends twice to the next one, and once to itself; the last one sends also to the first.
 */
static bool distributed_graph(void)
{
	int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;
	struct graph g = {.sources = 3, .destinations = 3, .source = {last, rank, last},
			  .destination = {next, next, rank}};
	int weights[MAX_NEIGHBOURS] = {1, 2, 3, 4};

	if (rank == ranks - 1)
		g.destination[g.destinations++] = 0;
	if (rank == 0)
		g.source[g.sources++] = ranks - 1;
	MPI_Dist_graph_create_adjacent(WORLD, g.sources, g.source, weights, g.destinations,
				       g.destination, weights, MPI_INFO_NULL, 0, &g.comm);
	return is_transposed(&g);
}

static bool graph_of_all(void)
{
	struct graph g = {.sources = 3, .destinations = 3};
	int ends[4], edges[12];

	for (int i = 0; i < ranks; i++) {
		edges[3 * i] = (i + ranks - 1) % ranks;
		edges[3 * i + 1] = i;
		edges[3 * i + 2] = (i + 1) % ranks;
		ends[i] = 3 * i + 3;
	}
	memcpy(g.source, edges + 3 * rank, 3 * sizeof *edges);
	memcpy(g.destination, edges + 3 * rank, 3 * sizeof *edges);
	MPI_Graph_create(WORLD, ranks, ends, edges, 0, &g.comm);
	return is_transposed(&g);
}

static bool others_are_refused(void)
{
	double x = 1, y[4] = {0};
	int sizes[] = {ranks}, periods[] = {1};
	MPI_Comm ring;
	bool passed = holds(!reel_mpi_attach(WORLD, 0));

	passed &= holds(reel_mpi_neighbor_allgather(NULL, &x, 1, D, y, 1, D, WORLD) == -EINVAL);
	passed &= holds(strstr(reel_error_text(0), "MPI_Cart_create"));
	MPI_Cart_create(WORLD, 1, sizes, periods, 0, &ring);
	passed &= holds(!reel_mpi_attach(ring, 0));
	passed &= holds(reel_mpi_neighbor_alltoall(NULL, MPI_IN_PLACE, 1, D, y, 1, D, ring) ==
			-EINVAL);
	passed &= holds(reel_mpi_neighbor_alltoall(NULL, y, 8, MPI_BYTE, y + 2, 8, MPI_BYTE,
						   ring) == -ENOTSUP);
	MPI_Comm_free(&ring);
	return passed;
}

static const struct rank_case cases[] = {
	{"calls without neighbours, in place or with bytes are refused", others_are_refused},
	{"a grid with borders is transposed", open_grid},
	{"a ring, also of two ranks, is transposed", ring},
	{"a torus with ranks that are their own neighbours is transposed", torus},
	{"a distributed graph with several edges between two ranks is transposed",
	 distributed_graph},
	{"a graph that all ranks know is transposed", graph_of_all},
};

int main(int argc, char **argv)
{
	return run_on_ranks(argc, argv, cases, COUNT(cases));
}
