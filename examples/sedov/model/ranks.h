/* SPDX-License-Identifier: MIT */
/*
 * The ranks of MPI that share a mesh: each has a part of it (mesh.h). If elements or nodes of other
 * parts read the results of a kernel, the ranks copy these to each other's ghosts after the kernel.
 * The reverse of a step does the same with adjoints: the contribution of an element to a node goes
 * to all parts that have the node, and each of them sums it up in the order of the whole cube. So
 * the reverse of an exchange is an exchange of the same kind. It does not send back sums, which
 * would depend on the parts.
 *
 * Only ranks.c calls MPI. A program that is built without MPI has no ranks (no-ranks.c), nor has a
 * program that mpirun did not start. Where a pointer to the ranks is NULL, the mesh is the whole
 * cube.
 */
#ifndef SEDOV_RANKS_H
#define SEDOV_RANKS_H

#include "common/world.h"
#include "mesh.h"
#include "number.h"

/* A limit and its element, or an element and its trouble. It is laid out as MPI_DOUBLE_INT. */
struct least {
	double value;
	int index;
};

/* The main thread of every rank calls all of these functions, in the same order. */
struct ranks {
	const struct world *world;

	/*
	 * Sets *mesh to this rank's part of a cube of size^3 elements; it stays where it is. Ends
	 * the program if the ranks cannot share the cube.
	 */
	void (*cut)(struct ranks *ranks, int size, struct mesh *mesh);

	/* Fills the ghosts of each of these arrays over corners. */
	void (*exchange_corners)(struct ranks *ranks, real (*const array[])[AXES], int arrays);

	/*
	 * Fills the ghosts of arrays over elements, for each axis a. The value of an
	 * element in field[a][0] is for its neighbour below, in field[a][1] for the one above.
	 */
	void (*exchange_faces)(struct ranks *ranks, real *field[AXES][2]);

	/* Each becomes the one with the least value, of equal ones that with the least index. */
	void (*take_least)(struct ranks *ranks, struct least *least, int count);

	/* The values of the sums of all ranks together. */
	void (*add_up)(struct ranks *ranks, const total *sums, real *values, int count);

	/* Copies the value of the rank that has the origin to all. */
	void (*share)(struct ranks *ranks, real *value);

	/*
	 * Put the fields of all parts into one of the whole cube, on rank 0; elsewhere it is NULL.
	 */
	void (*gather_elements)(struct ranks *ranks, const real *field, real *whole);
	void (*gather_nodes)(struct ranks *ranks, const real *field, real *whole);

	const struct mesh *mesh; /* the mesh of cut() */
	struct exchange *exchange;
};

/* The ranks that world_join() returns, or NULL. */
struct ranks *ranks_begin(int *count, char ***arguments);

/* The values of the sums over all elements, or nodes. */
static inline void add_up(const struct mesh *mesh, const total *sums, real *values, int count)
{
	if (mesh->ranks)
		mesh->ranks->add_up(mesh->ranks, sums, values, count);
	for (int i = 0; i < count && !mesh->ranks; i++)
		values[i] = total_value(&sums[i]);
}

/* Returns true if this part has element 0 of the whole cube, which lies at the origin. */
static inline int has_origin(const struct mesh *mesh)
{
	return mesh_element_here(mesh, 0) == 0;
}

#endif
